/* SPDX-License-Identifier: Apache-2.0
 *
 * Device ops of TPU planes: the ops of op lines, nested by the device's clock, told apart by
 * program and symbol. What one execution costs stands in the event metadata; see tpu_ops.h.
 */
#include "convert/analyze/tpu_ops.h"

#include "convert/analyze/tpu_duty.h"
#include "convert/analyze/tpu_op_sums.h"
#include "convert/model/stats.h"

struct window {
    uint64_t first_ps, last_ps;
    bool is_empty;
};

static void widen(struct window *w, struct tbp_tpu_span s) {
    if (w->is_empty || s.begin_ps < w->first_ps)
        w->first_ps = s.begin_ps;
    if (s.end_ps > w->last_ps)
        w->last_ps = s.end_ps;
    w->is_empty = false;
}

/* Events of a framework op: tf_op of the event, else of its metadata. */
static bool is_framework_event(const struct tbp_line *l, size_t i, const struct tbp_tpu_op *ops) {
    struct tbp_stat st;
    if ((l->ev.has[i] & TBP_HAS_TF_OP) != 0 && tbp_event_stat(l, i, TBP_STAT_TF_OP, &st))
        return tbp_stat_s(&st).n > 0;
    return ops[l->ev.meta[i]].is_framework_op;
}

/* On load the official tool copies framework ops of any line to a line of their own. The copies add
 * nothing to any op, but their time by the host's clock widens the window. */
static void widen_by_framework_ops(struct window *w, const struct tbp_line *l,
                                   const struct tbp_tpu_op *ops) {
    if (l->is_derived || l->metas != l->plane->metas)
        return;
    for (size_t i = 0; i < l->ev.n; i++)
        if (is_framework_event(l, i, ops))
            widen(w, (struct tbp_tpu_span){l->ev.start_ps[i], tbp_event_end(l, i)});
}

static void add_line(struct tbp_tpu_op_sums *sums, const struct tbp_line *l) {
    struct tbp_tpu_nest nest;
    struct tbp_tpu_node node;
    tbp_tpu_nest_begin(&nest, l);
    for (size_t i = 0; i < l->ev.n; i++) {
        tbp_tpu_nest_add(&nest, i);
        while (tbp_tpu_nest_pop(&nest, &node))
            tbp_tpu_op_sums_add(sums, l, &node);
    }
    tbp_tpu_nest_end(&nest);
    while (tbp_tpu_nest_pop(&nest, &node))
        tbp_tpu_op_sums_add(sums, l, &node);
    tbp_tpu_nest_release(&nest);
}

static void enter(struct tbp_op_builder *b, const struct tbp_tpu_op_sum *sum) {
    const struct tbp_tpu_op *op = sum->op;
    struct tbp_op *out = tbp_op_builder_op(b, op->program_id, op->name);
    if (out->category.n == 0)
        out->category = op->category;
    if (out->provenance.n == 0)
        out->provenance = op->provenance;
    out->is_host_transfer |=
        tbp_str_has(op->text, "send-done") && tbp_str_has(op->text, "is_host_transfer=true");
    out->occurrences += sum->n;
    out->time_ps += sum->time_ps;
    out->self_ps += sum->self_ps;
    out->flops += (double)op->flops * (double)sum->n;
    uint64_t model_flops = op->model_flops != 0 ? op->model_flops : op->flops;
    out->model_flops += (double)model_flops * (double)sum->n;
    out->bytes += op->bytes * sum->n;
    b->totals.total_op_ps += sum->self_ps;
}

static void add_plane(struct tbp_op_builder *into, const struct tbp_plane *p,
                      const struct tbp_tpu_op *ops) {
    struct tbp_op_builder b = {0};
    struct tbp_tpu_op_sums sums = {0};
    struct window w = {.is_empty = true};
    tbp_tpu_op_sums_init(&sums, p, ops);
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct tbp_line *l = &p->lines[i];
        bool has_ops = tbp_tpu_is_op_line(l->name);
        if (has_ops || tbp_tpu_is_step_line(l->name))
            for (size_t k = 0; k < l->ev.n; k++)
                widen(&w, tbp_tpu_event_span(l, k));
        widen_by_framework_ops(&w, l, ops);
        if (has_ops)
            add_line(&sums, l);
    }
    for (size_t i = 0; i < sums.sums.n; i++)
        enter(&b, &sums.sums.at[i]);
    /* an empty plane's window: 0 minus the largest unsigned number */
    tbp_op_builder_close(&b, w.is_empty ? 1 : w.last_ps - w.first_ps, TBP_SEMANTICS_OFFICIAL);
    tbp_op_builder_add(into, &b);
    tbp_op_builder_release(&b);
    tbp_tpu_op_sums_release(&sums);
}

int tbp_tpu_ops_add(const struct tbp_host *host, struct tbp_arena *arena,
                    struct tbp_op_builder *into, struct tbp_error *err) {
    const struct tbp_tpu_op **ops = TBP_NEW_N(arena, const struct tbp_tpu_op *, host->n_planes);
    (void)err;
    for (size_t i = 0; i < host->n_planes; i++) {
        const struct tbp_plane *p = &host->planes[i];
        int64_t ordinal;
        if (!tbp_is_tpu_plane(p->name))
            continue;
        ops[i] = tbp_tpu_ops_of_plane(p, arena);
        if (!tbp_is_sparse_core_plane(p->name, &ordinal))
            add_plane(into, p, ops[i]);
    }
    struct tbp_tpu_duty duty = tbp_tpu_duty_of_host(host, ops);
    into->totals.busy_ps += duty.busy_ps;
    into->totals.idle_ps += duty.idle_ps;
    into->totals.sure_busy_ps += duty.sure_busy_ps;
    into->totals.sure_idle_ps += duty.sure_idle_ps;
    return TBP_OK;
}
