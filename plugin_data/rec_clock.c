/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_clock.h. One multiplication per record: the rate of a piece is its slope, rounded down,
 * with 40 bits after the point; over an hour of ticks that loses less than 10 ps.
 */
#include "plugin_data/rec_clock.h"

#define PS_MAX     (INT64_C(1) << 62)
#define NS_MAX     (INT64_C(1) << 52) /* 52 days: beyond, times in ps leave 64 bits */
#define RATE_OF_NS ((uint64_t)1000 << TBP_REC_CLOCK_SHIFT)
#define RATE_MAX   ((uint64_t)1 << 62)
#define TICKS_MAX  ((UINT64_C(1) << 52) - 1)

static int64_t clamp(__int128 v) {
    if (v > PS_MAX)
        return PS_MAX;
    return v < -PS_MAX ? -PS_MAX : (int64_t)v;
}

static int64_t piece_ps(const struct tbp_rec_clock_piece *p, int64_t ticks) {
    __int128 d = (__int128)ticks - p->ticks;
    __int128 size = d < 0 ? -d : d;
    if (size > (__int128)TICKS_MAX << 1)
        size = (__int128)TICKS_MAX << 1;
    __int128 moved = (__int128)((unsigned __int128)size * p->rate >> TBP_REC_CLOCK_SHIFT);
    return clamp(p->ps + (d < 0 ? -moved : moved));
}

static uint64_t rate_between(const struct tbp_spool_anchor *a, const struct tbp_spool_anchor *b) {
    unsigned __int128 ps = (unsigned __int128)(b->monotonic_ns - a->monotonic_ns) * 1000;
    unsigned __int128 rate = (ps << TBP_REC_CLOCK_SHIFT) / (b->ticks - a->ticks);
    return rate > RATE_MAX ? RATE_MAX : (uint64_t)rate;
}

/* Anchors that are after the one before, and not absurdly far from the first. */
static uint32_t take_anchors(struct tbp_spool_anchor *to, const struct tbp_spool_anchor *from,
                             uint32_t n) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct tbp_spool_anchor a = from[i];
        if (a.monotonic_ns < 0 || a.realtime_ns < 0 || a.ticks > INT64_MAX)
            continue;
        if (kept > 0 &&
            (a.ticks <= to[kept - 1].ticks || a.monotonic_ns <= to[kept - 1].monotonic_ns ||
             a.monotonic_ns - to[0].monotonic_ns > NS_MAX))
            continue;
        to[kept++] = a;
    }
    return kept;
}

static void note_step(struct tbp_rec_clock *c, const struct tbp_spool_anchor *first,
                      const struct tbp_spool_anchor *a) {
    int64_t step = (a->realtime_ns - first->realtime_ns) - (a->monotonic_ns - first->monotonic_ns);
    int64_t known = c->largest_step_ns;
    if ((step < 0 ? -step : step) > (known < 0 ? -known : known))
        c->largest_step_ns = step;
}

void tbp_rec_clock_init(struct tbp_rec_clock *c, struct tbp_arena *arena,
                        const struct tbp_spool_anchor *anchors, uint32_t n, uint64_t ticks_base,
                        bool is_tsc, int64_t start_realtime_ns) {
    struct tbp_spool_anchor *a = TBP_NEW_N(arena, struct tbp_spool_anchor, (size_t)n + 1);
    n = take_anchors(a, anchors, n);
    *c = (struct tbp_rec_clock){.is_guessed = is_tsc && n < 2};
    if (n == 0) {
        a[0] = (struct tbp_spool_anchor){ticks_base & INT64_MAX, start_realtime_ns, 0};
        n = 1;
    }
    struct tbp_rec_clock_piece *pieces = TBP_NEW_N(arena, struct tbp_rec_clock_piece, n);
    uint64_t rate = RATE_OF_NS;
    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 < n)
            rate = rate_between(&a[i], &a[i + 1]);
        pieces[i] = (struct tbp_rec_clock_piece){(int64_t)(a[i].ticks - ticks_base),
                                                 (a[i].monotonic_ns - a[0].monotonic_ns) * 1000,
                                                 rate, a[i].realtime_ns};
        note_step(c, &a[0], &a[i]);
    }
    c->pieces = pieces;
    c->n = n;
    c->monotonic_ns = a[0].monotonic_ns;
    uint32_t at = 0;
    while (at + 1 < n && pieces[at + 1].ticks <= 0)
        at++;
    int64_t start = piece_ps(&pieces[at], 0);
    for (uint32_t i = 0; i < n; i++)
        pieces[i].ps = clamp((__int128)pieces[i].ps - start);
}

int64_t tbp_rec_clock_ps(const struct tbp_rec_clock *c, uint64_t ticks, uint32_t *hint) {
    uint32_t i = *hint;
    int64_t t = ticks > TICKS_MAX ? (int64_t)TICKS_MAX : (int64_t)ticks;
    while (i > 0 && c->pieces[i].ticks > t)
        i--;
    while (i + 1 < c->n && c->pieces[i + 1].ticks <= t)
        i++;
    *hint = i;
    int64_t ps = piece_ps(&c->pieces[i], t);
    return ps < 0 ? 0 : ps;
}

int64_t tbp_rec_clock_realtime_ps(const struct tbp_rec_clock *c, int64_t realtime_ns) {
    uint32_t low = 0, high = c->n; /* where the wall clock was set back, any piece will do */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (c->pieces[middle].realtime_ns <= realtime_ns)
            low = middle;
        else
            high = middle;
    }
    return clamp(((__int128)realtime_ns - c->pieces[low].realtime_ns) * 1000 + c->pieces[low].ps);
}

/* Between anchors times are interpolated on this very clock. */
int64_t tbp_rec_clock_monotonic_ps(const struct tbp_rec_clock *c, int64_t monotonic_ns) {
    return clamp(((__int128)monotonic_ns - c->monotonic_ns) * 1000 + c->pieces[0].ps);
}

uint64_t tbp_rec_clock_ticks(const struct tbp_rec_clock *c, int64_t ps) {
    uint64_t low = 0, high = TICKS_MAX; /* ps(low) <= ps is kept, but for low 0 */
    uint32_t hint = 0;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (tbp_rec_clock_ps(c, middle, &hint) <= ps)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
