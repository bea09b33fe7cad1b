/* SPDX-License-Identifier: Apache-2.0
 *
 * Theoretical occupancy by the rules of the CUDA programming guide: blocks on a multiprocessor are
 * limited by warps, blocks, registers (given to warps in units of 256) and shared memory (in units
 * of 128 or 256 bytes, one KiB of it taken by the system from compute capability 8 on).
 */
#include "convert/read/gpu_trace.h"

enum { WARP_THREADS = 32 };

static uint64_t round_up(uint64_t v, uint64_t unit) {
    return (v + unit - 1) / unit * unit;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t by_registers(const struct tbp_gpu_device *d, const struct tbp_gpu_kernel *k,
                             uint64_t warps) {
    enum { UNIT = 256, WARPS_AT_ONCE = 4 };
    if (k->registers == 0 || d->registers == 0)
        return UINT64_MAX;
    uint64_t fit = d->registers / round_up(k->registers * WARP_THREADS, UNIT);
    return fit / WARPS_AT_ONCE * WARPS_AT_ONCE / warps;
}

static uint64_t by_shared_memory(const struct tbp_gpu_device *d, const struct tbp_gpu_kernel *k) {
    uint64_t unit = d->major >= 8 ? 128 : 256, of_system = d->major >= 8 ? 1024 : 0;
    uint64_t bytes = round_up(k->static_shared + k->dynamic_shared + of_system, unit);
    return bytes == 0 || d->shared_bytes == 0 ? UINT64_MAX : d->shared_bytes / bytes;
}

uint64_t tbp_gpu_occupancy(const struct tbp_gpu_device *d, const struct tbp_gpu_kernel *k) {
    enum { MAX_SANE = 1 << 20, PER_CENT = 100000 };
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        threads = k->block[i] > MAX_SANE || threads > MAX_SANE ? 0 : threads * k->block[i];
    if (threads == 0 || threads > MAX_SANE || d->max_warps == 0 || d->max_warps > MAX_SANE ||
        k->registers > MAX_SANE || k->static_shared > UINT32_MAX || k->dynamic_shared > UINT32_MAX)
        return 0;
    uint64_t warps = (threads + WARP_THREADS - 1) / WARP_THREADS;
    uint64_t blocks = d->max_warps / warps;
    if (d->max_blocks)
        blocks = least(blocks, d->max_blocks);
    blocks = least(blocks, least(by_registers(d, k, warps), by_shared_memory(d, k)));
    return blocks * warps * PER_CENT / d->max_warps;
}
