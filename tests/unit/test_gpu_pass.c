/* SPDX-License-Identifier: Apache-2.0
 *
 * Device ops, framework ops, kernels and the run environment of small GPU planes.
 */
#include "convert/analyze/run_environment.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>

static void gpu_plane(struct tiny_host *h, const char *vendor) {
    tiny_plane(h, "/device:GPU:0");
    if (vendor) {
        tiny_plane_stat_str(h, "device_vendor", vendor);
    }
    tiny_plane_stat_u64(h, "compute_cap_major", 8);
    tiny_plane_stat_u64(h, "compute_cap_minor", 0);
    tiny_plane_stat_u64(h, "core_count", 108);
    tiny_plane_stat_u64(h, "clock_rate", 1410000);
    tiny_plane_stat_u64(h, "memory_bandwidth", 1555000000000);
    tiny_line(h, 7);
}

static void launch(struct tiny_host *h, const char *name, int64_t at_ns, int64_t dur_ps,
                   const char *op_stat, const char *op) {
    tiny_event(h, name, at_ns * 1000, dur_ps);
    tiny_stat_str(h, "kernel_details", "regs:32 grid:2,1,1");
    if (op) {
        tiny_stat_str(h, op_stat, op);
    }
}

static const struct tbp_op *find(const struct tbp_op_table *t, const char *name) {
    for (size_t i = 0; i < t->n_ops; i++) {
        if (tbp_str_is(t->ops[i].name, name)) {
            return &t->ops[i];
        }
    }
    return NULL;
}

/* k1 twice and k2 once for one op, k1 once for another, 100 ns in all. */
static void put_ops(struct tiny_host *h, const char *op_stat) {
    gpu_plane(h, "Nvidia");
    launch(h, "k1", 0, 15000, op_stat, "a/MatMul:MatMul");
    launch(h, "k1", 20, 15000, op_stat, "a/MatMul:MatMul");
    launch(h, "k2_h884", 40, 10000, op_stat, "a/MatMul:MatMul");
    launch(h, "k1", 80, 20000, op_stat, "b/Relu:Relu");
}

Test(gpu_pass, kernels_of_one_op_make_one_framework_op) {
    struct tiny_host h = {0};
    struct tiny_run run;
    put_ops(&h, "tf_op");
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *device = tbp_device_ops(s, 0, NULL);
    cr_assert_eq(find(device, "a/MatMul/k1")->time_ps, 30000);
    cr_assert_eq(find(device, "a/MatMul/k2_h884")->occurrences, 1);
    const struct tbp_op_table *t = tbp_framework_ops(s, 0, NULL);
    cr_assert_eq(find(t, "a/MatMul")->time_ps, 40000);
    cr_assert_eq(find(t, "a/MatMul")->occurrences, 2, "the most frequent kernel's");
    cr_assert_eq(find(t, TBP_IDLE)->self_ps, 40000);
    cr_assert_eq(t->total_ps, 100000);
    cr_assert_eq(t->total_op_ps, 60000);
    tiny_close(&run);
}

Test(gpu_pass, shown_order_is_by_self_time_then_name) {
    struct tiny_host h = {0};
    struct tiny_run run;
    put_ops(&h, "tf_op");
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    struct tbp_arena a;
    const struct tbp_op **ops;
    tbp_arena_init(&a);
    size_t n = tbp_op_table_sorted(tbp_framework_ops(s, 0, NULL), 2, &a, &ops);
    cr_assert_eq(n, 2);
    cr_assert(tbp_str_is(ops[0]->name, TBP_IDLE)); /* 40 ns as a/MatMul, but I < a */
    cr_assert(tbp_str_is(ops[1]->name, "a/MatMul"));
    tbp_arena_release(&a);
    tiny_close(&run);
}

Test(gpu_pass, level_0_is_the_op_of_old_files_as_a_repair) {
    for (int official = 0; official < 2; official++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        put_ops(&h, "level 0");
        struct tbp_session *s =
            tiny_open(&run, &h, 1, official ? TBP_SEMANTICS_OFFICIAL : TBP_SEMANTICS_REPAIR);
        const struct tbp_op_table *t = tbp_framework_ops(s, 0, NULL);
        cr_assert_eq(find(t, "a/MatMul") == NULL, official == 1);
        const struct tbp_ledger *l = &tbp_session_host(s, 0, NULL)->ledger;
        cr_assert_eq(l->count[TBP_LEDGER_REPAIR_LEVEL_0], official ? 0 : 4);
        tiny_close(&run);
    }
}

Test(gpu_pass, kernels_are_rows_by_name_launch_and_op) {
    struct tiny_host h = {0};
    struct tiny_run run;
    put_ops(&h, "tf_op");
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_kernel_table *t = tbp_kernels(s, 0, NULL);
    cr_assert_eq(t->n_kernels, 3);
    cr_assert(tbp_str_is(t->kernels[0].op_name, "a/MatMul"));
    cr_assert_eq(t->kernels[0].total_ps, 30000);
    cr_assert_eq(t->kernels[0].occurrences, 2);
    cr_assert_eq(t->kernels[0].launch.registers, 32);
    cr_assert(tbp_str_is(t->kernels[2].name, "k2_h884"));
    cr_assert(t->kernels[2].uses_tensor_core);
    const struct tbp_kernel_op *op = tbp_kernel_op_find(t, TBP_STR("a/MatMul"));
    cr_assert_eq(op->total_ps, 40000);
    cr_assert_eq(op->tensor_core_ps, 10000);
    cr_assert(op->is_eligible);
    cr_assert_null(tbp_kernel_op_find(t, TBP_STR("c")));
    tiny_close(&run);
}

/* 999 ps are no nanosecond to the official reading; the repaired one adds picoseconds. */
Test(gpu_pass, parts_of_nanoseconds_count_as_a_repair) {
    for (int official = 0; official < 2; official++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        gpu_plane(&h, "Nvidia");
        launch(&h, "tiny", 0, 999, "tf_op", NULL);
        launch(&h, "tiny", 1, 1500, "tf_op", NULL);
        struct tbp_session *s =
            tiny_open(&run, &h, 1, official ? TBP_SEMANTICS_OFFICIAL : TBP_SEMANTICS_REPAIR);
        const struct tbp_kernel *k = &tbp_kernels(s, 0, NULL)->kernels[0];
        cr_assert_eq(k->total_ps, official ? 1000 : 2499);
        cr_assert_eq(k->min_ps, official ? 0 : 999);
        cr_assert_eq(k->has_sub_ns, official == 0);
        tiny_close(&run);
    }
}

Test(gpu_pass, an_op_without_its_program_is_shown_as_a_repair) {
    for (int official = 0; official < 2; official++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        gpu_plane(&h, "Nvidia");
        for (int i = 0; i < 3; i++) {
            launch(&h, "k", 10 * i, 4000, "hlo_op", "while::fusion.1");
            tiny_stat_u64(&h, "program_id", 5);
        }
        struct tbp_session *s =
            tiny_open(&run, &h, 1, official ? TBP_SEMANTICS_OFFICIAL : TBP_SEMANTICS_REPAIR);
        const struct tbp_op *op = find(tbp_framework_ops(s, 0, NULL), "fusion.1");
        cr_assert_eq(op == NULL, official == 1);
        cr_assert(official || (op->time_ps == 12000 && op->occurrences == 3));
        const struct tbp_ledger *l = &tbp_session_host(s, 0, NULL)->ledger;
        cr_assert_eq(l->count[TBP_LEDGER_REPAIR_HLO_TEXT], official ? 0 : 3);
        tiny_close(&run);
    }
}

Test(run_environment, an_a100_has_its_peaks) {
    struct tiny_host h = {0};
    struct tiny_run run;
    gpu_plane(&h, "Nvidia");
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_run_environment *e = tbp_run_environment(s, 0, NULL);
    cr_assert(tbp_str_is(e->device_type, "Nvidia GPU (Ampere)"));
    cr_assert_eq(e->hardware, TBP_HARDWARE_GPU);
    cr_assert_float_eq(e->peak_tflops, 311.86944, 1e-9);
    cr_assert_float_eq(e->peak_gbs[TBP_BW_SRAM_READ], 38983.68, 1e-6);
    cr_assert_float_eq(e->peak_gbs[TBP_BW_HBM], 1555, 1e-9);
    cr_assert_float_eq(e->ridge_point, 311869.44 / 1555, 1e-9);
    tiny_close(&run);
}

Test(run_environment, a_missing_vendor_is_nvidia_as_a_repair) {
    for (int official = 0; official < 2; official++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        gpu_plane(&h, NULL);
        struct tbp_session *s =
            tiny_open(&run, &h, 1, official ? TBP_SEMANTICS_OFFICIAL : TBP_SEMANTICS_REPAIR);
        const struct tbp_run_environment *e = tbp_run_environment(s, 0, NULL);
        cr_assert(tbp_str_is(e->device_type, official ? "GPU" : "Nvidia GPU (Ampere)"));
        cr_assert_eq(e->peak_tflops == 0, official == 1);
        tiny_close(&run);
    }
}

Test(run_environment, hosts_with_a_device_tell_the_device_type) {
    struct tiny_host hosts[2];
    memset(hosts, 0, sizeof hosts);
    struct tiny_run run;
    gpu_plane(&hosts[0], "Nvidia");
    tiny_plane(&hosts[1], "/host:CPU");
    struct tbp_session *s = tiny_open(&run, hosts, 2, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_run_environment *e = tbp_run_environment(s, TBP_ALL_HOSTS, NULL);
    cr_assert(tbp_str_is(e->device_type, "Nvidia GPU (Ampere)"));
    cr_assert_eq(e->core_count, 1);
    cr_assert_eq(e->n_tasks, 2);
    cr_assert_eq(e->n_hostnames, 1, "both are localhost");
    tiny_close(&run);
}

Test(roofline, the_largest_utilisation_binds) {
    struct tbp_run_environment e = {.hardware = TBP_HARDWARE_GPU, .peak_tflops = 1};
    e.peak_gbs[TBP_BW_HBM] = 100;
    struct tbp_op op = {.time_ps = 1000000, .flops = 500000, .bytes = 10000};
    struct tbp_roofline r = tbp_op_roofline(&op, &e); /* half the FLOPs, a tenth of the bytes */
    cr_assert_float_eq(r.gflops, 500, 1e-9);
    cr_assert_float_eq(r.flop_per_byte, 50, 1e-9);
    cr_assert_str_eq(r.bound_by, "Compute");
    op.flops = 0;
    cr_assert_str_eq(tbp_op_roofline(&op, &e).bound_by, "HBM");
    op.bytes = 0;
    cr_assert_str_eq(tbp_op_roofline(&op, &e).bound_by, "Unknown");
}
