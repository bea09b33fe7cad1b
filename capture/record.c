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

static void no_chunk(struct tbp_thread *t) {
    __atomic_store_n(&t->chunk, &tbp_thread_nowhere, __ATOMIC_RELEASE);
    __atomic_store_n(&t->quick, &tbp_thread_nowhere, __ATOMIC_RELEASE);
}

/* Joins the session of that state word. */
static void adopt(struct tbp_thread *t, uint64_t state) {
    no_chunk(t);
    t->ticks_base = tbp_record_ticks_base;
    t->begin_base = t->ticks_base - TBP_SPOOL_HEAD(0, TBP_REC_BEGIN, 0);
    t->end_base = t->ticks_base - TBP_SPOOL_HEAD(0, TBP_REC_END, 0);
    t->is_tsc = tbp_record_is_tsc;
    t->n_annotations = t->n_lost = 0;
    t->sequence = t->n_before_chunk = t->step = 0;
    __atomic_store_n(&t->n_slots_before, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->n_extra_slots, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->n_activities, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->handle,
                     (uint64_t)tbp_state_generation(state) << 48 | (uint64_t)t->index << 32,
                     __ATOMIC_RELEASE);
}

/* Who is inside already is a signal handler in a record of its own thread: the spool stays as long
 * as that is so and the state is open. */
struct tbp_thread *tbp_record_enter(void) {
    struct tbp_thread *t = tbp_thread_self ? tbp_thread_self : tbp_thread_register();
    if (!t)
        return NULL;
    uint32_t offset = tbp_record_step_in(t);
    uint64_t state = tbp_state_load();
    bool is_inside = offset == TBP_THREAD_INSIDE, is_open = state & TBP_STATE_OPEN;
    if (is_inside && is_open)
        tbp_spool_count(tbp_record_spool, TBP_DROP_REENTRANT, 1);
    if (is_inside || !is_open) {
        tbp_record_step_out(t, offset);
        return NULL;
    }
    if (tbp_state_generation(state) != tbp_thread_generation(t))
        adopt(t, state);
    return t;
}

void tbp_record_end_chunk(struct tbp_thread *t) {
    if (t->chunk == &tbp_thread_nowhere)
        return;
    uint64_t n = tbp_thread_records(t);
    t->chunk->n_records = (uint32_t)(n - t->n_before_chunk);
    t->n_before_chunk = n;
    __atomic_store_n(&t->n_slots_before,
                     t->n_slots_before + t->chunk->committed / TBP_SPOOL_SLOT_BYTES,
                     __ATOMIC_RELAXED);
    tbp_spool_full(tbp_record_spool, t->chunk);
    no_chunk(t);
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
    tbp_record_end_chunk(t);
    chunk->thread = t->serial;
    chunk->tid = t->tid;
    chunk->pid = spool->header->pid;
    chunk->sequence = t->sequence++;
    chunk->n_lost_before = t->n_lost;
    memcpy(chunk->thread_name, t->name, sizeof chunk->thread_name);
    t->n_lost = 0;
    tbp_spool_begin(chunk);
    __atomic_store_n(&t->chunk, chunk, __ATOMIC_RELEASE);
    /* The quick way does not look at the depth: it must not be near its bound. */
    bool is_deep = (uint32_t)t->handle > TBP_RECORD_MAX_DEPTH - TBP_RECORD_PER_CHUNK;
    if (t->is_tsc && !is_deep)
        __atomic_store_n(&t->quick, chunk, __ATOMIC_RELEASE);
    return tbp_record_slot(t); /* the longest record fits in an empty chunk */
}
