/* SPDX-License-Identifier: Apache-2.0
 *
 * Anchors of the record clock: all clocks at one moment.
 */
#include "capture/clock.h"

#include <criterion/criterion.h>

Test(clock, anchors_lie_between_readings_around_them) {
    for (int is_tsc = 0; is_tsc < 2; is_tsc++) {
        struct tbp_spool_anchor a;
        int64_t early = tbp_clock_ns(CLOCK_MONOTONIC), real = tbp_clock_ns(CLOCK_REALTIME);
        int64_t monotonic = tbp_clock_ns(CLOCK_MONOTONIC);
        uint64_t ticks = tbp_clock_ticks(is_tsc);
        tbp_clock_anchor(is_tsc, &a);
        cr_assert_leq(ticks, a.ticks);
        cr_assert_leq(monotonic, a.monotonic_ns);
        cr_assert_leq(a.ticks, tbp_clock_ticks(is_tsc));
        cr_assert_leq(a.monotonic_ns, tbp_clock_ns(CLOCK_MONOTONIC));
        /* The distance of the two clocks is the same at every moment, to what slewing makes of it;
         * here it is known to the time between two readings, in which others may have run. */
        int64_t there = a.realtime_ns - a.monotonic_ns, slewed = 50000000;
        cr_assert_leq(real - monotonic - slewed, there);
        cr_assert_leq(there, real - early + slewed);
    }
}

Test(clock, counter_runs_evenly) {
    if (!tbp_clock_is_tsc())
        cr_skip_test("no trusted counter on this machine");
    struct tbp_spool_anchor a[3];
    for (int i = 0; i < 3; i++) {
        struct timespec rest = {0, 20000000};
        tbp_clock_anchor(true, &a[i]);
        nanosleep(&rest, NULL);
    }
    double first =
        (double)(a[1].ticks - a[0].ticks) / (double)(a[1].monotonic_ns - a[0].monotonic_ns);
    double second =
        (double)(a[2].ticks - a[1].ticks) / (double)(a[2].monotonic_ns - a[1].monotonic_ns);
    cr_assert_float_eq(first / second, 1.0, 1e-3);
}

Test(clock, monotonic_ticks_are_nanoseconds) {
    struct tbp_spool_anchor a;
    tbp_clock_anchor(false, &a);
    cr_assert_eq(a.ticks, (uint64_t)a.monotonic_ns);
}
