/* SPDX-License-Identifier: Apache-2.0
 *
 * A pull parser for JSON as programs really write it: one pass over bytes in memory, no allocation,
 * nested values to any depth without recursion. Damage is repaired where the intent is plain, and
 * each repair is counted with the first offset; the parser never fails.
 *
 *     tbp_json_pull_init(&j, data, size);
 *     while ((token = tbp_json_pull_next(&j)) != TBP_JSON_END) …     // text of keys, strings,
 * numbers: j.text
 *
 * Texts are views of the input between the quotes; tbp_json_decode undoes escapes and bad UTF-8 of
 * those that have any (j.is_plain tells). Numbers stay text: tbp_json_decimal reads them without
 * loss. Budget: 2 ns per structural character, 0.3 ns per byte of text. Pure, thread-safe.
 */
#ifndef TBP_BASE_JSON_PULL_H
#define TBP_BASE_JSON_PULL_H

#include "base/str.h"

enum tbp_json_token {
    TBP_JSON_END,
    TBP_JSON_OBJECT,
    TBP_JSON_OBJECT_END,
    TBP_JSON_ARRAY,
    TBP_JSON_ARRAY_END,
    TBP_JSON_KEY,
    TBP_JSON_STRING,
    TBP_JSON_NUMBER,
    TBP_JSON_TRUE,
    TBP_JSON_FALSE,
    TBP_JSON_NULL,
};

enum tbp_json_repair {
    TBP_JSON_RAW_QUOTE, /* quote inside a string without backslash: part of the text */
    TBP_JSON_CONTROL,   /* control byte inside a string: part of the text */
    TBP_JSON_BACKSLASH, /* backslash that begins no escape: part of the text */
    TBP_JSON_BARE_WORD, /* NaN, inf, N/A, nothing at all: null */
    TBP_JSON_COMMA,     /* one too many, or none between two values */
    TBP_JSON_KEY_QUOTE, /* key without its quotes */
    TBP_JSON_BRACKET,   /* closing bracket of the wrong kind, or too many */
    TBP_JSON_CUT,       /* the input ends inside a value */
    TBP_JSON_OPEN,      /* only the bracket of the outermost list is missing at the end */
    TBP_JSON_SECOND,    /* something behind the first document */
    TBP_JSON_UTF8,      /* bytes that are no UTF-8, or half a surrogate pair: U+FFFD */
    TBP_JSON_DEPTH,     /* values nested deeper than TBP_JSON_MAX_DEPTH: passed over */
    TBP_JSON_REPAIRS
};

enum { TBP_JSON_MAX_DEPTH = 64 };

struct tbp_json_pull {
    const uint8_t *start, *at, *end;
    struct tbp_str text; /* of KEY, STRING, NUMBER */
    uint64_t offset;     /* of the token returned last */
    bool is_plain;       /* text has no escapes and no byte outside of ASCII */
    bool wants_value;    /* behind a key */
    bool had_value;      /* in this container, since its beginning or the last comma */
    bool had_document;
    unsigned depth;
    uint64_t objects; /* bit of each open container: it is an object */
    uint64_t count[TBP_JSON_REPAIRS], first_offset[TBP_JSON_REPAIRS];
};

void tbp_json_pull_init(struct tbp_json_pull *j, const void *data, size_t size);
enum tbp_json_token tbp_json_pull_next(struct tbp_json_pull *j);
/* Behind KEY: passes over its value. Behind OBJECT or ARRAY: over the rest of it. */
void tbp_json_pull_skip(struct tbp_json_pull *j, enum tbp_json_token token);
/* Takes a value. True: it is such a container (OBJECT or ARRAY), of which the insides come next;
 * false: it is another value, and passed over. */
static inline bool tbp_json_pull_opens(struct tbp_json_pull *j, enum tbp_json_token container) {
    const enum tbp_json_token token = tbp_json_pull_next(j);
    if (token != container)
        tbp_json_pull_skip(j, token);
    return token == container;
}
/* Reading ahead: a parser of at … end that begins as j would behind a value of the container that
 * it is in now. Nothing is counted yet. */
struct tbp_json_pull tbp_json_pull_behind(const struct tbp_json_pull *j, const uint8_t *at,
                                          const uint8_t *end);
/* j has come to where such a parser began, and would go on as that did. */
bool tbp_json_pull_meets(const struct tbp_json_pull *j, const struct tbp_json_pull *begin);
/* Then j goes on behind what that one has read, as if it had read that itself. */
void tbp_json_pull_pass(struct tbp_json_pull *j, const struct tbp_json_pull *read);
/* Room that tbp_json_decode needs. */
static inline size_t tbp_json_decode_room(struct tbp_str text) {
    return text.n * 3 + 1;
}
/* Undoes escapes into out; repairs are counted in j (NULL allowed). Returns the length. */
size_t tbp_json_decode(struct tbp_json_pull *j, struct tbp_str text, char *out);

/* text × 10^shift as an integer `whole` and thousandths of it, rounded half to even; exact for any
 * number of digits and exponents. False if it is no number or does not fit. */
bool tbp_json_decimal(struct tbp_str text, int shift, int64_t *whole, unsigned *thousandths);
/* Integers within int64, and those up to 2^64-1 by their bits; "7.0" is 7. */
bool tbp_json_id(struct tbp_str text, int64_t *id);

#endif
