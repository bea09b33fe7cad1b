/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that the program gives to devices, contexts and streams through NVTX
 * (capture/nvtx_inject.c). They stay for the life of the process. Devices go by ordinals, the
 * others by handles, whose numbers CUPTI knows: while no session records the GPU these cannot be
 * asked for, and the name is lost. Thread-safety: all functions.
 */
#ifndef TBP_CAPTURE_GPU_NAMES_H
#define TBP_CAPTURE_GPU_NAMES_H

#include "base/str.h"
#include "capture/cuda_load.h"
#include "capture/cupti_load.h"

struct tbp_gpu_name {
    enum tbp_gpu_named what;
    uint32_t device, context, stream;
    char text[96];
};

/* Who can tell the numbers of handles, from now on; copied. NULL: nobody. */
void tbp_gpu_names_by(const struct tbp_cupti *cupti, const struct tbp_cuda *cuda);

void tbp_gpu_name_device(uint32_t ordinal, struct tbp_str text);
void tbp_gpu_name_context(void *context, struct tbp_str text);
void tbp_gpu_name_stream(void *stream, struct tbp_str text);

/* The nth, from 0, in the order in which they were given; false: there are fewer. */
bool tbp_gpu_names_get(unsigned n, struct tbp_gpu_name *name);
void tbp_gpu_names_after_fork(void);

#endif
