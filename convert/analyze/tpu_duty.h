/* SPDX-License-Identifier: Apache-2.0
 *
 * Duty cycle of TPU chips: how long a chip computed, and how long it waited within the time seen.
 * Source: ../shared/spec/tables/RULES.md 8, and measured with the official converter: spans of no
 * length at time 0 count as nothing; unknown custom calls (neither flops nor model_flops) are
 * doubted on lines of XLA Ops only.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_DUTY_H
#define TBP_CONVERT_ANALYZE_TPU_DUTY_H

#include "convert/analyze/tpu_plane.h"

struct tbp_tpu_duty {
    uint64_t busy_ps, idle_ps;
    uint64_t sure_busy_ps, sure_idle_ps; /* custom calls of unknown cost do not count as work */
};

/* ops: facts of each TPU plane, by the plane's number in the host; NULL for other planes. */
struct tbp_tpu_duty tbp_tpu_duty_of_host(const struct tbp_host *h,
                                         const struct tbp_tpu_op *const *ops);

/* The time in which the plane's innermost ops work: ascending, apart from each other; in the arena.
 */
const struct tbp_tpu_span *tbp_tpu_busy_spans(const struct tbp_plane *p,
                                              const struct tbp_tpu_op *ops, struct tbp_arena *a,
                                              size_t *n);

#endif
