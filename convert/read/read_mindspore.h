/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the reader of MindSpore's profiler folders share: the timelines
 * (mindspore_timeline.c) and the tables (mindspore_tables.c), put together by read_mindspore.c.
 *
 * Clocks: step traces, AI CPU ops and timelines of Ascend count from the start of the machine, GPU
 * and CPU timelines from 1970 or the start of the machine. Timelines of Ascend begin at 0; what
 * that was on the machine's clock is `zero_ns` (the first AI CPU op or stream op).
 */
#ifndef TBP_CONVERT_READ_READ_MINDSPORE_H
#define TBP_CONVERT_READ_READ_MINDSPORE_H

#include "convert/read/csv_rows.h"
#include "convert/read/folder.h"
#include "convert/read/process_names.h"

enum tbp_mindspore_target { TBP_MINDSPORE_ASCEND, TBP_MINDSPORE_GPU, TBP_MINDSPORE_CPU };

struct tbp_mindspore_step {
    int64_t number, start_ns;
};

struct tbp_mindspore {
    struct tbp_json_trace jt;
    uint32_t device; /* of the file being read */
    enum tbp_mindspore_target target;
    int64_t zero_ns;
    bool has_zero;
    bool marks_steps; /* the timeline's own row of steps: there is no step trace */
    TBP_VEC(struct tbp_mindspore_step) steps;
};

/* A line of the device's plane that is no stream. */
uint32_t tbp_mindspore_line(struct tbp_mindspore *m, const char *name);
/* The timeline of a device: a list of events. */
void tbp_mindspore_timeline(struct tbp_mindspore *m, struct tbp_str json);
/* What the timeline's names and rows came to; before tbp_trace_finish. */
extern const struct tbp_json_dialect tbp_mindspore_dialect;

void tbp_mindspore_step_trace(struct tbp_mindspore *m, struct tbp_str csv, bool is_mark);
/* Times of AI CPU ops and of ops on streams: only the first matters. */
void tbp_mindspore_find_zero(struct tbp_mindspore *m, struct tbp_folder_file f);
void tbp_mindspore_pipeline(struct tbp_mindspore *m, struct tbp_str csv);
void tbp_mindspore_queue(struct tbp_mindspore *m, struct tbp_str text);
void tbp_mindspore_get_next(struct tbp_mindspore *m, struct tbp_str rows);

#endif
