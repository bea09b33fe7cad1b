/* SPDX-License-Identifier: Apache-2.0
 *
 * One pass over the events finds the ops at the ends of flows. Where several ops of a thread begin
 * at once, the flow is of the innermost forward op (that one recorded the gradient function) and of
 * the outermost backward op (the engine's call of it).
 */
#include "convert/read/forward_links.h"

#include "convert/model/stats.h"

void tbp_forward_links_add(struct tbp_forward_links *f, bool is_backward,
                           const struct tbp_flow_end *end) {
    if (end->track != TBP_NO_TRACK && f->ends[is_backward].n < UINT32_MAX - 1)
        *tbp_vec_push(&f->ends[is_backward]) = *end;
}

void tbp_forward_links_release(struct tbp_forward_links *f) {
    tbp_vec_release(&f->ends[0]);
    tbp_vec_release(&f->ends[1]);
}

/* Places that share a key are told apart by at_place. */
static uint64_t place_key(uint32_t track, int64_t start_ns) {
    return ((uint64_t)start_ns ^ (uint64_t)track << 42) * 0x9e3779b97f4a7c15u;
}

static bool at_place(const struct tbp_flow_end *e, const struct tbp_trace_row *row) {
    return e->track == row->track && e->start_ns == row->start_ns && e->start_ps == row->start_ps;
}

static bool is_better(const struct tbp_trace *t, uint32_t row, uint32_t old, bool is_backward) {
    const struct tbp_trace_row *x = &t->rows.at[row], *y = &t->rows.at[old];
    if (x->dur_ps != y->dur_ps)
        return (x->dur_ps > y->dur_ps) == is_backward;
    return tbp_str_cmp(t->texts.strs[x->name], t->texts.strs[y->name]) < 0;
}

/* Finds the op of each end. */
static void find_rows(struct tbp_forward_links *f, bool is_backward, const struct tbp_trace *t) {
    struct tbp_idmap first = {0};
    bool is_new;
    struct tbp_flow_end *ends = f->ends[is_backward].at;
    for (uint32_t i = 0; i < f->ends[is_backward].n; i++) {
        uint32_t *at = tbp_idmap_put(&first, place_key(ends[i].track, ends[i].start_ns), &is_new);
        ends[i].next = is_new ? 0 : *at;
        *at = i + 1;
    }
    for (uint32_t r = 0; r < t->rows.n; r++) {
        const struct tbp_trace_row *row = &t->rows.at[r];
        if (!(row->flags & TBP_TRACE_OP))
            continue;
        uint32_t at = tbp_idmap_get(&first, place_key(row->track, row->start_ns));
        for (at = at == TBP_MAP_NONE ? 0 : at; at; at = ends[at - 1].next) {
            struct tbp_flow_end *e = &ends[at - 1];
            if (at_place(e, row) && (!e->row || is_better(t, r, e->row - 1, is_backward)))
                e->row = r + 1;
        }
    }
    tbp_idmap_release(&first);
}

/* The text of a stat of a set, or 0. */
static uint32_t text_in_set(const struct tbp_trace *t, uint32_t set, uint32_t key) {
    struct tbp_str bytes = t->sets.strs[set];
    struct tbp_wire w = tbp_wire_of((const uint8_t *)bytes.p, set ? bytes.n : 0);
    uint64_t found, type, v;
    while (tbp_wire_varint(&w, &found) == 0 && tbp_wire_varint(&w, &type) == 0) {
        if (type == TBP_STAT_DOUBLE) {
            w.at += sizeof(double);
            continue;
        }
        if (tbp_wire_varint(&w, &v) != 0)
            break;
        if (found == (uint64_t)key + 1 && type == TBP_STAT_REF)
            return (uint32_t)v;
    }
    return 0;
}

/* Adds what is told of the forward op to the stats of the backward one. */
static void put_forward_op(struct tbp_trace *t, uint32_t row, uint32_t forward) {
    uint32_t key = tbp_trace_text(t, TBP_STR("forward_op"));
    uint32_t stack =
        text_in_set(t, t->rows.at[forward].set, tbp_trace_text(t, TBP_STR("Call stack")));
    struct tbp_str had = t->sets.strs[t->rows.at[row].set];
    t->shared.n = 0;
    tbp_wire_put_raw(&t->shared, had.p, t->rows.at[row].set ? had.n : 0);
    tbp_trace_stat_text(t, TBP_TRACE_SHARED, key, t->rows.at[forward].name);
    if (stack)
        tbp_trace_stat_text(t, TBP_TRACE_SHARED, tbp_trace_text(t, TBP_STR("forward_stack")),
                            stack);
    uint32_t set = tbp_trace_take_shared(t);
    if (set)
        t->rows.at[row].set = set & 0xffffffu;
}

void tbp_forward_links_apply(struct tbp_forward_links *f, struct tbp_trace *t) {
    struct tbp_idmap forward = {0};
    bool is_new;
    if (f->ends[0].n == 0 || f->ends[1].n == 0)
        return;
    find_rows(f, false, t);
    find_rows(f, true, t);
    for (uint32_t i = 0; i < f->ends[0].n; i++) {
        uint32_t *at = tbp_idmap_put(&forward, f->ends[0].at[i].id, &is_new);
        *at = i;
    }
    for (uint32_t i = 0; i < f->ends[1].n; i++) {
        const struct tbp_flow_end *e = &f->ends[1].at[i];
        uint32_t at = tbp_idmap_get(&forward, e->id);
        if (e->row && at != TBP_MAP_NONE && f->ends[0].at[at].row)
            put_forward_op(t, e->row - 1, f->ends[0].at[at].row - 1);
    }
    tbp_idmap_release(&forward);
}
