/* SPDX-License-Identifier: Apache-2.0
 *
 * Page "Framework Op Stats" (older name: tensorflow_stats): two tables of the 500 longest ops of
 * the devices and of the host, with and without idle time. Source: spec tables/RULES.md 10
 * and 17.5, reference plugin_contract 4.3 and 6.6.
 */
#include "convert/tool/tool.h"

#include "convert/analyze/op_name.h"
#include "convert/analyze/run_environment.h"
#include "plugin_data/gviz_out.h"
#include "schemas/wire.h"

enum { OPS_MAX = 500 };

enum layout {
    LAYOUT_NEWEST,
    LAYOUT_LEGACY, /* 13 columns of plugins up to 2.19 and of TensorFlow, no properties */
};

struct page {
    enum layout layout;
    bool has_gpu;
    const struct tbp_run_environment *env;
    const struct tbp_kernel_table *kernels;
    struct side {
        const struct tbp_op_table *table;
        const struct tbp_op **ops; /* as shown */
        size_t n;
    } device, host;
    struct tbp_arena arena;
};

struct row {
    const struct tbp_op *op;
    uint64_t rank;
    bool is_device;
    double total_us, self_us, share, cumulative;
    double tensor_core; /* part of the op's kernel time on tensor cores */
};

typedef void row_fn(void *ctx, const struct page *p, const struct row *r);

static double us_of(uint64_t ps) {
    return (double)ps / 1e6;
}

static double tensor_core_share(const struct page *p, const struct tbp_op *op) {
    const struct tbp_kernel_op *k = tbp_kernel_op_find(p->kernels, op->name);
    return k ? tbp_ratio((double)k->tensor_core_ps, (double)k->total_ps) : 0;
}

static void each_row_of_side(const struct page *p, const struct side *side, bool with_idle,
                             uint64_t *rank, row_fn *fn, void *ctx) {
    const struct tbp_op_table *t = side->table;
    double whole_us = us_of(with_idle ? t->total_ps : t->total_op_ps), cumulative = 0;
    for (size_t i = 0; i < side->n; i++) {
        const struct tbp_op *op = side->ops[i];
        if (!with_idle && tbp_op_is_idle(op)) {
            continue;
        }
        struct row r = {.op = op, .is_device = side == &p->device};
        r.rank = ++*rank;
        r.total_us = us_of(op->time_ps);
        r.self_us = us_of(op->self_ps);
        r.share = tbp_ratio(r.self_us, whole_us);
        cumulative += r.share;
        r.cumulative = cumulative;
        r.tensor_core = r.is_device ? tensor_core_share(p, op) : 0;
        fn(ctx, p, &r);
    }
}

static void each_row(const struct page *p, bool with_idle, row_fn *fn, void *ctx) {
    uint64_t rank = 0;
    each_row_of_side(p, &p->device, with_idle, &rank, fn, ctx);
    each_row_of_side(p, &p->host, with_idle, &rank, fn, ctx);
}

/* ---- JSON ---- */
static void put_newest_cells(struct tbp_gviz *g, const struct page *p, const struct row *r) {
    struct tbp_roofline roof = tbp_op_roofline(r->op, p->env);
    tbp_gviz_num(g, roof.gflops);
    tbp_gviz_num(g, roof.model_gflops);
    tbp_gviz_num(g, roof.gibs);
    tbp_gviz_num(g, roof.flop_per_byte);
    if (p->has_gpu) {
        tbp_gviz_num(g, r->tensor_core);
    }
    tbp_gviz_str(g, tbp_str_c(roof.bound_by));
    tbp_gviz_str(g, r->op->is_eager ? TBP_STR("Eager") : TBP_STR("Function"));
}

static void put_row(void *ctx, const struct page *p, const struct row *r) {
    struct tbp_gviz *g = ctx;
    double n = (double)r->op->occurrences;
    tbp_gviz_row(g);
    tbp_gviz_num(g, (double)r->rank);
    tbp_gviz_str(g, r->is_device ? TBP_STR("Device") : TBP_STR("Host"));
    tbp_gviz_str(g, r->op->category);
    tbp_gviz_str(g, r->op->name);
    tbp_gviz_num(g, n);
    tbp_gviz_num(g, r->total_us);
    tbp_gviz_num(g, tbp_ratio(r->total_us, n));
    tbp_gviz_num(g, r->self_us);
    tbp_gviz_num(g, tbp_ratio(r->self_us, n));
    tbp_gviz_num(g, r->is_device ? r->share : 0);
    tbp_gviz_num(g, r->is_device ? r->cumulative : 0);
    tbp_gviz_num(g, r->is_device ? 0 : r->share);
    tbp_gviz_num(g, r->is_device ? 0 : r->cumulative);
    if (p->layout == LAYOUT_NEWEST) {
        put_newest_cells(g, p, r);
    } else if (p->has_gpu) {
        tbp_gviz_num(g, r->tensor_core);
    }
}

static void find_gradient(void *ctx, const struct page *p, const struct row *r) {
    bool *is_training = ctx;
    (void)p;
    *is_training |= tbp_op_has_gradient_evidence(r->op->name, r->op->category);
}

static const struct tbp_columns *columns_of(const struct page *p) {
    if (p->layout == LAYOUT_NEWEST) {
        return p->has_gpu ? &tbp_columns_framework_op_stats_gpu : &tbp_columns_framework_op_stats;
    }
    return p->has_gpu ? &tbp_columns_tensorflow_stats_legacy_gpu
                      : &tbp_columns_tensorflow_stats_legacy;
}

static void put_table(struct tbp_json *j, const struct page *p, bool with_idle) {
    const struct tbp_columns *columns = columns_of(p);
    struct tbp_gviz g;
    tbp_gviz_begin(&g, j, columns->at, columns->n);
    if (p->layout == LAYOUT_NEWEST) {
        bool is_training = false;
        each_row(p, with_idle, find_gradient, &is_training);
        tbp_gviz_prop_c(&g, "architecture_type", "Unknown");
        tbp_gviz_prop_c(&g, "task_type", is_training ? "Training" : "Inference");
    }
    each_row(p, with_idle, put_row, &g);
    tbp_gviz_end(&g);
}

/* ---- the page ---- */
/* Plugins up to 2.19 compared the whole text, so that GPUs with a known model lost the column. */
static bool shows_gpu(const struct page *p, enum tbp_semantics semantics) {
    if (p->layout == LAYOUT_NEWEST) {
        return tbp_str_has(p->env->device_type, "GPU");
    }
    return semantics == TBP_SEMANTICS_OFFICIAL ? tbp_str_is(p->env->device_type, "GPU")
                                               : p->env->hardware == TBP_HARDWARE_GPU;
}

static int open_page(struct page *p, struct tbp_session *s, const struct tbp_request *r,
                     struct tbp_error *err) {
    bool is_old = tbp_session_semantics(s) == TBP_SEMANTICS_TF;
    *p = (struct page){.layout = is_old || r->dialect == TBP_DIALECT_LEGACY ? LAYOUT_LEGACY
                                                                            : LAYOUT_NEWEST};
    p->env = tbp_run_environment(s, r->host, err);
    p->kernels = p->env ? tbp_kernels(s, r->host, err) : NULL;
    p->device.table = p->kernels ? tbp_framework_ops(s, r->host, err) : NULL;
    p->host.table = p->device.table ? tbp_host_ops(s, r->host, err) : NULL;
    if (!p->host.table) {
        return tbp_cause(err, "while making framework_op_stats");
    }
    p->has_gpu = shows_gpu(p, tbp_session_semantics(s));
    tbp_arena_init(&p->arena);
    p->device.n = tbp_op_table_sorted(p->device.table, OPS_MAX, &p->arena, &p->device.ops);
    p->host.n = tbp_op_table_sorted(p->host.table, OPS_MAX, &p->arena, &p->host.ops);
    return TBP_OK;
}

static int write_json(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                      struct tbp_error *err) {
    struct page p;
    int status = open_page(&p, s, r, err);
    if (status != TBP_OK) {
        return status;
    }
    struct tbp_json j;
    tbp_json_init(&j, out);
    tbp_json_char(&j, '[');
    put_table(&j, &p, true);
    tbp_json_char(&j, ',');
    put_table(&j, &p, false);
    tbp_json_char(&j, ']');
    tbp_arena_release(&p.arena);
    return tbp_json_finish(&j, err);
}

/* ---- tensorflow_stats.pb: TfStatsDatabase, reference plugin_contract 6.6 ---- */
enum { PB_WITH_IDLE = 4, PB_WITHOUT_IDLE = 5, PB_DEVICE_TYPE = 6, PB_TABLE_RECORD = 1 };

static void put_pb_double(struct tbp_wire_out *o, uint32_t field, double v) {
    if (v != 0) {
        tbp_wire_put_double(o, field, v);
    }
}

static void put_pb_record(void *ctx, const struct page *p, const struct row *r) {
    struct tbp_wire_out *o = ctx;
    struct tbp_roofline roof = tbp_op_roofline(r->op, p->env);
    double n = (double)r->op->occurrences;
    size_t mark = tbp_wire_begin(o, PB_TABLE_RECORD);
    tbp_wire_put_u64(o, 1, r->rank);
    tbp_wire_put_str(o, 2, r->is_device ? TBP_STR("Device") : TBP_STR("Host"));
    tbp_wire_put_str(o, 3, r->op->category);
    tbp_wire_put_str(o, 4, r->op->name);
    tbp_wire_put_u64(o, 5, r->op->occurrences);
    put_pb_double(o, 6, r->total_us);
    put_pb_double(o, 7, tbp_ratio(r->total_us, n));
    put_pb_double(o, 8, r->self_us);
    put_pb_double(o, 9, tbp_ratio(r->self_us, n));
    put_pb_double(o, r->is_device ? 10 : 12, r->share);
    put_pb_double(o, r->is_device ? 11 : 13, r->cumulative);
    put_pb_double(o, 14, roof.gflops);
    put_pb_double(o, 15, roof.gibs);
    put_pb_double(o, 16, roof.flop_per_byte);
    tbp_wire_put_str(o, 17, tbp_str_c(roof.bound_by));
    tbp_wire_put_u64(o, 18, r->op->is_eager);
    put_pb_double(o, 19, r->tensor_core);
    put_pb_double(o, 20, roof.model_gflops);
    tbp_wire_end(o, mark);
}

static int write_pb(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                    struct tbp_error *err) {
    struct page p;
    int status = open_page(&p, s, r, err);
    if (status != TBP_OK) {
        return status;
    }
    struct tbp_wire_out o = {0};
    for (int i = 0; i < 2; i++) {
        size_t mark = tbp_wire_begin(&o, i == 0 ? PB_WITH_IDLE : PB_WITHOUT_IDLE);
        each_row(&p, i == 0, put_pb_record, &o);
        tbp_wire_end(&o, mark);
    }
    /* the reader shows the tensor-core column for this very text only */
    tbp_wire_put_str(&o, PB_DEVICE_TYPE, p.has_gpu ? TBP_STR("GPU") : p.env->device_type);
    status = tbp_sink_write(out, o.at, o.n, err);
    tbp_wire_out_release(&o);
    tbp_arena_release(&p.arena);
    return status;
}

static const struct tbp_analysis *const needs[] = {
    &tbp_analysis_run_environment,
    &tbp_analysis_host_ops,
    &tbp_analysis_framework_ops,
    &tbp_analysis_kernels,
    NULL,
};

const struct tbp_tool tbp_tool_framework_op_stats = {
    .name = "framework_op_stats",
    .legacy_name = "tensorflow_stats",
    .help = "ops of host and devices by time",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .file = "tensorflow_stats.json",
    .pb_file = "tensorflow_stats.pb",
    .needs = needs,
    .write = write_json,
    .write_pb = write_pb,
};
