/* SPDX-License-Identifier: Apache-2.0
 *
 * HLO opcodes and element types as the cost analysis sees them: which rule applies to an opcode and
 * how many flops one element costs. Const tables, pure look-ups.
 * Source: ../shared/spec/tables/RULES.md 5.1 (measured with the official converter).
 */
#ifndef TBP_CONVERT_ANALYZE_HLO_OPCODE_H
#define TBP_CONVERT_ANALYZE_HLO_OPCODE_H

#include "base/str.h"

/* Which rule gives the costs of an instruction. */
enum tbp_hlo_rule {
    TBP_HLO_DEFAULT, /* no flops; reads all operands, writes the result */
    TBP_HLO_FREE,
    TBP_HLO_PARAMETER,
    TBP_HLO_CONSTANT,
    TBP_HLO_GET_TUPLE_ELEMENT,
    TBP_HLO_ARITHMETIC, /* flops per element of the result */
    TBP_HLO_BITCAST_CONVERT,
    TBP_HLO_COPY,
    TBP_HLO_SLICE,
    TBP_HLO_DYNAMIC_SLICE,
    TBP_HLO_DYNAMIC_UPDATE_SLICE,
    TBP_HLO_TUPLE,
    TBP_HLO_TRANSPOSE,
    TBP_HLO_DOT,
    TBP_HLO_CONVOLUTION,
    TBP_HLO_REDUCE,
    TBP_HLO_REDUCE_WINDOW,
    TBP_HLO_MAP,
    TBP_HLO_SELECT_AND_SCATTER,
    TBP_HLO_GATHER,
    TBP_HLO_SCATTER,
    TBP_HLO_CONCATENATE,
    TBP_HLO_SORT,
    TBP_HLO_FFT,
    TBP_HLO_CHOLESKY,
    TBP_HLO_TRIANGULAR_SOLVE,
    TBP_HLO_ALL_GATHER,
    TBP_HLO_REDUCE_SCATTER,
    TBP_HLO_ALL_REDUCE,
    TBP_HLO_ALL_REDUCE_START,
    TBP_HLO_FUSION,
    TBP_HLO_CALL,
    TBP_HLO_WHILE,
    TBP_HLO_CONDITIONAL,
    TBP_HLO_CUSTOM_CALL,
};

/* Element types: numbers of the public schema (PrimitiveType). */
enum {
    TBP_HLO_PRED = 1,
    TBP_HLO_TUPLE_TYPE = 13,
    TBP_HLO_TYPES = 34,
};

struct tbp_hlo_opcode {
    struct tbp_str name;
    enum tbp_hlo_rule rule;
};

/* The entry of an opcode; one with rule DEFAULT if the opcode has no rule of its own. Never NULL.
 */
const struct tbp_hlo_opcode *tbp_hlo_opcode_of(struct tbp_str name);
/* Flops of one element of an element-wise operation on this element type. */
int64_t tbp_hlo_flops_per_element(struct tbp_str opcode, unsigned type);
/* Bits of one element; 0 for tuples, tokens, opaque and unknown types. */
unsigned tbp_hlo_type_bits(unsigned type);

#endif
