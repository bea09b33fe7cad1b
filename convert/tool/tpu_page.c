/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and numbers of TPU runs for the input page and the overview; see tpu_page.h.
 */
#include "convert/tool/tpu_page.h"

#include "convert/analyze/tpu_input.h"
#include "convert/tool/page_texts.h"

/* Output: percent of the step time. */
static const double output_high = 20, output_moderate = 5;

struct tpu_steps {
    struct tbp_tpu_step *at;
    size_t n;
    bool has_sparse_cores;   /* the run has some … */
    bool has_sparse_numbers; /* … and they worked */
};

static struct tpu_steps steps_of(const struct tbp_page *p) {
    const struct tbp_step_table *t = p->in.steps;
    struct tpu_steps s = {TBP_NEW_N(p->arena, struct tbp_tpu_step, t->n_steps), t->n_steps, false,
                          false};
    for (size_t i = 0; i < s.n; i++) {
        s.at[i] = tbp_tpu_step_of(t, &t->steps[i], p->arena);
        s.has_sparse_numbers |= s.at[i].has_sparse_cores;
    }
    s.has_sparse_cores = s.has_sparse_numbers;
    for (size_t i = 0; i < t->n_places; i++)
        s.has_sparse_cores |= t->places[i].is_sparse;
    return s;
}

static double average(const struct tpu_steps *s, enum tbp_tpu_time which, struct tbp_arena *a) {
    double *ms = TBP_NEW_N(a, double, s->n);
    for (size_t i = 0; i < s->n; i++)
        ms[i] = s->at[i].ms[which];
    return tbp_statistics_of(ms, s->n).average;
}

static double wait_ms(const struct tbp_tpu_step *s) {
    return s->ms[TBP_TPU_INFEED] + s->ms[TBP_TPU_SCV0_INFEED];
}

/* ---- step table ---- */

struct verdict {
    struct tbp_input_verdict input;
    double output_percent;
};

/* All cores count as profiled, so idle and all-reduce time do not change the verdict. */
static struct verdict verdict_of(const struct tpu_steps *s) {
    struct verdict v = {0};
    double step = 0, input = 0, output = 0;
    for (size_t i = 0; i < s->n; i++) {
        step += s->at[i].step_ms;
        input += wait_ms(&s->at[i]);
        output += s->at[i].ms[TBP_TPU_OUTFEED];
    }
    if (step == 0)
        return v;
    tbp_input_verdict_find(&v.input, 100.0 * input / step, 0);
    v.output_percent = 100.0 * output / step;
    return v;
}

static void put_output(struct tbp_gviz *g, double percent) {
    if (percent >= output_high)
        tbp_gviz_prop_printf(g, "output_conclusion", TBP_TEXT_OUTPUT_HIGHLY, percent);
    else if (percent >= output_moderate)
        tbp_gviz_prop_printf(g, "output_conclusion", TBP_TEXT_OUTPUT_MODERATELY, percent);
    else
        tbp_gviz_prop_c(g, "output_conclusion", "");
}

static struct tbp_statistics infeed_percents(const struct tpu_steps *s, struct tbp_arena *a) {
    double *percent = TBP_NEW_N(a, double, s->n);
    for (size_t i = 0; i < s->n; i++)
        percent[i] = s->at[i].infeed_percent_maximum;
    return tbp_statistics_of(percent, s->n);
}

static void put_sparse_properties(struct tbp_gviz *g, const struct tpu_steps *s,
                                  struct tbp_arena *a) {
    tbp_gviz_prop_printf(g, "sc_active_ms_average", "%.2f", average(s, TBP_TPU_SPARSE_ACTIVE, a));
    tbp_gviz_prop_printf(g, "sc_compute_ms_average", "%.2f", average(s, TBP_TPU_SPARSE_COMPUTE, a));
    tbp_gviz_prop_printf(g, "sc_idle_ms_average", "%.2f", average(s, TBP_TPU_SPARSE_IDLE, a));
    tbp_gviz_prop_c(g, "sc_infeed_ms_average", "0.00");
    tbp_gviz_prop_c(g, "sc_outfeed_ms_average", "0.00");
    tbp_gviz_prop_printf(g, "sc_step_time_ms_average", "%.1f", average(s, TBP_TPU_SPARSE_STEP, a));
}

static void put_properties(struct tbp_gviz *g, const struct tbp_page *p,
                           const struct tpu_steps *s) {
    struct tbp_statistics infeed = infeed_percents(s, p->arena), step = p->in.step_ms;
    struct verdict v = verdict_of(s);
    const char *tf = s->has_sparse_cores ? "" : "scv0ComputeTimeMs,scv0InfeedTimeMs,";
    tbp_gviz_prop_printf(g, "active_steptime_ms_average", "%.2f",
                         average(s, TBP_TPU_ANY_ACTIVE, p->arena));
    tbp_gviz_prop_c(g, "hardware_type", tbp_hardware_text(p->in.env->hardware));
    tbp_gviz_prop_printf(g, "host_transfer_ms_average", "%.2f",
                         average(s, TBP_TPU_TRANSFER, p->arena));
    tbp_gviz_prop_printf(g, "infeed_percent_average", "%.1f", infeed.average);
    tbp_gviz_prop_printf(g, "infeed_percent_maximum", "%.1f", infeed.maximum);
    tbp_gviz_prop_printf(g, "infeed_percent_minimum", "%.1f", infeed.minimum);
    tbp_gviz_prop_printf(g, "infeed_percent_standard_deviation", "%.1f", infeed.deviation);
    tbp_page_put_finding(g, "input_conclusion", &v.input);
    put_output(g, v.output_percent);
    if (s->has_sparse_numbers)
        put_sparse_properties(g, s, p->arena);
    if (!s->has_sparse_cores) {
        tbp_gviz_prop_printf(g, "scv0_compute_ms_average", "%.2f",
                             average(s, TBP_TPU_SCV0_COMPUTE, p->arena));
        tbp_gviz_prop_printf(g, "scv0_infeed_ms_average", "%.2f",
                             average(s, TBP_TPU_SCV0_INFEED, p->arena));
    }
    tbp_gviz_prop_printf(g, "step_time_graph_column_ids",
                         "stepnum,tcComputeTimeMs,%stcInfeedTimeMs,tcOutfeedTimeMs,tcIdleTimeMs,"
                         "hostTransferTimeMs,tooltip",
                         tf);
    tbp_gviz_prop_printf(g, "steptime_ms_average", "%.2f", step.average);
    tbp_gviz_prop_printf(g, "steptime_ms_maximum", "%.2f", step.maximum);
    tbp_gviz_prop_printf(g, "steptime_ms_minimum", "%.2f", step.minimum);
    tbp_gviz_prop_printf(g, "steptime_ms_standard_deviation", "%.2f", step.deviation);
    tbp_gviz_prop_c(g, "summary_nextstep", tbp_page_next_step(&p->in, v.input.bound));
    tbp_gviz_prop_printf(g, "tc_active_ms_average", "%.2f", average(s, TBP_TPU_ACTIVE, p->arena));
    tbp_gviz_prop_printf(g, "tc_compute_ms_average", "%.2f", average(s, TBP_TPU_COMPUTE, p->arena));
    tbp_gviz_prop_printf(g, "tc_idle_ms_average", "%.2f", average(s, TBP_TPU_IDLE, p->arena));
    tbp_gviz_prop_printf(g, "tc_infeed_ms_average", "%.2f", average(s, TBP_TPU_INFEED, p->arena));
    tbp_gviz_prop_printf(g, "tc_outfeed_ms_average", "%.2f", average(s, TBP_TPU_OUTFEED, p->arena));
}

static struct tbp_str number_text(int64_t number, struct tbp_arena *a) {
    return tbp_str_c(tbp_arena_printf(a, "%lld", (long long)number));
}

/* The step time here does not count all-reduce twice. */
static struct tbp_str tooltip(const struct tbp_tpu_step *s, struct tbp_arena *a) {
    return tbp_str_c(tbp_arena_printf(
        a, "step %lld:\nTime waiting for input data = %.3f ms, Step time = %.3f ms",
        (long long)s->number, wait_ms(s), s->step_ms - s->reduce_ms));
}

static void put_row(struct tbp_gviz *g, const struct tbp_tpu_step *s, bool has_sparse_cores,
                    struct tbp_arena *a) {
    tbp_gviz_row(g);
    tbp_gviz_str(g, number_text(s->number, a));
    tbp_gviz_num(g, s->ms[TBP_TPU_COMPUTE]);
    if (!has_sparse_cores) {
        tbp_gviz_num(g, s->ms[TBP_TPU_SCV0_COMPUTE]);
        tbp_gviz_num(g, s->ms[TBP_TPU_SCV0_INFEED]);
    }
    tbp_gviz_num(g, s->ms[TBP_TPU_INFEED]);
    tbp_gviz_num(g, s->ms[TBP_TPU_OUTFEED]);
    tbp_gviz_num(g, s->ms[TBP_TPU_IDLE]);
    tbp_gviz_num(g, s->ms[TBP_TPU_TRANSFER]);
    tbp_gviz_str(g, tooltip(s, a));
    tbp_gviz_num(g, s->infeed_percent_average);
    tbp_gviz_num(g, s->infeed_percent_minimum);
    tbp_gviz_num(g, s->infeed_percent_maximum);
}

void tbp_tpu_page_steps(struct tbp_json *j, const struct tbp_page *p) {
    struct tpu_steps s = steps_of(p);
    const struct tbp_columns *c =
        s.has_sparse_cores ? &tbp_columns_steps_tpu_sparse : &tbp_columns_steps_tpu;
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, c->at, c->n);
    put_properties(&g, p, &s);
    for (size_t i = 0; i < s.n; i++)
        put_row(&g, &s.at[i], s.has_sparse_cores, p->arena);
    tbp_gviz_end(&g);
}

/* ---- cores ---- */

static struct tbp_str core_name(const struct tbp_core_place *place, struct tbp_arena *a) {
    if (place == NULL)
        return TBP_STR("unknown");
    return tbp_str_c(tbp_arena_printf(a, "%.*s:%lld", (int)place->host_name.n, place->host_name.p,
                                      (long long)place->ordinal));
}

void tbp_tpu_page_cores(struct tbp_json *j, const struct tbp_page *p) {
    struct tpu_steps s = steps_of(p);
    struct tbp_column *cols = TBP_NEW_N(p->arena, struct tbp_column, s.n + 1);
    cols[0] = (struct tbp_column){"index", TBP_COLUMN_STRING, "Index", NULL};
    for (size_t i = 0; i < s.n; i++) {
        const char *number = tbp_arena_printf(p->arena, "%zu", i);
        cols[i + 1] = (struct tbp_column){number, TBP_COLUMN_STRING, number, NULL};
    }
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, cols, s.n + 1);
    tbp_gviz_row(&g);
    tbp_gviz_str(&g, TBP_STR("Step number"));
    for (size_t i = 0; i < s.n; i++)
        tbp_gviz_str(&g, number_text(s.at[i].number, p->arena));
    tbp_gviz_row(&g);
    tbp_gviz_str(&g, TBP_STR("Core name"));
    for (size_t i = 0; i < s.n; i++)
        tbp_gviz_str(&g, core_name(s.at[i].place, p->arena));
    tbp_gviz_end(&g);
}

/* ---- utilisation ---- */

static double idle_percent(const struct tbp_op_table *t) {
    return (1.0 - tbp_ratio((double)t->total_op_ps, (double)t->total_ps)) * 100.0;
}

static double duty_percent(uint64_t busy_ps, uint64_t idle_ps) {
    return tbp_ratio((double)busy_ps, (double)(busy_ps + idle_ps)) * 100.0;
}

int tbp_tpu_use_of(struct tbp_tpu_use *use, const struct tbp_page *p, struct tbp_error *err) {
    *use = (struct tbp_tpu_use){0};
    if (!tbp_str_has(p->in.env->device_type, "TPU")) /* the text decides, as on the page */
        return TBP_OK;
    const struct tbp_op_table *t = tbp_device_ops(p->session, p->host, err);
    if (t == NULL)
        return err ? err->code : TBP_E_INTERNAL;
    use->duty_percent = duty_percent(t->busy_ps, t->idle_ps);
    use->sure_duty_percent = duty_percent(t->sure_busy_ps, t->sure_idle_ps);
    use->sure_idle_ps = t->sure_idle_ps;
    use->idle_percent = idle_percent(t);
    use->host_idle_percent = idle_percent(p->in.host_ops);
    if (tbp_page_is_tpu(p)) {
        struct tpu_steps s = steps_of(p);
        use->active_ms = average(&s, TBP_TPU_ANY_ACTIVE, p->arena);
        use->tensor_active_ms = average(&s, TBP_TPU_ACTIVE, p->arena);
        use->sparse_active_ms = average(&s, TBP_TPU_SPARSE_ACTIVE, p->arena);
        use->sparse_idle_ms = average(&s, TBP_TPU_SPARSE_IDLE, p->arena);
        use->sparse_step_ms = average(&s, TBP_TPU_SPARSE_STEP, p->arena);
    }
    return TBP_OK;
}
