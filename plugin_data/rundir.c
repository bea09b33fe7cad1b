/* SPDX-License-Identifier: Apache-2.0
 *
 * The one place that knows how run folders and their files are called.
 */
#include "plugin_data/rundir.h"

#include "plugin_data/entries.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 255, MADE = 64 };

/* Folders made by this process, in a ring, because a signal handler must find them without locks or
 * heap. A path is written while `live` is not set. */
struct made {
    atomic_bool live;
    char path[PATH_MAX];
};
static struct made made[MADE];
static atomic_uint n_made;

/* What plugins look for, the longer of two endings first. The last two are only for people. */
static const char *const suffixes[] = {
    TBP_RUNDIR_XPLANE ".gz", TBP_RUNDIR_XPLANE,        "trace.json.gz",
    "overview_page.json",    "overview_page.pb",       "input_pipeline.json",
    "input_pipeline.pb",     "op_profile.json",        "pod_viewer.json",
    "memory_viewer.json",    "memory_profile.json.gz", "tf_data_bottleneck_analysis.json",
    "tensorflow_stats.pb",   "kernel_stats.pb",        "hlo_proto.pb",
    "tensorflow_stats.json", "kernel_stats.json",
};

void tbp_rundir_time_name(char to[TBP_RUNDIR_TIME_NAME], time_t t) {
    struct tm local;
    localtime_r(&t, &local);
    if (strftime(to, TBP_RUNDIR_TIME_NAME, "%Y_%m_%d_%H_%M_%S", &local) == 0)
        memcpy(to, "9999_12_31_23_59_59", TBP_RUNDIR_TIME_NAME); /* a year beyond four digits */
}

const char *tbp_rundir_numbered(struct tbp_arena *arena, const char *name, unsigned n) {
    static const char *const by_digits[] = {"", "a", "b", "c", "d", "e", "f", "g", "h", "i"};
    size_t further = 0;
    for (unsigned rest = n / 10; rest > 0; rest /= 10)
        further++;
    return n == 0 ? name : tbp_arena_printf(arena, "%s_%s%u", name, by_digits[further], n);
}

/* Length of "SCHEME://" that the text begins with, or 0. */
static size_t scheme_length(const char *text) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    size_t n = strspn(text, letters);
    n += n ? strspn(text + n, "0123456789+-.ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
           : 0;
    return n && strncmp(text + n, "://", 3) == 0 ? n + 3 : 0;
}

int tbp_rundir_local(const char **folder, struct tbp_error *err) {
    static const char file[] = "file://";
    size_t n = scheme_length(*folder);
    if (n == 0)
        return TBP_OK;
    if (strncmp(*folder, file, sizeof file - 1) == 0 && (*folder)[n] == '/') {
        *folder += n;
        return TBP_OK;
    }
    return tbp_fail(err, TBP_E_OPTION,
                    "'%.200s' is not on this machine: write to a local folder, then copy what is "
                    "in it there (gsutil cp -r, aws s3 cp --recursive, hdfs dfs -put …)",
                    *folder);
}

bool tbp_rundir_is_run_name(struct tbp_str name) {
    return name.n > 0 && name.n <= NAME_MAX_BYTES && name.p[0] != '.' &&
           tbp_str_find(name, '/') == name.n && tbp_str_find(name, '\0') == name.n;
}

bool tbp_rundir_is_typed_name(struct tbp_str name) {
    bool is_seen = false;
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < ' ' || c == 0x7f)
            return false;
        is_seen |= c != ' ';
    }
    return is_seen && tbp_rundir_is_run_name(name);
}

char *tbp_rundir_clean_host(struct tbp_arena *arena, struct tbp_str host) {
    if (host.n == 0)
        host = TBP_STR("_");
    char *clean = TBP_NEW_N(arena, char, host.n + 1);
    for (size_t i = 0; i < host.n; ++i) {
        char c = host.p[i];
        clean[i] = c == ':' || c == '/' || c == '\0' || (c == '.' && i == 0) ? '_' : c;
    }
    return clean;
}

char *tbp_rundir_path(struct tbp_arena *arena, const char *logdir, const char *run) {
    return tbp_arena_printf(arena, "%s/" TBP_RUNDIR_MIDDLE "/%s", logdir, run);
}

char *tbp_rundir_file(struct tbp_arena *arena, const char *folder, struct tbp_str host,
                      const char *suffix) {
    return tbp_arena_printf(arena, "%s/%s.%s", folder, tbp_rundir_clean_host(arena, host), suffix);
}

bool tbp_rundir_split(struct tbp_str file_name, struct tbp_str *host, struct tbp_str *suffix) {
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; ++i) {
        size_t n = strlen(suffixes[i]);
        if (!tbp_str_ends(file_name, suffixes[i]))
            continue;
        if (file_name.n > n && file_name.p[file_name.n - n - 1] != '.')
            continue;
        *suffix = tbp_str_sub(file_name, file_name.n - n, file_name.n);
        *host = tbp_str_sub(file_name, 0, file_name.n > n ? file_name.n - n - 1 : 0);
        return true;
    }
    return false;
}

bool tbp_rundir_split_path(struct tbp_str path, struct tbp_str *logdir, struct tbp_str *run) {
    while (path.n > 1 && path.p[path.n - 1] == '/')
        --path.n;
    size_t slash = tbp_str_rfind(path, '/');
    if (slash == path.n)
        return false;
    struct tbp_str above = tbp_str_sub(path, 0, slash);
    if (!tbp_str_ends(above, "/" TBP_RUNDIR_MIDDLE) && !tbp_str_is(above, TBP_RUNDIR_MIDDLE))
        return false;
    size_t middle = above.n - strlen(TBP_RUNDIR_MIDDLE);
    *run = tbp_str_sub(path, slash + 1, path.n);
    *logdir =
        tbp_str_sub(path, 0, middle > 1 ? middle - 1 : middle); /* keeps the "/" of the root */
    return run->n > 0;
}

/* Noted before it is made: a handler finds it there, or nothing to remove. */
static bool note_and_make(const char *path) {
    size_t n = strlen(path) + 1;
    struct made *m = &made[atomic_fetch_add(&n_made, 1) % MADE];
    atomic_store(&m->live, false);
    if (n <= sizeof m->path) {
        memcpy(m->path, path, n);
        atomic_store(&m->live, true);
    }
    if (mkdir(path, 0777) == 0)
        return true;
    atomic_store(&m->live, false);
    return errno == EEXIST;
}

static int make_one(const char *path, struct tbp_error *err) {
    sigset_t before;
    if (access(path, F_OK) == 0)
        return TBP_OK;
    bool may_make = tbp_entry_begin(&before), is_there = may_make && note_and_make(path);
    tbp_entry_end(&before);
    if (!may_make)
        return tbp_fail(err, TBP_E_INTERRUPTED, "a signal asked to stop");
    return is_there ? TBP_OK : tbp_fail_errno(err, TBP_E_IO, "cannot make folder '%s'", path);
}

void tbp_rundir_remove_empty(void) {
    unsigned n = atomic_load(&n_made);
    for (unsigned i = n; i > 0 && n - i < MADE; i--) /* the deepest were made last */
        if (atomic_load(&made[(i - 1) % MADE].live))
            rmdir(made[(i - 1) % MADE].path);
}

/* part: the path, written in meanwhile. */
static int make_parts(char *part, struct tbp_error *err) {
    int status = TBP_OK;
    for (char *end = part + 1; status == TBP_OK && end[-1]; ++end) {
        if (*end != '/' && *end != '\0')
            continue;
        char kept = *end;
        *end = '\0';
        status = make_one(part, err);
        *end = kept;
        if (kept == '\0')
            break;
    }
    return status;
}

int tbp_rundir_make(const char *path, struct tbp_error *err) {
    enum { TRIES = 20 }; /* another process may remove an empty folder in between */
    struct tbp_arena arena;
    struct stat st;
    bool is_there = false;
    int status = TBP_OK;
    tbp_arena_init(&arena);
    char *part = tbp_arena_printf(&arena, "%s", path);
    for (int i = 0; i < TRIES && !is_there; i++) {
        status = make_parts(part, err);
        is_there = status == TBP_OK && stat(path, &st) == 0;
        if (!is_there && errno != ENOENT)
            break;
    }
    tbp_arena_release(&arena);
    if (status == TBP_OK && (!is_there || !S_ISDIR(st.st_mode)))
        status = tbp_fail(err, TBP_E_IO, "'%s' is not a folder", path);
    return status;
}
