/* SPDX-License-Identifier: Apache-2.0
 *
 * Page "Overview": the ten longest device ops with the shares of host and device, steps, run
 * environment, verdict with tips, latency of served requests, diagnostics. Source: spec
 * pages/RULES.md 8 and 12, reference plugin_contract 4.1.
 */
#include "convert/analyze/requests.h"
#include "convert/tool/page_texts.h"
#include "convert/tool/step_page.h"
#include "convert/tool/tpu_page.h"

#define PS_PER_NS 1e3
enum { TOP_OPS = 10 };
static const double low_precision_percent = 10;

struct overview {
    struct tbp_page page;
    const struct tbp_op_table *device; /* framework ops, idle record included */
    const struct tbp_kernel_table *kernels;
    const struct tbp_request_table *requests;
    struct tbp_tpu_use use;
    bool gpu_layout;
};

static void put_percent(struct tbp_gviz *g, const char *key, double v) {
    if (v >= 0)
        tbp_gviz_prop_printf(g, key, "%.1f%%", v);
    else
        tbp_gviz_prop_c(g, key, "unknown");
}

static double share(double part, double whole) {
    return 100.0 * tbp_ratio(part, whole);
}

static bool is_legacy(const struct overview *o) {
    return o->page.dialect == TBP_DIALECT_LEGACY;
}

/* The device type's text decides which word and tool the tips name. */
static enum tbp_hardware hardware_word(const struct tbp_run_environment *env) {
    if (tbp_str_has(env->device_type, "GPU"))
        return TBP_HARDWARE_GPU;
    if (tbp_str_is(env->device_type, "CPU"))
        return TBP_HARDWARE_CPU_ONLY;
    return tbp_str_has(env->device_type, "TPU") ? TBP_HARDWARE_TPU : TBP_HARDWARE_UNKNOWN;
}

/* ---- [0] ops ---- */

static double eager_percent(const struct tbp_op_table *t) {
    return share((double)tbp_op_table_eager_ps(t), (double)tbp_op_table_busy_ps(t));
}

static void put_core_times(struct tbp_gviz *g, const struct tbp_tpu_use *use) {
    if (use->sparse_active_ms != 0)
        tbp_gviz_prop_printf(g, "sc_active_ms_average", "%.2f", use->sparse_active_ms);
    if (use->sparse_step_ms != 0) {
        tbp_gviz_prop_printf(g, "sc_idle_time_avg", "%.1f", use->sparse_idle_ms);
        tbp_gviz_prop_c(g, "sc_infeed_time_avg", "0.0");
        tbp_gviz_prop_c(g, "sc_outfeed_time_avg", "0.0");
        tbp_gviz_prop_printf(g, "sc_steptime_average", "%.1f", use->sparse_step_ms);
    }
    if (use->tensor_active_ms != 0)
        tbp_gviz_prop_printf(g, "tc_active_ms_average", "%.2f", use->tensor_active_ms);
}

/* Utilisation and idle times: only TPU tells them, elsewhere they are 0. */
static void put_analysis_properties(struct tbp_gviz *g, const struct overview *o) {
    const struct tbp_run_environment *env = o->page.in.env;
    const struct tbp_step_table *steps = o->page.in.steps;
    const struct tbp_op_table *host = o->page.in.host_ops;
    double p16 = (double)steps->compute_16_ps, p32 = (double)steps->compute_32_ps;
    double host_n = (double)tbp_op_table_occurrences(host),
           device_n = (double)tbp_op_table_occurrences(o->device);
    bool with_precision = o->gpu_layout || is_legacy(o), with_rates = !o->gpu_layout;
    if (with_rates && o->use.active_ms != 0)
        tbp_gviz_prop_printf(g, "active_steptime_ms_average", "%.2f", o->use.active_ms);
    if (with_precision) {
        put_percent(g, "device_compute_16bit_percent", share(p16, p16 + p32));
        put_percent(g, "device_compute_32bit_percent", share(p32, p16 + p32));
    }
    if (with_rates) {
        put_percent(g, "device_duty_cycle_high_confidence_percent", o->use.sure_duty_percent);
        put_percent(g, "device_duty_cycle_percent", o->use.duty_percent);
        put_percent(g, "device_idle_time_percent", o->use.idle_percent);
    }
    put_percent(g, "device_op_time_eager_percent", eager_percent(o->device));
    put_percent(g, "device_tf_op_percent", share(device_n, host_n + device_n));
    if (with_rates)
        tbp_gviz_prop_c(g, "flop_rate_utilization_relative_to_roofline", "0.0%");
    put_percent(g, "hbm_utilization_percent", env->hbm_percent);
    if (with_rates)
        put_percent(g, "host_idle_time_percent", o->use.host_idle_percent);
    put_percent(g, "host_op_time_eager_percent", eager_percent(host));
    put_percent(g, "host_tf_op_percent", share(host_n, host_n + device_n));
    tbp_gviz_prop_c(g, "host_trace_level", "0");
    if (with_rates && o->use.sure_idle_ps != 0)
        tbp_gviz_prop_printf(g, "idle_time_high_confidence_ps", "%.6g",
                             (double)o->use.sure_idle_ps);
    if (with_rates)
        tbp_gviz_prop_c(g, "memory_bw_utilization_relative_to_hw_limit", "0.0%");
    put_percent(g, "mxu_utilization_percent", env->mxu_percent);
    tbp_gviz_prop_c(g, "remark_color", "");
    tbp_gviz_prop_c(g, "remark_text", "");
    if (with_rates)
        put_core_times(g, &o->use);
}

static void put_top_ops(struct tbp_json *j, const struct overview *o) {
    bool with_tensor_cores = o->gpu_layout || is_legacy(o);
    const struct tbp_columns *c =
        with_tensor_cores ? &tbp_columns_overview_ops_gpu : &tbp_columns_overview_ops;
    const struct tbp_op **ops;
    size_t n = tbp_op_table_sorted(o->device, TOP_OPS + 1, o->page.arena,
                                   &ops); /* one of them may be idle */
    double cumulative = 0;
    size_t shown = 0;
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, c->at, c->n);
    put_analysis_properties(&g, o);
    for (size_t i = 0; i < n && shown < TOP_OPS; i++) {
        const struct tbp_op *op = ops[i];
        if (tbp_op_is_idle(op))
            continue;
        double fraction = tbp_ratio((double)op->self_ps, (double)o->device->total_op_ps);
        cumulative += fraction;
        tbp_gviz_row(&g);
        tbp_gviz_num(&g, fraction);
        tbp_gviz_num(&g, cumulative);
        tbp_gviz_str(&g, op->category);
        tbp_gviz_str(&g, op->name);
        tbp_gviz_num(&g, tbp_ratio(op->flops, (double)op->time_ps / PS_PER_NS));
        if (with_tensor_cores) {
            const struct tbp_kernel_op *k = tbp_kernel_op_find(o->kernels, op->name);
            tbp_gviz_bool(&g, k && k->is_eligible);
            tbp_gviz_bool(&g, k && k->tensor_core_ps != 0);
        }
        shown++;
    }
    tbp_gviz_end(&g);
}

/* ---- [2] run environment ---- */

static void put_environment(struct tbp_json *j, const struct overview *o) {
    const struct tbp_run_environment *env = o->page.in.env;
    uint64_t tasks = env->n_tasks, hosts = env->n_hostnames;
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, tbp_columns_run_environment.at, tbp_columns_run_environment.n);
    tbp_gviz_prop_printf(&g, "device_core_count", "%llu", (unsigned long long)env->core_count);
    tbp_gviz_prop_str(&g, "device_type", env->device_type);
    tbp_gviz_prop_printf(&g, "host_count", "%llu", (unsigned long long)hosts);
    tbp_gviz_prop_c(&g, "is_training", env->is_training ? "true" : "false");
    if (tasks == 0 || hosts == 0) {
        tbp_gviz_prop_printf(&g, "task_count", "%llu", (unsigned long long)tasks);
    } else if (is_legacy(o)) {
        char per_host[TBP_NUMBER_MAX];
        size_t n = tbp_number_repr(per_host, (double)tasks / (double)hosts);
        tbp_gviz_prop_printf(&g, "task_count", "%llu (num tasks per host = %.*s)",
                             (unsigned long long)tasks, (int)n, per_host);
    } else {
        tbp_gviz_prop_printf(&g, "task_count", "%llu (num tasks per host = %llu)",
                             (unsigned long long)tasks, (unsigned long long)(tasks / hosts));
    }
    tbp_gviz_end(&g);
}

/* ---- [3] recommendation ---- */

static void put_tip(struct tbp_gviz *g, const struct overview *o, const char *type,
                    const char *link, const char *word) {
    tbp_gviz_row(g);
    tbp_gviz_str(g, tbp_str_c(type));
    tbp_gviz_str(g, tbp_str_c(link));
    if (!is_legacy(o))
        tbp_gviz_str(g, tbp_str_c(word));
}

static void put_tips(struct tbp_gviz *g, const struct overview *o) {
    enum tbp_hardware hw = hardware_word(o->page.in.env);
    const char *device = tbp_hardware_text(hw);
    const char *timeline = hw == TBP_HARDWARE_TPU ? "TPU core" : device;
    const char *ops = "framework_op_stats";
    if (hw == TBP_HARDWARE_TPU)
        ops = "op_profile";
    else if (is_legacy(o) && tbp_session_semantics(o->page.session) == TBP_SEMANTICS_TF)
        ops = "tensorflow_stats"; /* as TensorFlow called it */
    struct tbp_arena *a = o->page.arena;
    put_tip(g, o, "faq", TBP_TIP_FAQ, TBP_TIP_WORD_FAQ);
    put_tip(g, o, "host", TBP_TIP_INPUT, TBP_TIP_WORD_HOST);
    if (is_legacy(o))
        put_tip(g, o, "host", TBP_TIP_TF_DATA, TBP_TIP_WORD_HOST);
    put_tip(g, o, "host", TBP_TIP_HOST_TRACE, TBP_TIP_WORD_HOST);
    put_tip(g, o, "device", tbp_arena_printf(a, TBP_TIP_DEVICE_OPS, ops, device),
            TBP_TIP_WORD_DEVICE);
    put_tip(g, o, "device", tbp_arena_printf(a, TBP_TIP_DEVICE_TRACE, timeline),
            TBP_TIP_WORD_DEVICE);
    put_tip(g, o, "doc", TBP_TIP_DOC_ANALYSIS, TBP_TIP_WORD_DOC);
    put_tip(g, o, "doc", TBP_TIP_DOC_PERFORMANCE, TBP_TIP_WORD_DOC);
}

static void put_precision(struct tbp_gviz *g, const struct tbp_step_table *t) {
    double total = (double)t->compute_16_ps + (double)t->compute_32_ps;
    double percent = total > 0 ? 100.0 * (double)t->compute_16_ps / total : 100.0;
    if (percent < low_precision_percent)
        tbp_gviz_prop_printf(g, "precision_statement", TBP_TEXT_PRECISION, percent);
    else
        tbp_gviz_prop_c(g, "precision_statement", "");
}

/* On TPU with steps the generic verdict does not apply, and nothing is said. */
static void put_no_verdict(struct tbp_gviz *g, const struct overview *o) {
    static const char *const keys[] = {
        "all_other_bottleneck",          "all_other_statement",          "bottleneck",
        "device_collectives_bottleneck", "device_collectives_statement", "kernel_launch_bottleneck",
        "kernel_launch_statement",       "non_bottleneck_tip_types"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        tbp_gviz_prop_c(g, keys[i], "");
    put_precision(g, o->page.in.steps);
    tbp_gviz_prop_c(g, "statement", "");
}

static void put_verdict(struct tbp_gviz *g, const struct overview *o) {
    static const char *const bounds[] = {[TBP_BOUND_UNKNOWN] = "unknown",
                                         [TBP_BOUND_HOST] = "host",
                                         [TBP_BOUND_BOTH] = "both",
                                         [TBP_BOUND_DEVICE] = "device"};
    enum tbp_input_class bound = o->page.in.verdict.bound;
    tbp_page_put_share(g, &o->page, TBP_PAGE_OTHERS, true);
    tbp_gviz_prop_c(g, "bottleneck", bounds[bound]);
    tbp_page_put_share(g, &o->page, TBP_PAGE_COLLECTIVES, true);
    tbp_page_put_share(g, &o->page, TBP_PAGE_LAUNCH, true);
    tbp_gviz_prop_c(g, "non_bottleneck_tip_types",
                    bound == TBP_BOUND_HOST     ? "device"
                    : bound == TBP_BOUND_DEVICE ? "host"
                                                : "");
    put_precision(g, o->page.in.steps);
    tbp_page_put_finding(g, "statement", &o->page.in.verdict);
}

static void put_recommendation(struct tbp_json *j, const struct overview *o) {
    const struct tbp_columns *c =
        is_legacy(o) ? &tbp_columns_recommendation_legacy : &tbp_columns_recommendation;
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, c->at, c->n);
    if (o->page.in.env->hardware == TBP_HARDWARE_TPU && o->page.in.steps->n_steps)
        put_no_verdict(&g, o);
    else
        put_verdict(&g, o);
    put_tips(&g, o);
    tbp_gviz_end(&g);
}

/* ---- [4] latency ---- */

static void put_latency(struct tbp_json *j, const struct overview *o) {
    const struct tbp_columns *c =
        is_legacy(o) ? &tbp_columns_overview_latency_legacy : &tbp_columns_overview_latency;
    struct tbp_latency rows[TBP_LATENCY_ROWS];
    size_t n = o->page.in.env->is_training ? 0 : tbp_latency_rows(o->requests, o->page.arena, rows);
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, c->at, c->n);
    for (size_t i = 0; i < n; i++) {
        const struct tbp_served_request *r = &rows[i].request;
        tbp_gviz_row(&g);
        tbp_gviz_str(&g, tbp_str_c(rows[i].label));
        tbp_gviz_num(&g, r->host_us / 1e3);
        tbp_gviz_num(&g, r->device_us / 1e3);
        tbp_gviz_num(&g, r->communication_us / 1e3);
        tbp_gviz_num(&g, r->total_us / 1e3);
    }
    tbp_gviz_end(&g);
}

/* ---- [6] diagnostics ---- */

static void put_diagnostics(struct tbp_json *j, const struct overview *o) {
    const struct tbp_run_environment *env = o->page.in.env;
    const struct tbp_host_notes *notes = o->page.notes;
    const char *warning = tbp_page_step_warning(o->page.in.steps);
    const char *repair = tbp_page_step_repair(notes);
    struct tbp_gviz g;
    tbp_page_begin_diagnostics(&g, j);
    if (repair)
        tbp_page_put_message(&g, "INFO", tbp_str_c(repair));
    for (size_t i = 0; i < notes->n_warnings; i++)
        tbp_page_put_message(&g, "WARNING", notes->warnings[i]);
    if (warning)
        tbp_page_put_message(&g, "WARNING", tbp_str_c(warning));
    for (size_t i = 0; i < notes->n_errors; i++)
        tbp_page_put_message(&g, "ERROR", notes->errors[i]);
    if (!notes->n_errors && !tbp_str_is(env->device_type, "CPU") && env->core_count == 0)
        tbp_page_put_message(&g, "ERROR", TBP_STR(TBP_TEXT_NO_DEVICE_TRACE));
    tbp_gviz_end(&g);
}

/* ---- page ---- */

static int collect(struct overview *o, struct tbp_error *err) {
    struct tbp_page *p = &o->page;
    int rc = tbp_input_stats_make(p->session, p->host, p->arena, &p->in, err);
    if (rc)
        return rc;
    o->device = tbp_framework_ops(p->session, p->host, err);
    o->kernels = o->device ? tbp_kernels(p->session, p->host, err) : NULL;
    o->requests = o->kernels ? tbp_requests(p->session, p->host, err) : NULL;
    p->notes = o->requests ? tbp_host_notes(p->session, p->host, err) : NULL;
    o->gpu_layout = tbp_str_has(p->in.env->device_type, "GPU");
    if (!p->notes)
        return err ? err->code : TBP_E_INTERNAL;
    return tbp_tpu_use_of(&o->use, p, err);
}

static int put_page(struct overview *o, struct tbp_sink *out, struct tbp_error *err) {
    int rc = collect(o, err);
    if (rc)
        return rc;
    struct tbp_json *j = TBP_NEW(o->page.arena, struct tbp_json);
    tbp_json_init(j, out);
    tbp_json_char(j, '[');
    put_top_ops(j, o);
    tbp_json_char(j, ',');
    tbp_page_steps(j, &o->page);
    tbp_json_char(j, ',');
    put_environment(j, o);
    tbp_json_char(j, ',');
    put_recommendation(j, o);
    tbp_json_char(j, ',');
    put_latency(j, o);
    tbp_json_lit(j, ", {},"); /* the blank is in the original */
    put_diagnostics(j, o);
    tbp_json_char(j, ']');
    return tbp_json_finish(j, err);
}

static int write_overview(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                          struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct overview o = {
        .page = {.session = s, .host = r->host, .dialect = r->dialect, .arena = &arena}};
    int rc = put_page(&o, out, err);
    tbp_arena_release(&arena);
    return rc;
}

static const struct tbp_analysis *const needs[] = {
    &tbp_analysis_run_environment, &tbp_analysis_trimmed_steps,
    &tbp_analysis_host_ops,        &tbp_analysis_framework_ops,
    &tbp_analysis_kernels,         &tbp_analysis_requests,
    &tbp_analysis_host_notes,      NULL,
};

const struct tbp_tool tbp_tool_overview_page = {
    .name = "overview_page",
    .help = "step time, what bounds the program, the longest device ops",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .file = "overview_page.json",
    .needs = needs,
    .write = write_overview,
};
