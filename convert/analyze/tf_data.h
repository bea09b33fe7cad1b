/* SPDX-License-Identifier: Apache-2.0
 *
 * Input pipelines of tf.data on one host: how long each call of a pipeline took, and which iterator
 * of it held the call up. Producers on other threads are joined to the iterator that consumes their
 * element. Source: reference host_and_op_analysis 10.
 *
 * Ownership: the session; names are borrowed from the host's bytes. Thread-safety: as
 * analyze/session.h.
 */
#ifndef TBP_CONVERT_ANALYZE_TF_DATA_H
#define TBP_CONVERT_ANALYZE_TF_DATA_H

#include "convert/analyze/session.h"

/* A call is slow above this. */
#define TBP_TF_DATA_SLOW_PS 50000000u

struct tbp_tf_data_iterator {
    int64_t id, parent_id;    /* parent_id 0: none */
    struct tbp_str long_name; /* "Iterator::Model::Prefetch" */
};

enum tbp_tf_data_role { TBP_TF_DATA_NOT_BLOCKING, TBP_TF_DATA_BLOCKING, TBP_TF_DATA_BOTTLENECK };

struct tbp_tf_data_stat { /* one iterator in one call of the pipeline */
    uint32_t iterator;
    enum tbp_tf_data_role role;
    uint64_t start_ps, dur_ps, n_calls;
    int64_t self_ps; /* duration without what overlaps with the iterators below */
};

struct tbp_tf_data_call {
    uint64_t dur_ps;
    const struct tbp_tf_data_stat *stats; /* by iterator id */
    size_t n_stats;
    const struct tbp_tf_data_stat *bottleneck; /* NULL: no iterator blocks */
};

struct tbp_tf_data_pipeline {
    int64_t root_id;
    bool is_device; /* feeds a device: numbered apart */
    uint32_t number;
    struct tbp_tf_data_call *calls; /* slowest first */
    size_t n_calls, n_slow;
    uint64_t mean_ps, min_ps, max_ps;
};

struct tbp_tf_data {
    struct tbp_str host;                    /* as the host calls itself, else as its file does */
    struct tbp_tf_data_iterator *iterators; /* by id */
    struct tbp_tf_data_pipeline *pipelines; /* by root id */
    size_t n_iterators, n_pipelines;
};

extern const struct tbp_analysis tbp_analysis_tf_data;

static inline const struct tbp_tf_data *tbp_tf_data(struct tbp_session *s, uint32_t host,
                                                    struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_tf_data, host, err);
}

/* "Prefetch" of "Iterator::Model::Prefetch". */
struct tbp_str tbp_tf_data_short_name(struct tbp_str long_name);

#endif
