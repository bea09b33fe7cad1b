/* SPDX-License-Identifier: Apache-2.0
 *
 * Open-addressing hash maps: 64-bit key -> 32-bit value, and bytes -> 32-bit number (an interner).
 * Memory comes from the heap and is owned by the map; keys of the interner are *borrowed* views,
 * which must outlive it. No deletion. Hash order is never visible: the interner numbers in order of
 * arrival. Thread-safety: one thread at a time.
 */
#ifndef TBP_BASE_MAP_H
#define TBP_BASE_MAP_H

#include "base/str.h"

#define TBP_MAP_NONE UINT32_MAX

struct tbp_idmap {
    uint64_t *keys;
    uint32_t *vals;
    size_t n, cap;
};
void tbp_idmap_release(struct tbp_idmap *m);
uint32_t tbp_idmap_get(const struct tbp_idmap *m, uint64_t key); /* TBP_MAP_NONE if absent */
/* Room for n keys: until there are more, none is moved. */
void tbp_idmap_reserve(struct tbp_idmap *m, size_t n);
/* Slot of key; *is_new tells whether it was added (value then TBP_MAP_NONE). Valid until the next
 * put. */
uint32_t *tbp_idmap_put(struct tbp_idmap *m, uint64_t key, bool *is_new);

struct tbp_strtab {
    struct tbp_str *strs; /* by number; strs[i] is the view given first */
    uint64_t *hashes;
    uint32_t *slots;
    size_t n, cap, n_slots;
};
void tbp_strtab_release(struct tbp_strtab *t);
uint32_t tbp_strtab_get(const struct tbp_strtab *t, struct tbp_str s); /* TBP_MAP_NONE if absent */
uint32_t tbp_strtab_put(struct tbp_strtab *t, struct tbp_str s);       /* number, new or old */

#endif
