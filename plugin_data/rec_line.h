/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of one thread of a recording, in the order in which a profile wants them: by start,
 * the longer one first. Scopes come with their ends (rec_scopes.h), allocations with totals
 * (rec_memory.h), spans timed elsewhere are sorted in between. Memory: one chunk's scopes, what is
 * open, and up to TBP_REC_SPANS spans; further ones go to lines of their own.
 *
 * Ownership: borrows all that it is given. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_LINE_H
#define TBP_PLUGIN_DATA_REC_LINE_H

#include "plugin_data/rec_gpu_plane.h"
#include "plugin_data/rec_memory.h"
#include "plugin_data/rec_scopes.h"
#include "plugin_data/rec_stats.h"

enum { TBP_REC_SPANS = 4 << 20, TBP_REC_ANNOTATION_BYTES = 960 };

struct tbp_rec_open_name {
    uint32_t event;
    uint8_t flags; /* enum tbp_rec_scope_flag: flows it has */
};

/* What all lines of a plane share. */
struct tbp_rec_emit {
    const struct tbp_recording *recording;
    struct tbp_rec_names *names;
    struct tbp_rec_stats *stats;
    const struct tbp_rec_memory *memory; /* NULL: there are no memory records */
    const struct tbp_rec_gpu *gpu;
    struct tbp_rec_scope_walk *walk;
    struct tbp_xspace_out *out;
    int64_t base_ps, end_ps; /* the profile begins and ends there, since the session's start */
    unsigned max_level;      /* scopes above are left out */
    int64_t max_start_ps;    /* events after are left out */
    /* counted in each pass anew */
    uint64_t n_events, n_above_level, n_too_late, n_open, n_cut, n_early_spans;
    /* state of the line */
    int64_t last_start_ps, last_dur_ps;
    uint32_t begin_hint, end_hint;
    TBP_VEC(struct tbp_rec_open_name) open;
    TBP_VEC(struct tbp_rec_span) spans;
    size_t next_span;
    struct tbp_wire_out annotation; /* names of the open ones, joined by '/' */
    TBP_VEC(uint32_t) annotation_ends;
};
void tbp_rec_emit_release(struct tbp_rec_emit *e);
/* Before each pass. */
void tbp_rec_emit_begin(struct tbp_rec_emit *e, struct tbp_xspace_out *out);

struct tbp_rec_line {
    size_t thread;
    const struct tbp_rec_scopes *crossing;
    /* BEGIN and ANNOTATION records that were open when an earlier snapshot ended, outermost first:
     * slots. The scopes among them are the first entries of crossing. */
    const uint32_t *carried;
    size_t n_carried;
};

/* Events of the thread into the open line. */
void tbp_rec_line_write(struct tbp_rec_emit *e, const struct tbp_rec_line *line);
/* Spans that did not fit there, batch 1 …; false: there are none. begin_line opens the line. */
bool tbp_rec_line_has_spans(struct tbp_rec_emit *e, size_t thread, size_t batch);
void tbp_rec_line_write_spans(struct tbp_rec_emit *e);
/* n spans into the open line, which begins with them. */
void tbp_rec_line_write_these(struct tbp_rec_emit *e, const struct tbp_rec_span *spans, size_t n);

/* One event into the open line, its stats from e->stats; for lines made otherwise. */
void tbp_rec_put(struct tbp_rec_emit *e, const struct tbp_rec_label *label, int64_t start_ps,
                 int64_t dur_ps);
void tbp_rec_line_begin(struct tbp_rec_emit *e);
int64_t tbp_rec_ps(struct tbp_rec_emit *e, uint64_t ticks);

#endif
