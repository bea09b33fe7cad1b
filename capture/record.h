/* SPDX-License-Identifier: Apache-2.0
 *
 * Appending records: enter, get room, write slots, commit, leave. Between enter and leave the
 * session's memory stays: who ends a session changes the state word first and then waits for all
 * who are inside (capture/thread.h). A signal handler that interrupts its own thread inside finds
 * in_write set and records nothing.
 *
 *     struct tbp_thread *t = tbp_record_enter();
 *     if (!t) return;
 *     struct tbp_spool_slot *slot = tbp_record_room(t, 1, tbp_record_held(t));
 *     if (slot) { … tbp_record_commit(t, 1, ticks); }
 *     tbp_record_leave(t);
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
    TBP_RECORD_MAX_HELD = 1024, /* open scopes for whose ends room is kept */
};

/* The spool of the session; changes only while nobody is inside. */
extern struct tbp_spool *tbp_record_spool;
/* The session's start in ticks, and whether they are the counter's. */
extern uint64_t tbp_record_ticks_base;
extern bool tbp_record_is_tsc;

struct tbp_thread *tbp_record_enter_slow(void);
bool tbp_record_adopt(struct tbp_thread *t);
struct tbp_spool_slot *tbp_record_refill(struct tbp_thread *t);
void tbp_record_end_chunk(struct tbp_thread *t);

static inline void tbp_record_leave(struct tbp_thread *t) {
    __atomic_store_n(&t->in_write, 0, __ATOMIC_RELEASE);
}

/* NULL: nothing may be recorded now. */
static inline struct tbp_thread *tbp_record_enter(void) {
    struct tbp_thread *t = tbp_thread_self;
    if (__builtin_expect(!t || __atomic_load_n(&t->in_write, __ATOMIC_RELAXED), 0)) {
        t = tbp_record_enter_slow();
        if (!t)
            return NULL;
    }
    __atomic_store_n(&t->in_write, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* against the processor: membarrier, in settle */
    uint64_t state = tbp_state_load();
    if (__builtin_expect(!(state & TBP_STATE_OPEN) ||
                             tbp_state_generation(state) !=
                                 __atomic_load_n(&t->tag, __ATOMIC_RELAXED) >> 16,
                         0) &&
        !tbp_record_adopt(t))
        return NULL;
    return t;
}

/* Slots to keep free behind a record, so that the scopes that are open can be ended in this chunk
 * should there be no other. */
static inline unsigned tbp_record_held(const struct tbp_thread *t) {
    return t->depth < TBP_RECORD_MAX_HELD ? t->depth : TBP_RECORD_MAX_HELD;
}

/* Where n slots can be written, `held` staying free behind them; NULL: dropped and counted. */
static inline struct tbp_spool_slot *tbp_record_room(struct tbp_thread *t, unsigned n,
                                                     unsigned held) {
    size_t need = (size_t)(n + held) * TBP_SPOOL_SLOT_BYTES;
    if (__builtin_expect((size_t)(t->end - t->at) < need, 0))
        return tbp_record_refill(t);
    return (struct tbp_spool_slot *)t->at;
}

static inline uint64_t tbp_record_ticks(const struct tbp_thread *t) {
    return tbp_clock_ticks(t->is_tsc) - t->ticks_base;
}

static inline void tbp_record_commit(struct tbp_thread *t, unsigned n, uint64_t ticks) {
    t->at += n * TBP_SPOOL_SLOT_BYTES;
    t->last_ticks = ticks;
    __atomic_store_n(&t->n_records, t->n_records + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&t->chunk->committed, (uint32_t)(t->at - (uint8_t *)(t->chunk + 1)),
                     __ATOMIC_RELEASE);
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
static inline void tbp_record_put_text(struct tbp_spool_slot *to,
                                       const struct tbp_record_text *text) {
    if (text->slots)
        to[text->slots - 1] = (struct tbp_spool_slot){0};
    memcpy(to, text->p, text->size);
}

static inline void tbp_record_put_arg(struct tbp_spool_slot *to, uint32_t key, uint8_t type,
                                      uint64_t value) {
    *(struct tbp_spool_arg *)to = (struct tbp_spool_arg){key, type, 0, 0, value};
}

#endif
