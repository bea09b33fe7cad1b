/* SPDX-License-Identifier: Apache-2.0
 *
 * What the steps and the host's input ops tell about the input pipeline: a row per step, the input
 * ops with the split of the host's input time, and the verdict on what bounds the program. Shared
 * by the input page and the overview.
 *
 *     tbp_input_stats_make(session, host, arena, &stats, err);
 *
 * No texts here: sentences are the pages' (tool/page_texts.h). Milliseconds and microseconds are
 * doubles, as shown. Source: spec pages/RULES.md 7. Ownership: made in the caller's arena from the
 * session's tables; not memoised (cheap).
 */
#ifndef TBP_CONVERT_ANALYZE_INPUT_STATS_H
#define TBP_CONVERT_ANALYZE_INPUT_STATS_H

#include "convert/analyze/op_table.h"
#include "convert/analyze/run_environment.h"
#include "convert/analyze/statistics.h"
#include "convert/analyze/step_table.h"

/* Times of one step in ms, in the order of the step table's columns. */
enum tbp_step_time {
    TBP_TIME_COMPUTE,
    TBP_TIME_DEVICE_TO_DEVICE,
    TBP_TIME_COLLECTIVES,
    TBP_TIME_HOST_COMPUTE,
    TBP_TIME_LAUNCH,
    TBP_TIME_INPUT,
    TBP_TIME_OUTPUT,
    TBP_TIME_COMPILE,
    TBP_TIME_OTHER,
    TBP_STEP_TIMES
};

struct tbp_step_row {
    uint32_t number;
    struct tbp_str name; /* empty: the number */
    double ms[TBP_STEP_TIMES];
    double to_device_ms; /* part of INPUT */
    double step_ms;
};

enum tbp_input_category {
    TBP_INPUT_NONE, /* no input op */
    TBP_INPUT_ENQUEUE,
    TBP_INPUT_DEMANDED_READ,
    TBP_INPUT_ADVANCED_READ,
    TBP_INPUT_PREPROCESSING,
    TBP_INPUT_UNKNOWN,
    TBP_INPUT_CATEGORIES
};

struct tbp_input_op {
    const struct tbp_op *op;
    enum tbp_input_category category;
};

enum tbp_input_class { TBP_BOUND_UNKNOWN, TBP_BOUND_HOST, TBP_BOUND_BOTH, TBP_BOUND_DEVICE };
enum tbp_input_finding {
    TBP_FINDING_NO_STEP_TIME,
    TBP_FINDING_HIGHLY,
    TBP_FINDING_MODERATELY,
    TBP_FINDING_POTENTIALLY,
    TBP_FINDING_NOT,
};
enum tbp_share_level { TBP_SHARE_NO, TBP_SHARE_MODERATE, TBP_SHARE_HIGH };

struct tbp_share {
    enum tbp_share_level level;
    double percent; /* of the summed step time */
};

struct tbp_input_verdict {
    enum tbp_input_class bound;
    enum tbp_input_finding finding;
    double percent; /* that the finding's sentence tells */
    struct tbp_share collectives, launch, others;
};

struct tbp_input_stats {
    const struct tbp_step_table *steps; /* trimmed */
    const struct tbp_run_environment *env;
    const struct tbp_op_table *host_ops;
    struct tbp_statistics step_ms; /* per step the longest of all cores */
    struct tbp_step_row *rows;     /* steps that core 1 took part in; none on TPU */
    size_t n_rows;
    struct tbp_input_op *ops; /* by self time descending */
    size_t n_ops;
    uint64_t ops_self_ps;
    double enqueue_us, demanded_read_us, advanced_read_us, preprocessing_us, unclassified_us;
    bool uses_tf_data;
    struct tbp_input_verdict verdict;
};

int tbp_input_stats_make(struct tbp_session *s, uint32_t host, struct tbp_arena *a,
                         struct tbp_input_stats *out, struct tbp_error *err);
/* Statistics of one time over the rows. */
struct tbp_statistics tbp_step_time_statistics(const struct tbp_input_stats *in,
                                               enum tbp_step_time which, struct tbp_arena *a);

/* ---- rules, for tests and the TPU page ---- */
enum tbp_input_category tbp_input_category_of(const struct tbp_op *op);
/* Verdict on the input from percents of the step time; others_percent: time that nothing explains.
 */
void tbp_input_verdict_find(struct tbp_input_verdict *v, double input_percent,
                            double others_percent);

#endif
