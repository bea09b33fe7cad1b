/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a multiprocessor a kernel can fill: blocks that fit by threads, blocks, registers
 * and shared memory, and their threads as a share of what it holds. Source: the rules of NVIDIA's
 * occupancy calculator; shared memory that the system reserves per block is included. Pure.
 */
#ifndef TBP_PLUGIN_DATA_REC_OCCUPANCY_H
#define TBP_PLUGIN_DATA_REC_OCCUPANCY_H

#include "schemas/spool_gpu.h"

struct tbp_rec_occupancy {
    uint32_t blocks; /* per multiprocessor */
    double percent;
};
/* blocks 0, percent 0: the device is not known, or such a kernel does not run on it. */
struct tbp_rec_occupancy tbp_rec_occupancy(const struct tbp_spool_gpu_device *device,
                                           const struct tbp_spool_gpu_launch *launch);

#endif
