/* SPDX-License-Identifier: Apache-2.0
 *
 * Preprocessing of one host: which events belong to one step. Fills the annotations of the model
 * (group, is_eager, step_name, threadpool regions, the derived line "Steps" of GPU planes) and
 * host->groups. Runs once per host, before any analysis (session.h). Source:
 * ../shared/spec/pages/RULES.md 2, trace/RULES.md 2.
 */
#ifndef TBP_CONVERT_ANALYZE_GROUPING_H
#define TBP_CONVERT_ANALYZE_GROUPING_H

#include "convert/analyze/session.h"

struct tbp_grouping_options {
    /* Repair R1: an event with step_num and no _r is a root of level 1. Only where the official
     * rule finds no step. */
    bool roots_from_step_num;
    /* Repair: step_num stored unsigned is read as well. */
    bool unsigned_step_num;
};

/* Groups the host. A host that came grouped (host->was_grouped) is left as it is. */
void tbp_group_host(struct tbp_host *h, const struct tbp_grouping_options *options);

#endif
