/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of one host, each with the time of its parts. Host parts are unions of time within the
 * marker, on any thread; device parts are unions of what was launched within it (work without a
 * known launch: what began within it). Overlap never counts twice.
 */
#ifndef TBP_CONVERT_REPORT_STEP_TRACE_H
#define TBP_CONVERT_REPORT_STEP_TRACE_H

#include "convert/report/intervals.h"
#include "convert/report/step_marks.h"

enum { TBP_UNKNOWN_PS = -1 };

/* Times in picoseconds, TBP_UNKNOWN_PS where the profile does not tell. */
struct tbp_step_times {
    int64_t number;
    struct tbp_str name, host;
    uint64_t start_ps;
    int64_t marker_ps;                 /* from begin to end of the marker */
    int64_t period_ps, gap_ps;         /* to the next marker's begin; without the marker */
    int64_t input_ps;                  /* waiting for data */
    int64_t forward_ps, backward_ps;   /* first op … backward pass …; fp point … bp point */
    int64_t tail_ps;                   /* from the end of the backward pass to the marker's end */
    int64_t update_ps;                 /* optimizer */
    int64_t launch_ps;                 /* calls that hand work to a device */
    int64_t device_ps;                 /* from the first work's begin to the last one's end */
    int64_t busy_ps;                   /* any work */
    int64_t all_reduce_ps, exposed_ps; /* collectives; those beside which nothing is computed */
    uint64_t n_works;
};

struct tbp_step_outside { /* what no step includes */
    uint64_t input_ps, n_works, work_ps;
};

struct tbp_step_trace {
    TBP_VEC(struct tbp_step_times) list;
    struct tbp_step_outside outside;
    bool has_device; /* any work of a device in the profile */
    bool is_of_device;
    bool has_fp_point, has_bp_point; /* an op of that name was there */
};

/* Adds the steps of a host; fp_point, bp_point: names of ops, or NULL. Texts borrow from the host.
 */
void tbp_step_trace_add(struct tbp_step_trace *t, const struct tbp_host *h, struct tbp_str host,
                        const char *fp_point, const char *bp_point);
void tbp_step_trace_release(struct tbp_step_trace *t);

#endif
