/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums per op of a TPU plane; see tpu_op_sums.h.
 */
#include "convert/analyze/tpu_op_sums.h"

void tbp_tpu_op_sums_init(struct tbp_tpu_op_sums *s, const struct tbp_plane *p,
                          const struct tbp_tpu_op *ops) {
    *s = (struct tbp_tpu_op_sums){.plane = p, .ops = ops};
}

void tbp_tpu_op_sums_release(struct tbp_tpu_op_sums *s) {
    tbp_vec_release(&s->sums);
    tbp_tpu_op_keys_release(&s->keys);
}

void tbp_tpu_op_keys_release(struct tbp_tpu_op_keys *k) {
    tbp_idmap_release(&k->programs);
    tbp_idmap_release(&k->symbols);
    tbp_idmap_release(&k->by_key);
}

static uint32_t number_of(struct tbp_idmap *m, uint64_t key) {
    bool is_new;
    uint32_t *number = tbp_idmap_put(m, key, &is_new);
    if (is_new)
        *number = (uint32_t)(m->n - 1);
    return *number;
}

uint32_t *tbp_tpu_op_keys_put(struct tbp_tpu_op_keys *k, const struct tbp_tpu_op *op,
                              bool *is_new) {
    uint64_t program = number_of(&k->programs, op->program_id);
    uint64_t key = program << 32 | number_of(&k->symbols, op->symbol_id);
    return tbp_idmap_put(&k->by_key, key, is_new);
}

static struct tbp_tpu_op_sum *sum_of(struct tbp_tpu_op_sums *s, const struct tbp_tpu_op *op) {
    bool is_new;
    uint32_t *at = tbp_tpu_op_keys_put(&s->keys, op, &is_new);
    if (is_new) {
        *at = (uint32_t)s->sums.n;
        *tbp_vec_push(&s->sums) = (struct tbp_tpu_op_sum){.op = op};
    }
    return &s->sums.at[*at];
}

void tbp_tpu_op_sums_add(struct tbp_tpu_op_sums *s, const struct tbp_line *l,
                         const struct tbp_tpu_node *node) {
    if (l->metas != s->plane->metas)
        return;
    const struct tbp_tpu_op *op = &s->ops[l->ev.meta[node->event]];
    if (!op->is_op)
        return;
    struct tbp_tpu_op_sum *sum = sum_of(s, op);
    int64_t n = tbp_event_occurrences(l, node->event);
    uint64_t time_ps = node->span.end_ps - node->span.begin_ps;
    sum->n += n > 1 ? (uint64_t)n : 1;
    sum->time_ps += time_ps;
    sum->self_ps += time_ps - node->children_ps;
}
