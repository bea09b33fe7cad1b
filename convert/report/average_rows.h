/* SPDX-License-Identifier: Apache-2.0
 *
 * How the passes that make averages reach their rows; for them alone.
 */
#ifndef TBP_CONVERT_REPORT_AVERAGE_ROWS_H
#define TBP_CONVERT_REPORT_AVERAGE_ROWS_H

#include "convert/report/op_averages.h"

struct tbp_average_key {
    uint32_t name, category, group; /* numbers in the tables of texts */
    bool is_device;
};

/* Sums wrap around instead of being undefined: durations in files are whatever they are. */
static inline void tbp_sum(int64_t *to, int64_t v) {
    (void)__builtin_add_overflow(*to, v, to);
}
static inline int64_t tbp_less(int64_t a, int64_t b) {
    (void)__builtin_sub_overflow(a, b, &a);
    return a;
}

/* Index of the row, made if absent. */
uint32_t tbp_averages_row(struct tbp_averages *a, const struct tbp_average_key *k);
/* One more occurrence of this duration: count, mean, spread, smallest and largest. */
void tbp_average_count(struct tbp_average *r, uint64_t dur_ps);

#endif
