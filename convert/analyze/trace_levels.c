/* SPDX-License-Identifier: Apache-2.0
 *
 * Level of detail: the coarsest resolution at which an event can be told apart from its
 * neighbours. Rule 6 of the trace views; the differences are unsigned on purpose.
 * First all events with flows together (a flow is drawn as a whole), then every track for itself.
 * Budget: 12 look-ups of nesting depth per event, about 60 ns (tests/bench).
 */
#include "convert/analyze/trace_levels.h"

#include <string.h>

enum { DRAWN_LEVELS = TBP_TRACE_LEVELS - 1 };

uint64_t tbp_level_resolution(unsigned level) {
    static const uint64_t resolution[TBP_TRACE_LEVELS] = {
        1000000000000, 100000000000, 10000000000, 1000000000, 100000000, 10000000, 1000000,
        100000,        10000,        1000,        100,        10,        1};
    return resolution[level];
}

/* ---- one row at one resolution ---- */

void tbp_row_release(struct tbp_row *r) {
    tbp_vec_release(&r->ends);
}

/* First depth whose end is not after t. ends[d] holds the smallest end down to depth d, so it never
 * rises and that depth can be found from the back. */
static size_t depth_of(const struct tbp_row *r, uint64_t t) {
    const uint64_t *ends = r->ends.at;
    size_t hi = r->ends.n;
    for (int near = 0; near < 4; near++, hi--)
        if (hi == 0 || ends[hi - 1] > t)
            return hi;
    size_t lo = 0;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (ends[mid] > t)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void draw(struct tbp_row *r, size_t depth, uint64_t end) {
    r->ends.n = depth;
    uint64_t *to = tbp_vec_push(&r->ends);
    *to = depth && to[-1] < end ? to[-1] : end;
}

bool tbp_row_decide(struct tbp_row *r, const struct tbp_row_event *e, struct tbp_flow_state *flow,
                    unsigned level, uint64_t resolution) {
    const size_t depth = depth_of(r, e->begin_ps);
    const uint64_t end = e->begin_ps + e->dur_ps;
    bool drawn = e->dur_ps >= resolution || depth == r->ends.n ||
                 e->begin_ps - r->ends.at[depth] >= resolution;
    if (flow) {
        const uint16_t bit = (uint16_t)(1u << level);
        const bool fresh = !(flow->known & bit);
        bool visible = fresh ? drawn : (flow->visible & bit) != 0;
        if (!drawn && fresh)
            visible = !r->has_flow || end - r->flow_end_ps >= resolution;
        drawn = drawn || visible;
        flow->visible = (uint16_t)(visible ? flow->visible | bit : flow->visible & ~bit);
        flow->known =
            (uint16_t)(e->direction == TBP_FLOW_END ? flow->known & ~bit : flow->known | bit);
        if (drawn) {
            r->has_flow = true;
            r->flow_end_ps = end;
        }
    }
    if (drawn)
        draw(r, depth, end);
    return drawn;
}

bool tbp_row_decide_loose(struct tbp_row *r, uint64_t begin_ps, uint64_t resolution) {
    if (r->has_last && begin_ps - r->last_ps < resolution)
        return false;
    r->has_last = true;
    r->last_ps = begin_ps;
    return true;
}

static void mark(struct tbp_row *r, const struct tbp_row_event *e, struct tbp_flow_state *flow,
                 unsigned level) {
    const uint64_t end = e->begin_ps + e->dur_ps;
    if (flow) {
        const uint16_t bit = (uint16_t)(1u << level);
        if (e->direction == TBP_FLOW_END) {
            flow->known = (uint16_t)(flow->known & ~bit);
        } else if (!(flow->known & bit)) {
            flow->known |= bit;
            flow->visible |= bit;
        }
        r->has_flow = true;
        r->flow_end_ps = end;
    }
    draw(r, depth_of(r, e->begin_ps), end);
}

static void mark_loose(struct tbp_row *r, uint64_t begin_ps) {
    r->has_last = true;
    r->last_ps = begin_ps;
}

/* ---- pass 1: flows ---- */

struct flow_record {
    struct tbp_flow_state state;
    uint16_t recorded, shown; /* per level: the first decision counts */
};

struct leveling {
    const struct tbp_trace_index *x;
    uint8_t **out;
    struct tbp_idmap ids; /* flow id -> record */
    TBP_VEC(struct flow_record) flows;
};

struct row_set {
    struct tbp_row at[DRAWN_LEVELS];
};

static void row_set_release(struct row_set *s) {
    for (int k = 0; k < DRAWN_LEVELS; k++)
        tbp_row_release(&s->at[k]);
}

static void record(struct flow_record *f, unsigned level, bool shown) {
    const uint16_t bit = (uint16_t)(1u << level);
    if (!(f->recorded & bit) && shown)
        f->shown |= bit;
    f->recorded |= bit;
}

static struct tbp_row_event event_of(const struct tbp_trace_index *x, struct tbp_track_ref r,
                                     uint64_t flow) {
    return (struct tbp_row_event){tbp_index_begin(x, r), tbp_index_dur(x, r),
                                  flow == TBP_NO_FLOW ? TBP_FLOW_NONE : tbp_flow_direction(flow)};
}

static void level_flow_event(struct row_set *rows, const struct tbp_track *t,
                             const struct tbp_row_event *e, struct flow_record *f) {
    unsigned k = 0;
    for (bool drawn = false; k < DRAWN_LEVELS && !drawn; k += !drawn) {
        drawn = t->has_tid
                    ? tbp_row_decide(&rows->at[k], e, &f->state, k, tbp_level_resolution(k))
                    : tbp_row_decide_loose(&rows->at[k], e->begin_ps, tbp_level_resolution(k));
        record(f, k, drawn);
    }
    for (unsigned deeper = k + 1; deeper < DRAWN_LEVELS; deeper++) {
        if (t->has_tid)
            mark(&rows->at[deeper], e, &f->state, deeper);
        else
            mark_loose(&rows->at[deeper], e->begin_ps);
        record(f, deeper, true);
    }
}

static void level_flows(struct leveling *l) {
    const struct tbp_trace_index *x = l->x;
    if (x->n_flow_events == 0)
        return;
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct row_set **rows = TBP_NEW_N(&scratch, struct row_set *, x->n_tracks);
    for (size_t i = 0; i < x->n_flow_events; i++) {
        struct tbp_track_flow at = x->flow_events[i];
        const struct tbp_track *t = &x->tracks[at.track];
        struct tbp_track_ref r = tbp_track_at(t, at.at);
        uint64_t flow = tbp_index_flow(x, r);
        bool is_new;
        uint32_t *slot = tbp_idmap_put(&l->ids, tbp_flow_id(flow), &is_new);
        if (is_new) {
            *slot = (uint32_t)l->flows.n;
            *tbp_vec_push(&l->flows) = (struct flow_record){0};
        }
        if (!rows[at.track])
            rows[at.track] = TBP_NEW(&scratch, struct row_set);
        struct tbp_row_event e = event_of(x, r, flow);
        level_flow_event(rows[at.track], t, &e, &l->flows.at[*slot]);
    }
    for (size_t t = 0; t < x->n_tracks; t++)
        if (rows[t])
            row_set_release(rows[t]);
    tbp_arena_release(&scratch);
}

/* ---- pass 2: tracks ---- */

/* Level of an event with flow, from what pass 1 recorded. */
static unsigned flow_level(const struct leveling *l, uint64_t flow, uint64_t dur_ps) {
    const struct flow_record *f = &l->flows.at[tbp_idmap_get(&l->ids, tbp_flow_id(flow))];
    unsigned k = 0;
    while (k < DRAWN_LEVELS && !(f->shown >> k & 1) && dur_ps < tbp_level_resolution(k))
        k++;
    return k;
}

static unsigned level_event(const struct leveling *l, struct row_set *rows,
                            const struct tbp_track *t, struct tbp_track_ref r) {
    uint64_t flow = tbp_index_flow(l->x, r);
    struct tbp_row_event e = event_of(l->x, r, flow);
    unsigned k = 0, first_mark;
    if (flow != TBP_NO_FLOW) {
        first_mark = k = flow_level(l, flow, e.dur_ps);
    } else {
        while (k < DRAWN_LEVELS &&
               !(t->has_tid
                     ? tbp_row_decide(&rows->at[k], &e, NULL, k, tbp_level_resolution(k))
                     : tbp_row_decide_loose(&rows->at[k], e.begin_ps, tbp_level_resolution(k))))
            k++;
        first_mark = k + 1;
    }
    for (unsigned deeper = first_mark; deeper < DRAWN_LEVELS; deeper++) {
        if (t->has_tid)
            mark(&rows->at[deeper], &e, NULL, deeper);
        else
            mark_loose(&rows->at[deeper], e.begin_ps);
    }
    return k;
}

static int level_track(void *ctx, size_t i, struct tbp_error *err) {
    (void)err;
    const struct leveling *l = ctx;
    const struct tbp_track *t = &l->x->tracks[i];
    struct row_set rows;
    memset(&rows, 0, sizeof rows);
    for (size_t k = 0; k < t->n; k++)
        l->out[i][k] = (uint8_t)level_event(l, &rows, t, tbp_track_at(t, k));
    row_set_release(&rows);
    return TBP_OK;
}

int tbp_trace_levels_make(struct tbp_trace_levels *out, const struct tbp_trace_index *x,
                          struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err) {
    struct leveling l = {.x = x};
    l.out = TBP_NEW_N(a, uint8_t *, x->n_tracks);
    for (size_t i = 0; i < x->n_tracks; i++)
        l.out[i] = TBP_NEW_N(a, uint8_t, x->tracks[i].n);
    *out = (struct tbp_trace_levels){x, l.out};
    level_flows(&l);
    int status = tbp_pool_for(pool, x->n_tracks, level_track, &l, err);
    tbp_idmap_release(&l.ids);
    tbp_vec_release(&l.flows);
    return status;
}

/* ---- lists ---- */

struct listing {
    const struct tbp_trace_levels *levels;
    struct tbp_level_lists *out;
};

static int list_track(void *ctx, size_t number, struct tbp_error *err) {
    (void)err;
    const struct listing *l = ctx;
    const struct tbp_trace_index *x = l->levels->index;
    const struct tbp_track *t = &x->tracks[number];
    const uint8_t *level = l->levels->of_track[number];
    struct tbp_level_list *out = &l->out->tracks[number];
    uint32_t next[TBP_TRACE_LEVELS];
    for (size_t i = 0; i < t->n; i++)
        out->first[level[i] + 1] += !tbp_track_is_lost(x, t, i);
    for (int k = 0; k < TBP_TRACE_LEVELS; k++) {
        next[k] = out->first[k];
        out->first[k + 1] += out->first[k];
    }
    for (size_t i = 0; i < t->n; i++) {
        if (tbp_track_is_lost(x, t, i))
            continue;
        const uint32_t to = next[level[i]]++;
        const uint64_t end = tbp_index_end(x, tbp_track_at(t, i));
        uint64_t *latest = &out->block_end[to / TBP_LEVEL_BLOCK];
        out->at[to] = (uint32_t)i;
        *latest = end > *latest ? end : *latest;
    }
    return TBP_OK;
}

int tbp_level_lists_make(struct tbp_level_lists *out, const struct tbp_trace_levels *levels,
                         struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err) {
    const struct tbp_trace_index *x = levels->index;
    struct listing l = {levels, out};
    out->tracks = TBP_NEW_N(a, struct tbp_level_list, x->n_tracks);
    for (size_t i = 0; i < x->n_tracks; i++) {
        const size_t n = x->tracks[i].n;
        out->tracks[i].at = TBP_NEW_N(a, uint32_t, n);
        out->tracks[i].block_end = TBP_NEW_N(a, uint64_t, n / TBP_LEVEL_BLOCK + 1);
    }
    return tbp_pool_for(pool, x->n_tracks, list_track, &l, err);
}
