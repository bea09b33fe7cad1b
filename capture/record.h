/* SPDX-License-Identifier: Apache-2.0
 *
 * Appending records: enter, get room, write slots, commit, leave. Between enter and leave the
 * session's memory stays: who ends a session changes the state word first and then waits for all
 * who are inside (capture/thread.h). A signal handler that interrupts its own thread inside finds
 * it so and records nothing.
 *
 *     struct tbp_thread *t = tbp_record_enter();
 *     if (!t) return;
 *     struct tbp_spool_slot *slot = tbp_record_room(t, 1, TBP_RECORD_HELD);
 *     if (slot) { … tbp_record_commit(t, 1); }
 *     tbp_record_leave(t);
 *
 * Scopes have a quick way (capture/scopes.c), which is open while the thread is in a session and
 * has a chunk, and its clock is the counter: all there is to check is whether the record fits where
 * the thread's offset says, which is also what says that it is inside.
 *
 * Budget: two clock reads and a third for a whole scope; tests/bench/bench_scope.c guards it.
 */
#ifndef TBP_CAPTURE_RECORD_H
#define TBP_CAPTURE_RECORD_H

#include "capture/clock.h"
#include "capture/state.h"
#include "capture/thread.h"

enum {
    TBP_RECORD_MAX_DEPTH = 65535,
    TBP_RECORD_PER_CHUNK = TBP_SPOOL_CHUNK_BYTES / TBP_SPOOL_SLOT_BYTES, /* at most */
    /* Slots that stay free behind a record, so that scopes that are open can be ended in this chunk
     * should there be no other. (What is nested deeper loses its ends, which is counted.) */
    TBP_RECORD_HELD = 64,
};

/* The spool of the session; changes only while nobody is inside. */
extern struct tbp_spool *tbp_record_spool;
/* The session's start in ticks, and whether they are the counter's. */
extern uint64_t tbp_record_ticks_base;
extern bool tbp_record_is_tsc;

struct tbp_spool_slot *tbp_record_refill(struct tbp_thread *t);
void tbp_record_end_chunk(struct tbp_thread *t);

/* NULL: nothing may be recorded now. */
struct tbp_thread *tbp_record_enter(void);

static inline void tbp_record_leave(struct tbp_thread *t) {
    __atomic_store_n(&t->offset, t->chunk->committed, __ATOMIC_RELEASE);
}

/* Inside from now on; what the offset was before, which step_out takes if nothing came of it. A
 * handler may have come in between and recorded: then it is not what is committed in the chunk. */
static inline uint32_t tbp_record_step_in(struct tbp_thread *t) {
    uint32_t offset = __atomic_load_n(&t->offset, __ATOMIC_RELAXED);
    __atomic_store_n(&t->offset, TBP_THREAD_INSIDE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* against the processor: membarrier, in settle */
    return offset;
}

static inline void tbp_record_step_out(struct tbp_thread *t, uint32_t offset) {
    __atomic_store_n(&t->offset, offset, __ATOMIC_RELEASE);
}

static inline struct tbp_spool_slot *tbp_record_slot_at(struct tbp_spool_chunk *chunk,
                                                        uint32_t offset) {
    return (struct tbp_spool_slot *)((uint8_t *)(chunk + 1) + offset);
}

/* Where the next record of the thread goes. */
static inline struct tbp_spool_slot *tbp_record_slot(const struct tbp_thread *t) {
    return tbp_record_slot_at(t->chunk, t->chunk->committed);
}

/* Whether n slots can be written, `held` staying free behind them. */
static inline bool tbp_record_has_room(const struct tbp_thread *t, unsigned n, unsigned held) {
    return TBP_SPOOL_BODY_BYTES - t->chunk->committed >= (n + held) * TBP_SPOOL_SLOT_BYTES;
}

/* Where n slots can be written, `held` staying free behind them; NULL: dropped and counted. */
static inline struct tbp_spool_slot *tbp_record_room(struct tbp_thread *t, unsigned n,
                                                     unsigned held) {
    if (__builtin_expect(!tbp_record_has_room(t, n, held), 0))
        return tbp_record_refill(t);
    return tbp_record_slot(t);
}

static inline uint64_t tbp_record_ticks(const struct tbp_thread *t) {
    return tbp_clock_ticks(t->is_tsc) - t->ticks_base;
}

/* The next n slots are complete. */
static inline void tbp_record_publish(struct tbp_thread *t, unsigned n) {
    __atomic_store_n(&t->chunk->committed, t->chunk->committed + n * TBP_SPOOL_SLOT_BYTES,
                     __ATOMIC_RELEASE);
}

static inline void tbp_record_count_extra(struct tbp_thread *t, unsigned n) {
    __atomic_store_n(&t->n_extra_slots, t->n_extra_slots + n, __ATOMIC_RELAXED);
}

/* The record of n slots for which room was made. */
static inline void tbp_record_commit(struct tbp_thread *t, unsigned n) {
    tbp_record_count_extra(t, n - 1);
    tbp_record_publish(t, n);
}

/* One record that could not be written, or not in full. */
void tbp_record_drop(struct tbp_thread *t, enum tbp_spool_drop why);

/* A record without name and arguments: PAUSE, RESUME. */
void tbp_record_mark(enum tbp_spool_kind kind);

/* A text in a record: how many slots it takes, how many of its bytes are kept. */
struct tbp_record_text {
    const char *p;
    uint32_t size, slots;
    uint32_t flags; /* TBP_SPOOL_NAME_CUT or 0 */
};
static inline struct tbp_record_text tbp_record_text(const char *p, size_t size) {
    struct tbp_record_text text = {p, (uint32_t)size, 0, 0};
    if (__builtin_expect(size > TBP_SPOOL_MAX_NAME, 0)) {
        text.size = TBP_SPOOL_MAX_NAME;
        text.flags = TBP_SPOOL_NAME_CUT;
    }
    text.slots = (text.size + TBP_SPOOL_SLOT_BYTES - 1) / TBP_SPOOL_SLOT_BYTES;
    return text;
}

/* Copies without a call: blocks of 16 bytes, the last one overlapping; what is left of the last
 * slot is zero. */
static inline void tbp_record_put_text(struct tbp_spool_slot *to,
                                       const struct tbp_record_text *text) {
    uint8_t *at = (uint8_t *)to;
    const char *from = text->p;
    size_t n = text->size;
    if (n & 15)
        to[n / 16] = (struct tbp_spool_slot){0};
    if (n >= 16) {
        for (size_t i = 0; i + 16 <= n; i += 16)
            memcpy(at + i, from + i, 16);
        if (n & 15)
            memcpy(at + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(at, from, 8);
        memcpy(at + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(at, from, 4);
        memcpy(at + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            at[i] = (uint8_t)from[i];
    }
}

static inline void tbp_record_put_arg(struct tbp_spool_slot *to, uint32_t key, uint8_t type,
                                      uint64_t value) {
    *(struct tbp_spool_arg *)to = (struct tbp_spool_arg){key, type, 0, 0, value};
}

#endif
