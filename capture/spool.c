/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of a spool: which are in use, which wait with their pages present, which are full. Two
 * stacks without a lock are what threads that record come near; all else is under one.
 */
#include "capture/spool.h"

#include "capture/spool_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_CHUNK      UINT32_MAX
#define CHUNKS_OFFSET 131072u               /* header and anchors, on a border of chunks */
#define EXTENT_BYTES  (UINT64_C(16) << 20)  /* the file grows by what it has, at most by this … */
#define LITTLE_BYTES  (UINT64_C(1) << 20)   /* … and at least by this, or if somebody waits */
#define MOST_BYTES    (UINT64_C(256) << 30) /* addresses reserved where there is no bound */
enum { FIRST_STOCK = 4, MIN_STOCK = 32, MAX_STOCK = 1024, FOR_STRINGS = 256 };
enum { RING_KEEPS = 8, RING_AHEAD = 16 }; /* shares of all chunks */

_Static_assert(TBP_SPOOL_HEADER_BYTES + TBP_SPOOL_ANCHORS * sizeof(struct tbp_spool_anchor) <=
                   CHUNKS_OFFSET,
               "anchors fit before the chunks");
_Static_assert(sizeof(struct tbp_spool_header) <= TBP_SPOOL_HEADER_BYTES, "the header fits");

static struct tbp_spool_chunk *chunk_at(const struct tbp_spool *spool, uint32_t i) {
    return (struct tbp_spool_chunk *)(spool->base + CHUNKS_OFFSET +
                                      (uint64_t)i * TBP_SPOOL_CHUNK_BYTES);
}

static uint32_t index_of(const struct tbp_spool *spool, const struct tbp_spool_chunk *chunk) {
    return (uint32_t)(((const uint8_t *)chunk - spool->base - CHUNKS_OFFSET) /
                      TBP_SPOOL_CHUNK_BYTES);
}

/* Makes pages present and writable; from Linux 5.14 in one call. A chunk at a time: meanwhile
 * nobody in the process can map memory. */
static void populate(uint8_t *at, size_t size_bytes) {
    for (size_t i = 0; i < size_bytes; i += TBP_SPOOL_CHUNK_BYTES) {
#ifdef MADV_POPULATE_WRITE
        if (madvise(at + i, TBP_SPOOL_CHUNK_BYTES, MADV_POPULATE_WRITE) == 0)
            continue;
#endif
        for (size_t k = 0; k < TBP_SPOOL_CHUNK_BYTES; k += 4096)
            ((volatile uint8_t *)at)[i + k] = 0; /* nobody has written here yet */
    }
}

/* Space for the file up to `need` bytes, and to a multiple of `step`. */
static bool grow(struct tbp_spool *spool, uint64_t need, uint64_t step) {
    pthread_mutex_lock(&spool->growing);
    bool is_there = need <= spool->backed_bytes;
    if (!is_there) {
        uint64_t to = (need + step - 1) / step * step;
        to = to < spool->reserved_bytes ? to : spool->reserved_bytes;
        is_there = spool->fd < 0 || tbp_spool_file_back(spool->fd, spool->backed_bytes, to);
        if (is_there)
            __atomic_store_n(&spool->backed_bytes, to, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&spool->growing);
    return is_there;
}

static uint64_t end_of(uint64_t n_chunks) {
    return CHUNKS_OFFSET + n_chunks * TBP_SPOOL_CHUNK_BYTES;
}

static uint32_t untouched(const struct tbp_spool *spool, uint32_t max) {
    uint32_t n_begun = __atomic_load_n(&spool->n_begun, __ATOMIC_RELAXED);
    return max > n_begun ? max - n_begun : 0;
}

/* Of these, how many have their space on disk. */
static uint32_t ready(const struct tbp_spool *spool, uint32_t max) {
    uint64_t backed = __atomic_load_n(&spool->backed_bytes, __ATOMIC_ACQUIRE);
    uint64_t n = (backed - CHUNKS_OFFSET) / TBP_SPOOL_CHUNK_BYTES;
    return untouched(spool, n < max ? (uint32_t)n : max);
}

/* There is no more space: what is there is all. */
static void disk_is_full(struct tbp_spool *spool) {
    pthread_mutex_lock(&spool->lock);
    uint32_t n = spool->n_begun + ready(spool, spool->all_chunks);
    spool->all_chunks = n;
    __atomic_store_n(&spool->max_chunks, n < spool->max_chunks ? n : spool->max_chunks,
                     __ATOMIC_RELAXED);
    spool->exhausted_why = TBP_DROP_NO_CHUNK;
    pthread_mutex_unlock(&spool->lock);
}

/* Takes the next n of `max` chunks that nobody has touched; returns how many were ready. Under the
 * lock. */
static uint32_t begin_chunks(struct tbp_spool *spool, uint32_t n, uint32_t max, uint32_t *first) {
    uint32_t left = ready(spool, max);
    *first = spool->n_begun;
    n = n < left ? n : left;
    __atomic_store_n(&spool->n_begun, spool->n_begun + n, __ATOMIC_RELAXED);
    if (n > 0)
        __atomic_store_n(&spool->header->n_chunks, spool->n_begun, __ATOMIC_RELEASE);
    return n;
}

/* ---- the stacks ---- */

static uint32_t in_stock(const struct tbp_spool *spool) {
    return __atomic_load_n(&spool->n_free, __ATOMIC_RELAXED);
}

static void set_next(struct tbp_spool *spool, uint32_t i, uint32_t next) {
    __atomic_store_n(&spool->next[i], next, __ATOMIC_RELAXED);
}

/* The top after a change: a chunk that came back meanwhile must not pass for the one that was. */
static uint64_t new_top(uint64_t old, uint32_t i) {
    return ((old >> 32) + 1) << 32 | i;
}

static void push_free(struct tbp_spool *spool, uint32_t i) {
    uint64_t top = __atomic_load_n(&spool->free_top, __ATOMIC_RELAXED);
    __atomic_fetch_add(&spool->n_free, 1, __ATOMIC_RELAXED);
    do
        set_next(spool, i, (uint32_t)top);
    while (!__atomic_compare_exchange_n(&spool->free_top, &top, new_top(top, i), true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* NO_CHUNK: the stock is empty. */
static uint32_t pop_free(struct tbp_spool *spool) {
    uint64_t top = __atomic_load_n(&spool->free_top, __ATOMIC_ACQUIRE);
    uint32_t next;
    do {
        if ((uint32_t)top == NO_CHUNK)
            return NO_CHUNK;
        next = __atomic_load_n(&spool->next[(uint32_t)top], __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&spool->free_top, &top, new_top(top, next), true,
                                          __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    __atomic_fetch_sub(&spool->n_free, 1, __ATOMIC_RELAXED);
    return (uint32_t)top;
}

static void push_full(struct tbp_spool *spool, uint32_t i) {
    uint32_t top = __atomic_load_n(&spool->newly_full, __ATOMIC_RELAXED);
    do
        set_next(spool, i, top);
    while (!__atomic_compare_exchange_n(&spool->newly_full, &top, i, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

/* What became full goes to the end of the queue, the last one last. Under the lock. */
static void queue_full(struct tbp_spool *spool) {
    uint32_t i = __atomic_exchange_n(&spool->newly_full, NO_CHUNK, __ATOMIC_ACQUIRE);
    uint32_t first = NO_CHUNK, last = i;
    while (i != NO_CHUNK) {
        uint32_t before = spool->next[i];
        set_next(spool, i, first);
        first = i;
        i = before;
    }
    if (first == NO_CHUNK)
        return;
    if (spool->newest_full == NO_CHUNK)
        spool->oldest_full = first;
    else
        set_next(spool, spool->newest_full, first);
    spool->newest_full = last;
}

static void set_state(struct tbp_spool_chunk *chunk, enum tbp_spool_chunk_state state) {
    __atomic_store_n(&chunk->state, state, __ATOMIC_RELEASE);
}

/* ---- a ring ---- */

/* Records of a full chunk that no snapshot has taken. */
static uint64_t count_unread(const struct tbp_spool_chunk *chunk) {
    uint64_t n = 0;
    if (!chunk->consumed)
        return chunk->n_records;
    const struct tbp_spool_slot *slots = (const void *)(chunk + 1);
    uint32_t end = chunk->committed / TBP_SPOOL_SLOT_BYTES;
    for (uint32_t i = chunk->consumed / TBP_SPOOL_SLOT_BYTES; i < end; n++)
        i += 1 + TBP_SPOOL_EXTRA(slots[i].head);
    return n;
}

/* The oldest full chunk, whose records are forgotten. Not while a collector reads, which notes in
 * chunks how far it came. Under the lock. */
static uint32_t recycle_oldest(struct tbp_spool *spool) {
    queue_full(spool);
    uint32_t i = spool->oldest_full;
    if (i == NO_CHUNK || spool->is_read)
        return NO_CHUNK;
    spool->oldest_full = spool->next[i];
    if (spool->oldest_full == NO_CHUNK)
        spool->newest_full = NO_CHUNK;
    tbp_spool_count(spool, TBP_DROP_RING, count_unread(chunk_at(spool, i)));
    set_state(chunk_at(spool, i), TBP_SPOOL_CHUNK_UNUSED);
    return i;
}

/* Is there, beside `ahead`, less than a ring keeps for the time in which a collector reads? */
static bool is_short(const struct tbp_spool *spool, uint32_t ahead) {
    uint32_t max = __atomic_load_n(&spool->max_chunks, __ATOMIC_RELAXED);
    return spool->is_ring && in_stock(spool) + untouched(spool, max) <= max / RING_KEEPS + ahead;
}

static uint32_t ring_ahead(const struct tbp_spool *spool) {
    return __atomic_load_n(&spool->max_chunks, __ATOMIC_RELAXED) / RING_AHEAD;
}

/* At most n of the oldest chunks are forgotten before anybody needs them; false: none. A ring that
 * is too small for that forgets when it must. */
static bool recycle_ahead(struct tbp_spool *spool, uint32_t n) {
    uint32_t ahead = ring_ahead(spool), n_recycled = 0;
    pthread_mutex_lock(&spool->lock);
    for (; ahead > 0 && n_recycled < n && is_short(spool, ahead); n_recycled++) {
        uint32_t i = recycle_oldest(spool);
        if (i == NO_CHUNK)
            break;
        push_free(spool, i);
    }
    pthread_mutex_unlock(&spool->lock);
    return n_recycled > 0;
}

/* ---- the stock ---- */

/* How many of n chunks the stock lacks; raises what is kept when it nearly ran out. *end: where the
 * file must end for them. */
static uint32_t missing(struct tbp_spool *spool, uint32_t n, uint64_t *end) {
    pthread_mutex_lock(&spool->lock);
    uint32_t n_free = in_stock(spool);
    if (n_free >= spool->wanted_free) {
        spool->was_stocked = true;
    } else if (spool->was_stocked && n_free < spool->wanted_free / 4) {
        uint32_t more = spool->wanted_free * (spool->wanted_free < MAX_STOCK ? 2 : 1);
        spool->was_stocked = false;
        __atomic_store_n(&spool->wanted_free, more, __ATOMIC_RELAXED);
    }
    uint32_t lack = spool->wanted_free > n_free ? spool->wanted_free - n_free : 0;
    uint32_t left = untouched(spool, spool->max_chunks);
    n = n < lack ? n : lack;
    n = n < left ? n : left;
    *end = end_of((uint64_t)spool->n_begun + n);
    pthread_mutex_unlock(&spool->lock);
    return n;
}

/* Short sessions take little disk, long ones seldom more. */
static bool grow_ahead(struct tbp_spool *spool, uint64_t end) {
    uint64_t more = end < LITTLE_BYTES ? LITTLE_BYTES : end < EXTENT_BYTES ? end : EXTENT_BYTES;
    uint64_t ahead = end + more / 2, most = spool->reserved_bytes;
    return grow(spool, ahead < most ? ahead : most, more);
}

bool tbp_spool_stock(struct tbp_spool *spool, uint32_t n) {
    uint32_t first;
    uint64_t end;
    bool is_recycled = recycle_ahead(spool, n);
    n = missing(spool, n, &end);
    if (n == 0)
        return is_recycled;
    if (!grow_ahead(spool, end) && !grow(spool, end, TBP_SPOOL_CHUNK_BYTES))
        disk_is_full(spool);
    pthread_mutex_lock(&spool->lock);
    n = begin_chunks(spool, n, spool->max_chunks, &first);
    pthread_mutex_unlock(&spool->lock);
    populate((uint8_t *)chunk_at(spool, first), (size_t)n * TBP_SPOOL_CHUNK_BYTES);
    for (uint32_t i = n; i-- > 0;)
        push_free(spool, first + i);
    return n > 0 || is_recycled;
}

/* Where a chunk comes from. */
enum source { WARM, COLD, NOT_BACKED, NOWHERE };

/* A chunk from the ring, the stock or the untouched end. COLD: its pages are not present.
 * NOT_BACKED: one more could be had if the file were longer. Strings get what is kept for them
 * beyond the bound: records are nothing without names. Under the lock. */
static enum source find_chunk(struct tbp_spool *spool, bool is_strings, uint32_t *i) {
    uint32_t max = is_strings ? spool->all_chunks : spool->max_chunks;
    *i = !is_strings && is_short(spool, 0) ? recycle_oldest(spool) : NO_CHUNK;
    if (*i == NO_CHUNK)
        *i = pop_free(spool);
    if (*i != NO_CHUNK)
        return WARM;
    if (begin_chunks(spool, 1, max, i))
        return COLD;
    if (untouched(spool, max))
        return NOT_BACKED;
    *i = spool->is_ring ? recycle_oldest(spool) : NO_CHUNK;
    if (*i == NO_CHUNK && !spool->is_ring && !is_strings)
        __atomic_store_n(&spool->is_exhausted, true, __ATOMIC_RELAXED);
    return *i == NO_CHUNK ? NOWHERE : WARM;
}

/* The same where the stock is of no help, growing the file if need be: a little, since its thread
 * waits. */
static enum source obtain_chunk(struct tbp_spool *spool, bool is_strings, uint32_t *i) {
    enum source source;
    do {
        pthread_mutex_lock(&spool->lock);
        source = find_chunk(spool, is_strings, i);
        uint64_t end = end_of((uint64_t)spool->n_begun + 1);
        pthread_mutex_unlock(&spool->lock);
        if (source == NOT_BACKED && !grow(spool, end, LITTLE_BYTES))
            disk_is_full(spool);
    } while (source == NOT_BACKED);
    return source;
}

static enum source any_chunk(struct tbp_spool *spool, bool is_strings, uint32_t *i) {
    *i = !is_strings && is_short(spool, 0) ? NO_CHUNK : pop_free(spool);
    enum source source = *i != NO_CHUNK ? WARM : obtain_chunk(spool, is_strings, i);
    uint32_t wanted = __atomic_load_n(&spool->wanted_free, __ATOMIC_RELAXED);
    uint32_t max = __atomic_load_n(&spool->max_chunks, __ATOMIC_RELAXED);
    uint32_t ahead = ring_ahead(spool);
    bool is_low = (in_stock(spool) < wanted / 2 && untouched(spool, max)) ||
                  (ahead > 0 && is_short(spool, ahead / 2));
    __atomic_store_n(&spool->is_low, is_low, __ATOMIC_RELAXED);
    return source;
}

struct tbp_spool_chunk *tbp_spool_take(struct tbp_spool *spool, enum tbp_spool_chunk_kind kind) {
    uint32_t i;
    enum source source = any_chunk(spool, kind == TBP_SPOOL_CHUNK_STRINGS, &i);
    if (source == NOWHERE)
        return NULL;
    struct tbp_spool_chunk *chunk = chunk_at(spool, i);
    if (source == COLD)
        populate((uint8_t *)chunk, TBP_SPOOL_CHUNK_BYTES);
    __atomic_store_n(&chunk->committed, 0, __ATOMIC_RELAXED);
    chunk->magic = TBP_SPOOL_CHUNK_MAGIC;
    chunk->kind = (uint16_t)kind;
    chunk->generation = spool->header->generation;
    chunk->consumed = chunk->n_records = 0;
    return chunk;
}

void tbp_spool_begin(struct tbp_spool_chunk *chunk) {
    set_state(chunk, TBP_SPOOL_CHUNK_WRITING);
}

/* Nothing is in it: it can serve again, but not under the eyes of a collector. */
static void give_back(struct tbp_spool *spool, struct tbp_spool_chunk *chunk) {
    pthread_mutex_lock(&spool->lock);
    set_state(chunk, spool->is_read ? TBP_SPOOL_CHUNK_FULL : TBP_SPOOL_CHUNK_UNUSED);
    if (spool->is_read)
        push_full(spool, index_of(spool, chunk));
    else
        push_free(spool, index_of(spool, chunk));
    pthread_mutex_unlock(&spool->lock);
}

void tbp_spool_full(struct tbp_spool *spool, struct tbp_spool_chunk *chunk) {
    bool is_strings = chunk->kind == TBP_SPOOL_CHUNK_STRINGS;
    if (chunk->committed == 0 && !is_strings) {
        give_back(spool, chunk);
        return;
    }
    set_state(chunk, TBP_SPOOL_CHUNK_FULL);
    if (!is_strings) /* those are never used again */
        push_full(spool, index_of(spool, chunk));
}

/* What is in a list that was taken out of the spool belongs to the caller: chunks are looked at
 * without the lock, for which threads that record would have to wait. */
void tbp_spool_detach(struct tbp_spool *spool) {
    pthread_mutex_lock(&spool->lock);
    queue_full(spool);
    uint32_t first = spool->oldest_full;
    spool->is_read = true;
    spool->oldest_read = first;
    spool->oldest_full = spool->newest_full = NO_CHUNK;
    pthread_mutex_unlock(&spool->lock);
    for (uint32_t i = first; i != NO_CHUNK; i = spool->next[i])
        set_state(chunk_at(spool, i), TBP_SPOOL_CHUNK_READING);
}

struct list {
    uint32_t first, last, n;
};

static void append(struct tbp_spool *spool, struct list *list, uint32_t i) {
    set_next(spool, i, NO_CHUNK);
    if (list->n++ == 0)
        list->first = i;
    else
        set_next(spool, list->last, i);
    list->last = i;
}

void tbp_spool_attach(struct tbp_spool *spool) {
    struct list left = {NO_CHUNK, NO_CHUNK, 0};
    for (uint32_t i = spool->oldest_read, next; i != NO_CHUNK; i = next) {
        struct tbp_spool_chunk *chunk = chunk_at(spool, i);
        next = spool->next[i];
        bool is_taken = chunk->consumed >= chunk->committed;
        set_state(chunk, is_taken ? TBP_SPOOL_CHUNK_UNUSED : TBP_SPOOL_CHUNK_FULL);
        if (is_taken)
            push_free(spool, i);
        else
            append(spool, &left, i);
    }
    pthread_mutex_lock(&spool->lock);
    if (left.n) { /* they are older than those that became full meanwhile */
        set_next(spool, left.last, spool->oldest_full);
        spool->newest_full = spool->oldest_full == NO_CHUNK ? left.last : spool->newest_full;
        spool->oldest_full = left.first;
    }
    spool->oldest_read = NO_CHUNK;
    spool->is_read = false;
    __atomic_store_n(&spool->is_exhausted, in_stock(spool) == 0 && spool->is_exhausted,
                     __ATOMIC_RELAXED);
    pthread_mutex_unlock(&spool->lock);
}

/* Addresses for the spool: of the file if there is one. A bound beyond what the system gives is
 * halved until it fits; where addresses are limited most of them are the program's. */
static bool reserve(struct tbp_spool *spool, uint64_t bytes) {
    struct rlimit most;
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
        while (bytes > most.rlim_cur / 4)
            bytes /= 2;
    for (; bytes > LITTLE_BYTES; bytes /= 2) {
        spool->base = tbp_spool_file_map(spool->fd, bytes);
        if (spool->base) {
            spool->reserved_bytes = bytes;
            return true;
        }
    }
    return false;
}

/* Two for each thread: who helps them has until the second is full to bring more. */
static uint32_t first_stock(const struct tbp_spool_request *request) {
    uint32_t most = (MIN_STOCK - FIRST_STOCK) / 2;
    return FIRST_STOCK + 2 * (request->n_writers < most ? request->n_writers : most);
}

/* Maps `bytes` and makes the first extent present. */
static int map(struct tbp_spool *spool, const struct tbp_spool_request *request, uint64_t bytes,
               struct tbp_error *err) {
    if (!reserve(spool, bytes))
        return tbp_fail_errno(err, TBP_E_MEMORY, "reserving %llu bytes of addresses",
                              (unsigned long long)bytes);
    uint64_t n = (spool->reserved_bytes - CHUNKS_OFFSET) / TBP_SPOOL_CHUNK_BYTES;
    spool->all_chunks = (uint32_t)n;
    /* Fewer addresses than asked for: half of them. */
    spool->max_chunks = (uint32_t)(spool->reserved_bytes == bytes ? n - FOR_STRINGS : n / 2 + 1);
    spool->list_bytes = (size_t)n * sizeof *spool->next;
    spool->next = mmap(NULL, spool->list_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (spool->next == MAP_FAILED) {
        spool->next = NULL;
        return tbp_fail_errno(err, TBP_E_MEMORY, "reserving %zu bytes", spool->list_bytes);
    }
    if (!grow(spool, end_of(2 * (uint64_t)first_stock(request)), LITTLE_BYTES) &&
        !grow(spool, end_of(FIRST_STOCK), LITTLE_BYTES))
        return tbp_fail_errno(err, TBP_E_IO, "no space for spool '%s'", spool->path);
    spool->header = (struct tbp_spool_header *)spool->base;
    populate(spool->base, CHUNKS_OFFSET);
    return TBP_OK;
}

static void unmap(struct tbp_spool *spool, bool remove_file) {
    if (spool->next)
        munmap(spool->next, spool->list_bytes);
    if (spool->base)
        munmap(spool->base, spool->reserved_bytes);
    if (spool->fd >= 0 && remove_file) {
        unlink(spool->path);
        rmdir(spool->folder); /* stays while another process of the session has a spool there */
    }
    if (spool->fd >= 0)
        tbp_spool_file_close(spool->fd);
    spool->base = NULL;
    spool->next = NULL;
    spool->fd = -1;
}

static int name_file(struct tbp_spool *spool, const struct tbp_spool_request *request,
                     const char *folder, const char *more, struct tbp_error *err) {
    int n = snprintf(spool->folder, sizeof spool->folder, "%s%s", folder, more);
    int m = snprintf(spool->path, sizeof spool->path, "%s/%s", spool->folder, request->file);
    if (n >= (int)sizeof spool->folder || m >= (int)sizeof spool->path)
        return tbp_fail(err, TBP_E_USAGE, "spool folder '%.100s…' has too long a name", folder);
    return TBP_OK;
}

/* In a folder of its own, which it makes: the same process may have been another program a moment
 * ago, and containers that share the place have processes of the same number at the same time. What
 * lies in the folder is taken for children's. */
static int name_new_file(struct tbp_spool *spool, const struct tbp_spool_request *request,
                         const char *folder, struct tbp_error *err) {
    char own[128];
    int rc = TBP_OK;
    for (unsigned again = 0; rc == TBP_OK && again < 100; again++) {
        snprintf(own, sizeof own, again ? "/tbprof-%s-%u" : "/tbprof-%s", request->session, again);
        rc = name_file(spool, request, folder, own, err);
        if (rc == TBP_OK && (mkdir(spool->folder, 0700) == 0 || errno != EEXIST))
            break;
    }
    return rc;
}

static int make_file(struct tbp_spool *spool, const struct tbp_spool_request *request,
                     struct tbp_error *err) {
    const char *folder = NULL;
    int rc = request->session_folder ? TBP_OK : tbp_spool_folder(request->folder, &folder, err);
    if (rc != TBP_OK)
        return rc;
    if (request->session_folder)
        rc = name_file(spool, request, request->session_folder, "", err);
    else
        rc = name_new_file(spool, request, folder, err);
    if (rc != TBP_OK)
        return rc;
    return tbp_spool_file_create(spool->folder, spool->path, &spool->fd, err);
}

/* A file, or where that fails memory and a warning. */
static int open_somewhere(struct tbp_spool *spool, const struct tbp_spool_request *request,
                          uint64_t bytes, struct tbp_error *err) {
    struct tbp_error why = {0};
    bool wants_file = !request->folder || strcmp(request->folder, "memory") != 0;
    if (wants_file && make_file(spool, request, &why) == TBP_OK &&
        map(spool, request, bytes, &why) == TBP_OK)
        return TBP_OK;
    if (request->session_folder) /* beside a parent's file or not at all */
        return tbp_fail(err, why.code, "%s", why.message);
    unmap(spool, true);
    spool->path[0] = spool->folder[0] = 0;
    spool->backed_bytes = 0;
    if (wants_file)
        snprintf(request->warning, request->warning_size,
                 "recorded in memory, which does not survive a crash: %s", why.message);
    return map(spool, request, bytes, err);
}

int tbp_spool_open(struct tbp_spool **out, const struct tbp_spool_request *request,
                   struct tbp_error *err) {
    uint64_t most = (MOST_BYTES - CHUNKS_OFFSET) / TBP_SPOOL_CHUNK_BYTES - FOR_STRINGS;
    uint64_t n = request->max_bytes / TBP_SPOOL_CHUNK_BYTES;
    n = n < 2 ? 2 : n > most ? most : n;
    uint64_t bytes = end_of(n + FOR_STRINGS);
    struct tbp_spool *spool = calloc(1, sizeof *spool);
    if (!spool)
        return tbp_fail(err, TBP_E_MEMORY, "no memory for a session");
    spool->fd = -1;
    pthread_mutex_init(&spool->growing, NULL);
    pthread_mutex_init(&spool->lock, NULL);
    int rc = open_somewhere(spool, request, bytes, err);
    if (rc != TBP_OK) {
        unmap(spool, true);
        free(spool);
        return rc;
    }
    spool->free_top = spool->newly_full = NO_CHUNK;
    spool->oldest_full = spool->newest_full = spool->oldest_read = NO_CHUNK;
    spool->wanted_free = MIN_STOCK;
    spool->is_ring = request->is_ring;
    spool->exhausted_why = TBP_DROP_CAP;
    struct tbp_spool_header *h = spool->header;
    h->version = TBP_SPOOL_VERSION;
    h->header_bytes = TBP_SPOOL_HEADER_BYTES;
    h->generation = request->generation;
    h->pid = (int32_t)getpid();
    h->anchors_offset = TBP_SPOOL_HEADER_BYTES;
    h->chunk_bytes = TBP_SPOOL_CHUNK_BYTES;
    h->chunks_offset = CHUNKS_OFFSET;
    h->magic = TBP_SPOOL_MAGIC;
    tbp_spool_stock(spool, first_stock(request));
    *out = spool;
    return TBP_OK;
}

void tbp_spool_close(struct tbp_spool *spool, bool remove_file) {
    unmap(spool, remove_file);
    pthread_mutex_destroy(&spool->lock);
    free(spool);
}

void tbp_spool_forget(struct tbp_spool *spool) {
    spool->base = NULL;
    spool->fd = -1;
    tbp_spool_close(spool, false);
}
