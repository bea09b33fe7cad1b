/* SPDX-License-Identifier: Apache-2.0
 *
 * Push interface that fills the model: used by readers of formats other than xplane, by analyses
 * that derive lines, and by tests. Stats are encoded as XStat wire bytes, so that one iterator
 * serves every source.
 *
 *     tbp_line_builder_init(&b, plane, metas);
 *     tbp_line_builder_event(&b, start_ps, dur_ps, meta_index);
 *     tbp_line_builder_stat_i64(&b, stat_meta_index, 7);        // of the event just added
 *     tbp_line_builder_finish(&b, &line);                        // columns move into the plane's
 * host arena
 *
 * Ownership: the builder owns its buffers until finish, which copies them into host->columns.
 * Thread-safety: one builder per thread; finish and the ensure functions need the host for
 * themselves.
 */
#ifndef TBP_CONVERT_MODEL_BUILDER_H
#define TBP_CONVERT_MODEL_BUILDER_H

#include "base/vec.h"
#include "convert/model/stats.h"

struct tbp_event_row {
    uint64_t start_ps, dur_ps, body;
    uint32_t meta, has;
    int32_t group;
    uint8_t flags;
};

struct tbp_line_builder {
    struct tbp_plane *plane;
    TBP_VEC(struct tbp_event_row) rows;
    struct tbp_wire_out bytes;
    size_t open_event; /* mark in bytes, or SIZE_MAX */
    bool keeps_bytes;  /* stats outlive the events, as those of a file do: tables borrow texts */
};

void tbp_line_builder_init(struct tbp_line_builder *b, struct tbp_plane *plane);
/* Returns the row (valid until the next event), so that group and flags can be set. */
struct tbp_event_row *tbp_line_builder_event(struct tbp_line_builder *b, uint64_t start_ps,
                                             uint64_t dur_ps, uint32_t meta);
void tbp_line_builder_stat_i64(struct tbp_line_builder *b, uint32_t stat_meta, int64_t v);
void tbp_line_builder_stat_u64(struct tbp_line_builder *b, uint32_t stat_meta, uint64_t v);
void tbp_line_builder_stat_double(struct tbp_line_builder *b, uint32_t stat_meta, double v);
void tbp_line_builder_stat_str(struct tbp_line_builder *b, uint32_t stat_meta, struct tbp_str v);
/* Copy of a stat of the same plane, whatever its type (a reference becomes text). */
void tbp_line_builder_stat(struct tbp_line_builder *b, const struct tbp_stat *st);
/* Moves the events into line->ev and line->base; line->metas becomes plane->metas unless already
 * set. Releases b. */
void tbp_line_builder_finish(struct tbp_line_builder *b, struct tbp_line *line);
void tbp_line_builder_release(struct tbp_line_builder *b); /* without finishing */

/* Index of the entry with this name, added if absent (ids continue after the largest). Names are
 * copied. */
uint32_t tbp_plane_ensure_meta(struct tbp_plane *p, struct tbp_str name);
uint32_t tbp_plane_add_meta(struct tbp_plane *p,
                            struct tbp_str name); /* always a new entry: no search */
uint32_t tbp_plane_ensure_stat(struct tbp_plane *p, struct tbp_str name);
/* Appends to a list of texts of the host (errors, warnings, hostnames); the bytes are not copied.
 */
void tbp_host_add_text(struct tbp_host *h, struct tbp_str **list, size_t *n, struct tbp_str text);
/* Appends an empty plane with an id that is free (invalidates pointers to planes) and returns it.
 * The name is borrowed, and no plane has it yet. */
struct tbp_plane *tbp_host_add_plane(struct tbp_host *h, struct tbp_str name);
/* Appends a line to the plane (invalidates pointers to its lines) and returns it. */
struct tbp_line *tbp_plane_add_line(struct tbp_plane *p, int64_t id, struct tbp_str name,
                                    int64_t timestamp_ns);
/* Makes room for n events in host->columns. */
void tbp_events_alloc(struct tbp_host *h, struct tbp_events *ev, size_t n);
/* Makes room for bodies in a line of that many bytes; what is stored already stays. */
void tbp_events_reach(struct tbp_host *h, struct tbp_events *ev, uint64_t size_bytes);
/* n events from place `from` on are moved to place `to` (also overlapping); ev->n stays. */
void tbp_events_move(struct tbp_events *ev, size_t to, size_t from, size_t n);
void tbp_events_store(struct tbp_events *ev, size_t i, const struct tbp_event_row *row);

#endif
