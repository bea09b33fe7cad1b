/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a host with TPU planes. Source: spec pages/RULES.md 10.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_STEPS_H
#define TBP_CONVERT_ANALYZE_TPU_STEPS_H

#include "convert/analyze/step_table.h"

bool tbp_host_has_tpu(const struct tbp_host *h);
/* Fills steps and places of t. */
void tbp_tpu_steps_make(const struct tbp_host *h, struct tbp_arena *out, struct tbp_step_table *t);

#endif
