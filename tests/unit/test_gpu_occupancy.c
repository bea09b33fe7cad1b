/* SPDX-License-Identifier: Apache-2.0
 *
 * Theoretical occupancy, in thousandths of a per cent, of an A100 (8.0) and a K80 (3.7).
 */
#include "convert/read/gpu_trace.h"

#include <criterion/criterion.h>

static const struct tbp_gpu_device a100 = {
    .major = 8, .max_warps = 64, .max_blocks = 32, .registers = 65536, .shared_bytes = 167936};
static const struct tbp_gpu_device k80 = {
    .major = 3, .max_warps = 64, .max_blocks = 16, .registers = 131072, .shared_bytes = 114688};

static uint64_t of(const struct tbp_gpu_device *d, uint64_t threads, uint64_t registers,
                   uint64_t shared) {
    struct tbp_gpu_kernel k = {
        .block = {threads, 1, 1}, .registers = registers, .dynamic_shared = shared};
    return tbp_gpu_occupancy(d, &k);
}

Test(gpu_occupancy, each_limit_in_turn) {
    cr_expect_eq(of(&a100, 256, 32, 0), 100000);    /* 8 blocks of 8 warps */
    cr_expect_eq(of(&a100, 32, 16, 0), 50000);      /* 32 blocks of 1 warp of 64 */
    cr_expect_eq(of(&a100, 256, 64, 0), 50000);     /* 65536 / (64 * 32) = 32 warps */
    cr_expect_eq(of(&a100, 256, 33, 0), 75000);     /* 33 * 32 -> 1280: 51 -> 48 warps */
    cr_expect_eq(of(&a100, 128, 64, 40000), 25000); /* 41024 -> 41088 bytes: 4 blocks of 4 warps */
    cr_expect_eq(of(&a100, 1024, 96, 0), 0);        /* 20 warps fit, 32 are needed */
    cr_expect_eq(of(&k80, 256, 64, 0), 100000);     /* 131072 registers */
    cr_expect_eq(of(&k80, 128, 32, 0), 100000);     /* 16 blocks of 4 warps */
    cr_expect_eq(of(&k80, 64, 32, 0), 50000);       /* 16 blocks of 2 warps */
}

Test(gpu_occupancy, unknown_is_zero) {
    const struct tbp_gpu_device none = {0};
    cr_expect_eq(of(&none, 256, 32, 0), 0);
    cr_expect_eq(of(&a100, 0, 32, 0), 0);
    cr_expect_eq(of(&a100, UINT64_MAX, 32, 0), 0);
    cr_expect_eq(of(&a100, 256, UINT64_MAX, 0), 0);
    cr_expect_eq(of(&a100, 256, 32, UINT64_MAX), 0);
}
