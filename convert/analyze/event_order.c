/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines out of order, and those since the epoch; see event_order.h. A line in order, as nearly
 * every one is, costs one look at two columns.
 */
#include "convert/analyze/event_order.h"

#include "base/sort.h"
#include "base/vec.h"
#include "convert/analyze/file_marks.h"
#include "convert/model/stats.h"

/* Events without times of their own (sums over many) have no order of time either. */
static bool is_in_order(const struct tbp_events *ev) {
    bool is_sorted = true;
    for (size_t i = 1; i < ev->n && is_sorted; i++)
        is_sorted = ev->start_ps[i - 1] < ev->start_ps[i] ||
                    (ev->start_ps[i - 1] == ev->start_ps[i] && ev->dur_ps[i - 1] >= ev->dur_ps[i]);
    for (size_t i = 0; i < ev->n && !is_sorted; i++)
        is_sorted = ev->has[i] & TBP_HAS_OCCURRENCES;
    return is_sorted;
}

/* column[i] becomes what column[order[i]] was. */
static void reorder(void *column, size_t size, const uint32_t *order, size_t n, uint8_t *scratch) {
    uint8_t *bytes = column;
    if (!column)
        return;
    memcpy(scratch, bytes, n * size);
    for (size_t i = 0; i < n; i++)
        memcpy(bytes + i * size, scratch + order[i] * size, size);
}

static void order_line(struct tbp_events *ev) {
    TBP_VEC(uint32_t) order = {0};
    TBP_VEC(uint8_t) scratch = {0};
    tbp_vec_reserve(&order, ev->n);
    tbp_vec_reserve(&scratch, ev->n * sizeof *ev->start_ps);
    for (uint32_t i = 0; i < ev->n; i++)
        *tbp_vec_push(&order) = i;
    tbp_sort_index_u64(order.at, ev->n, ev->start_ps, ev->dur_ps);
    reorder(ev->start_ps, sizeof *ev->start_ps, order.at, ev->n, scratch.at);
    reorder(ev->dur_ps, sizeof *ev->dur_ps, order.at, ev->n, scratch.at);
    reorder(ev->body_low, sizeof *ev->body_low, order.at, ev->n, scratch.at);
    reorder(ev->body_high, sizeof *ev->body_high, order.at, ev->n, scratch.at);
    reorder(ev->meta, sizeof *ev->meta, order.at, ev->n, scratch.at);
    reorder(ev->has, sizeof *ev->has, order.at, ev->n, scratch.at);
    reorder(ev->group, sizeof *ev->group, order.at, ev->n, scratch.at);
    reorder(ev->flags, sizeof *ev->flags, order.at, ev->n, scratch.at);
    tbp_vec_release(&order);
    tbp_vec_release(&scratch);
}

void tbp_order_events(struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            struct tbp_events *ev = &h->planes[p].lines[k].ev;
            if (ev->n > UINT32_MAX || is_in_order(ev))
                continue;
            order_line(ev);
            tbp_ledger_count(&h->ledger, TBP_LEDGER_REPAIR_ORDER, 1, TBP_NO_OFFSET);
        }
    }
}

/* Smallest timestamp_ns of the lines since the epoch, 0 without such lines. */
static int64_t first_epoch_ns(const struct tbp_host *h) {
    int64_t first_ns = 0;
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            if (tbp_line_is_since_epoch(l) && (first_ns == 0 || l->timestamp_ns < first_ns))
                first_ns = l->timestamp_ns;
        }
    return first_ns;
}

static bool was_moved(const struct tbp_host *h) {
    struct tbp_stat st;
    for (size_t p = 0; p < h->n_planes; p++)
        if (tbp_plane_stat_named(&h->planes[p], TBP_MARK_EPOCH, &st))
            return true;
    return false;
}

static uint64_t move_line(struct tbp_line *l, int64_t epoch_ns) {
    if (!tbp_line_is_since_epoch(l))
        return 0;
    l->timestamp_ns -= epoch_ns;
    for (size_t i = 0; i < l->ev.n; i++)
        l->ev.start_ps[i] -= (uint64_t)epoch_ns * 1000u;
    return l->ev.n;
}

void tbp_move_epoch_lines(struct tbp_host *h) {
    uint64_t n = 0;
    h->epoch_ns = was_moved(h) ? 0 : first_epoch_ns(h);
    for (size_t p = 0; p < h->n_planes && h->epoch_ns; p++)
        for (size_t k = 0; k < h->planes[p].n_lines; k++)
            n += move_line(&h->planes[p].lines[k], h->epoch_ns);
    tbp_ledger_count(&h->ledger, TBP_LEDGER_REPAIR_EPOCH, n, TBP_NO_OFFSET);
}
