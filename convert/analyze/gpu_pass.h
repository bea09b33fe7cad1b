/* SPDX-License-Identifier: Apache-2.0
 *
 * The one pass over the events of a host's device planes: device ops and kernels come out together.
 * Internal to op_table.h and kernel_table.h; other analyses ask for those tables.
 */
#ifndef TBP_CONVERT_ANALYZE_GPU_PASS_H
#define TBP_CONVERT_ANALYZE_GPU_PASS_H

#include "convert/analyze/kernel_table.h"
#include "convert/analyze/op_table.h"

struct tbp_gpu_pass {
    const struct tbp_op_table *ops;
    const struct tbp_kernel_table *kernels;
};
extern const struct tbp_analysis tbp_analysis_gpu_pass;
const struct tbp_gpu_pass *tbp_gpu_pass(struct tbp_session *s, uint32_t host,
                                        struct tbp_error *err);

#endif
