/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells hosts of one name apart by their ranks; see host_names.h.
 */
#include "cli/host_names.h"

#include "base/sort.h"
#include "cli/worker_files.h"

struct namesake {
    struct tbp_run_file *file;
    struct tbp_str folder;
    int64_t rank;
};
struct namesakes {
    TBP_VEC(struct namesake) list;
};

static int by_host(const void *a, const void *b, void *ctx) {
    const struct namesake *x = a, *y = b;
    (void)ctx;
    return tbp_str_cmp(x->file->host, y->file->host);
}

static int by_rank(const void *a, const void *b, void *ctx) {
    const struct namesake *x = a, *y = b;
    (void)ctx;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static bool are_apart(struct namesake *n, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct tbp_str digits, path = tbp_str_c(n[i].file->given);
        path.n = tbp_str_rfind(path, '/') < path.n ? tbp_str_rfind(path, '/') : 0;
        if (!tbp_rank_of_path(path, &n[i].folder, &digits, &n[i].rank))
            return false;
    }
    tbp_sort(n, count, sizeof *n, by_rank, NULL);
    for (size_t i = 1; i < count; i++)
        if (n[i].rank == n[i - 1].rank)
            return false;
    return true;
}

static void name_apart(struct namesake *n, size_t count, bool has_others, struct tbp_arena *arena) {
    for (size_t i = 0; i < count; i++) {
        struct tbp_run_file *f = n[i].file;
        f->host = has_others ? tbp_str_c(tbp_arena_printf(arena, "%.*s_%s", (int)n[i].folder.n,
                                                          n[i].folder.p, f->host.p))
                             : tbp_arena_str(arena, n[i].folder);
        f->label = n[i].folder.p; /* tells the rank, too */
    }
}

void tbp_name_ranks_apart(struct tbp_runs *runs, struct tbp_arena *arena) {
    struct namesakes all = {0};
    for (size_t i = 0; i < runs->list.n; i++)
        for (size_t k = 0; k < runs->list.at[i].n_hosts; k++)
            *tbp_vec_push(&all.list) =
                (struct namesake){.file = &runs->list.at[i].hosts[k], .folder = TBP_STR_NONE};
    struct namesake *n = all.list.at;
    tbp_sort(n, all.list.n, sizeof *n, by_host, NULL);
    for (size_t i = 0, end; i < all.list.n; i = end) {
        struct tbp_str host = n[i].file->host;
        end = i + 1;
        while (end < all.list.n && tbp_str_eq(n[end].file->host, host))
            end++;
        if (end - i > 1 && are_apart(&n[i], end - i))
            name_apart(&n[i], end - i, end - i < all.list.n, arena);
    }
    tbp_vec_release(&all.list);
}
