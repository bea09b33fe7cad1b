/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the executions of each op of a TPU plane, told apart by (program, symbol), in order of
 * first use. Heap, the owner's until release; facts are borrowed.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_OP_SUMS_H
#define TBP_CONVERT_ANALYZE_TPU_OP_SUMS_H

#include "convert/analyze/tpu_plane.h"

/* A value per op, told apart by (program, symbol); new ones are the caller's to set. */
struct tbp_tpu_op_keys {
    struct tbp_idmap programs, symbols, by_key;
};

uint32_t *tbp_tpu_op_keys_put(struct tbp_tpu_op_keys *k, const struct tbp_tpu_op *op, bool *is_new);
void tbp_tpu_op_keys_release(struct tbp_tpu_op_keys *k);

struct tbp_tpu_op_sum {
    const struct tbp_tpu_op *op; /* of the first execution */
    uint64_t n, time_ps, self_ps;
};

struct tbp_tpu_op_sums {
    TBP_VEC(struct tbp_tpu_op_sum) sums;
    const struct tbp_plane *plane;
    const struct tbp_tpu_op *ops; /* facts of the plane */
    struct tbp_tpu_op_keys keys;  /* -> index in sums */
};

void tbp_tpu_op_sums_init(struct tbp_tpu_op_sums *s, const struct tbp_plane *p,
                          const struct tbp_tpu_op *ops);
/* An event of the line that has been left behind; ignored if it is no op. */
void tbp_tpu_op_sums_add(struct tbp_tpu_op_sums *s, const struct tbp_line *l,
                         const struct tbp_tpu_node *node);
void tbp_tpu_op_sums_release(struct tbp_tpu_op_sums *s);

#endif
