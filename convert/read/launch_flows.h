/* SPDX-License-Identifier: Apache-2.0
 *
 * Which call started which work of a device, where a file tells it by flows (arrows) instead of by
 * correlation ids. A reader says what a flow touches, either the rows themselves or places: a line
 * and a whole microsecond. Work of a device belongs to the last call of its flow that began no
 * later, else to the first one; both then get one correlation id. A call or work that tells such an
 * id keeps it.
 *
 * A place in a call is one at which it still runs: of several the one that began last. rpd2tracing
 * begins an arrow two microseconds before its call ends, so before a shorter call: where nothing
 * runs, the place is in the call that begins within two microseconds. A place at work of a device
 * is where it begins; of several that begin at once each takes one arrow, in order of their names.
 * Flows that lead from or to nothing are counted. Ownership: release after apply. One thread.
 */
#ifndef TBP_CONVERT_READ_LAUNCH_FLOWS_H
#define TBP_CONVERT_READ_LAUNCH_FLOWS_H

#include "convert/read/trace_build.h"

struct tbp_flow_id {
    uint64_t id;
    uint32_t group; /* ids count within it */
};

struct tbp_flow_place {
    struct tbp_flow_id flow;
    uint32_t track;
    int64_t us;
};

struct tbp_flow_tie {
    struct tbp_flow_id flow;
    uint32_t row;
    bool is_device;
};

struct tbp_flow_pair {
    uint32_t call, work; /* rows */
};

struct tbp_launch_flows {
    TBP_VEC(struct tbp_flow_place) places[2]; /* in calls, at work of devices */
    TBP_VEC(struct tbp_flow_tie) ties;
    TBP_VEC(struct tbp_flow_pair) pairs;
    uint64_t n_lost;
};

/* The flow touches this row; whether it is work of a device, the row tells. */
void tbp_launch_flows_row(struct tbp_launch_flows *f, const struct tbp_trace *t,
                          struct tbp_flow_id flow, size_t row);
/* The flow begins (in a call) or ends (at work of a device) at this place. */
void tbp_launch_flows_place(struct tbp_launch_flows *f, bool is_device, struct tbp_flow_id flow,
                            uint32_t track, int64_t ns);
/* Before tbp_trace_finish. */
void tbp_launch_flows_apply(struct tbp_launch_flows *f, struct tbp_trace *t);
void tbp_launch_flows_release(struct tbp_launch_flows *f);

#endif
