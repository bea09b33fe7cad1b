/* SPDX-License-Identifier: Apache-2.0
 *
 * Members and lists of texts as the commands' JSON has them.
 */
#include "cli/json_parts.h"

#include <criterion/criterion.h>

static struct tbp_json j;
static struct tbp_sink_memory m;

static void begin(void) {
    tbp_sink_memory_init(&m, 0);
    tbp_json_init(&j, &m.base);
}

static const char *written(void) {
    tbp_json_char(&j, '\0');
    cr_assert_eq(tbp_json_finish(&j, NULL), TBP_OK);
    return (const char *)m.data;
}

Test(json_parts, member_has_a_text_or_null, .init = begin) {
    tbp_json_member(&j, "a", "x\"<\n");
    tbp_json_char(&j, ',');
    tbp_json_member(&j, "b", "");
    tbp_json_char(&j, ',');
    tbp_json_member(&j, "c", NULL);
    cr_assert_str_eq(written(), "\"a\":\"x\\\"<\\n\",\"b\":\"\",\"c\":null");
}

Test(json_parts, commas_stand_between_the_texts_of_a_list, .init = begin) {
    static const char *const texts[] = {"", "b,", "\xff"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        tbp_json_item(&j, i, tbp_str_c(texts[i]));
    cr_assert_str_eq(written(), "\"\",\"b,\",\"\xef\xbf\xbd\"");
}
