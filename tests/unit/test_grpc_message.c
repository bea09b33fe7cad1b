/* SPDX-License-Identifier: Apache-2.0
 *
 * gRPC's framing: prefixes, compression, deadlines, texts in headers.
 */
#include "capture/grpc_message.h"

#include <criterion/criterion.h>
#include <zlib.h>

static struct tbp_arena arena;

static void setup(void) {
    tbp_arena_init(&arena);
}

static void teardown(void) {
    tbp_arena_release(&arena);
}

TestSuite(grpc_message, .init = setup, .fini = teardown);

static int message(struct tbp_str *out, const void *body, size_t n, enum tbp_grpc_encoding how) {
    return tbp_grpc_message(out, &arena, (struct tbp_str){body, n}, how, 100000, NULL);
}

Test(grpc_message, takes_exactly_one_message) {
    struct tbp_str m;
    cr_assert_eq(message(&m, "\0\0\0\0\3abc", 8, TBP_GRPC_IDENTITY), TBP_OK);
    cr_assert(tbp_str_is(m, "abc"));
    cr_assert_eq(message(&m, "\0\0\0\0\0", 5, TBP_GRPC_IDENTITY), TBP_OK);
    cr_assert_eq(m.n, 0);
    cr_assert_eq(message(&m, "\0\0\0\0", 4, TBP_GRPC_IDENTITY), TBP_E_FORMAT);
    cr_assert_eq(message(&m, "\0\0\0\0\4abc", 8, TBP_GRPC_IDENTITY), TBP_E_FORMAT);
    cr_assert_eq(message(&m, "\0\0\0\0\2abc", 8, TBP_GRPC_IDENTITY), TBP_E_FORMAT);
    cr_assert_eq(message(&m,
                         "\0\xff\xff\xff\xff"
                         "abc",
                         8, TBP_GRPC_IDENTITY),
                 TBP_E_FORMAT);
    cr_assert_eq(message(&m, "\2\0\0\0\3abc", 8, TBP_GRPC_IDENTITY), TBP_E_FORMAT);
    cr_assert_eq(message(&m, "\1\0\0\0\3abc", 8, TBP_GRPC_IDENTITY), TBP_E_UNSUPPORTED);
}

/* Prefix with the compressed flag, then n zeros compressed. */
static size_t compressed(uint8_t *to, size_t size, size_t n, int window) {
    z_stream z = {0};
    uint8_t *zeros = calloc(1, n);
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = zeros;
    z.avail_in = (uInt)n;
    z.next_out = to + TBP_GRPC_PREFIX;
    z.avail_out = (uInt)(size - TBP_GRPC_PREFIX);
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    tbp_grpc_prefix(to, (uint32_t)z.total_out);
    to[0] = 1;
    size_t total = z.total_out + TBP_GRPC_PREFIX;
    deflateEnd(&z);
    free(zeros);
    return total;
}

Test(grpc_message, undoes_gzip_and_deflate_but_no_bombs) {
    static uint8_t body[1 << 20];
    struct tbp_str m;
    size_t n = compressed(body, sizeof body, 90000, 31);
    cr_assert_eq(message(&m, body, n, TBP_GRPC_GZIP), TBP_OK);
    cr_assert_eq(m.n, 90000);
    n = compressed(body, sizeof body, 90000, 15);
    cr_assert_eq(message(&m, body, n, TBP_GRPC_DEFLATE), TBP_OK);
    cr_assert_eq(message(&m, body, n, TBP_GRPC_OTHER), TBP_E_UNSUPPORTED);
    n = compressed(body, sizeof body, 100 << 20, 31);
    cr_assert_eq(message(&m, body, n, TBP_GRPC_GZIP), TBP_E_LIMIT);
    cr_assert_lt(arena.reserved_bytes, 2000000);
    n = compressed(body, sizeof body, 9000, 31);
    body[20] ^= 0xff;
    cr_assert_neq(message(&m, body, n, TBP_GRPC_GZIP), TBP_OK);
}

Test(grpc_message, deadlines_have_six_units) {
    int64_t ns;
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("1M"), &ns) && ns == 60000000000);
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("5S"), &ns) && ns == 5000000000);
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("250m"), &ns) && ns == 250000000);
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("7u"), &ns) && ns == 7000);
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("9n"), &ns) && ns == 9);
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("2H"), &ns) && ns == 7200000000000);
    cr_assert(tbp_grpc_timeout_parse(TBP_STR("99999999H"), &ns) && ns == INT64_MAX);
    cr_assert_not(tbp_grpc_timeout_parse(TBP_STR("123456789S"), &ns));
    cr_assert_not(tbp_grpc_timeout_parse(TBP_STR("5"), &ns));
    cr_assert_not(tbp_grpc_timeout_parse(TBP_STR("-5S"), &ns));
    cr_assert_not(tbp_grpc_timeout_parse(TBP_STR("5d"), &ns));
}

Test(grpc_message, texts_survive_the_way_there_and_back) {
    char encoded[TBP_GRPC_ENCODED_TEXT], back[64];
    size_t n = tbp_grpc_text_encode(encoded, TBP_STR("50% of \xc3\xa9"));
    cr_assert(tbp_str_is((struct tbp_str){encoded, n}, "50%25 of %C3%A9"));
    tbp_grpc_text_decode(back, sizeof back, (struct tbp_str){encoded, n});
    cr_assert_str_eq(back, "50% of \xc3\xa9");
    tbp_grpc_text_decode(back, sizeof back, TBP_STR("a%0Ab%1b[31m%zz%4"));
    cr_assert_str_eq(back, "a?b?[31m%zz%4");
    tbp_grpc_text_decode(back, 4, TBP_STR("abcdef"));
    cr_assert_str_eq(back, "abc");
}
