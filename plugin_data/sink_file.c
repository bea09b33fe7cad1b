/* SPDX-License-Identifier: Apache-2.0
 *
 * The file sink: readers of a run folder (TensorBoard polls it) see the old file or the whole new
 * one. Temporaries are hidden files `.<name>.<pid>-<n>.tmp` in the same folder, which no plugin
 * looks at. Their names stand in one fixed table of the process, because a signal handler must find
 * them without locks or heap. No fsync unless asked for: a crash of the machine may cost the file,
 * never leave a mixture.
 */
#include "plugin_data/sink.h"

#include "base/arena.h"
#include "base/vec.h"
#include "plugin_data/entries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Held files wait for their set: some thirty for each host of a run. */
enum { TEMPORARIES = 1 << 16, TRIES = 10000, COMPARE_BYTES = 32 * 1024 };

/* Slots are taken and given back by any thread. A path is written before `live` is set, and its
 * PATH_MAX bytes, made for the first who takes the slot, stay with it: a handler never reads freed
 * memory. */
struct temporary {
    atomic_bool taken, live;
    TBP_VEC(char) path;
};
static struct temporary temporaries[TEMPORARIES];
static atomic_int n_touched; /* slots behind were never taken */

struct tbp_sink_file {
    struct tbp_sink base;
    struct tbp_arena memory; /* holds this struct too */
    struct tbp_sink_fd out;
    struct temporary *temporary;
    const char *path;
    uint64_t size_bytes;
    bool is_held, is_durable;
};

static struct temporary *take_temporary(void) {
    int i = 0, n = atomic_load(&n_touched);
    while (i < TEMPORARIES && atomic_exchange(&temporaries[i].taken, true))
        i++;
    if (i == TEMPORARIES)
        return NULL;
    struct temporary *t = &temporaries[i];
    tbp_vec_reserve(&t->path, PATH_MAX);
    while (n <= i && !atomic_compare_exchange_weak(&n_touched, &n, i + 1))
        ;
    return t;
}

static void give_back(struct tbp_sink_file *f) {
    if (f->out.fd >= 0)
        close(f->out.fd);
    f->out.fd = -1;
    if (!f->temporary)
        return;
    if (atomic_exchange(&f->temporary->live, false))
        unlink(f->temporary->path.at);
    atomic_store(&f->temporary->taken, false);
    f->temporary = NULL;
}

void tbp_sink_file_remove_temporaries(void) {
    tbp_entries_stop();
    for (int i = 0; i < atomic_load(&n_touched); ++i)
        if (atomic_load(&temporaries[i].live))
            unlink(temporaries[i].path.at);
}

void tbp_sink_file_remove_abandoned(void) {
    for (int i = 0; i < atomic_load(&n_touched); ++i) {
        if (atomic_exchange(&temporaries[i].live, false))
            unlink(temporaries[i].path.at);
        atomic_store(&temporaries[i].taken, false);
    }
}

/* Process number in ".<name>.<pid>-<n>.tmp", or 0 if the name is not one of a temporary. */
static long writer_of(const char *name) {
    size_t n = strlen(name), digits = 0;
    if (name[0] != '.' || n < 8 || strcmp(name + n - 4, ".tmp") != 0)
        return 0;
    const char *p = name + n - 4;
    while (p > name && p[-1] >= '0' && p[-1] <= '9')
        p--;
    if (p == name || *--p != '-')
        return 0;
    for (; p > name && p[-1] >= '0' && p[-1] <= '9'; p--)
        digits++;
    return digits && digits < 10 && p > name && p[-1] == '.' ? strtol(p, NULL, 10) : 0;
}

void tbp_sink_file_remove_stale(const char *folder) {
    DIR *dir = opendir(folder);
    if (!dir)
        return;
    for (struct dirent *d; (d = readdir(dir));) {
        long pid = writer_of(d->d_name);
        if (pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH)
            unlinkat(dirfd(dir), d->d_name, 0);
    }
    closedir(dir);
}

static int file_write(struct tbp_sink *base, const void *p, size_t n, struct tbp_error *err) {
    struct tbp_sink_file *f = (struct tbp_sink_file *)base;
    int status = tbp_sink_write(&f->out.base, p, n, err);
    if (status != TBP_OK)
        return tbp_cause(err, "while writing '%s'", f->path);
    f->size_bytes += n;
    return TBP_OK;
}

/* Fills buf; fewer bytes than asked only at the end of the file. -1: failure. */
static ssize_t read_fully(int fd, char *buf, size_t n) {
    size_t have = 0;
    while (have < n) {
        ssize_t got = read(fd, buf + have, n - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        have += (size_t)got;
    }
    return (ssize_t)have;
}

static bool same_bytes(int a, int b) {
    char x[COMPARE_BYTES], y[COMPARE_BYTES];
    for (;;) {
        ssize_t n = read_fully(a, x, sizeof x), m = read_fully(b, y, sizeof y);
        if (n < 0 || n != m || memcmp(x, y, (size_t)n) != 0)
            return false;
        if (n == 0)
            return true;
    }
}

/* Whether the regular file at path holds what was written. Any doubt is a no. */
static bool is_unchanged(const struct tbp_sink_file *f) {
    struct stat st;
    if (lstat(f->path, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != f->size_bytes)
        return false;
    int old = open(f->path, O_RDONLY | O_CLOEXEC);
    if (old < 0)
        return false;
    bool same = lseek(f->out.fd, 0, SEEK_SET) == 0 && same_bytes(old, f->out.fd);
    close(old);
    return same;
}

/* Everything is written: what is left is the renaming, or nothing if the same bytes are there. */
static int complete(struct tbp_sink_file *f, struct tbp_error *err) {
    TBP_BUG_IF(!f->temporary);
    if (is_unchanged(f)) {
        give_back(f);
        return TBP_OK;
    }
    int fd = f->out.fd;
    if (f->is_durable && fsync(fd) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "cannot write '%s' to disk", f->path);
    f->out.fd = -1;
    return close(fd) == 0 ? TBP_OK : tbp_fail_errno(err, TBP_E_IO, "cannot write '%s'", f->path);
}

bool tbp_sink_file_is_news(const struct tbp_sink_file *f) {
    return f->temporary != NULL;
}

int tbp_sink_file_commit(struct tbp_sink_file *f, struct tbp_error *err) {
    if (!f->temporary)
        return TBP_OK;
    TBP_BUG_IF(f->out.fd >= 0);
    if (rename(f->temporary->path.at, f->path) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "cannot rename a temporary to '%s'", f->path);
    atomic_store(&f->temporary->live, false);
    give_back(f);
    return TBP_OK;
}

static int file_finish(struct tbp_sink *base, struct tbp_error *err) {
    struct tbp_sink_file *f = (struct tbp_sink_file *)base;
    int status = complete(f, err);
    return status || f->is_held ? status : tbp_sink_file_commit(f, err);
}

/* Makes the entry f->temporary->path unless a signal asked to stop; errno is EINTR then. */
static int open_new(struct tbp_sink_file *f) {
    sigset_t before;
    int fd = -1;
    if (tbp_entry_begin(&before)) {
        atomic_store(&f->temporary->live, true);
        fd = open(f->temporary->path.at, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0)
            atomic_store(&f->temporary->live, false);
    } else {
        errno = EINTR;
    }
    tbp_entry_end(&before);
    return fd;
}

/* Creates the temporary, with the modes of an ordinary new file: O_CREAT obeys the umask. */
static int create(struct tbp_sink_file *f, struct tbp_error *err) {
    const char *slash = strrchr(f->path, '/'), *name = slash ? slash + 1 : f->path;
    int folder = (int)(name - f->path);
    for (int i = 0; i < TRIES; ++i) {
        int n = snprintf(f->temporary->path.at, PATH_MAX, "%.*s.%.200s.%ld-%d.tmp", folder, f->path,
                         name, (long)getpid(), i);
        if (n < 0 || n >= PATH_MAX) {
            errno = ENAMETOOLONG;
            break;
        }
        if (access(f->temporary->path.at, F_OK) == 0)
            continue; /* of another process: must not be taken for ours below */
        int fd = open_new(f);
        if (fd >= 0) {
            f->out.fd = fd;
            return TBP_OK;
        }
        if (errno == EINTR && tbp_entries_are_stopped())
            return tbp_fail(err, TBP_E_INTERRUPTED, "a signal asked to stop");
        if (errno != EEXIST)
            break;
    }
    return tbp_fail_errno(err, TBP_E_IO, "cannot create a file beside '%s'", f->path);
}

int tbp_sink_file_new(struct tbp_sink_file **out, const char *path, struct tbp_error *err) {
    struct tbp_arena memory;
    tbp_arena_init(&memory);
    struct tbp_sink_file *f = TBP_NEW(&memory, struct tbp_sink_file);
    f->base = (struct tbp_sink){file_write, file_finish};
    f->path = tbp_arena_printf(&memory, "%s", path);
    f->memory = memory;
    tbp_sink_fd_init(&f->out, -1);
    f->temporary = take_temporary();
    int status = f->temporary ? create(f, err)
                              : tbp_fail(err, TBP_E_LIMIT, "more than %d files open for writing",
                                         TEMPORARIES);
    if (status != TBP_OK) {
        tbp_sink_file_free(f);
        return status;
    }
    *out = f;
    return TBP_OK;
}

static bool is_copied_in_kernel(int to, int from) {
    enum { AT_A_TIME = 1 << 30 };
    ssize_t n = ioctl(to, FICLONE, from);
    if (n == 0)
        return true;
    while ((n = copy_file_range(from, NULL, to, NULL, AT_A_TIME, 0)) > 0)
        continue;
    return n == 0 && lseek(from, 0, SEEK_CUR) > 0; /* some file systems say 0 and copy nothing */
}

static int copy_by_hand(struct tbp_sink_file *f, int from, struct tbp_error *err) {
    char chunk[COMPARE_BYTES];
    ssize_t n;
    if (lseek(from, 0, SEEK_SET) != 0 || ftruncate(f->out.fd, 0) != 0 ||
        lseek(f->out.fd, 0, SEEK_SET) != 0)
        return tbp_fail_errno(err, TBP_E_IO, "cannot start '%s' again", f->path);
    while ((n = read_fully(from, chunk, sizeof chunk)) > 0) {
        int status = tbp_sink_write(&f->out.base, chunk, (size_t)n, err);
        if (status)
            return tbp_cause(err, "while writing '%s'", f->path);
    }
    return n == 0 ? TBP_OK : tbp_fail_errno(err, TBP_E_IO, "copying to '%s' failed", f->path);
}

int tbp_sink_file_copy(struct tbp_sink_file *f, const char *source, struct tbp_error *err) {
    struct stat st;
    TBP_BUG_IF(f->size_bytes);
    int from = open(source, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return tbp_fail_errno(err, TBP_E_IO, "opening '%s' failed", source);
    int status = is_copied_in_kernel(f->out.fd, from) ? TBP_OK : copy_by_hand(f, from, err);
    close(from);
    if (!status && fstat(f->out.fd, &st) != 0)
        status = tbp_fail_errno(err, TBP_E_IO, "copying to '%s' failed", f->path);
    if (status)
        return status;
    f->size_bytes = (uint64_t)st.st_size;
    return tbp_sink_finish(&f->base, err);
}

void tbp_sink_file_make_durable(struct tbp_sink_file *f) {
    f->is_durable = true;
}

void tbp_sink_file_hold(struct tbp_sink_file *f) {
    f->is_held = true;
}

struct tbp_sink *tbp_sink_file_base(struct tbp_sink_file *f) {
    return &f->base;
}

void tbp_sink_file_free(struct tbp_sink_file *f) {
    if (!f)
        return;
    give_back(f);
    struct tbp_arena memory = f->memory;
    tbp_arena_release(&memory);
}
