/* SPDX-License-Identifier: Apache-2.0
 *
 * Ordering kernels and summing them by op. Source: spec tables/RULES.md 9.5-9.7 and 11.
 */
#include "convert/analyze/kernel_table.h"

#include "base/sort.h"
#include "base/vec.h"

static int compare_u32(const uint32_t *x, const uint32_t *y, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

/* What makes two rows the same kernel; also the order among equal times. Occupancy has no part in
 * it. */
static int compare_identity(const void *a, const void *b, void *ctx) {
    const struct tbp_kernel *x = a, *y = b;
    const struct tbp_kernel_launch *p = &x->launch, *q = &y->launch;
    (void)ctx;
    int c = tbp_str_cmp(x->name, y->name);
    c = c ? c : compare_u32(p->grid, q->grid, 3);
    c = c ? c : compare_u32(p->block, q->block, 3);
    c = c ? c : compare_u32(&p->registers, &q->registers, 1);
    c = c ? c : compare_u32(&p->static_shmem_bytes, &q->static_shmem_bytes, 1);
    c = c ? c : compare_u32(&p->dynamic_shmem_bytes, &q->dynamic_shmem_bytes, 1);
    c = c ? c : (int)x->uses_tensor_core - (int)y->uses_tensor_core;
    c = c ? c : (int)x->is_op_eligible - (int)y->is_op_eligible;
    return c ? c : tbp_str_cmp(x->op_name, y->op_name);
}

static int compare_shown(const void *a, const void *b, void *ctx) {
    const struct tbp_kernel *x = a, *y = b;
    if (x->total_ps != y->total_ps) {
        return x->total_ps > y->total_ps ? -1 : 1;
    }
    return compare_identity(a, b, ctx);
}

static size_t unite(struct tbp_kernel *k, size_t n) {
    tbp_sort(k, n, sizeof *k, compare_identity, NULL);
    size_t n_out = 0;
    for (size_t i = 0; i < n; i++) {
        struct tbp_kernel *last = n_out ? &k[n_out - 1] : NULL;
        if (!last || compare_identity(last, &k[i], NULL) != 0) {
            k[n_out++] = k[i];
            continue;
        }
        last->occurrences += k[i].occurrences;
        last->total_ps += k[i].total_ps;
        last->min_ps = k[i].min_ps < last->min_ps ? k[i].min_ps : last->min_ps;
        last->max_ps = k[i].max_ps > last->max_ps ? k[i].max_ps : last->max_ps;
        last->has_sub_ns |= k[i].has_sub_ns;
    }
    return n_out;
}

static int compare_op(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return tbp_str_cmp(((const struct tbp_kernel_op *)a)->name,
                       ((const struct tbp_kernel_op *)b)->name);
}

static void sum_by_op(struct tbp_kernel_table *t, struct tbp_arena *a) {
    t->ops = TBP_NEW_N(a, struct tbp_kernel_op, t->n_kernels);
    for (size_t i = 0; i < t->n_kernels; i++) {
        const struct tbp_kernel *k = &t->kernels[i];
        t->ops[i] = (struct tbp_kernel_op){
            .name = k->op_name,
            .is_eligible = k->is_op_eligible,
            .total_ps = k->total_ps,
            .tensor_core_ps = k->uses_tensor_core ? k->total_ps : 0,
        };
    }
    tbp_sort(t->ops, t->n_kernels, sizeof *t->ops, compare_op, NULL);
    for (size_t i = 0; i < t->n_kernels; i++) {
        struct tbp_kernel_op *last = t->n_ops ? &t->ops[t->n_ops - 1] : NULL;
        if (!last || !tbp_str_eq(last->name, t->ops[i].name)) {
            t->ops[t->n_ops++] = t->ops[i];
            continue;
        }
        last->is_eligible |= t->ops[i].is_eligible;
        last->total_ps += t->ops[i].total_ps;
        last->tensor_core_ps += t->ops[i].tensor_core_ps;
    }
}

struct tbp_kernel_table *tbp_kernel_table_make(struct tbp_kernel *kernels, size_t n,
                                               bool unite_equal, struct tbp_arena *a) {
    if (unite_equal) {
        n = unite(kernels, n);
    }
    tbp_sort(kernels, n, sizeof *kernels, compare_shown, NULL);
    struct tbp_kernel_table *t = TBP_NEW(a, struct tbp_kernel_table);
    t->n_kernels = n < TBP_KERNELS_MAX ? n : TBP_KERNELS_MAX;
    t->kernels = TBP_NEW_N(a, struct tbp_kernel, t->n_kernels);
    if (t->n_kernels > 0) {
        memcpy(t->kernels, kernels, t->n_kernels * sizeof *kernels);
    }
    sum_by_op(t, a);
    return t;
}

const struct tbp_kernel_op *tbp_kernel_op_find(const struct tbp_kernel_table *t,
                                               struct tbp_str op_name) {
    size_t from = 0, to = t->n_ops;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = tbp_str_cmp(t->ops[mid].name, op_name);
        if (c == 0) {
            return &t->ops[mid];
        }
        if (c < 0) {
            from = mid + 1;
        } else {
            to = mid;
        }
    }
    return NULL;
}
