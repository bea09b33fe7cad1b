/* SPDX-License-Identifier: Apache-2.0
 *
 * Which steps of two hosts belong together.
 */
#include "convert/analyze/step_merge.h"

#include <criterion/criterion.h>

static struct tbp_step_window align(const struct tbp_step_hull *sub, size_t n_sub,
                                    const struct tbp_step_hull *chief, size_t n_chief) {
    return tbp_steps_align(sub, n_sub, chief, n_chief);
}

static void expect(struct tbp_step_window w, size_t first_sub, size_t first_chief, size_t count) {
    cr_assert_eq(w.first_sub, first_sub, "first_sub %zu", w.first_sub);
    cr_assert_eq(w.first_chief, first_chief, "first_chief %zu", w.first_chief);
    cr_assert_eq(w.count, count, "count %zu", w.count);
}

Test(step_merge, aligns_hosts_that_started_together) {
    const struct tbp_step_hull a[] = {{0, 10}, {10, 20}, {20, 30}}, b[] = {{1, 11}, {11, 21}};
    expect(align(a, 3, b, 2), 0, 0, 2);
}

Test(step_merge, shifts_a_host_that_started_earlier) {
    const struct tbp_step_hull a[] = {{0, 10}, {10, 20}, {20, 30}}, b[] = {{9, 19}, {19, 29}};
    expect(align(a, 3, b, 2), 1, 0, 2);
}

Test(step_merge, shifts_a_host_that_started_later) {
    const struct tbp_step_hull a[] = {{19, 29}, {29, 39}}, b[] = {{0, 10}, {10, 20}, {20, 30}};
    expect(align(a, 2, b, 3), 0, 2, 1);
}

Test(step_merge, keeps_the_order_of_steps_without_common_time) {
    const struct tbp_step_hull a[] = {{0, 5}, {5, 9}}, b[] = {{100, 110}, {110, 120}};
    expect(align(a, 2, b, 2), 0, 0, 2);
}

Test(step_merge, has_nothing_in_common_with_no_steps) {
    const struct tbp_step_hull b[] = {{100, 110}};
    expect(align(NULL, 0, b, 1), 0, 0, 0);
}

Test(step_merge, passes_over_empty_steps) {
    const struct tbp_step_hull a[] = {{0, 0}, {10, 20}}, b[] = {{0, 10}, {10, 20}};
    expect(align(a, 2, b, 2), 0, 0, 2);
}
