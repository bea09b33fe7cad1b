/* SPDX-License-Identifier: Apache-2.0
 *
 * State shared by the parts of the HLO cost analysis (hlo_cost.c, hlo_fusion.c). Internal to them.
 *
 * Counts are exact integers (saturating at INT64_MAX) until a rule stores them: every stored cost
 * is rounded to a 32-bit float, as the official analysis does, so that large counts agree with it
 * to the last digit.
 */
#ifndef TBP_CONVERT_ANALYZE_HLO_WALK_H
#define TBP_CONVERT_ANALYZE_HLO_WALK_H

#include "convert/analyze/hlo_module.h"

/* What is known of a computation once it has been visited. */
struct tbp_hlo_visit {
    uint32_t *order; /* its nodes, operands before users */
    uint32_t n;
    float flops;  /* sums over its nodes … */
    double bytes; /* … this one not yet rounded */
    uint8_t state;
};

struct tbp_hlo_entry; /* member of a set of hlo_fusion.c */

struct tbp_hlo_walk {
    struct tbp_hlo_module *m;
    struct tbp_arena *scratch;
    struct tbp_hlo_visit *visits; /* parallel to the module's computations */
    uint64_t work;                /* steps spent where bytes do not bound them */
    struct tbp_hlo_entry *spare;  /* entries of the fusions before, to be used again */
    uint32_t n_entries;           /* made so far */
};

/* Cost of one instruction before it is rounded. */
struct tbp_hlo_cost {
    double flops, bytes, adjust; /* adjust: flops that run for free because operands are narrow */
};

/* False once a program asks for more steps than any real one (far above the largest seen; keeps
 * hostile ones from running for minutes): its costs are then unknown. */
static inline bool tbp_hlo_walk_spend(struct tbp_hlo_walk *w, uint64_t steps) {
    const uint64_t base = UINT64_C(1) << 24, per_instruction = 256;
    w->work += steps;
    return w->work <= base + per_instruction * w->m->n;
}
/* Costs of a fusion, from its (visited) computation. False: the program's costs are unknown. */
bool tbp_hlo_fusion_cost(struct tbp_hlo_walk *w, struct tbp_hlo_node *fusion,
                         struct tbp_hlo_cost *c);
/* 2 flops per product that a convolution really makes. False if the dimensions do not fit together.
 */
bool tbp_hlo_convolution_flops(struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                               const struct tbp_hlo_shape *result, int64_t *flops);

static inline struct tbp_hlo_node *tbp_hlo_operand(const struct tbp_hlo_walk *w,
                                                   const struct tbp_hlo_node *n, uint32_t k) {
    return &w->m->nodes[n->operands[k]];
}

#endif
