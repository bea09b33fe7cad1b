/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON texts: what each dialect escapes, what becomes of bytes that are no UTF-8, buffering,
 * failures.
 */
#include "plugin_data/json_out.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* The JSON of `s`, in memory that lives until the process (Criterion: one per test) ends. */
static const char *json_of(struct tbp_str s, enum tbp_json_escape how) {
    static struct tbp_json j;
    struct tbp_sink_memory m;
    tbp_sink_memory_init(&m, 0);
    tbp_json_init(&j, &m.base);
    tbp_json_str(&j, s, how);
    tbp_json_char(&j, '\0');
    cr_assert_eq(tbp_json_finish(&j, NULL), TBP_OK);
    return (const char *)m.data;
}

Test(json_out, tables_escape_only_what_json_demands) {
    struct tbp_str s = TBP_STR("a\"\\/\b\f\n\r\t\x01\x1f\x7f<>&\xe2\x80\xa8\xce\xbc");
    cr_assert_str_eq(json_of(s, TBP_JSON_GVIZ),
                     "\"a\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001f\x7f<>&\xe2\x80\xa8\xce\xbc\"");
}

Test(json_out, protobuf_escapes_angle_brackets_and_what_is_invisible) {
    cr_assert_str_eq(json_of(TBP_STR("<a>&\x7f\xce\xbc"), TBP_JSON_PROTO),
                     "\"\\u003ca\\u003e&\\u007f\xce\xbc\"");
    /* U+0080 U+00A0 U+200B U+2065 U+FEFF U+E0001, as the official plugin answers */
    cr_assert_str_eq(
        json_of(TBP_STR("\xc2\x80\xc2\xa0\xe2\x80\x8b\xe2\x81\xa5\xef\xbb\xbf\xf3\xa0\x80\x81"),
                TBP_JSON_PROTO),
        "\"\\u0080\xc2\xa0\\u200b\xe2\x81\xa5\\ufeff\\udb40\\udc01\"");
}

Test(json_out, traces_escape_what_html_trips_over) {
    cr_assert_str_eq(
        json_of(TBP_STR("<a>&\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\x7f"), TBP_JSON_TRACE),
        "\"\\u003ca\\u003e\\u0026\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa\x7f\"");
}

Test(json_out, python_escapes_all_beyond_ascii_with_surrogate_pairs) {
    cr_assert_str_eq(json_of(TBP_STR("<\xc3\xa9\xce\xbc\xf0\x9f\x98\x80\x7f"), TBP_JSON_PYTHON),
                     "\"<\\u00e9\\u03bc\\ud83d\\ude00\\u007f\"");
}

Test(json_out, each_byte_that_is_no_utf8_becomes_one_replacement) {
    /* lone continuation, overlong, surrogate, cut at the end */
    cr_assert_str_eq(json_of(TBP_STR("a\x80z\xc0\xaf\xed\xa0\x80\xe2\x82"), TBP_JSON_GVIZ),
                     "\"a\xef\xbf\xbdz\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
                     "\xef\xbf\xbd\xef\xbf\xbd\"");
    cr_assert_str_eq(json_of(TBP_STR("\xff"), TBP_JSON_PYTHON), "\"\\ufffd\"");
    cr_assert_str_eq(json_of(TBP_STR("\xf4\x90\x80\x80"), TBP_JSON_PYTHON),
                     "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

Test(json_out, empty_view_without_bytes_is_an_empty_text) {
    cr_assert_str_eq(json_of((struct tbp_str){NULL, 0}, TBP_JSON_GVIZ), "\"\"");
}

Test(json_out, texts_larger_than_the_buffer_come_through) {
    static char big[200001];
    memset(big, 'x', sizeof big);
    big[100000] = '\n';
    const char *text = json_of((struct tbp_str){big, sizeof big}, TBP_JSON_GVIZ);
    cr_assert_eq(strlen(text), sizeof big + 1 + 2);
    cr_assert_eq(memcmp(text + 100001, "\\n", 2), 0);
    cr_assert_eq(text[sizeof big + 1], 'x');
}

Test(json_out, first_failure_of_the_sink_is_kept_and_told_at_the_end) {
    static struct tbp_json j;
    struct tbp_sink_memory m;
    tbp_sink_memory_init(&m, 10);
    tbp_json_init(&j, &m.base);
    for (int i = 0; i < 100000; ++i)
        tbp_json_lit(&j, "0123456789");
    struct tbp_error err;
    cr_assert_eq(tbp_json_finish(&j, &err), TBP_E_LIMIT);
    cr_assert_eq(err.code, TBP_E_LIMIT);
    cr_assert_eq(m.size, 0);
    tbp_sink_memory_release(&m);
}
