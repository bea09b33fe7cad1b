/* SPDX-License-Identifier: Apache-2.0
 *
 * What belongs together in a trace: the op around each launch and allocation, what runs within a
 * step on other threads, how much memory is in use. One pass over the rows in order, with a stack
 * of open ops per thread. See trace_build.h.
 */
#include "base/sort.h"
#include "convert/read/trace_build.h"

static bool ends_by(const struct tbp_trace_row *op, const struct tbp_trace_row *row) {
    int64_t end_ns = op->start_ns + (int64_t)(op->dur_ps / 1000);
    int64_t rest_ps = (int64_t)(op->dur_ps % 1000 + op->start_ps);
    return end_ns + rest_ps / 1000 < row->start_ns ||
           (end_ns + rest_ps / 1000 == row->start_ns && rest_ps % 1000 <= row->start_ps);
}

/* ---- steps ---- */

static int by_start(const void *a, const void *b, void *ctx) {
    const struct tbp_trace_step *x = a, *y = b;
    (void)ctx;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

static void collect_steps(struct tbp_trace *t) {
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        if (row->flags & TBP_TRACE_STEP)
            *tbp_vec_push(&t->steps) = (struct tbp_trace_step){
                row->start_ns, row->start_ns + (int64_t)(row->dur_ps / 1000), row->track};
    }
    tbp_sort(t->steps.at, t->steps.n, sizeof *t->steps.at, by_start, NULL);
}

uint32_t tbp_trace_step_at(const struct tbp_trace *t, int64_t ns) {
    size_t from = 0, to = t->steps.n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (t->steps.at[mid].start_ns <= ns)
            from = mid + 1;
        else
            to = mid;
    }
    return from && ns < t->steps.at[from - 1].end_ns ? (uint32_t)from : 0;
}

/* What a GPU does without telling of a launch is part of the step that runs meanwhile. */
static void mark_device_row(const struct tbp_trace *t, const struct tbp_trace_track *track,
                            struct tbp_trace_row *row) {
    bool is_gpu =
        track->kind == TBP_TRACK_DEVICE && tbp_is_gpu_plane(t->planes.at[track->plane].name);
    if (is_gpu && row->link == 0 && tbp_trace_step_at(t, row->start_ns))
        row->flags |= TBP_TRACE_INSIDE;
}

/* Top-level events of threads that have no mark of the step which runs meanwhile. */
static void mark_inside(struct tbp_trace *t, const struct tbp_trace_track *const *by_rank) {
    uint32_t track = UINT32_MAX;
    struct tbp_trace_row top = {0};
    for (size_t i = 0; i < t->rows.n && t->steps.n; i++) {
        struct tbp_trace_row *row = &t->rows.at[i];
        mark_device_row(t, by_rank[row->track], row);
        bool is_inside = row->track == track && !ends_by(&top, row);
        if (is_inside || by_rank[row->track]->kind != TBP_TRACK_THREAD)
            continue;
        if (!(row->flags & TBP_TRACE_MEMORY)) {
            top = *row;
            track = row->track;
        }
        uint32_t step = tbp_trace_step_at(t, row->start_ns);
        if (step && t->steps.at[step - 1].track != row->track && !(row->flags & TBP_TRACE_STEP))
            row->flags |= TBP_TRACE_INSIDE;
    }
}

/* ---- ops ---- */

struct op_walk {
    struct tbp_trace *t;
    TBP_VEC(uint32_t) open;  /* rows of ops */
    struct tbp_idmap wanted; /* external id of ops that device events ask for -> text */
};

static void note_launch(struct op_walk *w, const struct tbp_trace_row *row) {
    bool is_new;
    if (row->link == 0 || w->open.n == 0)
        return;
    uint32_t *op = tbp_idmap_put(&w->t->op_of_link, row->link, &is_new);
    *op = w->t->rows.at[w->open.at[w->open.n - 1]].name;
}

static size_t count_rows(const struct tbp_trace *t, unsigned flags) {
    size_t n = 0;
    for (size_t i = 0; i < t->rows.n; i++)
        n += (t->rows.at[i].flags & flags) != 0;
    return n;
}

static void walk_ops(struct op_walk *w) {
    struct tbp_trace *t = w->t;
    tbp_idmap_reserve(&t->op_of_link, count_rows(t, TBP_TRACE_LAUNCH));
    uint32_t track = UINT32_MAX;
    for (size_t i = 0; i < t->rows.n; i++) {
        struct tbp_trace_row *row = &t->rows.at[i];
        if (row->track != track)
            w->open.n = 0;
        track = row->track;
        if (!(row->flags & (TBP_TRACE_OP | TBP_TRACE_LAUNCH | TBP_TRACE_MEMORY)))
            continue;
        while (w->open.n && ends_by(&t->rows.at[w->open.at[w->open.n - 1]], row))
            w->open.n--;
        if (row->flags & TBP_TRACE_OP)
            *tbp_vec_push(&w->open) = (uint32_t)i;
        if (row->flags & TBP_TRACE_LAUNCH)
            note_launch(w, row);
        else if (row->flags & TBP_TRACE_MEMORY && w->open.n)
            row->dur_ps = t->rows.at[w->open.at[w->open.n - 1]].name;
    }
}

/* Device events whose launch lies in no op: by the id that both tell. */
static void find_by_external_id(struct op_walk *w) {
    struct tbp_trace *t = w->t;
    bool is_new;
    for (size_t i = 0; t->external_key != TBP_MAP_NONE && i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        if (!(row->flags & TBP_TRACE_DEVICE) || row->link == 0 ||
            tbp_idmap_get(&t->op_of_link, row->link) != TBP_MAP_NONE)
            continue;
        uint64_t id = tbp_trace_external_of(t, row);
        if (id)
            *tbp_idmap_put(&w->wanted, id, &is_new) = 0;
    }
    for (size_t i = 0; w->wanted.n && i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        uint64_t id = row->flags & TBP_TRACE_OP ? tbp_trace_external_of(t, row) : 0;
        if (id && tbp_idmap_get(&w->wanted, id) != TBP_MAP_NONE)
            *tbp_idmap_put(&w->wanted, id, &is_new) = row->name;
    }
    for (size_t i = 0; w->wanted.n && i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        if (!(row->flags & TBP_TRACE_DEVICE) || row->link == 0 ||
            tbp_idmap_get(&t->op_of_link, row->link) != TBP_MAP_NONE)
            continue;
        uint32_t op = tbp_idmap_get(&w->wanted, tbp_trace_external_of(t, row));
        if (op != TBP_MAP_NONE && op != 0)
            *tbp_idmap_put(&t->op_of_link, row->link, &is_new) = op;
    }
    tbp_idmap_release(&w->wanted);
}

/* ---- memory ---- */

struct memory_order {
    const struct tbp_trace *t;
};

static int by_time(const void *a, const void *b, void *ctx) {
    const struct tbp_trace *t = ((const struct memory_order *)ctx)->t;
    const struct tbp_trace_row *x = &t->rows.at[*(const uint32_t *)a];
    const struct tbp_trace_row *y = &t->rows.at[*(const uint32_t *)b];
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->start_ps < y->start_ps ? -1 : x->start_ps > y->start_ps;
}

struct usage {
    int64_t now, peak;
};

/* In use after each event, and the most so far, per allocator. */
static void sum_memory(struct tbp_trace *t) {
    TBP_VEC(uint32_t) order = {0};
    TBP_VEC(struct usage) of = {0};
    struct tbp_idmap index = {0};
    struct memory_order ctx = {t};
    uint64_t n_unmatched = 0;
    for (uint32_t i = 0; i < t->rows.n && t->memory.n; i++)
        if (t->rows.at[i].flags & TBP_TRACE_MEMORY)
            *tbp_vec_push(&order) = i;
    tbp_sort(order.at, order.n, sizeof *order.at, by_time, &ctx);
    for (size_t i = 0; i < order.n; i++) {
        struct tbp_trace_memory *m = &t->memory.at[t->rows.at[order.at[i]].own];
        bool is_new;
        uint32_t *at = tbp_idmap_put(&index, m->allocator, &is_new);
        if (is_new) {
            *at = (uint32_t)of.n;
            *tbp_vec_push(&of) = (struct usage){0, 0};
        }
        struct usage *u = &of.at[*at];
        int64_t sum;
        bool overflows = __builtin_add_overflow(u->now, m->bytes, &sum);
        n_unmatched += m->allocated < 0 && !overflows && sum < 0;
        u->now = m->allocated >= 0 ? m->allocated : overflows || sum < 0 ? 0 : sum;
        u->peak = u->now > u->peak ? u->now : u->peak;
        m->allocated = u->now;
        m->peak = u->peak;
    }
    if (n_unmatched)
        tbp_ledger_count(&t->host->ledger, TBP_LEDGER_UNMATCHED_FREE, n_unmatched, TBP_NO_OFFSET);
    tbp_vec_release(&order);
    tbp_vec_release(&of);
    tbp_idmap_release(&index);
}

void tbp_trace_link(struct tbp_trace *t) {
    struct op_walk w = {.t = t};
    walk_ops(&w);
    find_by_external_id(&w);
    tbp_vec_release(&w.open);
    sum_memory(t);
    collect_steps(t);
    TBP_VEC(const struct tbp_trace_track *) by_rank = {0};
    tbp_vec_reserve(&by_rank, t->tracks.n);
    for (size_t i = 0; i < t->tracks.n; i++)
        by_rank.at[t->tracks.at[i].rank] = &t->tracks.at[i];
    mark_inside(t, by_rank.at);
    tbp_vec_release(&by_rank);
}
