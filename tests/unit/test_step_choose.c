/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of --steps, and which names a pattern means.
 */
#include "convert/analyze/step_source.h"

#include <criterion/criterion.h>

static struct tbp_step_source parsed(const char *text) {
    struct tbp_step_source s;
    cr_assert_eq(tbp_step_source_parse(&s, text, NULL), TBP_OK, "%s", text);
    return s;
}

Test(analyze, step_sources_are_said_in_either_form) {
    cr_assert_eq(parsed(NULL).kind, TBP_STEPS_AUTO);
    cr_assert_eq(parsed("none").kind, TBP_STEPS_NONE);
    cr_assert_eq(parsed("markers").kind, TBP_STEPS_MARKERS);
    cr_assert_eq(parsed("whole").kind, TBP_STEPS_WHOLE);
    cr_assert_eq(parsed("every=10ms").every_ps, 10000000000u);
    cr_assert_eq(parsed("every 10 ms").every_ps, 10000000000u);
    cr_assert_eq(parsed("every=0.5us").every_ps, 500000u);
    cr_assert_eq(parsed("every=2min").every_ps, 120000000000000u);
    cr_assert(tbp_str_is(parsed("name train step").pattern, "train step"));
    cr_assert(tbp_str_is(parsed("from=a=b").pattern, "a=b"));
}

Test(analyze, step_sources_that_mean_nothing_are_refused) {
    static const char *const wrong[] = {
        "",         "step",     "every", "every=", "every=10", "every=0",    "every=-1ms",
        "every=1h", "every=ms", "name",  "name=",  "none=1",   "every=nan s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct tbp_step_source s;
        struct tbp_error err = {0};
        cr_assert_eq(tbp_step_source_parse(&s, wrong[i], &err), TBP_E_OPTION, "%s", wrong[i]);
        cr_assert(strstr(err.message, "'steps'"), "%s", err.message);
    }
}

static bool matches(const char *pattern, const char *name) {
    return tbp_step_name_matches(tbp_str_c(pattern), tbp_str_c(name));
}

Test(analyze, step_names_match_as_a_whole) {
    cr_assert(matches("sample_?", "sample_1"));
    cr_assert_not(matches("sample_?", "sample_12"));
    cr_assert_not(matches("sample_?", "my sample_1"));
    cr_assert(matches("*_step*", "train_step#7"));
    cr_assert(matches("a*b*c", "axbxbxc"));
    cr_assert_not(matches("a*b*c", "axbxbx"));
    cr_assert(matches("*", ""));
    cr_assert_not(matches("", "a"));
}
