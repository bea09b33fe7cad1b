/* SPDX-License-Identifier: Apache-2.0
 *
 * The stages of trace_viewer@'s index as tables of a session; see trace_tables.h.
 */
#include "convert/analyze/trace_tables.h"

static int failed(const struct tbp_error *err) {
    return err ? err->code : TBP_E_INTERNAL;
}

static int make_index(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                      struct tbp_error *err) {
    struct tbp_trace *trace = TBP_NEW(out, struct tbp_trace);
    struct tbp_trace_index *x = TBP_NEW(out, struct tbp_trace_index);
    const bool keeps_all = tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR;
    int status = tbp_trace_build(s, host, TBP_TRACE_STREAM, out, trace, err);
    if (!status)
        status = tbp_trace_index_make(x, trace, keeps_all, out, tbp_session_pool(s), err);
    if (status)
        return status;
    tbp_session_count(s, host, TBP_LEDGER_VIEW_CAP, x->n_lost);
    *table = x;
    return TBP_OK;
}

static int make_levels(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                       struct tbp_error *err) {
    const struct tbp_trace_index *x = tbp_trace_index(s, host, err);
    if (!x)
        return failed(err);
    struct tbp_trace_levels *l = TBP_NEW(out, struct tbp_trace_levels);
    *table = l;
    return tbp_trace_levels_make(l, x, out, tbp_session_pool(s), err);
}

static int make_lists(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                      struct tbp_error *err) {
    const struct tbp_trace_levels *levels = tbp_trace_levels(s, host, err);
    if (!levels)
        return failed(err);
    struct tbp_level_lists *l = TBP_NEW(out, struct tbp_level_lists);
    *table = l;
    return tbp_level_lists_make(l, levels, out, tbp_session_pool(s), err);
}

static int make_names(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                      struct tbp_error *err) {
    const struct tbp_trace_index *x = tbp_trace_index(s, host, err);
    if (!x)
        return failed(err);
    struct tbp_trace_names *t = TBP_NEW(out, struct tbp_trace_names);
    *table = t;
    return tbp_trace_names_make(t, x, out, tbp_session_pool(s), err);
}

static int make_texts(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                      struct tbp_error *err) {
    const struct tbp_trace_index *x = tbp_trace_index(s, host, err);
    if (!x)
        return failed(err);
    struct tbp_host_texts *t = TBP_NEW(out, struct tbp_host_texts);
    tbp_host_texts_make(t, x->trace, out);
    *table = t;
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_trace_index = {
    .name = "trace_index",
    .help = "events of the timeline in tracks, in order",
    .counts_unrepaired = true,
    .host = make_index,
    .of_events = true,
};
const struct tbp_analysis tbp_analysis_trace_levels = {
    .name = "trace_levels",
    .help = "levels of detail of the timeline",
    .host = make_levels,
    .of_events = true,
};
const struct tbp_analysis tbp_analysis_level_lists = {
    .name = "level_lists",
    .help = "events of the timeline by level of detail",
    .host = make_lists,
    .of_events = true,
};
const struct tbp_analysis tbp_analysis_trace_names = {
    .name = "trace_names",
    .help = "names of the timeline in order, with their events",
    .host = make_names,
    .of_events = true,
};
const struct tbp_analysis tbp_analysis_trace_texts = {
    .name = "trace_texts",
    .help = "names and long texts of the timeline as they are written",
    .host = make_texts,
    .of_events = true,
};

const struct tbp_trace_index *tbp_trace_index(struct tbp_session *s, uint32_t host,
                                              struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_trace_index, host, err);
}

const struct tbp_trace_levels *tbp_trace_levels(struct tbp_session *s, uint32_t host,
                                                struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_trace_levels, host, err);
}

const struct tbp_level_lists *tbp_level_lists(struct tbp_session *s, uint32_t host,
                                              struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_level_lists, host, err);
}

const struct tbp_trace_names *tbp_trace_names(struct tbp_session *s, uint32_t host,
                                              struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_trace_names, host, err);
}

const struct tbp_host_texts *tbp_host_texts(struct tbp_session *s, uint32_t host,
                                            struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_trace_texts, host, err);
}
