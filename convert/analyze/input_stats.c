/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows, input ops and verdict. The order of additions is the official one, so that last digits
 * agree.
 */
#include "convert/analyze/input_stats.h"

#define PS_PER_MS 1e9
#define PS_PER_US 1e6

/* Thresholds, percent of the summed step time. */
static const double input_high = 20, input_moderate = 5;
static const double share_high = 15, share_moderate = 3; /* collectives, launch, others */

/* ---- rows ---- */

static double ms_of(const struct tbp_step_core *c, enum tbp_step_part part) {
    return (double)c->part_ps[part] / PS_PER_MS;
}

static void fill_row(struct tbp_step_row *r, const struct tbp_step_core *c, uint32_t number) {
    *r = (struct tbp_step_row){
        .number = number, .name = c->name, .step_ms = (double)c->dur_ps / PS_PER_MS};
    r->to_device_ms = ms_of(c, TBP_PART_HOST_TO_DEVICE);
    r->ms[TBP_TIME_COMPUTE] = ms_of(c, TBP_PART_COMPUTE_16) + ms_of(c, TBP_PART_COMPUTE_32);
    r->ms[TBP_TIME_DEVICE_TO_DEVICE] = ms_of(c, TBP_PART_DEVICE_TO_DEVICE);
    r->ms[TBP_TIME_COLLECTIVES] = ms_of(c, TBP_PART_COLLECTIVES);
    r->ms[TBP_TIME_HOST_COMPUTE] = ms_of(c, TBP_PART_HOST_COMPUTE);
    r->ms[TBP_TIME_LAUNCH] = ms_of(c, TBP_PART_HOST_PREPARE);
    r->ms[TBP_TIME_INPUT] = ms_of(c, TBP_PART_HOST_WAIT_INPUT) + r->to_device_ms;
    r->ms[TBP_TIME_OUTPUT] = ms_of(c, TBP_PART_DEVICE_TO_HOST);
    r->ms[TBP_TIME_COMPILE] = ms_of(c, TBP_PART_HOST_COMPILE);
    r->ms[TBP_TIME_OTHER] = ms_of(c, TBP_PART_UNKNOWN);
}

static void make_rows(struct tbp_input_stats *in, struct tbp_arena *a) {
    if (in->env->hardware == TBP_HARDWARE_TPU)
        return;
    in->rows = TBP_NEW_N(a, struct tbp_step_row, in->steps->n_steps);
    for (size_t i = 0; i < in->steps->n_steps; i++) {
        const struct tbp_step_core *c = tbp_step_core_find(&in->steps->steps[i], TBP_STEP_CORE);
        if (c)
            fill_row(&in->rows[in->n_rows++], c, in->steps->steps[i].number);
    }
}

/* Per step the longest over all cores: here every host counts. */
static struct tbp_statistics step_times(const struct tbp_step_table *t, struct tbp_arena *a) {
    double *ms = TBP_NEW_N(a, double, t->n_steps);
    for (size_t i = 0; i < t->n_steps; i++) {
        for (size_t k = 0; k < t->steps[i].n_cores; k++) {
            const struct tbp_step_core *c = &t->steps[i].cores[k];
            double v = (double)c->dur_ps / PS_PER_MS;
            if (c->core < TBP_SPARSE_CORES_FROM && v > ms[i])
                ms[i] = v;
        }
    }
    return tbp_statistics_of(ms, t->n_steps);
}

struct tbp_statistics tbp_step_time_statistics(const struct tbp_input_stats *in,
                                               enum tbp_step_time which, struct tbp_arena *a) {
    double *ms = TBP_NEW_N(a, double, in->n_rows);
    for (size_t i = 0; i < in->n_rows; i++)
        ms[i] = in->rows[i].ms[which];
    return tbp_statistics_of(ms, in->n_rows);
}

/* ---- input ops ---- */

static bool equals_nocase(struct tbp_str s, const char *lit) {
    return s.n == strlen(lit) && tbp_str_starts_nocase(s, lit);
}

static enum tbp_input_category dataset_category(struct tbp_str name) {
    static const char *const reads[] = {"::TFRecord", "::TextLine", "::FixedLengthRecord",
                                        "::SSTable",  "::RecordIO", "::ArrayRecord"};
    static const char *const ahead[] = {"::MemoryReader", "::MemoryWriter", "::Interleave",
                                        "::Prefetch", "::ParallelMap"};
    bool is_read = false;
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        is_read |= tbp_str_ends(name, reads[i]);
    if (!is_read)
        return TBP_INPUT_PREPROCESSING;
    for (size_t i = 0; i < sizeof ahead / sizeof *ahead; i++)
        if (tbp_str_has(name, ahead[i]))
            return TBP_INPUT_ADVANCED_READ;
    return TBP_INPUT_DEMANDED_READ;
}

enum tbp_input_category tbp_input_category_of(const struct tbp_op *op) {
    if (equals_nocase(op->category, "enqueue")) /* the four categories of input stages */
        return TBP_INPUT_ENQUEUE;
    if (equals_nocase(op->category, "read"))
        return TBP_INPUT_DEMANDED_READ;
    if (equals_nocase(op->category, "preprocessing"))
        return TBP_INPUT_PREPROCESSING;
    if (equals_nocase(op->category, "unknown"))
        return TBP_INPUT_UNKNOWN;
    if (tbp_str_starts(op->category, "InfeedEnqueue") || tbp_str_is(op->category, "MemcpyHToD"))
        return TBP_INPUT_ENQUEUE;
    return tbp_str_is(op->category, "Dataset") ? dataset_category(op->name) : TBP_INPUT_NONE;
}

/* Splits the host's input time. What is enqueued is measured; the rest of the input time follows
 * from the ratio of enqueueing to all, and is shared out in proportion to the measured self times.
 */
static void split_times(struct tbp_input_stats *in, const double *us, double to_device_ms) {
    double enqueue = us[TBP_INPUT_ENQUEUE], demanded = us[TBP_INPUT_DEMANDED_READ];
    double advanced = us[TBP_INPUT_ADVANCED_READ], preprocessing = us[TBP_INPUT_PREPROCESSING];
    double measured = demanded + advanced + preprocessing, ratio = 0;
    if (in->host_ops->infeed_diff_ps > 0)
        ratio = tbp_ratio((double)in->host_ops->infeed_duration_ps,
                          (double)in->host_ops->infeed_diff_ps);
    else if (in->step_ms.average > 0)
        ratio = tbp_ratio(to_device_ms, in->step_ms.average);
    ratio = ratio < 1.0 ? ratio : 1.0;
    double rest = ratio != 0 ? enqueue * (1.0 - ratio) / ratio : measured;
    in->enqueue_us = enqueue;
    in->demanded_read_us = tbp_ratio(rest * demanded, measured);
    in->advanced_read_us = tbp_ratio(rest * advanced, measured);
    in->preprocessing_us = tbp_ratio(rest * preprocessing, measured);
    double left = rest - in->demanded_read_us - in->advanced_read_us - in->preprocessing_us;
    in->unclassified_us = left > 0 ? left : 0;
    in->uses_tf_data =
        in->demanded_read_us > 0 || in->advanced_read_us > 0 || in->preprocessing_us > 0;
}

static void make_ops(struct tbp_input_stats *in, struct tbp_arena *a) {
    const struct tbp_op **sorted;
    size_t n = tbp_op_table_sorted(in->host_ops, 0, a, &sorted);
    double us[TBP_INPUT_CATEGORIES] = {0};
    in->ops = TBP_NEW_N(a, struct tbp_input_op, n);
    for (size_t i = 0; i < n; i++) {
        enum tbp_input_category c = tbp_input_category_of(sorted[i]);
        if (c == TBP_INPUT_NONE)
            continue;
        in->ops[in->n_ops++] = (struct tbp_input_op){sorted[i], c};
        in->ops_self_ps += sorted[i]->self_ps;
        us[c] += (double)sorted[i]->self_ps / PS_PER_US;
    }
    double *to_device = TBP_NEW_N(a, double, in->n_rows);
    for (size_t i = 0; i < in->n_rows; i++)
        to_device[i] = in->rows[i].to_device_ms;
    if (in->n_ops)
        split_times(in, us, tbp_statistics_of(to_device, in->n_rows).average);
}

/* ---- verdict ---- */

void tbp_input_verdict_find(struct tbp_input_verdict *v, double input_percent,
                            double others_percent) {
    v->percent = input_percent;
    v->bound = TBP_BOUND_BOTH;
    if (input_percent >= input_high) {
        v->bound = TBP_BOUND_HOST;
        v->finding = TBP_FINDING_HIGHLY;
    } else if (input_percent >= input_moderate) {
        v->finding = TBP_FINDING_MODERATELY;
    } else if (others_percent >= share_moderate) {
        v->finding = TBP_FINDING_POTENTIALLY;
        v->percent = others_percent;
    } else {
        v->bound = TBP_BOUND_DEVICE;
        v->finding = TBP_FINDING_NOT;
    }
}

static struct tbp_share share_of(double percent) {
    struct tbp_share s = {TBP_SHARE_NO, percent};
    if (percent >= share_moderate)
        s.level = percent >= share_high ? TBP_SHARE_HIGH : TBP_SHARE_MODERATE;
    return s;
}

static void find_verdict(struct tbp_input_stats *in) {
    struct tbp_input_verdict *v = &in->verdict;
    double step = 0, input = 0, collectives = 0, launch = 0, others = 0;
    for (size_t i = 0; i < in->n_rows; i++) {
        const double *ms = in->rows[i].ms;
        step += in->rows[i].step_ms;
        input += ms[TBP_TIME_INPUT];
        collectives += ms[TBP_TIME_COLLECTIVES];
        launch += ms[TBP_TIME_LAUNCH];
        others += ms[TBP_TIME_OTHER];
    }
    if (step == 0)
        return; /* all zero: unknown, no step time, no shares */
    tbp_input_verdict_find(v, 100.0 * input / step, 100.0 * others / step);
    v->collectives = share_of(100.0 * collectives / step);
    v->launch = share_of(100.0 * launch / step);
    if (v->finding != TBP_FINDING_POTENTIALLY) /* there the same time is blamed already */
        v->others = share_of(100.0 * others / step);
}

int tbp_input_stats_make(struct tbp_session *s, uint32_t host, struct tbp_arena *a,
                         struct tbp_input_stats *out, struct tbp_error *err) {
    *out = (struct tbp_input_stats){0};
    out->env = tbp_run_environment(s, host, err);
    out->steps = out->env ? tbp_trimmed_steps(s, host, err) : NULL;
    out->host_ops = out->steps ? tbp_host_ops(s, host, err) : NULL;
    if (!out->host_ops)
        return err ? err->code : TBP_E_INTERNAL;
    out->step_ms = step_times(out->steps, a);
    make_rows(out, a);
    make_ops(out, a);
    find_verdict(out);
    return TBP_OK;
}
