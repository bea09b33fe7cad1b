/* SPDX-License-Identifier: Apache-2.0
 *
 * See recover.h. The lock of a spool is taken before it is read and kept until it is removed, so
 * that two recoveries cannot make two runs of it.
 */
#include "cli/recover.h"

#include "base/file.h"
#include "base/guard.h"
#include "base/sort.h"
#include "capture/run_out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_DEPTH = 3 };
#define SPOOL_SUFFIX  ".tbs"
#define FOLDER_PREFIX "tbprof-" /* of the folders that the runtime makes */

const char *const tbp_recovered_words[] = {"recovered",      "recoverable",    "alive", "gone",
                                           "another user's", "written before", "empty", "failed"};

/* ---- finding ---- */

static int by_text(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct names {
    TBP_VEC(const char *) list;
};

/* Entries of the folder, or only those that begin with prefix; false: errno says why. */
static bool list_folder(struct names *names, struct tbp_arena *arena, const char *folder,
                        const char *prefix) {
    DIR *d = opendir(folder);
    if (!d)
        return false;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && strncmp(e->d_name, prefix, strlen(prefix)) == 0)
            *tbp_vec_push(&names->list) = tbp_arena_printf(arena, "%s/%s", folder, e->d_name);
    closedir(d);
    tbp_sort(names->list.at, names->list.n, sizeof *names->list.at, by_text, NULL);
    return true;
}

/* A folder that is waiting to be looked through. */
struct place {
    const char *path, *prefix;
    unsigned depth;
    dev_t device;
    ino_t inode;
};
struct places {
    TBP_VEC(struct place) list;
};

/* Unless it is there: the folder of $TBPROF_SPOOL_DIR may be one of those in /tmp. */
static void put_place(struct places *places, const char *path, const char *prefix, unsigned depth) {
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    for (size_t i = 0; i < places->list.n; i++)
        if (places->list.at[i].device == st.st_dev && places->list.at[i].inode == st.st_ino)
            return;
    *tbp_vec_push(&places->list) = (struct place){path, prefix, depth, st.st_dev, st.st_ino};
}

/* False: it could not be read, or what is in it could not; errno says why. */
static bool look(struct tbp_spool_paths *paths, struct places *places, struct tbp_arena *arena,
                 const struct place *at) {
    struct names names = {0};
    int code = list_folder(&names, arena, at->path, at->prefix) ? 0 : errno;
    for (size_t i = 0; i < names.list.n; i++) {
        const char *path = names.list.at[i];
        struct stat st;
        if (lstat(path, &st) != 0)
            code = errno == ENOENT ? code : errno;
        else if (S_ISDIR(st.st_mode) && at->depth < MAX_DEPTH)
            put_place(places, path, "", at->depth + 1);
        else if (S_ISREG(st.st_mode) && tbp_str_ends(tbp_str_c(path), SPOOL_SUFFIX))
            *tbp_vec_push(&paths->list) = path;
    }
    tbp_vec_release(&names.list);
    errno = code;
    return code == 0;
}

void tbp_spool_paths_release(struct tbp_spool_paths *paths) {
    tbp_vec_release(&paths->list);
    tbp_vec_release(&paths->unread);
}

/* Looks through all places and the folders in them; false: the first could not be read. */
static bool look_through(struct tbp_spool_paths *paths, struct places *places,
                         struct tbp_arena *arena) {
    bool is_read = false;
    int code = ENOENT;
    for (size_t i = 0; i < places->list.n; i++) {
        struct place at = places->list.at[i];
        bool is_read_now = look(paths, places, arena, &at);
        if (i == 0) {
            is_read = is_read_now;
            code = errno;
        } else if (!is_read_now && errno != ENOENT) {
            *tbp_vec_push(&paths->unread) = at.path;
        }
    }
    tbp_vec_release(&places->list);
    errno = code;
    return is_read;
}

int tbp_recover_find(struct tbp_spool_paths *paths, struct tbp_arena *arena, const char *place,
                     struct tbp_error *err) {
    struct places places = {0};
    struct stat st;
    if (stat(place, &st) != 0)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO, "cannot open '%s'",
                              place);
    if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
        return tbp_fail(err, TBP_E_USAGE, "'%s' is neither a file nor a folder: spools are files",
                        place);
    if (S_ISREG(st.st_mode)) {
        *tbp_vec_push(&paths->list) = place;
        return TBP_OK;
    }
    put_place(&places, place, "", 0);
    if (!look_through(paths, &places, arena))
        return tbp_fail_errno(err, TBP_E_IO, "opening folder '%s' failed", place);
    return TBP_OK;
}

void tbp_recover_find_default(struct tbp_spool_paths *paths, struct tbp_arena *arena) {
    const char *wanted[] = {getenv("TBPROF_SPOOL_DIR"), getenv("TMPDIR"), "/tmp"};
    struct places places = {0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (wanted[i] && *wanted[i])
            put_place(&places, wanted[i], FOLDER_PREFIX, 0);
    look_through(paths, &places, arena);
}

/* ---- one spool ---- */

struct recovery {
    const char *path;
    const struct tbp_recover_request *request;
    struct tbp_recover_result *result;
    struct tbp_arena *arena;
    struct tbp_input input;
    int fd;
};

/* Of the process that records, or of another recovery? */
static bool is_locked(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES);
}

/* Where locks do not work the process itself is asked for. */
static bool has_process(const struct tbp_spool_header *h, int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool has_locks = fcntl(fd, F_OFD_SETLK, &whole) == 0;
    return !has_locks && h->pid > 0 && (kill(h->pid, 0) == 0 || errno == EPERM);
}

/* Of an open file; anybody may put one into /tmp. */
static bool is_ours(int fd) {
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

static bool is_capture(const struct tbp_spool_header *h, int64_t since_realtime_ns) {
    return h->magic == TBP_SPOOL_MAGIC && h->state == TBP_SPOOL_RECORDING && !h->logdir[0] &&
           h->start_realtime_ns >= since_realtime_ns;
}

void tbp_recover_find_captures(struct tbp_spool_paths *paths, struct tbp_arena *arena,
                               int64_t since_realtime_ns, size_t *n_alive) {
    struct tbp_spool_paths all = {0};
    *n_alive = 0;
    tbp_recover_find_default(&all, arena);
    for (size_t i = 0; i < all.list.n; i++) {
        struct tbp_spool_header h;
        int fd = open(all.list.at[i], O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
            continue;
        bool is_one = is_ours(fd) && pread(fd, &h, sizeof h, 0) == sizeof h &&
                      is_capture(&h, since_realtime_ns);
        if (is_one && (is_locked(fd) || has_process(&h, fd)))
            ++*n_alive;
        else if (is_one)
            *tbp_vec_push(&paths->list) = all.list.at[i];
        close(fd);
    }
    tbp_vec_release(&all.list);
}

/* Still the file of that name: another recovery may have been faster. */
static bool is_there(const char *path, int fd) {
    struct stat named, open_one;
    return stat(path, &named) == 0 && fstat(fd, &open_one) == 0 &&
           named.st_ino == open_one.st_ino && named.st_dev == open_one.st_dev;
}

static void remove_spool(const struct recovery *r) {
    if (r->request->is_kept || r->request->is_dry)
        return;
    const char *slash = strrchr(r->path, '/');
    unlink(r->path);
    if (slash && slash != r->path)
        rmdir(tbp_arena_printf(r->arena, "%.*s", (int)(slash - r->path), r->path));
}

static const char *sentence(struct tbp_arena *arena, const struct tbp_spool_header *h) {
    const char *why = h->state == TBP_SPOOL_RECORDING ? "before recording was stopped"
                                                      : "before its profile was written";
    return tbp_arena_printf(arena,
                            "tbprof: recovered after abnormal termination: process %d ('%.200s') "
                            "ended %s; the profile holds what had been recorded by then",
                            h->pid, h->command, why);
}

static int write_run(struct recovery *r, const struct tbp_spool_header *h, struct tbp_error *err) {
    const char *logdir = r->result->logdir;
    struct tbp_run_result got;
    struct tbp_run_request request = {
        .spool = {r->input.data, r->input.size},
        .logdir = logdir,
        .until_realtime_ns = INT64_MAX,
        .warning = sentence(r->arena, h),
    };
    if (!*logdir)
        return tbp_fail(err, TBP_E_USAGE,
                        "the spool names no log directory; say --logdir DIR to write a run there, "
                        "or remove it");
    if (r->request->is_dry) {
        r->result->what = TBP_RECOVERED_LATER;
        return TBP_OK;
    }
    size_t header_bytes = TBP_SPOOL_HEADER_BYTES;
    void *header = is_ours(r->fd) && r->input.size >= header_bytes
                       ? mmap(NULL, header_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0)
                       : MAP_FAILED;
    request.header = header == MAP_FAILED ? NULL : header;
    request.is_over = !r->request->is_kept;
    int status = tbp_run_write(&request, &got, err);
    if (header != MAP_FAILED)
        munmap(header, header_bytes);
    if (status)
        return status;
    r->result->what = *got.path ? TBP_RECOVERED : TBP_RECOVERED_EMPTY;
    r->result->run = tbp_arena_printf(r->arena, "%s", got.path);
    r->result->n_records = got.n_records;
    r->result->n_events = got.n_events;
    r->result->size_bytes = got.size_bytes;
    remove_spool(r);
    return TBP_OK;
}

/* The process ended before it had set the spool up: a file of zeros, in a folder that the runtime
 * makes. */
static bool is_blank(const struct recovery *r) {
    const char *slash = strrchr(r->path, '/'), *folder = slash;
    while (folder && folder > r->path && folder[-1] != '/')
        folder--;
    if (!slash || strncmp(folder, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0)
        return false;
    for (size_t i = 0; i < r->input.size && i < sizeof(uint64_t); i++)
        if (r->input.data[i])
            return false; /* the magic number is written last */
    return true;
}

/* Opened or not. */
static bool is_foreign(const struct recovery *r) {
    struct stat st;
    return r->fd >= 0 ? !is_ours(r->fd) : lstat(r->path, &st) == 0 && st.st_uid != geteuid();
}

static const char *logdir_of(const struct recovery *r, const struct tbp_spool_header *h) {
    if (r->request->logdir)
        return r->request->logdir;
    if (!h->logdir[0] && r->request->otherwise)
        return r->request->otherwise;
    return tbp_arena_printf(r->arena, "%s", h->logdir);
}

static int recover_opened(struct recovery *r, struct tbp_error *err) {
    struct tbp_spool_header h;
    if (is_blank(r)) {
        r->result->what = TBP_RECOVERED_EMPTY;
        remove_spool(r);
        return TBP_OK;
    }
    if (r->input.size < sizeof h)
        return tbp_fail(err, TBP_E_TRUNCATED, "'%s' ends inside its header", r->path);
    memcpy(&h, r->input.data, sizeof h);
    h.logdir[sizeof h.logdir - 1] = h.command[sizeof h.command - 1] = '\0';
    if (h.magic != TBP_SPOOL_MAGIC)
        return tbp_fail(err, TBP_E_FORMAT, "'%s' is not a spool", r->path);
    if (has_process(&h, r->fd)) {
        r->result->what = TBP_RECOVERED_ALIVE;
        return TBP_OK;
    }
    r->result->pid = h.pid;
    r->result->command = tbp_arena_printf(r->arena, "%s", h.command);
    r->result->logdir = logdir_of(r, &h);
    if (h.state != TBP_SPOOL_WRITTEN && h.state != TBP_SPOOL_EMPTY)
        return write_run(r, &h, err);
    r->result->what = h.state == TBP_SPOOL_WRITTEN ? TBP_RECOVERED_WRITTEN : TBP_RECOVERED_EMPTY;
    remove_spool(r);
    return TBP_OK;
}

static int recover(void *ctx, struct tbp_error *err) {
    struct recovery *r = ctx;
    r->fd = open(r->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (r->fd < 0 && errno == ENOENT) {
        r->result->what = TBP_RECOVERED_GONE;
        return TBP_OK;
    }
    if (r->request->is_own_only && is_foreign(r)) {
        r->result->what = TBP_RECOVERED_FOREIGN;
        return TBP_OK;
    }
    if (r->fd < 0)
        return tbp_fail_errno(err, TBP_E_IO, "cannot open '%s'", r->path);
    bool is_held = is_locked(r->fd);
    if (is_held || !is_there(r->path, r->fd)) {
        r->result->what = is_held ? TBP_RECOVERED_ALIVE : TBP_RECOVERED_GONE;
        return TBP_OK;
    }
    int status = tbp_input_open(&r->input, r->path, err);
    return status ? status : recover_opened(r, err);
}

void tbp_recover_spool(struct tbp_recover_result *result, struct tbp_arena *arena, const char *path,
                       const struct tbp_recover_request *request) {
    struct recovery r = {
        .path = path, .request = request, .result = result, .arena = arena, .fd = -1};
    *result = (struct tbp_recover_result){.run = "", .command = "", .logdir = ""};
    if (tbp_guard_run(recover, &r, &result->err) != TBP_OK)
        result->what = TBP_RECOVERED_FAILED;
    tbp_input_release(&r.input);
    if (r.fd >= 0)
        close(r.fd);
}
