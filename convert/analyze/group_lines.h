/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of grouping that change lines: threadpool regions (before), steps of GPU planes and TPU
 * planes (after). Used by grouping.c only.
 */
#ifndef TBP_CONVERT_ANALYZE_GROUP_LINES_H
#define TBP_CONVERT_ANALYZE_GROUP_LINES_H

#include "convert/model/model.h"

/* Steps of one TensorCore as nodes first … first+n-1 of the forest. */
struct tbp_core_roots {
    uint32_t first, n;
};

/* Adds an event "ThreadpoolListener::Region" per start and stop to the lines of the plane, and
 * sorts those lines. */
void tbp_add_threadpool_regions(struct tbp_plane *p);

/* GPU planes: events without group take the group before them; then the derived line "Steps" is
 * made. */
void tbp_add_gpu_steps(struct tbp_plane *p);

/* The line whose events are the steps of a TPU core: Steps if it has events, else XLA Modules; NULL
 * if neither. */
const struct tbp_line *tbp_tpu_grouping_line(const struct tbp_plane *p);
bool tbp_is_tpu_step_line(struct tbp_str name);
/* Merges neighbouring steps of one group, drops those without, and gives a step's group to all that
 * overlaps it. */
void tbp_regroup_tpu_plane(struct tbp_plane *p);

#endif
