/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts that the input page and the overview share: the step table, the sentences of the verdict,
 * the diagnostics. Source: spec pages/RULES.md 7 and 12, reference plugin_contract 4.2.
 */
#ifndef TBP_CONVERT_TOOL_STEP_PAGE_H
#define TBP_CONVERT_TOOL_STEP_PAGE_H

#include "convert/analyze/host_notes.h"
#include "convert/analyze/input_stats.h"
#include "convert/tool/tool.h"
#include "plugin_data/gviz_out.h"

struct tbp_page {
    struct tbp_session *session;
    uint32_t host;
    enum tbp_dialect dialect;
    struct tbp_arena *arena; /* of this answer */
    const struct tbp_host_notes *notes;
    struct tbp_input_stats in;
};

void tbp_page_steps(struct tbp_json *j, const struct tbp_page *p);

/* The sentence on the input as a property. */
void tbp_page_put_finding(struct tbp_gviz *g, const char *key, const struct tbp_input_verdict *v);

/* What to do next, given what bounds the program. */
const char *tbp_page_next_step(const struct tbp_input_stats *in, enum tbp_input_class bound);

enum tbp_page_share { TBP_PAGE_COLLECTIVES, TBP_PAGE_LAUNCH, TBP_PAGE_OTHERS };
/* Properties <name>_bottleneck and <name>_statement. with_class: the former is "no", "moderate" or
 * "high", else it repeats the sentence. */
void tbp_page_put_share(struct tbp_gviz *g, const struct tbp_page *p, enum tbp_page_share which,
                        bool with_class);

/* "No step marker …" or "… intersection is empty"; NULL where there are steps. */
const char *tbp_page_step_warning(const struct tbp_step_table *t);
/* What the repairs of this run did to the steps, or NULL. */
const char *tbp_page_step_repair(const struct tbp_host_notes *notes);
/* Rows of the diagnostics that steps call for: begins the table, the caller adds more and ends it.
 */
void tbp_page_begin_diagnostics(struct tbp_gviz *g, struct tbp_json *j);
void tbp_page_put_message(struct tbp_gviz *g, const char *severity, struct tbp_str message);

#endif
