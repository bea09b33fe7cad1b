/* SPDX-License-Identifier: Apache-2.0
 *
 * The step table and the sentences around it; see step_page.h.
 */
#include "convert/tool/step_page.h"

#include "convert/tool/page_texts.h"
#include "convert/tool/tpu_page.h"

/* ---- sentences ---- */

void tbp_page_put_finding(struct tbp_gviz *g, const char *key, const struct tbp_input_verdict *v) {
    switch (v->finding) {
    case TBP_FINDING_NO_STEP_TIME:
        tbp_gviz_prop_c(g, key, TBP_TEXT_NO_STEP_TIME);
        break;
    case TBP_FINDING_HIGHLY:
        tbp_gviz_prop_printf(g, key, TBP_TEXT_INPUT_HIGHLY, v->percent);
        break;
    case TBP_FINDING_MODERATELY:
        tbp_gviz_prop_printf(g, key, TBP_TEXT_INPUT_MODERATELY, v->percent);
        break;
    case TBP_FINDING_POTENTIALLY:
        tbp_gviz_prop_printf(g, key, TBP_TEXT_INPUT_POTENTIALLY, v->percent);
        break;
    case TBP_FINDING_NOT:
        tbp_gviz_prop_printf(g, key, TBP_TEXT_INPUT_NOT, v->percent);
        break;
    }
}

static void put_share_sentence(struct tbp_gviz *g, const char *key, enum tbp_page_share which,
                               const struct tbp_share *s, bool uses_tf_data) {
    if (s->level == TBP_SHARE_NO)
        tbp_gviz_prop_c(g, key, "");
    else if (which == TBP_PAGE_COLLECTIVES)
        tbp_gviz_prop_printf(g, key, TBP_TEXT_COLLECTIVES, s->percent);
    else if (which == TBP_PAGE_OTHERS)
        tbp_gviz_prop_printf(g, key, TBP_TEXT_OTHERS, s->percent);
    else if (uses_tf_data)
        tbp_gviz_prop_printf(g, key, TBP_TEXT_LAUNCH_TF_DATA, s->percent);
    else
        tbp_gviz_prop_printf(g, key, TBP_TEXT_LAUNCH, s->percent);
}

void tbp_page_put_share(struct tbp_gviz *g, const struct tbp_page *p, enum tbp_page_share which,
                        bool with_class) {
    static const char *const keys[][2] = {
        [TBP_PAGE_COLLECTIVES] = {"device_collectives_bottleneck", "device_collectives_statement"},
        [TBP_PAGE_LAUNCH] = {"kernel_launch_bottleneck", "kernel_launch_statement"},
        [TBP_PAGE_OTHERS] = {"all_other_bottleneck", "all_other_statement"},
    };
    static const char *const classes[] = {
        [TBP_SHARE_NO] = "no", [TBP_SHARE_MODERATE] = "moderate", [TBP_SHARE_HIGH] = "high"};
    const struct tbp_input_verdict *v = &p->in.verdict;
    const struct tbp_share *s = which == TBP_PAGE_COLLECTIVES ? &v->collectives
                                : which == TBP_PAGE_LAUNCH    ? &v->launch
                                                              : &v->others;
    if (with_class)
        tbp_gviz_prop_c(g, keys[which][0], classes[s->level]);
    else
        put_share_sentence(g, keys[which][0], which, s, p->in.uses_tf_data);
    put_share_sentence(g, keys[which][1], which, s, p->in.uses_tf_data);
}

const char *tbp_page_next_step(const struct tbp_input_stats *in, enum tbp_input_class bound) {
    if (bound == TBP_BOUND_HOST || bound == TBP_BOUND_BOTH)
        return in->uses_tf_data ? TBP_TEXT_NEXT_SECTION : TBP_TEXT_NEXT_TF_DATA;
    return TBP_TEXT_NEXT_SKIP;
}

/* ---- table ---- */

static void put_average(struct tbp_gviz *g, const struct tbp_page *p, enum tbp_step_time which,
                        const char *avg_key, const char *sdv_key) {
    struct tbp_statistics s = tbp_step_time_statistics(&p->in, which, p->arena);
    tbp_gviz_prop_printf(g, avg_key, "%.1f", s.average);
    tbp_gviz_prop_printf(g, sdv_key, "%.1f", s.deviation);
}

static void put_properties(struct tbp_gviz *g, const struct tbp_page *p) {
    const struct tbp_statistics *step = &p->in.step_ms;
    bool legacy = p->dialect == TBP_DIALECT_LEGACY;
    tbp_page_put_share(g, p, TBP_PAGE_OTHERS, legacy);
    put_average(g, p, TBP_TIME_COMPILE, "compile_time_ms_avg", "compile_time_ms_sdv");
    tbp_page_put_share(g, p, TBP_PAGE_COLLECTIVES, legacy);
    put_average(g, p, TBP_TIME_COLLECTIVES, "device_collectives_time_ms_avg",
                "device_collectives_time_ms_sdv");
    put_average(g, p, TBP_TIME_COMPUTE, "device_compute_time_ms_avg", "device_compute_time_ms_sdv");
    put_average(g, p, TBP_TIME_DEVICE_TO_DEVICE, "device_to_device_time_ms_avg",
                "device_to_device_time_ms_sdv");
    tbp_gviz_prop_c(g, "hardware_type", tbp_hardware_text(p->in.env->hardware));
    put_average(g, p, TBP_TIME_HOST_COMPUTE, "host_compute_time_ms_avg",
                "host_compute_time_ms_sdv");
    put_average(g, p, TBP_TIME_INPUT, "infeed_time_ms_avg", "infeed_time_ms_sdv");
    tbp_page_put_finding(g, "input_conclusion", &p->in.verdict);
    tbp_page_put_share(g, p, TBP_PAGE_LAUNCH, legacy);
    put_average(g, p, TBP_TIME_LAUNCH, "kernel_launch_time_ms_avg", "kernel_launch_time_ms_sdv");
    put_average(g, p, TBP_TIME_OTHER, "other_time_ms_avg", "other_time_ms_sdv");
    put_average(g, p, TBP_TIME_OUTPUT, "outfeed_time_ms_avg", "outfeed_time_ms_sdv");
    /* The blank before the last id is in the original. */
    tbp_gviz_prop_c(
        g, "step_time_graph_column_ids",
        "stepnum,deviceComputeTimeMs,deviceToDeviceTimeMs,deviceCollectivesTimeMs,"
        "hostComputeTimeMs,"
        "kernelLaunchTimeMs,infeedTimeMs,outfeedTimeMs,compileTimeMs,otherTimeMs, tooltip");
    tbp_gviz_prop_printf(g, "steptime_ms_average", "%.1f", step->average);
    tbp_gviz_prop_printf(g, "steptime_ms_maximum", "%.1f", step->maximum);
    tbp_gviz_prop_printf(g, "steptime_ms_minimum", "%.1f", step->minimum);
    tbp_gviz_prop_printf(g, "steptime_ms_standard_deviation", "%.1f", step->deviation);
    if (legacy) /* what plugin 2.2 calls it */
        tbp_page_put_finding(g, "summary_conclusion", &p->in.verdict);
    tbp_gviz_prop_c(g, "summary_nextstep", tbp_page_next_step(&p->in, p->in.verdict.bound));
}

struct text {
    char *p;
    size_t n;
};

static void add(struct text *t, struct tbp_str s) {
    memcpy(t->p + t->n, s.p, s.n);
    t->n += s.n;
}

static void add_ms(struct text *t, const char *before, double ms) {
    add(t, tbp_str_c(before));
    t->n += tbp_number_fixed(t->p + t->n, ms, 2);
    add(t, TBP_STR(" ms"));
}

static struct tbp_str tooltip(const struct tbp_step_row *r, struct tbp_str name,
                              struct tbp_arena *a) {
    static const struct {
        const char *before;
        enum tbp_step_time which;
    } lines[] = {
        {"\n-All others: ", TBP_TIME_OTHER},
        {"\n-Compilation: ", TBP_TIME_COMPILE},
        {"\n-Output: ", TBP_TIME_OUTPUT},
        {"\n-Input: ", TBP_TIME_INPUT},
        {"\n-Kernel launch: ", TBP_TIME_LAUNCH},
        {"\n-Host compute: ", TBP_TIME_HOST_COMPUTE},
        {"\n-Device collectives: ", TBP_TIME_COLLECTIVES},
        {"\n-Device to device: ", TBP_TIME_DEVICE_TO_DEVICE},
        {"\n-Device compute: ", TBP_TIME_COMPUTE},
    };
    enum { LINE_MAX_BYTES = 32 + TBP_NUMBER_MAX, LINES = sizeof lines / sizeof *lines };
    struct text t = {TBP_NEW_N(a, char, name.n + (LINES + 1) * LINE_MAX_BYTES), 0};
    add(&t, TBP_STR("Step "));
    add(&t, name);
    add_ms(&t, ", duration: ", r->step_ms);
    for (size_t i = 0; i < LINES; i++)
        add_ms(&t, lines[i].before, r->ms[lines[i].which]);
    return (struct tbp_str){t.p, t.n};
}

void tbp_page_steps(struct tbp_json *j, const struct tbp_page *p) {
    struct tbp_gviz g;
    if (tbp_page_is_tpu(p)) {
        tbp_tpu_page_steps(j, p);
        return;
    }
    tbp_gviz_begin(&g, j, tbp_columns_steps.at, tbp_columns_steps.n);
    put_properties(&g, p);
    for (size_t i = 0; i < p->in.n_rows; i++) {
        const struct tbp_step_row *r = &p->in.rows[i];
        char digits[TBP_NUMBER_MAX];
        struct tbp_str name =
            r->name.n ? r->name : (struct tbp_str){digits, tbp_number_u64(digits, r->number)};
        tbp_gviz_row(&g);
        tbp_gviz_str(&g, name);
        for (int k = 0; k < TBP_STEP_TIMES; k++)
            tbp_gviz_num(&g, r->ms[k]);
        tbp_gviz_str(&g, tooltip(r, name, p->arena));
        tbp_gviz_num(&g, r->step_ms);
    }
    tbp_gviz_end(&g);
}

/* ---- diagnostics ---- */

const char *tbp_page_step_warning(const struct tbp_step_table *t) {
    if (t->n_steps)
        return NULL;
    return t->is_intersection_empty ? TBP_TEXT_EMPTY_INTERSECTION : TBP_TEXT_NO_STEP;
}

const char *tbp_page_step_repair(const struct tbp_host_notes *notes) {
    if (notes->repaired_steps)
        return TBP_TEXT_REPAIRED_STEPS;
    return notes->repaired_loops ? TBP_TEXT_REPAIRED_LOOPS : NULL;
}

void tbp_page_begin_diagnostics(struct tbp_gviz *g, struct tbp_json *j) {
    tbp_gviz_begin(g, j, tbp_columns_diagnostics.at, tbp_columns_diagnostics.n);
}

void tbp_page_put_message(struct tbp_gviz *g, const char *severity, struct tbp_str message) {
    tbp_gviz_row(g);
    tbp_gviz_str(g, tbp_str_c(severity));
    tbp_gviz_str(g, message);
}
