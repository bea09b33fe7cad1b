/* SPDX-License-Identifier: Apache-2.0
 *
 * Views of text: comparison, search, numbers, UTF-8; see str.h.
 */
#include "base/str.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool equal_nocase(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

bool tbp_str_starts(struct tbp_str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.n >= n && memcmp(s.p, prefix, n) == 0;
}

bool tbp_str_starts_nocase(struct tbp_str s, const char *prefix) {
    size_t n = strlen(prefix);
    return s.n >= n && equal_nocase(s.p, prefix, n);
}

bool tbp_str_ends(struct tbp_str s, const char *suffix) {
    size_t n = strlen(suffix);
    return s.n >= n && memcmp(s.p + s.n - n, suffix, n) == 0;
}

bool tbp_str_has(struct tbp_str s, const char *part) {
    size_t n = strlen(part);
    return n == 0 ||
           (s.n >= n && memmem(s.p, s.n, part, n) != NULL); /* s.p may be NULL if s.n is 0 */
}

bool tbp_str_has_nocase(struct tbp_str s, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= s.n; i++)
        if (equal_nocase(s.p + i, part, n))
            return true;
    return false;
}

int tbp_str_cmp(struct tbp_str a, struct tbp_str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    return c ? c : (a.n > b.n) - (a.n < b.n);
}

size_t tbp_str_find(struct tbp_str s, char c) {
    const char *p = s.n ? memchr(s.p, c, s.n) : NULL;
    return p ? (size_t)(p - s.p) : s.n;
}

size_t tbp_str_rfind(struct tbp_str s, char c) {
    const char *p = s.n ? memrchr(s.p, c, s.n) : NULL;
    return p ? (size_t)(p - s.p) : s.n;
}

static inline uint32_t load_le32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

/* 1 … 8 bytes, the first one lowest. */
static inline uint64_t load_few(const char *p, size_t n) {
    const uint8_t *u = (const uint8_t *)p;
    if (n >= 4) /* two halves, which may overlap */
        return load_le32(u) | (uint64_t)load_le32(u + n - 4) << 8 * (n - 4);
    return (uint64_t)u[0] | (uint64_t)u[n / 2] << 8 * (n / 2) | (uint64_t)u[n - 1] << 8 * (n - 1);
}

uint64_t tbp_str_hash(struct tbp_str s) {
    uint64_t h = 0x9e3779b97f4a7c15u ^ s.n;
    for (size_t k; s.n; s.p += k, s.n -= k) {
        k = s.n < 8 ? s.n : 8;
        h = (h ^ load_few(s.p, k)) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h;
}

bool tbp_str_to_u64(struct tbp_str s, uint64_t *out) {
    if (s.n == 0)
        return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *out = v;
    return true;
}

bool tbp_str_to_i64(struct tbp_str s, int64_t *out) {
    bool minus = s.n && s.p[0] == '-';
    uint64_t v;
    if (!tbp_str_to_u64(tbp_str_sub(s, minus, s.n), &v) || v > (uint64_t)INT64_MAX + minus)
        return false;
    *out = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool tbp_str_to_double(struct tbp_str s, double *out) {
    char buf[512];
    if (s.n == 0 || s.n >= sizeof buf)
        return false;
    memcpy(buf, s.p, s.n);
    buf[s.n] = 0;
    pthread_once(&c_locale_once, make_c_locale);
    char *end;
    double v = c_locale ? strtod_l(buf, &end, c_locale) : strtod(buf, &end);
    if (end != buf + s.n)
        return false;
    *out = v;
    return true;
}

bool tbp_str_to_ps(struct tbp_str s, int64_t *ps) {
    static const struct {
        const char *unit;
        double ps;
    } units[] = {{"ns", 1e3}, {"us", 1e6}, {"ms", 1e9}, {"min", 6e13}, {"s", 1e12}};
    const double most_ps = 1e18;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double value;
        if (!tbp_str_ends(s, units[i].unit))
            continue;
        struct tbp_str number = tbp_str_sub(s, 0, s.n - strlen(units[i].unit));
        while (number.n && number.p[number.n - 1] == ' ')
            number.n--;
        if (!tbp_str_to_double(number, &value) || !(fabs(value * units[i].ps) <= most_ps))
            return false;
        *ps = (int64_t)llround(value * units[i].ps);
        return true;
    }
    return false;
}

/* Length of the valid sequence at p (n bytes left), 0 if it is none. */
static size_t utf8_sequence(const unsigned char *p, size_t n) {
    unsigned c = p[0];
    if (c < 0xc2 || c > 0xf4)
        return 0;
    size_t len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (n < len)
        return 0;
    unsigned lo = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    unsigned hi = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

size_t tbp_utf8_valid_prefix(struct tbp_str s) {
    size_t i = 0;
    while (i < s.n) {
        uint64_t word;
        if (i + 8 <= s.n && (memcpy(&word, s.p + i, 8), (word & 0x8080808080808080u) == 0)) {
            i += 8;
            continue;
        }
        if ((unsigned char)s.p[i] < 0x80) {
            i++;
            continue;
        }
        size_t len = utf8_sequence((const unsigned char *)s.p + i, s.n - i);
        if (!len)
            return i;
        i += len;
    }
    return s.n;
}
