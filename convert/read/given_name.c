/* SPDX-License-Identifier: Apache-2.0
 *
 * Names that are given more than once; see given_name.h.
 */
#include "convert/read/given_name.h"

static bool counts_more(const struct tbp_given_name *a, const struct tbp_given_name *b) {
    if (a->text.n == 0 || b->text.n == 0)
        return a->text.n > 0;
    if (a->ns != b->ns)
        return a->ns > b->ns;
    if (a->ps != b->ps)
        return a->ps > b->ps;
    return a->text.n != b->text.n ? a->text.n > b->text.n : tbp_str_cmp(a->text, b->text) < 0;
}

void tbp_given_name_take(struct tbp_given_name *name, const struct tbp_given_name *given,
                         struct tbp_arena *a) {
    if (!counts_more(given, name))
        return;
    *name = *given;
    name->text = tbp_arena_str(a, given->text);
}
