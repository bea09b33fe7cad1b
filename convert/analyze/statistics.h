/* SPDX-License-Identifier: Apache-2.0
 *
 * Average, sample deviation and range of a series. Pure, thread-safe.
 * Source: spec pages/RULES.md 7.1.
 */
#ifndef TBP_CONVERT_ANALYZE_STATISTICS_H
#define TBP_CONVERT_ANALYZE_STATISTICS_H

#include <stddef.h>

struct tbp_statistics {
    double average, deviation, minimum, maximum; /* all 0 without samples */
};

/* The deviation is 0 where the official one is not a number: one sample of 0, or rounding below a
 * variance of 0. maximum is at least the smallest normal number (2.2e-308), as in the official
 * reading. */
struct tbp_statistics tbp_statistics_of(const double *values, size_t n);

#endif
