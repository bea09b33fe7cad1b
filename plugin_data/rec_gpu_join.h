/* SPDX-License-Identifier: Apache-2.0
 *
 * Which scope made a call: the records of each calling thread are walked once more beside its
 * calls, in order of time, and each call gets the name of what is open then: the annotations
 * (tbprof_annotation_push) joined by '/', else the innermost scope. Used by rec_gpu.c.
 */
#ifndef TBP_PLUGIN_DATA_REC_GPU_JOIN_H
#define TBP_PLUGIN_DATA_REC_GPU_JOIN_H

#include "plugin_data/rec_gpu.h"

/* Fills `op` of the calls, which are in order of thread and time. */
void tbp_rec_gpu_join(struct tbp_rec_gpu *g, int64_t base_ps,
                      const struct tbp_rec_gpu_carried *carried);

#endif
