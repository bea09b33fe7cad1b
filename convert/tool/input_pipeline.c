/* SPDX-License-Identifier: Apache-2.0
 *
 * Page "Input Pipeline Analyzer": steps, input ops of the host with the split of their time,
 * advice, diagnostics. Source: spec pages/RULES.md 7, reference plugin_contract 4.2.
 */
#include "convert/tool/page_texts.h"
#include "convert/tool/step_page.h"
#include "convert/tool/tpu_page.h"

#define PS_PER_MS 1e9

static void put_ops(struct tbp_json *j, const struct tbp_input_stats *in) {
    static const char *const categories[] = {
        [TBP_INPUT_NONE] = "",
        [TBP_INPUT_ENQUEUE] = "Enqueue",
        [TBP_INPUT_DEMANDED_READ] = "Demanded file read",
        [TBP_INPUT_ADVANCED_READ] = "Advanced file read",
        [TBP_INPUT_PREPROCESSING] = "Preprocessing",
        [TBP_INPUT_UNKNOWN] = "Unknown",
    };
    struct tbp_gviz g;
    double whole = (double)in->ops_self_ps;
    tbp_gviz_begin(&g, j, tbp_columns_input_ops.at, tbp_columns_input_ops.n);
    tbp_gviz_prop_printf(&g, "advanced_file_read_us", "%.3f", in->advanced_read_us);
    tbp_gviz_prop_printf(&g, "demanded_file_read_us", "%.3f", in->demanded_read_us);
    tbp_gviz_prop_printf(&g, "enqueue_us", "%.3f", in->enqueue_us);
    tbp_gviz_prop_printf(&g, "preprocessing_us", "%.3f", in->preprocessing_us);
    tbp_gviz_prop_printf(&g, "unclassified_nonequeue_us", "%.3f", in->unclassified_us);
    for (size_t i = 0; i < in->n_ops; i++) {
        const struct tbp_op *op = in->ops[i].op;
        tbp_gviz_row(&g);
        tbp_gviz_str(&g, op->name);
        tbp_gviz_num(&g, (double)op->occurrences);
        tbp_gviz_num(&g, (double)op->time_ps / PS_PER_MS);
        tbp_gviz_num(&g, 100.0 * tbp_ratio((double)op->time_ps, whole) / 100.0);
        tbp_gviz_num(&g, (double)op->self_ps / PS_PER_MS);
        tbp_gviz_num(&g, 100.0 * tbp_ratio((double)op->self_ps, whole) / 100.0);
        tbp_gviz_str(&g, tbp_str_c(categories[in->ops[i].category]));
    }
    tbp_gviz_end(&g);
}

static void put_advice(struct tbp_json *j) {
    static const char *const advice[] = {TBP_TEXTS_INPUT_ADVICE};
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, tbp_columns_input_advice.at, tbp_columns_input_advice.n);
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        tbp_gviz_row(&g);
        tbp_gviz_str(&g, tbp_str_c(advice[i]));
    }
    tbp_gviz_end(&g);
}

/* Other warnings of a recording stand on the overview only, as in the official pages. */
static void put_warnings_of_files(struct tbp_gviz *g, const struct tbp_page *p) {
    if (tbp_session_semantics(p->session) != TBP_SEMANTICS_REPAIR)
        return;
    for (size_t i = 0; i < p->notes->n_warnings; i++)
        if (tbp_note_is_of_files(p->notes->warnings[i]))
            tbp_page_put_message(g, "WARNING", p->notes->warnings[i]);
}

static void put_diagnostics(struct tbp_json *j, const struct tbp_page *p) {
    struct tbp_gviz g;
    const char *warning = tbp_page_step_warning(p->in.steps),
               *repair = tbp_page_step_repair(p->notes);
    tbp_page_begin_diagnostics(&g, j);
    if (repair)
        tbp_page_put_message(&g, "INFO", tbp_str_c(repair));
    put_warnings_of_files(&g, p);
    if (warning)
        tbp_page_put_message(&g, "WARNING", tbp_str_c(warning));
    tbp_gviz_end(&g);
}

static void put_page(struct tbp_json *j, const struct tbp_page *p) {
    tbp_json_char(j, '[');
    if (p->dialect == TBP_DIALECT_NEWEST) { /* only TPU fills it */
        if (tbp_page_is_tpu(p))
            tbp_tpu_page_cores(j, p);
        else
            tbp_json_lit(j, "{\"cols\":[],\"rows\":[]}");
        tbp_json_char(j, ',');
    }
    tbp_page_steps(j, p);
    tbp_json_char(j, ',');
    put_ops(j, &p->in);
    tbp_json_char(j, ',');
    put_advice(j);
    tbp_json_char(j, ',');
    put_diagnostics(j, p);
    tbp_json_char(j, ']');
}

static int write_input_pipeline(struct tbp_session *s, const struct tbp_request *r,
                                struct tbp_sink *out, struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_page p = {.session = s, .host = r->host, .dialect = r->dialect, .arena = &arena};
    int rc = tbp_input_stats_make(s, r->host, &arena, &p.in, err);
    p.notes = rc == TBP_OK ? tbp_host_notes(s, r->host, err) : NULL;
    if (rc == TBP_OK && !p.notes)
        rc = err ? err->code : TBP_E_INTERNAL;
    if (rc == TBP_OK) {
        struct tbp_json *j = TBP_NEW(&arena, struct tbp_json);
        tbp_json_init(j, out);
        put_page(j, &p);
        rc = tbp_json_finish(j, err);
    }
    tbp_arena_release(&arena);
    return rc;
}

static const struct tbp_analysis *const needs[] = {
    &tbp_analysis_run_environment,
    &tbp_analysis_trimmed_steps,
    &tbp_analysis_host_ops,
    &tbp_analysis_host_notes,
    NULL,
};

const struct tbp_tool tbp_tool_input_pipeline = {
    .name = "input_pipeline_analyzer",
    .help = "how long each step waits for input, and where the host spends that time",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .file = "input_pipeline.json",
    .needs = needs,
    .write = write_input_pipeline,
};
