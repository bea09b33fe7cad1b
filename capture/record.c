/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow ways of a record: the first of a thread, the first of a thread in a session, the first
 * of a chunk, and the one for which there is no room.
 */
#include "capture/record.h"

#include "capture/janitor.h"

uint64_t tbprof_g_state __attribute__((aligned(64)));
struct tbp_spool *tbp_record_spool;
uint64_t tbp_record_ticks_base;
bool tbp_record_is_tsc;

void tbp_record_drop(struct tbp_thread *t, enum tbp_spool_drop why) {
    tbp_spool_count(tbp_record_spool, why, 1);
    if (why != TBP_DROP_NAME_CUT)
        t->n_lost++;
}

/* No block yet, or a record is being written: by this thread, since in_write is its own, so this is
 * a signal handler. The spool stays as long as in_write is set and the state is open. */
struct tbp_thread *tbp_record_enter_slow(void) {
    struct tbp_thread *t = tbp_thread_self;
    if (!t)
        return tbp_thread_register();
    if (tbp_state_load() & TBP_STATE_OPEN)
        tbp_spool_count(tbp_record_spool, TBP_DROP_REENTRANT, 1);
    return NULL;
}

/* Joins the session that runs now; false (and left): none does. */
bool tbp_record_adopt(struct tbp_thread *t) {
    uint64_t state = tbp_state_load();
    if (!(state & TBP_STATE_OPEN)) {
        tbp_record_leave(t);
        return false;
    }
    t->at = t->end = NULL;
    t->chunk = NULL;
    t->ticks_base = tbp_record_ticks_base;
    t->is_tsc = tbp_record_is_tsc;
    t->last_ticks = 0;
    t->n_annotations = t->n_lost = 0;
    t->sequence = t->n_before_chunk = t->n_activities = t->step = 0;
    __atomic_store_n(&t->n_records, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->depth, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->tag, tbp_state_generation(state) << 16 | t->index, __ATOMIC_RELEASE);
    return true;
}

void tbp_record_end_chunk(struct tbp_thread *t) {
    t->chunk->n_records = (uint32_t)(t->n_records - t->n_before_chunk);
    t->n_before_chunk = t->n_records;
    tbp_spool_full(tbp_record_spool, t->chunk);
    t->chunk = NULL;
    t->at = t->end = NULL;
}

/* A new chunk; the old one stays in use if there is none, since ends of scopes may still fit. */
struct tbp_spool_slot *tbp_record_refill(struct tbp_thread *t) {
    struct tbp_spool *spool = tbp_record_spool;
    struct tbp_spool_chunk *chunk = NULL;
    if (!__atomic_load_n(&spool->is_exhausted, __ATOMIC_RELAXED))
        chunk = tbp_spool_take(spool, TBP_SPOOL_CHUNK_RECORDS);
    if (__atomic_load_n(&spool->is_low, __ATOMIC_RELAXED))
        tbp_janitor_wake();
    if (!chunk) {
        tbp_record_drop(t, spool->exhausted_why);
        return NULL;
    }
    if (t->chunk)
        tbp_record_end_chunk(t);
    chunk->thread = t->serial;
    chunk->tid = t->tid;
    chunk->pid = spool->header->pid;
    chunk->sequence = t->sequence++;
    chunk->n_lost_before = t->n_lost;
    memcpy(chunk->thread_name, t->name, sizeof chunk->thread_name);
    t->n_lost = 0;
    t->chunk = chunk;
    t->at = (uint8_t *)(chunk + 1);
    t->end = (uint8_t *)chunk + TBP_SPOOL_CHUNK_BYTES;
    tbp_spool_begin(chunk);
    return (struct tbp_spool_slot *)t->at; /* the longest record fits in an empty chunk */
}
