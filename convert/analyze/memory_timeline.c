/* SPDX-License-Identifier: Apache-2.0
 *
 * Timeline of allocations; see memory_timeline.h. One pass over /host:CPU makes a small row per
 * event; sorting, steps, owners and the peak work on rows alone; whole snapshots are decoded again
 * for the few rows that are shown. Source of every rule: ../shared/spec/tables/RULES.md 13 (numbers
 * in the comments), 17.6 for TensorFlow's own tool.
 */
#include "convert/analyze/memory_timeline.h"

#include "base/sort.h"
#include "base/vec.h"
#include "convert/analyze/memory_rows.h"

#include <stdlib.h>

struct work { /* one allocator at work */
    struct tbp_memory_rows *all;
    const uint32_t *order; /* its rows by time */
    size_t n;
    struct tbp_memory_allocator *to;
    struct tbp_arena *out, *scratch;
    const char *unexplained_name;
    bool keep_all;
};

static struct tbp_memory_row *row_at(const struct work *w, size_t i) {
    return &w->all->rows[w->order[i]];
}

static void sort_by_time(struct work *w, uint32_t *order) {
    static const uint64_t sign = UINT64_C(1) << 63; /* so that numbers are ordered as times are */
    TBP_VEC(uint64_t) times = {0};
    TBP_VEC(uint32_t) places = {0};
    tbp_vec_reserve(&times, w->n);
    tbp_vec_reserve(&places, w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        times.at[i] = (uint64_t)tbp_memory_row_time_ps(w->all, row_at(w, i)) ^ sign;
        places.at[i] = i;
    }
    tbp_sort_index_u64(places.at, w->n, times.at, NULL);
    for (size_t i = 0; i < w->n; i++)
        places.at[i] = order[places.at[i]];
    memcpy(order, places.at, w->n * sizeof *order);
    tbp_vec_release(&times);
    tbp_vec_release(&places);
}

/* Rule 5: an event outside any step belongs to the step after the last known one. */
static void repair_steps(const struct work *w) {
    int64_t last = -1;
    for (size_t i = 0; i < w->n; i++) {
        struct tbp_memory_row *r = row_at(w, i);
        if (r->step == -1)
            r->step = (int64_t)((uint64_t)last + 1);
        else
            last = r->step;
    }
}

/* A deallocation is told with the names of its allocation; an address given twice keeps the older
 * owner. */
static void find_owners(const struct work *w) {
    struct tbp_idmap owners = {0};
    for (size_t i = 0; i < w->n; i++) {
        struct tbp_memory_row *r = row_at(w, i);
        bool is_new = false;
        uint32_t *owner = tbp_idmap_put(&owners, r->address, &is_new);
        r->owner = r->is_deallocation ? *owner : TBP_MAP_NONE;
        if (r->is_deallocation)
            *owner = TBP_MAP_NONE;
        else if (*owner == TBP_MAP_NONE)
            *owner = (uint32_t)i;
    }
    tbp_idmap_release(&owners);
}

static void decode(const struct work *w, size_t i, struct tbp_arena *text,
                   struct tbp_memory_snapshot *s) {
    const struct tbp_memory_row *r = row_at(w, i);
    tbp_memory_row_decode(w->all, r, text, s);
    s->activity.step = r->step;
    if (r->owner == TBP_MAP_NONE)
        return;
    struct tbp_memory_snapshot owner;
    tbp_memory_row_decode(w->all, row_at(w, r->owner), text, &owner);
    s->activity.op = owner.activity.op;
    s->activity.region = owner.activity.region;
    s->activity.data_type = owner.activity.data_type;
    s->activity.shape = owner.activity.shape;
}

/* Above the limit: boxes of n / 1000 events, the last ones one wider; each gives its first highest
 * point. */
static void sample(struct work *w) {
    size_t limit = TBP_MEMORY_MAX_SAMPLES, n = w->n < limit ? w->n : limit;
    w->to->sampled = TBP_NEW_N(w->out, struct tbp_memory_snapshot, n);
    w->to->n_sampled = n;
    size_t width = w->n / limit, n_narrow = limit * (width + 1) - w->n;
    for (size_t box = 0, at = 0; box < n; box++) {
        size_t end = w->n <= limit ? at + 1 : at + width + (box >= n_narrow), best = at;
        for (; at < end; at++)
            if (row_at(w, at)->used_bytes > row_at(w, best)->used_bytes)
                best = at;
        decode(w, best, w->out, &w->to->sampled[box]);
    }
}

static void keep_all(struct work *w) {
    w->to->kept = TBP_NEW_N(w->out, struct tbp_memory_snapshot, w->n);
    w->to->n_kept = w->n;
    for (size_t i = 0; i < w->n; i++)
        decode(w, i, w->out, &w->to->kept[i]);
}

/* Rule 6: step of the last event at the peak. */
static int64_t peak_step(const struct work *w) {
    for (size_t i = w->n; i-- > 0;)
        if (row_at(w, i)->used_bytes == w->to->at_peak.peak_bytes)
            return row_at(w, i)->step;
    return 0;
}

/* Marks what is live at the peak (row index by address); returns the heap that no allocation of the
 * step explains. */
static int64_t replay(const struct work *w, int64_t step, uint8_t *is_live) {
    struct tbp_idmap live = {0};
    uint64_t unexplained = (uint64_t)w->to->at_peak.heap_bytes, foreign = 0;
    for (size_t i = 0; i < w->n; i++) {
        const struct tbp_memory_row *r = row_at(w, i);
        if (tbp_memory_row_time_ps(w->all, r) > w->to->peak_time_ps)
            break;
        if (r->step != step)
            continue;
        int64_t allocated_bytes = tbp_memory_row_allocated_bytes(w->all, r);
        bool is_new;
        uint32_t *slot = tbp_idmap_put(&live, r->address, &is_new);
        if (*slot != TBP_MAP_NONE)
            is_live[*slot] = 0;
        else if (r->is_deallocation)
            foreign += (uint64_t)allocated_bytes;
        is_live[i] = !r->is_deallocation;
        *slot = r->is_deallocation ? TBP_MAP_NONE : (uint32_t)i;
        unexplained += r->is_deallocation ? (uint64_t)allocated_bytes : -(uint64_t)allocated_bytes;
    }
    tbp_idmap_release(&live);
    return (int64_t)(unexplained - foreign);
}

static void add_special(struct work *w, int64_t size_bytes, const char *op, const char *region,
                        int64_t step) {
    w->to->special[w->to->n_special++] = (struct tbp_memory_activity){
        .requested_bytes = size_bytes,
        .allocated_bytes = size_bytes,
        .op = tbp_str_c(op),
        .region = tbp_str_c(region),
        .data_type = TBP_STR("INVALID"),
        .shape = TBP_STR("unknown"),
        .step = step,
    };
}

enum { IS_SPECIAL = 1u << 31 };

struct key { /* what rows must share to become one; texts by number in the interner */
    int64_t allocated_bytes, requested_bytes;
    uint32_t text[4];
    uint32_t row; /* index, or IS_SPECIAL | index in special */
};

static void key_of(const struct tbp_memory_activity *a, uint32_t row, struct tbp_strtab *texts,
                   struct key *k) {
    k->allocated_bytes = a->allocated_bytes;
    k->requested_bytes = a->requested_bytes;
    k->text[0] = tbp_strtab_put(texts, a->op);
    k->text[1] = tbp_strtab_put(texts, a->region);
    k->text[2] = tbp_strtab_put(texts, a->data_type);
    k->text[3] = tbp_strtab_put(texts, a->shape);
    k->row = row;
}

static int by_key(const void *a, const void *b, void *ctx) {
    const struct key *x = a, *y = b;
    const struct tbp_strtab *texts = ctx;
    if (x->allocated_bytes != y->allocated_bytes)
        return x->allocated_bytes > y->allocated_bytes ? -1 : 1;
    if (x->requested_bytes != y->requested_bytes)
        return x->requested_bytes > y->requested_bytes ? -1 : 1;
    for (int i = 0; i < 4; i++)
        if (x->text[i] != y->text[i])
            return tbp_str_cmp(texts->strs[x->text[i]], texts->strs[y->text[i]]);
    return 0;
}

/* Rules 7.8 and 7.9: equal neighbours become one row; only the snapshots of rows stay. */
static void fill_active(struct work *w, const struct key *keys, size_t n,
                        struct tbp_strtab *texts) {
    struct tbp_memory_allocator *to = w->to;
    to->active = TBP_NEW_N(w->out, struct tbp_memory_active, n);
    if (!w->keep_all)
        to->kept = TBP_NEW_N(w->out, struct tbp_memory_snapshot, n);
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && by_key(&keys[i], &keys[j], texts) == 0; j++)
            ;
        struct tbp_memory_active *row = &to->active[to->n_active++];
        *row = (struct tbp_memory_active){.special = -1, .n = (int64_t)(j - i)};
        if (keys[i].row & IS_SPECIAL) {
            row->special = keys[i].row & ~IS_SPECIAL;
            row->snapshot = -row->special - 1;
        } else if (w->keep_all) {
            row->snapshot = keys[i].row;
        } else {
            row->snapshot = (int64_t)to->n_kept;
            decode(w, keys[i].row, w->out, &to->kept[to->n_kept++]);
        }
    }
}

static void find_active(struct work *w) {
    struct tbp_memory_allocator *to = w->to;
    int64_t step = peak_step(w);
    uint8_t *is_live = TBP_NEW_N(w->scratch, uint8_t, w->n);
    int64_t unexplained_bytes = replay(w, step, is_live);
    to->special = TBP_NEW_N(w->out, struct tbp_memory_activity, 2);
    if (unexplained_bytes > 0)
        add_special(w, unexplained_bytes, w->unexplained_name, "persist/dynamic", step);
    if (to->at_peak.stack_bytes > 0)
        add_special(w, to->at_peak.stack_bytes, "stack", "stack", step);

    size_t n = to->n_special;
    for (size_t i = 0; i < w->n; i++)
        n += is_live[i];
    struct key *keys = TBP_NEW_N(w->scratch, struct key, n), *k = keys;
    struct tbp_strtab texts = {0};
    for (size_t i = 0; i < w->n; i++) {
        struct tbp_memory_snapshot s;
        if (!is_live[i])
            continue;
        decode(w, i, w->scratch, &s);
        key_of(&s.activity, (uint32_t)i, &texts, k++);
    }
    for (uint32_t i = 0; i < to->n_special; i++)
        key_of(&to->special[i], IS_SPECIAL | i, &texts, k++);
    tbp_sort(keys, n, sizeof *keys, by_key, &texts);
    fill_active(w, keys, n, &texts);
    tbp_strtab_release(&texts);
}

static void finish_allocator(struct tbp_memory_rows *all, size_t which,
                             struct tbp_memory_allocator *to, struct tbp_arena *out, bool is_tf) {
    uint32_t *order;
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct work w = {.all = all, .to = to, .out = out, .scratch = &scratch, .keep_all = is_tf};
    w.n = tbp_memory_rows_of(all, which, &order);
    w.order = order;
    w.unexplained_name = is_tf ? "preallocated/unknown" : "unused preallocated device memory";
    sort_by_time(&w, order);
    repair_steps(&w);
    find_owners(&w);
    if (is_tf)
        keep_all(&w);
    else
        sample(&w);
    find_active(&w);
    tbp_arena_release(&scratch);
}

static int by_id(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_memory_allocator *x = a, *y = b;
    return tbp_str_cmp(x->id, y->id);
}

static void add_modules(const struct tbp_plane *p, const struct tbp_line *l,
                        struct tbp_memory_module *to) {
    for (size_t i = 0; i < l->ev.n; i++) {
        int64_t start_ps = tbp_event_offset(l, i);
        to[i].name = tbp_event_name(l, i);
        to[i].plane = tbp_str_sub(p->name, sizeof "/device:" - 1, p->name.n);
        to[i].start_ps = start_ps;
        to[i].end_ps = (int64_t)((uint64_t)start_ps + l->ev.dur_ps[i]);
    }
}

static void find_modules(const struct tbp_host *h, struct tbp_arena *out,
                         struct tbp_memory_timeline *t) {
    for (int fill = 0; fill < 2; fill++) { /* count, then fill */
        size_t n = 0;
        for (size_t p = 0; p < h->n_planes; p++) {
            const struct tbp_plane *plane = &h->planes[p];
            for (size_t i = 0; tbp_is_tpu_plane(plane->name) && i < plane->n_lines; i++) {
                const struct tbp_line *l = &plane->lines[i];
                if (!tbp_str_is(l->name, "XLA Modules"))
                    continue;
                if (fill)
                    add_modules(plane, l, &t->modules[n]);
                n += l->ev.n;
            }
        }
        if (!fill)
            t->modules = TBP_NEW_N(out, struct tbp_memory_module, n);
        t->n_modules = n;
    }
}

static int make(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                struct tbp_error *err) {
    struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_memory_timeline *t = TBP_NEW(out, struct tbp_memory_timeline);
    *table = t;
    const struct tbp_plane *cpu = tbp_host_plane(h, TBP_HOST_PLANE);
    t->has_host_plane = cpu != NULL;
    if (!cpu)
        return TBP_OK;
    struct tbp_memory_rows rows;
    int status = tbp_memory_rows_init(&rows, cpu, tbp_session_pool(s), out, err);
    if (status)
        return status;
    t->n_allocators = rows.n_allocators;
    t->allocators = rows.allocators;
    bool is_tf = tbp_session_semantics(s) == TBP_SEMANTICS_TF;
    for (size_t i = 0; i < t->n_allocators; i++)
        finish_allocator(&rows, i, &t->allocators[i], out, is_tf);
    tbp_sort(t->allocators, t->n_allocators, sizeof *t->allocators, by_id, NULL);
    tbp_memory_rows_release(&rows);
    find_modules(h, out, t);
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_memory_timeline = {
    .name = "memory_timeline",
    .help = "allocations per allocator: timeline, peak, what was allocated at the peak",
    .host = make,
};
