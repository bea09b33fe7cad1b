/* SPDX-License-Identifier: Apache-2.0
 *
 * What the runtime knows of a thread: where it writes, how deep its scopes are, what it lost. A
 * thread registers with its first record (or name) and is forgotten when it ends; blocks lie in one
 * fixed table, so that whoever looks at them needs no lock. A block is written by its thread alone,
 * but for what says "atomic", and for the end of a session, which waits until no thread is inside a
 * record (tbp_threads_settle).
 */
#ifndef TBP_CAPTURE_THREAD_H
#define TBP_CAPTURE_THREAD_H

#include "capture/spool.h"

enum { TBP_THREADS = 4096 };

#define TBP_THREAD_INSIDE UINT32_MAX

struct tbp_thread {
    /* what every record touches: one line of the cache */
    uint32_t offset; /* atomic: TBP_THREAD_INSIDE while a record is being written (or must not be),
                      * else that of the next one in the chunk, or anything on the slow way */
    uint32_t index;  /* of the block */
    struct tbp_spool_chunk *quick; /* atomic: the chunk in which scopes may go the quick way, else
                                    * &tbp_thread_nowhere */
    uint64_t handle; /* of the innermost scope: generation : 16 | index : 16 | depth : 32; 0: not of
                      * this session; atomic */
    uint64_t begin_base, end_base; /* ticks_base less the kind: ticks - base is a record's head */
    uint64_t n_extra_slots; /* of all slots so far, those behind the first of a record; atomic */
    uint64_t ticks_base;    /* of the session */
    struct tbp_spool_chunk *chunk; /* without one: &tbp_thread_nowhere; atomic */
    /* the rest */
    uint64_t n_slots_before; /* written before the chunk; atomic */
    uint64_t n_before_chunk; /* records before those in the chunk */
    bool is_tsc;
    uint32_t serial;        /* of the thread, never used twice in a process */
    int32_t tid;            /* of the kernel */
    uint32_t is_live;       /* atomic */
    uint32_t n_annotations; /* open ones */
    uint32_t n_lost;        /* records dropped since the last one written */
    uint64_t sequence;      /* of the next chunk */
    uint64_t n_activities;  /* begun in this session, not ended by this thread; atomic */
    uint64_t step;          /* scope of the open step, 0: none */
    void *extra;            /* see tbp_thread_extra */
    size_t extra_bytes;
    char name[64]; /* as it set it, else what the system calls it */
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct tbp_thread, n_slots_before) == 64, "one line");

/* Generation of the session that the thread records for. */
static inline uint32_t tbp_thread_generation(const struct tbp_thread *t) {
    return (uint32_t)(__atomic_load_n(&t->handle, __ATOMIC_ACQUIRE) >> 48);
}

/* A chunk without room. */
extern struct tbp_spool_chunk tbp_thread_nowhere;

/* Records of the thread in the session. They are counted by slots, so that the shortest ones, of
 * one slot, need no counter. */
uint64_t tbp_thread_records(const struct tbp_thread *thread);

/* Block of this thread, NULL: not registered. "initial-exec" is a plain load, but puts all that the
 * library has of thread-local storage into the small reserve of a program that loads it late (a
 * running Python): there must be nothing else but a few words. */
extern __thread struct tbp_thread *tbp_thread_self __attribute__((tls_model("initial-exec")));

/* Registers this thread; NULL if there is no block left, or in the middle of registering. */
struct tbp_thread *tbp_thread_register(void);
/* Zeroed memory of this thread, made at the first call and gone with the thread; NULL: none. For
 * one user, always of the same size. Mapped, not allocated. */
void *tbp_thread_extra(size_t size);
void tbp_thread_set_name(struct tbp_thread *thread, const char *name);

/* The hook for ends of threads; by register, or earlier, while keys are cheap. */
void tbp_threads_init(void);

/* Threads that are registered now. */
uint32_t tbp_threads_known(void);

/* After the state word was closed: waits until no other thread is inside a record, nor will be.
 * False: some thread did not get on for seconds; its memory must stay. */
bool tbp_threads_settle(void);

struct tbp_thread_sums {
    uint64_t n_records, n_threads, n_open_scopes, n_activities;
};
/* Of the running session, dead threads included. */
void tbp_threads_sum(struct tbp_thread_sums *sums);
/* After settle: the session's last word to threads, their names go to the chunks that they were
 * writing. Sums are zero afterwards. */
void tbp_threads_detach(void);

void tbp_threads_lock(void);
void tbp_threads_unlock(void);
void tbp_threads_after_fork(void);

/* A thread that holds locks of the runtime outside a record: signal handlers on it record nothing
 * meanwhile. unhold takes what hold returned. */
uint32_t tbp_thread_hold(void);
void tbp_thread_unhold(uint32_t held);

#endif
