/* SPDX-License-Identifier: Apache-2.0
 *
 * The tolerant JSON parser: what well-formed documents give, and what each kind of damage gives.
 */
#include "base/json_pull.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* The tokens as text: {k:"…" …}. */
static const char *tokens(const char *text, struct tbp_json_pull *j) {
    static char out[1024];
    size_t n = 0;
    enum tbp_json_token token;
    tbp_json_pull_init(j, text, strlen(text));
    while ((token = tbp_json_pull_next(j)) != TBP_JSON_END && n < 900) {
        static const char signs[] = " {}[]k\"#tf0";
        out[n++] = signs[token];
        if (token == TBP_JSON_KEY || token == TBP_JSON_STRING || token == TBP_JSON_NUMBER)
            n += (size_t)snprintf(out + n, 100, "%.*s ", (int)j->text.n, j->text.p);
    }
    out[n] = 0;
    return out;
}

static void assert_repaired(const char *text, const char *wanted, enum tbp_json_repair what,
                            uint64_t n, uint64_t first) {
    struct tbp_json_pull j;
    cr_assert_str_eq(tokens(text, &j), wanted, "%s: %s", text, tokens(text, &j));
    cr_assert_eq(j.count[what], n, "%s", text);
    cr_assert_eq(j.first_offset[what], first, "%s", text);
}

Test(json_pull, well_formed_documents_need_no_repair) {
    struct tbp_json_pull j;
    cr_assert_str_eq(tokens(" {\"a\": [1, -2.5e3, true, false, null], \"b\":{\"c\":\"d\"}} ", &j),
                     "{ka [#1 #-2.5e3 tf0]kb {kc \"d }}");
    for (int k = 0; k < TBP_JSON_REPAIRS; k++)
        cr_assert_eq(j.count[k], 0);
    cr_assert_str_eq(tokens("\xef\xbb\xbf[]", &j), "[]");
    cr_assert_str_eq(tokens("", &j), "");
}

Test(json_pull, quotes_inside_a_text_belong_to_it) {
    assert_repaired("{\"name\": \"quote \" x\", \"ph\": \"X\"}", "{kname \"quote \" x kph \"X }",
                    TBP_JSON_RAW_QUOTE, 1, 16);
    assert_repaired("{\"name\": \"d: {\"device\": \"cpu\"}\", \"ts\": 1}",
                    "{kname \"d: {\"device\": \"cpu\"} kts #1 }", TBP_JSON_RAW_QUOTE, 4, 14);
}

Test(json_pull, control_bytes_and_backslashes_stay) {
    assert_repaired("[\"a\nb\tc\"]", "[\"a\nb\tc ]", TBP_JSON_CONTROL, 2, 3);
    struct tbp_json_pull j;
    char out[64];
    tokens("[]", &j);
    size_t n = tbp_json_decode(&j, TBP_STR("C:\\new\\xa\\u12"), out);
    cr_assert(tbp_str_eq((struct tbp_str){out, n}, TBP_STR("C:\new\\xa\\u12")));
    cr_assert_eq(j.count[TBP_JSON_BACKSLASH], 2);
}

Test(json_pull, texts_become_valid_utf8) {
    struct tbp_json_pull j;
    char out[64];
    tokens("[]", &j);
    size_t n = tbp_json_decode(&j, TBP_STR("\\ud83d\\ude00\\ud800x\xc0\x80"), out);
    cr_assert(tbp_str_eq((struct tbp_str){out, n},
                         TBP_STR("\xf0\x9f\x98\x80\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd")));
    cr_assert_eq(j.count[TBP_JSON_UTF8], 3);
}

Test(json_pull, bare_words_are_null) {
    assert_repaired("{\"a\": inf, \"b\": N/A, \"c\": , \"d\": -inf}", "{ka 0kb 0kc 0kd 0}",
                    TBP_JSON_BARE_WORD, 4, 6);
}

Test(json_pull, commas_may_be_too_many_or_missing) {
    assert_repaired("[,1,,2 3,]", "[#1 #2 #3 ]", TBP_JSON_COMMA, 3, 1);
    assert_repaired(",{\"a\":1},", "{ka #1 }", TBP_JSON_COMMA, 1, 0);
}

Test(json_pull, keys_may_lack_quotes) {
    assert_repaired("{\"pid\": 1, tid\": 0, x: 2}", "{kpid #1 ktid #0 kx #2 }", TBP_JSON_KEY_QUOTE,
                    2, 11);
}

Test(json_pull, what_is_cut_is_closed) {
    assert_repaired("[{\"a\": \"xy", "[{ka \"xy }]", TBP_JSON_CUT, 1, 7);
    assert_repaired("{\"a\": [1, 2", "{ka [#1 #2 ]}", TBP_JSON_CUT, 1, 11);
    assert_repaired("[1, 2,", "[#1 #2 ]", TBP_JSON_OPEN, 1, 6);
    assert_repaired("{\"a\": [1}", "{ka [#1 ]}", TBP_JSON_BRACKET, 1, 8);
}

Test(json_pull, several_documents_follow_each_other) {
    assert_repaired("[1] [2]{}", "[#1 ][#2 ]{}", TBP_JSON_SECOND, 2, 4);
}

Test(json_pull, depth_is_bounded_without_recursion) {
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP + 8);
    memset(text, '[', DEEP);
    memset(text + DEEP, ']', DEEP);
    struct tbp_json_pull j;
    tbp_json_pull_init(&j, text, 2 * DEEP);
    unsigned n = 0;
    while (tbp_json_pull_next(&j) != TBP_JSON_END)
        n++;
    cr_assert_eq(n, 2 * TBP_JSON_MAX_DEPTH + 1);
    cr_assert_eq(j.count[TBP_JSON_DEPTH], 1);
    free(text);
}

static void assert_nanos(const char *micros, int64_t ns, unsigned ps) {
    int64_t whole;
    unsigned rest;
    cr_assert(tbp_json_decimal(tbp_str_c(micros), 3, &whole, &rest), "%s", micros);
    cr_assert_eq(whole, ns, "%s: %lld", micros, (long long)whole);
    cr_assert_eq(rest, ps, "%s: %u", micros, rest);
}

Test(json_pull, decimals_are_exact) {
    assert_nanos("1724.5", 1724500, 0);
    assert_nanos("6912345678901.001", 6912345678901001, 0);
    assert_nanos("0.0005", 0, 500);
    assert_nanos("1e3", 1000000, 0);
    assert_nanos("1.5E-6", 0, 2); /* half to even */
    assert_nanos("2.5E-6", 0, 2);
    assert_nanos("-0.001", -1, 0);
    assert_nanos("-0.0015", -2, 500);
    assert_nanos("00012", 12000, 0);
    assert_nanos("1.", 1000, 0);
    assert_nanos(".5", 500, 0);
    assert_nanos("1623142623531625", 1623142623531625000, 0);
    int64_t whole;
    unsigned rest;
    cr_assert_not(tbp_json_decimal(TBP_STR("1e300"), 3, &whole, &rest));
    cr_assert_not(tbp_json_decimal(TBP_STR("12x"), 3, &whole, &rest));
    cr_assert_not(tbp_json_decimal(TBP_STR(""), 3, &whole, &rest));
}

Test(json_pull, ids_keep_64_bits) {
    int64_t id;
    cr_assert(tbp_json_id(TBP_STR("10159970886766084423"), &id));
    cr_assert_eq((uint64_t)id, 10159970886766084423u);
    cr_assert(tbp_json_id(TBP_STR("-5"), &id));
    cr_assert_eq(id, -5);
    cr_assert(tbp_json_id(TBP_STR("7.0"), &id));
    cr_assert_eq(id, 7);
    cr_assert_not(tbp_json_id(TBP_STR("7.5"), &id));
}

/* Passing over a list is the same as reading it token by token, also where a list is damaged. */
Test(json_pull, lists_are_passed_over_as_they_are_read) {
    static const char *const texts[] = {
        "[]",
        "[1, 22,3]",
        "[[5, 3], [], [\"a\", \"b]\"]]",
        "[\"float\" , \"\"]",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[\"a\" \"b\"]",
        "[[1}, 2]",
        "[\"q\"uo\"]",
        "[\"a\"]f \"b\", 2]",
        "[\"a\\\"]\"]",
        "[\"a\tb\"",
        "[nan, -1.5]",
        "[{\"a\": [1]}, 2]",
        "[1,[2",
        "[[]1]",
        "[\"\xc3\xa4\"]",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tbp_json_pull skipped, read;
        char text[64];
        snprintf(text, sizeof text, "{\"k\": %s, \"z\": 1}", texts[i]);
        tbp_json_pull_init(&skipped, text, strlen(text));
        tbp_json_pull_init(&read, text, strlen(text));
        for (int k = 0; k < 2; k++) {
            tbp_json_pull_next(&skipped);
            tbp_json_pull_next(&read);
        }
        tbp_json_pull_skip(&skipped, TBP_JSON_KEY);
        tbp_json_pull_next(&read);
        while (read.depth > 1 && tbp_json_pull_next(&read) != TBP_JSON_END)
            ;
        cr_assert_eq(skipped.at, read.at, "%s", text);
        cr_assert_eq(skipped.depth, read.depth, "%s", text);
        cr_assert_arr_eq(skipped.count, read.count, sizeof read.count, "%s", text);
        cr_assert_eq(tbp_json_pull_next(&skipped), tbp_json_pull_next(&read), "%s", text);
    }
}

Test(json_pull, lists_deeper_than_the_limit_are_counted) {
    char text[2 * TBP_JSON_MAX_DEPTH + 3];
    for (unsigned depth = TBP_JSON_MAX_DEPTH; depth <= TBP_JSON_MAX_DEPTH + 1; depth++) {
        struct tbp_json_pull j;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        tbp_json_pull_init(&j, text, 2 * depth);
        tbp_json_pull_skip(&j, tbp_json_pull_next(&j));
        cr_assert_eq(j.at, j.end);
        cr_assert_eq(j.count[TBP_JSON_DEPTH], depth > TBP_JSON_MAX_DEPTH);
    }
}

/* Bytes are looked at many at a time: their number, and where the input ends, makes no difference.
 */
Test(json_pull, blanks_words_and_texts_of_all_lengths) {
    static const char *const blanks[] = {" ", "\n", "\t", "\r"};
    for (size_t n = 1; n < 40; n++) {
        char text[256], word[48], blank[48] = "";
        for (size_t i = 0; i < n; i++) {
            word[i] = "1234567890.5e+7-"[i % 16];
            strcat(blank, blanks[i % 4]);
        }
        word[n] = 0;
        /* on the heap without a byte behind it, so that a sanitizer sees what is read beyond */
        size_t size = (size_t)snprintf(text, sizeof text, "[%s%s%s,%s\"%s\"%s]", blank, word, blank,
                                       blank, word, blank);
        char *exact = malloc(size), wanted[160];
        memcpy(exact, text, size);
        struct tbp_json_pull j;
        tbp_json_pull_init(&j, exact, size);
        snprintf(wanted, sizeof wanted, "%s", word);
        cr_assert_eq(tbp_json_pull_next(&j), TBP_JSON_ARRAY);
        cr_assert_eq(tbp_json_pull_next(&j), TBP_JSON_NUMBER);
        cr_assert(tbp_str_is(j.text, wanted), "%.*s is not %s", (int)j.text.n, j.text.p, wanted);
        cr_assert_eq(j.offset, 1 + n);
        cr_assert_eq(tbp_json_pull_next(&j), TBP_JSON_STRING);
        cr_assert(tbp_str_is(j.text, wanted), "%.*s is not %s", (int)j.text.n, j.text.p, wanted);
        cr_assert_eq(tbp_json_pull_next(&j), TBP_JSON_ARRAY_END);
        cr_assert_eq(tbp_json_pull_next(&j), TBP_JSON_END);
        for (int k = 0; k < TBP_JSON_REPAIRS; k++)
            cr_assert_eq(j.count[k], 0);
        free(exact);
    }
}

/* A short way for plain numbers gives what the long one gives, which an exponent takes. */
static void assert_plain_as_exact(const char *text) {
    char with_exponent[64];
    snprintf(with_exponent, sizeof with_exponent, "%se0", text);
    int64_t a = -1, b = -1;
    unsigned a_rest = 0, b_rest = 0;
    bool is_a = tbp_json_decimal(tbp_str_c(text), 3, &a, &a_rest);
    bool is_b = tbp_json_decimal(tbp_str_c(with_exponent), 3, &b, &b_rest);
    cr_assert_eq(is_a, is_b, "%s", text);
    cr_assert(!is_a || (a == b && a_rest == b_rest), "%s: %lld %u, %lld %u", text, (long long)a,
              a_rest, (long long)b, b_rest);
}

Test(json_pull, plain_decimals_are_those_with_an_exponent) {
    static const char digits[] = "92233720368547758079922337203685477580";
    enum { MOST_WHOLE = 21, MOST_FRACTION = 5, STARTS = 8 };
    for (int i = 0; i <= MOST_WHOLE * MOST_FRACTION * STARTS; i++) {
        char text[64];
        int whole = i % MOST_WHOLE, fraction = i / MOST_WHOLE % MOST_FRACTION;
        const char *from = digits + i / MOST_WHOLE / MOST_FRACTION;
        snprintf(text, sizeof text, "%.*s", whole, from);
        assert_plain_as_exact(text);
        snprintf(text, sizeof text, "%.*s.%.*s", whole, from, fraction, digits + 3);
        assert_plain_as_exact(text);
    }
    int64_t ns;
    unsigned ps;
    static const char *const none[] = {"1234567a", "123456789012345/", "12345678:1", "+", "1.2.3"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_assert_not(tbp_json_decimal(tbp_str_c(none[i]), 3, &ns, &ps), "%s", none[i]);
    cr_assert(tbp_json_decimal(TBP_STR("1712195495509632.441"), 3, &ns, &ps));
    cr_assert_eq(ns, 1712195495509632441);
}
