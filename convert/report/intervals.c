/* SPDX-License-Identifier: Apache-2.0
 *
 * Unions of intervals with sums before each, so that a window costs two binary searches.
 */
#include "convert/report/intervals.h"

#include "base/sort.h"

void tbp_intervals_add(struct tbp_intervals *v, uint64_t start_ps, uint64_t end_ps) {
    struct tbp_interval *last = v->list.n ? &v->list.at[v->list.n - 1] : NULL;
    if (end_ps <= start_ps)
        return;
    if (last && start_ps >= last->start_ps && start_ps <= last->end_ps) {
        last->end_ps = end_ps > last->end_ps ? end_ps : last->end_ps;
        return;
    }
    *tbp_vec_push(&v->list) = (struct tbp_interval){start_ps, end_ps};
}

static int by_start(const void *a, const void *b, void *ctx) {
    const struct tbp_interval *x = a, *y = b;
    (void)ctx;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

void tbp_intervals_close(struct tbp_intervals *v) {
    size_t n = v->list.n, kept = 0;
    uint64_t sum_ps = 0;
    tbp_sort(v->list.at, n, sizeof *v->list.at, by_start, NULL);
    v->list.n = 0;
    for (size_t i = 0; i < n; i++) {
        struct tbp_interval x = v->list.at[i];
        tbp_intervals_add(v, x.start_ps, x.end_ps);
    }
    for (v->before.n = 0; kept < v->list.n; kept++) {
        *tbp_vec_push(&v->before) = sum_ps;
        sum_ps += v->list.at[kept].end_ps - v->list.at[kept].start_ps;
    }
    *tbp_vec_push(&v->before) = sum_ps;
}

void tbp_intervals_release(struct tbp_intervals *v) {
    tbp_vec_release(&v->list);
    tbp_vec_release(&v->before);
}

/* The first interval that ends after time_ps. */
static size_t first_after(const struct tbp_intervals *v, uint64_t time_ps) {
    return tbp_vec_count_up_to(&v->list, struct tbp_interval, end_ps, time_ps);
}

static uint64_t covered_until(const struct tbp_intervals *v, uint64_t time_ps) {
    size_t i = first_after(v, time_ps);
    if (i == v->list.n || v->list.at[i].start_ps >= time_ps)
        return v->before.at[i];
    return v->before.at[i] + (time_ps - v->list.at[i].start_ps);
}

uint64_t tbp_intervals_within(const struct tbp_intervals *v, uint64_t start_ps, uint64_t end_ps) {
    return end_ps > start_ps ? covered_until(v, end_ps) - covered_until(v, start_ps) : 0;
}

bool tbp_intervals_extent(const struct tbp_intervals *v, uint64_t start_ps, uint64_t end_ps,
                          struct tbp_interval *out) {
    size_t first = first_after(v, start_ps), last = first_after(v, end_ps);
    if (last == v->list.n || v->list.at[last].start_ps >= end_ps) {
        if (last == first)
            return false;
        last--;
    }
    const struct tbp_interval *a = &v->list.at[first], *b = &v->list.at[last];
    out->start_ps = a->start_ps > start_ps ? a->start_ps : start_ps;
    out->end_ps = b->end_ps < end_ps ? b->end_ps : end_ps;
    return true;
}

uint64_t tbp_intervals_total(const struct tbp_intervals *v) {
    return v->before.at[v->list.n];
}
