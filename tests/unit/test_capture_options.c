/* SPDX-License-Identifier: Apache-2.0
 *
 * Options of the capture runtime: sizes, words, wrong keys, what the profile says of them.
 */
#include "capture/capture_options.h"
#include "capture/schedule.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static tbprof_options fresh(void) {
    tbprof_options options;
    unsetenv("TBPROF_SPOOL_DIR"); /* who runs the tests may have spools elsewhere */
    tbprof_options_init(&options);
    return options;
}

static int set(tbprof_options *options, const char *key, const char *value) {
    return tbp_capture_option_set(options, key, value, NULL);
}

Test(capture_options, sizes_have_units_of_1024) {
    tbprof_options o = fresh();
    const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"1", 1},        {"4096", 4096},      {"64K", 65536},     {"64KiB", 65536},
                 {"3M", 3 << 20}, {"64MiB", 64 << 20}, {"2GB", 2ull << 30}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cr_assert_eq(set(&o, "max_host_bytes", sizes[i].text), TBP_OK, "%s", sizes[i].text);
        cr_assert_eq(o.max_host_bytes, sizes[i].bytes, "%s", sizes[i].text);
    }
    const char *wrong[] = {"", "0", "-1", "MiB", "1.5MiB", "1TiB", "99999999999G", "8 MiB"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(set(&o, "max_host_bytes", wrong[i]), TBP_E_OPTION, "%s", wrong[i]);
}

Test(capture_options, words_flags_and_masks) {
    tbprof_options o = fresh();
    cr_assert_eq(set(&o, "full_policy", "grow"), TBP_OK);
    cr_assert_eq(o.full_policy, TBPROF_FULL_GROW);
    cr_assert_eq(set(&o, "full_policy", "1"), TBP_OK);
    cr_assert_eq(o.full_policy, TBPROF_FULL_RING);
    cr_assert_eq(set(&o, "follow_fork", "yes"), TBP_OK);
    cr_assert_eq(o.follow_fork, 1);
    cr_assert_eq(set(&o, "follow_fork", "2"), TBP_E_OPTION);
    cr_assert_eq(set(&o, "category_mask", "0xffffffffffffffff"), TBP_OK);
    cr_assert_eq(o.category_mask, UINT64_MAX);
    cr_assert_eq(tbp_capture_options_check(&o, NULL), TBP_OK);
    cr_assert_eq(set(&o, "category_mask", "0xfg"), TBP_E_OPTION);
}

Test(capture_options, unknown_key_names_the_nearest) {
    struct tbp_error err = {0};
    tbprof_options o = fresh();
    cr_assert_eq(tbp_capture_option_set(&o, "host_trace_level", "1", &err), TBP_E_OPTION);
    cr_assert_str_eq(err.message,
                     "unknown option 'host_trace_level'; did you mean 'host_tracer_level'?");
}

Test(capture_options, profile_says_what_is_not_default) {
    char text[256];
    tbprof_options o = fresh();
    tbp_capture_options_print(&o, text, sizeof text);
    cr_assert_str_eq(text, "");
    set(&o, "delay_ms", "5");
    set(&o, "full_policy", "ring");
    set(&o, "session_id", "mine");
    tbp_capture_options_print(&o, text, sizeof text);
    cr_assert_str_eq(text, "delay_ms=5\nfull_policy=ring\nsession_id=mine\n");
    char little[16];
    tbp_capture_options_print(&o, little, sizeof little); /* what does not fit is left out whole */
    cr_assert_str_eq(little, "delay_ms=5\n");
}

static int load(tbprof_options *o, const char *yaml, struct tbp_error *err) {
    char path[] = "/tmp/test_capture_options-XXXXXX";
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fputs(yaml, f);
    fclose(f);
    int rc = tbp_capture_options_load(o, path, err);
    unlink(path);
    return rc;
}

Test(capture_options, yaml_at_the_top_or_below_capture) {
    tbprof_options o = fresh();
    cr_assert_eq(load(&o, "delay_ms: 7\nspool_dir: /dev/shm\n", NULL), TBP_OK);
    cr_assert_eq(o.delay_ms, 7);
    cr_assert_str_eq(o.spool_dir, "/dev/shm");
    cr_assert_eq(load(&o, "convert:\n  tools: [a, {b: c}]\ncapture: {delay_ms: 8}\n", NULL),
                 TBP_OK);
    cr_assert_eq(o.delay_ms, 8);
    cr_assert_eq(load(&o, "", NULL), TBP_OK);
    const char *wrong[] = {"delay: 1\n",  "delay_ms: x\n", "- 1\n",
                           "just text\n", "a: [\n",        "delay_ms: *there\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tbp_error err = {0};
        cr_assert_eq(load(&o, wrong[i], &err), TBP_E_OPTION, "%s", wrong[i]);
    }
    cr_assert_eq(o.delay_ms, 8);
}

Test(capture_options, schedule_from_text) {
    tbprof_schedule s;
    cr_assert_eq(tbp_schedule_parse(&s, "skip_first=10,wait=1,active=3,repeat=2", NULL), TBP_OK);
    cr_assert_eq(s.skip_first, 10);
    cr_assert_eq(s.wait, 1);
    cr_assert_eq(s.warmup, 0);
    cr_assert_eq(s.active, 3);
    cr_assert_eq(s.repeat, 2);
    cr_assert_eq(tbp_schedule_parse(&s, "", NULL), TBP_OK);
    cr_assert_eq(s.active, 1);
    cr_assert_eq(tbp_schedule_parse(&s, "wait", NULL), TBP_E_OPTION);
    cr_assert_eq(tbp_schedule_parse(&s, "wait=-1", NULL), TBP_E_OPTION);
    cr_assert_eq(tbp_schedule_parse(&s, "wait=1,,", NULL), TBP_E_OPTION);
    cr_assert_eq(tbp_schedule_parse(&s, "active=0", NULL), TBP_E_OPTION);
}

Test(capture_options, settings_are_options_and_what_only_the_environment_says) {
    const char *const right[][2] = {{"host_tracer_level", "3"}, {"full_policy", "ring"},
                                    {"schedule", "wait=1"},     {"server", "6009"},
                                    {"session_id", ""},         {"clock", "tsc"}};
    const char *const wrong[][2] = {{"nosuch", "1"},        {"host_tracer_level", "256"},
                                    {"full_policy", "all"}, {"schedule", "active=0"},
                                    {"servers", "6009"},    {"config", "/no/such/file"}};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        cr_assert_eq(tbp_capture_setting_check(right[i][0], right[i][1], NULL), TBP_OK, "%s",
                     right[i][0]);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_lt(tbp_capture_setting_check(wrong[i][0], wrong[i][1], NULL), 0, "%s",
                     wrong[i][0]);
    struct tbp_error err = {0};
    tbp_capture_setting_check("servr", "1", &err);
    cr_assert_str_eq(err.message, "unknown option 'servr'; did you mean 'server'?");
}
