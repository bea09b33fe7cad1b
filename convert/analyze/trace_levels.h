/* SPDX-License-Identifier: Apache-2.0
 *
 * What is already drawn on one row of the trace at one resolution, and whether one more event can
 * be told apart from it. Used to give levels and to thin out a window. Rule 6 of the trace views.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_LEVELS_H
#define TBP_CONVERT_ANALYZE_TRACE_LEVELS_H

#include "convert/analyze/trace_index.h"

struct tbp_row {
    TBP_VEC(uint64_t) ends; /* of the drawn events by nesting depth; each the smallest so far */
    bool has_flow, has_last;
    uint64_t flow_end_ps; /* end of the last drawn event with flow */
    uint64_t last_ps;     /* begin of the last drawn thread-less event */
};
void tbp_row_release(struct tbp_row *r);

/* Bit k: at level k. */
struct tbp_flow_state {
    uint16_t known, visible;
};

struct tbp_row_event {
    uint64_t begin_ps, dur_ps;
    enum tbp_flow_direction direction;
};

/* Whether to draw an event of a thread, which is then taken as drawn. flow NULL: it has none. */
bool tbp_row_decide(struct tbp_row *r, const struct tbp_row_event *e, struct tbp_flow_state *flow,
                    unsigned level, uint64_t resolution);
/* The same for counters and async events. */
bool tbp_row_decide_loose(struct tbp_row *r, uint64_t begin_ps, uint64_t resolution);

#endif
