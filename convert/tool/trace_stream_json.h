/* SPDX-License-Identifier: Apache-2.0
 *
 * Text of trace_viewer@: events, counters and stack frames of one host as the page reads them.
 * Source: rule 8 of the trace views.
 */
#ifndef TBP_CONVERT_TOOL_TRACE_STREAM_JSON_H
#define TBP_CONVERT_TOOL_TRACE_STREAM_JSON_H

#include "convert/analyze/trace_tables.h"
#include "convert/analyze/trace_window.h"
#include "convert/tool/trace_json.h"

/* Long texts that events point to by number (key "sf"). */
struct tbp_stack_frames {
    struct tbp_strtab texts; /* number+1 is the key */
    struct tbp_arena arena;
};

struct tbp_stream_host {
    const struct tbp_trace_index *index;
    const struct tbp_host_texts *texts;
    struct tbp_trace_picks picks;
    uint32_t pid_shift;
    struct tbp_arena arena; /* of picks */
};

struct tbp_stream_scratch {
    struct tbp_trace_args args;
    TBP_VEC(struct tbp_trace_arg) all; /* with those of the metadata */
};
void tbp_stream_scratch_release(struct tbp_stream_scratch *s);

/* One event of a track, with a comma before it; frames NULL: no arguments but its serial. */
void tbp_stream_event(struct tbp_json *j, const struct tbp_stream_host *h,
                      const struct tbp_track *t, size_t at, const struct tbp_stack_frames *frames,
                      struct tbp_stream_scratch *s);
/* All chosen samples of a thread-less track as one object, if it has any; returns their count. */
size_t tbp_stream_counters(struct tbp_json *j, const struct tbp_stream_host *h,
                           const struct tbp_track *t, const struct tbp_track_picks *picks,
                           struct tbp_stream_scratch *s);

#endif
