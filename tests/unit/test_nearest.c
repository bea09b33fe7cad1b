/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names are suggested for a mistyped one, and for which none is.
 */
#include "base/nearest.h"

#include <criterion/criterion.h>

static const char *suggestion(const char *word) {
    static const char *const known[] = {"jobs", "run", "host", "semantics", "tools"};
    struct tbp_nearest n;
    tbp_nearest_init(&n, word);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        tbp_nearest_try(&n, known[i]);
    return n.best ? n.best : "";
}

Test(nearest, a_few_wrong_letters_are_seen_through) {
    cr_expect_str_eq(suggestion("jbos"), "jobs");
    cr_expect_str_eq(suggestion("ran"), "run");
    cr_expect_str_eq(suggestion("semantic-s"), "semantics");
    cr_expect_str_eq(suggestion("sem"), "semantics");
}

Test(nearest, of_one_or_two_letters_nothing_can_be_told) {
    cr_expect_str_eq(suggestion(""), "");
    cr_expect_str_eq(suggestion("x"), "");
    cr_expect_str_eq(suggestion("r"), "");
    cr_expect_str_eq(suggestion("ho"), "");
}

Test(nearest, of_a_short_word_most_letters_must_be_right) {
    cr_expect_str_eq(suggestion("fan"), "");
    cr_expect_str_eq(suggestion("hxyz"), "");
}
