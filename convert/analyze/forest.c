/* SPDX-License-Identifier: Apache-2.0
 *
 * Nesting, links and upward walks; see forest.h.
 */
#include "convert/analyze/forest.h"

enum { EDGES_PER_EVENT = 8, EDGES_LEAST = 1 << 20, STEPS_PER_EVENT = 64, STEPS_LEAST = 1 << 22 };

bool tbp_forest_init(struct tbp_forest *f, struct tbp_host *h) {
    *f = (struct tbp_forest){.host = h};
    tbp_arena_init(&f->arena);
    uint64_t n = tbp_host_count_events(h);
    if (n >= TBP_NO_NODE)
        return false;
    size_t n_lines = 0;
    for (size_t p = 0; p < h->n_planes; p++)
        n_lines += h->planes[p].n_lines;
    f->lines = TBP_NEW_N(&f->arena, struct tbp_forest_line, n_lines + 1);
    f->parent = TBP_NEW_N(&f->arena, uint32_t, n + 1);
    f->subtree_end = TBP_NEW_N(&f->arena, uint32_t, n + 1);
    f->budget = STEPS_PER_EVENT * n + STEPS_LEAST;
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t l = 0; l < h->planes[p].n_lines; l++) {
            struct tbp_line *line = &h->planes[p].lines[l];
            f->lines[f->n_lines++] = (struct tbp_forest_line){line, f->n};
            f->n += (uint32_t)line->ev.n;
        }
    }
    for (uint32_t i = 0; i < f->n; i++) {
        f->parent[i] = TBP_NO_NODE;
        f->subtree_end[i] = i + 1;
    }
    return true;
}

void tbp_forest_release(struct tbp_forest *f) {
    tbp_vec_release(&f->edges);
    tbp_vec_release(&f->queue);
    tbp_arena_release(&f->arena);
}

struct tbp_line *tbp_forest_event(const struct tbp_forest *f, uint32_t node, size_t *event) {
    size_t lo = 0, hi = f->n_lines;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (f->lines[mid].first <= node)
            lo = mid;
        else
            hi = mid;
    }
    *event =
        node - f->lines[lo].first; /* of lines with one `first`, the last is the one with events */
    return f->lines[lo].line;
}

/* Inclusive at both ends; times modulo 2^64, compared unsigned. */
static bool includes(const struct tbp_line *l, size_t a, size_t b) {
    return l->ev.start_ps[a] <= l->ev.start_ps[b] && tbp_event_end(l, b) <= tbp_event_end(l, a);
}

void tbp_forest_nest(struct tbp_forest *f, size_t k, const uint8_t *is_async) {
    const struct tbp_line *l = f->lines[k].line;
    uint32_t first = f->lines[k].first, top = TBP_NO_NODE;
    for (size_t i = 0; i < l->ev.n; i++) {
        if (is_async && is_async[i])
            continue;
        uint32_t node = first + (uint32_t)i;
        while (top != TBP_NO_NODE && !includes(l, top - first, i)) {
            f->subtree_end[top] = node;
            top = f->parent[top];
        }
        f->parent[node] = top;
        top = node;
    }
    for (; top != TBP_NO_NODE; top = f->parent[top])
        f->subtree_end[top] = first + (uint32_t)l->ev.n;
}

void tbp_forest_link(struct tbp_forest *f, uint32_t parent, uint32_t child) {
    if (f->edges.n < (size_t)f->n * EDGES_PER_EVENT + EDGES_LEAST)
        *tbp_vec_push(&f->edges) = (struct tbp_forest_edge){parent, child};
}

/* Edges by one end, in order of linking: from[node] … from[node+1] index `other`. */
static void by_end(struct tbp_forest *f, bool by_parent, uint32_t **from_out,
                   uint32_t **other_out) {
    uint32_t *from = TBP_NEW_N(&f->arena, uint32_t, (size_t)f->n + 2);
    uint32_t *other = TBP_NEW_N(&f->arena, uint32_t, f->edges.n + 1);
    for (size_t e = 0; e < f->edges.n; e++)
        from[(by_parent ? f->edges.at[e].parent : f->edges.at[e].child) + 2]++;
    for (size_t i = 2; i < (size_t)f->n + 2; i++)
        from[i] += from[i - 1];
    for (size_t e = 0; e < f->edges.n; e++) {
        uint32_t end = by_parent ? f->edges.at[e].parent : f->edges.at[e].child;
        other[from[end + 1]++] = by_parent ? f->edges.at[e].child : f->edges.at[e].parent;
    }
    *from_out = from;
    *other_out = other;
}

void tbp_forest_close(struct tbp_forest *f) {
    by_end(f, true, &f->child_from, &f->child_edges);
    by_end(f, false, &f->parent_from, &f->parent_edges);
    f->seen = TBP_NEW_N(&f->arena, uint32_t, (size_t)f->n + 1);
}

static void enqueue(struct tbp_forest *f, uint32_t node) {
    if (node == TBP_NO_NODE || f->seen[node] == f->round)
        return;
    f->seen[node] = f->round;
    *tbp_vec_push(&f->queue) = node;
}

static void enqueue_parents(struct tbp_forest *f, uint32_t node) {
    enqueue(f, f->parent[node]);
    for (uint32_t e = f->parent_from[node]; e < f->parent_from[node + 1]; e++)
        enqueue(f, f->parent_edges[e]);
}

uint32_t tbp_forest_up(struct tbp_forest *f, uint32_t node, bool with_self,
                       bool (*visit)(void *ctx, uint32_t node), void *ctx) {
    f->round++;
    f->queue.n = 0;
    enqueue(f, node);
    for (size_t i = 0; i < f->queue.n && f->budget; i++, f->budget--) {
        uint32_t at = f->queue.at[i];
        if ((with_self || at != node) && visit(ctx, at))
            return at;
        enqueue_parents(f, at);
    }
    return TBP_NO_NODE;
}
