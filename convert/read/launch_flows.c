/* SPDX-License-Identifier: Apache-2.0
 *
 * See launch_flows.h. Places are looked up line by line in order of time, with a stack of the calls
 * that run; then the rows of each flow are gone through in order of time. Nothing depends on the
 * order of the input.
 */
#include "convert/read/launch_flows.h"
#include "base/sort.h"

enum { MAX_ENTRIES = UINT32_MAX - 1 };

void tbp_launch_flows_row(struct tbp_launch_flows *f, const struct tbp_trace *t,
                          struct tbp_flow_id flow, size_t row) {
    bool is_device = t->rows.at[row].flags & TBP_TRACE_DEVICE;
    if (f->ties.n < MAX_ENTRIES)
        *tbp_vec_push(&f->ties) = (struct tbp_flow_tie){flow, (uint32_t)row, is_device};
}

static int64_t floor_us(int64_t ns) {
    return ns / 1000 - (ns % 1000 < 0);
}

void tbp_launch_flows_place(struct tbp_launch_flows *f, bool is_device, struct tbp_flow_id flow,
                            uint32_t track, int64_t ns) {
    if (track != TBP_NO_TRACK && f->places[is_device].n < MAX_ENTRIES)
        *tbp_vec_push(&f->places[is_device]) = (struct tbp_flow_place){flow, track, floor_us(ns)};
    else
        f->n_lost++;
}

void tbp_launch_flows_release(struct tbp_launch_flows *f) {
    tbp_vec_release(&f->places[0]);
    tbp_vec_release(&f->places[1]);
    tbp_vec_release(&f->ties);
    tbp_vec_release(&f->pairs);
}

/* ---- order ---- */

static int compare_i64(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_u64(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_flows(const struct tbp_flow_id *a, const struct tbp_flow_id *b) {
    return a->group != b->group ? compare_u64(a->group, b->group) : compare_u64(a->id, b->id);
}

static int64_t start_us(const struct tbp_trace_row *row) {
    return floor_us(row->start_ns);
}

static int64_t end_us(const struct tbp_trace_row *row) {
    return floor_us(row->start_ns + (int64_t)(row->dur_ps / 1000));
}

/* The longest first, so that what runs within it is the last to begin. */
static int by_time(const struct tbp_trace *t, const struct tbp_trace_row *a,
                   const struct tbp_trace_row *b) {
    if (a->start_ns != b->start_ns)
        return compare_i64(a->start_ns, b->start_ns);
    if (a->start_ps != b->start_ps)
        return compare_u64(a->start_ps, b->start_ps);
    if (a->dur_ps != b->dur_ps)
        return compare_u64(b->dur_ps, a->dur_ps);
    return tbp_str_cmp(t->texts.strs[a->name], t->texts.strs[b->name]);
}

static int by_line_and_time(const void *a, const void *b, void *ctx) {
    const struct tbp_trace *t = ctx;
    const struct tbp_trace_row *x = &t->rows.at[*(const uint32_t *)a];
    const struct tbp_trace_row *y = &t->rows.at[*(const uint32_t *)b];
    return x->track != y->track ? compare_u64(x->track, y->track) : by_time(t, x, y);
}

static int by_place(const void *a, const void *b, void *ctx) {
    const struct tbp_flow_place *x = a, *y = b;
    (void)ctx;
    if (x->track != y->track)
        return compare_u64(x->track, y->track);
    return x->us != y->us ? compare_i64(x->us, y->us) : compare_flows(&x->flow, &y->flow);
}

/* Calls before the work that begins with them. */
static int by_flow_and_time(const void *a, const void *b, void *ctx) {
    const struct tbp_trace *t = ctx;
    const struct tbp_flow_tie *x = a, *y = b;
    const struct tbp_trace_row *p = &t->rows.at[x->row], *q = &t->rows.at[y->row];
    int order = compare_flows(&x->flow, &y->flow);
    if (order == 0)
        order = compare_i64(p->start_ns, q->start_ns);
    if (order == 0)
        order = x->is_device - y->is_device;
    return order ? order : by_time(t, p, q);
}

/* Tracks by what they are, not by when they were first seen. */
static int by_call(const void *a, const void *b, void *ctx) {
    const struct tbp_trace *t = ctx;
    const struct tbp_trace_row *p = &t->rows.at[((const struct tbp_flow_pair *)a)->call];
    const struct tbp_trace_row *q = &t->rows.at[((const struct tbp_flow_pair *)b)->call];
    const struct tbp_trace_track *x = &t->tracks.at[p->track], *y = &t->tracks.at[q->track];
    int order = by_time(t, p, q);
    if (order == 0)
        order = compare_i64(x->sort, y->sort);
    return order ? order : compare_i64(x->id, y->id);
}

/* ---- places ---- */

struct lines {
    struct tbp_trace *t;
    TBP_VEC(uint32_t) rows; /* by line and time */
    TBP_VEC(uint32_t) open; /* of these, the calls that run */
    size_t next;
};

static const struct tbp_trace_row *row_at(const struct lines *l, size_t i) {
    return i < l->rows.n ? &l->t->rows.at[l->rows.at[i]] : NULL;
}

static void list_rows(struct lines *l, unsigned flag) {
    for (uint32_t i = 0; i < l->t->rows.n; i++)
        if (l->t->rows.at[i].flags & flag)
            *tbp_vec_push(&l->rows) = i;
    tbp_sort(l->rows.at, l->rows.n, sizeof *l->rows.at, by_line_and_time, l->t);
}

/* The call at the place, or UINT32_MAX. */
static uint32_t call_at(struct lines *l, const struct tbp_flow_place *p) {
    enum { BEFORE_US = 2 };
    const struct tbp_trace_row *row;
    while ((row = row_at(l, l->next)) &&
           (row->track < p->track || (row->track == p->track && start_us(row) <= p->us)))
        *tbp_vec_push(&l->open) = l->rows.at[l->next++];
    for (; l->open.n; l->open.n--) {
        row = &l->t->rows.at[l->open.at[l->open.n - 1]];
        if (row->track == p->track && end_us(row) >= p->us)
            return l->open.at[l->open.n - 1];
    }
    row = row_at(l, l->next);
    bool is_near = row && row->track == p->track && start_us(row) <= p->us + BEFORE_US;
    return is_near ? l->rows.at[l->next] : UINT32_MAX;
}

static bool begins_at(const struct tbp_trace_row *row, const struct tbp_flow_place *p) {
    return row && row->track == p->track && start_us(row) == p->us;
}

static uint32_t work_at(struct lines *l, const struct tbp_flow_place *p) {
    const struct tbp_trace_row *row;
    while ((row = row_at(l, l->next)) &&
           (row->track < p->track || (row->track == p->track && start_us(row) < p->us)))
        l->next++;
    if (begins_at(row, p))
        return l->rows.at[l->next++];
    bool is_shared = l->next > 0 && begins_at(row_at(l, l->next - 1), p);
    return is_shared ? l->rows.at[l->next - 1] : UINT32_MAX;
}

static void find_rows(struct tbp_launch_flows *f, struct tbp_trace *t, bool is_device) {
    struct lines l = {.t = t};
    if (f->places[is_device].n == 0)
        return;
    list_rows(&l, is_device ? TBP_TRACE_DEVICE : TBP_TRACE_LAUNCH);
    tbp_sort(f->places[is_device].at, f->places[is_device].n, sizeof *f->places[0].at, by_place,
             NULL);
    for (size_t i = 0; i < f->places[is_device].n; i++) {
        const struct tbp_flow_place *p = &f->places[is_device].at[i];
        uint32_t row = is_device ? work_at(&l, p) : call_at(&l, p);
        if (row == UINT32_MAX)
            f->n_lost++;
        else
            tbp_launch_flows_row(f, t, p->flow, row);
    }
    tbp_vec_release(&l.rows);
    tbp_vec_release(&l.open);
}

/* ---- links ---- */

/* Pairs of calls and work, by flow. */
static void pair_rows(struct tbp_launch_flows *f, struct tbp_trace *t) {
    tbp_sort(f->ties.at, f->ties.n, sizeof *f->ties.at, by_flow_and_time, t);
    for (size_t from = 0, to; from < f->ties.n; from = to) {
        const struct tbp_flow_tie *call = NULL;
        for (to = from;
             to < f->ties.n && compare_flows(&f->ties.at[to].flow, &f->ties.at[from].flow) == 0;
             to++)
            if (!call && !f->ties.at[to].is_device)
                call = &f->ties.at[to];
        for (size_t i = from; i < to && call; i++) {
            const struct tbp_flow_tie *tie = &f->ties.at[i];
            if (tie->is_device)
                *tbp_vec_push(&f->pairs) = (struct tbp_flow_pair){call->row, tie->row};
            else
                call = tie;
        }
    }
}

/* Correlation ids for the pairs without one, beyond those of the file, in order of the calls. */
static void link_pairs(struct tbp_launch_flows *f, struct tbp_trace *t) {
    const unsigned linked = TBP_TRACE_LAUNCH | TBP_TRACE_DEVICE;
    uint64_t last = 0;
    for (size_t i = 0; i < t->rows.n; i++)
        if (t->rows.at[i].flags & linked && t->rows.at[i].link > last)
            last = t->rows.at[i].link;
    tbp_sort(f->pairs.at, f->pairs.n, sizeof *f->pairs.at, by_call, t);
    for (size_t i = 0; i < f->pairs.n; i++) {
        struct tbp_trace_row *call = &t->rows.at[f->pairs.at[i].call];
        struct tbp_trace_row *work = &t->rows.at[f->pairs.at[i].work];
        if (call->flags & TBP_TRACE_STEP) /* its link is its number */
            continue;
        if (!call->link)
            call->link = work->link ? work->link : ++last;
        call->flags |= TBP_TRACE_LAUNCH;
        if (!work->link)
            work->link = call->link;
    }
}

void tbp_launch_flows_apply(struct tbp_launch_flows *f, struct tbp_trace *t) {
    find_rows(f, t, false);
    find_rows(f, t, true);
    pair_rows(f, t);
    if (f->pairs.n)
        link_pairs(f, t);
    if (f->n_lost)
        tbp_ledger_count(&t->host->ledger, TBP_LEDGER_LOST_FLOW, f->n_lost, TBP_NO_OFFSET);
}
