/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows, searches and single events of a trace index; see trace_window.h.
 * A window reads, of each level that it can show, what begins in it or not too long before; what
 * passes is put in order and thinned out.
 * Budget: a window of 10 million events in 50 ms, its text included (tests/bench/bench_zoom.c).
 */
#include "convert/analyze/trace_window.h"

#include "base/sort.h"

#include <math.h>
#include <string.h>

/* Hosts with fewer events are never thinned out. */
enum { THIN_FROM = 500000 };
/* Longer names of async events are stored by reference: all of a process then share one row. */
enum { NAME_STORED_MAX = 32 };
#define PS_PER_MS 1e9

/* ---- windows ---- */

struct span {
    uint64_t begin_ps, end_ps, resolution;
    enum tbp_window_needs needs;
};

static uint64_t to_ps(double ms) {
    double v = ms * PS_PER_MS;
    if (!(v > -9.2e18))
        return 0;
    if (v < 0)
        return (uint64_t)(int64_t)v; /* wraps to a huge time, as the official tool's does */
    return v < 1.8446744073709549e19 ? (uint64_t)v : UINT64_MAX;
}

static struct span span_of(const struct tbp_trace_index *x, const struct tbp_trace_window *w) {
    struct span s = {.begin_ps = to_ps(w->start_ms), .end_ps = to_ps(w->end_ms)};
    const uint64_t low = x->has_low ? x->low_ps : 0;
    if (s.end_ps < s.begin_ps)
        s.end_ps = s.begin_ps;
    if (s.begin_ps < low)
        s.begin_ps = low;
    if (x->has_high && (s.end_ps == 0 || s.end_ps > x->high_ps))
        s.end_ps = x->high_ps;
    if (s.end_ps < s.begin_ps)
        s.end_ps = s.begin_ps;
    if (x->n_events >= THIN_FROM && w->resolution > 0)
        s.resolution = (uint64_t)((double)(s.end_ps - s.begin_ps) / (double)w->resolution + 0.5);
    s.needs = s.begin_ps > low   ? TBP_WINDOW_NEEDS_LISTS
              : s.resolution > 0 ? TBP_WINDOW_NEEDS_LEVELS
                                 : TBP_WINDOW_NEEDS_NOTHING;
    return s;
}

enum tbp_window_needs tbp_trace_window_needs(const struct tbp_trace_index *x,
                                             const struct tbp_trace_window *w) {
    return span_of(x, w).needs;
}

struct choosing {
    const struct tbp_trace_index *x;
    const struct tbp_trace_levels *levels;
    const struct tbp_level_lists *lists;
    struct span span;
    unsigned deepest; /* level that is read */
    bool hides_middles;
    struct chosen {
        TBP_VEC(uint32_t) at;
    } * chosen; /* by track */
};

static bool is_hidden_middle(const struct choosing *c, struct tbp_track_ref r) {
    uint64_t flow = c->hides_middles ? tbp_index_flow(c->x, r) : TBP_NO_FLOW;
    return flow != TBP_NO_FLOW && tbp_flow_direction(flow) == TBP_FLOW_MID &&
           tbp_is_tpu_plane(c->x->lines[r.line]->plane->name);
}

/* A window without length shows all that is read. */
static bool meets(const struct span *s, uint64_t end_ps) {
    return s->begin_ps == s->end_ps || s->begin_ps <= end_ps;
}

static void choose(const struct choosing *c, const struct tbp_track *t, uint32_t at,
                   struct chosen *out) {
    struct tbp_track_ref r = tbp_track_at(t, at);
    if (meets(&c->span, tbp_index_end(c->x, r)) && !is_hidden_middle(c, r))
        *tbp_vec_push(&out->at) = at;
}

static void choose_all(const struct choosing *c, const struct tbp_track *t, struct chosen *out) {
    for (size_t i = 0; i < t->n; i++) {
        if (tbp_index_begin(c->x, tbp_track_at(t, i)) > c->span.end_ps)
            break;
        if (!tbp_track_is_lost(c->x, t, i))
            choose(c, t, (uint32_t)i, out);
    }
}

/* Nothing begins before a window that begins with the trace: the level alone decides. */
static void choose_coarse(const struct choosing *c, size_t track, struct chosen *out) {
    const struct tbp_track *t = &c->x->tracks[track];
    const uint8_t *level = c->levels->of_track[track];
    const size_t n =
        c->span.end_ps == UINT64_MAX ? t->n : tbp_track_lower_bound(c->x, t, c->span.end_ps + 1);
    for (size_t i = 0; i < n; i++)
        if (level[i] <= c->deepest && !tbp_track_is_lost(c->x, t, i))
            choose(c, t, (uint32_t)i, out);
}

/* First entry of at[from … to-1] that does not begin before begin_ps. */
static uint32_t level_lower_bound(const struct choosing *c, const struct tbp_track *t,
                                  const uint32_t *at, uint32_t from, uint32_t to,
                                  uint64_t begin_ps) {
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (tbp_index_begin(c->x, tbp_track_at(t, at[mid])) < begin_ps)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

/* Coarse levels may be long: blocks that end before the window are passed over. */
static void choose_level(const struct choosing *c, size_t track, unsigned level,
                         struct chosen *out) {
    const struct tbp_track *t = &c->x->tracks[track];
    const struct tbp_level_list *l = &c->lists->tracks[track];
    const uint64_t slack = level ? tbp_level_resolution(level - 1) : UINT64_MAX;
    const uint64_t from_ps = c->span.begin_ps >= slack ? c->span.begin_ps - slack : 0;
    const uint32_t to = l->first[level + 1];
    uint32_t i = level_lower_bound(c, t, l->at, l->first[level], to, from_ps);
    while (i < to && tbp_index_begin(c->x, tbp_track_at(t, l->at[i])) <= c->span.end_ps) {
        if (!meets(&c->span, l->block_end[i / TBP_LEVEL_BLOCK])) {
            i = (i / TBP_LEVEL_BLOCK + 1) * TBP_LEVEL_BLOCK;
            continue;
        }
        choose(c, t, l->at[i++], out);
    }
}

static int choose_in_track(void *ctx, size_t number, struct tbp_error *err) {
    (void)err;
    const struct choosing *c = ctx;
    struct chosen *out = &c->chosen[number];
    if (c->span.needs == TBP_WINDOW_NEEDS_NOTHING) {
        choose_all(c, &c->x->tracks[number], out);
    } else if (c->span.needs == TBP_WINDOW_NEEDS_LEVELS) {
        choose_coarse(c, number, out);
    } else {
        for (unsigned level = 0; level <= c->deepest; level++)
            choose_level(c, number, level, out);
        tbp_sort_u32(out->at.at, out->at.n);
    }
    return TBP_OK;
}

/* Reading stops after the first level that is as fine as the window. */
static unsigned deepest_level(uint64_t resolution) {
    unsigned level = 0;
    while (level + 1 < TBP_TRACE_LEVELS && tbp_level_resolution(level) > resolution)
        level++;
    return level;
}

/* ---- thinning ---- */

struct thinning {
    const struct tbp_trace_index *x;
    struct tbp_trace_picks *picks;
    bool *alone; /* by track */
    uint64_t resolution;
    struct tbp_strtab names;    /* of thread-less events as stored */
    struct tbp_idmap loose_ids; /* pid, name -> loose */
    TBP_VEC(struct tbp_row) loose;
    struct tbp_idmap flow_ids;
    TBP_VEC(struct tbp_flow_state) flows;
};

static struct tbp_row *loose_row(struct thinning *t, const struct tbp_trace_line *l, size_t i,
                                 bool has_flow) {
    struct tbp_str name = tbp_trace_event_name(l, i);
    if (has_flow && name.n > NAME_STORED_MAX)
        name = TBP_STR_NONE;
    bool is_new;
    uint64_t key = (uint64_t)l->plane->pid << 32 | tbp_strtab_put(&t->names, name);
    uint32_t *slot = tbp_idmap_put(&t->loose_ids, key, &is_new);
    if (is_new) {
        *slot = (uint32_t)t->loose.n;
        *tbp_vec_push(&t->loose) = (struct tbp_row){.has_last = false};
    }
    return &t->loose.at[*slot];
}

static struct tbp_flow_state *flow_state(struct thinning *t, uint64_t flow) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(&t->flow_ids, tbp_flow_id(flow), &is_new);
    if (is_new) {
        *slot = (uint32_t)t->flows.n;
        *tbp_vec_push(&t->flows) = (struct tbp_flow_state){0};
    }
    return &t->flows.at[*slot];
}

static bool stays(struct thinning *t, struct tbp_row *row, uint32_t track, size_t at,
                  uint64_t begin) {
    const struct tbp_track *k = &t->x->tracks[track];
    struct tbp_track_ref r = tbp_track_at(k, at);
    uint64_t flow = tbp_index_flow(t->x, r);
    if (!k->has_tid)
        return tbp_row_decide_loose(loose_row(t, t->x->lines[r.line], r.event, flow != TBP_NO_FLOW),
                                    begin, t->resolution);
    struct tbp_row_event e = {begin, tbp_index_dur(t->x, r), TBP_FLOW_NONE};
    if (flow != TBP_NO_FLOW)
        e.direction = tbp_flow_direction(flow);
    return tbp_row_decide(row, &e, flow == TBP_NO_FLOW ? NULL : flow_state(t, flow), 0,
                          t->resolution);
}

/* Threads without flows do not depend on what else is drawn. */
static bool stands_alone(const struct tbp_trace_index *x, const struct tbp_track *t,
                         const struct tbp_track_picks *p) {
    bool alone = t->has_tid;
    for (size_t i = 0; i < p->n && alone; i++)
        alone = tbp_index_flow(x, tbp_track_at(t, p->at[i])) == TBP_NO_FLOW;
    return alone;
}

static int thin_track(void *ctx, size_t track, struct tbp_error *err) {
    (void)err;
    struct thinning *t = ctx;
    const struct tbp_track *k = &t->x->tracks[track];
    struct tbp_track_picks *p = &t->picks->tracks[track];
    t->alone[track] = stands_alone(t->x, k, p);
    struct tbp_row row = {0};
    const size_t n = t->alone[track] ? p->n : 0;
    for (size_t i = p->n = p->n - n; i < n; i++) { /* kept ones move to the front */
        uint64_t begin = tbp_index_begin(t->x, tbp_track_at(k, p->at[i]));
        if (stays(t, &row, (uint32_t)track, p->at[i], begin))
            p->at[p->n++] = p->at[i];
    }
    tbp_row_release(&row);
    return TBP_OK;
}

/* All others together, in the order of all tracks. */
static void thin_together(struct thinning *t, struct tbp_arena *a) {
    struct tbp_track_merge m = {.index = t->x};
    m.heap = TBP_NEW_N(a, struct tbp_track_cursor, t->x->n_tracks);
    struct tbp_row *rows = TBP_NEW_N(a, struct tbp_row, t->x->n_tracks);
    for (uint32_t k = 0; k < t->x->n_tracks; k++) {
        struct tbp_track_picks *p = &t->picks->tracks[k];
        if (t->alone[k])
            continue;
        tbp_track_merge_add(&m, k, p->at, 0, p->n);
        p->n = 0; /* kept events move to the front, never past the reader */
    }
    tbp_track_merge_start(&m);
    uint32_t track;
    uint64_t begin;
    for (size_t at; tbp_track_merge_next(&m, &track, &at, &begin);)
        if (stays(t, &rows[track], track, at, begin)) {
            struct tbp_track_picks *p = &t->picks->tracks[track];
            p->at[p->n++] = (uint32_t)at;
        }
    for (size_t k = 0; k < t->x->n_tracks; k++)
        tbp_row_release(&rows[k]);
}

static int thin_out(const struct tbp_trace_index *x, uint64_t resolution, struct tbp_pool *pool,
                    struct tbp_arena *a, struct tbp_trace_picks *picks, struct tbp_error *err) {
    struct thinning t = {.x = x, .picks = picks, .resolution = resolution};
    t.alone = TBP_NEW_N(a, bool, x->n_tracks);
    int status = tbp_pool_for(pool, x->n_tracks, thin_track, &t, err);
    if (status)
        return status;
    thin_together(&t, a);
    tbp_strtab_release(&t.names);
    tbp_idmap_release(&t.loose_ids);
    tbp_vec_release(&t.loose);
    tbp_idmap_release(&t.flow_ids);
    tbp_vec_release(&t.flows);
    return TBP_OK;
}

static void make_picks(const struct tbp_trace_index *x, struct tbp_arena *a,
                       struct tbp_trace_picks *out) {
    *out = (struct tbp_trace_picks){0};
    out->tracks = TBP_NEW_N(a, struct tbp_track_picks, x->n_tracks);
}

static void count_picks(const struct tbp_trace_index *x, struct tbp_trace_picks *out) {
    out->n = 0;
    for (size_t k = 0; k < x->n_tracks; k++)
        out->n += out->tracks[k].n;
}

int tbp_trace_pick_window(const struct tbp_trace_index *x, const struct tbp_trace_levels *levels,
                          const struct tbp_level_lists *lists, const struct tbp_trace_window *w,
                          struct tbp_pool *pool, struct tbp_arena *a, struct tbp_trace_picks *out,
                          struct tbp_error *err) {
    struct choosing c = {
        .x = x, .levels = levels, .lists = lists, .hides_middles = w->hides_middles};
    c.span = span_of(x, w);
    c.deepest = deepest_level(c.span.resolution);
    TBP_BUG_IF(c.span.needs == TBP_WINDOW_NEEDS_LEVELS && !levels);
    TBP_BUG_IF(c.span.needs == TBP_WINDOW_NEEDS_LISTS && !lists);
    make_picks(x, a, out);
    c.chosen = TBP_NEW_N(a, struct chosen, x->n_tracks);
    int status = tbp_pool_for(pool, x->n_tracks, choose_in_track, &c, err);
    for (size_t k = 0; k < x->n_tracks; k++) {
        const size_t n = c.chosen[k].at.n;
        out->tracks[k] = (struct tbp_track_picks){TBP_NEW_N(a, uint32_t, n), n};
        if (n)
            memcpy(out->tracks[k].at, c.chosen[k].at.at, n * sizeof *out->tracks[k].at);
        tbp_vec_release(&c.chosen[k].at);
    }
    if (!status && c.span.resolution > 0 && c.span.begin_ps != c.span.end_ps)
        status = thin_out(x, c.span.resolution, pool, a, out, err);
    count_picks(x, out);
    return status;
}

/* ---- search ---- */

/* Stable, so that positions of one level stay in order: of begin, and of serials at equal begin. */
static void order_by_level(const uint8_t *level, const uint32_t *from, uint32_t *to, size_t n) {
    size_t next[TBP_TRACE_LEVELS + 1] = {0};
    for (size_t i = 0; i < n; i++)
        next[level[from[i]] + 1]++;
    for (int k = 0; k < TBP_TRACE_LEVELS; k++)
        next[k + 1] += next[k];
    for (size_t i = 0; i < n; i++)
        to[next[level[from[i]]]++] = from[i];
}

void tbp_trace_pick_prefix(const struct tbp_trace_levels *levels,
                           const struct tbp_trace_names *names, struct tbp_str prefix,
                           struct tbp_arena *a, struct tbp_trace_picks *out) {
    const struct tbp_trace_index *x = levels->index;
    size_t n;
    const uint32_t *found = tbp_trace_names_find(names, prefix, &n);
    make_picks(x, a, out);
    uint32_t *sorted = TBP_NEW_N(a, uint32_t, n);
    uint32_t *ordered = TBP_NEW_N(a, uint32_t, n);
    if (n)
        memcpy(sorted, found, n * sizeof *sorted);
    tbp_sort_u32(sorted, n);
    for (size_t i = 0, k = 0; i < n; k++) {
        const uint32_t base = names->track_base[k], next_base = names->track_base[k + 1];
        const size_t from = i;
        for (; i < n && sorted[i] < next_base; i++)
            sorted[i] -= base;
        order_by_level(levels->of_track[k], sorted + from, ordered + from, i - from);
        out->tracks[k] = (struct tbp_track_picks){ordered + from, i - from};
    }
    count_picks(x, out);
}

/* ---- one event ---- */

/* (begin, serial) names one event. */
static bool is_event(const struct tbp_trace_index *x, const struct tbp_track *t, size_t i,
                     struct tbp_str name, uint64_t dur_ps, int64_t serial) {
    struct tbp_track_ref r = tbp_track_at(t, i);
    return (int64_t)t->serial[i] == serial && tbp_index_dur(x, r) == dur_ps &&
           !tbp_track_is_lost(x, t, i) &&
           tbp_str_eq(tbp_trace_event_name(x->lines[r.line], r.event), name);
}

static bool nearest(double ms, uint64_t *ps) {
    double v = floor(ms * PS_PER_MS + 0.5);
    if (!(v >= 0) || v >= 1.8446744073709549e19)
        return false;
    *ps = (uint64_t)v;
    return true;
}

void tbp_trace_pick_event(const struct tbp_trace_index *x, struct tbp_str name, double start_ms,
                          double duration_ms, int64_t serial, struct tbp_arena *a,
                          struct tbp_trace_picks *out) {
    uint64_t begin_ps, dur_ps;
    make_picks(x, a, out);
    if (!nearest(start_ms, &begin_ps) || !nearest(duration_ms, &dur_ps))
        return;
    for (size_t k = 0; k < x->n_tracks && out->n == 0; k++) {
        const struct tbp_track *t = &x->tracks[k];
        for (size_t i = tbp_track_lower_bound(x, t, begin_ps); i < t->n; i++) {
            if (tbp_index_begin(x, tbp_track_at(t, i)) != begin_ps)
                break;
            if (!is_event(x, t, i, name, dur_ps, serial))
                continue;
            out->tracks[k].at = TBP_NEW(a, uint32_t);
            out->tracks[k].at[0] = (uint32_t)i;
            out->n = out->tracks[k].n = 1;
            break;
        }
    }
}
