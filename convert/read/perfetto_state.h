/* SPDX-License-Identifier: Apache-2.0
 *
 * What packets of a Perfetto trace mean depends on packets before: each sequence of packets has
 * names that stand as numbers, defaults, and clocks that count from the last packet. This keeps
 * that state; it is forgotten when the sequence says so.
 */
#ifndef TBP_CONVERT_READ_PERFETTO_STATE_H
#define TBP_CONVERT_READ_PERFETTO_STATE_H

#include "convert/read/trace_build.h"
#include "schemas/wire.h"

enum tbp_perfetto_names {
    TBP_PERFETTO_CATEGORIES = 1,
    TBP_PERFETTO_EVENTS = 2,
    TBP_PERFETTO_KEYS = 3,
    TBP_PERFETTO_TEXTS = 29, /* values of annotations */
};

enum { TBP_PERFETTO_CLOCKS = 4, TBP_PERFETTO_BUILTIN_CLOCKS = 16, TBP_PERFETTO_BOOT_CLOCK = 6 };

struct tbp_perfetto_clock { /* of a sequence: number 64 and up */
    uint32_t id;
    bool is_incremental;
    int64_t unit_ns, last, offset_ns; /* time = last × unit + offset */
};

struct tbp_perfetto_sequence {
    uint32_t generation; /* of its names */
    uint32_t default_clock;
    uint64_t default_track;
    int64_t last_us; /* of events that tell microseconds since the last one */
    struct tbp_perfetto_clock clocks[TBP_PERFETTO_CLOCKS];
    unsigned n_clocks;
};

struct tbp_perfetto_state {
    struct tbp_trace *t;
    TBP_VEC(struct tbp_perfetto_sequence) sequences;
    struct tbp_idmap by_id; /* sequence -> index */
    struct tbp_idmap names; /* sequence, generation, kind, number -> text */
    int64_t builtin_offset_ns[TBP_PERFETTO_BUILTIN_CLOCKS];
    bool has_builtin[TBP_PERFETTO_BUILTIN_CLOCKS];
};

void tbp_perfetto_state_release(struct tbp_perfetto_state *s);
/* Index of a sequence. */
uint32_t tbp_perfetto_sequence(struct tbp_perfetto_state *s, uint32_t id);
void tbp_perfetto_forget(struct tbp_perfetto_state *s, uint32_t sequence);

/* Packet fields interned_data, clock_snapshot, trace_packet_defaults. */
void tbp_perfetto_intern(struct tbp_perfetto_state *s, uint32_t sequence, struct tbp_wire w);
void tbp_perfetto_clocks(struct tbp_perfetto_state *s, uint32_t sequence, struct tbp_wire w);
void tbp_perfetto_defaults(struct tbp_perfetto_state *s, uint32_t sequence, struct tbp_wire w);

/* Text of a number; 0 (and counted) if it was never said. */
uint32_t tbp_perfetto_name(struct tbp_perfetto_state *s, uint32_t sequence,
                           enum tbp_perfetto_names kind, uint64_t iid);
/* A packet's timestamp in nanoseconds; clock 0: the default. Clocks that count from packet to
 * packet move on: once per packet. */
int64_t tbp_perfetto_time(struct tbp_perfetto_state *s, uint32_t sequence, uint32_t clock,
                          uint64_t timestamp);

#endif
