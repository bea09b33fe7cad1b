/* SPDX-License-Identifier: Apache-2.0
 *
 * Device ops of TPU planes. Source: spec tables/RULES.md 8.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_OPS_H
#define TBP_CONVERT_ANALYZE_TPU_OPS_H

#include "convert/analyze/op_table.h"

/* Adds the ops and the duty cycle of every TPU plane of the host to the table being made. */
int tbp_tpu_ops_add(const struct tbp_host *host, struct tbp_arena *arena,
                    struct tbp_op_builder *into, struct tbp_error *err);

#endif
