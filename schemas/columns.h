/* SPDX-License-Identifier: Apache-2.0
 *
 * Column lists of every DataTable that tools answer: id, type, label. The single source of truth;
 * the frontends find columns by id. Tables are const; the count stands beside them.
 */
#ifndef TBP_SCHEMAS_COLUMNS_H
#define TBP_SCHEMAS_COLUMNS_H

#include <stddef.h>

enum tbp_column_type { TBP_COLUMN_NUMBER, TBP_COLUMN_STRING, TBP_COLUMN_BOOLEAN };

struct tbp_column {
    const char *id;
    enum tbp_column_type type;
    const char *label;
    const char *role; /* NULL, or p.role ("tooltip", "interval") */
};

struct tbp_columns {
    const char *name; /* which table, for `tbprof tools` and tests */
    const struct tbp_column *at;
    size_t n;
};

/* One line per table; definitions in columns.c. */
#define TBP_COLUMN_TABLES(X)                                                                       \
    X(framework_op_stats)          /* 19 columns, no GPU */                                        \
    X(framework_op_stats_gpu)      /* 20 columns */                                                \
    X(tensorflow_stats_legacy)     /* 13 columns, up to 2.19 */                                    \
    X(tensorflow_stats_legacy_gpu) /* 14 columns */                                                \
    X(kernel_stats)                                                                                \
    X(kernel_stats_legacy) /* labels up to 2.19 */                                                 \
    X(overview_ops)        /* no GPU */                                                            \
    X(overview_ops_gpu)                                                                            \
    X(overview_latency)                                                                            \
    X(overview_latency_legacy)                                                                     \
    X(run_environment)                                                                             \
    X(recommendation)                                                                              \
    X(recommendation_legacy)                                                                       \
    X(diagnostics)                                                                                 \
    X(diagnostics_legacy) /* labels in lower case */                                               \
    X(steps)              /* CPU, GPU */                                                           \
    X(steps_legacy)                                                                                \
    X(steps_tpu)        /* without SparseCore planes */                                            \
    X(steps_tpu_sparse) /* with SparseCore planes: no scv0 columns */                              \
    X(input_ops)                                                                                   \
    X(input_advice)                                                                                \
    X(tf_data_graph)                                                                               \
    X(tf_data_latency)                                                                             \
    X(tf_data_bottleneck)

#define X(name) extern const struct tbp_columns tbp_columns_##name;
TBP_COLUMN_TABLES(X)
#undef X
extern const struct tbp_columns *const tbp_column_tables[]; /* NULL-terminated */

#endif
