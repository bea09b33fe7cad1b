/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and tables of reports as text.
 */
#include "convert/report/table_out.h"

#include <criterion/criterion.h>

#include "convert/report/event_role.h"
#include "convert/report/step_parts.h"

static void expect_text(size_t n, const char *got, const char *right) {
    cr_assert_eq(n, strlen(right), "%.*s, not %s", (int)n, got, right);
    cr_assert_eq(memcmp(got, right, n), 0, "%.*s, not %s", (int)n, got, right);
}

Test(report, microseconds_are_exact) {
    char s[TBP_VALUE_MAX];
    expect_text(tbp_us_text(s, 0), s, "0");
    expect_text(tbp_us_text(s, 1500000), s, "1.5");
    expect_text(tbp_us_text(s, 1), s, "0.000001");
    expect_text(tbp_us_text(s, -2000001), s, "-2.000001");
    expect_text(tbp_us_text(s, INT64_MIN), s, "-9223372036854.775808");
}

Test(report, units_follow_the_size) {
    char s[TBP_VALUE_MAX];
    expect_text(tbp_time_text(s, 943000), s, "0.943us");
    expect_text(tbp_time_text(s, 1749000000), s, "1.749ms");
    expect_text(tbp_time_text(s, -2500000000000), s, "-2.500s");
    expect_text(tbp_bytes_text(s, 640), s, "640 B");
    expect_text(tbp_bytes_text(s, -512 * 1024), s, "-512.00 KB");
    expect_text(tbp_bytes_text(s, 3000000), s, "2.86 MB");
}

Test(report, names_tell_the_part_of_a_step) {
    cr_assert_eq(tbp_step_parts_of(TBP_STR("Optimizer.step#SGD.step")), TBP_IS_UPDATE);
    cr_assert_eq(tbp_step_parts_of(TBP_STR("IteratorGetNext")), TBP_IS_INPUT);
    cr_assert_eq(tbp_step_parts_of(TBP_STR("cudaLaunchKernelExC")), TBP_IS_LAUNCH);
    cr_assert_eq(tbp_step_parts_of(TBP_STR("autograd::engine::evaluate_function: X")),
                 TBP_IS_BACKWARD);
    cr_assert_eq(tbp_step_parts_of(TBP_STR("aten::add")), 0u);
}

Test(report, collectives_by_name) {
    cr_assert(tbp_is_collective(TBP_STR("ncclDevKernel_AllReduce_Sum_bf16_RING_LL")));
    cr_assert(tbp_is_collective(TBP_STR("void vllm::cross_device_reduce_2stage<__nv_bfloat16>")));
    cr_assert(tbp_is_collective(TBP_STR("gloo:broadcast")));
    cr_assert_not(tbp_is_collective(TBP_STR("void at::native::reduce_kernel<512, 1>")));
}
