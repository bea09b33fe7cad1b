/* SPDX-License-Identifier: Apache-2.0
 *
 * Level of detail on rows small enough to follow by hand.
 */
#include "convert/analyze/trace_levels.h"

#include <criterion/criterion.h>

static bool decide(struct tbp_row *r, uint64_t begin, uint64_t dur, uint64_t resolution) {
    struct tbp_row_event e = {begin, dur, TBP_FLOW_NONE};
    return tbp_row_decide(r, &e, NULL, 0, resolution);
}

Test(trace_levels, draws_what_is_long_or_far_from_the_last) {
    struct tbp_row r = {0};
    cr_expect(decide(&r, 0, 10, 100), "the first of a row is drawn");
    cr_expect_not(decide(&r, 20, 10, 100), "10 after the end of the last");
    cr_expect(decide(&r, 110, 10, 100), "100 after it");
    cr_expect(decide(&r, 121, 100, 100), "as long as the resolution");
    tbp_row_release(&r);
}

Test(trace_levels, looks_at_the_same_depth_of_nesting) {
    struct tbp_row r = {0};
    cr_expect(decide(&r, 0, 1000, 100));
    cr_expect(decide(&r, 10, 5, 100), "first at depth 1");
    cr_expect_not(decide(&r, 20, 5, 100), "depth 1 again, too near");
    cr_expect(decide(&r, 120, 5, 100));
    cr_expect_not(decide(&r, 1001, 5, 100), "depth 0: one after the end of the outer event");
    tbp_row_release(&r);
}

/* Many unfinished events: the depth is found by halving, not by walking. */
Test(trace_levels, finds_depths_in_tall_stacks) {
    enum { DEEP = 1000 };
    struct tbp_row r = {0};
    for (uint64_t i = 0; i < DEEP; i++)
        cr_assert(decide(&r, i, 10 * DEEP - 2 * i, 1));
    cr_expect_eq(r.ends.n, DEEP);
    /* Ends fall from 10000 by one each: those after 9500 are over 499 events deep. */
    cr_expect(decide(&r, 9500, 1, 1));
    cr_expect_eq(r.ends.n, 501);
    tbp_row_release(&r);
}

Test(trace_levels, an_inner_event_that_ends_late_hides_none) {
    struct tbp_row r = {0};
    cr_assert(decide(&r, 0, 10, 1));
    cr_assert(decide(&r, 5, 100, 1)); /* longer than its parent */
    cr_expect(decide(&r, 20, 5, 1));
    cr_expect_eq(r.ends.n, 1, "the parent is over, so the row starts again at depth 0");
    tbp_row_release(&r);
}

Test(trace_levels, a_flow_stays_as_it_was_first_decided) {
    struct tbp_row r = {0};
    struct tbp_flow_state flow = {0};
    struct tbp_row_event start = {0, 200, TBP_FLOW_START}, end = {210, 1, TBP_FLOW_END};
    cr_expect(tbp_row_decide(&r, &start, &flow, 0, 100));
    cr_expect(tbp_row_decide(&r, &end, &flow, 0, 100), "short and near, but its flow is drawn");
    cr_expect_eq(flow.known, 0, "the end forgets the flow");
    tbp_row_release(&r);
}

Test(trace_levels, counters_are_thinned_by_their_begin) {
    struct tbp_row r = {0};
    cr_expect(tbp_row_decide_loose(&r, 1000, 100));
    cr_expect_not(tbp_row_decide_loose(&r, 1099, 100));
    cr_expect(tbp_row_decide_loose(&r, 1100, 100));
}

Test(trace_levels, resolutions_fall_from_a_second_to_a_picosecond) {
    cr_expect_eq(tbp_level_resolution(0), 1000000000000u);
    cr_expect_eq(tbp_level_resolution(12), 1);
}
