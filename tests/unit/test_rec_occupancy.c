/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy, by what NVIDIA's calculator says for these launches: which of the four limits binds.
 */
#include "plugin_data/rec_occupancy.h"

#include <criterion/criterion.h>

static const struct tbp_spool_gpu_device h100 = {.compute_major = 9,
                                                 .max_threads = 2048,
                                                 .max_blocks = 32,
                                                 .registers = 65536,
                                                 .shared_bytes = 233472,
                                                 .reserved_shared_bytes = 1024};
static const struct tbp_spool_gpu_device a10 = {.compute_major = 8,
                                                .compute_minor = 6,
                                                .max_threads = 1536,
                                                .registers = 65536,
                                                .shared_bytes = 102400,
                                                .reserved_shared_bytes = 1024};
static const struct tbp_spool_gpu_device v100 = {
    .compute_major = 7, .max_threads = 2048, .registers = 65536, .shared_bytes = 98304};

static void expect(const struct tbp_spool_gpu_device *d, uint32_t threads, uint32_t registers,
                   uint32_t shared, uint32_t blocks, double percent) {
    struct tbp_spool_gpu_launch l = {.grid = {1, 1, 1},
                                     .block = {threads, 1, 1},
                                     .registers = registers,
                                     .dynamic_shared_bytes = shared};
    struct tbp_rec_occupancy o = tbp_rec_occupancy(d, &l);
    cr_assert_eq(o.blocks, blocks, "%u blocks of %u threads", o.blocks, threads);
    cr_assert_float_eq(o.percent, percent, 1e-9, "%g %%", o.percent);
}

Test(rec_occupancy, threads_bind) {
    expect(&h100, 1024, 32, 0, 2, 100);
    expect(&h100, 768, 32, 0, 2, 75); /* a third one does not fit */
    expect(&a10, 1024, 32, 0, 1, 100 * 1024 / 1536.0);
}

Test(rec_occupancy, blocks_bind) {
    expect(&h100, 32, 32, 0, 32, 50);
    expect(&a10, 32, 32, 0, 16, 100 / 3.0); /* compute capability 8.6: 16 */
    expect(&v100, 32, 32, 0, 32, 50);
}

Test(rec_occupancy, registers_bind) {
    expect(&h100, 256, 128, 0, 2, 25);   /* 4096 a warp: 4 in each part, 16 in all */
    expect(&h100, 256, 255, 0, 1, 12.5); /* 8160 -> 8192 a warp: 8 warps, one block */
    expect(&h100, 512, 129, 0, 0, 0);    /* 4352 a warp: 12 warps, a block has 16 */
}

Test(rec_occupancy, shared_memory_binds) {
    expect(&h100, 128, 32, 99328, 2, 12.5); /* 97 + 1 KiB of 228 */
    expect(&v100, 128, 32, 49152, 2, 12.5); /* 48 of 96 */
    expect(&v100, 128, 32, 49153, 1, 6.25); /* in units of 256 bytes */
}

Test(rec_occupancy, what_makes_no_sense_is_nothing) {
    struct tbp_spool_gpu_device unknown = {0};
    expect(&unknown, 128, 32, 0, 0, 0);
    expect(&h100, 0, 32, 0, 0, 0);
    expect(&h100, 4096, 32, 0, 0, 0);
    expect(&h100, UINT32_MAX, 32, 0, 0, 0);
    expect(&h100, 128, UINT32_MAX, 0, 0, 0);
    expect(&h100, 128, 32, UINT32_MAX, 0, 0);
}
