/* SPDX-License-Identifier: Apache-2.0
 *
 * libtbprof_malloc.so, for LD_PRELOAD: the program's malloc, calloc, realloc, free, aligned forms
 * and large anonymous mappings as memory events of the session that records (option memory_mode: 2
 * samples, 3 records every call). The allocator stays the C library's.
 *
 * Sampling is a Poisson process over bytes: a block of s bytes is taken with the probability
 * p = 1 - exp(-s / period) and counts s / p bytes, so that sums are unbiased (the method of
 * tcmalloc's heap profiler and of heapprofd). Blocks taken are remembered by address, for their
 * free; a free of any other block costs a look at one cache line.
 *
 * It must work before any constructor has run and inside the runtime's own allocations: calls made
 * while this thread is in here go straight to the C library.
 */
#include "capture/state.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* The C library's own names for what is replaced here (glibc). */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

enum {
    PERIOD_BYTES = 512 << 10,
    MAPPED_BYTES = 1 << 20, /* smaller mappings are the business of allocators */
    BUCKETS = 1 << 16,      /* of eight addresses: up to half a million samples alive */
    BUCKET_SLOTS = 8,
};

static uint64_t taken[BUCKETS][BUCKET_SLOTS] __attribute__((aligned(64))); /* atomic */

struct sampler {
    int64_t bytes_left; /* until the next sample */
    uint64_t random;    /* xorshift state; 0: not begun */
    bool is_inside;
};
static __thread struct sampler mine __attribute__((tls_model("initial-exec")));

static const char *const heap = "malloc", *const mappings = "mmap";

static uint64_t *bucket(uint64_t address) {
    return taken[(address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 48];
}

/* False: no room; the block is then not recorded at all. */
static bool remember(uint64_t address) {
    uint64_t *slots = bucket(address);
    for (int i = 0; i < BUCKET_SLOTS; i++) {
        uint64_t empty = 0;
        if (__atomic_compare_exchange_n(&slots[i], &empty, address, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

static bool forget(uint64_t address) {
    uint64_t *slots = bucket(address);
    for (int i = 0; i < BUCKET_SLOTS; i++) {
        if (__atomic_load_n(&slots[i], __ATOMIC_RELAXED) == address) {
            __atomic_store_n(&slots[i], 0, __ATOMIC_RELAXED);
            return true;
        }
    }
    return false;
}

/* Distance to the next sample: exponentially distributed. */
static int64_t next_distance(struct sampler *s) {
    if (!s->random)
        s->random = (uint64_t)(uintptr_t)s * UINT64_C(0x9e3779b97f4a7c15) | 1;
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    double u = ((double)(s->random >> 11) + 1) / 9007199254740992.0; /* in (0, 1] */
    return 1 + (int64_t)(-log(u) * PERIOD_BYTES);
}

/* Bytes that a block counts for; 0: it is not taken. */
static uint64_t weight(size_t size) {
    if (tbp_state_load() & TBP_STATE_MALLOC_ALL)
        return size;
    if (!mine.random)
        mine.bytes_left = next_distance(&mine);
    mine.bytes_left -= (int64_t)size;
    if (mine.bytes_left > 0)
        return 0;
    mine.bytes_left = next_distance(&mine);
    return (uint64_t)((double)size / -expm1(-(double)size / PERIOD_BYTES));
}

static bool is_watching(void) {
    const uint64_t both = TBP_STATE_MEMORY | TBP_STATE_MALLOC;
    return (tbp_state_load() & both) == both && !mine.is_inside;
}

static void note_alloc(const char *allocator, void *p, size_t size, uint64_t counts_bytes) {
    int saved = errno;
    mine.is_inside = true;
    uint64_t address = (uint64_t)(uintptr_t)p;
    if (remember(address))
        tbprof_memory_alloc(&(tbprof_allocation){.allocator = allocator,
                                                 .address = address,
                                                 .requested_bytes = size,
                                                 .allocated_bytes = counts_bytes});
    mine.is_inside = false;
    errno = saved;
}

static void *watch_alloc(void *p, size_t size) {
    if (__builtin_expect(!p || !size || !is_watching(), 1))
        return p;
    uint64_t bytes = weight(size);
    if (bytes)
        note_alloc(heap, p, size, bytes);
    return p;
}

/* Before the block goes: afterwards another thread may have its address. */
static void watch_free(const char *allocator, void *p) {
    if (!p || !forget((uint64_t)(uintptr_t)p) || !is_watching())
        return;
    int saved = errno;
    mine.is_inside = true;
    tbprof_memory_free(allocator, (uint64_t)(uintptr_t)p);
    mine.is_inside = false;
    errno = saved;
}

EXPORT void *malloc(size_t size) {
    return watch_alloc(__libc_malloc(size), size);
}

EXPORT void *calloc(size_t n, size_t size) {
    return watch_alloc(__libc_calloc(n, size), n * size); /* fails where the product overflows */
}

EXPORT void *realloc(void *old, size_t size) {
    watch_free(heap, old);
    return watch_alloc(__libc_realloc(old, size), size);
}

EXPORT void free(void *p) {
    watch_free(heap, p);
    __libc_free(p);
}

EXPORT void *memalign(size_t alignment, size_t size) {
    return watch_alloc(__libc_memalign(alignment, size), size);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return watch_alloc(__libc_memalign(alignment, size), size);
}

EXPORT int posix_memalign(void **p, size_t alignment, size_t size) {
    if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment)
        return EINVAL;
    void *block = __libc_memalign(alignment, size);
    if (!block && size)
        return ENOMEM;
    *p = watch_alloc(block, size);
    return 0;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
    void *p = (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
    if (p != MAP_FAILED && size >= MAPPED_BYTES && flags & MAP_ANONYMOUS &&
        protection & PROT_WRITE && is_watching())
        note_alloc(mappings, p, size, size);
    return p;
}

EXPORT int munmap(void *p, size_t size) {
    if (size >= MAPPED_BYTES)
        watch_free(mappings, p);
    return (int)syscall(SYS_munmap, p, size);
}
