/* SPDX-License-Identifier: Apache-2.0
 *
 * What the profile of a capture says that began too late.
 */
#include "capture/capture_worker.h"

#include <criterion/criterion.h>

enum { MS = 1000000 };

Test(capture_worker, a_late_start_is_told_with_its_cause) {
    char text[160] = "";
    const int64_t begin = INT64_C(5000) * MS;
    cr_assert_not(tbp_capture_late_text(text, sizeof text, begin, 0, begin));
    cr_assert_not(tbp_capture_late_text(text, sizeof text, begin, 0, begin + 100 * MS));
    cr_assert(tbp_capture_late_text(text, sizeof text, begin, begin + 700 * MS, begin + 703 * MS));
    cr_assert_str_eq(text, "recording began 0.703 s later than it was asked for: captures of a "
                           "process are at least a second apart");
    cr_assert(tbp_capture_late_text(text, sizeof text, begin, begin - 1, begin + 250 * MS));
    cr_assert_str_eq(text, "recording began 0.250 s later than it was asked for: the process was "
                           "slow to start it");
}
