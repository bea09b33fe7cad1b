/* SPDX-License-Identifier: Apache-2.0
 *
 * Page "Kernel Stats": the 1000 longest kernels with their launch geometry. Source: spec
 * tables/RULES.md 11, 16 and 17.4, reference plugin_contract 4.4 and 6.7.
 */
#include "convert/tool/tool.h"

#include "convert/analyze/kernel_table.h"
#include "plugin_data/gviz_out.h"
#include "schemas/wire.h"

#include <stdio.h>

/* Whole nanoseconds are divided as such, so that the last digit is the official one. */
static double us_of(uint64_t ps) {
    return ps % 1000 == 0 ? (double)(ps / 1000) / 1000.0 : (double)ps / 1e6;
}

/* Newest: whole nanoseconds per launch. The older pages, and kernels with parts of a nanosecond:
 * the exact quotient. */
static double average_us(const struct tbp_kernel *k, bool is_exact) {
    double n = (double)k->occurrences;
    if (k->has_sub_ns) {
        return (double)k->total_ps / n / 1e6;
    }
    uint64_t total_ns = k->total_ps / 1000;
    return is_exact ? (double)total_ns / n / 1000.0 : (double)(total_ns / k->occurrences) / 1000.0;
}

static void put_dim(struct tbp_gviz *g, const uint32_t dim[3]) {
    char text[40]; /* three times ten digits, two commas */
    int n = snprintf(text, sizeof text, "%u,%u,%u", dim[0], dim[1], dim[2]);
    tbp_gviz_str(g, (struct tbp_str){text, (size_t)n});
}

static void put_kernel(struct tbp_gviz *g, size_t rank, const struct tbp_kernel *k, bool is_old) {
    const struct tbp_kernel_launch *l = &k->launch;
    tbp_gviz_row(g);
    tbp_gviz_num(g, (double)rank);
    tbp_gviz_str(g, k->name);
    tbp_gviz_num(g, l->registers);
    tbp_gviz_num(g, (uint32_t)(l->static_shmem_bytes + l->dynamic_shmem_bytes));
    put_dim(g, l->block);
    put_dim(g, l->grid);
    tbp_gviz_num(g, (double)l->occupancy_pct);
    tbp_gviz_bool(g, k->is_op_eligible);
    tbp_gviz_bool(g, k->uses_tensor_core);
    tbp_gviz_str(g, k->op_name);
    tbp_gviz_num(g, (double)k->occurrences);
    tbp_gviz_num(g, us_of(k->total_ps));
    tbp_gviz_num(g, average_us(k, is_old));
    tbp_gviz_num(g, us_of(k->min_ps));
    tbp_gviz_num(g, us_of(k->max_ps));
}

/* Older plugins and TensorFlow wrap the table in a list. */
static int write_json(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                      struct tbp_error *err) {
    const struct tbp_kernel_table *t = tbp_kernels(s, r->host, err);
    if (!t) {
        return tbp_cause(err, "while making kernel_stats");
    }
    bool is_old = r->dialect == TBP_DIALECT_LEGACY || tbp_session_semantics(s) == TBP_SEMANTICS_TF;
    const struct tbp_columns *columns =
        is_old ? &tbp_columns_kernel_stats_legacy : &tbp_columns_kernel_stats;
    struct tbp_json j;
    struct tbp_gviz g;
    tbp_json_init(&j, out);
    tbp_json_lit(&j, is_old ? "[" : "");
    tbp_gviz_begin(&g, &j, columns->at, columns->n);
    for (size_t i = 0; i < t->n_kernels; i++) {
        put_kernel(&g, i + 1, &t->kernels[i], is_old);
    }
    tbp_gviz_end(&g);
    tbp_json_lit(&j, is_old ? "]" : "");
    return tbp_json_finish(&j, err);
}

/* ---- kernel_stats.pb: KernelStatsDb, reference plugin_contract 6.7 ---- */
static void put_pb_dim(struct tbp_wire_out *o, uint32_t field, const uint32_t dim[3]) {
    for (int i = 0; i < 3; i++) {
        tbp_wire_put_u64(o, field, dim[i]);
    }
}

static void put_pb_kernel(struct tbp_wire_out *o, const struct tbp_kernel *k) {
    const struct tbp_kernel_launch *l = &k->launch;
    size_t mark = tbp_wire_begin(o, 1);
    tbp_wire_put_str(o, 1, k->name);
    tbp_wire_put_u64(o, 2, l->registers);
    tbp_wire_put_u64(o, 3, l->static_shmem_bytes);
    tbp_wire_put_u64(o, 4, l->dynamic_shmem_bytes);
    put_pb_dim(o, 5, l->block);
    put_pb_dim(o, 6, l->grid);
    tbp_wire_put_u64(o, 7, k->total_ps / 1000);
    tbp_wire_put_u64(o, 8, k->min_ps / 1000);
    tbp_wire_put_u64(o, 9, k->max_ps / 1000);
    tbp_wire_put_u64(o, 10, k->uses_tensor_core);
    tbp_wire_put_u64(o, 11, k->is_op_eligible);
    tbp_wire_put_str(o, 12, k->op_name);
    tbp_wire_put_u64(o, 13, (uint32_t)k->occurrences);
    tbp_wire_put_float(o, 14, l->occupancy_pct);
    tbp_wire_end(o, mark);
}

static int write_pb(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                    struct tbp_error *err) {
    const struct tbp_kernel_table *t = tbp_kernels(s, r->host, err);
    if (!t) {
        return tbp_cause(err, "while making kernel_stats.pb");
    }
    struct tbp_wire_out o = {0};
    for (size_t i = 0; i < t->n_kernels; i++) {
        put_pb_kernel(&o, &t->kernels[i]);
    }
    int status = tbp_sink_write(out, o.at, o.n, err);
    tbp_wire_out_release(&o);
    return status;
}

static const struct tbp_analysis *const needs[] = {
    &tbp_analysis_kernels,
    NULL,
};

const struct tbp_tool tbp_tool_kernel_stats = {
    .name = "kernel_stats",
    .help = "GPU kernels by time, with launch geometry",
    .scope = TBP_SCOPE_HOST | TBP_SCOPE_ALL_HOSTS,
    .file = "kernel_stats.json",
    .pb_file = "kernel_stats.pb",
    .wanted = TBP_WANTED_KERNELS,
    .needs = needs,
    .write = write_json,
    .write_pb = write_pb,
};
