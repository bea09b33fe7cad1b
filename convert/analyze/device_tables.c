/* SPDX-License-Identifier: Apache-2.0
 *
 * Device ops, framework ops and kernels as analyses: per host out of the pass over device events,
 * for all hosts out of the hosts' tables. Source: spec tables/RULES.md 9.7, 10.1, 11 and 14.
 */
#include "convert/analyze/gpu_pass.h"
#include "convert/analyze/kernel_table.h"
#include "convert/analyze/op_name.h"

typedef const struct tbp_op_table *op_table_fn(struct tbp_session *s, uint32_t host,
                                               struct tbp_error *err);

/* Sum of the hosts' tables in order of the hosts. */
static int add_hosts(struct tbp_session *s, op_table_fn *of_host, struct tbp_arena *out,
                     void **table, struct tbp_error *err) {
    struct tbp_op_builder sum = {0};
    for (uint32_t i = 0; i < tbp_session_n_hosts(s); i++) {
        const struct tbp_op_table *t = of_host(s, i, err);
        if (!t) {
            tbp_op_builder_release(&sum);
            return tbp_cause(err, "while adding up host %u", (unsigned)i);
        }
        tbp_op_builder_add_table(&sum, t);
    }
    *table = tbp_op_builder_finish(&sum, out);
    return TBP_OK;
}

int tbp_host_ops_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                        struct tbp_error *err) {
    return add_hosts(s, tbp_host_ops, out, table, err);
}

static int device_ops_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                             struct tbp_error *err) {
    return add_hosts(s, tbp_device_ops, out, table, err);
}

static int device_ops_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                              void **table, struct tbp_error *err) {
    const struct tbp_gpu_pass *pass = tbp_gpu_pass(s, host, err);
    (void)out;
    if (!pass) {
        return tbp_cause(err, "while summing device ops");
    }
    *table = (void *)(uintptr_t)pass->ops;
    return TBP_OK;
}

static struct tbp_op_name framework_op_of(const struct tbp_op *op, enum tbp_semantics semantics) {
    if (tbp_op_is_idle(op)) {
        return (struct tbp_op_name){.name = TBP_STR(TBP_IDLE), .type = TBP_STR(TBP_IDLE)};
    }
    if (op->provenance.n == 0) {
        return (struct tbp_op_name){.name = op->name, .type = TBP_STR_NONE};
    }
    return tbp_op_name_parse_for(op->provenance, semantics);
}

/* One row per framework op: kernels of one op add their times, but run as often as the most
 * frequent of them; the eager flag is the last contributor's. */
static struct tbp_op_table *framework_of(const struct tbp_op_table *device,
                                         enum tbp_semantics semantics, struct tbp_arena *out) {
    struct tbp_op_builder b = {0};
    for (size_t i = 0; i < device->n_ops; i++) {
        const struct tbp_op *d = &device->ops[i];
        struct tbp_op_name parsed = framework_op_of(d, semantics);
        struct tbp_op *op = tbp_op_builder_op(&b, 0, parsed.name);
        if (op->category.n == 0) {
            op->category = parsed.type.n > 0 ? parsed.type : TBP_STR("Unknown");
        }
        op->is_eager = d->is_eager;
        op->occurrences = d->occurrences > op->occurrences ? d->occurrences : op->occurrences;
        op->time_ps += d->time_ps;
        op->self_ps += d->self_ps;
        op->flops += d->flops;
        op->model_flops += d->model_flops;
        op->bytes += d->bytes;
    }
    b.totals.total_op_ps = device->total_op_ps;
    b.totals.total_ps = device->total_ps;
    return tbp_op_builder_finish(&b, out);
}

static int framework_ops_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                                 void **table, struct tbp_error *err) {
    const struct tbp_op_table *device = tbp_device_ops(s, host, err);
    if (!device) {
        return tbp_cause(err, "while uniting device ops");
    }
    *table = framework_of(device, tbp_session_semantics(s), out);
    return TBP_OK;
}

static int framework_ops_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                                struct tbp_error *err) {
    return framework_ops_of_host(s, TBP_ALL_HOSTS, out, table, err);
}

const struct tbp_analysis tbp_analysis_device_ops = {
    .name = "device_ops",
    .help = "ops of the devices with times, FLOPs and bytes",
    .host = device_ops_of_host,
    .all = device_ops_of_all,
};

const struct tbp_analysis tbp_analysis_framework_ops = {
    .name = "framework_ops",
    .help = "device ops united by framework op",
    .host = framework_ops_of_host,
    .all = framework_ops_of_all,
};

const struct tbp_op_table *tbp_device_ops(struct tbp_session *s, uint32_t host,
                                          struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_device_ops, host, err);
}

const struct tbp_op_table *tbp_framework_ops(struct tbp_session *s, uint32_t host,
                                             struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_framework_ops, host, err);
}

/* ---- kernels ---- */

static int kernels_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                           void **table, struct tbp_error *err) {
    const struct tbp_gpu_pass *pass = tbp_gpu_pass(s, host, err);
    (void)out;
    if (!pass) {
        return tbp_cause(err, "while summing kernels");
    }
    *table = (void *)(uintptr_t)pass->kernels;
    return TBP_OK;
}

/* Hosts are listed together; equal kernels of two hosts stay two rows. */
static int kernels_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                          struct tbp_error *err) {
    uint32_t n_hosts = tbp_session_n_hosts(s);
    struct tbp_kernel *kernels =
        TBP_NEW_N(out, struct tbp_kernel, (size_t)n_hosts * TBP_KERNELS_MAX);
    size_t n = 0;
    for (uint32_t i = 0; i < n_hosts; i++) {
        const struct tbp_kernel_table *t = tbp_kernels(s, i, err);
        if (!t) {
            return tbp_cause(err, "while summing kernels of host %u", (unsigned)i);
        }
        if (t->n_kernels > 0) {
            memcpy(kernels + n, t->kernels, t->n_kernels * sizeof *kernels);
        }
        n += t->n_kernels;
    }
    *table = tbp_kernel_table_make(kernels, n, false, out);
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_kernels = {
    .name = "kernels",
    .help = "kernels by name, launch and op",
    .host = kernels_of_host,
    .all = kernels_of_all,
};

const struct tbp_kernel_table *tbp_kernels(struct tbp_session *s, uint32_t host,
                                           struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_kernels, host, err);
}
