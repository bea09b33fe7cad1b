/* SPDX-License-Identifier: Apache-2.0
 *
 * Tolerant JSON tokens; see json_pull.h. A string ends at the quote behind which the document goes
 * on as JSON would; other quotes belong to the text. Look-ahead is one or two tokens, so that the
 * whole stays linear.
 */
#include "base/json_pull.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static void count(struct tbp_json_pull *j, enum tbp_json_repair what, const uint8_t *at) {
    if (j->count[what]++ == 0)
        j->first_offset[what] = (uint64_t)(at - j->start);
}

enum { BLANK = 1, ENDS_WORD = 2 };

static const uint8_t classes[256] = {
    [0] = BLANK | ENDS_WORD,    [' '] = BLANK | ENDS_WORD,  ['\n'] = BLANK | ENDS_WORD,
    ['\r'] = BLANK | ENDS_WORD, ['\t'] = BLANK | ENDS_WORD, [','] = ENDS_WORD,
    ['}'] = ENDS_WORD,          [']'] = ENDS_WORD,          ['"'] = ENDS_WORD,
    ['{'] = ENDS_WORD,          ['['] = ENDS_WORD,
};

/* ---- looking through many bytes at once ---- */

#ifdef __SSE2__
enum { LANES = 16 };
static inline __m128i lanes_at(const uint8_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
static inline __m128i equal(__m128i lanes, char c) {
    return _mm_cmpeq_epi8(lanes, _mm_set1_epi8(c));
}
/* Bytes from 128 on are negative: they are below everything. */
static inline __m128i below(__m128i lanes, char c) {
    return _mm_cmpgt_epi8(_mm_set1_epi8(c), lanes);
}
/* One bit per byte. */
static inline unsigned bits_of(__m128i a, __m128i b, __m128i c) {
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(a, b), c));
}
static inline unsigned first_of(unsigned bits) {
    return (unsigned)__builtin_ctz(bits);
}
#endif

/* The first byte from p on that is no blank. */
static inline const uint8_t *skip_blank(const uint8_t *p, const uint8_t *end) {
    for (int i = 0; i < 2; i++, p++) /* most are one space or none */
        if (p == end || !(classes[*p] & BLANK))
            return p;
#ifdef __SSE2__
    for (; end - p >= LANES; p += LANES) {
        __m128i w = lanes_at(p);
        unsigned blank = bits_of(equal(w, ' '), equal(w, '\n'), equal(w, '\t')) |
                         bits_of(equal(w, '\r'), equal(w, 0), _mm_setzero_si128());
        if (blank != (1u << LANES) - 1)
            return p + first_of(~blank);
    }
#endif
    while (p < end && classes[*p] & BLANK)
        p++;
    return p;
}

/* The first byte from p on that ends a number or literal. */
static inline const uint8_t *end_of_word(const uint8_t *p, const uint8_t *end) {
#ifdef __SSE2__
    const __m128i same_case = _mm_set1_epi8(0x20); /* makes braces of brackets */
    while (end - p >= LANES) {
        __m128i w = lanes_at(p), braces = _mm_or_si128(w, same_case);
        unsigned hits = bits_of(below(w, '-'), equal(braces, '}'), equal(braces, '{'));
        p += hits ? first_of(hits) : LANES;
        if (hits && classes[*p] & ENDS_WORD)
            return p;
        p += hits != 0; /* a plus */
    }
#endif
    while (p < end && !(classes[*p] & ENDS_WORD))
        p++;
    return p;
}

#define EVERY(byte) (0x0101010101010101u * (uint64_t)(byte))

/* High bit of each byte that is below n (n <= 128) or equals c; may also mark bytes above the first
 * true one, and all bytes from 128 on. */
static inline uint64_t special(uint64_t w) {
    uint64_t quote = w ^ EVERY('"'), slash = w ^ EVERY('\\');
    return (((quote - EVERY(1)) | (slash - EVERY(1)) | (w - EVERY(' '))) | w) & EVERY(0x80);
}

/* First byte from p on that is a quote, a backslash, a control byte or no ASCII. */
static inline const uint8_t *find_special(const uint8_t *p, const uint8_t *end) {
#ifdef __SSE2__
    for (; end - p >= LANES; p += LANES) {
        __m128i w = lanes_at(p);
        unsigned hits = bits_of(equal(w, '"'), equal(w, '\\'), below(w, ' '));
        if (hits)
            return p + first_of(hits);
    }
#endif
    while (end - p >= 8) {
        uint64_t w;
        memcpy(&w, p, sizeof w);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        w = __builtin_bswap64(w);
#endif
        uint64_t hits = special(w);
        if (hits)
            return p + (unsigned)__builtin_ctzll(hits) / 8;
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\' && *p >= ' ' && *p < 0x80)
        p++;
    return p;
}

void tbp_json_pull_init(struct tbp_json_pull *j, const void *data, size_t size) {
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    *j = (struct tbp_json_pull){.start = data, .at = data, .end = (const uint8_t *)data + size};
    j->text = TBP_STR_NONE;
    if (size >= sizeof mark && memcmp(data, mark, sizeof mark) == 0)
        j->at += sizeof mark;
}

static bool in_object(const struct tbp_json_pull *j) {
    return j->depth > 0 && (j->objects >> (j->depth - 1) & 1);
}

/* ---- strings ---- */

static bool may_follow_value(const uint8_t *p, const uint8_t *end) {
    return p == end || *p == ',' || *p == '}' || *p == ']' || *p == '{';
}

/* Whether the quote before p ends a string. */
static bool ends_string(const struct tbp_json_pull *j, const uint8_t *p, bool is_key) {
    p = skip_blank(p, j->end);
    if (p == j->end)
        return true;
    if (is_key)
        return *p == ':';
    if (*p == ',') {
        p = skip_blank(p + 1, j->end);
        return !in_object(j) || p == j->end || *p == '"' || *p == '}' || *p == ',' ||
               (*p >= 'a' && *p <= 'z');
    }
    if (*p == '}' || *p == ']')
        return (*p == '}') == in_object(j) && may_follow_value(skip_blank(p + 1, j->end), j->end);
    return false;
}

static enum tbp_json_token read_string(struct tbp_json_pull *j, bool is_key) {
    const uint8_t *p = j->at + 1, *from = p;
    j->is_plain = true;
    for (;; p++) {
        p = find_special(p, j->end);
        if (p == j->end) {
            count(j, TBP_JSON_CUT, j->at);
            break;
        }
        if (*p == '"') {
            if (ends_string(j, p + 1, is_key))
                break;
            count(j, TBP_JSON_RAW_QUOTE, p);
        } else if (*p < ' ') {
            count(j, TBP_JSON_CONTROL, p);
        } else {
            j->is_plain = false;
            p += *p == '\\' && p + 1 < j->end;
        }
    }
    j->text = (struct tbp_str){(const char *)from, (size_t)(p - from)};
    j->at = p < j->end ? p + 1 : p;
    return is_key ? TBP_JSON_KEY : TBP_JSON_STRING;
}

/* ---- keys ---- */

/* `tid": 0` or `tid: 0`: up to the colon. */
static void read_bare_key(struct tbp_json_pull *j) {
    const uint8_t *p = j->at;
    count(j, TBP_JSON_KEY_QUOTE, p);
    while (p < j->end && *p != ':' && *p != '"' && *p != ',' && *p != '}')
        p++;
    j->text = (struct tbp_str){(const char *)j->at, (size_t)(p - j->at)};
    j->is_plain = true;
    j->at = p < j->end && *p == '"' ? p + 1 : p;
}

static enum tbp_json_token read_key(struct tbp_json_pull *j) {
    if (*j->at == '"')
        read_string(j, true);
    else
        read_bare_key(j);
    j->at = skip_blank(j->at, j->end);
    if (j->at < j->end && *j->at == ':')
        j->at++;
    j->wants_value = true;
    return TBP_JSON_KEY;
}

/* ---- other values ---- */

/* A number, a literal, or a word that stands where one should. */
static enum tbp_json_token read_word(struct tbp_json_pull *j) {
    const uint8_t *p = end_of_word(j->at, j->end);
    struct tbp_str s = {(const char *)j->at, (size_t)(p - j->at)};
    uint8_t first = *j->at;
    if (p == j->at) /* a quote or bracket out of place */
        p++;
    const uint8_t *word = j->at;
    j->at = p;
    j->text = s;
    j->is_plain = true;
    if ((first >= '0' && first <= '9') || (first == '-' && s.n > 1 && s.p[1] <= '9') ||
        (first == '.' && s.n > 1 && s.p[1] >= '0' && s.p[1] <= '9'))
        return TBP_JSON_NUMBER;
    if (tbp_str_is(s, "true"))
        return TBP_JSON_TRUE;
    if (tbp_str_is(s, "false"))
        return TBP_JSON_FALSE;
    if (!tbp_str_is(s, "null"))
        count(j, p == j->end ? TBP_JSON_CUT : TBP_JSON_BARE_WORD, word);
    return TBP_JSON_NULL;
}

/* ---- containers ---- */

static enum tbp_json_token open_container(struct tbp_json_pull *j, bool is_object) {
    uint64_t bit = (uint64_t)1 << j->depth;
    j->objects = is_object ? j->objects | bit : j->objects & ~bit;
    j->depth++;
    j->at++;
    j->had_value = false;
    return is_object ? TBP_JSON_OBJECT : TBP_JSON_ARRAY;
}

static enum tbp_json_token close_container(struct tbp_json_pull *j) {
    bool is_object = in_object(j);
    j->depth--;
    j->had_value = true;
    j->had_document |= j->depth == 0;
    return is_object ? TBP_JSON_OBJECT_END : TBP_JSON_ARRAY_END;
}

/* Passes over a value too deep to be told apart: only brackets and strings count. */
static enum tbp_json_token skip_deep(struct tbp_json_pull *j) {
    uint64_t open = 0;
    count(j, TBP_JSON_DEPTH, j->at);
    for (; j->at < j->end; j->at++) {
        uint8_t c = *j->at;
        if (c == '[' || c == '{')
            open++;
        if ((c == ']' || c == '}') && --open == 0) {
            j->at++;
            break;
        }
        if (c != '"')
            continue;
        for (j->at++; j->at < j->end && *j->at != '"'; j->at++)
            j->at += *j->at == '\\' && j->at + 1 < j->end;
        if (j->at == j->end)
            break;
    }
    j->had_value = true;
    return TBP_JSON_NULL;
}

/* A closing bracket; of the wrong kind it closes what it can. */
static bool take_bracket(struct tbp_json_pull *j, enum tbp_json_token *token) {
    bool is_object = *j->at == '}';
    if (j->depth == 0) {
        count(j, TBP_JSON_BRACKET, j->at++);
        return false;
    }
    if (is_object != in_object(j)) {
        count(j, TBP_JSON_BRACKET, j->at);
        /* `]` of the array around an object that was not closed: both are closed, one by one */
        bool closes_outer = j->depth > 1 && (j->objects >> (j->depth - 2) & 1) == is_object;
        j->at += !closes_outer;
        if (!closes_outer)
            return false;
        *token = close_container(j);
        return true;
    }
    j->at++;
    *token = close_container(j);
    return true;
}

static enum tbp_json_token read_value(struct tbp_json_pull *j) {
    uint8_t c = *j->at;
    if (j->depth == 0 && j->had_document) {
        count(j, TBP_JSON_SECOND, j->at);
        j->had_document = false;
    }
    if (j->had_value && !j->wants_value && j->depth > 0)
        count(j, TBP_JSON_COMMA, j->at);
    j->wants_value = false;
    if (c == '{' || c == '[')
        return j->depth == TBP_JSON_MAX_DEPTH ? skip_deep(j) : open_container(j, c == '{');
    j->had_value = true;
    return c == '"' ? read_string(j, false) : read_word(j);
}

/* Behind a key stands no value, but what comes after one. */
static enum tbp_json_token missing_value(struct tbp_json_pull *j) {
    j->text = TBP_STR_NONE;
    count(j, TBP_JSON_BARE_WORD, j->at);
    j->wants_value = false;
    j->had_value = true;
    return TBP_JSON_NULL;
}

static enum tbp_json_token at_end(struct tbp_json_pull *j) {
    if (j->depth == 0)
        return TBP_JSON_END;
    bool is_open_list = j->depth == 1 && !(j->objects & 1);
    if (j->count[TBP_JSON_CUT] + j->count[TBP_JSON_OPEN] == 0)
        count(j, is_open_list ? TBP_JSON_OPEN : TBP_JSON_CUT, j->end);
    if (j->wants_value) {
        j->wants_value = false;
        return TBP_JSON_NULL;
    }
    return close_container(j);
}

static void take_comma(struct tbp_json_pull *j) {
    if (!j->had_value)
        count(j, TBP_JSON_COMMA, j->at);
    j->had_value = false;
    j->at++;
}

/* `, "key":` behind a value of an object, as nearly all members stand there. */
static bool quick_key(struct tbp_json_pull *j) {
    if (j->at == j->end || *j->at != ',' || !j->had_value || j->wants_value || !in_object(j))
        return false;
    const uint8_t *p = skip_blank(j->at + 1, j->end);
    if (p == j->end || *p != '"')
        return false;
    const uint8_t *from = p + 1, *quote = find_special(from, j->end);
    if (j->end - quote < 2 || quote[0] != '"' || quote[1] != ':')
        return false;
    j->offset = (uint64_t)(p - j->start);
    j->text = (struct tbp_str){(const char *)from, (size_t)(quote - from)};
    j->is_plain = true;
    j->had_value = false;
    j->wants_value = true;
    j->at = quote + 2;
    return true;
}

enum tbp_json_token tbp_json_pull_next(struct tbp_json_pull *j) {
    enum tbp_json_token token;
    if (quick_key(j))
        return TBP_JSON_KEY;
    for (;;) {
        j->at = skip_blank(j->at, j->end);
        j->offset = (uint64_t)(j->at - j->start);
        if (j->at == j->end)
            return at_end(j);
        uint8_t c = *j->at;
        if (c == ',' || c == '}' || c == ']') {
            if (j->wants_value)
                return missing_value(j);
            if (c == ',')
                take_comma(j);
            else if (take_bracket(j, &token))
                return token;
            continue;
        }
        if (!in_object(j) || j->wants_value)
            return read_value(j);
        if (j->had_value)
            count(j, TBP_JSON_COMMA, j->at);
        j->had_value = false;
        if (c == '{' || c == '[' || c == ':') { /* no key: what it holds has no name */
            count(j, TBP_JSON_BRACKET, j->at);
            if (c == ':') {
                j->at++;
                continue;
            }
            return close_container(j);
        }
        return read_key(j);
    }
}

/* End of a string in a list without anything unusual, or NULL. */
static const uint8_t *quick_string(const uint8_t *p, const uint8_t *end) {
    p = find_special(p, end);
    if (p == end || *p != '"')
        return NULL;
    const uint8_t *next = skip_blank(p + 1, end);
    if (next == end || (*next != ',' && *next != ']'))
        return NULL;
    return *next == ',' || may_follow_value(skip_blank(next + 1, end), end) ? next : NULL;
}

/* Behind the list of lists, numbers and plain strings that was opened before p; NULL if there is
 * anything else in it, or anything wrong: that is left to the tokens, which count it. */
static const uint8_t *quick_list(const uint8_t *p, const uint8_t *end, unsigned room) {
    unsigned depth = 1;
    bool had_value = false, wants_value = false;
    while (depth > 0) {
        p = skip_blank(p, end);
        if (p == end)
            return NULL;
        uint8_t c = *p++;
        if (c == ']' && !wants_value) {
            depth--;
            had_value = true;
        } else if (c == ',' && had_value) {
            had_value = false;
            wants_value = true;
        } else if (had_value || c == ',' || c == ']') {
            return NULL;
        } else if (c == '[') {
            if (depth++ == room)
                return NULL;
            wants_value = false;
        } else {
            if (c == '"')
                p = quick_string(p, end);
            else
                p = (c >= '0' && c <= '9') ? end_of_word(p, end) : NULL;
            if (!p)
                return NULL;
            had_value = true;
            wants_value = false;
        }
    }
    return p;
}

void tbp_json_pull_skip(struct tbp_json_pull *j, enum tbp_json_token token) {
    if (token == TBP_JSON_KEY)
        token = tbp_json_pull_next(j);
    if (token != TBP_JSON_OBJECT && token != TBP_JSON_ARRAY)
        return;
    const uint8_t *quick = token == TBP_JSON_ARRAY
                               ? quick_list(j->at, j->end, TBP_JSON_MAX_DEPTH + 1 - j->depth)
                               : NULL;
    if (quick) {
        j->at = quick;
        close_container(j);
        return;
    }
    unsigned outside = j->depth - 1;
    while (j->depth > outside && tbp_json_pull_next(j) != TBP_JSON_END)
        ;
}

/* ---- reading ahead ---- */

struct tbp_json_pull tbp_json_pull_behind(const struct tbp_json_pull *j, const uint8_t *at,
                                          const uint8_t *end) {
    return (struct tbp_json_pull){.start = j->start,
                                  .at = at,
                                  .end = end,
                                  .text = TBP_STR_NONE,
                                  .had_value = true,
                                  .had_document = j->had_document,
                                  .depth = j->depth,
                                  .objects = j->objects};
}

/* Bits of containers that are open. */
static uint64_t open_objects(const struct tbp_json_pull *j) {
    return j->depth < 64 ? j->objects & (((uint64_t)1 << j->depth) - 1) : j->objects;
}

bool tbp_json_pull_meets(const struct tbp_json_pull *j, const struct tbp_json_pull *begin) {
    return j->at == begin->at && j->had_value == begin->had_value &&
           j->wants_value == begin->wants_value && j->had_document == begin->had_document &&
           j->depth == begin->depth && open_objects(j) == open_objects(begin);
}

void tbp_json_pull_pass(struct tbp_json_pull *j, const struct tbp_json_pull *read) {
    struct tbp_json_pull sum = *read;
    sum.end = j->end;
    for (unsigned k = 0; k < TBP_JSON_REPAIRS; k++) {
        if (j->count[k])
            sum.first_offset[k] = j->first_offset[k];
        sum.count[k] += j->count[k];
    }
    *j = sum;
}
