/* SPDX-License-Identifier: Apache-2.0
 *
 * The file under a spool. It is locked while its process lives (`tbprof recover` takes unlocked
 * ones), never lies on a network file system (where a mapping can block or tear) and never where
 * TensorBoard would take its folder for a run.
 */
#include "capture/spool_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* f_type of statfs(2). */
static const uint32_t network_magics[] = {
    0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x5346414f, 0x73757245, 0x00c36400,
    0x65735546, 0x0bd00bd0, 0x47504653, 0x01021997, 0x19830326, 0xaad7aaea,
};

static bool is_network(const char *folder) {
    struct statfs fs;
    if (statfs(folder, &fs) != 0)
        return false;
    for (size_t i = 0; i < sizeof network_magics / sizeof *network_magics; i++)
        if ((uint32_t)fs.f_type == network_magics[i])
            return true;
    return false;
}

int tbp_spool_folder(const char *wish, const char **folder, struct tbp_error *err) {
    const char *places[] = {wish, getenv("TBPROF_SPOOL_DIR"), getenv("TMPDIR"), "/tmp"};
    size_t i = 0;
    while (i < 3 && (!places[i] || !*places[i]))
        i++;
    *folder = places[i];
    struct stat st;
    if (stat(*folder, &st) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "spool folder '%s'", *folder);
    if (!S_ISDIR(st.st_mode))
        return tbp_fail(err, TBP_E_IO, "spool folder '%s' is no folder", *folder);
    if (is_network(*folder))
        return tbp_fail(err, TBP_E_UNSUPPORTED, "spool folder '%s' is on a network file system",
                        *folder);
    if (strstr(*folder, "plugins/profile"))
        return tbp_fail(err, TBP_E_UNSUPPORTED,
                        "spool folder '%s' lies where TensorBoard looks for runs", *folder);
    return TBP_OK;
}

/* What the lock of a byte says (schemas/spool_format.h). */
enum { IS_ALIVE, IS_WRITTEN };

/* Tied to the open file where the system can (a lock of the process would be lost when any other
 * descriptor of the file is closed). */
static bool lock_byte(int fd, int byte) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
#ifdef F_OFD_SETLK
    if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
        return true;
    if (errno == EAGAIN || errno == EACCES)
        return false;
#endif
    return fcntl(fd, F_SETLK, &lock) == 0;
}

bool tbp_spool_file_is_held(int fd) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = IS_ALIVE, .l_len = 1};
    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool tbp_spool_file_begin_writing(int fd, int wait_ms) {
    static const struct timespec pause = {0, 5000000};
    for (;; wait_ms -= 5) {
        if (lock_byte(fd, IS_WRITTEN) || (errno != EAGAIN && errno != EACCES))
            return true;
        if (wait_ms <= 0)
            return false;
        nanosleep(&pause, NULL);
    }
}

/* Of all spools that are open, usually one. Who forks holds the lock, lest a child gets one that is
 * not noted yet; recursive for a signal handler that forks. */
static pthread_mutex_t files_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static int open_fds[16];
static unsigned n_open_fds;

static void note_open(int fd) {
    if (n_open_fds < sizeof open_fds / sizeof *open_fds)
        open_fds[n_open_fds++] = fd;
}

int tbp_spool_file_open(const char *path) {
    pthread_mutex_lock(&files_lock);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0)
        note_open(fd);
    pthread_mutex_unlock(&files_lock);
    return fd;
}

void tbp_spool_file_close(int fd) {
    unsigned i = 0;
    pthread_mutex_lock(&files_lock);
    while (i < n_open_fds && open_fds[i] != fd)
        i++;
    if (i < n_open_fds)
        open_fds[i] = open_fds[--n_open_fds];
    close(fd);
    pthread_mutex_unlock(&files_lock);
}

void *tbp_spool_file_map(int fd, uint64_t size_bytes) {
    int flags = MAP_NORESERVE | (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
    pthread_mutex_lock(&files_lock);
    void *data = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (data != MAP_FAILED)
        madvise(data, size_bytes, MADV_DONTFORK);
    pthread_mutex_unlock(&files_lock);
    return data == MAP_FAILED ? NULL : data;
}

void tbp_spool_files_hold(void) {
    pthread_mutex_lock(&files_lock);
}

void tbp_spool_files_unhold(void) {
    pthread_mutex_unlock(&files_lock);
}

void tbp_spool_files_after_fork(void) {
    static const pthread_mutex_t free_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    memcpy(&files_lock, &free_lock, sizeof files_lock);
    while (n_open_fds > 0)
        close(open_fds[--n_open_fds]);
}

/* It gets its name when it is locked: `recover` takes what is not for a dead process's. -1: errno
 * says why. Without locks (rare file systems) `recover` asks for the process. */
static int make_locked(const char *path) {
    char draft[4096 + 8];
    if (snprintf(draft, sizeof draft, "%s.new", path) >= (int)sizeof draft) {
        errno = ENAMETOOLONG;
        return -1;
    }
    unlink(draft);
    int fd = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    lock_byte(fd, IS_ALIVE);
    bool is_named = renameat2(AT_FDCWD, draft, AT_FDCWD, path, RENAME_NOREPLACE) == 0;
    if (!is_named && (errno == EINVAL || errno == ENOSYS)) /* file systems without it */
        is_named = link(draft, path) == 0 && unlink(draft) == 0;
    if (is_named)
        return fd;
    int code = errno;
    unlink(draft);
    close(fd);
    errno = code;
    return -1;
}

static int create(const char *folder, const char *path, int *fd, struct tbp_error *err) {
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return tbp_fail_errno(err, TBP_E_IO, "making spool folder '%s'", folder);
    struct stat st;
    bool is_there = lstat(folder, &st) == 0;
    if (is_there && (!S_ISDIR(st.st_mode) || st.st_uid != geteuid()))
        return tbp_fail(err, TBP_E_IO, "spool folder '%s' is not ours", folder);
    *fd = is_there ? make_locked(path) : -1;
    return *fd >= 0 ? TBP_OK : tbp_fail_errno(err, TBP_E_IO, "making spool '%s'", path);
}

int tbp_spool_file_create(const char *folder, const char *path, int *fd, struct tbp_error *err) {
    enum { TRIES = 3 }; /* the first process of the session may remove the folder in between */
    int rc = TBP_E_IO;
    pthread_mutex_lock(&files_lock);
    errno = ENOENT;
    for (int i = 0; i < TRIES && rc != TBP_OK && errno == ENOENT; i++)
        rc = create(folder, path, fd, err);
    if (rc == TBP_OK)
        note_open(*fd);
    pthread_mutex_unlock(&files_lock);
    return rc;
}

/* Where the file system cannot reserve, zeros are written; a system without space says so here and
 * not by SIGBUS later. */
static bool write_zeros(int fd, uint64_t from, uint64_t to) {
    static const char zeros[65536];
    while (from < to) {
        size_t n = to - from < sizeof zeros ? (size_t)(to - from) : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, n, (off_t)from);
        if (written <= 0)
            return false;
        from += (uint64_t)written;
    }
    return true;
}

bool tbp_spool_file_back(int fd, uint64_t from, uint64_t to) {
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        to > most.rlim_cur) {
        errno = EFBIG; /* asking would end in SIGXFSZ */
        return false;
    }
    int rc;
    do
        rc = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
    while (rc != 0 && errno == EINTR);
    if (rc == 0)
        return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return false;
    return write_zeros(fd, from, to);
}
