/* SPDX-License-Identifier: Apache-2.0
 *
 * Unions of intervals and what they cover of a window.
 */
#include "convert/report/intervals.h"

#include <criterion/criterion.h>

/* 10-20, 15-30 and 25-30 are one; 50-60. */
static void fill(struct tbp_intervals *v) {
    tbp_intervals_add(v, 50, 60);
    tbp_intervals_add(v, 10, 20);
    tbp_intervals_add(v, 15, 30);
    tbp_intervals_add(v, 25, 30);
    tbp_intervals_add(v, 40, 40); /* of no length: nothing */
    tbp_intervals_close(v);
}

Test(report, overlapping_time_counts_once) {
    struct tbp_intervals v = {0};
    fill(&v);
    cr_assert_eq(v.list.n, 2u);
    cr_assert_eq(tbp_intervals_total(&v), 30u);
    cr_assert_eq(tbp_intervals_within(&v, 0, 100), 30u);
    cr_assert_eq(tbp_intervals_within(&v, 12, 55), 23u);
    cr_assert_eq(tbp_intervals_within(&v, 30, 50), 0u);
    cr_assert_eq(tbp_intervals_within(&v, 55, 52), 0u);
    tbp_intervals_release(&v);
}

Test(report, extent_goes_from_first_to_last_moment_covered) {
    struct tbp_intervals v = {0};
    struct tbp_interval e;
    fill(&v);
    cr_assert(tbp_intervals_extent(&v, 0, 100, &e));
    cr_assert(e.start_ps == 10 && e.end_ps == 60);
    cr_assert(tbp_intervals_extent(&v, 20, 45, &e));
    cr_assert(e.start_ps == 20 && e.end_ps == 30);
    cr_assert_not(tbp_intervals_extent(&v, 30, 50, &e));
    cr_assert_not(tbp_intervals_extent(&v, 60, 90, &e));
    tbp_intervals_release(&v);
}

Test(report, no_interval_covers_nothing) {
    struct tbp_intervals v = {0};
    struct tbp_interval e;
    tbp_intervals_close(&v);
    cr_assert_eq(tbp_intervals_within(&v, 0, UINT64_MAX), 0u);
    cr_assert_not(tbp_intervals_extent(&v, 0, UINT64_MAX, &e));
    tbp_intervals_release(&v);
}
