/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of neighbouring folders made one; see rank_folders.h. Members are sorted by what they have
 * in common: a group is a stretch of them.
 */
#include "cli/rank_folders.h"

#include "base/sort.h"
#include "cli/told_rank.h"
#include "cli/worker_files.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { MINUTE_MS = 60000 };

struct member {
    size_t run;          /* index in the list */
    struct tbp_str key;  /* what all of a group have */
    struct tbp_str host; /* name of the rank */
    size_t n_above;      /* bytes of the folder that holds the ranks */
    int64_t rank;        /* as the path tells, later as the file does; -1: not told */
    int64_t begin_ms;    /* of a worker, by its name; -1: not told */
    bool is_worker;
};
struct members {
    TBP_VEC(struct member) list;
};

/* ---- names ---- */

static size_t count_digits(const char *s, const char *end) {
    size_t n = 0;
    while (s + n < end && isdigit((unsigned char)s[n]))
        n++;
    return n;
}

static bool is_rank(struct member *m, const struct tbp_run *run, struct tbp_arena *arena) {
    struct tbp_str path = tbp_str_c(run->folder), name, digits;
    if (!tbp_rank_of_path(path, &name, &digits, &m->rank))
        return false;
    m->host = tbp_arena_str(arena, name);
    m->n_above = (size_t)(name.p - path.p);
    m->key = tbp_str_c(tbp_arena_printf(arena, "rank %zu %.*s*%s", run->span,
                                        (int)(digits.p - path.p), path.p, digits.p + digits.n));
    return true;
}

static int64_t number_of(const char *digits, size_t n) {
    int64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (digits[i] - '0');
    return v;
}

/* YYYYMMDDhhmmss, maybe with milliseconds, in milliseconds of the calendar. A year is counted from
 * March on, so that the day which some years lack is its last. */
static int64_t milliseconds_of(const char *digits, size_t n) {
    enum { SECONDS = 14, MARCH = 3 };
    int64_t year = number_of(digits, 4), month = number_of(digits + 4, 2);
    if (month < MARCH) {
        year--;
        month += 12;
    }
    int64_t days = 365 * year + year / 4 - year / 100 + year / 400 +
                   (153 * (month - MARCH) + 2) / 5 + number_of(digits + 6, 2);
    int64_t s = ((days * 24 + number_of(digits + 8, 2)) * 60 + number_of(digits + 10, 2)) * 60 +
                number_of(digits + 12, 2);
    return s * 1000 + number_of(digits + SECONDS, n - SECONDS);
}

bool tbp_has_name_of_ascend(struct tbp_str name) {
    return tbp_str_ends(name, "_ascend_pt") || tbp_str_ends(name, "_ascend_ms");
}

/* "<worker>_<time>_ascend_pt"; without a time a worker is a number. */
static bool is_ascend(struct member *m, const struct tbp_run *run, struct tbp_arena *arena) {
    enum { SECONDS = 14, MILLISECONDS = 17, ENDING = sizeof "_ascend_pt" - 1 };
    const char *slash = strrchr(run->folder, '/'), *name = slash ? slash + 1 : run->folder;
    struct tbp_str s = tbp_str_c(name);
    if (s.n <= ENDING || !tbp_has_name_of_ascend(s))
        return false;
    s.n -= ENDING;
    size_t line = tbp_str_rfind(s, '_'), n_time = line < s.n ? s.n - line - 1 : 0;
    const char *time = s.p + line + 1;
    m->begin_ms = -1;
    if ((n_time == SECONDS || n_time == MILLISECONDS) && line &&
        count_digits(time, s.p + s.n) == n_time) {
        m->begin_ms = milliseconds_of(time, n_time);
        s.n = line;
    } else if (count_digits(s.p, s.p + s.n) < s.n) {
        return false;
    }
    m->is_worker = true;
    m->rank = -1;
    m->host = tbp_arena_str(arena, s);
    m->n_above = (size_t)(name - run->folder);
    m->key = tbp_str_c(tbp_arena_printf(arena, "in %.*s", (int)m->n_above, run->folder));
    return true;
}

/* ---- groups ---- */

static int by_key(const void *a, const void *b, void *ctx) {
    const struct member *x = a, *y = b;
    (void)ctx;
    int order = tbp_str_cmp(x->key, y->key);
    if (!order)
        order = (x->begin_ms > y->begin_ms) - (x->begin_ms < y->begin_ms);
    if (!order)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    return order ? order : (x->run > y->run) - (x->run < y->run);
}

static int by_run(const void *a, const void *b, void *ctx) {
    const struct member *x = a, *y = b;
    (void)ctx;
    return (x->run > y->run) - (x->run < y->run);
}

static int by_worker(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return tbp_str_cmp(((const struct member *)a)->host, ((const struct member *)b)->host);
}

/* How many from m on are of one key, and of workers began within a minute. */
static size_t length_of(const struct member *m, const struct member *end) {
    size_t n = 1;
    while (m + n < end && tbp_str_eq(m[n].key, m->key) && m[n].is_worker == m->is_worker &&
           m[n].begin_ms - m->begin_ms < MINUTE_MS)
        n++;
    return n;
}

static int by_rank(const void *a, const void *b, void *ctx) {
    const struct member *x = a, *y = b;
    (void)ctx;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* What files tell wins over paths, which may number something else (lora_rank8). Where the path of
 * one is wrong, those of its neighbours whose files are silent are not believed either. */
static bool has_each_rank_once(const struct tbp_runs *runs, struct member *m, size_t n) {
    bool is_silent = false, is_other = false;
    for (size_t i = 0; i < n; i++) {
        int64_t told, named = m[i].rank;
        bool is_told = tbp_told_rank(runs->list.at[m[i].run].hosts[0].path, &told);
        m[i].rank = is_told ? told : named;
        is_silent |= !is_told;
        is_other |= is_told && named >= 0 && told != named;
    }
    tbp_sort(m, n, sizeof *m, by_rank, NULL);
    for (size_t i = 1; i < n; i++) {
        if (m[i].rank >= 0 && m[i].rank == m[i - 1].rank)
            return false;
    }
    return !(is_silent && is_other);
}

/* One host of each rank, and each rank once. */
static bool is_one_job(const struct tbp_runs *runs, struct member *m, size_t n) {
    if (m->is_worker)
        tbp_sort(m, n, sizeof *m, by_worker, NULL);
    for (size_t i = 0; i < n; i++) {
        bool is_again =
            i && (m->is_worker ? tbp_str_eq(m[i].host, m[i - 1].host) : m[i].rank == m[i - 1].rank);
        if (is_again || runs->list.at[m[i].run].n_hosts != 1)
            return false;
    }
    return n > 1 && has_each_rank_once(runs, m, n);
}

static const char *name_of_folder(const char *path, size_t n, struct tbp_arena *arena) {
    char real[PATH_MAX];
    while (n > 1 && path[n - 1] == '/')
        n--;
    const char *folder = n ? tbp_arena_printf(arena, "%.*s", (int)n, path) : ".";
    folder = realpath(folder, real) ? real : folder;
    const char *slash = strrchr(folder, '/');
    return tbp_arena_printf(arena, "%s", slash ? slash + 1 : folder);
}

static void unite(struct tbp_runs *runs, struct member *m, size_t n, size_t span, size_t n_spans,
                  struct tbp_arena *arena) {
    tbp_sort(m, n, sizeof *m, by_run, NULL);
    struct tbp_run *run = &runs->list.at[m->run];
    struct tbp_run_file *hosts = TBP_NEW_N(arena, struct tbp_run_file, n);
    for (size_t i = 0; i < n; i++) {
        struct tbp_run *from = &runs->list.at[m[i].run];
        hosts[i] = from->hosts[0];
        hosts[i].host = m[i].host;
        hosts[i].label = hosts[i].path + m[i].n_above; /* tells the rank, too */
        from->n_hosts = 0;
    }
    run->name = name_of_folder(run->folder, m->n_above, arena);
    if (n_spans > 1)
        run->name = tbp_arena_printf(arena, "%s_span%zu", run->name, span + 1);
    run->folder =
        m->n_above ? tbp_arena_printf(arena, "%.*s", (int)m->n_above - 1, run->folder) : ".";
    run->hosts = hosts;
    run->n_hosts = run->cap_hosts = n;
    run->is_folder = true;
}

struct group {
    struct member *first;
    size_t n;
};

/* Those of one key: spans of one job, which must be counted before the first gets its name. */
static void unite_key(struct tbp_runs *runs, struct member *m, size_t n, struct tbp_arena *arena) {
    TBP_VEC(struct group) groups = {0};
    for (size_t i = 0, length; i < n; i += length) {
        length = length_of(&m[i], &m[n]);
        if (is_one_job(runs, &m[i], length))
            *tbp_vec_push(&groups) = (struct group){&m[i], length};
    }
    for (size_t span = 0; span < groups.n; span++) {
        struct group *g = &groups.at[span];
        const struct tbp_run *first = &runs->list.at[g->first->run];
        if (g->first->is_worker)
            unite(runs, g->first, g->n, span, groups.n, arena);
        else
            unite(runs, g->first, g->n, first->span, first->n_spans, arena);
    }
    tbp_vec_release(&groups);
}

static void drop_united(struct tbp_runs *runs, size_t first) {
    size_t kept = first;
    for (size_t i = first; i < runs->list.n; i++) {
        if (runs->list.at[i].n_hosts)
            runs->list.at[kept++] = runs->list.at[i];
    }
    runs->list.n = kept;
}

void tbp_unite_ranks(struct tbp_runs *runs, size_t first, struct tbp_arena *arena) {
    struct members members = {0};
    for (size_t i = first; i < runs->list.n; i++) {
        const struct tbp_run *run = &runs->list.at[i];
        struct member m = {.run = i};
        if (run->folder && (is_ascend(&m, run, arena) || is_rank(&m, run, arena)))
            *tbp_vec_push(&members.list) = m;
    }
    struct member *m = members.list.at;
    size_t n = members.list.n;
    tbp_sort(m, n, sizeof *m, by_key, NULL);
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        while (end < n && tbp_str_eq(m[end].key, m[i].key))
            end++;
        unite_key(runs, &m[i], end - i, arena);
    }
    drop_united(runs, first);
    tbp_vec_release(&members.list);
}
