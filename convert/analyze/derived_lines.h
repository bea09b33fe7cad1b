/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines that are computed from device events: name scopes, framework ops, XLA modules and ops,
 * source code, command buffers, launch statistics (GPU) and framework lines and host offload rows
 * (TPU). Only the trace views show them. Nothing is added to the host's planes: the lines live
 * here, with an own table of metadata, and so do the new names and numbers (display ids, display
 * names) which the official rules write into the planes. Source of the rules: the trace
 * rules 2.6-2.8 of the newest official converter, verified against its answers.
 *
 * Ownership: everything is allocated from the arena given; texts borrow from the host.
 * Thread-safety: const after tbp_derive_lines.
 */
#ifndef TBP_CONVERT_ANALYZE_DERIVED_LINES_H
#define TBP_CONVERT_ANALYZE_DERIVED_LINES_H

#include "convert/analyze/session.h"
#include "convert/model/stats.h"

/* A stat of a made event; names are well known, values typed as in the file. */
struct tbp_made_stat {
    enum tbp_made_key {
        TBP_MADE_GROUP_ID,
        TBP_MADE_STEP_NAME,
        TBP_MADE_IS_EAGER,
        TBP_MADE_FLOW,
        TBP_MADE_CUDA_GRAPH_ID,
        TBP_MADE_CORRELATION_ID,
        TBP_MADE_NUM_LAUNCHES,
        TBP_MADE_MAX_LAUNCH_TIME,
        TBP_MADE_AVG_LAUNCH_TIME,
        TBP_MADE_ASYNC,
        TBP_MADE_RAW_BYTES_ACCESSED,
        TBP_MADE_SHAPE_WITH_LAYOUT,
        TBP_MADE_KEYS
    } key;
    enum tbp_stat_type type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        struct tbp_str s;
    };
};
struct tbp_str tbp_made_key_text(enum tbp_made_key key);

/* Metadata of made events: like XEventMetadata; `file` is the plane's own entry of that name, NULL
 * if there is none. */
struct tbp_made_meta {
    struct tbp_str name, display;
    const struct tbp_meta *file;
};

/* A made line: of line.ev only n, start_ps, dur_ps, meta, group and flags are there; group counts
 * if flags has TBP_EVENT_GROUPED. line.metas is NULL: `meta` indexes the plane's table below. */
struct tbp_made_line {
    struct tbp_line line;
    const uint32_t *first_stat; /* n+1 offsets into stats, or NULL if no event has any */
    const struct tbp_made_stat *stats;
};

/* What is derived for one plane of the host. */
struct tbp_derived_plane {
    struct tbp_made_line *lines;
    size_t n_lines;
    struct tbp_made_meta *metas;
    size_t n_metas;
    int64_t *display_ids;     /* of the plane's own lines, NULL: as in the file */
    struct tbp_str *displays; /* display names given to the plane's own metadata ("" = as in the
                                 file), NULL: none */
    bool drops_empty_lines;   /* lines without events are not shown */
    /* Own lines whose id a derived line took over: new name and time; NULL if none. index = line in
     * the plane. */
    struct tbp_taken_line {
        struct tbp_str name; /* "" = not taken */
        uint64_t shift_ps;   /* modulo 2^64 */
    } * taken;
};

struct tbp_derived {
    struct tbp_derived_plane
        *planes; /* by index in host->planes; all empty if the file came with groups */
};

int tbp_derive_lines(struct tbp_session *s, uint32_t host, struct tbp_arena *a,
                     struct tbp_derived *out, struct tbp_error *err);

#endif
