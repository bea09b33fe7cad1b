/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of several hosts: which of them belong together, and the table of the common ones.
 * Source: spec pages/RULES.md 4.1-4.2. Hosts are merged on tables, never on events.
 */
#ifndef TBP_CONVERT_ANALYZE_STEP_MERGE_H
#define TBP_CONVERT_ANALYZE_STEP_MERGE_H

#include "convert/analyze/step_table.h"

typedef const struct tbp_step_table *tbp_step_table_fn(struct tbp_session *s, uint32_t host,
                                                       struct tbp_error *err);

/* Merges the tables that `of` gives for each host of the session (one host: its table as it is). */
int tbp_steps_merge(struct tbp_session *s, tbp_step_table_fn *of, struct tbp_arena *out,
                    void **table, struct tbp_error *err);

/* ---- rules, for tests ---- */
struct tbp_step_window {
    size_t first_sub, first_chief, count;
};
struct tbp_step_hull {
    uint64_t begin_ps, end_ps; /* equal: empty */
};
/* Where the steps of a subordinate host lie beside those of the chief: the offset with the largest
 * common time. */
struct tbp_step_window tbp_steps_align(const struct tbp_step_hull *sub, size_t n_sub,
                                       const struct tbp_step_hull *chief, size_t n_chief);

#endif
