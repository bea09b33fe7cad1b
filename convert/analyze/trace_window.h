/* SPDX-License-Identifier: Apache-2.0
 *
 * The three questions a viewer asks of the index: a window at a resolution, a search by prefix, one
 * event. Each costs about what it finds, not what there is. Source: rule 7 of the trace views.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_WINDOW_H
#define TBP_CONVERT_ANALYZE_TRACE_WINDOW_H

#include "convert/analyze/trace_levels.h"
#include "convert/analyze/trace_names.h"

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

/* What a window is answered from, beside the index. */
enum tbp_window_needs {
    TBP_WINDOW_NEEDS_NOTHING, /* it shows all there is up to its end */
    TBP_WINDOW_NEEDS_LEVELS,  /* it begins with the trace and is thinned out */
    TBP_WINDOW_NEEDS_LISTS,   /* it is a part; levels and their lists */
};
enum tbp_window_needs tbp_trace_window_needs(const struct tbp_trace_index *x,
                                             const struct tbp_trace_window *w);

/* Picks are allocated from a. levels and lists may be NULL where the window does not need them. */
int tbp_trace_pick_window(const struct tbp_trace_index *x, const struct tbp_trace_levels *levels,
                          const struct tbp_level_lists *lists, const struct tbp_trace_window *w,
                          struct tbp_pool *pool, struct tbp_arena *a, struct tbp_trace_picks *out,
                          struct tbp_error *err);
void tbp_trace_pick_prefix(const struct tbp_trace_levels *levels,
                           const struct tbp_trace_names *names, struct tbp_str prefix,
                           struct tbp_arena *a, struct tbp_trace_picks *out);
/* Nothing is picked if there is no such event. */
void tbp_trace_pick_event(const struct tbp_trace_index *x, struct tbp_str name, double start_ms,
                          double duration_ms, int64_t serial, struct tbp_arena *a,
                          struct tbp_trace_picks *out);

#endif
