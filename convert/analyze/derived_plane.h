/* SPDX-License-Identifier: Apache-2.0
 *
 * What the derivations of one plane share: its table of names, the lines made so far, ids. Internal
 * to derived_*.c.
 */
#ifndef TBP_CONVERT_ANALYZE_DERIVED_PLANE_H
#define TBP_CONVERT_ANALYZE_DERIVED_PLANE_H

#include "convert/analyze/derived_grow.h"
#include "convert/analyze/hlo.h"

/* Line ids of derived lines: 0xdeadbeef narrowed to a signed 32-bit number, plus an offset. */
enum {
    TBP_LINE_LAUNCH = 1,
    TBP_LINE_NAME_SCOPE = 2,
    TBP_LINE_FRAMEWORK_OPS = 3,
    TBP_LINE_SOURCE = 7,
    TBP_LINE_OFFLOAD_FIRST = 8,
    TBP_LINE_OFFLOAD_LAST = 48,
    TBP_LINE_STREAM_FIRST = 290, /* six ids per stream */
    TBP_LINE_BUFFERS_FIRST = 390 /* one per stream */
};
static inline int64_t tbp_line_id(int offset) {
    return (int64_t)0xdeadbeef - ((int64_t)1 << 32) + offset;
}

/* More levels than this are cut: a bound for hostile files, far above real nesting. */
enum { TBP_DERIVED_LEVELS_MAX = 256 };

struct tbp_derive_plane {
    struct tbp_arena *arena;
    struct tbp_plane *plane;
    struct tbp_derived_plane *out;
    struct tbp_made_metas metas;
    TBP_VEC(struct tbp_made_line) lines;
    int64_t start_ns;
    bool repairs; /* stat "level 0" stands where tf_op would; streams go by their name where they
                   * have no number */
};

/* Event of a plane with its place in the derivation order: begin ascending, then shorter first. */
struct tbp_derive_event {
    uint64_t begin_ps, dur_ps;
    uint32_t line, event;
};
void tbp_derive_sort(struct tbp_derive_event *e, size_t n);

/* Parents of scopes, from the scope plane of the host. */
struct tbp_scopes {
    struct tbp_idmap index; /* scope id -> parents */
    TBP_VEC(int64_t) parents;
};

void tbp_derive_plane_init(struct tbp_derive_plane *d, struct tbp_arena *a, struct tbp_plane *p,
                           struct tbp_derived_plane *out);
/* Ends a growing line: it becomes a made line of the plane (unless empty), and takes over a line of
 * the file that has its id. display_id 0: none. */
void tbp_derive_plane_take(struct tbp_derive_plane *d, struct tbp_grow *g, int64_t display_id);
void tbp_derive_plane_finish(struct tbp_derive_plane *d);

/* An op of a framework: name scopes as levels of one line, the op itself on the other. */
struct tbp_framework_op {
    uint32_t meta;
    uint32_t n_scopes;
    uint32_t *scopes;
};
struct tbp_framework_op tbp_framework_op_of(struct tbp_derive_plane *d, struct tbp_str text);
void tbp_framework_op_add(const struct tbp_framework_op *op, const struct tbp_grow_span *s,
                          struct tbp_grow *scope_line, struct tbp_grow *op_line);

void tbp_derive_gpu(struct tbp_derive_plane *d, const struct tbp_hlo_table *hlo,
                    const struct tbp_scopes *scopes);
void tbp_derive_tpu(struct tbp_derive_plane *d);

#endif
