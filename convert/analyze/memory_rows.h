/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows under a memory timeline: one small row per allocation event, by allocator, and the way
 * back from a row to the whole snapshot. Internal to memory_timeline.c. Ownership: rows on the heap
 * until release; allocators (ids and summaries) in the arena given.
 */
#ifndef TBP_CONVERT_ANALYZE_MEMORY_ROWS_H
#define TBP_CONVERT_ANALYZE_MEMORY_ROWS_H

#include "base/vec.h"
#include "convert/analyze/memory_timeline.h"

struct tbp_memory_row {       /* 40 bytes; all else is decoded again when it is asked for */
    int64_t used_bytes, step; /* used: stack + heap; step -1: none */
    uint64_t address;
    uint32_t line : 31, is_deallocation : 1;
    uint32_t event;
    uint32_t owner; /* allocator's number while rows are collected; then place of the allocation
                       among the allocator's rows, or TBP_MAP_NONE */
};

struct tbp_memory_rows {
    const struct tbp_plane *plane;
    struct tbp_memory_row *rows;             /* in file order */
    uint32_t *order;                         /* rows allocator after allocator, in file order */
    size_t *first;                           /* in order, per allocator, and the end */
    struct tbp_memory_allocator *allocators; /* in order of appearance: id and summary filled */
    size_t n_allocators;
};

/* Side by side on the pool. On failure there is nothing to release. */
int tbp_memory_rows_init(struct tbp_memory_rows *r, const struct tbp_plane *plane,
                         struct tbp_pool *pool, struct tbp_arena *out, struct tbp_error *err);
void tbp_memory_rows_release(struct tbp_memory_rows *r);
/* Their number, and their order, which may be changed. */
size_t tbp_memory_rows_of(struct tbp_memory_rows *r, size_t allocator, uint32_t **order);
static inline int64_t tbp_memory_row_time_ps(const struct tbp_memory_rows *r,
                                             const struct tbp_memory_row *row) {
    return tbp_event_offset(&r->plane->lines[row->line], row->event);
}
/* The event behind a row, as the file has it (step and owner not applied). Texts made up here go to
 * `text`. */
void tbp_memory_row_decode(const struct tbp_memory_rows *r, const struct tbp_memory_row *row,
                           struct tbp_arena *text, struct tbp_memory_snapshot *s);
int64_t tbp_memory_row_allocated_bytes(const struct tbp_memory_rows *r,
                                       const struct tbp_memory_row *row);

#endif
