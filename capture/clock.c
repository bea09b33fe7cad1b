/* SPDX-License-Identifier: Apache-2.0
 *
 * Which clock records use, and readings of all clocks at one moment. The system's own choice of
 * clock source says nothing (a virtual machine may use kvm-clock with a perfectly good counter), so
 * the counter is tested: on each processor, against CLOCK_MONOTONIC, which the kernel keeps equal
 * on all of them.
 */
#include "capture/clock.h"

#include "base/quiet_thread.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { BRACKETS = 200, MAX_TESTED = 64, MAX_SKEW_NS = 1000 };

struct reading {
    uint64_t ticks, width;
    int64_t ns;
};

/* The clock between two readings of the counter; the narrowest pair is the best. */
static struct reading bracket(clockid_t clock, bool is_tsc, int n) {
    struct reading best = {0, UINT64_MAX, 0};
    for (int i = 0; i < n; i++) {
        uint64_t before = tbp_clock_ticks(is_tsc);
        int64_t ns = tbp_clock_ns(clock);
        uint64_t after = tbp_clock_ticks(is_tsc);
        if (after - before < best.width)
            best = (struct reading){before + (after - before) / 2, after - before, ns};
    }
    return best;
}

void tbp_clock_anchor(bool is_tsc, struct tbp_spool_anchor *anchor) {
    struct reading monotonic = bracket(CLOCK_MONOTONIC, is_tsc, BRACKETS);
    struct reading real = bracket(CLOCK_REALTIME, false, BRACKETS);
    /* The second bracket is taken with the monotonic clock: its distance from the first is known
     * in ns. */
    anchor->ticks = is_tsc ? monotonic.ticks : (uint64_t)monotonic.ns;
    anchor->monotonic_ns = monotonic.ns;
    anchor->realtime_ns = real.ns - (int64_t)(real.ticks - (uint64_t)monotonic.ns);
}

static bool cpu_says_invariant(void) {
#if defined(__x86_64__)
    unsigned a, b, c, d = 0;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && d & 1u << 8;
#elif defined(__aarch64__)
    return true; /* by the architecture */
#else
    return false;
#endif
}

/* Ticks per nanosecond over a few milliseconds, good to about 1e-5. */
static double measure_rate(void) {
    struct reading from = bracket(CLOCK_MONOTONIC, true, BRACKETS), to;
    struct timespec rest = {0, 2000000};
    nanosleep(&rest, NULL);
    to = bracket(CLOCK_MONOTONIC, true, BRACKETS);
    return to.ns > from.ns ? (double)(to.ticks - from.ticks) / (double)(to.ns - from.ns) : 0;
}

/* Visits the processors of the process and compares where their counters stand. */
static void *test_counter(void *result) {
    bool *is_good = result;
    double rate = measure_rate();
    cpu_set_t allowed, one;
    if (rate <= 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return NULL;
    struct reading first = bracket(CLOCK_MONOTONIC, true, BRACKETS);
    int n = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE && n < MAX_TESTED; cpu++) {
        if (!CPU_ISSET(cpu, &allowed))
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (sched_setaffinity(0, sizeof one, &one) != 0)
            continue;
        n++;
        struct reading here = bracket(CLOCK_MONOTONIC, true, BRACKETS / 4);
        double elapsed_ns = (double)(int64_t)(here.ticks - first.ticks) / rate;
        double skew_ns = elapsed_ns - (double)(here.ns - first.ns);
        double drift_ns = 2e-5 * (double)(here.ns - first.ns);
        if (skew_ns > MAX_SKEW_NS + drift_ns || skew_ns < -MAX_SKEW_NS - drift_ns)
            return NULL;
    }
    *is_good = true;
    return NULL;
}

/* On a thread of its own, since the test moves it from processor to processor. */
static bool counter_is_good(void) {
    bool is_good = false;
    pthread_t tester;
    if (!cpu_says_invariant() ||
        tbp_quiet_thread(&tester, "tbprof-clock", test_counter, &is_good, NULL) != TBP_OK)
        return false;
    pthread_join(tester, NULL);
    return is_good;
}

static bool chosen;

static void choose(void) {
    const char *wish = getenv("TBPROF_CLOCK");
    if (wish && strcmp(wish, "monotonic") == 0)
        chosen = false;
    else if (wish && strcmp(wish, "tsc") == 0)
        chosen = tbp_clock_tsc() != 0;
    else
        chosen = counter_is_good();
}

bool tbp_clock_is_tsc(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}
