/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracks of a Perfetto trace: what a number (uuid) stands for, and the line of the model that
 * its events are on. Descriptors may come behind the events; names are settled at the end.
 */
#ifndef TBP_CONVERT_READ_PERFETTO_TRACKS_H
#define TBP_CONVERT_READ_PERFETTO_TRACKS_H

#include "convert/read/trace_build.h"
#include "schemas/wire.h"

struct tbp_perfetto_track {
    uint64_t uuid, parent;
    uint32_t name, process_name, unit; /* texts */
    int64_t pid, tid;
    bool has_process, has_thread, is_counter, is_incremental;
    int64_t unit_multiplier;
    double sum;    /* of an incremental counter */
    uint32_t line; /* track of the trace, TBP_NO_TRACK before its first event */
};

struct tbp_perfetto_tracks {
    struct tbp_trace *t;
    TBP_VEC(struct tbp_perfetto_track) list;
    struct tbp_idmap by_uuid;
};

void tbp_perfetto_tracks_release(struct tbp_perfetto_tracks *p);
/* Valid until the next call. NULL: there are too many. */
struct tbp_perfetto_track *tbp_perfetto_track(struct tbp_perfetto_tracks *p, uint64_t uuid);
void tbp_perfetto_describe(struct tbp_perfetto_tracks *p, struct tbp_wire w);
/* Where its events go: begin and end pair within it. */
uint32_t tbp_perfetto_line(struct tbp_perfetto_tracks *p, struct tbp_perfetto_track *track);
/* Names of lines, with those of their processes. */
void tbp_perfetto_name_lines(struct tbp_perfetto_tracks *p);

#endif
