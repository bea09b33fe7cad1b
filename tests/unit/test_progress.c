/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of the progress display.
 */
#include "cli/progress.h"

#include <criterion/criterion.h>

static const char *text(bool bar, uint64_t done, uint64_t total, double elapsed_s) {
    static char buf[160];
    tbp_progress_text(buf, sizeof buf, bar, done, total, elapsed_s);
    return buf;
}

Test(progress, tells_part_rate_and_time_left) {
    /* 50 MB in 2 s: 25 MB/s, and as much again to come */
    cr_assert_str_eq(text(false, 50000000, 100000000, 2.0), " 50 %  25.0 MB/s  0:02 left");
    cr_assert_str_eq(text(true, 50000000, 100000000, 2.0),
                     "[############            ]  50 %  25.0 MB/s  0:02 left");
    cr_assert_str_eq(text(false, 1000000, 8000000000, 1.0), "  0 %  1.0 MB/s  2:13:19 left");
}

Test(progress, survives_odd_figures) {
    cr_assert_str_eq(text(false, 0, 0, 0.0), "100 %");
    cr_assert_str_eq(text(false, 0, 100, 1.0), "  0 %");
    cr_assert_str_eq(text(false, 300, 100, 1.0), "100 %  0.0 MB/s  0:00 left");
}

Test(progress, is_silent_when_off) {
    struct tbp_progress p;
    FILE *f = tmpfile();
    tbp_progress_begin(&p, TBP_PROGRESS_OFF, f, 10);
    tbp_progress_add(&p, 5);
    tbp_progress_end(&p);
    cr_assert_eq(ftell(f), 0);
    fclose(f);
}
