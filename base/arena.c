/* SPDX-License-Identifier: Apache-2.0
 *
 * Bump arena over malloc'ed blocks that double up to 1 MiB; bigger wishes get a block of their own.
 * Blocks come zeroed from calloc, so that untouched pages cost nothing.
 */
#include "base/arena.h"

#include "base/guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define RED_ZONE 16
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define RED_ZONE                          0
#endif

enum { BLOCK_FIRST = 1024, BLOCK_LARGEST = 1 << 20, ALIGN = 16 };

struct tbp_arena_block {
    struct tbp_arena_block *next;
    size_t size;
};

struct tbp_arena_owned { /* in a block */
    struct tbp_arena_owned *next;
    void *heap;
};

void tbp_arena_init(struct tbp_arena *a) {
    *a = (struct tbp_arena){0};
}

void tbp_arena_release(struct tbp_arena *a) {
    for (const struct tbp_arena_owned *o = a->owned; o; o = o->next)
        free(o->heap);
    for (struct tbp_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        ASAN_UNPOISON_MEMORY_REGION(b, b->size);
        free(b);
    }
    *a = (struct tbp_arena){0};
}

static struct tbp_arena_block *new_block(struct tbp_arena *a, size_t size) {
    struct tbp_arena_block *b = calloc(1, size);
    if (!b)
        tbp_out_of_memory(size);
    b->size = size;
    b->next = a->head;
    a->head = b;
    a->reserved_bytes += size;
    return b;
}

static size_t round_up(size_t n) {
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

void *tbp_arena_alloc(struct tbp_arena *a, size_t n, size_t size) {
    size_t want, header = round_up(sizeof(struct tbp_arena_block));
    if (__builtin_mul_overflow(n, size, &want) || want > SIZE_MAX / 2)
        tbp_out_of_memory(SIZE_MAX);
    size_t step = round_up(want ? want : 1) + RED_ZONE;
    a->used_bytes += want;
    if (step > BLOCK_LARGEST / 4) { /* its own block, behind the current one */
        struct tbp_arena_block *b = new_block(a, header + step);
        return (char *)b + header;
    }
    if (step > (size_t)(a->end - a->at) || !a->at) {
        size_t size_bytes = a->reserved_bytes < BLOCK_FIRST ? BLOCK_FIRST : a->reserved_bytes;
        size_bytes = size_bytes > BLOCK_LARGEST ? BLOCK_LARGEST : size_bytes;
        while (size_bytes < header + step)
            size_bytes *= 2;
        struct tbp_arena_block *b = new_block(a, size_bytes);
        a->at = (char *)b + header;
        a->end = (char *)b + size_bytes;
        ASAN_POISON_MEMORY_REGION(a->at, (size_t)(a->end - a->at));
    }
    char *p = a->at;
    a->at += step;
    ASAN_UNPOISON_MEMORY_REGION(p, want);
    return p;
}

void tbp_arena_own(struct tbp_arena *a, void *heap, size_t size_bytes) {
    struct tbp_arena_owned *o = TBP_NEW(a, struct tbp_arena_owned);
    *o = (struct tbp_arena_owned){a->owned, heap};
    a->owned = o;
    a->used_bytes += size_bytes;
    a->reserved_bytes += size_bytes;
}

char *tbp_arena_printf(struct tbp_arena *a, const char *fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = tbp_arena_alloc(a, (size_t)(n < 0 ? 0 : n) + 1, 1);
    if (n >= 0)
        vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

struct tbp_str tbp_arena_cat(struct tbp_arena *a, struct tbp_str x, struct tbp_str y) {
    char *p = tbp_arena_alloc(a, x.n + y.n + 1, 1);
    if (x.n)
        memcpy(p, x.p, x.n);
    if (y.n)
        memcpy(p + x.n, y.p, y.n);
    return (struct tbp_str){p, x.n + y.n};
}

struct tbp_str tbp_arena_str(struct tbp_arena *a, struct tbp_str s) {
    return tbp_arena_cat(a, s, TBP_STR_NONE);
}
