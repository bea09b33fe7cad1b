/* SPDX-License-Identifier: Apache-2.0
 *
 * The well-known stats of one GPU event, decoded in one walk, with the repairs of old files.
 * Source: spec tables/RULES.md 7 (last of equal stats wins) and 16 (a: `level 0`).
 *
 *   struct tbp_gpu_decoder d;
 *   tbp_gpu_decoder_init(&d, plane, tbp_session_semantics(s), arena);   // per plane
 *   struct tbp_gpu_stats st;
 *   tbp_gpu_stats_read(&d, line, i, &st);                               // per event, no allocation
 *
 * Ownership: texts borrow from the host's bytes; the decoder's table lives in the arena.
 * Thread-safety: a decoder is const after init.
 */
#ifndef TBP_CONVERT_ANALYZE_GPU_STATS_H
#define TBP_CONVERT_ANALYZE_GPU_STATS_H

#include "convert/analyze/session.h"
#include "convert/model/stats.h"

struct tbp_gpu_decoder {
    const struct tbp_plane *plane;
    /* By stat metadata id, for ids below n_ids. */
    const uint8_t *keys;         /* 0 if nobody asks for the stat */
    const struct tbp_str *names; /* what a reference to the id means */
    size_t n_ids;
    bool repair; /* take `level 0` for a missing tf_op */
};

struct tbp_gpu_stats {
    struct tbp_str tf_op;          /* "scope/op:Type", "" if none */
    struct tbp_str equation;       /* of einsum-like ops */
    struct tbp_str kernel_details; /* "regs:32 …" */
    struct tbp_str hlo_op_path;    /* "outer::inner" as in the file */
    struct tbp_str hlo_op;         /* its last part; has_hlo_op tells whether there is any */
    struct tbp_str hlo_module;
    uint64_t program_id, flops, bytes_accessed;
    int64_t group;
    bool has_hlo_op, has_program_id, has_group, has_flops, has_bytes;
    bool is_eager;
    bool tf_op_from_level_0; /* repaired */
};

void tbp_gpu_decoder_init(struct tbp_gpu_decoder *d, const struct tbp_plane *plane,
                          enum tbp_semantics semantics, struct tbp_arena *a);
void tbp_gpu_stats_read(const struct tbp_gpu_decoder *d, const struct tbp_line *l, size_t i,
                        struct tbp_gpu_stats *out);

#endif
