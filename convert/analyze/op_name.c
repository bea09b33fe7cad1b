/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of op names, matched by hand: every pattern is a run of one byte class after a first
 * byte of another. Parts are views into the text; nothing is allocated but the texts of iterators.
 */
#include "convert/analyze/op_name.h"

enum {
    NAME_FIRST = 1u << 0, /* [A-Za-z0-9.] */
    NAME_REST = 1u << 1,  /* [A-Za-z0-9_./>] */
    NAME_DASH = 1u << 2,  /* - */
    TYPE_FIRST = 1u << 3, /* [A-Z_] */
    TYPE_REST = 1u << 4,  /* [A-Za-z0-9_] */
    JAX_FIRST = 1u << 5,  /* [a-z_] */
    JAX_REST = 1u << 6,   /* [a-z0-9_] */
    BLANK = 1u << 7,      /* C isspace */
};

#define UPPER (NAME_FIRST | NAME_REST | TYPE_FIRST | TYPE_REST)
#define LOWER (NAME_FIRST | NAME_REST | TYPE_REST | JAX_FIRST | JAX_REST)
#define DIGIT (NAME_FIRST | NAME_REST | TYPE_REST | JAX_REST)

static unsigned byte_class(char c) {
    if (c >= 'a' && c <= 'z')
        return LOWER;
    if (c >= 'A' && c <= 'Z')
        return UPPER;
    if (c >= '0' && c <= '9')
        return DIGIT;
    switch (c) {
    case '.':
        return NAME_FIRST | NAME_REST;
    case '/':
    case '>':
        return NAME_REST;
    case '-':
        return NAME_DASH;
    case '_':
        return NAME_REST | TYPE_FIRST | TYPE_REST | JAX_FIRST | JAX_REST;
    default:
        return c == ' ' || (c >= '\t' && c <= '\r') ? BLANK : 0;
    }
}

static bool byte_is(char c, unsigned classes) {
    return (byte_class(c) & classes) != 0;
}

/* Length of the longest prefix: one byte of `first`, then bytes of `rest`; 0 if there is none. */
static size_t run_length(struct tbp_str s, unsigned first, unsigned rest) {
    if (s.n == 0 || !byte_is(s.p[0], first))
        return 0;
    size_t i = 1;
    while (i < s.n && byte_is(s.p[i], rest))
        i++;
    return i;
}

static bool is_tf_name(struct tbp_str s, bool allow_dash) {
    unsigned rest = allow_dash ? NAME_REST | NAME_DASH : NAME_REST;
    return s.n > 0 && run_length(s, NAME_FIRST, rest) == s.n;
}

static bool is_tf_type(struct tbp_str s) {
    return s.n > 0 && run_length(s, TYPE_FIRST, TYPE_REST) == s.n;
}

/* Length of the identifier of a JAX type (`add`, `dot_general[…]`), 0 if s has not that form. */
static size_t jax_type_length(struct tbp_str s) {
    size_t n = run_length(s, JAX_FIRST, JAX_REST);
    if (n == 0 || n == s.n)
        return n;
    bool is_bracketed = s.p[n] == '[' && s.p[s.n - 1] == ']' && s.n - n >= 2;
    return is_bracketed && memchr(s.p + n, '\n', s.n - n) == NULL ? n : 0;
}

/* The text reads as a signed 64-bit integer, blanks around it allowed. */
static bool is_integer(struct tbp_str s) {
    size_t i = 0, end = s.n;
    while (i < end && byte_is(s.p[i], BLANK))
        i++;
    while (end > i && byte_is(s.p[end - 1], BLANK))
        end--;
    bool is_negative = i < end && s.p[i] == '-';
    if (i < end && (s.p[i] == '-' || s.p[i] == '+'))
        i++;
    if (i == end)
        return false;
    uint64_t limit = (uint64_t)INT64_MAX + (is_negative ? 1 : 0), value = 0;
    for (; i < end; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(s.p[i] - '0');
        if (value > (limit - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    return true;
}

/* What follows the last c; the whole text without one. */
static struct tbp_str after_last(struct tbp_str s, char c) {
    size_t i = s.n;
    while (i > 0 && s.p[i - 1] != c)
        i--;
    return tbp_str_sub(s, i, s.n);
}

/* Last path component without a numeric "_N"; one that is only a number stays whole. */
static struct tbp_str derive_type(struct tbp_str name) {
    struct tbp_str last = after_last(name, '/');
    struct tbp_str suffix = after_last(last, '_');
    if (suffix.n == last.n || !is_integer(suffix))
        return last;
    return tbp_str_sub(last, 0, last.n - suffix.n - 1);
}

static struct tbp_op_name parse_without_colon(struct tbp_str full) {
    static const struct {
        const char *text;
        enum tbp_op_category category;
    } kinds[] = {
        {"MemcpyHToD", TBP_OP_MEMCPY_H2D},
        {"MemcpyDToH", TBP_OP_MEMCPY_D2H},
        {"MemcpyDToD", TBP_OP_MEMCPY_D2D},
        {"MemcpyHToH", TBP_OP_MEMCPY_H2H},
    };
    if (full.n > 0 && (full.p[0] | 0x20) == 'm') {
        for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
            if (tbp_str_starts_nocase(full, kinds[i].text))
                return (struct tbp_op_name){kinds[i].category, full, tbp_str_c(kinds[i].text)};
    }
    return (struct tbp_op_name){TBP_OP_UNKNOWN, full, TBP_STR_NONE};
}

static struct tbp_op_name parse(struct tbp_str full, bool allow_dash) {
    size_t colon = tbp_str_find(full, ':'); /* the first one only */
    if (colon == full.n)
        return parse_without_colon(full);
    struct tbp_str left = tbp_str_sub(full, 0, colon);
    struct tbp_str right = tbp_str_sub(full, colon + 1, full.n);
    if (tbp_str_is(left, "Iterator"))
        return (struct tbp_op_name){TBP_OP_TF_DATA, full, TBP_STR("Dataset")};
    if (is_tf_type(right) && is_tf_name(left, allow_dash))
        return (struct tbp_op_name){TBP_OP_TENSORFLOW, left, right};
    struct tbp_str type = right.n > 0 ? right : derive_type(left);
    size_t n = jax_type_length(type);
    if (n > 0)
        return (struct tbp_op_name){TBP_OP_JAX, left, tbp_str_sub(type, 0, n)};
    if (right.n == 0)
        return (struct tbp_op_name){TBP_OP_TENSORFLOW, left, type};
    return (struct tbp_op_name){TBP_OP_UNKNOWN, full, TBP_STR_NONE};
}

struct tbp_op_name tbp_op_name_parse(struct tbp_str full) {
    return parse(full, true);
}

struct tbp_op_name tbp_op_name_parse_for(struct tbp_str full, enum tbp_semantics semantics) {
    return parse(full, semantics != TBP_SEMANTICS_TF);
}

/* Some scope before the last '/' equals gradient_tape or begins with gradients. */
static bool has_tf_gradient_scope(struct tbp_str name) {
    for (size_t at = 0, n; (n = tbp_str_find(tbp_str_sub(name, at, name.n), '/')) < name.n - at;
         at += n + 1) {
        struct tbp_str scope = tbp_str_sub(name, at, at + n);
        if (tbp_str_is(scope, "gradient_tape") || tbp_str_starts(scope, "gradients"))
            return true;
    }
    return false;
}

/* Some component begins with "transpose(". */
static bool has_jax_transpose(struct tbp_str name) {
    for (size_t at = 0; at <= name.n;) {
        struct tbp_str rest = tbp_str_sub(name, at, name.n);
        if (tbp_str_starts(rest, "transpose("))
            return true;
        at += tbp_str_find(rest, '/') + 1;
    }
    return false;
}

static bool contains(struct tbp_str s, struct tbp_str part) {
    return part.n == 0 || (s.n >= part.n && memmem(s.p, s.n, part.p, part.n) != NULL);
}

bool tbp_op_has_gradient_evidence(struct tbp_str name, struct tbp_str type) {
    if (is_tf_type(type) && is_tf_name(name, true))
        return has_tf_gradient_scope(name);
    if (type.n == 0)
        return has_jax_transpose(name);
    bool is_jax = name.n > 0 && jax_type_length(type) > 0 && contains(after_last(name, '/'), type);
    return is_jax && has_jax_transpose(name);
}

/* "Iterator::A::B" -> "B": what follows the last "::", pairs being taken from the left. */
static struct tbp_str last_iterator(struct tbp_str name) {
    size_t from = 0;
    for (size_t i = 0; i + 1 < name.n;) {
        if (name.p[i] == ':' && name.p[i + 1] == ':')
            from = i += 2;
        else
            i++;
    }
    return tbp_str_sub(name, from, name.n);
}

struct tbp_str tbp_op_event_name(struct tbp_str full, struct tbp_arena *a) {
    struct tbp_op_name op = tbp_op_name_parse(full);
    if (op.category == TBP_OP_TF_DATA)
        return tbp_arena_cat(a, TBP_STR("Iterator::"), last_iterator(op.name));
    if (op.category != TBP_OP_UNKNOWN)
        return op.type;
    size_t n = op.name.n;
    while (n > 0 && byte_is(op.name.p[n - 1], BLANK))
        n--;
    return tbp_str_sub(op.name, 0, n);
}

bool tbp_op_is_infeed_enqueue(struct tbp_str type) {
    return tbp_str_starts(type, "InfeedEnqueue");
}

/* Thread pool events have names of their own, but mean nothing to grouping. */
static bool is_thread_pool(enum tbp_event_kind kind) {
    return kind == TBP_EVENT_THREADPOOL_START || kind == TBP_EVENT_THREADPOOL_STOP ||
           kind == TBP_EVENT_THREADPOOL_REGION || kind == TBP_EVENT_THREADPOOL_RECORD;
}

enum tbp_event_kind tbp_op_event_kind(const struct tbp_meta *m) {
    if (m->kind != TBP_EVENT_OTHER && !is_thread_pool(m->kind))
        return m->kind;
    switch (tbp_op_name_parse(m->name).category) {
    case TBP_OP_TENSORFLOW:
        return TBP_EVENT_TF_OP_RUN;
    case TBP_OP_TF_DATA:
        return TBP_EVENT_ITERATOR;
    default:
        return TBP_EVENT_OTHER;
    }
}
