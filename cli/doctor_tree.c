/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks the folder depth first with explicit stacks: what plugins would find first, then hidden
 * folders, then what lies behind links, so that a folder goes by its own path if it has one here.
 * Each folder is entered once, so that loops of symbolic links end; only plugins/profile and runs,
 * which plugins list by every name that they have, are looked at under each. The number of folders
 * is bounded, because the path given may be /.
 */
#include "cli/doctor_tree.h"

#include "base/map.h"
#include "base/sort.h"
#include "cli/receipt.h"
#include "plugin_data/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 32, MAX_FOLDERS = 100000, LEVELS_ABOVE = 4 };

/* Endings, the first that fits decides. Foreign names first: some end like those of pages. */
static const struct {
    const char *suffix;
    enum tbp_file_kind kind;
    const char *advice;
} endings[] = {
    {".xplane.pb.gz", TBP_FILE_FOREIGN,
     "undo the compression with 'gunzip', or 'tbprof convert' it"},
    {".xplane.pb.bz2", TBP_FILE_FOREIGN, "undo the compression with 'bunzip2'"},
    {".xplane.pb.lz4", TBP_FILE_FOREIGN, "undo the compression with 'lz4 -d'"},
    {".xplane.pb.xz", TBP_FILE_FOREIGN, "undo the compression with 'xz -d'"},
    {".xplane.pb.zst", TBP_FILE_FOREIGN, "undo the compression with 'zstd -d'"},
    {".xplane.pb.zip", TBP_FILE_FOREIGN, "unpack it with 'unzip', or 'tbprof convert' it"},
    {".pt.trace.json", TBP_FILE_FOREIGN,
     "a PyTorch trace: 'tbprof tools' lists what convert reads"},
    {".pt.trace.json.gz", TBP_FILE_FOREIGN,
     "a PyTorch trace: 'tbprof tools' lists what convert reads"},
    {"perfetto_trace.json.gz", TBP_FILE_FOREIGN,
     "for ui.perfetto.dev only: copy the *.xplane.pb of the same recording here"},
    {".tmp", TBP_FILE_FOREIGN, "the copy or recording was not finished: do it again"},
    {".part", TBP_FILE_FOREIGN, "the download was not finished: do it again"},
    {".icloud", TBP_FILE_FOREIGN, "it is in the cloud still: download it"},
    {".crdownload", TBP_FILE_FOREIGN, "the download was not finished: do it again"},
    {".nsys-rep", TBP_FILE_FOREIGN,
     "an Nsight Systems report: 'tbprof tools' lists what convert reads"},
    {".xplane.pb", TBP_FILE_XPLANE, NULL},
    {".xplane.riegeli", TBP_FILE_RIEGELI, NULL},
    {".op_stats_v2.pb", TBP_FILE_CACHE, NULL},
    {".flat_op_stats_v2.pb", TBP_FILE_CACHE, NULL},
    {".op_stats.pb", TBP_FILE_CACHE, NULL},
    {".SSTABLE", TBP_FILE_CACHE, NULL},
    {".smart_suggestion.pb", TBP_FILE_CACHE, NULL},
    {".dcn_collective_stats.pb", TBP_FILE_CACHE, NULL},
    {"cache_version.txt", TBP_FILE_CACHE, NULL},
    {"cached_tools.json", TBP_FILE_CACHE, NULL},
    {".hlo_proto.pb", TBP_FILE_OTHER, NULL},
    {".tbprof.json", TBP_FILE_OTHER, NULL},
    {"tensorflow_stats.json", TBP_FILE_OTHER, NULL},
    {"kernel_stats.json", TBP_FILE_OTHER, NULL},
    {"trace", TBP_FILE_PAGE, NULL},
    {"trace.json", TBP_FILE_FOREIGN,
     "compress it with gzip for plugins up to 2.19.0, or copy the *.xplane.pb here"},
};

static bool has_any_case(struct tbp_str s, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= s.n; i++) {
        if (strncasecmp(s.p + i, part, n) == 0)
            return true;
    }
    return false;
}

enum tbp_file_kind tbp_file_kind_of(struct tbp_str name, struct tbp_str *host,
                                    const char **advice) {
    struct tbp_str suffix;
    *host = TBP_STR_NONE;
    *advice = NULL;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t n = strlen(endings[i].suffix);
        if (name.n <= n - (endings[i].suffix[0] != '.') || !tbp_str_ends(name, endings[i].suffix))
            continue;
        if (endings[i].suffix[0] != '.' && name.n > n && name.p[name.n - n - 1] != '.')
            continue;
        *host = tbp_str_sub(name, 0, name.n - n);
        *advice = endings[i].advice;
        return endings[i].kind;
    }
    if (tbp_rundir_split(name, host, &suffix) && !tbp_str_starts(suffix, TBP_RUNDIR_XPLANE))
        return TBP_FILE_PAGE;
    if (!has_any_case(name, ".xplane") && !tbp_str_starts(name, "xplane."))
        return TBP_FILE_OTHER;
    *advice = "rename it to HOST.xplane.pb";
    if (name.p[0] == '.' && tbp_str_has(name, ".xplane.pb."))
        *advice = "the copy was not finished: do it again"; /* as rsync calls it meanwhile */
    return TBP_FILE_FOREIGN;
}

struct entry {
    const char *name, *path;
    struct stat st; /* of what a link leads to, if it leads anywhere */
    bool is_link;
};
struct entries {
    TBP_VEC(struct entry) list;
    bool is_closed; /* names may be listed, and no more */
};

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* NULL: a file, or a folder. */
static const char *special_of(const struct stat *st) {
    switch (st->st_mode & S_IFMT) {
    case S_IFREG:
    case S_IFDIR:
        return NULL;
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    case S_IFLNK:
        return "a link to nothing, or to itself";
    default:
        return "a device";
    }
}

static bool list_folder(struct entries *out, struct tbp_arena *arena, const char *path) {
    DIR *dir = opendir(path);
    if (!dir)
        return false;
    const char *slash = strcmp(path, "/") == 0 ? "" : "/";
    for (struct dirent *d; (d = readdir(dir));) {
        struct entry e = {.name = d->d_name};
        if (strcmp(e.name, ".") == 0 || strcmp(e.name, "..") == 0)
            continue;
        e.path = tbp_arena_printf(arena, "%s%s%s", path, slash, e.name);
        if (lstat(e.path, &e.st) != 0) {
            out->is_closed |= errno == EACCES;
            continue;
        }
        struct stat target;
        e.is_link = S_ISLNK(e.st.st_mode);
        if (e.is_link && stat(e.path, &target) == 0)
            e.st = target;
        e.name = strrchr(e.path, '/') + 1;
        *tbp_vec_push(&out->list) = e;
    }
    closedir(dir);
    tbp_sort(out->list.at, out->list.n, sizeof *out->list.at, by_name, NULL);
    return true;
}

static uint64_t identity(const struct stat *st) {
    return (uint64_t)st->st_dev << 48 ^ (uint64_t)st->st_ino;
}

static struct tbp_doctor_file file_of(const struct entry *e) {
    struct tbp_doctor_file f = {.name = e->name,
                                .path = e->path,
                                .identity = identity(&e->st),
                                .size_bytes = (uint64_t)e->st.st_size,
                                .mtime_s = (int64_t)e->st.st_mtime};
    f.kind = tbp_file_kind_of(tbp_str_c(e->name), &f.host, &f.advice);
    f.special = S_ISDIR(e->st.st_mode) ? "a folder" : special_of(&e->st);
    if (f.special)
        f.kind = f.kind == TBP_FILE_XPLANE || f.kind == TBP_FILE_PAGE ? TBP_FILE_SPECIAL
                                                                      : TBP_FILE_OTHER;
    f.is_readable = f.special || access(e->path, R_OK) == 0;
    return f;
}

static void add_file(struct tbp_doctor_folder *to, const struct entry *e) {
    struct tbp_doctor_file *f = tbp_vec_push(&to->files);
    *f = file_of(e);
    to->count[f->kind]++;
}

/* What the layout makes of a folder by its place. */
enum role { ROLE_FOLDER, ROLE_PROFILE, ROLE_RUN };
enum rank { RANK_PLAIN, RANK_HIDDEN, RANK_LINK, RANKS };

struct place {
    const char *path;
    uint64_t identity;
    size_t logdir; /* of runs */
    unsigned depth;
    enum role role;
    enum rank rank; /* the highest on the way to it */
};
struct walk {
    struct tbp_tree *t;
    TBP_VEC(struct place) stacks[RANKS];
    struct tbp_idmap seen; /* folders by identity */
};

static bool ends_in_profile(const char *path) {
    return tbp_str_ends(tbp_str_c(path), "/" TBP_RUNDIR_MIDDLE);
}

/* Event files of the folder that holds plugins/. */
static void look_for_events(struct tbp_doctor_logdir *l, struct tbp_arena *arena) {
    struct entries entries = {0};
    list_folder(&entries, arena, l->path);
    for (size_t i = 0; i < entries.list.n; i++) {
        const struct entry *e = &entries.list.at[i];
        if (!S_ISREG(e->st.st_mode) || !strstr(e->name, "tfevents"))
            continue;
        if (e->st.st_size > 0)
            l->has_events = true;
        else if (tbp_str_ends(tbp_str_c(e->name), ".profile-empty"))
            l->empty_marker = e->path;
    }
    tbp_vec_release(&entries.list);
}

static size_t add_logdir(struct tbp_tree *t, const struct place *profile) {
    const char *profile_folder = profile->path;
    size_t n = strlen(profile_folder) - strlen("/" TBP_RUNDIR_MIDDLE), root = strlen(t->root);
    struct tbp_doctor_logdir l = {0};
    l.path = n ? tbp_arena_printf(t->arena, "%.*s", (int)n, profile_folder) : "/";
    l.below = n > root ? l.path + root + (t->root[root - 1] != '/') : "";
    l.is_behind_link = profile->rank == RANK_LINK;
    look_for_events(&l, t->arena);
    *tbp_vec_push(&t->logdirs) = l;
    return t->logdirs.n - 1;
}

static void take_run(struct walk *w, const struct place *here, const struct entries *entries) {
    struct tbp_doctor_folder run = {.path = here->path, .name = strrchr(here->path, '/') + 1};
    run.logdir = here->logdir;
    run.is_writable = access(here->path, W_OK) == 0;
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        if (!S_ISDIR(e->st.st_mode) || file_of(e).kind == TBP_FILE_SPECIAL)
            add_file(&run, e);
    }
    struct tbp_doctor_logdir *l = &w->t->logdirs.at[run.logdir];
    l->n_runs++;
    l->n_shown +=
        run.count[TBP_FILE_XPLANE] || run.count[TBP_FILE_RIEGELI] || run.count[TBP_FILE_PAGE];
    *tbp_vec_push(&w->t->runs) = run;
}

/* Files of a folder that is no run: xplanes here are strays; whether or not a run has them, too, is
 * known at the end. */
static void take_others(struct walk *w, const struct place *here, const struct entries *entries) {
    struct tbp_doctor_folder stray = {.path = here->path, .name = strrchr(here->path, '/') + 1};
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        struct tbp_doctor_file f;
        if (!S_ISREG(e->st.st_mode))
            continue;
        f = file_of(e);
        if (f.kind == TBP_FILE_XPLANE)
            add_file(&stray, e);
        if (f.kind == TBP_FILE_FOREIGN && !w->t->foreign.name)
            w->t->foreign = f;
    }
    if (stray.files.n)
        *tbp_vec_push(&w->t->strays) = stray;
    else
        tbp_vec_release(&stray.files);
}

static enum role role_of(const struct place *parent, const char *name) {
    if (parent->role == ROLE_PROFILE)
        return ROLE_RUN;
    bool is_profile =
        strcmp(name, "profile") == 0 && tbp_str_ends(tbp_str_c(parent->path), "/plugins");
    return is_profile ? ROLE_PROFILE : ROLE_FOLDER;
}

/* Plugins follow links from plugins to profile and to runs, and that to the plugins of the log
 * directory itself. */
static enum rank rank_of(const struct place *parent, const struct entry *e, enum role role) {
    bool is_own = parent->depth == 0 && strcmp(e->name, "plugins") == 0;
    enum rank rank = RANK_PLAIN;
    if (e->is_link && role == ROLE_FOLDER && !is_own)
        rank = RANK_LINK;
    else if (e->name[0] == '.')
        rank = RANK_HIDDEN;
    return rank > parent->rank ? rank : parent->rank;
}

/* Runs come right after their folder, whatever their rank: to them the order does not matter. */
static void push_subfolders(struct walk *w, const struct entries *entries,
                            const struct place *here) {
    for (size_t i = entries->list.n; i-- > 0;) {
        const struct entry *e = &entries->list.at[i];
        if (!S_ISDIR(e->st.st_mode))
            continue;
        struct place p = {.path = e->path, .identity = identity(&e->st), .depth = here->depth + 1};
        p.role = role_of(here, e->name);
        p.rank = rank_of(here, e, p.role);
        p.logdir = w->t->logdirs.n - 1; /* counts in runs only, whose folder was added last */
        *tbp_vec_push(&w->stacks[p.role == ROLE_RUN ? RANK_PLAIN : p.rank]) = p;
    }
}

/* Links to nothing in places where plugins look for folders; files there that are called like a
 * folder of the log directory given. */
static void take_no_folders(struct tbp_tree *t, const struct entries *entries,
                            const struct place *here) {
    for (size_t i = 0; i < entries->list.n; i++) {
        const struct entry *e = &entries->list.at[i];
        enum role role = role_of(here, e->name);
        bool is_plugins = strcmp(e->name, "plugins") == 0;
        bool is_own =
            (here->depth == 0 && is_plugins) || (here->depth == 1 && role == ROLE_PROFILE);
        if (S_ISREG(e->st.st_mode) && is_own)
            *tbp_vec_push(&t->no_folders) = (struct tbp_no_folder){e->path, "a file"};
        if (S_ISLNK(e->st.st_mode) && (is_plugins || role != ROLE_FOLDER))
            *tbp_vec_push(&t->no_folders) = (struct tbp_no_folder){e->path, special_of(&e->st)};
    }
}

static void visit(struct walk *w, const struct place here) {
    struct entries entries = {0};
    struct tbp_tree *t = w->t;
    bool is_new = false;
    tbp_idmap_put(&w->seen, here.identity, &is_new);
    if (!is_new && here.role == ROLE_FOLDER)
        return;
    bool is_open = list_folder(&entries, t->arena, here.path);
    if ((!is_open || entries.is_closed) && (here.rank != RANK_HIDDEN || here.role != ROLE_FOLDER))
        *tbp_vec_push(&t->locked) = here.path;
    if (!is_open)
        return;
    t->n_folders++;
    if (here.role == ROLE_PROFILE)
        add_logdir(t, &here);
    if (here.role == ROLE_RUN && !entries.is_closed) /* else what is in it is not known */
        take_run(w, &here, &entries);
    else if (here.role != ROLE_RUN && here.rank != RANK_HIDDEN)
        take_others(w, &here, &entries);
    take_no_folders(t, &entries, &here);
    if (here.depth < MAX_DEPTH && (is_new || here.role == ROLE_PROFILE))
        push_subfolders(w, &entries, &here);
    tbp_vec_release(&entries.list);
}

struct xplane_sum {
    const struct tbp_doctor_file *file;
    uint32_t crc32;
    bool was_tried, is_known;
};
struct xplane_sums {
    TBP_VEC(struct xplane_sum) of_runs;
};

static bool sum_once(struct xplane_sum *s) {
    uint64_t size_bytes;
    if (!s->was_tried)
        s->is_known = tbp_file_sum(s->file->path, &size_bytes, &s->crc32) &&
                      size_bytes == s->file->size_bytes;
    s->was_tried = true;
    return s->is_known;
}

static bool is_in_a_run(struct xplane_sums *sums, const struct tbp_doctor_file *file) {
    struct xplane_sum stray = {.file = file};
    for (size_t i = 0; i < sums->of_runs.n; i++) {
        struct xplane_sum *s = &sums->of_runs.at[i];
        if (s->file->identity == file->identity)
            return true;
        if (s->file->size_bytes == file->size_bytes && sum_once(&stray) && sum_once(s) &&
            s->crc32 == stray.crc32)
            return true;
    }
    return false;
}

/* Strays of which some run has a copy are none. */
static void drop_copied_strays(struct tbp_tree *t) {
    struct xplane_sums sums = {0};
    size_t n = 0;
    for (size_t i = 0; i < t->runs.n; i++) {
        const struct tbp_doctor_folder *run = &t->runs.at[i];
        for (size_t k = 0; k < run->files.n; k++) {
            if (run->files.at[k].kind == TBP_FILE_XPLANE)
                *tbp_vec_push(&sums.of_runs) = (struct xplane_sum){.file = &run->files.at[k]};
        }
    }
    for (size_t i = 0; i < t->strays.n; i++) {
        struct tbp_doctor_folder *s = &t->strays.at[i];
        size_t n_copied = 0;
        while (n_copied < s->files.n && is_in_a_run(&sums, &s->files.at[n_copied]))
            n_copied++;
        if (n_copied == s->files.n)
            tbp_vec_release(&s->files);
        else
            t->strays.at[n++] = *s;
    }
    t->strays.n = n;
    tbp_vec_release(&sums.of_runs);
}

static bool next_place(struct walk *w, struct place *next) {
    for (int rank = 0; rank < RANKS; rank++) {
        if (!w->stacks[rank].n)
            continue;
        *next = w->stacks[rank].at[--w->stacks[rank].n];
        return true;
    }
    return false;
}

static void walk(struct tbp_tree *t) {
    struct walk w = {.t = t};
    struct place place = {.path = t->root};
    struct stat st;
    if (stat(t->root, &st) == 0)
        place.identity = identity(&st);
    *tbp_vec_push(&w.stacks[RANK_PLAIN]) = place;
    while (t->n_folders < MAX_FOLDERS && next_place(&w, &place))
        visit(&w, place);
    t->is_cut = next_place(&w, &place);
    if (t->strays.n)
        drop_copied_strays(t);
    for (int rank = 0; rank < RANKS; rank++)
        tbp_vec_release(&w.stacks[rank]);
    tbp_idmap_release(&w.seen);
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The path n components above; "/" at most. */
static const char *above(struct tbp_arena *arena, const char *path, unsigned n) {
    size_t end = strlen(path);
    for (; n; n--) {
        while (end > 0 && path[end - 1] != '/')
            end--;
        while (end > 0 && path[end - 1] == '/')
            end--;
    }
    return end ? tbp_arena_printf(arena, "%.*s", (int)end, path) : "/";
}

/* Which level of the layout an absolute path is, by its name alone. */
static void find_place(struct tbp_tree *t, const char *path, bool is_file) {
    struct tbp_str logdir, run;
    const char *folder = is_file ? above(t->arena, path, 1) : path;
    t->place = is_file ? TBP_PLACE_FILE : TBP_PLACE_LOGDIR;
    t->root = folder;
    if (tbp_rundir_split_path(tbp_str_c(folder), &logdir, &run)) {
        t->place = is_file ? TBP_PLACE_FILE : TBP_PLACE_RUN;
        t->root = above(t->arena, folder, 3);
    } else if (ends_in_profile(folder)) {
        t->place = is_file ? TBP_PLACE_FILE : TBP_PLACE_PROFILE;
        t->root = above(t->arena, folder, 2);
    } else if (!is_file && tbp_str_ends(tbp_str_c(folder), "/plugins") &&
               is_folder(tbp_arena_printf(t->arena, "%s/profile", folder))) {
        t->place = TBP_PLACE_PLUGINS;
        t->root = above(t->arena, folder, 1);
    }
}

/* Nothing here: a folder beside or above may be the log directory. */
static const char *logdir_above(struct tbp_arena *arena, const char *path) {
    for (unsigned n = 1; n <= LEVELS_ABOVE; n++) {
        const char *up = above(arena, path, n);
        if (strcmp(up, "/") == 0)
            break; /* nobody's log directory, and all the machine to walk */
        if (is_folder(tbp_arena_printf(arena, "%s/" TBP_RUNDIR_MIDDLE, up)))
            return up;
    }
    return NULL;
}

int tbp_tree_build(struct tbp_tree *t, struct tbp_arena *arena, const char *path,
                   struct tbp_error *err) {
    char real[PATH_MAX];
    struct stat st;
    memset(t, 0, sizeof *t);
    t->arena = arena;
    t->given = path;
    if (stat(path, &st) != 0 || !realpath(path, real))
        return tbp_fail_errno(err, TBP_E_NOT_FOUND, "opening '%s' failed", path);
    const char *full = tbp_arena_printf(arena, "%s", real);
    t->given_special = special_of(&st);
    find_place(t, full, !S_ISDIR(st.st_mode));
    if (t->place == TBP_PLACE_FILE && strcmp(t->root, above(arena, full, 1)) == 0)
        return TBP_OK;
    walk(t);
    if (t->runs.n || t->strays.n || t->logdirs.n || t->locked.n || t->no_folders.n ||
        t->place != TBP_PLACE_LOGDIR)
        return TBP_OK;
    const char *up = logdir_above(arena, full);
    if (!up)
        return TBP_OK;
    tbp_tree_release(t);
    t->place = TBP_PLACE_BELOW;
    t->root = up;
    t->n_folders = 0;
    walk(t);
    return TBP_OK;
}

static void release_folders(struct tbp_doctor_folder *at, size_t n) {
    for (size_t i = 0; i < n; i++)
        tbp_vec_release(&at[i].files);
}

void tbp_tree_release(struct tbp_tree *t) {
    release_folders(t->runs.at, t->runs.n);
    release_folders(t->strays.at, t->strays.n);
    tbp_vec_release(&t->runs);
    tbp_vec_release(&t->strays);
    tbp_vec_release(&t->logdirs);
    tbp_vec_release(&t->locked);
    tbp_vec_release(&t->no_folders);
}
