/* SPDX-License-Identifier: Apache-2.0
 *
 * The step markers of one host: what says "this is step 7", on any thread. Of several markers of
 * one number the longest counts. Where the host has none, the line "Steps" of a device is taken.
 */
#ifndef TBP_CONVERT_REPORT_STEP_MARKS_H
#define TBP_CONVERT_REPORT_STEP_MARKS_H

#include "base/vec.h"
#include "convert/model/model.h"

struct tbp_step_mark {
    int64_t number;
    struct tbp_str name;
    uint64_t start_ps, end_ps;
    const struct tbp_line *line; /* where it stands */
};

struct tbp_step_marks {
    TBP_VEC(struct tbp_step_mark) list; /* by start */
    bool is_of_device;
    uint64_t n_again; /* markers left out whose number a marker of another time has */
};

void tbp_step_marks_collect(struct tbp_step_marks *m, const struct tbp_host *h);
void tbp_step_marks_release(struct tbp_step_marks *m);
/* Index of the step whose marker includes this moment; SIZE_MAX if there is none. Of markers that
 * overlap the later one. */
size_t tbp_step_mark_at(const struct tbp_step_marks *m, uint64_t time_ps);

#endif
