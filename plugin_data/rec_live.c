/* SPDX-License-Identifier: Apache-2.0
 *
 * Linear probing, at most half full; an entry that goes is filled from behind, so that no marks of
 * former entries stay.
 */
#include "plugin_data/rec_live.h"

#include <string.h>

enum { FIRST_PLACES = 64 };

void tbp_rec_live_release(struct tbp_rec_live *m) {
    tbp_vec_release(&m->places);
    m->n_used = 0;
}

void tbp_rec_live_copy(struct tbp_rec_live *to, const struct tbp_rec_live *from) {
    to->places.n = 0;
    tbp_vec_reserve(&to->places, from->places.n);
    if (from->places.n)
        memcpy(to->places.at, from->places.at, from->places.n * sizeof *to->places.at);
    to->places.n = from->places.n;
    to->n_used = from->n_used;
}

static size_t place_of(const struct tbp_rec_live *m, uint32_t owner, uint64_t key) {
    uint64_t h = (key ^ key >> 29 ^ (uint64_t)owner << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ h >> 32) & (m->places.n - 1);
}

/* Place of the key, or the free one where it belongs. */
static size_t find(const struct tbp_rec_live *m, uint32_t owner, uint64_t key) {
    size_t i = place_of(m, owner, key), mask = m->places.n - 1;
    const struct tbp_rec_live_entry *at = m->places.at;
    while (at[i].owner && (at[i].owner != owner || at[i].key != key))
        i = (i + 1) & mask;
    return i;
}

static void grow(struct tbp_rec_live *m) {
    struct tbp_rec_live old = *m;
    size_t n = old.places.n ? old.places.n * 2 : FIRST_PLACES;
    *m = (struct tbp_rec_live){.n_used = old.n_used};
    tbp_vec_reserve(&m->places, n);
    memset(m->places.at, 0, n * sizeof *m->places.at);
    m->places.n = n;
    for (size_t i = 0; i < old.places.n; i++) {
        const struct tbp_rec_live_entry *e = &old.places.at[i];
        if (e->owner)
            m->places.at[find(m, e->owner, e->key)] = *e;
    }
    tbp_vec_release(&old.places);
}

void tbp_rec_live_put(struct tbp_rec_live *m, uint32_t owner, uint64_t key, uint64_t a,
                      uint64_t b) {
    if ((m->n_used + 1) * 2 > m->places.n)
        grow(m);
    struct tbp_rec_live_entry *e = &m->places.at[find(m, owner, key)];
    m->n_used += e->owner == 0;
    *e = (struct tbp_rec_live_entry){key, a, b, owner};
}

static void close_hole(struct tbp_rec_live *m, size_t hole) {
    size_t mask = m->places.n - 1;
    struct tbp_rec_live_entry *at = m->places.at;
    for (size_t i = (hole + 1) & mask; at[i].owner; i = (i + 1) & mask) {
        size_t wants = place_of(m, at[i].owner, at[i].key);
        if (((i - wants) & mask) < ((i - hole) & mask))
            continue; /* it belongs behind the hole */
        at[hole] = at[i];
        hole = i;
    }
    at[hole].owner = 0;
}

bool tbp_rec_live_take(struct tbp_rec_live *m, uint32_t owner, uint64_t key, uint64_t *a,
                       uint64_t *b) {
    if (m->n_used == 0)
        return false;
    size_t i = find(m, owner, key);
    if (!m->places.at[i].owner)
        return false;
    *a = m->places.at[i].a;
    *b = m->places.at[i].b;
    close_hole(m, i);
    m->n_used--;
    return true;
}
