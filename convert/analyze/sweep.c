/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep over typed spans. Each begin and end is one 64-bit key whose numeric order is the order
 * of the sweep, so that sorting moves 8 bytes per cut. Groups longer than 2^59 ps (a week; only odd
 * files have them) do not fit: the times of such groups are ranked once and their keys hold ranks.
 * Budget: 25 ns per span, sorting included.
 */
#include "convert/analyze/sweep.h"

#include "base/guard.h"
#include "base/vec.h"

#include <stdbool.h>
#include <string.h>

enum { KEY_BITS = 5, START_BIT = 16, PART_MASK = 15, SMALL = 48, GROUPS_AT_A_TIME = 64 };
#define LONGEST_PS (UINT64_C(1) << (64 - KEY_BITS))

struct extent {
    uint64_t low, high;
};

static void *take(size_t n, size_t item) {
    size_t cap = 0;
    return tbp_vec_grow_bytes(NULL, &cap, n ? n : 1, item);
}

static void sort_small(uint64_t *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        uint64_t v = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1] > v; k--)
            a[k] = a[k - 1];
        a[k] = v;
    }
}

/* Which bits differ anywhere, and whether there is nothing to sort. */
static uint64_t differing_bits(const uint64_t *a, size_t n, bool *is_sorted) {
    uint64_t bits = 0, falls = 0;
    for (size_t i = 1; i < n; i++) {
        bits |= a[i - 1] ^ a[i];
        falls |= a[i - 1] > a[i];
    }
    *is_sorted = !falls;
    return bits;
}

/* One pass of the sort: by the byte that begins at `shift`. */
static void sort_by_byte(const uint64_t *from, uint64_t *to, size_t n, unsigned shift) {
    uint32_t at[256] = {0};
    for (size_t i = 0; i < n; i++)
        at[from[i] >> shift & 255]++;
    for (uint32_t v = 0, sum = 0; v < 256; v++) {
        uint32_t count = at[v];
        at[v] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[at[from[i] >> shift & 255]++] = from[i];
}

/* Radix sort by bytes, lowest first; bytes that are the same everywhere are skipped. Ends in a. */
static void sort_keys(uint64_t *a, size_t n, uint64_t *spare) {
    bool is_sorted;
    if (n <= SMALL) {
        sort_small(a, n);
        return;
    }
    uint64_t bits = differing_bits(a, n, &is_sorted), *from = a, *to = spare;
    for (unsigned shift = 0; !is_sorted && shift < 64; shift += 8) {
        if (!(bits >> shift & 255))
            continue;
        sort_by_byte(from, to, n, shift);
        uint64_t *t = from;
        from = to;
        to = t;
    }
    if (from != a)
        memcpy(a, from, n * sizeof *a);
}

/* (The last moment of all marks such groups in base_ps, so a group that begins there counts as
 * one.) */
static bool is_wide(const struct extent *e) {
    return e->low == UINT64_MAX || e->high - e->low >= LONGEST_PS;
}

/* The sorted, distinct times of all groups that are too long for keys of their own. */
static void rank_times(struct tbp_sweep *s, const struct tbp_span *spans, size_t n,
                       const struct extent *extents) {
    TBP_VEC(uint64_t) t = {0};
    for (size_t i = 0; i < n; i++) {
        if (!is_wide(&extents[spans[i].group]))
            continue;
        *tbp_vec_push(&t) = spans[i].start_ps;
        *tbp_vec_push(&t) = spans[i].end_ps;
    }
    if (!t.n)
        return;
    uint64_t *spare = take(t.n, sizeof *spare);
    sort_keys(t.at, t.n, spare);
    tbp_vec_free_bytes(spare);
    size_t kept = 1;
    for (size_t i = 1; i < t.n; i++)
        if (t.at[i] != t.at[kept - 1])
            t.at[kept++] = t.at[i];
    s->times = t.at;
    s->n_times = kept;
}

static uint64_t rank_of(const struct tbp_sweep *s, uint64_t time) {
    size_t lo = 0, hi = s->n_times;
    while (lo + 1 < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->times[mid] <= time)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void place_keys(struct tbp_sweep *s, const struct tbp_span *spans, size_t n,
                       const struct extent *extents) {
    uint64_t *at =
        s->first + 1; /* filled shifted by one, so that first[g] is g's begin in the end */
    for (size_t i = 0; i < n; i++) {
        const struct tbp_span *p = &spans[i];
        bool wide = is_wide(&extents[p->group]);
        uint64_t base = extents[p->group].low, low = PART_MASK - p->part;
        uint64_t start = wide ? rank_of(s, p->start_ps) : p->start_ps - base;
        uint64_t end = wide ? rank_of(s, p->end_ps) : p->end_ps - base;
        uint64_t k = at[p->group];
        s->keys[k] = start << KEY_BITS | START_BIT | low;
        s->keys[k + 1] = end << KEY_BITS | low;
        at[p->group] += 2;
    }
}

static int sort_groups(void *ctx, size_t job, struct tbp_error *err) {
    const struct tbp_sweep *s = ctx;
    size_t from = job * GROUPS_AT_A_TIME, end = from + GROUPS_AT_A_TIME, largest = 0;
    (void)err;
    end = end < s->n_groups ? end : s->n_groups;
    for (size_t g = from; g < end; g++) {
        size_t n = s->first[g + 1] - s->first[g];
        largest = n > largest ? n : largest;
    }
    uint64_t *spare = take(largest, sizeof *spare);
    for (size_t g = from; g < end; g++)
        sort_keys(s->keys + s->first[g], s->first[g + 1] - s->first[g], spare);
    tbp_vec_free_bytes(spare);
    return TBP_OK;
}

void tbp_sweep_init(struct tbp_sweep *s, const struct tbp_span *spans, size_t n, size_t n_groups,
                    struct tbp_pool *pool) {
    *s = (struct tbp_sweep){.n_groups = n_groups};
    struct extent *extents = take(n_groups, sizeof *extents);
    s->base_ps = take(n_groups, sizeof *s->base_ps);
    s->first = take(n_groups + 2, sizeof *s->first);
    s->keys = take(2 * n, sizeof *s->keys);
    memset(s->first, 0, (n_groups + 2) * sizeof *s->first);
    for (size_t g = 0; g < n_groups; g++)
        extents[g] = (struct extent){UINT64_MAX, 0};
    for (size_t i = 0; i < n; i++) {
        struct extent *e = &extents[spans[i].group];
        uint64_t low = spans[i].start_ps < spans[i].end_ps ? spans[i].start_ps : spans[i].end_ps;
        uint64_t high = spans[i].start_ps < spans[i].end_ps ? spans[i].end_ps : spans[i].start_ps;
        e->low = low < e->low ? low : e->low;
        e->high = high > e->high ? high : e->high;
        s->first[spans[i].group + 2] += 2;
    }
    for (size_t g = 0; g < n_groups; g++) {
        s->first[g + 2] += s->first[g + 1];
        if (extents[g].low > extents[g].high) /* no spans */
            extents[g] = (struct extent){0, 0};
    }
    rank_times(s, spans, n, extents);
    place_keys(s, spans, n, extents);
    for (size_t g = 0; g < n_groups; g++)
        s->base_ps[g] = is_wide(&extents[g]) ? UINT64_MAX : extents[g].low;
    tbp_vec_free_bytes(extents);
    size_t jobs = (n_groups + GROUPS_AT_A_TIME - 1) / GROUPS_AT_A_TIME;
    if (tbp_pool_for(pool, jobs, sort_groups, s, NULL) != TBP_OK)
        tbp_out_of_memory(0); /* they fail of nothing else */
}

static uint64_t overlap(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1) {
    if (a0 > b1 || b0 > a1)
        return 0;
    return (a1 < b1 ? a1 : b1) - (a0 > b0 ? a0 : b0);
}

/* Highest part below t that is open; UNKNOWN is bit 0. */
static unsigned highest_below(uint32_t open, unsigned t) {
    uint32_t lower = (open & ((1u << t) - 1)) | 1u;
    return 31u - (unsigned)__builtin_clz(lower);
}

void tbp_sweep_group(const struct tbp_sweep *s, size_t group, uint64_t clip_begin_ps,
                     uint64_t clip_end_ps, struct tbp_sweep_sums *out) {
    memset(out, 0, sizeof *out);
    const uint64_t *keys = s->keys + s->first[group];
    size_t n = s->first[group + 1] - s->first[group];
    bool ranked = s->base_ps[group] == UINT64_MAX;
    int64_t count[TBP_STEP_PARTS] = {0};
    uint32_t open = 0;
    unsigned current = TBP_PART_UNKNOWN;
    uint64_t time = 0;
    for (size_t k = 0; k < n; k++) {
        uint64_t next =
            ranked ? s->times[keys[k] >> KEY_BITS] : s->base_ps[group] + (keys[k] >> KEY_BITS);
        if (k > 0) {
            out->whole_ps[current] += next - time;
            out->clipped_ps[current] += overlap(clip_begin_ps, clip_end_ps, time, next);
            out->seen |= 1u << current;
        }
        time = next;
        unsigned part = PART_MASK - (unsigned)(keys[k] & PART_MASK);
        bool is_start = (keys[k] & START_BIT) != 0;
        count[part] += is_start ? 1 : -1;
        open = count[part] > 0 ? open | 1u << part : open & ~(1u << part);
        if (is_start && part > current)
            current = part;
        else if (!is_start && part == current && count[part] == 0)
            current = highest_below(open, part);
    }
}

void tbp_sweep_release(struct tbp_sweep *s) {
    tbp_vec_free_bytes(s->keys);
    tbp_vec_free_bytes(s->first);
    tbp_vec_free_bytes(s->base_ps);
    tbp_vec_free_bytes(s->times);
    *s = (struct tbp_sweep){0};
}
