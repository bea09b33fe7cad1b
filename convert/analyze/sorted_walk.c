/* SPDX-License-Identifier: Apache-2.0
 *
 * Merge of lines by a binary heap of cursors; see sorted_walk.h. O(n log lines), 10-20 ns per
 * event.
 */
#include "convert/analyze/sorted_walk.h"

#include "base/sort.h"

static bool is_sorted(const struct tbp_events *ev) {
    for (size_t i = 1; i < ev->n; i++) {
        uint64_t a = ev->start_ps[i - 1], b = ev->start_ps[i];
        if (a > b || (a == b && ev->dur_ps[i - 1] > ev->dur_ps[i]))
            return false;
    }
    return true;
}

static const uint32_t *make_order(const struct tbp_events *ev, struct tbp_arena *a) {
    uint32_t *order = TBP_NEW_N(a, uint32_t, ev->n);
    uint64_t *shorter_first =
        TBP_NEW_N(a, uint64_t, ev->n); /* the sort takes the second key descending */
    for (size_t i = 0; i < ev->n; i++) {
        order[i] = (uint32_t)i;
        shorter_first[i] = ~ev->dur_ps[i];
    }
    tbp_sort_index_u64(order, ev->n, ev->start_ps, shorter_first);
    return order;
}

static size_t event_of(const struct tbp_walk_cursor *c) {
    return c->order ? c->order[c->at] : c->at;
}

static void load(struct tbp_walk_cursor *c) {
    size_t i = event_of(c);
    c->start_ps = c->line->ev.start_ps[i];
    c->dur_ps = c->line->ev.dur_ps[i];
}

static bool before(const struct tbp_walk_cursor *x, const struct tbp_walk_cursor *y) {
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps;
    if (x->dur_ps != y->dur_ps)
        return x->dur_ps < y->dur_ps;
    return x->rank < y->rank;
}

static void sift_down(struct tbp_sorted_walk *w, size_t i) {
    struct tbp_walk_cursor c = w->heap[i];
    for (size_t child; (child = 2 * i + 1) < w->n; i = child) {
        if (child + 1 < w->n && before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!before(&w->heap[child], &c))
            break;
        w->heap[i] = w->heap[child];
    }
    w->heap[i] = c;
}

void tbp_sorted_walk_init(struct tbp_sorted_walk *w, const struct tbp_line *const *lines, size_t n,
                          struct tbp_arena *a) {
    *w = (struct tbp_sorted_walk){.heap = TBP_NEW_N(a, struct tbp_walk_cursor, n)};
    for (size_t i = 0; i < n; i++) {
        if (!lines[i]->ev.n)
            continue;
        struct tbp_walk_cursor *c = &w->heap[w->n++];
        *c = (struct tbp_walk_cursor){.line = lines[i], .rank = (uint32_t)i};
        if (!is_sorted(&lines[i]->ev))
            c->order = make_order(&lines[i]->ev, a);
        load(c);
    }
    for (size_t i = w->n / 2; i-- > 0;)
        sift_down(w, i);
}

void tbp_sorted_walk_plane(struct tbp_sorted_walk *w, const struct tbp_plane *p,
                           struct tbp_arena *a) {
    const struct tbp_line **lines = TBP_NEW_N(a, const struct tbp_line *, p->n_lines + 1);
    size_t n = 0;
    for (size_t i = 0; i < p->n_lines; i++)
        if (!p->lines[i].is_derived)
            lines[n++] = &p->lines[i];
    tbp_sorted_walk_init(w, lines, n, a);
}

bool tbp_sorted_walk_next(struct tbp_sorted_walk *w, const struct tbp_line **line, size_t *event) {
    if (!w->n)
        return false;
    struct tbp_walk_cursor *top = &w->heap[0];
    *line = top->line;
    *event = event_of(top);
    if (++top->at == top->line->ev.n)
        *top = w->heap[--w->n];
    else
        load(top);
    if (w->n)
        sift_down(w, 0);
    return true;
}
