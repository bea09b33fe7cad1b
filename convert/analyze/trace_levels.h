/* SPDX-License-Identifier: Apache-2.0
 *
 * Levels of detail of all events of a host, each level in order of begin, so that a window reads
 * only what can be seen in it. And the rule behind them: what is already drawn on one row of the
 * trace at one resolution, and whether one more event can be told apart from it (also used to thin
 * out a window). Rule 6 of the trace views.
 *
 * Memory: 1 byte per event for its level, 4 for its place in a list, 8 per TBP_LEVEL_BLOCK events.
 * Ownership: columns come from the arena given when made. Const after making.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_LEVELS_H
#define TBP_CONVERT_ANALYZE_TRACE_LEVELS_H

#include "convert/analyze/trace_index.h"

enum { TBP_LEVEL_BLOCK = 64 };

struct tbp_trace_levels {
    const struct tbp_trace_index *index;
    uint8_t **of_track; /* level of each event; of those that are lost as well */
};

int tbp_trace_levels_make(struct tbp_trace_levels *l, const struct tbp_trace_index *x,
                          struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err);

/* The events of each level, for views of a part: a view of the whole needs none of this. */
struct tbp_level_lists {
    struct tbp_level_list {
        uint32_t *at; /* positions by level, then in order; lost events left out */
        uint32_t first[TBP_TRACE_LEVELS + 1]; /* at[first[k] … first[k+1]-1] is level k */
        uint64_t *block_end; /* the latest end within each TBP_LEVEL_BLOCK entries of `at` */
    } * tracks;
};

int tbp_level_lists_make(struct tbp_level_lists *l, const struct tbp_trace_levels *levels,
                         struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err);

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
