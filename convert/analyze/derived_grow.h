/* SPDX-License-Identifier: Apache-2.0
 *
 * A growing derived line: spans are added in order of begin; equal neighbours of one nesting level
 * merge. Used by derived_gpu.c and derived_tpu.c only. Rule: host_and_op_analysis 4.11 (e), (f),
 * trace rules 2.6 e.
 *
 * Ownership: metas and lines borrow the arena of the derived plane; vectors are freed by
 * tbp_grow_finish.
 */
#ifndef TBP_CONVERT_ANALYZE_DERIVED_GROW_H
#define TBP_CONVERT_ANALYZE_DERIVED_GROW_H

#include "base/vec.h"
#include "convert/analyze/derived_lines.h"

/* Names of made events of one plane. Index 0… in order of first use. */
struct tbp_made_metas {
    struct tbp_arena *arena;
    const struct tbp_plane *plane;
    struct tbp_derived_plane *derived;
    struct tbp_strtab file_names; /* first of each name; index -> file_index */
    TBP_VEC(uint32_t) file_index;
    struct tbp_strtab names; /* of named entries; number -> name_index */
    TBP_VEC(uint32_t) name_index;
    TBP_VEC(struct tbp_made_meta) at;
};
void tbp_made_metas_init(struct tbp_made_metas *m, struct tbp_arena *a, const struct tbp_plane *p,
                         struct tbp_derived_plane *d);
/* Entry with this name, added if need be; display is taken if the entry has none yet. Texts are
 * copied when added. */
uint32_t tbp_made_metas_ensure(struct tbp_made_metas *m, struct tbp_str name,
                               struct tbp_str display);
/* A new entry without name. */
uint32_t tbp_made_metas_new(struct tbp_made_metas *m, struct tbp_str display);
void tbp_made_metas_finish(
    struct tbp_made_metas *m); /* moves the table to the derived plane, frees the rest */

struct tbp_grow_span {
    uint64_t begin_ps, end_ps;
    bool has_group;
    int64_t group;
};

struct tbp_grow_event {
    uint64_t begin_ps, end_ps;
    int64_t group;
    uint32_t meta;
    uint32_t stats; /* index+1 into stats lists of the line, 0: none */
    bool has_group;
};

struct tbp_grow_stats {
    struct tbp_made_stat at[4];
    uint32_t n;
};

struct tbp_grow_level {
    bool used, has_scope;
    int64_t scope;
    uint32_t event;
};

enum { TBP_GROW_BELOW = 3 };
struct tbp_grow {
    int64_t id;
    struct tbp_str name;
    bool is_gpu;
    struct tbp_grow
        *below[TBP_GROW_BELOW]; /* reset with level 0 of this one; NULL-terminated unless full */
    TBP_VEC(struct tbp_grow_level) last;
    TBP_VEC(struct tbp_grow_event) events;
    TBP_VEC(struct tbp_grow_stats) stats;
};

struct tbp_grow_scope {
    bool known;
    int64_t id;
};

void tbp_grow_init(struct tbp_grow *g, bool is_gpu, int64_t id, struct tbp_str name);
void tbp_grow_add(struct tbp_grow *g, uint32_t meta, const struct tbp_grow_span *s,
                  struct tbp_grow_scope scope, size_t level);
/* One level per meta; scopes[i] belongs to metas[i] (scopes may be NULL). */
void tbp_grow_add_levels(struct tbp_grow *g, const uint32_t *metas, size_t n,
                         const struct tbp_grow_span *s, const struct tbp_grow_scope *scopes);
void tbp_grow_reset(struct tbp_grow *g, size_t level);
/* Event that the level's last span went to. */
struct tbp_grow_event *tbp_grow_last(struct tbp_grow *g, size_t level);
/* Sets or overwrites one stat of an event. */
void tbp_grow_stat(struct tbp_grow *g, struct tbp_grow_event *e, struct tbp_made_stat st);
/* Moves the events into `out` (memory of a) and frees g. */
void tbp_grow_finish(struct tbp_grow *g, struct tbp_arena *a, struct tbp_plane *p,
                     struct tbp_made_line *out);

#endif
