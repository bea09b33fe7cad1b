/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a run, seen from some of them; see run_files.h.
 */
#include "convert/backend/run_files.h"

#include "base/sort.h"
#include "base/vec.h"
#include "convert/analyze/session.h"
#include "convert/read/reader.h"
#include "plugin_data/rundir.h"

#include <dirent.h>
#include <errno.h>

static const char ending[] = "." TBP_RUNDIR_XPLANE;

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Length of the host's name in "<host>.xplane.pb" or "<host>.xplane.pb.gz", or 0. */
static size_t host_length(const char *name, bool packed) {
    struct tbp_str s = tbp_str_c(name);
    if (packed && tbp_str_ends(s, ".gz"))
        s.n -= strlen(".gz");
    return s.n >= sizeof ending && tbp_str_ends(s, ending) ? s.n - (sizeof ending - 1) : 0;
}

bool tbp_run_files_are_ours(const char *const *paths, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!paths[i] || strstr(paths[i], "://") || !host_length(base_name(paths[i]), false))
            return false;
    return n > 0;
}

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return strcmp(((const struct tbp_run_member *)a)->name,
                  ((const struct tbp_run_member *)b)->name);
}

static struct tbp_run_member member(struct tbp_arena *arena, struct tbp_str folder,
                                    const char *name) {
    struct tbp_run_member m = {
        .path = tbp_arena_printf(arena, "%.*s%s", (int)folder.n, folder.p, name)};
    m.name = base_name(m.path);
    m.host = tbp_arena_str(arena, (struct tbp_str){m.name, host_length(m.name, true)});
    return m;
}

struct listing {
    TBP_VEC(struct tbp_run_member) list, left_out;
};

/* Hosts of a folder (which ends with '/', or is empty); what cannot be read is left out: one file
 * that is none must not take the pages of all others with it. */
static void list_hosts(struct listing *out, struct tbp_arena *arena, struct tbp_looks *looks,
                       struct tbp_str folder) {
    DIR *dir = opendir(folder.n ? tbp_arena_str(arena, folder).p : ".");
    if (!dir)
        return;
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.' || !host_length(d->d_name, true))
            continue;
        struct tbp_run_member m = member(arena, folder, d->d_name);
        if (tbp_file_stamp(&m.stamp, m.path, NULL) == TBP_OK &&
            tbp_looks_may_be_profile(looks, m.path, &m.stamp))
            *tbp_vec_push(&out->list) = m;
        else
            *tbp_vec_push(&out->left_out) = m;
    }
    closedir(dir);
    tbp_sort(out->list.at, out->list.n, sizeof *out->list.at, by_name, NULL);
    size_t n = 0; /* "h.xplane.pb" sorts right before "h.xplane.pb.gz": the plain one serves */
    for (size_t i = 0; i < out->list.n; i++)
        if (n == 0 || !tbp_str_eq(out->list.at[n - 1].host, out->list.at[i].host))
            out->list.at[n++] = out->list.at[i];
    out->list.n = n;
}

/* "x.xplane.pb, y.xplane.pb", the first of them only; NULL: none */
static const char *names_left_out(struct listing *l, struct tbp_arena *arena) {
    enum { MOST_NAMED = 4 };
    const char *text = NULL;
    tbp_sort(l->left_out.at, l->left_out.n, sizeof *l->left_out.at, by_name, NULL);
    for (size_t i = 0; i < l->left_out.n && i < MOST_NAMED; i++)
        text =
            tbp_arena_printf(arena, "%s%s%s", i ? text : "", i ? ", " : "", l->left_out.at[i].name);
    return l->left_out.n > MOST_NAMED
               ? tbp_arena_printf(arena, "%s and %zu more", text, l->left_out.n - MOST_NAMED)
               : text;
}

static void take(struct tbp_run_files *out, struct tbp_arena *arena, const struct listing *from) {
    out->n = (uint32_t)from->list.n;
    out->at = TBP_NEW_N(arena, struct tbp_run_member, from->list.n);
    for (uint32_t i = 0; i < out->n; i++) {
        out->at[i] = from->list.at[i];
        out->size_bytes += out->at[i].stamp.size_bytes;
    }
}

static bool is_in(struct tbp_str folder, const char *path) {
    return strncmp(path, folder.p, folder.n) == 0 && !strchr(path + folder.n, '/');
}

/* All paths lie in the folder, and are either one of its files or all of them. */
static bool pick(struct tbp_run_files *run, struct tbp_str folder, const char *const *paths,
                 size_t n) {
    if (n != 1 && n != run->n)
        return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t at = 0;
        while (at < run->n && strcmp(run->at[at].name, base_name(paths[i])) != 0)
            at++;
        if (at == run->n || !is_in(folder, paths[i]))
            return false;
        run->picked = at;
    }
    if (n != 1)
        run->picked = TBP_ALL_HOSTS;
    return true;
}

/* A run of just these. */
void tbp_run_files_named(struct tbp_run_files *out, struct tbp_arena *arena,
                         const char *const *paths, size_t n) {
    struct listing l = {0};
    for (size_t i = 0; i < n; i++)
        *tbp_vec_push(&l.list) = member(arena, TBP_STR_NONE, paths[i]);
    tbp_sort(l.list.at, l.list.n, sizeof *l.list.at, by_name, NULL);
    *out = (struct tbp_run_files){0};
    take(out, arena, &l);
    out->picked = n == 1 ? 0 : TBP_ALL_HOSTS;
    tbp_vec_release(&l.list);
}

static int look_up(struct tbp_run_files *files, struct tbp_error *err) {
    int status = TBP_OK;
    for (uint32_t i = 0; i < files->n && !status; i++) {
        status = tbp_file_stamp(&files->at[i].stamp, files->at[i].path, err);
        files->size_bytes += files->at[i].stamp.size_bytes;
    }
    return status;
}

/* The paths that can be read; all of them if none can, so that the failure is told. */
static size_t keep_readable(const char **to, const char *const *paths, size_t n) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (n == 1 || tbp_file_may_be_profile(paths[i]))
            to[kept++] = paths[i];
    for (; n && !kept; kept = n)
        memcpy(to, paths, n * sizeof *to);
    return kept;
}

int tbp_run_files_find(struct tbp_run_files *out, struct tbp_arena *arena, struct tbp_looks *looks,
                       const char *const *paths, size_t n, struct tbp_error *err) {
    struct tbp_str folder = {paths[0], (size_t)(base_name(paths[0]) - paths[0])};
    struct listing l = {0};
    *out = (struct tbp_run_files){0};
    list_hosts(&l, arena, looks, folder);
    take(out, arena, &l);
    out->left_out = names_left_out(&l, arena);
    tbp_vec_release(&l.list);
    tbp_vec_release(&l.left_out);
    if (pick(out, folder, paths, n))
        return TBP_OK;
    const char **readable = TBP_NEW_N(arena, const char *, n);
    const size_t n_readable = keep_readable(readable, paths, n);
    if (n_readable < n && pick(out, folder, readable, n_readable))
        return TBP_OK;
    tbp_run_files_named(out, arena, readable, n_readable);
    return look_up(out, err);
}
