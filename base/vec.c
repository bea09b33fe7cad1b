/* SPDX-License-Identifier: Apache-2.0
 *
 * Growth of heap arrays; see vec.h.
 */
#include "base/vec.h"

#include "base/guard.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *tbp_vec_grow_bytes(void *at, size_t *cap, size_t need, size_t item) {
    size_t grown = *cap + *cap / 2 + 16, bytes;
    if (grown < need)
        grown = need;
    if (__builtin_mul_overflow(grown, item, &bytes))
        tbp_out_of_memory(SIZE_MAX);
    void *p = realloc(at, bytes);
    if (!p)
        tbp_out_of_memory(bytes);
    *cap = grown;
    return p;
}

void tbp_vec_free_bytes(void *at) {
    free(at);
}

void tbp_vec_drop_bytes(void *at, size_t from, size_t to, size_t item) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = ((uintptr_t)at + from * item + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)at + to * item) / page * page;
    if (end > first)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

void *tbp_vec_shrink_bytes(void *at, size_t *cap, size_t keep, size_t item) {
    size_t n = keep ? keep : 1;
    void *p = n < *cap ? realloc(at, n * item) : NULL;
    if (p)
        *cap = n;
    return p ? p : at;
}
