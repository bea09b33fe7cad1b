/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a line by begin, of equal ones the longest first: parents before children. Most
 * lines are in this order already, then nothing is made.
 */
#ifndef TBP_CONVERT_MODEL_LINE_ORDER_H
#define TBP_CONVERT_MODEL_LINE_ORDER_H

#include "base/vec.h"
#include "convert/model/model.h"

struct tbp_line_order {
    TBP_VEC(uint32_t) index; /* empty: as they stand */
};

/* Of the next line; what was there is forgotten. */
void tbp_line_order_make(struct tbp_line_order *o, const struct tbp_line *l);
void tbp_line_order_release(struct tbp_line_order *o);
static inline size_t tbp_line_order_at(const struct tbp_line_order *o, size_t i) {
    return o->index.n ? o->index.at[i] : i;
}

#endif
