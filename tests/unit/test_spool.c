/* SPDX-License-Identifier: Apache-2.0
 *
 * Where spools lie.
 */
#include "capture/spool.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Containers that share a place have processes of the same number, and even name, at one time. */
Test(spool, sessions_of_one_name_have_folders_of_their_own) {
    enum { N = 3 };
    static const char *const files[N] = {"host_1.tbs", "other_1.tbs", "host_1.tbs"};
    static const char *const folders[N] = {"tbprof-now-1-1", "tbprof-now-1-1-1",
                                           "tbprof-now-1-1-2"};
    char place[] = "/tmp/tbprof-unit-XXXXXX", expected[128], warning[256] = "";
    struct tbp_spool *spools[N];
    struct tbp_error err = {0};
    cr_assert_not_null(mkdtemp(place));
    for (int i = 0; i < N; i++) {
        struct tbp_spool_request request = {.folder = place,
                                            .session = "now-1-1",
                                            .file = files[i],
                                            .max_bytes = 1 << 22,
                                            .generation = 1,
                                            .warning = warning,
                                            .warning_size = sizeof warning};
        cr_assert_eq(tbp_spool_open(&spools[i], &request, &err), TBP_OK, "%s", err.message);
        cr_expect_str_eq(warning, "");
        snprintf(expected, sizeof expected, "%s/%s/%s", place, folders[i], files[i]);
        cr_expect_str_eq(spools[i]->path, expected);
    }
    for (int i = 0; i < N; i++)
        tbp_spool_close(spools[i], true);
    cr_expect_eq(rmdir(place), 0); /* nothing is left */
}
