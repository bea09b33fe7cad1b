/* SPDX-License-Identifier: Apache-2.0
 *
 * Statistics of short series, worked out by hand.
 */
#include "convert/analyze/statistics.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

Test(statistics, measures_a_series) {
    const double v[] = {2, 4, 4, 4, 5, 5, 7, 9}; /* sum 40, squares 232: variance (232-200)/7 */
    struct tbp_statistics s = tbp_statistics_of(v, 8);
    cr_assert_eq(s.average, 5);
    cr_assert_eq(s.minimum, 2);
    cr_assert_eq(s.maximum, 9);
    cr_assert_float_eq(s.deviation, sqrt(32.0 / 7), 1e-12);
}

Test(statistics, is_zero_without_samples) {
    struct tbp_statistics s = tbp_statistics_of(NULL, 0);
    cr_assert(s.average == 0 && s.deviation == 0 && s.minimum == 0 && s.maximum == 0);
}

Test(statistics, is_a_number_where_the_official_one_is_none) {
    const double zero[] = {0}, same[] = {0.1, 0.1, 0.1};
    cr_assert_eq(tbp_statistics_of(zero, 1).deviation, 0);
    cr_assert_eq(tbp_statistics_of(zero, 1).maximum, DBL_MIN);
    cr_assert_eq(tbp_statistics_of(same, 3).deviation, 0);
}
