/* SPDX-License-Identifier: Apache-2.0
 *
 * What one TPU core did in each of its steps: marker, self time by category of op, collectives.
 * Source: ../shared/spec/pages/tpu.py, T3.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_STEP_SUMS_H
#define TBP_CONVERT_ANALYZE_TPU_STEP_SUMS_H

#include "convert/analyze/step_table.h"
#include "convert/analyze/tpu_plane.h"

struct tbp_tpu_core_step {
    int64_t id;                           /* group */
    struct tbp_tpu_span marker;           /* the longest; 0, 0 if all are empty */
    struct tbp_step_category *categories; /* with room for one more */
    size_t n_categories;
    uint64_t op_ps; /* sum of self times */
    struct tbp_step_collective *collectives;
    size_t n_collectives;
};

struct tbp_tpu_core_steps {
    uint32_t core;
    struct tbp_tpu_core_step *steps; /* with a marker and with ops; by ascending id */
    size_t n;
};

void tbp_tpu_core_steps_make(const struct tbp_plane *p, const struct tbp_tpu_op *ops,
                             struct tbp_arena *out, struct tbp_tpu_core_steps *steps);

#endif
