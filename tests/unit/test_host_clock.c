/* SPDX-License-Identifier: Apache-2.0
 *
 * When the clock of a host is corrected, and what --clock-offset means.
 */
#include "convert/report/host_clock.h"

#include <criterion/criterion.h>

static struct tbp_host_clock aligned(int64_t *apart_ps, size_t n, int64_t transfer_ps) {
    struct tbp_host_clock c = {.state = TBP_CLOCK_AS_TOLD, .has_wall = true};
    tbp_host_clock_align(&c, apart_ps, n, transfer_ps);
    return c;
}

Test(report, clocks_are_aligned_by_the_median_of_ends) {
    int64_t apart_ps[] = {5002, 4999, 5000, 90000, 5001};
    struct tbp_host_clock c = aligned(apart_ps, 5, 10);
    cr_assert_eq(c.state, TBP_CLOCK_ALIGNED);
    cr_assert_eq(c.ahead_ps, 5001);
    cr_assert_eq(c.spread_ps, 1); /* of 1, 2, 1, 84999, 0 */
    cr_assert_eq(tbp_common_ps(&c, 6001), 1000u);
}

Test(report, clocks_that_agree_stay) {
    int64_t apart_ps[] = {3, -2, 4};
    struct tbp_host_clock c = aligned(apart_ps, 3, 10);
    cr_assert(c.state == TBP_CLOCK_AGREES && c.ahead_ps == 0);
}

Test(report, clocks_stay_without_evidence) {
    int64_t few[] = {5000, 5000}, apart[] = {5000, 9000, -7000};
    struct tbp_host_clock c = aligned(few, 2, 10);
    cr_assert(c.state == TBP_CLOCK_AS_TOLD && c.ahead_ps == 0 && c.n_ends == 2);
    c = aligned(apart, 3, 10);
    cr_assert(c.state == TBP_CLOCK_AS_TOLD && c.ahead_ps == 0 && c.spread_ps == 4000);
}

Test(report, stated_clocks_are_never_changed) {
    int64_t apart_ps[] = {70, 70, 70};
    struct tbp_host_clock c = {.state = TBP_CLOCK_STATED, .has_wall = true, .ahead_ps = 7};
    tbp_host_clock_align(&c, apart_ps, 3, 10);
    cr_assert(c.state == TBP_CLOCK_STATED && c.ahead_ps == 7 && c.spread_ps == 0);
}

Test(report, clock_offsets_are_of_a_host_or_a_rank) {
    struct tbp_clock_offset o;
    cr_assert_eq(tbp_clock_offset_parse(&o, "a=b=-2.5us", NULL), TBP_OK);
    cr_assert(tbp_str_is(o.host, "a=b"));
    cr_assert_eq(o.ahead_ps, -2500000);
    cr_assert_eq(tbp_clock_offset_parse(&o, "1=3ms", NULL), TBP_OK);
    cr_assert(tbp_clock_offset_is_of(&o, TBP_STR("worker"), 1));
    cr_assert(tbp_clock_offset_is_of(&o, TBP_STR("1"), -1));
    cr_assert_not(tbp_clock_offset_is_of(&o, TBP_STR("worker"), 3));
    cr_assert_eq(tbp_clock_offset_parse(&o, "1=3", NULL), TBP_E_OPTION);
    cr_assert_eq(tbp_clock_offset_parse(&o, "3ms", NULL), TBP_E_OPTION);
}
