/* SPDX-License-Identifier: Apache-2.0
 *
 * What is alive at a moment of a recording (allocations by address, activities by id): a hash map
 * whose entries go again, so that it is as large as what lives at once, not as what ever lived.
 * Ownership: the holder's. The order of entries is never visible.
 */
#ifndef TBP_PLUGIN_DATA_REC_LIVE_H
#define TBP_PLUGIN_DATA_REC_LIVE_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct tbp_rec_live_entry {
    uint64_t key, a, b;
    uint32_t owner; /* part of the key; 0: the place is free */
};
struct tbp_rec_live {
    TBP_VEC(struct tbp_rec_live_entry) places; /* n is 0 or a power of two */
    size_t n_used;
};
void tbp_rec_live_release(struct tbp_rec_live *m);
void tbp_rec_live_copy(struct tbp_rec_live *to, const struct tbp_rec_live *from);

/* owner > 0. Adds the entry or replaces the one of its key. */
void tbp_rec_live_put(struct tbp_rec_live *m, uint32_t owner, uint64_t key, uint64_t a, uint64_t b);
/* Removes the entry and tells what it held. */
bool tbp_rec_live_take(struct tbp_rec_live *m, uint32_t owner, uint64_t key, uint64_t *a,
                       uint64_t *b);

#endif
