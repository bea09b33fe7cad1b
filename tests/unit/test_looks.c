/* SPDX-License-Identifier: Apache-2.0
 *
 * Which files are opened to see whether they may be profiles: those of another stamp, and those
 * that were none. Contents of one length are put in place of each other.
 */
#include "convert/backend/looks.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char profile[] = "\x0a\x0e\x12\x0c/device:GPU0", page[] = "<html>404</html>";
static char path[] = "/tmp/tbprof-look-XXXXXX";
static struct tbp_looks looks;

static void setup(void) {
    close(mkstemp(path));
    tbp_looks_init(&looks);
}

static void teardown(void) {
    unlink(path);
    tbp_looks_release(&looks);
}

TestSuite(looks, .init = setup, .fini = teardown);

static struct tbp_file_stamp put(const char *content, long mtime_s) {
    const struct timespec times[2] = {{1700000000 + mtime_s, 0}, {1700000000 + mtime_s, 0}};
    struct tbp_file_stamp stamp;
    FILE *f = fopen(path, "r+b");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(content, 1, sizeof page - 1, f), sizeof page - 1);
    fclose(f);
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    usleep(30000); /* more than the grain of the clock */
    cr_assert_eq(tbp_file_stamp(&stamp, path, NULL), TBP_OK);
    return stamp;
}

static bool look(struct tbp_looks *at, struct tbp_file_stamp stamp) {
    return tbp_looks_may_be_profile(at, path, &stamp);
}

Test(looks, a_profile_is_known_by_its_stamp) {
    cr_assert_eq(sizeof profile, sizeof page);
    struct tbp_file_stamp first = put(profile, 0);
    cr_assert(look(&looks, first));
    struct tbp_file_stamp second = put(page, 1);
    cr_assert(look(&looks, first), "not opened again");
    cr_assert_not(look(&looks, second));
    cr_assert_not(look(&looks, second));
    put(profile, 1);
    cr_assert(look(&looks, second), "what was none is opened again");
}

Test(looks, without_a_table_every_look_is_the_first) {
    struct tbp_file_stamp stamp = put(profile, 0);
    cr_assert(look(NULL, stamp));
    put(page, 0);
    cr_assert_not(look(NULL, stamp));
}

/* One of the times of the stamp becomes that of now. */
static bool is_hasty_with(struct tbp_file_stamp *stamp, int64_t *time_ns) {
    for (int i = 0; i < 100; i++) { /* a busy machine may need longer than the grain */
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        *time_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        if (tbp_file_stamp_is_hasty(stamp))
            return true;
    }
    return false;
}

Test(looks, a_file_just_written_is_looked_at_again) {
    struct tbp_file_stamp stamp = {.mtime_ns = 0}, copy = stamp;
    cr_assert_not(tbp_file_stamp_is_hasty(&stamp));
    cr_assert(is_hasty_with(&stamp, &stamp.mtime_ns));
    cr_assert(is_hasty_with(&copy, &copy.ctime_ns), "a copy that kept the time of before");
}
