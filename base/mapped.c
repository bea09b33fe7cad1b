/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of mapped files; see mapped.h. A slot is taken by its flag, filled, and only then seen:
 * start is written last and cleared first.
 */
#include "base/mapped.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SLOTS = 1024, PATH_BYTES = 200 };

static struct slot {
    atomic_bool is_taken;
    _Atomic uintptr_t start; /* 0: not in use */
    size_t size;
    char path[PATH_BYTES];
} slots[SLOTS];

void tbp_mapped_add(const void *start, size_t size, const char *path) {
    size_t n = strlen(path), skipped = n < PATH_BYTES ? 0 : n - (PATH_BYTES - 1);
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &slots[i];
        if (atomic_exchange(&s->is_taken, true))
            continue;
        s->size = size;
        memcpy(s->path, path + skipped, n - skipped + 1);
        atomic_store(&s->start, (uintptr_t)start);
        return;
    }
}

void tbp_mapped_remove(const void *start) {
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &slots[i];
        if (atomic_load(&s->start) != (uintptr_t)start)
            continue;
        atomic_store(&s->start, 0);
        atomic_store(&s->is_taken, false);
        return;
    }
}

const char *tbp_mapped_path(const void *address) {
    for (int i = 0; i < SLOTS; i++) {
        uintptr_t start = atomic_load(&slots[i].start);
        if (start && (uintptr_t)address - start < slots[i].size)
            return slots[i].path;
    }
    return NULL;
}
