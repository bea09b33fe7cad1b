/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_occupancy.h.
 */
#include "plugin_data/rec_occupancy.h"

enum { WARP = 32, REGISTER_UNIT = 256 /* registers are given to warps in such units */ };

static uint64_t round_up(uint64_t n, uint64_t unit) {
    return (n + unit - 1) / unit * unit;
}

/* Blocks that a multiprocessor holds at most, where the driver does not say. */
static uint64_t max_blocks(const struct tbp_spool_gpu_device *d) {
    uint32_t cc = d->compute_major * 10 + d->compute_minor;
    if (d->max_blocks)
        return d->max_blocks;
    if (cc == 75 || cc == 86 || cc == 87)
        return 16;
    return cc == 89 || cc == 101 || cc == 110 || d->compute_major == 12 ? 24 : 32;
}

/* Each of the parts of a multiprocessor has its share of the registers. */
static uint64_t by_registers(const struct tbp_spool_gpu_device *d, uint64_t warps,
                             uint32_t registers) {
    uint64_t parts = d->compute_major == 6 && d->compute_minor == 0 ? 2 : 4;
    uint64_t per_warp = round_up((uint64_t)registers * WARP, REGISTER_UNIT);
    if (per_warp == 0)
        return UINT64_MAX;
    uint64_t warps_held = d->registers / parts / per_warp * parts;
    return round_up(warps, parts) > warps_held ? 0 : warps_held / warps;
}

static uint64_t by_shared(const struct tbp_spool_gpu_device *d,
                          const struct tbp_spool_gpu_launch *l) {
    uint64_t unit = d->compute_major >= 8 ? 128 : 256;
    uint64_t bytes = round_up((uint64_t)l->static_shared_bytes + l->dynamic_shared_bytes +
                                  d->reserved_shared_bytes,
                              unit);
    return bytes == 0 ? UINT64_MAX : d->shared_bytes / bytes;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

struct tbp_rec_occupancy tbp_rec_occupancy(const struct tbp_spool_gpu_device *d,
                                           const struct tbp_spool_gpu_launch *l) {
    uint64_t threads = (uint64_t)l->block[0] * l->block[1];
    struct tbp_rec_occupancy none = {0, 0};
    if (threads == 0 || threads > UINT16_MAX || l->block[2] == 0 || l->block[2] > UINT16_MAX)
        return none;
    threads *= l->block[2];
    if (threads > d->max_threads || !d->registers || !d->shared_bytes)
        return none;
    uint64_t warps = (threads + WARP - 1) / WARP;
    uint64_t blocks = least(d->max_threads / WARP / warps, max_blocks(d));
    blocks = least(blocks, by_registers(d, warps, l->registers));
    blocks = least(blocks, by_shared(d, l));
    return (struct tbp_rec_occupancy){(uint32_t)blocks,
                                      (double)(blocks * threads) * 100.0 / (double)d->max_threads};
}
