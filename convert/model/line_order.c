/* SPDX-License-Identifier: Apache-2.0
 *
 * Order of the events of a line.
 */
#include "convert/model/line_order.h"

#include "base/sort.h"

static bool is_in_order(const struct tbp_events *ev) {
    for (size_t i = 1; i < ev->n; i++) {
        uint64_t a = ev->start_ps[i - 1], b = ev->start_ps[i];
        if (a > b || (a == b && ev->dur_ps[i - 1] < ev->dur_ps[i]))
            return false;
    }
    return true;
}

void tbp_line_order_make(struct tbp_line_order *o, const struct tbp_line *l) {
    const struct tbp_events *ev = &l->ev;
    o->index.n = 0;
    if (is_in_order(ev))
        return;
    tbp_vec_reserve(&o->index, ev->n);
    for (size_t i = 0; i < ev->n; i++)
        *tbp_vec_push(&o->index) = (uint32_t)i;
    tbp_sort_index_u64(o->index.at, ev->n, ev->start_ps, ev->dur_ps);
}

void tbp_line_order_release(struct tbp_line_order *o) {
    tbp_vec_release(&o->index);
}
