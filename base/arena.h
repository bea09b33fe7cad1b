/* SPDX-License-Identifier: Apache-2.0
 *
 * A bump arena: memory with one common lifetime, freed at once.
 *
 * Ownership: the arena owns every block; nothing is freed singly. Memory is zeroed.
 * Exhaustion: functions never return NULL. When the system has no memory the thread's guard
 * (base/guard.h) is jumped to, so that a conversion fails with TBP_E_MEMORY; without a guard the
 * process ends with a message. Under AddressSanitizer there are red zones between blocks.
 * Thread-safety: one thread at a time per arena.
 */
#ifndef TBP_BASE_ARENA_H
#define TBP_BASE_ARENA_H

#include "base/str.h"

#include <stddef.h>
#include <stdint.h>

struct tbp_arena_block;
struct tbp_arena_owned;
struct tbp_arena {
    struct tbp_arena_block *head;
    struct tbp_arena_owned *owned;
    char *at, *end;
    size_t used_bytes, reserved_bytes;
};

void tbp_arena_init(struct tbp_arena *a);
void tbp_arena_release(struct tbp_arena *a); /* frees all; a may be used again */
void *tbp_arena_alloc(struct tbp_arena *a, size_t n,
                      size_t size); /* n*size checked, zeroed, 16-byte aligned */
char *tbp_arena_printf(struct tbp_arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct tbp_str tbp_arena_str(struct tbp_arena *a, struct tbp_str s); /* copy, NUL-terminated */
struct tbp_str tbp_arena_cat(struct tbp_arena *a, struct tbp_str x, struct tbp_str y);
/* A heap array of that many bytes is the arena's from now on, too. */
void tbp_arena_own(struct tbp_arena *a, void *heap, size_t size_bytes);
#define TBP_NEW(arena, type)      ((type *)tbp_arena_alloc((arena), 1, sizeof(type)))
#define TBP_NEW_N(arena, type, n) ((type *)tbp_arena_alloc((arena), (n), sizeof(type)))

#endif
