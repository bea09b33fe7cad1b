/* SPDX-License-Identifier: Apache-2.0
 *
 * A borrowed piece of bytes: pointer and length, not NUL-terminated, never owned.
 * Text from files is kept as it stands in the mapped input; whoever owns those bytes is said at the
 * structure that holds the view. All functions are pure.
 */
#ifndef TBP_BASE_STR_H
#define TBP_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tbp_str {
    const char *p;
    size_t n;
};

#define TBP_STR(lit) ((struct tbp_str){(lit), sizeof(lit) - 1})
#define TBP_STR_INIT(lit)                                                                          \
    { (lit), sizeof(lit) - 1 } /* for static tables */
#define TBP_STR_NONE ((struct tbp_str){"", 0})

static inline struct tbp_str tbp_str_c(const char *c) {
    return (struct tbp_str){c, strlen(c)};
}

static inline bool tbp_str_eq(struct tbp_str a, struct tbp_str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool tbp_str_is(struct tbp_str a, const char *lit) {
    return tbp_str_eq(a, tbp_str_c(lit));
}

bool tbp_str_starts(struct tbp_str s, const char *prefix);
bool tbp_str_starts_nocase(struct tbp_str s, const char *prefix); /* ASCII */
bool tbp_str_ends(struct tbp_str s, const char *suffix);
bool tbp_str_has(struct tbp_str s, const char *part);
bool tbp_str_has_nocase(struct tbp_str s, const char *part); /* ASCII */

/* Byte order, shorter first on a tie: the order of std::string. <0, 0, >0. */
int tbp_str_cmp(struct tbp_str a, struct tbp_str b);

/* First position of c, or s.n. */
size_t tbp_str_find(struct tbp_str s, char c);
size_t tbp_str_rfind(struct tbp_str s, char c);
static inline struct tbp_str tbp_str_sub(struct tbp_str s, size_t from, size_t to) {
    return (struct tbp_str){s.p + from, to - from};
}

uint64_t tbp_str_hash(struct tbp_str s);

/* Whole text is one decimal integer within the type; no blanks. */
bool tbp_str_to_u64(struct tbp_str s, uint64_t *out);
bool tbp_str_to_i64(struct tbp_str s, int64_t *out);
/* Whole text is one number in the C locale, as strtod reads it, whatever the process's locale. */
bool tbp_str_to_double(struct tbp_str s, double *out);
/* What tbp_str_to_ps takes as units, for messages and help. */
#define TBP_TIME_UNITS "ns, us, ms, s, min"
/* A length of time with its unit (ns, us, ms, s, min), as "10ms", "-0.5 us"; up to 11 days. */
bool tbp_str_to_ps(struct tbp_str s, int64_t *ps);

/* Offset of the first byte that breaks UTF-8 (surrogates and overlong forms break it), or s.n. */
size_t tbp_utf8_valid_prefix(struct tbp_str s);

#endif
