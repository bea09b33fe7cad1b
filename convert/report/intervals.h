/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of intervals of time, and how much of any window it covers: overlapping time counts once.
 * Add in any order, close, then ask. Neighbours that overlap are united while adding, so a line in
 * order of time takes little.
 */
#ifndef TBP_CONVERT_REPORT_INTERVALS_H
#define TBP_CONVERT_REPORT_INTERVALS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct tbp_interval {
    uint64_t start_ps, end_ps;
};

struct tbp_intervals {
    TBP_VEC(struct tbp_interval) list;
    TBP_VEC(uint64_t) before; /* after close: covered before the i-th begins; one more at the end */
};

void tbp_intervals_add(struct tbp_intervals *v, uint64_t start_ps, uint64_t end_ps);
void tbp_intervals_close(struct tbp_intervals *v); /* sorts and unites */
void tbp_intervals_release(struct tbp_intervals *v);

/* After close: time covered within start_ps … end_ps. */
uint64_t tbp_intervals_within(const struct tbp_intervals *v, uint64_t start_ps, uint64_t end_ps);
/* First and last moment covered within the window; false if none is. */
bool tbp_intervals_extent(const struct tbp_intervals *v, uint64_t start_ps, uint64_t end_ps,
                          struct tbp_interval *out);
uint64_t tbp_intervals_total(const struct tbp_intervals *v);

#endif
