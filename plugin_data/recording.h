/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a capture spool (schemas/spool_format.h) that nobody vouches for: one walk over all chunks
 * finds the threads, which records of theirs are whole, the strings and the clock; after that,
 * records are walked thread by thread. What cannot be understood is counted and left out.
 *
 * Places: a slot number counts the 16-byte slots of the file from its start; 0 (the header) is
 * never one of a record and stands for none. Spools are read up to 64 GiB.
 * Ownership: views point into the caller's bytes, which must stay; tables lie in the arena given
 * and in the spool until release. Thread-safety: one thread at a time. The process that records may
 * go on while its spool is read: what is committed later is not seen.
 */
#ifndef TBP_PLUGIN_DATA_RECORDING_H
#define TBP_PLUGIN_DATA_RECORDING_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"
#include "plugin_data/rec_clock.h"
#include "schemas/spool_format.h"

#define TBP_REC_BIT(kind) (UINT32_C(1) << (kind))

/* Records of one chunk that are to be read. */
struct tbp_rec_run {
    uint64_t sequence;
    uint32_t chunk; /* number in the file */
    uint32_t slot;  /* of the first record */
    uint32_t n_slots;
    uint32_t taken_bytes; /* of the chunk, once this run is read: what `consumed` will be */
    uint32_t kinds;       /* TBP_REC_BIT of each kind that occurs */
    uint64_t n_lost;      /* records dropped just before the first here */
    bool after_gap;       /* records between the run before and this one are lost */
};

struct tbp_rec_thread {
    uint32_t serial;
    int32_t tid, pid;
    struct tbp_str name; /* the last one known; may be empty */
    const struct tbp_rec_run *runs;
    size_t n_runs;
    uint32_t kinds;
};

struct tbp_recording {
    const uint8_t *data;
    uint64_t size_bytes;
    struct tbp_spool_header head; /* a copy, texts ended */
    struct tbp_rec_clock clock;
    struct tbp_rec_thread *threads; /* ordered by pid and serial */
    size_t n_threads;
    struct tbp_str *strings; /* by id; p NULL: not defined */
    uint32_t n_strings;
    uint64_t n_records, n_defects;
    uint64_t first_ticks, last_ticks; /* of all records; first > last: there are none */
    uint64_t n_by_level[256];         /* BEGIN records */
    TBP_VEC(struct tbp_rec_run) runs;
    /* Of chunks that may be used again while they are read; numbered behind the file's slots. */
    TBP_VEC(struct tbp_spool_slot) copies;
    uint32_t n_file_slots;
};

struct tbp_recording_bounds {
    int64_t until_realtime_ns; /* records after it are left out; INT64_MAX: none is */
    bool is_live;              /* the process goes on: chunks that it may use again are copied */
};

/* Fails with TBP_E_FORMAT, TBP_E_TRUNCATED or TBP_E_UNSUPPORTED if there is no spool to speak of.
 * data must be 16-byte aligned. */
int tbp_recording_open(struct tbp_recording *s, struct tbp_arena *arena, const uint8_t *data,
                       uint64_t size_bytes, const struct tbp_recording_bounds *bounds,
                       struct tbp_error *err);
void tbp_recording_release(struct tbp_recording *s);

/* The bytes begin like a spool. */
bool tbp_recording_is_spool(const uint8_t *data, uint64_t size_bytes);

/* Header of the chunk of that number, which a run names. */
const struct tbp_spool_chunk *tbp_recording_chunk(const struct tbp_recording *s, uint32_t number);

/* ---- records ---- */
struct tbp_rec {
    const struct tbp_spool_slot *at;
    uint64_t ticks;
    uint32_t slot; /* number in the file */
    unsigned kind, extra;
};
struct tbp_rec_walk {
    const struct tbp_spool_slot *at, *end;
    uint32_t slot;
};

/* The slot of that number. */
static inline const struct tbp_spool_slot *tbp_rec_slot(const struct tbp_recording *s,
                                                        uint32_t slot) {
    if (slot >= s->n_file_slots)
        return s->copies.at + (slot - s->n_file_slots);
    return (const struct tbp_spool_slot *)(const void *)s->data + slot;
}

struct tbp_rec_walk tbp_rec_walk_of(const struct tbp_recording *s, const struct tbp_rec_run *run);

static inline void tbp_rec_of(struct tbp_rec *r, const struct tbp_spool_slot *at, uint32_t slot) {
    uint64_t head = at->head;
    r->at = at;
    r->slot = slot;
    r->ticks = TBP_SPOOL_TICKS(head);
    r->kind = TBP_SPOOL_KIND(head);
    r->extra = TBP_SPOOL_EXTRA(head);
}

/* False at the end of the run, or at a record that would leave it. */
static inline bool tbp_rec_next(struct tbp_rec_walk *w, struct tbp_rec *r) {
    if (w->at >= w->end)
        return false;
    tbp_rec_of(r, w->at, w->slot);
    if (r->kind == TBP_REC_NONE || r->extra >= (uint64_t)(w->end - w->at))
        return false;
    w->at += 1 + r->extra;
    w->slot += 1 + r->extra;
    return true;
}

/* The record at a slot that a walk has seen. */
struct tbp_rec tbp_rec_at(const struct tbp_recording *s, uint32_t slot);

static inline unsigned tbp_rec_level(const struct tbp_rec *r) {
    return r->at->aux >> 16 & 255;
}
/* A text by id; empty if it is not defined. */
static inline struct tbp_str tbp_rec_string(const struct tbp_recording *s, uint32_t id) {
    return id < s->n_strings && s->strings[id].p ? s->strings[id] : TBP_STR_NONE;
}
/* Name of a record that has one. */
struct tbp_str tbp_rec_name(const struct tbp_recording *s, const struct tbp_rec *r);

/* ---- arguments ---- */
struct tbp_rec_arg_walk {
    const struct tbp_spool_slot *at, *end;
};
struct tbp_rec_arg {
    uint32_t key;
    unsigned type; /* enum tbp_spool_arg_type */
    uint64_t value, second;
    struct tbp_str text; /* TEXT and ID */
};
struct tbp_rec_arg_walk tbp_rec_args(const struct tbp_rec *r);
bool tbp_rec_next_arg(const struct tbp_recording *s, struct tbp_rec_arg_walk *w,
                      struct tbp_rec_arg *a);
/* The number in the argument with key 0. False: there is none. */
bool tbp_rec_value(const struct tbp_recording *s, const struct tbp_rec *r, struct tbp_rec_arg *a);
/* The block of a memory record; NULL: it is cut. */
const struct tbp_spool_memory *tbp_rec_memory_block(const struct tbp_rec *r);

#endif
