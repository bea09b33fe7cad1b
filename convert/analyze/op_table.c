/* SPDX-License-Identifier: Apache-2.0
 *
 * Building, uniting and ordering tables of op metrics. An op is found by (module, name): both get
 * numbers, and the pair of numbers leads to the op.
 */
#include "convert/analyze/op_table.h"

#include "base/sort.h"

#include <string.h>

uint32_t tbp_op_builder_index(struct tbp_op_builder *b, uint64_t module, struct tbp_str name) {
    bool is_new;
    uint32_t *number = tbp_idmap_put(&b->modules, module, &is_new);
    if (is_new) {
        *number = (uint32_t)(b->modules.n - 1);
    }
    uint64_t key = (uint64_t)*number << 32 | tbp_strtab_put(&b->names, name);
    uint32_t *at = tbp_idmap_put(&b->by_key, key, &is_new);
    if (is_new) {
        *at = (uint32_t)b->ops.n;
        *tbp_vec_push(&b->ops) = (struct tbp_op){
            .module = module, .name = name, .category = TBP_STR_NONE, .provenance = TBP_STR_NONE};
    }
    return *at;
}

struct tbp_op *tbp_op_builder_op(struct tbp_op_builder *b, uint64_t module, struct tbp_str name) {
    uint32_t at = tbp_op_builder_index(b, module, name);
    return &b->ops.at[at];
}

void tbp_op_builder_close(struct tbp_op_builder *b, uint64_t window_ps,
                          enum tbp_semantics semantics) {
    struct tbp_op_table *t = &b->totals;
    bool has_idle = window_ps > t->total_op_ps;
    t->total_ps = has_idle || semantics == TBP_SEMANTICS_TF ? window_ps : t->total_op_ps;
    struct tbp_op *idle = tbp_op_builder_op(b, 0, TBP_STR(TBP_IDLE));
    if (idle->category.n == 0) {
        idle->category = TBP_STR(TBP_IDLE);
    }
    uint64_t idle_ps = has_idle ? window_ps - t->total_op_ps : 0;
    idle->time_ps += idle_ps;
    idle->self_ps += idle_ps;
}

static void first_text(struct tbp_str *into, struct tbp_str from) {
    if (into->n == 0) {
        *into = from;
    }
}

static void add_numbers(struct tbp_op *into, const struct tbp_op *from) {
    into->occurrences += from->occurrences;
    into->time_ps += from->time_ps;
    into->self_ps += from->self_ps;
    into->flops += from->flops;
    into->model_flops += from->model_flops;
    into->bytes += from->bytes;
    into->has_breakdown |= from->has_breakdown;
    for (int i = 0; i < TBP_BYTES_KINDS; i++) {
        into->bytes_by[i] += from->bytes_by[i];
    }
}

static void add_totals(struct tbp_op_table *into, const struct tbp_op_table *from) {
    into->total_ps += from->total_ps;
    into->total_op_ps += from->total_op_ps;
    into->infeed_duration_ps += from->infeed_duration_ps;
    into->infeed_diff_ps += from->infeed_diff_ps;
    into->busy_ps += from->busy_ps;
    into->idle_ps += from->idle_ps;
    into->sure_busy_ps += from->sure_busy_ps;
    into->sure_idle_ps += from->sure_idle_ps;
}

static void add_ops(struct tbp_op_builder *into, const struct tbp_op *ops, size_t n,
                    bool first_is_eager) {
    for (size_t i = 0; i < n; i++) {
        size_t n_before = into->ops.n;
        struct tbp_op *op = tbp_op_builder_op(into, ops[i].module, ops[i].name);
        bool is_new = into->ops.n > n_before;
        first_text(&op->category, ops[i].category);
        first_text(&op->provenance, ops[i].provenance);
        op->is_eager |= ops[i].is_eager && (is_new || !first_is_eager);
        op->is_host_transfer |= ops[i].is_host_transfer;
        add_numbers(op, &ops[i]);
    }
}

void tbp_op_builder_add(struct tbp_op_builder *into, const struct tbp_op_builder *from) {
    add_totals(&into->totals, &from->totals);
    add_ops(into, from->ops.at, from->ops.n, false);
}

void tbp_op_builder_continue(struct tbp_op_builder *into, const struct tbp_op_builder *from) {
    add_totals(&into->totals, &from->totals);
    add_ops(into, from->ops.at, from->ops.n, true);
}

void tbp_op_builder_add_table(struct tbp_op_builder *into, const struct tbp_op_table *from) {
    add_totals(&into->totals, from);
    add_ops(into, from->ops, from->n_ops, false);
}

struct tbp_op_table *tbp_op_builder_finish(struct tbp_op_builder *b, struct tbp_arena *a) {
    struct tbp_op_table *t = TBP_NEW(a, struct tbp_op_table);
    *t = b->totals;
    t->n_ops = b->ops.n;
    t->ops = TBP_NEW_N(a, struct tbp_op, t->n_ops);
    if (t->n_ops > 0) {
        memcpy(t->ops, b->ops.at, t->n_ops * sizeof *t->ops);
    }
    tbp_op_builder_release(b);
    return t;
}

void tbp_op_builder_release(struct tbp_op_builder *b) {
    tbp_vec_release(&b->ops);
    tbp_strtab_release(&b->names);
    tbp_idmap_release(&b->modules);
    tbp_idmap_release(&b->by_key);
    *b = (struct tbp_op_builder){0};
}

static int compare_shown(const void *a, const void *b, void *ctx) {
    const struct tbp_op *x = *(const struct tbp_op *const *)a;
    const struct tbp_op *y = *(const struct tbp_op *const *)b;
    (void)ctx;
    if (x->self_ps != y->self_ps) {
        return x->self_ps > y->self_ps ? -1 : 1;
    }
    return tbp_str_cmp(x->name, y->name);
}

size_t tbp_op_table_sorted(const struct tbp_op_table *t, size_t limit, struct tbp_arena *a,
                           const struct tbp_op ***out) {
    const struct tbp_op **sorted = TBP_NEW_N(a, const struct tbp_op *, t->n_ops);
    for (size_t i = 0; i < t->n_ops; i++) {
        sorted[i] = &t->ops[i];
    }
    tbp_sort(sorted, t->n_ops, sizeof *sorted, compare_shown, NULL);
    *out = sorted;
    return limit > 0 && limit < t->n_ops ? limit : t->n_ops;
}

uint64_t tbp_op_table_occurrences(const struct tbp_op_table *t) {
    uint64_t n = 0;
    for (size_t i = 0; i < t->n_ops; i++) {
        n += t->ops[i].occurrences;
    }
    return n;
}

static uint64_t self_ps_of(const struct tbp_op_table *t, bool (*is_meant)(const struct tbp_op *)) {
    uint64_t ps = 0;
    for (size_t i = 0; i < t->n_ops; i++) {
        ps += is_meant(&t->ops[i]) ? t->ops[i].self_ps : 0;
    }
    return ps;
}

static bool is_busy(const struct tbp_op *op) {
    return !tbp_op_is_idle(op);
}

static bool is_eager_work(const struct tbp_op *op) {
    return op->is_eager && is_busy(op);
}

uint64_t tbp_op_table_busy_ps(const struct tbp_op_table *t) {
    return self_ps_of(t, is_busy);
}

uint64_t tbp_op_table_eager_ps(const struct tbp_op_table *t) {
    return self_ps_of(t, is_eager_work);
}
