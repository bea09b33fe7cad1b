/* SPDX-License-Identifier: Apache-2.0
 *
 * The three questions a viewer asks of the index: a window at a resolution, a search by prefix, one
 * event. Source: rule 7 of the trace views.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_WINDOW_H
#define TBP_CONVERT_ANALYZE_TRACE_WINDOW_H

#include "convert/analyze/trace_index.h"

/* Chosen events of each track, as positions, in the order in which they are shown. */
struct tbp_trace_picks {
    struct tbp_track_picks {
        uint32_t *at;
        size_t n;
    } * tracks;
    size_t n; /* of all tracks */
};

struct tbp_trace_window {
    double start_ms, end_ms; /* end 0: of the trace */
    int64_t resolution;      /* 0: nothing is thinned out */
    bool hides_middles;      /* events in the middle of a flow on TPU planes */
};

/* Picks are allocated from a. */
int tbp_trace_pick_window(struct tbp_trace_index *x, const struct tbp_trace_window *w,
                          struct tbp_pool *pool, struct tbp_arena *a, struct tbp_trace_picks *out,
                          struct tbp_error *err);
int tbp_trace_pick_prefix(struct tbp_trace_index *x, struct tbp_str prefix, struct tbp_pool *pool,
                          struct tbp_arena *a, struct tbp_trace_picks *out, struct tbp_error *err);
/* Nothing is picked if there is no such event. */
void tbp_trace_pick_event(const struct tbp_trace_index *x, struct tbp_str name, double start_ms,
                          double duration_ms, int64_t serial, struct tbp_arena *a,
                          struct tbp_trace_picks *out);

/* Name of an event as shown: a step_name that is a text and not empty replaces it. */
struct tbp_str tbp_trace_event_name(const struct tbp_trace_line *l, size_t i);

#endif
