/* SPDX-License-Identifier: Apache-2.0
 *
 * Stable sorts. Every order that reaches an output is made with these, so that ties keep file
 * order.
 */
#ifndef TBP_BASE_SORT_H
#define TBP_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Stable merge sort of n items of `size` bytes; cmp(a, b, ctx) < 0 when a is first. Already sorted
 * input costs one pass. Uses scratch heap memory of n*size bytes. */
void tbp_sort(void *items, size_t n, size_t size,
              int (*cmp)(const void *a, const void *b, void *ctx), void *ctx);

/* Sorts idx[0..n) stably by (key ascending, then second descending if not NULL). keys are indexed
 * by idx values. */
void tbp_sort_index_u64(uint32_t *idx, size_t n, const uint64_t *key, const uint64_t *second_desc);

/* Sorts numbers ascending; sorted input costs one pass. */
void tbp_sort_u32(uint32_t *v, size_t n);

/* How many of n items come up to `limit`, by the number at `offset` in each, which ascends: so also
 * the place of the first beyond it. */
size_t tbp_count_up_to(const void *items, size_t n, size_t item_size, size_t offset,
                       uint64_t limit);
/* The same of a vector and a member of its items. */
#define tbp_vec_count_up_to(v, type, member, limit)                                                \
    tbp_count_up_to((v)->at, (v)->n, sizeof(type), offsetof(type, member), (limit))

#endif
