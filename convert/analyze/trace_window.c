/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows, searches and single events of a trace index; see trace_window.h.
 * A window is one pass over begin, duration and level of each track; only what passes is merged
 * and thinned out.
 */
#include "convert/analyze/trace_window.h"

#include "base/sort.h"
#include "convert/analyze/trace_levels.h"

#include <math.h>
#include <string.h>

/* Hosts with fewer events are never thinned out. */
enum { THIN_FROM = 500000 };
/* Longer names of async events are stored by reference: all of a process then share one row. */
enum { NAME_STORED_MAX = 32 };
#define PS_PER_MS 1e9

/* ---- names ---- */

/* The last step_name in force: 0 none, 1 a text (maybe empty), and the last that renames. */
struct step_names {
    bool any;
    struct tbp_str last, shown;
};

static void take_step(struct step_names *s, bool is_text, struct tbp_str text) {
    s->any = true;
    s->last = is_text ? text : TBP_STR_NONE;
    if (is_text && text.n)
        s->shown = text;
}

static struct step_names step_names_of(const struct tbp_trace_line *l, size_t i) {
    struct step_names s = {.last = TBP_STR_NONE, .shown = TBP_STR_NONE};
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    for (uint32_t k = 0; m->has_special && k < m->n_args; k++)
        if (l->plane->keys[m->args[k].key].what == TBP_TRACE_STEP_NAME) {
            bool is_text = m->args[k].type == TBP_STAT_STR || m->args[k].type == TBP_STAT_REF;
            take_step(&s, is_text, tbp_trace_text(l->plane, &m->args[k]));
        }
    if (l->made)
        return s;
    bool named = l->line->ev.flags[i] & TBP_EVENT_STEP_NAMED;
    if (!named && !(l->line->ev.has[i] & TBP_HAS_STEP_NAME))
        return s;
    struct tbp_trace_args args = {0};
    tbp_trace_event_args(l, i, &args);
    for (size_t k = 0; k < args.at.n; k++) {
        const struct tbp_trace_arg *a = &args.at.at[k];
        if (l->plane->keys[a->key].what == TBP_TRACE_STEP_NAME) {
            bool is_text = a->type == TBP_STAT_STR || a->type == TBP_STAT_REF;
            take_step(&s, is_text, tbp_trace_text(l->plane, a));
        }
    }
    tbp_trace_args_release(&args);
    return s;
}

struct tbp_str tbp_trace_event_name(const struct tbp_trace_line *l, size_t i) {
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    if (tbp_trace_is_counter(l))
        return m->full_name;
    struct step_names s = step_names_of(l, i);
    return s.shown.n ? s.shown : m->name;
}

/* What a search looks at: any step_name counts, also an empty one. */
static struct tbp_str searched_name(const struct tbp_trace_line *l, size_t i) {
    struct step_names s = step_names_of(l, i);
    return s.any ? s.last : tbp_trace_meta_at(l, i)->name;
}

/* ---- windows ---- */

struct span {
    uint64_t begin_ps, end_ps, resolution;
    bool by_level;
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
    s.by_level = s.begin_ps > low || s.resolution > 0;
    return s;
}

struct choosing {
    struct tbp_trace_index *x;
    struct span span;
    bool hides_middles;
    struct tbp_trace_picks *picks;
};

static bool is_read(const struct span *s, uint64_t begin_ps, unsigned level) {
    if (level == 0)
        return true;
    const uint64_t coarser = tbp_level_resolution(level - 1);
    bool too_early = s->begin_ps >= coarser && begin_ps < s->begin_ps - coarser;
    return !too_early && s->resolution < coarser;
}

static bool meets(const struct span *s, uint64_t begin_ps, uint64_t dur_ps) {
    const uint64_t end = dur_ps > UINT64_MAX - begin_ps ? UINT64_MAX : begin_ps + dur_ps;
    return s->begin_ps == s->end_ps || s->begin_ps <= end;
}

static bool is_hidden_middle(const struct choosing *c, struct tbp_track_ref r) {
    uint64_t flow = c->hides_middles ? tbp_index_flow(c->x, r) : TBP_NO_FLOW;
    return flow != TBP_NO_FLOW && tbp_flow_direction(flow) == TBP_FLOW_MID &&
           tbp_is_tpu_plane(c->x->lines[r.line]->plane->name);
}

static int choose_in_track(void *ctx, size_t number, struct tbp_error *err) {
    (void)err;
    const struct choosing *c = ctx;
    const struct tbp_track *t = &c->x->tracks[number];
    struct tbp_track_picks *out = &c->picks->tracks[number];
    for (size_t i = 0; i < t->n; i++) {
        struct tbp_track_ref r = tbp_track_at(t, i);
        const uint64_t begin = tbp_index_begin(c->x, r);
        if (begin > c->span.end_ps)
            break;
        if (!c->x->keeps_all && t->serial[i] >= TBP_SERIALS)
            continue;
        if (c->span.by_level && !is_read(&c->span, begin, t->level[i]))
            continue;
        if (meets(&c->span, begin, tbp_index_dur(c->x, r)) && !is_hidden_middle(c, r))
            out->at[out->n++] = (uint32_t)i;
    }
    return TBP_OK;
}

/* ---- thinning ---- */

struct thinning {
    const struct tbp_trace_index *x;
    uint64_t resolution;
    struct tbp_row *rows;       /* of threads, by track */
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

static bool stays(struct thinning *t, uint32_t track, size_t at, uint64_t begin) {
    const struct tbp_track *k = &t->x->tracks[track];
    struct tbp_track_ref r = tbp_track_at(k, at);
    uint64_t flow = tbp_index_flow(t->x, r);
    if (!k->has_tid)
        return tbp_row_decide_loose(loose_row(t, t->x->lines[r.line], r.event, flow != TBP_NO_FLOW),
                                    begin, t->resolution);
    struct tbp_row_event e = {begin, tbp_index_dur(t->x, r), TBP_FLOW_NONE};
    if (flow != TBP_NO_FLOW)
        e.direction = tbp_flow_direction(flow);
    return tbp_row_decide(&t->rows[track], &e, flow == TBP_NO_FLOW ? NULL : flow_state(t, flow), 0,
                          t->resolution);
}

static void thin_out(const struct tbp_trace_index *x, uint64_t resolution, struct tbp_arena *a,
                     struct tbp_trace_picks *picks) {
    struct thinning t = {.x = x, .resolution = resolution};
    t.rows = TBP_NEW_N(a, struct tbp_row, x->n_tracks);
    struct tbp_track_merge m = {.index = x};
    m.heap = TBP_NEW_N(a, struct tbp_track_cursor, x->n_tracks);
    for (uint32_t k = 0; k < x->n_tracks; k++) {
        tbp_track_merge_add(&m, k, picks->tracks[k].at, 0, picks->tracks[k].n);
        picks->tracks[k].n = 0; /* kept events move to the front, never past the reader */
    }
    tbp_track_merge_start(&m);
    uint32_t track;
    uint64_t begin;
    for (size_t at; tbp_track_merge_next(&m, &track, &at, &begin);)
        if (stays(&t, track, at, begin)) {
            struct tbp_track_picks *p = &picks->tracks[track];
            p->at[p->n++] = (uint32_t)at;
        }
    for (size_t k = 0; k < x->n_tracks; k++)
        tbp_row_release(&t.rows[k]);
    tbp_strtab_release(&t.names);
    tbp_idmap_release(&t.loose_ids);
    tbp_vec_release(&t.loose);
    tbp_idmap_release(&t.flow_ids);
    tbp_vec_release(&t.flows);
}

static void make_picks(const struct tbp_trace_index *x, struct tbp_arena *a,
                       struct tbp_trace_picks *out, bool full) {
    *out = (struct tbp_trace_picks){0};
    out->tracks = TBP_NEW_N(a, struct tbp_track_picks, x->n_tracks);
    for (size_t k = 0; full && k < x->n_tracks; k++)
        out->tracks[k].at = TBP_NEW_N(a, uint32_t, x->tracks[k].n);
}

static void count_picks(const struct tbp_trace_index *x, struct tbp_trace_picks *out) {
    out->n = 0;
    for (size_t k = 0; k < x->n_tracks; k++)
        out->n += out->tracks[k].n;
}

int tbp_trace_pick_window(struct tbp_trace_index *x, const struct tbp_trace_window *w,
                          struct tbp_pool *pool, struct tbp_arena *a, struct tbp_trace_picks *out,
                          struct tbp_error *err) {
    struct choosing c = {.x = x, .hides_middles = w->hides_middles, .picks = out};
    c.span = span_of(x, w);
    int status = c.span.by_level ? tbp_trace_index_level(x, pool, err) : TBP_OK;
    if (status)
        return status;
    make_picks(x, a, out, true);
    status = tbp_pool_for(pool, x->n_tracks, choose_in_track, &c, err);
    if (!status && c.span.resolution > 0 && c.span.begin_ps != c.span.end_ps)
        thin_out(x, c.span.resolution, a, out);
    count_picks(x, out);
    return status;
}

/* ---- search ---- */

static int by_level(const void *a, const void *b, void *ctx) {
    const struct tbp_track *t = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    /* Positions are in order of begin; serials rise with them at equal begin. */
    return t->level[x] < t->level[y] ? -1 : t->level[x] > t->level[y];
}

struct searching {
    const struct tbp_trace_index *x;
    struct tbp_str prefix;
    struct tbp_trace_picks *picks;
};

static bool starts_with(struct tbp_str s, struct tbp_str prefix) {
    return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0;
}

static int search_track(void *ctx, size_t number, struct tbp_error *err) {
    (void)err;
    const struct searching *s = ctx;
    struct tbp_track *t = &s->x->tracks[number];
    struct tbp_track_picks *out = &s->picks->tracks[number];
    TBP_VEC(uint32_t) found = {0};
    for (size_t i = 0; i < t->n; i++) {
        struct tbp_track_ref r = tbp_track_at(t, i);
        if (t->level[i] != TBP_LEVEL_LOST &&
            starts_with(searched_name(s->x->lines[r.line], r.event), s->prefix))
            *tbp_vec_push(&found) = (uint32_t)i;
    }
    tbp_sort(found.at, found.n, sizeof *found.at, by_level, t);
    out->at = found.at;
    out->n = found.n;
    return TBP_OK;
}

int tbp_trace_pick_prefix(struct tbp_trace_index *x, struct tbp_str prefix, struct tbp_pool *pool,
                          struct tbp_arena *a, struct tbp_trace_picks *out, struct tbp_error *err) {
    int status = tbp_trace_index_level(x, pool, err);
    if (status)
        return status;
    make_picks(x, a, out, false);
    struct searching s = {.x = x, .prefix = prefix, .picks = out};
    status = tbp_pool_for(pool, x->n_tracks, search_track, &s, err);
    for (size_t k = 0; k < x->n_tracks; k++) {
        uint32_t *found = out->tracks[k].at;
        out->tracks[k].at = TBP_NEW_N(a, uint32_t, out->tracks[k].n);
        if (out->tracks[k].n)
            memcpy(out->tracks[k].at, found, out->tracks[k].n * sizeof *found);
        tbp_vec_free_bytes(found);
    }
    count_picks(x, out);
    return status;
}

/* ---- one event ---- */

/* (begin, serial) names one event. */
static bool is_event(const struct tbp_trace_index *x, const struct tbp_track *t, size_t i,
                     struct tbp_str name, uint64_t dur_ps, int64_t serial) {
    struct tbp_track_ref r = tbp_track_at(t, i);
    return (int64_t)t->serial[i] == serial && tbp_index_dur(x, r) == dur_ps &&
           (x->keeps_all || t->serial[i] < TBP_SERIALS) &&
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
    make_picks(x, a, out, false);
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
