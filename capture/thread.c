/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of threads: registration, ends of threads, and waiting for threads to be outside.
 * Waiting costs the recording threads nothing: they say that they are inside and then look at what
 * lets them on, without a fence; whoever has changed that makes the system run a barrier on all
 * processors (membarrier), after which each thread has either seen the change or is seen inside.
 * What lets a thread on is the state word, or on the quick way its chunk.
 */
#include "capture/thread.h"

#include "capture/record.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_TRIES = 100000, SETTLE_NS = 50000 }; /* five seconds */

__thread struct tbp_thread *tbp_thread_self __attribute__((tls_model("initial-exec")));
static __thread bool is_registering;
static __thread volatile uint32_t n_refused; /* records of handlers that came while it was */

struct tbp_spool_chunk tbp_thread_nowhere = {.committed = TBP_SPOOL_BODY_BYTES};
static struct tbp_thread blocks[TBP_THREADS];
static struct {
    pthread_mutex_t lock;
    pthread_key_t key;
    bool has_key;
    uint32_t n_blocks;               /* that were ever used; atomic */
    uint32_t n_serials;              /* threads so far */
    uint32_t free_list[TBP_THREADS]; /* blocks whose threads are gone */
    uint32_t n_free;
    struct tbp_thread_sums dead; /* of this session */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool is_of_session(const struct tbp_thread *t) {
    return tbp_thread_generation(t) == tbp_state_generation(tbp_state_load());
}

static void leave_session(struct tbp_thread *t) {
    __atomic_store_n(&t->handle, 0, __ATOMIC_RELEASE);
}

static void close_quick_way(struct tbp_thread *t) {
    __atomic_store_n(&t->quick, &tbp_thread_nowhere, __ATOMIC_RELEASE);
}

/* Outside, and without a chunk. */
static void rest(struct tbp_thread *t) {
    close_quick_way(t);
    __atomic_store_n(&t->chunk, &tbp_thread_nowhere, __ATOMIC_RELEASE);
    __atomic_store_n(&t->offset, TBP_SPOOL_BODY_BYTES, __ATOMIC_RELEASE);
}

/* Also from outside, while the thread records: may then be a chunk off. */
uint64_t tbp_thread_records(const struct tbp_thread *t) {
    uint64_t before = __atomic_load_n(&t->n_slots_before, __ATOMIC_RELAXED);
    const struct tbp_spool_chunk *chunk = __atomic_load_n(&t->chunk, __ATOMIC_ACQUIRE);
    uint64_t here = __atomic_load_n(&chunk->committed, __ATOMIC_ACQUIRE);
    if (chunk == &tbp_thread_nowhere)
        here = 0;
    return before + here / TBP_SPOOL_SLOT_BYTES -
           __atomic_load_n(&t->n_extra_slots, __ATOMIC_RELAXED);
}

static void add(struct tbp_thread_sums *sums, const struct tbp_thread *t) {
    sums->n_records += tbp_thread_records(t);
    sums->n_open_scopes += (uint32_t)__atomic_load_n(&t->handle, __ATOMIC_RELAXED);
    sums->n_activities += __atomic_load_n(&t->n_activities, __ATOMIC_RELAXED);
    sums->n_threads++;
}

/* The thread ends: its chunk is complete, its block serves another thread. Records from destructors
 * that run later register it anew. */
static void thread_ends(void *block) {
    struct tbp_thread *t = block;
    tbp_thread_hold();
    if (tbp_state_load() & TBP_STATE_OPEN && is_of_session(t))
        tbp_record_end_chunk(t);
    if (t->extra)
        munmap(t->extra, t->extra_bytes);
    t->extra = NULL;
    tbp_thread_self = NULL;
    close_quick_way(t);
    tbp_record_step_out(t, TBP_SPOOL_BODY_BYTES);
    pthread_mutex_lock(&registry.lock);
    if (is_of_session(t)) /* then the chunk is there, even if the session is about to end */
        add(&registry.dead, t);
    leave_session(t);
    rest(t);
    __atomic_store_n(&t->is_live, 0, __ATOMIC_RELEASE);
    registry.free_list[registry.n_free++] = t->index;
    pthread_mutex_unlock(&registry.lock);
}

static void read_name(struct tbp_thread *t) {
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    memset(t->name, 0, sizeof t->name);
    memcpy(t->name, name, strnlen(name, sizeof name - 1));
}

/* A block for this thread. Under the lock. */
static struct tbp_thread *take_block(void) {
    struct tbp_thread *t = NULL;
    if (registry.n_free) {
        t = &blocks[registry.free_list[--registry.n_free]];
    } else if (registry.n_blocks < TBP_THREADS) {
        t = &blocks[registry.n_blocks];
        t->index = registry.n_blocks;
        __atomic_store_n(&registry.n_blocks, registry.n_blocks + 1, __ATOMIC_RELEASE);
    } else if (tbp_state_load() & TBP_STATE_OPEN) {
        /* The session ends under this lock, too: the spool is there. */
        tbp_spool_count(tbp_record_spool, TBP_DROP_THREADS, 1);
    }
    if (t)
        t->serial = ++registry.n_serials;
    return t;
}

uint32_t tbp_threads_known(void) {
    uint32_t n = 0;
    for (uint32_t i = __atomic_load_n(&registry.n_blocks, __ATOMIC_ACQUIRE); i-- > 0;)
        n += __atomic_load_n(&blocks[i].is_live, __ATOMIC_RELAXED);
    return n;
}

static void make_key(void) {
    registry.has_key = pthread_key_create(&registry.key, thread_ends) == 0;
}

void tbp_threads_init(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
}

/* The session ends under this lock, too: the spool is there. */
static void count_refused(void) {
    pthread_mutex_lock(&registry.lock);
    if (tbp_state_load() & TBP_STATE_OPEN)
        tbp_spool_count(tbp_record_spool, TBP_DROP_REENTRANT, n_refused);
    n_refused = 0;
    pthread_mutex_unlock(&registry.lock);
}

struct tbp_thread *tbp_thread_register(void) {
    if (is_registering) {
        n_refused++;
        return NULL;
    }
    is_registering = true;
    tbp_threads_init();
    pthread_mutex_lock(&registry.lock);
    struct tbp_thread *t = take_block();
    pthread_mutex_unlock(&registry.lock);
    if (t) {
        t->tid = (int32_t)syscall(SYS_gettid);
        leave_session(t);
        rest(t);
        read_name(t);
        __atomic_store_n(&t->is_live, 1, __ATOMIC_RELEASE);
        tbp_thread_self = t;
        if (registry.has_key)
            pthread_setspecific(registry.key, t);
    }
    if (n_refused) /* with a block there are no more of them */
        count_refused();
    is_registering = false;
    return t;
}

void *tbp_thread_extra(size_t size) {
    struct tbp_thread *t = tbp_thread_self ? tbp_thread_self : tbp_thread_register();
    if (!t || t->extra)
        return t ? t->extra : NULL;
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    t->extra_bytes = size;
    return t->extra = p;
}

void tbp_thread_set_name(struct tbp_thread *t, const char *name) {
    memset(t->name, 0, sizeof t->name);
    memcpy(t->name, name, strnlen(name, sizeof t->name - 1));
}

/* All processors on which this process runs pass a barrier. */
static void barrier_everywhere(void) {
    static bool is_registered;
    if (!is_registered)
        is_registered =
            syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    if (is_registered && syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
        return;
    struct timespec nap = {0, 20000000}; /* old systems: longer than any store stays unseen */
    nanosleep(&nap, NULL);
}

static bool wait_for(const struct tbp_thread *t) {
    struct timespec nap = {0, SETTLE_NS};
    for (int i = 0; i < SETTLE_TRIES; i++) {
        if (__atomic_load_n(&t->offset, __ATOMIC_ACQUIRE) != TBP_THREAD_INSIDE)
            return true;
        if (i < 100)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
    return false;
}

static bool wait_for_all(void) {
    bool all = true;
    barrier_everywhere();
    uint32_t n = __atomic_load_n(&registry.n_blocks, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        if (&blocks[i] != tbp_thread_self && !wait_for(&blocks[i]))
            all = false;
    return all;
}

/* The quick way is opened by threads that have seen the state open: after the first wait there is
 * none, and the second is for those that go that way. */
bool tbp_threads_settle(void) {
    bool all = wait_for_all();
    uint32_t n = __atomic_load_n(&registry.n_blocks, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < n; i++)
        close_quick_way(&blocks[i]);
    return wait_for_all() && all;
}

void tbp_threads_sum(struct tbp_thread_sums *sums) {
    pthread_mutex_lock(&registry.lock);
    *sums = registry.dead;
    for (uint32_t i = 0; i < registry.n_blocks; i++)
        if (__atomic_load_n(&blocks[i].is_live, __ATOMIC_ACQUIRE) && is_of_session(&blocks[i]))
            add(sums, &blocks[i]);
    pthread_mutex_unlock(&registry.lock);
}

void tbp_threads_detach(void) {
    pthread_mutex_lock(&registry.lock);
    for (uint32_t i = 0; i < registry.n_blocks; i++) {
        if (is_of_session(&blocks[i]) && blocks[i].chunk != &tbp_thread_nowhere)
            memcpy(blocks[i].chunk->thread_name, blocks[i].name, sizeof blocks[i].name);
        leave_session(&blocks[i]);
    }
    registry.dead = (struct tbp_thread_sums){0};
    pthread_mutex_unlock(&registry.lock);
}

void tbp_threads_lock(void) {
    pthread_mutex_lock(&registry.lock);
}

void tbp_threads_unlock(void) {
    pthread_mutex_unlock(&registry.lock);
}

/* The child has one thread, which registers anew; the others' blocks are free. */
void tbp_threads_after_fork(void) {
    struct tbp_thread *self = tbp_thread_self;
    pthread_mutex_init(&registry.lock, NULL);
    registry.n_free = 0;
    registry.dead = (struct tbp_thread_sums){0};
    for (uint32_t i = registry.n_blocks; i-- > 0;) {
        blocks[i].is_live = 0;
        leave_session(&blocks[i]);
        rest(&blocks[i]);
        if (&blocks[i] != self)
            registry.free_list[registry.n_free++] = i;
    }
    if (self) {
        self->is_live = 1;
        self->tid = (int32_t)syscall(SYS_gettid);
    }
}

uint32_t tbp_thread_hold(void) {
    struct tbp_thread *t = tbp_thread_self;
    uint32_t held = t ? __atomic_load_n(&t->offset, __ATOMIC_RELAXED) : 0;
    if (t)
        __atomic_store_n(&t->offset, TBP_THREAD_INSIDE, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return held;
}

void tbp_thread_unhold(uint32_t held) {
    struct tbp_thread *t = tbp_thread_self;
    if (t)
        __atomic_store_n(&t->offset, held, __ATOMIC_RELEASE);
}
