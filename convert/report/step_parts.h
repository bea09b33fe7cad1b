/* SPDX-License-Identifier: Apache-2.0
 *
 * What part of a training step an event belongs to, by its name: the names that PyTorch,
 * TensorFlow, MXNet, MindSpore and CNTK give to loading, backward pass, update, communication and
 * launches. Pure; asked once per name.
 */
#ifndef TBP_CONVERT_REPORT_STEP_PARTS_H
#define TBP_CONVERT_REPORT_STEP_PARTS_H

#include "base/str.h"

enum tbp_part_bit {
    TBP_IS_INPUT = 1,    /* waits for data */
    TBP_IS_BACKWARD = 2, /* computes gradients */
    TBP_IS_UPDATE = 4,   /* applies them */
    TBP_IS_COLLECTIVE = 8,
    TBP_IS_LAUNCH = 16,   /* hands work to a device */
    TBP_IS_FP_POINT = 32, /* the names that the user gave */
    TBP_IS_BP_POINT = 64,
};

/* Bits of enum tbp_part_bit, without the user's points. */
unsigned tbp_step_parts_of(struct tbp_str name);

#endif
