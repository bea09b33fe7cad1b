/* SPDX-License-Identifier: Apache-2.0
 *
 * What the events of one host tell about its steps: per group the longest marker of a device and of
 * the host, the step's name, and typed spans. Input of step_table.c; not a memoised table, since it
 * is as long as the events.
 *
 *     tbp_step_events_collect(&e, host, semantics);  …  tbp_step_events_release(&e);
 *
 * Source: spec pages/RULES.md 3.1-3.3; tf semantics: 12 (1), (2).
 * Ownership: heap, the caller's until release; names borrow from the host. Thread-safety: one
 * thread at a time.
 */
#ifndef TBP_CONVERT_ANALYZE_STEP_EVENTS_H
#define TBP_CONVERT_ANALYZE_STEP_EVENTS_H

#include "base/vec.h"
#include "convert/analyze/session.h"
#include "convert/analyze/sweep.h"

struct tbp_marker {
    uint64_t begin_ps, end_ps; /* both 0: none longer than nothing */
};

struct tbp_step_group {
    int64_t id; /* >= 0 */
    struct tbp_str name;
    struct tbp_marker device, host; /* the longest; of equal ones the first */
    struct tbp_marker plane;        /* of the device plane being read … */
    uint32_t plane_markers;         /* … if this is the number of its marker line, */
    uint32_t plane_spans; /* … which has spans of this group if this is the plane's number */
    uint32_t name_line;   /* number of the line that gave the name */
};

struct tbp_step_events {
    TBP_VEC(struct tbp_span) spans;
    TBP_VEC(struct tbp_step_group) groups; /* in order of first appearance */
    struct tbp_idmap by_id;
    uint32_t n_marker_lines, n_planes, n_lines; /* read so far, for the numbers above */
};

/* Steps of the GPU planes; of /host:CPU where there is none (tf: both). */
void tbp_step_events_collect(struct tbp_step_events *e, const struct tbp_host *h,
                             enum tbp_semantics semantics);
/* Adds the host plane alone. with_device: its events only explain what a device waited for: groups
 * not known already are left out, launches count as HOST_PREPARE. */
void tbp_step_events_add_host_plane(struct tbp_step_events *e, const struct tbp_plane *plane,
                                    bool with_device);
void tbp_step_events_release(struct tbp_step_events *e);

/* ---- rules, for tests ---- */
/* Type of a kernel or copy by its name and the text of its stat `shape`. */
enum tbp_step_part tbp_gpu_event_part(struct tbp_str name, struct tbp_str shape);

#endif
