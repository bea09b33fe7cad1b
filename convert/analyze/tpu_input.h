/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers per step over the TPU cores: what the step waited for and what it computed.
 * Source: ../shared/spec/pages/tpu.py, T4. Milliseconds are doubles, as shown. Pure but for the
 * arena.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_INPUT_H
#define TBP_CONVERT_ANALYZE_TPU_INPUT_H

#include "convert/analyze/step_table.h"

enum tbp_tpu_time {
    TBP_TPU_COMPUTE,
    TBP_TPU_SCV0_COMPUTE, /* sparse cores of the first kind, told as categories of ops */
    TBP_TPU_SCV0_INFEED,
    TBP_TPU_INFEED,
    TBP_TPU_OUTFEED,
    TBP_TPU_IDLE,
    TBP_TPU_TRANSFER,       /* between host and device */
    TBP_TPU_ACTIVE,         /* time on duty, average of the cores */
    TBP_TPU_SPARSE_COMPUTE, /* sparse cores: the least busy one */
    TBP_TPU_SPARSE_ACTIVE,  /* … their average */
    TBP_TPU_SPARSE_IDLE,
    TBP_TPU_SPARSE_STEP,
    TBP_TPU_ANY_ACTIVE, /* the busier kind of cores */
    TBP_TPU_TIMES
};

struct tbp_tpu_step {
    int64_t number; /* -1: no core took part */
    bool has_sparse_cores;
    double ms[TBP_TPU_TIMES];
    double reduce_ms; /* all-reduce: compute and waiting for each other */
    double step_ms;   /* counts all-reduce twice */
    double infeed_percent_average, infeed_percent_minimum, infeed_percent_maximum;
    const struct tbp_core_place *place; /* of the core that waited longest; NULL if unknown */
};

struct tbp_tpu_step tbp_tpu_step_of(const struct tbp_step_table *t, const struct tbp_step *step,
                                    struct tbp_arena *a);

#endif
