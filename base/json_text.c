/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts and numbers of JSON tokens; see json_pull.h.
 */
#include "base/json_pull.h"

static void note(struct tbp_json_pull *j, enum tbp_json_repair what, const char *at) {
    if (j && j->count[what]++ == 0)
        j->first_offset[what] = (uint64_t)((const uint8_t *)at - j->start);
}

/* ---- text ---- */

static size_t put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 63));
        out[2] = (char)(0x80 | (c & 63));
        return 3;
    }
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 63));
    out[2] = (char)(0x80 | (c >> 6 & 63));
    out[3] = (char)(0x80 | (c & 63));
    return 4;
}

enum { REPLACEMENT = 0xfffd };

/* Four hexadecimal digits behind "\u", or -1. */
static int32_t hex4(struct tbp_str s, size_t at) {
    int32_t v = 0;
    if (at + 4 > s.n)
        return -1;
    for (size_t i = at; i < at + 4; i++) {
        char c = s.p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static bool is_high(int32_t c) {
    return c >= 0xd800 && c < 0xdc00;
}
static bool is_low(int32_t c) {
    return c >= 0xdc00 && c < 0xe000;
}

/* "\uXXXX" at s.p[at], maybe with its other half; 0 bytes taken if it is none. */
static size_t take_unicode(struct tbp_json_pull *j, struct tbp_str s, size_t at, char *out,
                           size_t *n) {
    int32_t c = hex4(s, at + 2);
    if (c < 0)
        return 0;
    if (is_high(c) && at + 8 <= s.n && s.p[at + 6] == '\\' && s.p[at + 7] == 'u' &&
        is_low(hex4(s, at + 8))) {
        int32_t low = hex4(s, at + 8);
        *n += put_utf8(out + *n,
                       0x10000u + ((uint32_t)(c - 0xd800) << 10) + (uint32_t)(low - 0xdc00));
        return 12;
    }
    if (is_high(c) || is_low(c)) {
        note(j, TBP_JSON_UTF8, s.p + at);
        c = REPLACEMENT;
    }
    *n += put_utf8(out + *n, (uint32_t)c);
    return 6;
}

/* A backslash at s.p[at]: bytes taken. */
static size_t take_escape(struct tbp_json_pull *j, struct tbp_str s, size_t at, char *out,
                          size_t *n) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = at + 1 < s.n ? s.p[at + 1] : 0;
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        out[(*n)++] = values[found - names];
        return 2;
    }
    size_t taken = c == 'u' ? take_unicode(j, s, at, out, n) : 0;
    if (taken)
        return taken;
    note(j, TBP_JSON_BACKSLASH, s.p + at);
    out[(*n)++] = '\\';
    return 1;
}

/* Length of the UTF-8 character at the start of s; 0 if it is none. */
static size_t character_length(struct tbp_str s) {
    uint8_t c = (uint8_t)s.p[0];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return n <= s.n && tbp_utf8_valid_prefix((struct tbp_str){s.p, n}) == n ? n : 0;
}

size_t tbp_json_decode(struct tbp_json_pull *j, struct tbp_str s, char *out) {
    size_t n = 0;
    for (size_t at = 0; at < s.n;) {
        if (s.p[at] == '\\') {
            at += take_escape(j, s, at, out, &n);
            continue;
        }
        size_t length = character_length((struct tbp_str){s.p + at, s.n - at});
        if (length == 0) {
            note(j, TBP_JSON_UTF8, s.p + at++);
            n += put_utf8(out + n, REPLACEMENT);
            continue;
        }
        memcpy(out + n, s.p + at, length);
        n += length;
        at += length;
    }
    return n;
}

/* ---- numbers ---- */

struct decimal {
    bool is_negative;
    struct tbp_str whole, fraction;
    int64_t exponent;
};

static struct tbp_str take_digits(struct tbp_str *s) {
    size_t n = 0;
    while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    struct tbp_str digits = {s->p, n};
    *s = (struct tbp_str){s->p + n, s->n - n};
    return digits;
}

static bool take_char(struct tbp_str *s, char a, char b) {
    if (s->n == 0 || (s->p[0] != a && s->p[0] != b))
        return false;
    *s = (struct tbp_str){s->p + 1, s->n - 1};
    return true;
}

static bool take_exponent(struct tbp_str *s, int64_t *exponent) {
    enum { LARGE = 100000000 };
    bool is_negative = take_char(s, '-', '-');
    if (!is_negative)
        take_char(s, '+', '+');
    struct tbp_str digits = take_digits(s);
    int64_t v = 0;
    for (size_t i = 0; i < digits.n; i++)
        v = v < LARGE ? v * 10 + (digits.p[i] - '0') : v;
    *exponent = is_negative ? -v : v;
    return digits.n > 0;
}

static bool split(struct tbp_str s, struct decimal *d) {
    *d = (struct decimal){.fraction = TBP_STR_NONE};
    d->is_negative = take_char(&s, '-', '-');
    if (!d->is_negative)
        take_char(&s, '+', '+');
    d->whole = take_digits(&s);
    if (take_char(&s, '.', '.'))
        d->fraction = take_digits(&s);
    if (d->whole.n + d->fraction.n == 0)
        return false;
    if (take_char(&s, 'e', 'E') && !take_exponent(&s, &d->exponent))
        return false;
    return s.n == 0;
}

static unsigned digit_at(const struct decimal *d, int64_t i) {
    if (i < 0 || i >= (int64_t)(d->whole.n + d->fraction.n))
        return 0;
    size_t k = (size_t)i;
    return (unsigned)((k < d->whole.n ? d->whole.p[k] : d->fraction.p[k - d->whole.n]) - '0');
}

/* Whether a digit other than 0 stands at i or behind. */
static bool has_rest(const struct decimal *d, int64_t i) {
    for (i = i < 0 ? 0 : i; i < (int64_t)(d->whole.n + d->fraction.n); i++)
        if (digit_at(d, i))
            return true;
    return false;
}

/* The digits before `point`, rounded half to even. */
static bool digits_before(const struct decimal *d, int64_t point, unsigned __int128 *out) {
    const unsigned __int128 limit = (unsigned __int128)1 << 80;
    unsigned __int128 v = 0;
    int64_t n_digits = (int64_t)(d->whole.n + d->fraction.n);
    for (int64_t i = 0; i < point; i++) {
        v = v * 10 + digit_at(d, i);
        if (v > limit)
            return false;
        if (v == 0 && i >= n_digits)
            break; /* zeros without end */
    }
    unsigned next = digit_at(d, point);
    if (next > 5 || (next == 5 && (has_rest(d, point + 1) || (v & 1))))
        v++;
    *out = v;
    return true;
}

static bool to_whole(unsigned __int128 v, bool is_negative, int64_t *whole, unsigned *thousandths) {
    unsigned rest = (unsigned)(v % 1000);
    v /= 1000;
    if (v > INT64_MAX - 1)
        return false;
    *whole = (int64_t)v;
    *thousandths = rest;
    if (is_negative && rest) {
        *whole = -*whole - 1;
        *thousandths = 1000 - rest;
    } else if (is_negative) {
        *whole = -*whole;
    }
    return true;
}

/* Eight digits at once: a tree of sums of neighbours, each step twice as many digits. */
static inline bool take_8_digits(const char *p, uint64_t *v) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint64_t ones = 0x0101010101010101u;
    uint64_t w;
    memcpy(&w, p, sizeof w);
    uint64_t digits = w ^ ones * '0'; /* 0 … 9 in each byte, else more */
    if (((digits + ones * (0x7f - 9)) | digits) & ones * 0x80)
        return false;
    digits = digits * 10 + (digits >> 8);
    digits = ((digits & 0x000000ff000000ffu) * (100 + (1000000ull << 32)) +
              (digits >> 16 & 0x000000ff000000ffu) * (1 + (10000ull << 32))) >>
             32;
    *v = *v * 100000000 + (uint32_t)digits;
    return true;
#else
    (void)p, (void)v;
    return false;
#endif
}

/* Digits, a dot and up to three digits more, as nearly all numbers are. */
static bool simple_micros(struct tbp_str s, int64_t *nanos) {
    enum { FIT = 19 }; /* digits that 64 bits hold, whichever they are */
    static const uint64_t scale[] = {1000, 100, 10, 1};
    uint64_t v = 0;
    size_t i = 0, after = 0;
    if (s.n > FIT + 1)
        return false;
    while (s.n - i >= 8 && take_8_digits(s.p + i, &v))
        i += 8;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        v = v * 10 + (uint64_t)(s.p[i] - '0');
    if (i == 0 || i > FIT)
        return false;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] >= '0' && s.p[i] <= '9' && after < 3; i++, after++)
            v = v * 10 + (uint64_t)(s.p[i] - '0');
    if (i != s.n || v > INT64_MAX / scale[after])
        return false;
    *nanos = (int64_t)(v * scale[after]);
    return true;
}

bool tbp_json_decimal(struct tbp_str s, int shift, int64_t *whole, unsigned *thousandths) {
    enum { MICROS_TO_NANOS = 3 };
    struct decimal d;
    unsigned __int128 v;
    if (shift == MICROS_TO_NANOS && simple_micros(s, whole)) {
        *thousandths = 0;
        return true;
    }
    if (!split(s, &d))
        return false;
    return digits_before(&d, (int64_t)d.whole.n + d.exponent + shift + 3, &v) &&
           to_whole(v, d.is_negative, whole, thousandths);
}

bool tbp_json_id(struct tbp_str s, int64_t *id) {
    uint64_t u;
    unsigned thousandths;
    if (tbp_str_to_i64(s, id))
        return true;
    if (tbp_str_to_u64(s, &u)) {
        *id = (int64_t)u;
        return true;
    }
    return tbp_json_decimal(s, 0, id, &thousandths) && thousandths == 0;
}
