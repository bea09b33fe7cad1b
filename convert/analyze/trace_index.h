/* SPDX-License-Identifier: Apache-2.0
 *
 * All events of one host as trace_viewer@ orders them: in tracks (a thread, or the thread-less
 * events of one name), each in order of begin, with the serial number that tells events of equal
 * begin apart. Source: rule 5 of the trace views.
 *
 * Memory: 4 bytes per event (serial), 8 more on tracks that are not one whole line in order, 8 more
 * on lines with flows, 8 more per event with flow. Begin, duration and name stay in the model.
 * Ownership: columns come from the arena given to tbp_trace_index_make; names borrow from the
 * trace, which must outlive the index. Const after making.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_INDEX_H
#define TBP_CONVERT_ANALYZE_TRACE_INDEX_H

#include "convert/analyze/trace_model.h"

#define TBP_NO_FLOW UINT64_MAX /* no real flow value: its context is always below 18 */
enum tbp_flow_direction { TBP_FLOW_NONE, TBP_FLOW_END, TBP_FLOW_START, TBP_FLOW_MID };

/* Levels of detail: level k < 12 draws what differs by 10^(12-k) ps, level 12 takes the rest. */
enum { TBP_TRACE_LEVELS = 13 };
/* Serials from here on are lost officially, since they are stored in one byte. */
enum { TBP_SERIALS = 256 };

struct tbp_track_ref {
    uint32_t line, event;
};

struct tbp_track {
    uint32_t pid, tid;
    bool has_tid;
    struct tbp_str name; /* of a thread-less track */
    uint32_t line;       /* refs NULL: the events of this line, all of them, in order */
    struct tbp_track_ref *refs;
    size_t n;
    uint32_t *serial;
};

struct tbp_trace_index {
    const struct tbp_trace *trace;
    const struct tbp_trace_line **lines; /* of all planes; those without events left out */
    uint64_t **flows;                    /* per line: flow of each event, or NULL */
    size_t n_lines;
    struct tbp_track
        *tracks; /* by pid, threads before thread-less, tid, name: ties in this order */
    size_t n_tracks;
    struct tbp_track_flow { /* events with flow, in the order of all tracks together */
        uint32_t track, at;
    } * flow_events;
    size_t n_flow_events;
    size_t n_events;
    size_t n_lost; /* serials that officially do not fit, 0 if they are kept */
    bool has_low, has_high;
    uint64_t low_ps, high_ps; /* of the whole trace; times beyond 2^63 do not count */
    bool keeps_all;           /* serials beyond 255 are kept (repair) */
};

/* Returns a failure only if the pool does. */
int tbp_trace_index_make(struct tbp_trace_index *x, const struct tbp_trace *trace, bool keeps_all,
                         struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err);

static inline struct tbp_track_ref tbp_track_at(const struct tbp_track *t, size_t i) {
    return t->refs ? t->refs[i] : (struct tbp_track_ref){t->line, (uint32_t)i};
}
static inline uint64_t tbp_index_begin(const struct tbp_trace_index *x, struct tbp_track_ref r) {
    return tbp_trace_begin(x->lines[r.line], r.event);
}
static inline bool tbp_trace_is_counter(const struct tbp_trace_line *l) {
    return l->line->name.n == 10 && memcmp(l->line->name.p, "_counters_", 10) == 0;
}
/* Samples of counters have no length. */
static inline uint64_t tbp_index_dur(const struct tbp_trace_index *x, struct tbp_track_ref r) {
    const struct tbp_trace_line *l = x->lines[r.line];
    return tbp_trace_is_counter(l) ? 0 : l->line->ev.dur_ps[r.event];
}
/* Not beyond the end of time. */
static inline uint64_t tbp_index_end(const struct tbp_trace_index *x, struct tbp_track_ref r) {
    const uint64_t begin = tbp_index_begin(x, r), dur = tbp_index_dur(x, r);
    return dur > UINT64_MAX - begin ? UINT64_MAX : begin + dur;
}
static inline uint64_t tbp_index_flow(const struct tbp_trace_index *x, struct tbp_track_ref r) {
    return x->flows[r.line] ? x->flows[r.line][r.event] : TBP_NO_FLOW;
}
static inline uint64_t tbp_flow_id(uint64_t flow) {
    return flow >> 2 & ((UINT64_C(1) << 56) - 1);
}
static inline enum tbp_flow_direction tbp_flow_direction(uint64_t flow) {
    return (enum tbp_flow_direction)(flow & 3);
}
/* Its context, 0 if unknown. */
static inline unsigned tbp_flow_context(uint64_t flow) {
    return flow >> 58 < 18 ? (unsigned)(flow >> 58) : 0;
}
/* Whether serials put the event beyond what is shown. */
static inline bool tbp_track_is_lost(const struct tbp_trace_index *x, const struct tbp_track *t,
                                     size_t i) {
    return t->serial[i] >= TBP_SERIALS && !x->keeps_all;
}
/* First position of the track whose event does not begin before begin_ps. */
size_t tbp_track_lower_bound(const struct tbp_trace_index *x, const struct tbp_track *t,
                             uint64_t begin_ps);
/* 10^(12-level) ps. */
uint64_t tbp_level_resolution(unsigned level);

/* Merge of several tracks, or of chosen positions of them, into the one order used everywhere. */
struct tbp_track_cursor {
    uint64_t begin_ps, dur_ps;
    uint32_t track;
    size_t at, end;
    const uint32_t *picks; /* NULL: positions themselves */
};
struct tbp_track_merge {
    const struct tbp_trace_index *index;
    struct tbp_track_cursor *heap;
    size_t n;
};
/* heap has room for all tracks; add tracks, then start. */
void tbp_track_merge_add(struct tbp_track_merge *m, uint32_t track, const uint32_t *picks,
                         size_t from, size_t to);
void tbp_track_merge_start(struct tbp_track_merge *m);
/* Next event: its track and position; false at the end. */
bool tbp_track_merge_next(struct tbp_track_merge *m, uint32_t *track, size_t *at,
                          uint64_t *begin_ps);

#endif
