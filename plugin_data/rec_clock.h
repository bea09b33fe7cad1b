/* SPDX-License-Identifier: Apache-2.0
 *
 * Ticks of a capture spool as picoseconds since the session's start. Between anchors times are
 * interpolated on the monotonic clock, before the first and after the last one extrapolated; all in
 * integers, because a double of nanoseconds since 1970 is 256 ns coarse. Pure but for the arena.
 */
#ifndef TBP_PLUGIN_DATA_REC_CLOCK_H
#define TBP_PLUGIN_DATA_REC_CLOCK_H

#include "base/arena.h"
#include "schemas/spool_format.h"

enum { TBP_REC_CLOCK_SHIFT = 40 };

struct tbp_rec_clock_piece { /* from here to the next piece */
    int64_t ticks;           /* since the session's start */
    int64_t ps;
    uint64_t rate; /* ps per tick, times 2^40 */
    int64_t realtime_ns;
};

struct tbp_rec_clock {
    const struct tbp_rec_clock_piece *pieces; /* at least one, ticks and ps ascending */
    uint32_t n;
    int64_t monotonic_ns;    /* at the first piece */
    bool is_guessed;         /* no two anchors: the length of a tick is not known */
    int64_t largest_step_ns; /* by how much the wall clock ran away from the monotonic one */
};

/* anchors: n of them as they stand in the spool; useless ones are left out. ticks_base as in the
 * header. is_tsc false: a tick is a nanosecond. */
void tbp_rec_clock_init(struct tbp_rec_clock *c, struct tbp_arena *arena,
                        const struct tbp_spool_anchor *anchors, uint32_t n, uint64_t ticks_base,
                        bool is_tsc, int64_t start_realtime_ns);

/* Never negative, never descending in ticks; at most 2^62. *hint: the piece of the last call, for
 * callers that go through time in order; begin with 0. */
int64_t tbp_rec_clock_ps(const struct tbp_rec_clock *c, uint64_t ticks, uint32_t *hint);

/* When the wall clock showed this, ps since the session's start; may be negative. */
int64_t tbp_rec_clock_realtime_ps(const struct tbp_rec_clock *c, int64_t realtime_ns);

/* When CLOCK_MONOTONIC showed this, ps since the session's start; may be negative. */
int64_t tbp_rec_clock_monotonic_ps(const struct tbp_rec_clock *c, int64_t monotonic_ns);

/* The largest ticks not later than ps. */
uint64_t tbp_rec_clock_ticks(const struct tbp_rec_clock *c, int64_t ps);

#endif
