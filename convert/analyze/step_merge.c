/* SPDX-License-Identifier: Apache-2.0
 *
 * Combining the steps of hosts. The host with the shortest stepped time is the chief; the steps of
 * every other are shifted against the chief's until they share the most time; what all have is kept
 * and numbered from 0. Hosts without device beside hosts with one only coordinate: they have no
 * steps here.
 */
#include "convert/analyze/step_merge.h"

#include "base/vec.h"
#include "convert/analyze/run_environment.h"

static struct tbp_step_hull hull_of(const struct tbp_step *step) {
    struct tbp_step_hull h = {0, 0};
    for (size_t i = 0; i < step->n_cores; i++) {
        const struct tbp_step_core *c = &step->cores[i];
        uint64_t end = c->begin_ps + c->dur_ps;
        h.begin_ps = i == 0 || c->begin_ps < h.begin_ps ? c->begin_ps : h.begin_ps;
        h.end_ps = i == 0 || end > h.end_ps ? end : h.end_ps;
    }
    return h.begin_ps < h.end_ps ? h : (struct tbp_step_hull){0, 0};
}

/* Common time per offset (chief index - subordinate index, stored from -n_sub), by one walk over
 * both. */
static uint64_t *common_times(const struct tbp_step_hull *sub, size_t n_sub,
                              const struct tbp_step_hull *chief, size_t n_chief) {
    size_t cap = 0, i = 0, j = 0;
    uint64_t *common = tbp_vec_grow_bytes(NULL, &cap, n_sub + n_chief + 1, sizeof *common);
    memset(common, 0, (n_sub + n_chief + 1) * sizeof *common);
    while (i < n_sub && j < n_chief) {
        const struct tbp_step_hull *a = &sub[i], *b = &chief[j];
        if (a->begin_ps == a->end_ps) {
            i++;
            continue;
        }
        if (b->begin_ps == b->end_ps) {
            j++;
            continue;
        }
        uint64_t begin = a->begin_ps > b->begin_ps ? a->begin_ps : b->begin_ps;
        uint64_t end = a->end_ps < b->end_ps ? a->end_ps : b->end_ps;
        common[n_sub + j - i] += end > begin ? end - begin : 0;
        bool sub_ends = a->end_ps <= b->end_ps, chief_ends = b->end_ps <= a->end_ps;
        i += sub_ends;
        j += chief_ends;
    }
    return common;
}

struct tbp_step_window tbp_steps_align(const struct tbp_step_hull *sub, size_t n_sub,
                                       const struct tbp_step_hull *chief, size_t n_chief) {
    struct tbp_step_window w = {0, 0, 0};
    if (!n_sub || !n_chief)
        return w;
    uint64_t *common = common_times(sub, n_sub, chief, n_chief);
    /* Offset 0, then 1 ... n_chief-1, then -1 ... -(n_sub-1); strictly more common time wins. */
    size_t best = n_sub;
    for (size_t k = n_sub; k < n_sub + n_chief; k++)
        best = common[k] > common[best] ? k : best;
    for (size_t k = n_sub; k-- > 1;)
        best = common[k] > common[best] ? k : best;
    tbp_vec_free_bytes(common);
    w.first_sub = best < n_sub ? n_sub - best : 0;
    w.first_chief = best < n_sub ? 0 : best - n_sub;
    size_t left_sub = n_sub - w.first_sub, left_chief = n_chief - w.first_chief;
    w.count = left_sub < left_chief ? left_sub : left_chief;
    return w;
}

struct worker {
    uint32_t host;
    const struct tbp_step_table *table;
    struct tbp_step_hull *hulls;
    uint64_t length_ps; /* from the begin of the first to the end of the last step */
    size_t first;       /* its step that belongs to the first common one */
};

static void measure(struct worker *w, struct tbp_arena *a) {
    uint64_t begin = UINT64_MAX, end = 0;
    w->hulls = TBP_NEW_N(a, struct tbp_step_hull, w->table->n_steps);
    for (size_t i = 0; i < w->table->n_steps; i++) {
        struct tbp_step_hull h = hull_of(&w->table->steps[i]);
        w->hulls[i] = h;
        if (h.begin_ps == h.end_ps)
            continue;
        begin = h.begin_ps < begin ? h.begin_ps : begin;
        end = h.end_ps > end ? h.end_ps : end;
    }
    w->length_ps = end > begin ? end - begin : 0;
}

/* Number of common steps; sets `first` of each worker. */
static size_t intersect(struct worker *w, size_t n, bool *is_empty) {
    size_t chief = 0, low = 0, high = SIZE_MAX;
    for (size_t i = 1; i < n; i++)
        chief = w[i].length_ps < w[chief].length_ps ? i : chief;
    *is_empty = false;
    if (!n || !w[chief].table->n_steps) /* a host without steps leaves nothing in common, and
                                           nothing is said of it */
        return 0;
    size_t n_chief = w[chief].table->n_steps;
    for (size_t i = 0; i < n; i++) {
        struct tbp_step_window at = {0, 0, n_chief};
        if (i != chief)
            at = tbp_steps_align(w[i].hulls, w[i].table->n_steps, w[chief].hulls, n_chief);
        low = at.first_chief > low ? at.first_chief : low;
        high = at.first_chief + at.count < high ? at.first_chief + at.count : high;
        w[i].first = at.first_sub - at.first_chief; /* modulo: the sum with low is not negative */
    }
    *is_empty = low > high;
    if (*is_empty)
        return 0;
    for (size_t i = 0; i < n; i++)
        w[i].first += low;
    return high - low;
}

static void merge_step(struct tbp_step *out, uint32_t number, const struct worker *w, size_t n,
                       struct tbp_arena *a) {
    *out = (struct tbp_step){.number = number};
    for (size_t i = 0; i < n; i++)
        out->n_cores += w[i].table->steps[w[i].first + number].n_cores;
    out->cores = TBP_NEW_N(a, struct tbp_step_core, out->n_cores);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const struct tbp_step *step = &w[i].table->steps[w[i].first + number];
        for (size_t k = 0; k < step->n_cores; k++, at++) {
            out->cores[at] = step->cores[k];
            out->cores[at].core += w[i].host * TBP_CORES_PER_HOST;
        }
    }
}

/* What needs no intersection: precision sums and places of the cores. */
static void add_host(struct tbp_step_table *t, const struct tbp_step_table *from, uint32_t host) {
    t->compute_16_ps += from->compute_16_ps;
    t->compute_32_ps += from->compute_32_ps;
    for (size_t i = 0; i < from->n_places; i++) {
        struct tbp_core_place *p = &t->places[t->n_places++];
        *p = from->places[i];
        p->core += host * TBP_CORES_PER_HOST;
    }
}

static bool has_device(const struct tbp_run_environment *env) {
    return tbp_str_has(env->device_type, "GPU") || tbp_str_has(env->device_type, "TPU");
}

/* The hosts whose steps count; also their tables and the number of core places. */
static int find_workers(struct tbp_session *s, tbp_step_table_fn *of, struct worker *w,
                        size_t *n_workers, const struct tbp_step_table **tables, size_t *n_places,
                        struct tbp_error *err) {
    bool any_device = false;
    uint32_t n = tbp_session_n_hosts(s);
    *n_workers = 0;
    *n_places = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_run_environment *env = tbp_run_environment(s, i, err);
        if (!env)
            return err ? err->code : TBP_E_INTERNAL;
        any_device |= has_device(env);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_run_environment *env = tbp_run_environment(s, i, err);
        tables[i] = of(s, i, err);
        if (!tables[i] || !env)
            return err ? err->code : TBP_E_INTERNAL;
        *n_places += tables[i]->n_places;
        if (has_device(env) || !any_device)
            w[(*n_workers)++] = (struct worker){.host = i, .table = tables[i]};
    }
    return TBP_OK;
}

static int merge(struct tbp_session *s, tbp_step_table_fn *of, struct tbp_arena *scratch,
                 struct tbp_arena *out, struct tbp_step_table *t, struct tbp_error *err) {
    uint32_t n = tbp_session_n_hosts(s);
    struct worker *w = TBP_NEW_N(scratch, struct worker, n);
    const struct tbp_step_table **tables = TBP_NEW_N(scratch, const struct tbp_step_table *, n);
    size_t n_workers, n_places;
    int rc = find_workers(s, of, w, &n_workers, tables, &n_places, err);
    if (rc)
        return rc;
    t->places = TBP_NEW_N(out, struct tbp_core_place, n_places);
    for (uint32_t i = 0; i < n; i++)
        add_host(t, tables[i], i);
    for (size_t i = 0; i < n_workers; i++)
        measure(&w[i], scratch);
    t->n_steps = intersect(w, n_workers, &t->is_intersection_empty);
    t->steps = TBP_NEW_N(out, struct tbp_step, t->n_steps);
    for (size_t k = 0; k < t->n_steps; k++)
        merge_step(&t->steps[k], (uint32_t)k, w, n_workers, out);
    return TBP_OK;
}

int tbp_steps_merge(struct tbp_session *s, tbp_step_table_fn *of, struct tbp_arena *out,
                    void **table, struct tbp_error *err) {
    struct tbp_step_table *t = TBP_NEW(out, struct tbp_step_table);
    *table = t;
    if (tbp_session_n_hosts(s) == 1) {
        const struct tbp_step_table *one = of(s, 0, err);
        if (!one)
            return err ? err->code : TBP_E_INTERNAL;
        *t = *one;
        return TBP_OK;
    }
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    int rc = merge(s, of, &scratch, out, t, err);
    tbp_arena_release(&scratch);
    return rc;
}
