/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_view.json in the folders of the profilers for Ascend devices: host ops, calls of CANN, rows
 * that the analysis drew, counters; and arrows from ops to kernels, by which the kernels of the
 * tables get their ops. Kernels are known by the nanosecond in which they start: the tables and the
 * arrows agree in it. Read twice: arrows and names of processes, then events.
 */
#ifndef TBP_CONVERT_READ_ASCEND_TIMELINE_H
#define TBP_CONVERT_READ_ASCEND_TIMELINE_H

#include "convert/read/process_names.h"

struct tbp_ascend_start { /* of an op with an arrow */
    int64_t ns, pid, tid;
    uint32_t index;
};

struct tbp_ascend_timeline {
    struct tbp_json_trace jt;
    struct tbp_process_names processes, threads;
    struct tbp_idmap op_of_start; /* thread and start of an op -> index, from 1 */
    TBP_VEC(struct tbp_ascend_start) starts;
    TBP_VEC(uint32_t) numbers;       /* of ops by index, from 1 in order of time; 0 has 0 */
    struct tbp_idmap flow_of_id;     /* arrow -> index */
    TBP_VEC(uint32_t) op_of_flow;    /* index; 0: none */
    struct tbp_idmap flow_of_kernel; /* start_ns -> index */
    struct tbp_idmap steps;          /* numbers of those that the timeline marks */
    bool has_kernels;                /* the tables have them */
};

void tbp_ascend_timeline_begin(struct tbp_ascend_timeline *a, struct tbp_host *host);
void tbp_ascend_timeline_end(struct tbp_ascend_timeline *a);
void tbp_ascend_timeline_links(struct tbp_ascend_timeline *a, struct tbp_str json);
void tbp_ascend_timeline_events(struct tbp_ascend_timeline *a, struct tbp_str json);
/* Number of the op that an arrow leads from to the kernel that starts then, or 0. */
uint32_t tbp_ascend_op_of_kernel(const struct tbp_ascend_timeline *a, int64_t start_ns);

#endif
