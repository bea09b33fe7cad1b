/* SPDX-License-Identifier: Apache-2.0
 *
 * How a reader of a format other than xplane fills the model. It says what it reads, in any order:
 *
 *     tbp_trace_init(&t, host);
 *     uint32_t main = tbp_trace_thread(&t, pid, tid);               // a line of /host:CPU
 *     uint32_t s7 = tbp_trace_stream(&t, 0, 7);                     // Stream #7 of /device:GPU:0
 *     tbp_trace_stat_text(&t, TBP_TRACE_SHARED, key, details);      // stats of the next event
 *     tbp_trace_add(&t, &(struct tbp_trace_event){.track = s7, .name = name, .start_ns = …});
 *     tbp_trace_finish(&t, pool);                                   // planes, lines, columns
 *
 * and finish makes of it what the analyses expect: events in order of time, names and lines in an
 * order that does not depend on that of the input; the op on each kernel (the op around its launch,
 * by correlation id); step marks as roots whose step holds what other threads did meanwhile; memory
 * totals; begin and end paired; times counted from the first event, events of another clock
 * quarantined. What the parts mean:
 *
 * - An op (TBP_TRACE_OP) is shown in the op tables; a launch carries the correlation id of the
 *   device events it starts in `link`, a device event that of its launch. An op may be its launch.
 * - A step mark carries its number in `link`; a function without any of these flags one that rises
 *   in the order in which functions began, or 0: of one extent the later is in the earlier.
 * - TBP_TRACE_BEGIN and TBP_TRACE_END are paired by a stack per track; they need no duration. Of
 *   one moment, ends end what began earlier, then what begins there, those that tell a name first;
 *   of what begins together, the last by name lies innermost. In which order the input has
 *   them counts only if it is said to tell (is_in_order).
 * - Shared stats (TBP_TRACE_SHARED) are few and repeat: kept once. Own stats are of one event.
 *   Texts are numbers from tbp_trace_text; in the model they become references.
 *
 * Memory: 40 bytes per event while reading, given back while the columns are filled; the stats of
 * an event become XStat wire bytes in the host's arena, equal ones once. Ownership: release after
 * finish or failure; the host owns what was made. Texts given are copied. One thread,
 * except that finish works on all of the pool.
 */
#ifndef TBP_CONVERT_READ_TRACE_BUILD_H
#define TBP_CONVERT_READ_TRACE_BUILD_H

#include "base/pool.h"
#include "base/vec.h"
#include "convert/model/builder.h"
#include "convert/read/given_name.h"

enum tbp_trace_flag {
    TBP_TRACE_OP = 1,     /* a framework op on the host */
    TBP_TRACE_STEP = 2,   /* link: its number */
    TBP_TRACE_LAUNCH = 4, /* link: correlation id */
    TBP_TRACE_DEVICE = 8, /* link: correlation id; work of a device */
    TBP_TRACE_BEGIN = 16,
    TBP_TRACE_END = 32,     /* name 0: ends whatever is open */
    TBP_TRACE_MEMORY = 64,  /* by tbp_trace_memory only */
    TBP_TRACE_INSIDE = 128, /* set by finish: belongs to the step that runs then */
};

enum tbp_trace_stats { TBP_TRACE_SHARED, TBP_TRACE_OWN };

struct tbp_trace_event {
    uint32_t track, name; /* name: of tbp_trace_text */
    int64_t start_ns;
    unsigned start_ps; /* 0 … 999, added */
    uint64_t dur_ps, link;
    unsigned flags;
    uint64_t external_id; /* of a device event: that of its op, if there is no launch; else 0 */
};

struct tbp_trace_memory_event {
    uint32_t track, allocator; /* allocator: text */
    int64_t start_ns;
    unsigned start_ps;
    int64_t bytes; /* negative: freed */
    uint64_t address;
    int64_t allocated, reserved; /* after it; allocated < 0: not known, then the sum of bytes */
};

struct tbp_trace_row { /* sorted many times: 40 bytes */
    int64_t start_ns;
    uint64_t dur_ps; /* begin and end: what comes first of one moment; memory: text of the op
                      * around it */
    uint64_t link;
    uint32_t name;
    uint32_t set : 24, flags : 8;
    uint32_t own; /* offset in own, or index in memory */
    uint32_t track : 22, start_ps : 10;
};

enum tbp_trace_track_kind { TBP_TRACK_THREAD, TBP_TRACK_DEVICE, TBP_TRACK_OTHER };

struct tbp_trace_track {
    uint32_t plane, target; /* target: the track it is merged into when begin and end are paired */
    enum tbp_trace_track_kind kind;
    int64_t id;
    struct tbp_str name;
    struct tbp_given_name given; /* by the input; then also the name */
    int64_t sort;                /* smaller first */
    int64_t first_ns;
    uint32_t rank, lane; /* lane: of a stream on which work overlaps, set by finish */
    uint64_t types;      /* of a stream: bits of TBP_TRACE_STREAM_TYPES */
    uint64_t content;    /* of its events, in no order; 0 where nothing ties with the track */
};

struct tbp_trace_plane {
    struct tbp_str name;
    TBP_VEC(struct tbp_str) stats; /* XStat messages are made of them by finish */
    uint32_t rank;
};

struct tbp_trace_plane_stat {
    uint32_t plane, key;
    bool is_text;
    uint64_t value; /* number, or text */
};

struct tbp_trace_memory {
    uint64_t address;
    int64_t bytes, allocated, reserved, peak;
    uint32_t allocator;
};

struct tbp_trace_shown_step { /* one that pages are to show, with or without work in it */
    int64_t start_ns, end_ns;
    uint32_t track;
    bool has_work;
};

struct tbp_trace_step { /* made by finish, in order of start */
    int64_t start_ns, end_ns;
    uint32_t track;
};

struct tbp_trace {
    struct tbp_host *host;
    struct tbp_strtab texts; /* number 0: "" */
    TBP_VEC(uint8_t) uses;  /* of texts: bits 1 event name, 2 stat name, 4 reference, 8 even list */
    struct tbp_strtab sets; /* number 0: no stats */
    TBP_VEC(struct tbp_trace_plane) planes;
    struct tbp_strtab plane_names;
    TBP_VEC(struct tbp_trace_track) tracks;
    struct tbp_idmap thread_tracks, stream_tracks;
    struct tbp_strtab named_tracks;
    TBP_VEC(uint32_t) of_named;
    TBP_VEC(struct tbp_trace_plane_stat) plane_stats;
    TBP_VEC(struct tbp_trace_row) rows;
    TBP_VEC(struct tbp_trace_memory) memory;
    TBP_VEC(struct tbp_trace_shown_step) shown_steps;
    struct tbp_idmap op_stats; /* name and type of an op -> text of tbp_trace_op_text */
    struct tbp_idmap op_names; /* of tbp_trace_name_op */
    struct tbp_wire_out shared, own;
    size_t own_from; /* where the stats of the next event begin */
    int64_t base_ns; /* wall clock at the zero of the input's times */
    bool has_wall_clock;
    bool is_in_order; /* begins and ends of one moment and track are given in their order */
    uint64_t n_tracks_refused;
    /* of finish */
    struct tbp_pool *pool;
    TBP_VEC(uint32_t) rank;    /* of texts, by bytes */
    uint32_t external_key;     /* the text "External id", or TBP_MAP_NONE */
    TBP_VEC(uint32_t) stat_id; /* of texts; 0: none */
    TBP_VEC(uint32_t) op_text; /* of texts: how an op of this name is called in tables, or 0 */
    TBP_VEC(struct tbp_trace_step) steps;
    struct tbp_idmap op_of_link; /* correlation id -> text of the op */
    int64_t origin_ns;
};

void tbp_trace_init(struct tbp_trace *t, struct tbp_host *host);
void tbp_trace_release(struct tbp_trace *t);

/* Number of a text, copied if new. */
uint32_t tbp_trace_text(struct tbp_trace *t, struct tbp_str s);

/* The text by which tables know an op and its type (none: the last part of the name), the value of
 * the stat tf_op: `aten::mm` is "aten/mm:mm". Without a type that they understand, what stands
 * behind the colon is left to them. */
uint32_t tbp_trace_op_text(struct tbp_trace *t, struct tbp_str name, struct tbp_str type);

/* Ops with this name are called otherwise in tables (texts). */
void tbp_trace_name_op(struct tbp_trace *t, uint32_t name, uint32_t called);

uint32_t tbp_trace_plane(struct tbp_trace *t, struct tbp_str name);
void tbp_trace_plane_text(struct tbp_trace *t, uint32_t plane, const char *key, struct tbp_str v);
void tbp_trace_plane_u64(struct tbp_trace *t, uint32_t plane, const char *key, uint64_t v);

/* Numbers from here on stand for processes and threads that are told by a text. */
#define TBP_FIRST_ID_OF_TEXT ((int64_t)1 << 62)

enum { TBP_TRACE_MAX_TRACKS = 32768, TBP_NO_TRACK = UINT32_MAX };
/* A thread of the host; the same for the same numbers. TBP_NO_TRACK: there are too many. */
uint32_t tbp_trace_thread(struct tbp_trace *t, int64_t process, int64_t thread);
uint32_t tbp_trace_stream(struct tbp_trace *t, uint32_t device, int64_t stream);
/* Any other line, known by plane and name. */
uint32_t tbp_trace_line(struct tbp_trace *t, uint32_t plane, struct tbp_str name);
/* A step as a device tells it, on a line of its own (tbp_trace_line): the device's step then lasts
 * as long. Steps count only where there is work; where none is known, finish adds an event of a
 * nanosecond at the step's begin. e: track, name, times. */
void tbp_trace_device_step(struct tbp_trace *t, const struct tbp_trace_event *e);
/* The same for a row that is a mark on the host, where no device has any work. */
void tbp_trace_show_step(struct tbp_trace *t, const struct tbp_trace_row *row);
/* The line of counters: events whose stats are series of numbers. */
uint32_t tbp_trace_counters(struct tbp_trace *t);
/* Whatever it was called before. */
void tbp_trace_track_name(struct tbp_trace *t, uint32_t track, struct tbp_str name);
/* One of the names that the input gives it, each of which counts more than one that it does not. */
void tbp_trace_track_given(struct tbp_trace *t, uint32_t track, const struct tbp_given_name *name);

/* Stats of the event added next. */
void tbp_trace_stat_text(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, uint32_t text);
void tbp_trace_stat_i64(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, int64_t v);
void tbp_trace_stat_u64(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, uint64_t v);
void tbp_trace_stat_double(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, double v);
/* The same of an op on a device (tf_op), by the texts of its name and its type (0: none). */
void tbp_trace_stat_op(struct tbp_trace *t, uint32_t name, uint32_t type);
/* Waiting for data, by the name that PyTorch gives it, is the stage of an input pipeline, as which
 * pages know it: a stat of the event added next. */
void tbp_trace_mark_input(struct tbp_trace *t, struct tbp_str name);
/* The shared stats said since the last event, as a number for rows that are there already. */
uint32_t tbp_trace_take_shared(struct tbp_trace *t);
/* Adds an event; counted in the ledger of the host as read, and as dropped if track is none. */
void tbp_trace_add(struct tbp_trace *t, const struct tbp_trace_event *e);
void tbp_trace_memory(struct tbp_trace *t, const struct tbp_trace_memory_event *e);

/* A warning that pages tell. */
void tbp_trace_warn(struct tbp_trace *t, struct tbp_str text);
/* Times beyond the year 2001 are those of a wall clock. */
void tbp_trace_find_wall_clock(struct tbp_trace *t);
void tbp_trace_finish(struct tbp_trace *t, struct tbp_pool *pool);

/* ---- parts of finish, each in a file of its own ---- */
void tbp_trace_anchor(struct tbp_trace *t);  /* trace_steps.c: steps without work */
void tbp_trace_arrange(struct tbp_trace *t); /* trace_order.c: window, order, begin and end */
/* trace_lanes.c: what overlaps on a stream; rows are in order, their tracks and those of the table
 * are ranks. True if some now are others: then rows are out of order. */
bool tbp_trace_spread(struct tbp_trace *t, const uint32_t *track_of_rank);
void tbp_trace_link(struct tbp_trace *t); /* trace_link.c: ops, steps, memory */
void tbp_trace_emit(struct tbp_trace *t); /* trace_emit.c: planes, lines, columns */
/* The own stat "External id" of a row, or 0. */
uint64_t tbp_trace_external_of(const struct tbp_trace *t, const struct tbp_trace_row *row);
/* Number of the step that runs at this time, from 1, or 0. */
uint32_t tbp_trace_step_at(const struct tbp_trace *t, int64_t ns);

#endif
