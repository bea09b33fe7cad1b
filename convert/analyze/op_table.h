/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of op metrics: ops of the host, of the devices, and framework ops of the devices, each per
 * host and for all hosts together. Source: spec tables/RULES.md 6, 7, 10 and 14.
 *
 *   const struct tbp_op_table *t = tbp_framework_ops(session, TBP_ALL_HOSTS, err);
 *
 * All times are picoseconds. Sums are modulo 2^64. Order of ops = first appearance in the file,
 * which decides nothing but ties; tbp_op_table_sorted gives the order in which tables are shown.
 * Ownership: the session's arena; texts borrow from the hosts' bytes. Const after creation.
 */
#ifndef TBP_CONVERT_ANALYZE_OP_TABLE_H
#define TBP_CONVERT_ANALYZE_OP_TABLE_H

#include "base/vec.h"
#include "convert/analyze/session.h"

#define TBP_IDLE "IDLE"

/* Memory spaces of the byte breakdown (TPU); GPU ops carry none: all their bytes count as HBM. */
enum tbp_op_bytes {
    TBP_BYTES_HBM,
    TBP_BYTES_CMEM_READ,
    TBP_BYTES_CMEM_WRITE,
    TBP_BYTES_VMEM_READ,
    TBP_BYTES_VMEM_WRITE,
    TBP_BYTES_KINDS
};

struct tbp_op {
    uint64_t module; /* program id (device), stage id (input stages of the host), else 0 */
    struct tbp_str name;
    struct tbp_str category; /* op type; TBP_IDLE marks time without ops */
    struct tbp_str
        provenance; /* full framework name of a device op ("scope/op:Type"), may be empty */
    bool is_eager;
    bool is_host_transfer; /* send-done between device and host (outside compilation) */
    bool has_breakdown;    /* bytes_by is filled */
    uint64_t occurrences;
    uint64_t time_ps, self_ps;
    double flops; /* device FLOPs, adjusted for narrow types */
    double model_flops;
    uint64_t bytes;
    uint64_t bytes_by[TBP_BYTES_KINDS];
};

struct tbp_op_table {
    struct tbp_op *ops;
    size_t n_ops;
    uint64_t total_ps;                           /* window, including idle time */
    uint64_t total_op_ps;                        /* sum of self times */
    uint64_t infeed_duration_ps, infeed_diff_ps; /* of InfeedEnqueue ops that have a next one */
    uint64_t busy_ps, idle_ps;                   /* duty cycle; TPU only */
    uint64_t sure_busy_ps,
        sure_idle_ps; /* the same, custom calls of unknown cost not counted as work */
};

extern const struct tbp_analysis tbp_analysis_host_ops;
extern const struct tbp_analysis tbp_analysis_device_ops;
extern const struct tbp_analysis tbp_analysis_framework_ops;

/* Ops of the host planes. */
const struct tbp_op_table *tbp_host_ops(struct tbp_session *s, uint32_t host,
                                        struct tbp_error *err);
/* Ops of the device planes: XLA ops by program, framework ops by op and kernel. */
const struct tbp_op_table *tbp_device_ops(struct tbp_session *s, uint32_t host,
                                          struct tbp_error *err);
/* Device ops united by framework op, with the idle record; "without idle" is this table minus ops
 * of type IDLE, with total_op_ps as its total. */
const struct tbp_op_table *tbp_framework_ops(struct tbp_session *s, uint32_t host,
                                             struct tbp_error *err);

static inline bool tbp_op_is_idle(const struct tbp_op *op) {
    return tbp_str_is(op->category, TBP_IDLE);
}

/* The first min(n, limit) ops by (self time descending, name ascending); limit 0: all. Idle ops
 * count. Returns their number; *out is made in arena a. */
size_t tbp_op_table_sorted(const struct tbp_op_table *t, size_t limit, struct tbp_arena *a,
                           const struct tbp_op ***out);

/* Sums that the overview shows (RULES 12). */
uint64_t tbp_op_table_occurrences(const struct tbp_op_table *t);
uint64_t
tbp_op_table_busy_ps(const struct tbp_op_table *t); /* self time of ops that are not IDLE */
uint64_t tbp_op_table_eager_ps(const struct tbp_op_table *t); /* the eager part of it */

/* ---- for the analyses that make tables ---- */
int tbp_host_ops_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                        struct tbp_error *err);
struct tbp_op_builder {
    struct tbp_op_table totals; /* sums so far; its ops stay unset */
    TBP_VEC(struct tbp_op) ops;
    struct tbp_strtab names;
    struct tbp_idmap modules; /* module -> number */
    struct tbp_idmap by_key;  /* module number, name number -> index in ops */
};
/* Op with this key, made (zeroed) if absent. Valid until the next call. Texts are not copied. */
struct tbp_op *tbp_op_builder_op(struct tbp_op_builder *b, uint64_t module, struct tbp_str name);
/* The same as an index, for callers that remember it. */
uint32_t tbp_op_builder_index(struct tbp_op_builder *b, uint64_t module, struct tbp_str name);
/* Sets the total and adds the idle record: total = max(op time, window), or the window (tf). */
void tbp_op_builder_close(struct tbp_op_builder *b, uint64_t window_ps,
                          enum tbp_semantics semantics);
/* Adds another line's, plane's or host's ops and totals; of texts the first not empty stays. */
void tbp_op_builder_add(struct tbp_op_builder *into, const struct tbp_op_builder *from);
/* The same for a later part of one plane: the first entry of an op also decides its eager flag. */
void tbp_op_builder_continue(struct tbp_op_builder *into, const struct tbp_op_builder *from);
void tbp_op_builder_add_table(struct tbp_op_builder *into, const struct tbp_op_table *from);
/* Copies the ops into the arena and releases the builder, which is then empty. */
struct tbp_op_table *tbp_op_builder_finish(struct tbp_op_builder *b, struct tbp_arena *a);
void tbp_op_builder_release(struct tbp_op_builder *b);

/* Quotient, 0 when |y| < 1e-10: the division of every table. */
static inline double tbp_ratio(double x, double y) {
    return y > -1e-10 && y < 1e-10 ? 0.0 : x / y;
}

#endif
