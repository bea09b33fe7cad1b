/* SPDX-License-Identifier: Apache-2.0
 *
 * One HLO program (HloProto) as arrays: computations, instructions, and for the cost analysis a
 * node per instruction with shapes, operands and called computations resolved to indices. Source:
 * public schema of HLO (xla/service/hlo.proto); field numbers stand in hlo_module.c.
 *
 * Ownership: everything in the arenas given to tbp_hlo_module_parse; texts borrow from the message.
 * Hostile bytes: depth of shapes is bounded, every count comes from bytes that are really there.
 */
#ifndef TBP_CONVERT_ANALYZE_HLO_MODULE_H
#define TBP_CONVERT_ANALYZE_HLO_MODULE_H

#include "base/arena.h"
#include "convert/analyze/hlo.h"
#include "convert/analyze/hlo_opcode.h"

#define TBP_HLO_NONE UINT32_MAX

/* Saturating arithmetic of sizes and counts. */
static inline int64_t tbp_hlo_mul(int64_t a, int64_t b) {
    int64_t product;
    if (!__builtin_mul_overflow(a, b, &product))
        return product;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static inline int64_t tbp_hlo_add(int64_t a, int64_t b) {
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

struct tbp_hlo_ints {
    int64_t *at;
    uint32_t n, cap;
};

/* Sizes saturate at INT64_MAX. */
struct tbp_hlo_shape {
    uint32_t type; /* PrimitiveType; tuple = TBP_HLO_TUPLE_TYPE */
    uint32_t bits;
    uint32_t n_parts;
    struct tbp_hlo_shape *parts;
    struct tbp_hlo_ints dims, order; /* order: dimensions from minor to major */
    int64_t elements;                /* product of dims, 1 without */
    int64_t elements_deep;           /* of a tuple: sum over its leaves */
    int64_t
        size_bytes; /* as an operand: a tuple is its table of 8-byte pointers; 0 without layout */
    int64_t deep_bytes; /* as a result: a tuple is written leaf by leaf */
};

struct tbp_hlo_window {
    int64_t size, stride, pad_low, pad_high, window_dilation, base_dilation;
};

/* What only few instructions have. */
struct tbp_hlo_extra {
    struct tbp_hlo_window *window;
    uint32_t n_window;
    struct tbp_hlo_ints contracting; /* lhs contracting dimensions of a dot */
    struct tbp_hlo_ints fft_length;
    struct tbp_hlo_ints kernel_spatial, input_spatial, output_spatial; /* convolution */
    struct tbp_hlo_ints input_batch, input_feature, output_feature;
    int64_t groups, batch_groups; /* 1 if not given */
    int64_t ranks;                /* largest replica group, 1 without groups */
    bool has_replica_groups;
    struct tbp_str target, config; /* of a custom call */
};

struct tbp_hlo_node {
    const struct tbp_hlo_opcode *opcode;
    struct tbp_hlo_extra *extra; /* NULL: nothing of it is given; see tbp_hlo_extra_of */
    struct tbp_hlo_shape shape;
    struct tbp_hlo_ints dims;
    struct tbp_hlo_ints operand_ids, called_ids;
    uint32_t *operands; /* nodes of the module */
    uint32_t *called;   /* computations of the module */
    uint32_t n_operands, n_called;
    int64_t id, tuple_index;
    bool is_custom_fusion;
    /* results of the cost analysis */
    float *use_of_operand; /* how much of an operand is read, 1 = once */
    float flops, bytes, adjust, use;
};

struct tbp_hlo_computation {
    int64_t id, root_id;
    uint32_t first, n; /* instructions */
    uint32_t root;     /* node, TBP_HLO_NONE if it is empty */
};

struct tbp_hlo_module {
    struct tbp_str name;
    int64_t entry_id;
    uint32_t entry; /* computation or TBP_HLO_NONE */
    struct tbp_hlo_computation *computations;
    uint32_t n_computations;
    struct tbp_hlo_instruction *instructions; /* of all computations in file order */
    struct tbp_hlo_node *nodes;               /* parallel; NULL if not asked for */
    uint32_t n;
};

void tbp_hlo_ints_add(struct tbp_arena *a, struct tbp_hlo_ints *list, int64_t value);
/* What is given, or the defaults. */
const struct tbp_hlo_extra *tbp_hlo_extra_of(const struct tbp_hlo_node *n);

/* Reads `proto` (HloProto). Instructions go to `out`, computations and nodes to `scratch`;
 * with_nodes: prepare for the cost analysis. False if the bytes cannot be read: the program then
 * does not exist. */
bool tbp_hlo_module_parse(struct tbp_hlo_module *m, struct tbp_str proto, bool with_nodes,
                          struct tbp_arena *out, struct tbp_arena *scratch);

/* Cost analysis: fills flops, device_flops and bytes_accessed of the instructions (hlo_cost.c).
 * Needs nodes. */
void tbp_hlo_module_cost(struct tbp_hlo_module *m, struct tbp_arena *scratch);

#endif
