/* SPDX-License-Identifier: Apache-2.0
 *
 * Work of the devices of one host, seen from the host: which call launched it, and when. The call
 * and its work carry one correlation id; a graph launch has many works.
 */
#ifndef TBP_CONVERT_REPORT_DEVICE_WORK_H
#define TBP_CONVERT_REPORT_DEVICE_WORK_H

#include "base/vec.h"
#include "convert/model/stats.h"

struct tbp_launch {
    uint64_t start_ps; /* of the call; the first one's if there are several */
    int64_t work_ps;   /* sum of its durations */
    uint32_t n_works;
    bool has_call;  /* a host event carries the id */
    bool is_launch; /* the call says that it launches kernels */
    bool is_graph;  /* … a graph of them */
};

struct tbp_launches {
    struct tbp_idmap by_id; /* correlation id -> index in list */
    TBP_VEC(struct tbp_launch) list;
};

void tbp_launches_release(struct tbp_launches *l);
/* Work of all device lines. */
void tbp_launches_add_work(struct tbp_launches *l, const struct tbp_host *h);
/* Calls of all host lines. */
void tbp_launches_add_calls(struct tbp_launches *l, const struct tbp_host *h);
/* The launch with the id that an event carries, or NULL. */
struct tbp_launch *tbp_launch_of(const struct tbp_launches *l, const struct tbp_line *line,
                                 size_t event);

/* When the work was asked for: the begin of its launch; its own where nobody knows that. */
uint64_t tbp_work_asked_at(const struct tbp_launches *l, const struct tbp_line *line, size_t event);

/* Whether the line holds work: no counters, nothing derived or drawn from it; of a TPU its ops. */
bool tbp_is_work_line(const struct tbp_line *l);
/* Number of its events that are work: all or none. */
static inline size_t tbp_work_events(const struct tbp_line *l) {
    return tbp_is_work_line(l) ? l->ev.n : 0;
}

/* The line that a stream is known by: what overlaps on it stands on lines of its own, named as the
 * stream with " (2)" and so on, right behind it. Mostly the line itself. */
const struct tbp_line *tbp_stream_line(const struct tbp_line *l);

#endif
