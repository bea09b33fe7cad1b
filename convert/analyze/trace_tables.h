/* SPDX-License-Identifier: Apache-2.0
 *
 * What trace_viewer@ keeps of a host between requests, in stages: index, texts and levels are what
 * a view of the whole needs, lists of levels are made for the first view of a part, names for the
 * first search. All of it lives as long as the host's events do (session.h).
 *
 * Memory per event: index 4 to 28 bytes (trace_index.h), levels 1, their lists 4, names 4.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_TABLES_H
#define TBP_CONVERT_ANALYZE_TRACE_TABLES_H

#include "convert/analyze/session.h"
#include "convert/analyze/trace_levels.h"
#include "convert/analyze/trace_names.h"
#include "convert/analyze/trace_texts.h"

extern const struct tbp_analysis tbp_analysis_trace_index, tbp_analysis_trace_levels,
    tbp_analysis_level_lists, tbp_analysis_trace_names, tbp_analysis_trace_texts;

/* NULL on failure (err filled). */
const struct tbp_trace_index *tbp_trace_index(struct tbp_session *s, uint32_t host,
                                              struct tbp_error *err);
const struct tbp_trace_levels *tbp_trace_levels(struct tbp_session *s, uint32_t host,
                                                struct tbp_error *err);
const struct tbp_level_lists *tbp_level_lists(struct tbp_session *s, uint32_t host,
                                              struct tbp_error *err);
const struct tbp_trace_names *tbp_trace_names(struct tbp_session *s, uint32_t host,
                                              struct tbp_error *err);
const struct tbp_host_texts *tbp_host_texts(struct tbp_session *s, uint32_t host,
                                            struct tbp_error *err);

#endif
