/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a range that a program marked one step of its training? Told by its whole name: "step 12",
 * "train_step", "iteration_3", "ProfilerStep#7", "sample_0" are; "step_3/forward", "optimizer_step"
 * and "my sample" are not, since ranges inside of steps carry such names.
 */
#ifndef TBP_CONVERT_READ_STEP_NAME_H
#define TBP_CONVERT_READ_STEP_NAME_H

#include "base/str.h"

struct tbp_step_name {
    struct tbp_str stem; /* the name without its number */
    unsigned rank;       /* of the word: the smaller, the more likely the step of the program */
    bool has_number;
    int64_t number;
};

bool tbp_step_name_parse(struct tbp_step_name *out, struct tbp_str name);

#endif
