/* SPDX-License-Identifier: Apache-2.0
 *
 * Number texts of every dialect. Doubles between 1e-6 and 1e17 (all times) go through exact 128-bit
 * integers: 17 correctly rounded digits, or the shortest that read back; the rest through printf.
 * Budget of a time: 40 ns (tests/bench/bench_output.c).
 */
#include "plugin_data/number_out.h"

#include "base/str.h"
#include "plugin_data/grisu2.h"

#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

typedef unsigned __int128 u128;

static const uint64_t powers_of_ten[] = {
    1ull,
    10ull,
    100ull,
    1000ull,
    10000ull,
    100000ull,
    1000000ull,
    10000000ull,
    100000000ull,
    1000000000ull,
    10000000000ull,
    100000000000ull,
    1000000000000ull,
    10000000000000ull,
    100000000000000ull,
    1000000000000000ull,
    10000000000000000ull,
    100000000000000000ull,
    1000000000000000000ull,
    10000000000000000000ull,
};

static const char pairs[] =
    "00010203040506070809101112131415161718192021222324252627282930313233343536"
    "37383940414243444546474849505152535455565758596061626364656667686970717273"
    "7475767778798081828384858687888990919293949596979899";

/* ---- integers ---- */

static unsigned decimal_width(uint64_t v) {
    unsigned n = 1;
    while (n < 20 && v >= powers_of_ten[n])
        ++n;
    return n;
}

/* Exactly n digits, leading zeros included. */
static void put_digits(char *to, uint64_t v, unsigned n) {
    while (n >= 2) {
        n -= 2;
        memcpy(to + n, pairs + 2 * (v % 100), 2);
        v /= 100;
    }
    if (n)
        to[0] = (char)('0' + v % 10);
}

size_t tbp_number_u64(char *to, uint64_t v) {
    unsigned n = decimal_width(v);
    put_digits(to, v, n);
    return n;
}

size_t tbp_number_i64(char *to, int64_t v) {
    if (v >= 0)
        return tbp_number_u64(to, (uint64_t)v);
    *to = '-';
    return 1 + tbp_number_u64(to + 1, -(uint64_t)v);
}

/* ---- layout of digits ---- */

/* Value 0.d1d2d3… * 10^point. Plain while -4 < point <= plain_max, else with an exponent of at
 * least two digits. `dot_zero` asks for ".0" behind plain integers. */
struct digits {
    char d[TBP_GRISU2_DIGITS];
    unsigned n;
    int point;
};

static size_t put_exponent(char *to, const struct digits *x) {
    char *p = to;
    *p++ = x->d[0];
    if (x->n > 1) {
        *p++ = '.';
        memcpy(p, x->d + 1, x->n - 1);
        p += x->n - 1;
    }
    int e = x->point - 1;
    *p++ = 'e';
    *p++ = e < 0 ? '-' : '+';
    unsigned abs_e = (unsigned)(e < 0 ? -e : e), width = abs_e >= 100 ? 3 : 2;
    put_digits(p, abs_e, width);
    return (size_t)(p - to) + width;
}

static size_t put_layout(char *to, const struct digits *x, int plain_max, bool dot_zero) {
    if (x->point <= -4 || x->point > plain_max)
        return put_exponent(to, x);
    char *p = to;
    if (x->point <= 0) {
        memcpy(p, "0.000", 5);
        p += 2 - x->point;
        memcpy(p, x->d, x->n);
        return (size_t)(p - to) + x->n;
    }
    unsigned point = (unsigned)x->point;
    if (x->n > point) {
        memcpy(p, x->d, point);
        p[point] = '.';
        memcpy(p + point + 1, x->d + point, x->n - point);
        return x->n + 1;
    }
    memcpy(p, x->d, x->n);
    memset(p + x->n, '0', point - x->n);
    if (!dot_zero)
        return point;
    memcpy(p + point, ".0", 2);
    return point + 2;
}

/* ---- exact digits ---- */

/* 17 digits as an integer and what is below them: twice_value / 2^shift = value * 10^scale, in
 * halves of a unit so that boundaries between neighbouring doubles are integers too. */
struct exact {
    u128 twice;
    u128 half_gap; /* distance to the boundary above, in the same unit; below: half of it at powers
                      of two */
    unsigned shift;
    int point;
    bool even, power_of_two;
};

enum { EXACT_DIGITS = 17 };
static const double exact_min = 1e-6,
                    exact_max = 1e17; /* both exclusive; the double 1e-6 lies below 10^-6 */

/* floor(log10(v)) + 1 of exact_min < v < exact_max. The guess by logarithm of the binary exponent
 * is right or one too small. */
static int point_of(double v, int e2) {
    static const double bounds[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1,  1e2,
                                    1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9, 1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    int guess = (e2 * 78913 >> 18) + 1;
    int i = guess + 6; /* bounds[i] = 10^guess */
    return v >= bounds[i] ? guess + 1 : guess;
}

static struct exact exact_of(double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int e = (int)(bits >> 52) - 1075;
    uint64_t m = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
    struct exact x = {.even = !(m & 1), .power_of_two = m == (uint64_t)1 << 52};
    x.point = point_of(v, e + 52);
    int scale = EXACT_DIGITS - x.point; /* 0 … 22 */
    u128 ten = powers_of_ten[scale > 19 ? 19 : scale];
    if (scale > 19)
        ten *= powers_of_ten[scale - 19];
    x.half_gap = ten;
    x.twice = ten * m * 2; /* < 2^128 since 10^22 * 2^54 < 2^127.1 */
    if (e >= 0) {
        x.twice <<= e;
        x.half_gap <<= e;
        x.shift = 1;
    } else {
        x.shift = (unsigned)-e + 1;
    }
    return x;
}

static void set_digits(struct digits *to, uint64_t v, int point) {
    unsigned n = EXACT_DIGITS;
    if (v >= powers_of_ten[EXACT_DIGITS]) { /* rounded up to the next power of ten */
        v /= 10;
        ++point;
    }
    put_digits(to->d, v, n);
    while (n > 1 && to->d[n - 1] == '0')
        --n;
    to->n = n;
    to->point = point;
}

/* Rounds half to even, as printf does. */
static u128 rounded(u128 value, unsigned shift) {
    u128 whole = value >> shift, rest = value - (whole << shift), half = (u128)1 << (shift - 1);
    return whole + (rest > half || (rest == half && (whole & 1)));
}

static bool in_gap(const struct exact *x, u128 candidate) {
    bool below = candidate < x->twice;
    u128 distance = below ? x->twice - candidate : candidate - x->twice;
    u128 gap = below && x->power_of_two ? x->half_gap >> 1 : x->half_gap;
    return x->even ? distance <= gap : distance < gap;
}

/* The multiple of `step` nearest to the value that still reads back as it; false if there is none.
 */
static bool shortest_at(const struct exact *x, uint64_t step, uint64_t *out) {
    uint64_t low = (uint64_t)(x->twice >> x->shift) / step * step, high = low + step;
    u128 at_low = (u128)low << x->shift, at_high = (u128)high << x->shift;
    bool low_ok = in_gap(x, at_low), high_ok = in_gap(x, at_high);
    u128 from_low = x->twice - at_low, from_high = at_high - x->twice;
    bool low_first = from_low < from_high || (from_low == from_high && low / step % 2 == 0);
    *out = low_ok && (low_first || !high_ok) ? low : high;
    return low_ok || high_ok;
}

static bool is_exact_range(double v) {
    return v > exact_min && v < exact_max;
}

/* ---- texts through printf ---- */

int tbp_number_vprintf(char *to, size_t size, const char *fmt, va_list args) {
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t old = uselocale(c);
    int n = vsnprintf(to, size, fmt, args);
    uselocale(old);
    freelocale(c);
    return n;
}

__attribute__((format(printf, 2, 3))) static size_t put_printf(char *to, const char *fmt, ...) {
    char text[64];
    va_list args;
    va_start(args, fmt);
    int n = tbp_number_vprintf(text, sizeof text, fmt, args);
    va_end(args);
    memcpy(to, text, (size_t)n);
    return (size_t)n;
}

static bool reads_back(const char *text, size_t n, double v) {
    double back;
    return tbp_str_to_double((struct tbp_str){text, n}, &back) && back == v;
}

/* Splits the text of printf's %e. */
static void digits_of_e(struct digits *x, const char *text, size_t n) {
    x->n = 0;
    size_t i = 0;
    for (; i < n && text[i] != 'e'; ++i)
        if (text[i] != '.')
            x->d[x->n++] = text[i];
    while (x->n > 1 && x->d[x->n - 1] == '0')
        --x->n;
    int64_t e = 0;
    bool minus = i + 1 < n && text[i + 1] == '-';
    for (i += 2; i < n; ++i)
        e = e * 10 + (text[i] - '0');
    x->point = (int)(minus ? -e : e) + 1;
}

/* The gap below a power of two is half the gap above: the next decimal above may read back where
 * the nearest one, just below, does not. */
static bool next_reads_back(struct digits *x, double v) {
    uint64_t next = 1;
    for (unsigned i = 0; i < x->n; ++i)
        next += (uint64_t)(x->d[i] - '0') * powers_of_ten[x->n - 1 - i];
    char text[TBP_NUMBER_MAX];
    size_t n = put_printf(text, "%llue%d", (unsigned long long)next, x->point - (int)x->n);
    if (decimal_width(next) != x->n || !reads_back(text, n, v))
        return false;
    put_digits(x->d, next, x->n);
    return true;
}

/* Very small and very large values: the first precision that reads back. */
static void shortest_by_trial(struct digits *x, double v) {
    char text[TBP_NUMBER_MAX];
    for (int precision = 0; precision < EXACT_DIGITS; ++precision) {
        size_t n = put_printf(text, "%.*e", precision, v);
        digits_of_e(x, text, n);
        if (reads_back(text, n, v) || (x->n == (unsigned)precision + 1 && next_reads_back(x, v)))
            return;
    }
}

/* ---- doubles ---- */

static size_t put_sign(char *to, double *v) {
    if (!signbit(*v))
        return 0;
    *v = -*v;
    *to = '-';
    return 1;
}

size_t tbp_number_gviz(char *to, double v) {
    if (!isfinite(v)) {
        memcpy(to, "null", 4);
        return 4;
    }
    size_t n = put_sign(to, &v);
    if (v < 1e15 && v == (double)(uint64_t)v) { /* few digits: any shortest printer gives them */
        n += tbp_number_u64(to + n, (uint64_t)v);
        memcpy(to + n, ".0", 2);
        return n + 2;
    }
    struct digits x;
    int exp10;
    x.n = tbp_grisu2(v, x.d, &exp10);
    x.point = (int)x.n + exp10;
    return n + put_layout(to + n, &x, 15, true);
}

size_t tbp_number_proto(char *to, double v) {
    if (!isfinite(v)) {
        const char *text = isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
        memcpy(to, text, strlen(text));
        return strlen(text);
    }
    size_t n = put_sign(to, &v);
    if (v < 1e15 && v == (double)(uint64_t)v)
        return n + tbp_number_u64(to + n, (uint64_t)v);
    uint64_t short_digits;
    if (is_exact_range(v)) {
        struct exact e = exact_of(v);
        struct digits x;
        if (!shortest_at(&e, 100, &short_digits)) /* no 15 digits read back */
            return n + tbp_number_g17(to + n, v);
        set_digits(&x, short_digits, e.point);
        return n + put_layout(to + n, &x, 15, false);
    }
    size_t text = put_printf(to + n, "%.15g", v);
    return n + (reads_back(to + n, text, v) ? text : put_printf(to + n, "%.17g", v));
}

size_t tbp_number_g17(char *to, double v) {
    if (!is_exact_range(fabs(v)))
        return put_printf(to, "%.17g", v);
    size_t n = put_sign(to, &v);
    struct exact e = exact_of(v);
    struct digits x;
    set_digits(&x, (uint64_t)rounded(e.twice, e.shift), e.point);
    return n + put_layout(to + n, &x, EXACT_DIGITS, false);
}

size_t tbp_number_repr(char *to, double v) {
    if (!isfinite(v))
        return isnan(v) ? put_printf(to, "nan") : put_printf(to, "%s", v > 0 ? "inf" : "-inf");
    size_t n = put_sign(to, &v);
    struct digits x = {.d = "0", .n = 1, .point = 1};
    uint64_t found;
    if (is_exact_range(v)) {
        struct exact e = exact_of(v);
        if (!shortest_at(&e, 100, &found) && !shortest_at(&e, 10, &found))
            found = (uint64_t)rounded(e.twice, e.shift);
        set_digits(&x, found, e.point);
    } else if (v != 0) {
        shortest_by_trial(&x, v);
    }
    return n + put_layout(to + n, &x, 16, true);
}

size_t tbp_number_us_g17(char *to, uint64_t ps) {
    if (ps == 0) {
        *to = '0';
        return 1;
    }
    return tbp_number_g17(to, (double)ps / 1e6);
}

/* ps has at most 15 digits here, so that its own digits are the shortest which read back. */
size_t tbp_number_us_repr(char *to, uint64_t ps) {
    if (ps < 100 || ps >= powers_of_ten[15])
        return tbp_number_repr(to, (double)ps / 1e6);
    size_t n = tbp_number_u64(to, ps / 1000000);
    to[n++] = '.';
    put_digits(to + n, ps % 1000000, 6);
    size_t last = n + 5;
    while (last > n && to[last] == '0')
        --last;
    return last + 1;
}

size_t tbp_number_fixed(char *to, double v, int digits) {
    if (!(fabs(v) < 1e20) || digits < 0 || digits > 6)
        return put_printf(to, "%.17g", v);
    size_t n = put_sign(to, &v);
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(v, &e), 53);
    u128 scaled = (u128)m * powers_of_ten[digits];
    e -= 53;
    if (e >= 0)
        scaled <<= e;
    else
        scaled = e < -120 ? 0 : rounded(scaled, (unsigned)-e); /* m * 10^6 < 2^73 */
    uint64_t ten = powers_of_ten[digits];
    if (scaled / ten > UINT64_MAX)
        return n + put_printf(to + n, "%.*f", digits, v);
    n += tbp_number_u64(to + n, (uint64_t)(scaled / ten));
    if (digits == 0)
        return n;
    to[n++] = '.';
    put_digits(to + n, (uint64_t)(scaled % ten), (unsigned)digits);
    return n + (size_t)digits;
}

size_t tbp_number_g(char *to, double v) {
    return put_printf(to, "%g", v);
}
