/* SPDX-License-Identifier: Apache-2.0
 *
 * Is a range that a program marked one step of its training? Told by its whole name: "step 12",
 * "train_step", "iteration_3", "ProfilerStep#7", "sample_0" are; "step_3/forward", "optimizer_step"
 * and "my sample" are not, since ranges inside of steps carry such names.
 */
#ifndef TBP_CONVERT_READ_STEP_NAME_H
#define TBP_CONVERT_READ_STEP_NAME_H

#include "convert/model/model.h"

struct tbp_step_name {
    struct tbp_str stem; /* the name without its number */
    unsigned rank;       /* of the word: the smaller, the more likely the step of the program */
    bool has_number;
    int64_t number;
    bool is_unsigned; /* to be counted if it becomes a step's */
};

bool tbp_step_name_parse(struct tbp_step_name *out, struct tbp_str name);

/* A step's number in 64 bits. What is beyond 2^63-1 is unsigned: it is taken for the signed one of
 * the same bits and counted, as that of an xplane is (analyze/grouping.c). */
bool tbp_step_number(struct tbp_host *host, struct tbp_str digits, int64_t *number);
/* The parts, where a number is read before it is known to be that of a step. */
bool tbp_step_is_unsigned(struct tbp_str text, int64_t number);
void tbp_step_count_unsigned(struct tbp_host *host);
/* That of "ProfilerStep#N". */
bool tbp_step_of_profiler(struct tbp_host *host, struct tbp_str name, int64_t *number);

#endif
