/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of short series, in the order of summation of the official reading, so that last
 * digits agree.
 */
#include "convert/analyze/statistics.h"

#include <float.h>
#include <math.h>

struct tbp_statistics tbp_statistics_of(const double *values, size_t n) {
    struct tbp_statistics s = {0, 0, 0, 0};
    if (!n)
        return s;
    double total = 0, squares = 0;
    s.minimum = INFINITY;
    s.maximum = DBL_MIN;
    for (size_t i = 0; i < n; i++) {
        total += values[i];
        squares += values[i] * values[i];
        s.minimum = values[i] < s.minimum ? values[i] : s.minimum;
        s.maximum = values[i] > s.maximum ? values[i] : s.maximum;
    }
    s.average = total / (double)n;
    double variance = n > 1 ? (squares - total * total / (double)n) / (double)(n - 1) : 0;
    if (s.minimum != s.maximum && variance > 0)
        s.deviation = sqrt(variance);
    return s;
}
