/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the runs of an INPUT. Log directories are walked to a bounded depth and each folder is
 * entered once, so that loops of symbolic links end; folders that cannot be read below the INPUT
 * itself are skipped.
 */
#include "cli/find_runs.h"

#include "base/map.h"
#include "base/sort.h"
#include "base/zip.h"
#include "cli/rank_folders.h"
#include "cli/spool_input.h"
#include "cli/worker_files.h"
#include "convert/read/reader.h"
#include "plugin_data/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 10 };

struct entry {
    const char *name, *path;
    struct stat st;
};
struct entries {
    TBP_VEC(struct entry) list;
};

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static void skip(struct tbp_runs *runs, const char *path, const char *why, bool is_loss) {
    *tbp_vec_push(&runs->skipped) = (struct tbp_skipped){path, why, is_loss};
}

/* The entries of a folder in order of their names; those that vanish meanwhile are left out. Of
 * links that lead nowhere the state is all zeros. */
static int list_folder(struct entries *out, struct tbp_arena *arena, const char *path,
                       struct tbp_error *err) {
    DIR *dir = opendir(path);
    if (!dir)
        return tbp_fail_errno(err, errno == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "opening folder '%s' failed", path);
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        struct entry e = {tbp_arena_printf(arena, "%s", d->d_name),
                          tbp_arena_printf(arena, "%s/%s", path, d->d_name),
                          {0}};
        if (stat(e.path, &e.st) == 0 || readlink(e.path, &(char){0}, 1) >= 0)
            *tbp_vec_push(&out->list) = e;
    }
    closedir(dir);
    tbp_sort(out->list.at, out->list.n, sizeof *out->list.at, by_name, NULL);
    return TBP_OK;
}

/* Name without the suffixes of profiles; false if it has none of them. */
static bool host_of(const char *name, struct tbp_arena *arena, struct tbp_str *host) {
    static const char *const suffixes[] = {".xplane.pb.gz", ".xplane.pb", NULL};
    struct tbp_str s = tbp_str_c(name);
    for (size_t i = 0; suffixes[i]; i++) {
        size_t n = strlen(suffixes[i]);
        if (s.n >= n && tbp_str_ends(s, suffixes[i])) {
            *host = tbp_arena_str(arena, tbp_str_sub(s, 0, s.n - n));
            return true;
        }
    }
    return false;
}

static struct tbp_run_file *add_host(struct tbp_run *run, struct tbp_arena *arena) {
    if (run->n_hosts == run->cap_hosts) {
        size_t cap = run->cap_hosts ? 2 * run->cap_hosts : 4;
        struct tbp_run_file *hosts = TBP_NEW_N(arena, struct tbp_run_file, cap);
        if (run->n_hosts)
            memcpy(hosts, run->hosts, run->n_hosts * sizeof *hosts);
        run->hosts = hosts;
        run->cap_hosts = cap;
    }
    return &run->hosts[run->n_hosts++];
}

/* Why the file, which has the name of a profile, is not taken; NULL: it is. */
static const char *why_skipped(const struct entry *e) {
    if (S_ISREG(e->st.st_mode))
        return NULL;
    return e->st.st_mode ? "is no regular file" : "is a link to nothing";
}

static void collect_hosts(struct tbp_run *run, struct tbp_runs *runs, struct tbp_arena *arena,
                          const struct entries *entries) {
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        struct tbp_str host;
        if (S_ISDIR(e->st.st_mode) || !host_of(e->name, arena, &host))
            continue;
        if (why_skipped(e)) {
            skip(runs, e->path, why_skipped(e), true);
            continue;
        }
        /* "h.xplane.pb" sorts right before "h.xplane.pb.gz": the plain one serves */
        if (run->n_hosts && tbp_str_eq(run->hosts[run->n_hosts - 1].host, host)) {
            skip(runs, e->path, "is of the same host as the file without .gz", false);
            continue;
        }
        *add_host(run, arena) =
            (struct tbp_run_file){host, e->path, e->path, e->name, (uint64_t)e->st.st_size};
    }
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Splits "LOGDIR/plugins/profile/RUN" (an absolute path); false if it has another shape. */
static bool split_layout(struct tbp_arena *arena, const char *folder, const char **logdir) {
    static const char middle[] = "/plugins/profile/";
    const char *name = base_name(folder);
    size_t n = (size_t)(name - folder), m = sizeof middle - 1;
    if (n < m || strncmp(name - m, middle, m) != 0)
        return false;
    *logdir = n == m ? "/" : tbp_arena_printf(arena, "%.*s", (int)(n - m), folder);
    return true;
}

static void describe_folder(struct tbp_run *run, struct tbp_arena *arena, const char *folder) {
    char real[PATH_MAX];
    const char *full = realpath(folder, real) ? real : folder;
    run->name = tbp_arena_printf(arena, "%s", base_name(full));
    if (!split_layout(arena, full, &run->logdir))
        run->logdir = NULL;
    run->below = "";
}

static const char *below_input(struct tbp_arena *arena, const char *root, const char *folder) {
    const char *middle = NULL;
    size_t n = strlen(root);
    for (const char *p = folder; (p = strstr(p, "/plugins/profile/")); p++)
        middle = p;
    if (!middle || (size_t)(middle - folder) <= n + 1)
        return "";
    return tbp_arena_printf(arena, "%.*s", (int)(middle - folder - (long)n - 1), folder + n + 1);
}

/* Traces of workers in a folder without xplanes: the first span of each is one run, the second the
 * next. */
static void collect_workers(struct tbp_runs *runs, struct tbp_arena *arena, const char *folder,
                            const struct entries *entries) {
    struct tbp_worker_files files = {0};
    struct tbp_worker_file f;
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        if (!tbp_worker_file_parse(&f, e->name, arena))
            continue;
        if (why_skipped(e)) {
            skip(runs, e->path, why_skipped(e), true);
            continue;
        }
        f.path = e->path;
        f.size_bytes = (uint64_t)e->st.st_size;
        *tbp_vec_push(&files.list) = f;
    }
    size_t n = tbp_worker_files_order(&files);
    for (size_t span = 0; span < n; span++) {
        struct tbp_run run = {.is_folder = true, .folder = folder, .span = span, .n_spans = n};
        describe_folder(&run, arena, folder);
        run.logdir = NULL; /* what is made of them goes elsewhere */
        if (n > 1)
            run.name = tbp_arena_printf(arena, "%s_span%zu", run.name, span + 1);
        for (size_t i = 0; i < files.list.n; i++) {
            f = files.list.at[i];
            if (f.span == span)
                *add_host(&run, arena) =
                    (struct tbp_run_file){f.host, f.path, f.path, f.name, f.size_bytes};
        }
        *tbp_vec_push(&runs->list) = run;
    }
    tbp_vec_release(&files.list);
}

/* Of a run of xplanes a trace is no part. */
static void skip_workers(struct tbp_runs *runs, struct tbp_arena *arena,
                         const struct entries *entries) {
    struct tbp_worker_file f;
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        if (S_ISREG(e->st.st_mode) && tbp_worker_file_parse(&f, e->name, arena))
            skip(runs, e->path, "lies beside xplanes: name the file itself to have it taken", true);
    }
}

/* Any JSON might be a trace; of those that folders hold only what looks like events counts. */
static bool is_trace(const char *path, bool is_json, struct tbp_arena *arena) {
    enum { LOOK_BYTES = 1 << 16 };
    static const char *const marks[] = {"\"traceEvents\"", "\"ph\"", "\"deviceProperties\""};
    if (!is_json)
        return tbp_file_may_be_profile(path);
    struct tbp_str head = tbp_file_head(path, LOOK_BYTES, arena);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (tbp_str_has(head, marks[i]))
            return true;
    }
    return false;
}

static bool is_other_profile(const char *name, const char *path, bool is_in_layout) {
    static const char *const endings[] = {".json",   ".json.gz", ".tbs", ".pftrace",
                                          ".sqlite", ".rpd",     ".nvvp"};
    struct tbp_arena arena;
    struct tbp_worker_file worker;
    struct tbp_str s = tbp_str_c(name), host, suffix;
    bool is_one = false;
    tbp_arena_init(&arena);
    for (size_t k = 0; k < sizeof endings / sizeof *endings && !is_one; k++)
        is_one = tbp_str_ends(s, endings[k]);
    /* pages in the folder of a run are JSON, too */
    is_one = is_one && !(is_in_layout && tbp_rundir_split(s, &host, &suffix)) &&
             !tbp_worker_file_parse(&worker, name, &arena) &&
             is_trace(path, tbp_str_ends(s, ".json") || tbp_str_ends(s, ".json.gz"), &arena);
    tbp_arena_release(&arena);
    return is_one;
}

/* What a folder without xplanes holds under names that do not say what it is. */
static void skip_others(struct tbp_runs *runs, struct tbp_arena *arena, const char *folder,
                        const struct entries *entries) {
    struct tbp_run run;
    describe_folder(&run, arena, folder);
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        if (!S_ISREG(e->st.st_mode) || !is_other_profile(e->name, e->path, run.logdir))
            continue;
        skip(runs, e->path,
             tbp_str_ends(tbp_str_c(e->name), ".tbs")
                 ? "is the spool of a recording: 'tbprof recover' makes a run of it"
                 : "has no name by which folders tell profiles (*.xplane.pb, *.pt.trace.json): "
                   "name the file itself to have it taken",
             true);
    }
}

/* What stands where a folder of a rank should. Files named rank_3 may be anything; links of that
 * name that lead nowhere are to such a folder. */
static void skip_ranks(struct tbp_runs *runs, const struct entries *entries) {
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        struct tbp_str name = tbp_str_c(e->name), digits;
        int64_t rank;
        bool is_link = e->st.st_mode == 0;
        if (S_ISDIR(e->st.st_mode) ||
            !(tbp_has_name_of_ascend(name) || (is_link && tbp_str_find(name, '.') == name.n &&
                                               tbp_rank_find(name, &digits, &rank))))
            continue;
        skip(runs, e->path, is_link ? "is a link to nothing" : "is no folder", true);
    }
}

struct place {
    const char *path;
    unsigned depth;
};
struct walk {
    struct tbp_runs *runs;
    struct tbp_arena *arena;
    const char *root;
    TBP_VEC(struct place) stack;
    TBP_VEC(const char *) no_ranks; /* folders that have the name of a rank's and are no profile */
    struct tbp_idmap seen;          /* folders by device and inode */
    struct tbp_run flat;            /* files in the root itself, which is no run folder */
};

/* Subfolders, in order of their names, wait on the stack. */
static void push_subfolders(struct walk *w, const struct entries *entries, unsigned depth) {
    for (size_t i = entries->list.n; i-- > 0;) {
        const struct entry *e = &entries->list.at[i];
        bool is_new = false;
        if (!S_ISDIR(e->st.st_mode))
            continue;
        tbp_idmap_put(&w->seen, (uint64_t)e->st.st_dev << 48 ^ (uint64_t)e->st.st_ino, &is_new);
        if (is_new)
            *tbp_vec_push(&w->stack) = (struct place){e->path, depth};
    }
}

static void skip_hosts(struct walk *w, const struct tbp_run *run) {
    for (size_t i = 0; i < run->n_hosts; i++)
        skip(w->runs, run->hosts[i].path,
             "lies in no run folder (plugins/profile/RUN): name the file itself to have it taken",
             true);
}

/* A folder that is one profile by itself is a run of one host. */
static bool take_profile_folder(struct walk *w, struct place here) {
    if (!tbp_is_profile_folder(here.path))
        return false;
    struct tbp_run run = {.below = "", .folder = here.path, .n_spans = 1};
    describe_folder(&run, w->arena, here.path);
    run.logdir = NULL;
    *add_host(&run, w->arena) = (struct tbp_run_file){
        tbp_str_c(run.name), here.path, here.path, tbp_arena_printf(w->arena, "%s", run.name), 0};
    *tbp_vec_push(&w->runs->list) = run;
    return true;
}

static bool lies_below(const char *path, const char *folder) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && path[n] == '/';
}

/* In which nothing was found either, that could be the rank. */
static void skip_no_ranks(struct walk *w, size_t first) {
    for (size_t i = 0; i < w->no_ranks.n; i++) {
        const char *path = w->no_ranks.at[i];
        size_t k = first;
        while (k < w->runs->list.n && !lies_below(w->runs->list.at[k].hosts[0].path, path))
            k++;
        if (k == w->runs->list.n)
            skip(w->runs, path, "has the name of a rank's folder and holds no profile", true);
    }
    tbp_vec_release(&w->no_ranks);
}

static int visit(struct walk *w, struct place here, struct tbp_error *err) {
    struct entries entries = {0};
    struct tbp_run run = {.is_folder = true};
    int status = list_folder(&entries, w->arena, here.path, err);
    if (status && here.depth) {
        skip(w->runs, here.path, "cannot be looked into", true);
        return TBP_OK;
    }
    collect_hosts(&run, w->runs, w->arena, &entries);
    if (!status && run.n_hosts == 0 && take_profile_folder(w, here)) {
        tbp_vec_release(&entries.list);
        return TBP_OK;
    }
    if (run.n_hosts) {
        describe_folder(&run, w->arena, here.path);
        run.below = below_input(w->arena, w->root, here.path);
        skip_workers(w->runs, w->arena, &entries);
    }
    if (run.n_hosts && run.logdir) {
        *tbp_vec_push(&w->runs->list) = run;
    } else {
        if (run.n_hosts == 0) {
            collect_workers(w->runs, w->arena, here.path, &entries);
            skip_others(w->runs, w->arena, here.path, &entries);
            skip_ranks(w->runs, &entries);
            if (here.depth && tbp_has_name_of_ascend(tbp_str_c(base_name(here.path))))
                *tbp_vec_push(&w->no_ranks) = here.path;
        } else if (here.depth == 0)
            w->flat = run;
        else
            skip_hosts(w, &run);
        if (here.depth < MAX_DEPTH)
            push_subfolders(w, &entries, here.depth + 1);
    }
    tbp_vec_release(&entries.list);
    return status;
}

/* Depth first, with an explicit stack. Files in the root itself are a run of their own unless there
 * are run folders below. */
static int walk(struct tbp_runs *runs, struct tbp_arena *arena, const char *root,
                struct tbp_error *err) {
    struct walk w = {.runs = runs, .arena = arena, .root = root};
    size_t before = runs->list.n;
    int status = TBP_OK;
    *tbp_vec_push(&w.stack) = (struct place){root, 0};
    while (w.stack.n && !status)
        status = visit(&w, w.stack.at[--w.stack.n], err);
    if (!status && w.flat.n_hosts && runs->list.n == before)
        *tbp_vec_push(&runs->list) = w.flat;
    else if (!status)
        skip_hosts(&w, &w.flat);
    skip_no_ranks(&w, before);
    tbp_vec_release(&w.stack);
    tbp_idmap_release(&w.seen);
    return status;
}

/* Any other file: what stands before the first dot that is not the first character. */
static struct tbp_str name_before_dot(const char *name, struct tbp_arena *arena) {
    size_t n = 1 + strcspn(*name ? name + 1 : name, ".");
    return tbp_arena_str(arena, tbp_str_sub(tbp_str_c(name), 0, *name ? n : 0));
}

/* Of a lone file: that of the worker or of the xplane, else what stands before the first dot. */
static struct tbp_str host_of_file(const char *name, struct tbp_arena *arena) {
    struct tbp_str host;
    struct tbp_worker_file worker;
    if (tbp_worker_file_parse(&worker, name, arena))
        return worker.host;
    return host_of(name, arena, &host) ? host : name_before_dot(name, arena);
}

/* path names the run, bytes is where it is read from. */
static void add_file(struct tbp_runs *runs, struct tbp_arena *arena, const char *path,
                     const char *bytes, uint64_t size_bytes) {
    struct tbp_run run = {.below = ""};
    const char *name = base_name(path);
    struct tbp_str host = strcmp(path, "-") == 0 ? TBP_STR("stdin") : host_of_file(name, arena);
    *add_host(&run, arena) = (struct tbp_run_file){host, bytes, path, name, size_bytes};
    char *folder = tbp_arena_printf(arena, "%.*s", (int)(name - path), path);
    describe_folder(&run, arena, *folder ? folder : ".");
    if (!run.logdir)
        run.name = tbp_arena_str(arena, host).p;
    run.full_name = run.name;
    *tbp_vec_push(&runs->list) = run;
}

static bool add_zip_member(struct tbp_runs *runs, struct tbp_arena *arena, const char *path) {
    struct tbp_zip_path zip;
    struct stat st;
    if (!tbp_zip_path_split(&zip, path) || stat(zip.file, &st) != 0)
        return false;
    const char *name = base_name(zip.member);
    struct tbp_run run = {.below = ""};
    struct tbp_str host = host_of_file(name, arena);
    *add_host(&run, arena) = (struct tbp_run_file){host, path, path, name, (uint64_t)st.st_size};
    run.name = run.full_name = tbp_arena_str(arena, host).p;
    *tbp_vec_push(&runs->list) = run;
    return true;
}

static int add_stream(struct tbp_runs *runs, struct tbp_arena *arena, const char *path,
                      struct tbp_error *err) {
    const char *copy;
    int status = tbp_spool_input(&copy, arena, path, err);
    if (!status)
        add_file(runs, arena, path, copy, 0);
    return status;
}

/* Files that plugins keep beside the xplanes of a run, and tables written for them: what a shell
 * makes of RUN/?*.pb. */
static bool is_companion(const char *name) {
    static const char *const caches[] = {"op_stats_v2.pb", "op_stats.pb", "smart_suggestion.pb",
                                         "dcn_collective_stats.pb", NULL};
    struct tbp_str s = tbp_str_c(name), host, suffix;
    if (!tbp_str_ends(s, ".pb") || tbp_str_ends(s, ".xplane.pb") || tbp_str_is(s, "xplane.pb"))
        return false;
    for (size_t i = 0; caches[i]; i++) {
        if (tbp_str_ends(s, caches[i]))
            return true;
    }
    return tbp_str_starts(s, "ALL_HOSTS.") || tbp_rundir_split(s, &host, &suffix);
}

/* Runs of one name are known by where they lie. */
static void name_in_full(struct tbp_run *run, struct tbp_arena *arena, const char *root) {
    const char *below = run->below ? run->below : "";
    size_t n_root = strlen(root), n = strlen(below);
    if (run->folder && strncmp(run->folder, root, n_root) == 0 && run->folder[n_root] == '/') {
        below = run->folder + n_root + 1;
        const char *slash = strrchr(below, '/');
        n = slash ? (size_t)(slash - below) : 0;
    }
    run->full_name = n ? tbp_arena_printf(arena, "%.*s/%s", (int)n, below, run->name) : run->name;
}

static int find_below(struct tbp_runs *runs, struct tbp_arena *arena, const char *input,
                      struct tbp_error *err) {
    char *root = tbp_arena_printf(arena, "%s", input);
    for (size_t n = strlen(root); n > 1 && root[n - 1] == '/'; n--)
        root[n - 1] = '\0';
    size_t before = runs->list.n, n_skipped = runs->skipped.n;
    int status = walk(runs, arena, root, err);
    tbp_unite_ranks(runs, before, arena);
    for (size_t i = before; i < runs->list.n; i++)
        name_in_full(&runs->list.at[i], arena, root);
    if (status || runs->list.n > before)
        return status;
    if (runs->skipped.n > n_skipped)
        return tbp_fail(err, TBP_E_NOT_FOUND, "no run in folder '%s'; for instance '%s' %s", input,
                        runs->skipped.at[n_skipped].path, runs->skipped.at[n_skipped].why);
    return tbp_fail(err, TBP_E_NOT_FOUND,
                    "no profile (*.xplane.pb, *.pt.trace.json) in folder '%s'; name a file "
                    "itself to have it taken, whatever it is called",
                    input);
}

int tbp_find_runs(struct tbp_runs *runs, struct tbp_arena *arena, const char *input,
                  struct tbp_error *err) {
    struct stat st;
    if (strcmp(input, "-") == 0)
        return add_stream(runs, arena, input, err);
    if (add_zip_member(runs, arena, input))
        return TBP_OK;
    if (stat(input, &st) != 0)
        return tbp_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? TBP_E_NOT_FOUND : TBP_E_IO,
                              "opening '%s' failed", input);
    if (S_ISDIR(st.st_mode))
        return find_below(runs, arena, input, err);
    if (!S_ISREG(st.st_mode))
        return add_stream(runs, arena, input, err);
    if (is_companion(base_name(input)))
        skip(runs, input, "is a table or a cache of the plugin, no profile", false);
    else
        add_file(runs, arena, input, input, (uint64_t)st.st_size);
    return TBP_OK;
}

int tbp_find_all_runs(struct tbp_runs *runs, struct tbp_arena *arena, char *const *inputs, size_t n,
                      struct tbp_error *err) {
    int status = TBP_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = tbp_find_runs(runs, arena, inputs[i], err);
    if (!status && runs->list.n == 0)
        return tbp_fail(err, TBP_E_NOT_FOUND, "'%s' %s", runs->skipped.at[0].path,
                        runs->skipped.at[0].why);
    return status;
}

/* Whether a is b or lies below it; both as realpath gives them. */
static bool is_within(const char *a, const char *b) {
    size_t n = strlen(b);
    return strncmp(a, b, n) == 0 && (a[n] == '/' || a[n] == '\0');
}

/* Is the run one of a log directory in `folder`, which itself lies below the INPUT? */
static bool is_run_below(const struct tbp_run *run, const char *folder) {
    char logdir[PATH_MAX], input[PATH_MAX], root[PATH_MAX];
    if (!run->logdir || !*run->below || !realpath(run->logdir, logdir))
        return false;
    size_t n = strlen(run->logdir), n_below = strlen(run->below);
    if (n_below >= n || n - n_below >= sizeof input)
        return false;
    memcpy(input, run->logdir, n - n_below);
    input[n - n_below] = '\0';
    return realpath(input, root) && strcmp(root, folder) != 0 && is_within(folder, root) &&
           is_within(logdir, folder);
}

void tbp_runs_skip_below(struct tbp_runs *runs, const char *folder) {
    char real[PATH_MAX];
    size_t kept = 0;
    if (!realpath(folder, real))
        return;
    for (size_t i = 0; i < runs->list.n; i++) {
        struct tbp_run *run = &runs->list.at[i];
        if (is_run_below(run, real))
            skip(runs, run->hosts[0].path, "lies where this conversion writes", false);
        else
            runs->list.at[kept++] = *run;
    }
    runs->list.n = kept;
}

void tbp_runs_release(struct tbp_runs *runs) {
    tbp_vec_release(&runs->list);
    tbp_vec_release(&runs->skipped);
}
