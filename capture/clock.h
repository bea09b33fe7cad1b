/* SPDX-License-Identifier: Apache-2.0
 *
 * The clock of records: the processor's time stamp counter where it can be trusted, else
 * CLOCK_MONOTONIC in nanoseconds. Ticks become times by interpolation between anchors
 * (schemas/spool_format.h), done by whoever reads the spool. Thread-safe.
 */
#ifndef TBP_CAPTURE_CLOCK_H
#define TBP_CAPTURE_CLOCK_H

#include "schemas/spool_format.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

static inline uint64_t tbp_clock_tsc(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

static inline int64_t tbp_clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The counter's serialising forms cost twice as much and gain tens of cycles: not used. */
static inline uint64_t tbp_clock_ticks(bool is_tsc) {
    return is_tsc ? tbp_clock_tsc() : (uint64_t)tbp_clock_ns(CLOCK_MONOTONIC);
}

/* Whether the counter is used: TBPROF_CLOCK=tsc|monotonic, else if the processor calls it invariant
 * and all processors that this process may run on agree within a microsecond. Tested once. */
bool tbp_clock_is_tsc(void);

/* All clocks at one moment: the narrowest of many brackets (about 20 us). */
void tbp_clock_anchor(bool is_tsc, struct tbp_spool_anchor *anchor);

#endif
