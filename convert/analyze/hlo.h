/* SPDX-License-Identifier: Apache-2.0
 *
 * HLO programs of one host, from the plane /host:metadata: what each instruction is called and what
 * it costs. Costs are analysed only where they are shown: in profiles with GPU planes and no TPU
 * plane. Source: ../shared/spec/tables/RULES.md 5 and 4, spec/tables/hlo.py, hlocost.py. Ownership:
 * the session; texts borrow from the host's bytes or the table's arena. Const after creation.
 */
#ifndef TBP_CONVERT_ANALYZE_HLO_H
#define TBP_CONVERT_ANALYZE_HLO_H

#include "convert/analyze/session.h"

struct tbp_hlo_instruction {
    struct tbp_str name;
    struct tbp_str op_name, op_type; /* metadata */
    struct tbp_str framework_name;   /* "op_name:op_type", "" when both are empty */
    struct tbp_str opcode;           /* "fusion", "dot", … */
    struct tbp_str source_file;
    int64_t source_line;
    int64_t flops;        /* model FLOPs of one execution (cost analysis), 0 if unknown */
    int64_t device_flops; /* adjusted for narrow types; 0 if unknown */
    int64_t bytes_accessed;
    bool is_host_transfer;
};

struct tbp_hlo_program {
    uint64_t id;
    struct tbp_str name;                      /* of the module */
    struct tbp_hlo_instruction *instructions; /* of all computations, file order */
    uint32_t n;
    uint32_t *slots; /* by hash of the name: instruction + 1, 0 = free; the first of a name only */
    uint32_t mask;
};

struct tbp_hlo_table;
extern const struct tbp_analysis tbp_analysis_hlo;
const struct tbp_hlo_table *tbp_hlo(struct tbp_session *s, uint32_t host, struct tbp_error *err);

/* Instruction by program id and name; NULL if the program or the name is unknown. */
const struct tbp_hlo_instruction *tbp_hlo_find(const struct tbp_hlo_table *t, uint64_t program_id,
                                               struct tbp_str name);
/* Some instruction of some program has gradient evidence. */
bool tbp_hlo_is_training(const struct tbp_hlo_table *t);
/* Programs by ascending id. */
size_t tbp_hlo_n_programs(const struct tbp_hlo_table *t);
const struct tbp_hlo_program *tbp_hlo_program_at(const struct tbp_hlo_table *t, size_t i);

#endif
