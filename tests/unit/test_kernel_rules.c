/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernel texts say: launch geometry, tensor cores, eligible ops.
 */
#include "convert/analyze/kernel_table.h"

#include <criterion/criterion.h>
#include <math.h>

static struct tbp_kernel_launch parse(const char *details) {
    struct tbp_kernel_launch l;
    tbp_kernel_launch_parse(&l, tbp_str_c(details), false);
    return l;
}

Test(kernel_rules, reads_every_field_of_the_launch) {
    struct tbp_kernel_launch l = parse("regs:32 static_shared:7 dynamic_shared:16384 grid:1,2,3 "
                                       "block:256,1,4 occ_pct:75.5");
    cr_assert_eq(l.registers, 32);
    cr_assert_eq(l.static_shmem_bytes, 7);
    cr_assert_eq(l.dynamic_shmem_bytes, 16384);
    cr_assert_eq(l.grid[0] * 100 + l.grid[1] * 10 + l.grid[2], 123);
    cr_assert_eq(l.block[0], 256);
    cr_assert_eq(l.block[2], 4);
    cr_assert_eq(l.occupancy_pct, 75.5f);
}

Test(kernel_rules, unreadable_values_leave_the_defaults) {
    struct tbp_kernel_launch l =
        parse("regs:-1 static_shared:4294967296 grid:1,2 block:1,2,3,4 occ_pct:0x10");
    cr_assert_eq(l.registers, 0);
    cr_assert_eq(l.static_shmem_bytes, 0);
    cr_assert_eq(l.grid[0], 1);
    cr_assert_eq(l.grid[1], 1);
    cr_assert_eq(l.block[1], 1);
    cr_assert_eq(l.occupancy_pct, 0.0f);
}

Test(kernel_rules, tokens_end_at_blank_and_newline_only_and_hold_one_colon) {
    struct tbp_kernel_launch l = parse("\nregs:7\nregs:9: dynamic_shared:+3 foo:bar\tblock:9,9,9");
    cr_assert_eq(l.registers, 7);
    cr_assert_eq(l.dynamic_shmem_bytes, 3);
    cr_assert_eq(l.block[0], 1);
    cr_assert_eq(parse("static_shared:4294967295").static_shmem_bytes, UINT32_MAX);
}

Test(kernel_rules, later_tokens_overwrite) {
    cr_assert_eq(parse("regs:1 regs:2").registers, 2);
}

Test(kernel_rules, shm_is_read_as_a_repair_only) {
    struct tbp_kernel_launch l;
    tbp_kernel_launch_parse(&l, TBP_STR("shm:48"), true);
    cr_assert_eq(l.static_shmem_bytes, 48);
    cr_assert(l.has_shm);
    cr_assert_eq(parse("shm:48").static_shmem_bytes, 0);
}

static bool uses(const char *name, enum tbp_gpu_vendor vendor) {
    return tbp_kernel_name_uses_tensor_core(tbp_str_c(name), vendor);
}

Test(kernel_rules, tensor_cores_are_told_by_vendor_and_name) {
    cr_assert(uses("volta_h884gemm_64x64", TBP_VENDOR_NVIDIA));
    cr_assert_not(uses("volta_sgemm_64x64", TBP_VENDOR_NVIDIA));
    cr_assert_not(uses("volta_h884gemm_64x64", TBP_VENDOR_AMD));
    cr_assert_not(uses("volta_h884gemm_64x64", TBP_VENDOR_OTHER));
    cr_assert(uses("k_mfma_x", TBP_VENDOR_AMD));
    cr_assert(uses("Cijk_MT_MI16x16x16x1", TBP_VENDOR_AMD));
    cr_assert_not(uses("Cijk_MT_MI16x16x", TBP_VENDOR_AMD));
    cr_assert_not(uses("Cijk_MT_MI16xx16", TBP_VENDOR_AMD));
}

static bool eligible(const char *op) {
    return tbp_op_is_tensor_core_eligible(tbp_str_c(op));
}

Test(kernel_rules, eligible_ops_are_told_by_their_names) {
    cr_assert(eligible("a/MatMul"));
    cr_assert_not(eligible("MatMul"));
    cr_assert_not(eligible("a/MatMul/x"));
    cr_assert(eligible("gradient_tape/x/Conv2DBackpropInput"));
    cr_assert(eligible("a/BatchMatMulV2_1"));
    cr_assert(eligible("jit(f)/dot_general"));
}

static bool equation(const char *text) {
    return tbp_equation_is_tensor_core_eligible(tbp_str_c(text));
}

Test(kernel_rules, eligible_equations_have_two_operands_and_one_arrow) {
    cr_assert(equation("ab,bc->ac"));
    cr_assert_not(equation("ab->ba"));
    cr_assert_not(equation("a,b,c->d"));
    cr_assert_not(equation("a,b->c->d"));
    cr_assert_not(equation("a,b"));
    cr_assert_not(equation(""));
}
