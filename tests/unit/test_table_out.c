/* SPDX-License-Identifier: Apache-2.0
 *
 * Values and tables of reports as text.
 */
#include "convert/report/table_out.h"

#include <criterion/criterion.h>

#include "convert/report/collective_names.h"
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

Test(report, collectives_of_every_library) {
    static const struct {
        const char *name, *kind;
        enum tbp_collective_span span;
        bool is_of_host;
    } right[] = {
        {"all-reduce", "all-reduce", TBP_COLLECTIVE_WHOLE, true},
        {"all-reduce.5", "all-reduce", TBP_COLLECTIVE_WHOLE, true},
        {"%all-reduce-start.3 = f32[4] all-reduce-start(p)", "all-reduce", TBP_COLLECTIVE_ASKED,
         true},
        {"all-gather-done", "all-gather", TBP_COLLECTIVE_ASKED, true},
        {"reduce-scatter.1.clone", "reduce-scatter", TBP_COLLECTIVE_WHOLE, true},
        {"ragged-all-to-all.2", "all-to-all", TBP_COLLECTIVE_WHOLE, true},
        {"collective-permute.9", "permute", TBP_COLLECTIVE_WHOLE, true},
        {"collective-broadcast", "broadcast", TBP_COLLECTIVE_WHOLE, true},
        {"psum_invariant.91", "all-reduce", TBP_COLLECTIVE_WHOLE, true},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", "all-reduce", TBP_COLLECTIVE_WHOLE,
         false},
        {"ncclDevKernel_Generic_1", "other", TBP_COLLECTIVE_WHOLE, false},
        {"rccl_main_kernel", "other", TBP_COLLECTIVE_WHOLE, false},
        {"nccl:all_to_all", "all-to-all", TBP_COLLECTIVE_ASKED, true},
        {"gloo:all_reduce", "all-reduce", TBP_COLLECTIVE_WHOLE, true},
        {"mpi:broadcast", "broadcast", TBP_COLLECTIVE_WHOLE, true},
        {"MPI_Barrier", "barrier", TBP_COLLECTIVE_WHOLE, true},
        {"c10d::_allgather_base_", "all-gather", TBP_COLLECTIVE_ASKED, false},
        {"hcom_allReduce__984_0_1", "all-reduce", TBP_COLLECTIVE_WHOLE, false},
        {"HcclReduceScatter", "reduce-scatter", TBP_COLLECTIVE_WHOLE, false},
        {"oneccl_broadcast_kernel", "broadcast", TBP_COLLECTIVE_WHOLE, false},
        {"HorovodBroadcast_layer_1", "broadcast", TBP_COLLECTIVE_ASKED, true},
        {"CollectiveReduceV2:CollectiveReduceV2", "all-reduce", TBP_COLLECTIVE_ASKED, true},
    };
    static const char *const others[] = {
        "all-reduce-promotion", /* passes of the compiler */
        "collective-permute-motion",
        "end: all-reduce.5",
        "%fusion.1 = f32[4] fusion(%all-reduce.1)", /* reads the result of one */
        "ncclCommInitRank",
        "MPI_Init",
        "CollectiveExecutor::RunClosure",
        "reduce.4",
        "all",
        "",
    };
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        struct tbp_collective_name found = tbp_collective_name_of(tbp_str_c(right[i].name));
        cr_assert_eq(found.span, right[i].span, "%s", right[i].name);
        cr_assert_eq(found.is_of_host, right[i].is_of_host, "%s", right[i].name);
        cr_assert_str_eq(found.kind, right[i].kind, "%s", right[i].name);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        cr_assert_not(tbp_is_collective(tbp_str_c(others[i])), "%s", others[i]);
}
