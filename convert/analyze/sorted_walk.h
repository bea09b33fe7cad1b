/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of several lines in one order: begin ascending, then shorter first, then file order; by
 * merging the lines, so that no copy of the events is made. Lines that are not in order themselves
 * get a small index.
 */
#ifndef TBP_CONVERT_ANALYZE_SORTED_WALK_H
#define TBP_CONVERT_ANALYZE_SORTED_WALK_H

#include "convert/model/model.h"

struct tbp_walk_cursor {
    const struct tbp_line *line;
    const uint32_t *order; /* NULL: the line is in order */
    size_t at;
    uint64_t start_ps, dur_ps; /* of the current event */
    uint32_t rank;             /* of the line, for ties */
};

struct tbp_sorted_walk {
    struct tbp_walk_cursor *heap;
    size_t n;
};

/* Walk over the lines lines[0..n); a takes the cursors and indexes. */
void tbp_sorted_walk_init(struct tbp_sorted_walk *w, const struct tbp_line *const *lines, size_t n,
                          struct tbp_arena *a);
/* Walk over the plane's lines that are not derived. */
void tbp_sorted_walk_plane(struct tbp_sorted_walk *w, const struct tbp_plane *p,
                           struct tbp_arena *a);
bool tbp_sorted_walk_next(struct tbp_sorted_walk *w, const struct tbp_line **line, size_t *event);

#endif
