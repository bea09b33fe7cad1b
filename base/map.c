/* SPDX-License-Identifier: Apache-2.0
 *
 * Open addressing with linear probing, at most half full; see map.h.
 */
#include "base/map.h"

#include "base/guard.h"

#include <stdlib.h>

static void *zeroed(size_t n, size_t size) {
    void *p = calloc(n, size);
    if (!p)
        tbp_out_of_memory(n * size);
    return p;
}

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/* ---- 64-bit keys: which slots are used stands in a bit array behind the keys, since every key and
 * value is legal. ---- */
static bool used(const struct tbp_idmap *m, size_t i) {
    const uint64_t *bits = m->keys + m->cap;
    return bits[i / 64] >> (i % 64) & 1;
}

static size_t find(const struct tbp_idmap *m, uint64_t key) {
    size_t mask = m->cap - 1, i = mix(key) & mask;
    while (used(m, i) && m->keys[i] != key)
        i = (i + 1) & mask;
    return i;
}

static void insert_at(struct tbp_idmap *m, size_t i, uint64_t key, uint32_t val) {
    uint64_t *bits = m->keys + m->cap;
    bits[i / 64] |= (uint64_t)1 << (i % 64);
    m->keys[i] = key;
    m->vals[i] = val;
    m->n++;
}

void tbp_idmap_reserve(struct tbp_idmap *m, size_t n) {
    struct tbp_idmap old = *m;
    size_t cap = old.cap ? old.cap : 16;
    while (cap / 2 < n)
        cap *= 2;
    if (cap == old.cap)
        return;
    m->cap = cap;
    m->n = 0;
    m->keys = zeroed(m->cap + m->cap / 64 + 1, sizeof *m->keys);
    m->vals = zeroed(m->cap, sizeof *m->vals);
    for (size_t i = 0; i < old.cap; i++)
        if (used(&old, i))
            insert_at(m, find(m, old.keys[i]), old.keys[i], old.vals[i]);
    tbp_idmap_release(&old);
}

void tbp_idmap_release(struct tbp_idmap *m) {
    free(m->keys);
    free(m->vals);
    *m = (struct tbp_idmap){0};
}

uint32_t tbp_idmap_get(const struct tbp_idmap *m, uint64_t key) {
    if (!m->cap)
        return TBP_MAP_NONE;
    size_t i = find(m, key);
    return used(m, i) ? m->vals[i] : TBP_MAP_NONE;
}

uint32_t *tbp_idmap_put(struct tbp_idmap *m, uint64_t key, bool *is_new) {
    if (m->n + 1 > m->cap / 2)
        tbp_idmap_reserve(m, m->n + 1);
    size_t i = find(m, key);
    bool fresh = !used(m, i);
    if (fresh)
        insert_at(m, i, key, TBP_MAP_NONE);
    if (is_new)
        *is_new = fresh;
    return &m->vals[i];
}

/* ---- texts ---- */
void tbp_strtab_release(struct tbp_strtab *t) {
    free(t->strs);
    free(t->hashes);
    free(t->slots);
    *t = (struct tbp_strtab){0};
}

/* Slot that holds s, or the empty one where it belongs; slots hold number + 1. */
static size_t text_slot(const struct tbp_strtab *t, struct tbp_str s, uint64_t hash) {
    size_t mask = t->n_slots - 1, i = hash & mask;
    for (; t->slots[i]; i = (i + 1) & mask) {
        uint32_t k = t->slots[i] - 1;
        if (t->hashes[k] == hash && tbp_str_eq(t->strs[k], s))
            break;
    }
    return i;
}

static void slots_grow(struct tbp_strtab *t) {
    size_t n = t->n_slots ? t->n_slots * 2 : 16;
    uint32_t *slots = zeroed(n, sizeof *slots);
    for (size_t k = 0; k < t->n; k++) {
        size_t i = t->hashes[k] & (n - 1);
        while (slots[i])
            i = (i + 1) & (n - 1);
        slots[i] = (uint32_t)k + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n;
}

static void *regrow(void *p, size_t n, size_t size) {
    void *q = realloc(p, n * size);
    if (!q)
        tbp_out_of_memory(n * size);
    return q;
}

uint32_t tbp_strtab_get(const struct tbp_strtab *t, struct tbp_str s) {
    if (!t->n_slots)
        return TBP_MAP_NONE;
    return t->slots[text_slot(t, s, tbp_str_hash(s))] - 1u; /* empty slot: 0 - 1 = none */
}

uint32_t tbp_strtab_put(struct tbp_strtab *t, struct tbp_str s) {
    if ((t->n + 1) * 2 > t->n_slots)
        slots_grow(t);
    uint64_t hash = tbp_str_hash(s);
    size_t i = text_slot(t, s, hash);
    if (t->slots[i])
        return t->slots[i] - 1;
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 16;
        t->strs = regrow(t->strs, t->cap, sizeof *t->strs);
        t->hashes = regrow(t->hashes, t->cap, sizeof *t->hashes);
    }
    t->strs[t->n] = s;
    t->hashes[t->n] = hash;
    t->slots[i] = (uint32_t)++t->n;
    return (uint32_t)t->n - 1;
}
