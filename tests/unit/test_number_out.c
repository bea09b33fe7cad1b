/* SPDX-License-Identifier: Apache-2.0
 *
 * Number texts: a table made with Python (its % operator, repr, and the reference's Grisu2), then
 * the defining properties on pseudo-random values, with the C library as the second opinion.
 */
#include "plugin_data/number_out.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expectation {
    uint64_t bits;
    const char *gviz, *proto, *g17, *repr;
};

static const struct expectation table[] = {
    {0x0000000000000000, "0.0", "0", "0", "0.0"},
    {0x8000000000000000, "-0.0", "-0", "-0", "-0.0"},
    {0x3ff0000000000000, "1.0", "1", "1", "1.0"},
    {0xbff0000000000000, "-1.0", "-1", "-1", "-1.0"},
    {0x3fb999999999999a, "0.1", "0.1", "0.10000000000000001", "0.1"},
    {0x3fe0000000000000, "0.5", "0.5", "0.5", "0.5"},
    {0x3fd5555555555555, "0.3333333333333333", "0.33333333333333331", "0.33333333333333331",
     "0.3333333333333333"},
    {0x3fe5555555555555, "0.6666666666666666", "0.66666666666666663", "0.66666666666666663",
     "0.6666666666666666"},
    {0x4059000000000000, "100.0", "100", "100", "100.0"},
    {0x40fe240c9fbe76c9, "123456.789", "123456.789", "123456.789", "123456.789"},
    {0x3f1a36e2eb1c432d, "0.0001", "0.0001", "0.0001", "0.0001"},
    {0x3f1a36e2eb1c432c, "9.999999999999999e-05", "9.9999999999999991e-05",
     "9.9999999999999991e-05", "9.999999999999999e-05"},
    {0x3f192a737110e454, "9.6e-05", "9.6e-05", "9.6000000000000002e-05", "9.6e-05"},
    {0x3ee4f8b588e368f1, "1e-05", "1e-05", "1.0000000000000001e-05", "1e-05"},
    {0x3eb0c6f7a0b5ed8d, "1e-06", "1e-06", "9.9999999999999995e-07", "1e-06"},
    {0x3eb0c6f7a0b5ed8e, "1.0000000000000002e-06", "1.0000000000000002e-06",
     "1.0000000000000002e-06", "1.0000000000000002e-06"},
    {0x3e7ad7f29abcaf48, "1e-07", "1e-07", "9.9999999999999995e-08", "1e-07"},
    {0x0000000000000001, "5e-324", "4.94065645841247e-324", "4.9406564584124654e-324", "5e-324"},
    {0x0010000000000000, "2.2250738585072014e-308", "2.2250738585072014e-308",
     "2.2250738585072014e-308", "2.2250738585072014e-308"},
    {0x7fefffffffffffff, "1.7976931348623157e+308", "1.7976931348623157e+308",
     "1.7976931348623157e+308", "1.7976931348623157e+308"},
    {0x430c6bf52633fff8, "999999999999999.0", "999999999999999", "999999999999999",
     "999999999999999.0"},
    {0x430c6bf526340000, "1e+15", "1e+15", "1000000000000000", "1000000000000000.0"},
    {0x430c6bf52633ffff, "999999999999999.9", "999999999999999.88", "999999999999999.88",
     "999999999999999.9"},
    {0x437b69b4ba630f35, "1.2345678901234568e+17", "1.2345678901234568e+17",
     "1.2345678901234568e+17", "1.2345678901234568e+17"},
    {0x4341c37937e08000, "1e+16", "1e+16", "10000000000000000", "1e+16"},
    {0x4340000000000000, "9.007199254740992e+15", "9007199254740992", "9007199254740992",
     "9007199254740992.0"},
    {0x4376345785d8a000, "1e+17", "1e+17", "1e+17", "1e+17"},
    {0x4480f0cf064dd592, "1e+22", "1e+22", "1e+22", "1e+22"},
    {0x3e70000000000000, "5.960464477539063e-08", "5.9604644775390625e-08",
     "5.9604644775390625e-08", "5.960464477539063e-08"},
    {0x3d30000000000000, "5.684341886080802e-14", "5.6843418860808015e-14",
     "5.6843418860808015e-14", "5.684341886080802e-14"},
    {0x43b0000000000000, "1.152921504606847e+18", "1.152921504606847e+18", "1.152921504606847e+18",
     "1.152921504606847e+18"},
    {0x3ed8f1fc34df3d83, "5.9474121609359876e-06", "5.9474121609359876e-06",
     "5.9474121609359876e-06", "5.947412160935988e-06"},
    {0x3ffcfa8b4bf8fcd6, "1.8111679999999999", "1.811168", "1.8111679999999999", "1.811168"},
    {0x420467be13800000, "10954982000.0", "10954982000", "10954982000", "10954982000.0"},
    {0x3fd3333333333334, "0.30000000000000004", "0.30000000000000004", "0.30000000000000004",
     "0.30000000000000004"},
    {0x4330000000000002, "4.503599627370498e+15", "4503599627370498", "4503599627370498",
     "4503599627370498.0"},
    {0x7ff0000000000000, "null", "\"Infinity\"", "inf", "inf"},
    {0xfff0000000000000, "null", "\"-Infinity\"", "-inf", "-inf"},
    {0x7ff8000000000000, "null", "\"NaN\"", "nan", "nan"},
    {0x40c5ccc0e5f41a60, "11161.507017624739", "11161.507017624739", "11161.507017624739",
     "11161.50701762474"},
    {0x40e03928fcec964e, "33225.280874532284", "33225.280874532284", "33225.280874532284",
     "33225.28087453228"},
    {0x3ed867bb758b9f2f, "5.8186540960803896e-06", "5.81865409608039e-06", "5.8186540960803896e-06",
     "5.81865409608039e-06"},
    {0x3fde5b4576a8df0a, "0.47432076061112183", "0.47432076061112183", "0.47432076061112183",
     "0.4743207606111218"},
    {0x40a37970e5a554b0, "2492.7205020585898", "2492.72050205859", "2492.7205020585898",
     "2492.72050205859"},
    {0x41181a0daf5da2a9, "394883.42125562817", "394883.42125562817", "394883.42125562817",
     "394883.4212556282"},
    {0x40a9838024b0ebaa, "3265.7502799308468", "3265.7502799308468", "3265.7502799308468",
     "3265.750279930847"},
    {0x40111d7237339086, "4.2787560105535984", "4.2787560105535984", "4.2787560105535984",
     "4.278756010553598"},
};

static double of_bits(uint64_t bits) {
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void expect(size_t (*fn)(char *, double), double v, const char *want) {
    char text[TBP_NUMBER_MAX + 1];
    size_t n = fn(text, v);
    cr_assert_leq(n, TBP_NUMBER_MAX);
    text[n] = '\0';
    cr_assert_str_eq(text, want);
}

Test(number_out, doubles_are_as_python_prints_them) {
    for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
        double v = of_bits(table[i].bits);
        expect(tbp_number_gviz, v, table[i].gviz);
        expect(tbp_number_proto, v, table[i].proto);
        expect(tbp_number_g17, v, table[i].g17);
        expect(tbp_number_repr, v, table[i].repr);
    }
}

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

/* Any bits; times in microseconds; fractions; powers of two and of ten and their neighbours. */
static double random_value(uint64_t *x, unsigned i) {
    uint64_t r = next_random(x);
    switch (i % 6) {
    case 0: {
        double v = of_bits(r);
        return isfinite(v) ? v : 1.5;
    }
    case 1:
        return (double)(r >> r % 60) / 1e6;
    case 2:
        return (double)(r % 1000) / (double)(r / 1000 % 1000 + 1);
    case 3:
        return ldexp(1, (int)(r % 200) - 100);
    case 4:
        return nextafter(pow(10, (int)(r % 40) - 20), r & 1 << 20 ? 0 : INFINITY);
    default:
        return (double)r * 1e-3;
    }
}

enum { TRIES = 60000 };

Test(number_out, exact_texts_equal_printf) {
    uint64_t x = 88172645463325252u;
    for (unsigned i = 0; i < TRIES; ++i) {
        double v = random_value(&x, i);
        char want[400], text[TBP_NUMBER_MAX + 1];
        snprintf(want, sizeof want, "%.17g", v);
        expect(tbp_number_g17, v, want);
        snprintf(want, sizeof want, "%g", v);
        expect(tbp_number_g, v, want);
        snprintf(want, sizeof want, "%.15g", v);
        if (strtod(want, NULL) != v)
            snprintf(want, sizeof want, "%.17g", v);
        expect(tbp_number_proto, v, want);
        int digits = (int)(x >> 20 & 0xff) % 7;
        snprintf(want, sizeof want, "%.*f", fabs(v) < 1e20 ? digits : 0, v);
        if (fabs(v) >= 1e20)
            snprintf(want, sizeof want, "%.17g", v);
        text[tbp_number_fixed(text, v, digits)] = '\0';
        cr_assert_str_eq(text, want);
    }
}

/* Significant digits of a text. */
static int count_digits(const char *text) {
    int n = 0, zeros = 0;
    for (; *text && *text != 'e'; ++text) {
        if (*text < '0' || *text > '9' || (*text == '0' && n == 0))
            continue;
        ++n;
        zeros = *text == '0' ? zeros + 1 : 0;
    }
    return n - zeros;
}

Test(number_out, repr_reads_back_and_no_shorter_text_does) {
    uint64_t x = 362436069u;
    for (unsigned i = 0; i < TRIES; ++i) {
        double v = random_value(&x, i);
        char text[TBP_NUMBER_MAX + 1], shorter[64];
        text[tbp_number_repr(text, v)] = '\0';
        cr_assert_eq(strtod(text, NULL), v);
        int n = count_digits(text);
        if (n > 1) {
            snprintf(shorter, sizeof shorter, "%.*e", n - 2, v);
            cr_assert_neq(strtod(shorter, NULL), v);
        }
    }
}

Test(number_out, table_numbers_read_back) {
    uint64_t x = 521288629u;
    for (unsigned i = 0; i < TRIES; ++i) {
        double v = random_value(&x, i);
        char text[TBP_NUMBER_MAX + 1];
        text[tbp_number_gviz(text, v)] = '\0';
        cr_assert_eq(strtod(text, NULL), v);
    }
}

Test(number_out, microseconds_equal_the_general_texts) {
    uint64_t x = 5783321u;
    for (unsigned i = 0; i < TRIES; ++i) {
        uint64_t ps = next_random(&x) >> i % 64;
        char want[TBP_NUMBER_MAX + 1], text[TBP_NUMBER_MAX + 1];
        snprintf(want, sizeof want, "%.17g", (double)ps / 1e6);
        text[tbp_number_us_g17(text, ps)] = '\0';
        cr_assert_str_eq(text, want);
        want[tbp_number_repr(want, (double)ps / 1e6)] = '\0';
        text[tbp_number_us_repr(text, ps)] = '\0';
        cr_assert_str_eq(text, want);
    }
}

Test(number_out, integers_equal_printf) {
    static const int64_t edges[] = {0, 1, -1, 9, 10, 99, 100, INT64_MAX, INT64_MIN};
    char want[32], text[TBP_NUMBER_MAX + 1];
    uint64_t x = 1;
    for (unsigned i = 0; i < 10000; ++i) {
        int64_t v = i < 9 ? edges[i] : (int64_t)next_random(&x) >> i % 64;
        snprintf(want, sizeof want, "%lld", (long long)v);
        text[tbp_number_i64(text, v)] = '\0';
        cr_assert_str_eq(text, want);
        snprintf(want, sizeof want, "%llu", (unsigned long long)v);
        text[tbp_number_u64(text, (uint64_t)v)] = '\0';
        cr_assert_str_eq(text, want);
    }
}

Test(number_out, fixed_texts_keep_the_sign_of_what_is_no_number) {
    char text[TBP_NUMBER_MAX + 1];
    text[tbp_number_fixed(text, -NAN, 1)] = '\0';
    cr_assert_str_eq(text, "-nan");
    text[tbp_number_fixed(text, NAN, 1)] = '\0';
    cr_assert_str_eq(text, "nan");
    text[tbp_number_fixed(text, -0.04, 1)] = '\0';
    cr_assert_str_eq(text, "-0.0");
}
