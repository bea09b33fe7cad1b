/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers that are kept: whose they are, and how many.
 */
#include "convert/backend/bodies.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static bool is_kept_as(struct tbp_bodies *b, const char *question, const char *body) {
    struct tbp_sink_memory out;
    tbp_sink_memory_init(&out, 0);
    bool is = tbp_bodies_get(b, tbp_str_c(question), &out.base) && out.size == strlen(body) &&
              memcmp(out.data, body, out.size) == 0;
    tbp_sink_memory_release(&out);
    return is;
}

Test(bodies, each_question_has_its_own) {
    struct tbp_bodies b;
    tbp_bodies_init(&b);
    cr_assert_not(is_kept_as(&b, "a", ""));
    tbp_bodies_put(&b, TBP_STR("a"), "one", 3);
    tbp_bodies_put(&b, TBP_STR("ab"), "two", 3);
    tbp_bodies_put(&b, TBP_STR("a"), "three", 5); /* made twice at a time: the first stays */
    cr_assert(is_kept_as(&b, "a", "one"));
    cr_assert(is_kept_as(&b, "ab", "two"));
    cr_assert_not(is_kept_as(&b, "b", "two"));
    tbp_bodies_release(&b);
}

Test(bodies, the_oldest_go_and_the_largest_never_stay) {
    enum { THIRD = TBP_BODIES_BYTES / 3 };
    struct tbp_bodies b;
    char *bytes = calloc(TBP_BODIES_BYTES, 1);
    struct tbp_sink_memory out;
    tbp_sink_memory_init(&out, 0);
    tbp_bodies_init(&b);
    for (const char *q = "1234"; *q; q++)
        tbp_bodies_put(&b, (struct tbp_str){q, 1}, bytes, THIRD);
    cr_assert_leq(tbp_bodies_size(&b), TBP_BODIES_BYTES);
    cr_assert_geq(tbp_bodies_size(&b), 2 * THIRD);
    cr_assert_not(tbp_bodies_get(&b, TBP_STR("1"), &out.base));
    cr_assert(tbp_bodies_get(&b, TBP_STR("4"), &out.base));
    cr_assert_eq(out.size, THIRD);
    tbp_bodies_put(&b, TBP_STR("5"), bytes, TBP_BODIES_BYTES);
    cr_assert_not(tbp_bodies_get(&b, TBP_STR("5"), &out.base));
    cr_assert(tbp_bodies_get(&b, TBP_STR("4"), &out.base), "what is there stays");
    tbp_sink_memory_release(&out);
    tbp_bodies_release(&b);
    free(bytes);
}
