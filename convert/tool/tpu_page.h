/* SPDX-License-Identifier: Apache-2.0
 *
 * What TPU runs show instead of, or beside, what the pages show of all others: the step table by
 * core, the table of the cores that waited longest, and the utilisation shown on the overview.
 * Source: spec pages/RULES.md 10, spec/pages/tpu.py.
 */
#ifndef TBP_CONVERT_TOOL_TPU_PAGE_H
#define TBP_CONVERT_TOOL_TPU_PAGE_H

#include "convert/tool/step_page.h"

static inline bool tbp_page_is_tpu(const struct tbp_page *p) {
    return p->in.env->hardware == TBP_HARDWARE_TPU;
}

/* The step table. */
void tbp_tpu_page_steps(struct tbp_json *j, const struct tbp_page *p);
/* Per step the core that waited longest for input. */
void tbp_tpu_page_cores(struct tbp_json *j, const struct tbp_page *p);

/* Shares in percent; all 0 where the run is not on TPU. */
struct tbp_tpu_use {
    double duty_percent, sure_duty_percent, idle_percent, host_idle_percent;
    uint64_t sure_idle_ps;
    /* averages of the steps: all cores, tensor cores, sparse cores */
    double active_ms, tensor_active_ms, sparse_active_ms, sparse_idle_ms, sparse_step_ms;
};
int tbp_tpu_use_of(struct tbp_tpu_use *use, const struct tbp_page *p, struct tbp_error *err);

#endif
