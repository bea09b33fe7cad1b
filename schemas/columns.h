/* SPDX-License-Identifier: Apache-2.0
 *
 * Column lists of every DataTable that tools answer: id, type, label. The single source of truth; the frontends find
 * columns by id. Tables are const and end with the count given beside them.
 */
#ifndef TBP_SCHEMAS_COLUMNS_H
#define TBP_SCHEMAS_COLUMNS_H

#include <stddef.h>

enum tbp_column_type { TBP_COLUMN_NUMBER, TBP_COLUMN_STRING, TBP_COLUMN_BOOLEAN };

struct tbp_column {
    const char *id;
    enum tbp_column_type type;
    const char *label;
    const char *role; /* NULL, or p.role ("tooltip") */
};

struct tbp_columns {
    const char *name; /* which table, for `tbprof tools` and tests */
    const struct tbp_column *at;
    size_t n;
};

/* One line per table; definitions in columns.c. */
#define TBP_COLUMN_TABLES(X) \
    X(framework_op_stats)            /* 19 columns, no GPU */ \
    X(framework_op_stats_gpu)        /* 20 columns */ \
    X(tensorflow_stats_legacy)       /* 13 columns */ \
    X(tensorflow_stats_legacy_gpu)   /* 14 columns */ \
    X(kernel_stats) \
    X(overview_ops) \
    X(overview_ops_gpu) \
    X(overview_latency) \
    X(run_environment) \
    X(recommendation) \
    X(diagnostics) \
    X(steps) \
    X(steps_tpu) \
    X(input_ops) \
    X(input_advice)

#define X(name) extern const struct tbp_columns tbp_columns_##name;
TBP_COLUMN_TABLES(X)
#undef X
extern const struct tbp_columns *const tbp_column_tables[]; /* NULL-terminated */

#endif
