/* SPDX-License-Identifier: Apache-2.0
 *
 * See demangle.h. The name becomes a tree, because what comes later may repeat what came earlier
 * by number (S_, T_), and pointers to functions are written around what they point to; then the
 * tree becomes text. Both are bounded: nodes, depth, and bytes of text, since a short name can
 * double itself again and again. Source of the grammar: Itanium C++ ABI, section 5.1.
 */
#include "base/demangle.h"

#include <stdio.h>

enum {
    MAX_NODES = 8192,
    MAX_SUBSTITUTIONS = 2048,
    MAX_DEPTH = 160,
    MAX_TEXT = 1 << 16,
    MAX_STEPS = 1 << 18
};

enum node_kind {
    NODE_TEXT,
    NODE_NESTED,   /* a::b */
    NODE_TEMPLATE, /* a<b, …> */
    NODE_AFTER,    /* a, then text: pointers, qualifiers */
    NODE_BEFORE,   /* text, then a, then more */
    NODE_FUNCTION, /* a: result or NULL, b: parameters */
    NODE_NAMED,    /* function of a name: a, with the function b */
    NODE_ARRAY,    /* of a; text: the number in brackets */
    NODE_MEMBER,   /* pointer to a member of a: of type b */
    NODE_LIST,     /* a, and next */
};

struct node {
    enum node_kind kind;
    struct tbp_str text, more;
    const struct node *a, *b;
    struct node *next;
};

struct demangler {
    const char *at, *end;
    struct tbp_arena *arena;
    size_t n_nodes, n_substitutions;
    unsigned depth, in_lambda;
    const struct node **substitutions;
    const struct node *template_args; /* what T_ stands for */
    bool ends_in_template, is_special_name;
};

static const struct node *parse_type(struct demangler *d);
static const struct node *parse_name(struct demangler *d, bool is_function);
static const struct node *parse_encoding(struct demangler *d);
static const struct node *parse_expression(struct demangler *d);

/* ---- reading ---- */

static char peek(const struct demangler *d) {
    return d->at < d->end ? *d->at : 0;
}

static char peek_second(const struct demangler *d) {
    return d->at + 1 < d->end ? d->at[1] : 0;
}

static bool take(struct demangler *d, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(d->end - d->at) < n || memcmp(d->at, text, n) != 0)
        return false;
    d->at += n;
    return true;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool take_number(struct demangler *d, size_t *out) {
    enum { LARGEST = 1 << 24 };
    *out = 0;
    if (!is_digit(peek(d)))
        return false;
    while (is_digit(peek(d)) && *out < LARGEST)
        *out = *out * 10 + (size_t)(*d->at++ - '0');
    return *out < LARGEST;
}

/* "_" is 0, "0_" is 1, … in base 10 or (with capitals) 36. */
static bool take_index(struct demangler *d, unsigned base, size_t *out) {
    *out = 0;
    if (take(d, "_"))
        return true;
    for (; peek(d) != '_'; d->at++) {
        char c = peek(d);
        unsigned digit = is_digit(c) ? (unsigned)(c - '0') : (unsigned)(c - 'A') + 10;
        if (digit >= base || *out > MAX_NODES)
            return false;
        *out = *out * base + digit;
    }
    d->at++;
    ++*out;
    return true;
}

/* ---- nodes; NULL goes up as failure ---- */

static struct node *new_node(struct demangler *d, enum node_kind kind) {
    if (d->n_nodes++ >= MAX_NODES)
        return NULL;
    struct node *n = TBP_NEW(d->arena, struct node);
    *n = (struct node){.kind = kind, .text = TBP_STR_NONE, .more = TBP_STR_NONE};
    return n;
}

static const struct node *text_node(struct demangler *d, struct tbp_str text) {
    struct node *n = new_node(d, NODE_TEXT);
    if (n)
        n->text = text;
    return n;
}

static const struct node *pair(struct demangler *d, enum node_kind kind, const struct node *a,
                               const struct node *b) {
    struct node *n = a && b ? new_node(d, kind) : NULL;
    if (n) {
        n->a = a;
        n->b = b;
    }
    return n;
}

static const struct node *around(struct demangler *d, enum node_kind kind, const char *text,
                                 const struct node *a, const char *more) {
    struct node *n = a ? new_node(d, kind) : NULL;
    if (n) {
        n->a = a;
        n->text = tbp_str_c(text);
        n->more = tbp_str_c(more);
    }
    return n;
}

static const struct node *remember(struct demangler *d, const struct node *n) {
    if (!n || d->n_substitutions >= MAX_SUBSTITUTIONS)
        return NULL;
    d->substitutions[d->n_substitutions++] = n;
    return n;
}

/* A list up to an E: of types, arguments or expressions. */
static const struct node *parse_list(struct demangler *d,
                                     const struct node *(*item)(struct demangler *)) {
    struct node *first = new_node(d, NODE_LIST), *last = first;
    while (first && !take(d, "E")) {
        const struct node *a = item(d);
        struct node *next = a ? new_node(d, NODE_LIST) : NULL;
        if (!next)
            return NULL;
        last->a = a;
        last->next = next;
        last = next;
    }
    return first;
}

/* ---- arguments of templates ---- */

static const struct {
    char code;
    const char *name, *suffix; /* of a number of this type; NULL: written before it */
} builtins[] = {
    {'v', "void", NULL},        {'w', "wchar_t", NULL},
    {'b', "bool", NULL},        {'c', "char", NULL},
    {'a', "signed char", NULL}, {'h', "unsigned char", NULL},
    {'s', "short", NULL},       {'t', "unsigned short", NULL},
    {'i', "int", ""},           {'j', "unsigned int", "u"},
    {'l', "long", "l"},         {'m', "unsigned long", "ul"},
    {'x', "long long", "ll"},   {'y', "unsigned long long", "ull"},
    {'n', "__int128", NULL},    {'o', "unsigned __int128", NULL},
    {'f', "float", NULL},       {'d', "double", NULL},
    {'e', "long double", NULL}, {'g', "__float128", NULL},
    {'z', "...", NULL},
};
enum { BUILTINS = sizeof builtins / sizeof *builtins };

static int builtin_of(char code) {
    for (int i = 0; i < BUILTINS; i++)
        if (builtins[i].code == code)
            return i;
    return -1;
}

static const struct node *number_node(struct demangler *d, struct tbp_str digits, bool is_negative,
                                      const char *suffix) {
    return text_node(d, tbp_str_c(tbp_arena_printf(d->arena, "%s%.*s%s", is_negative ? "-" : "",
                                                   (int)digits.n, digits.p, suffix)));
}

/* L is taken: Li128E, Lb1E, L_Z3fooE, LN3ns4enumE2E. */
static const struct node *parse_literal(struct demangler *d) {
    if (take(d, "_Z")) {
        const struct node *n = parse_encoding(d);
        return take(d, "E") ? n : NULL;
    }
    int builtin = builtin_of(peek(d));
    const struct node *type = parse_type(d);
    bool is_negative = take(d, "n");
    struct tbp_str digits = {d->at, 0};
    while (peek(d) && peek(d) != 'E') {
        d->at++;
        digits.n++;
    }
    if (!type || !take(d, "E"))
        return NULL;
    if (builtin >= 0 && builtins[builtin].code == 'b' && digits.n == 1)
        return text_node(d, *digits.p == '1' ? TBP_STR("true") : TBP_STR("false"));
    if (builtin >= 0 && builtins[builtin].suffix)
        return number_node(d, digits, is_negative, builtins[builtin].suffix);
    const struct node *value = number_node(d, digits, is_negative, "");
    return pair(d, NODE_MEMBER, around(d, NODE_BEFORE, "(", type, ")"), value);
}

static const struct node *parse_argument(struct demangler *d) {
    if (take(d, "L"))
        return parse_literal(d);
    if (take(d, "J"))
        return parse_list(d, parse_argument);
    if (!take(d, "X"))
        return parse_type(d);
    const struct node *n = parse_expression(d);
    return take(d, "E") ? n : NULL;
}

/* I is taken. */
static const struct node *parse_template(struct demangler *d, const struct node *name) {
    return pair(d, NODE_TEMPLATE, name, parse_list(d, parse_argument));
}

/* T is taken. */
static const struct node *parse_parameter(struct demangler *d) {
    size_t index;
    if (!take_index(d, 10, &index))
        return NULL;
    if (d->in_lambda)
        return text_node(d, tbp_str_c(tbp_arena_printf(d->arena, "auto:%zu", index + 1)));
    const struct node *n = d->template_args;
    while (n && n->next && index--)
        n = n->next;
    return n ? n->a : NULL;
}

/* S is taken. */
static const struct node *parse_substitution(struct demangler *d) {
    static const struct {
        char code;
        const char *name;
    } known[] = {{'t', "std"},          {'a', "std::allocator"}, {'b', "std::basic_string"},
                 {'s', "std::string"},  {'i', "std::istream"},   {'o', "std::ostream"},
                 {'d', "std::iostream"}};
    size_t index;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (peek(d) == known[i].code) {
            d->at++;
            return text_node(d, tbp_str_c(known[i].name));
        }
    if (!take_index(d, 36, &index) || index >= d->n_substitutions)
        return NULL;
    return d->substitutions[index];
}

/* ---- names ---- */

static const struct {
    char code[3];
    const char *text;
    int operands; /* in expressions */
} operators[] = {
    {"nw", " new", 0}, {"na", " new[]", 0}, {"dl", " delete", 0}, {"da", " delete[]", 0},
    {"ng", "-", 1},    {"ad", "&", 1},      {"de", "*", 1},       {"co", "~", 1},
    {"nt", "!", 1},    {"ps", "+", 1},      {"pl", "+", 2},       {"mi", "-", 2},
    {"ml", "*", 2},    {"dv", "/", 2},      {"rm", "%", 2},       {"an", "&", 2},
    {"or", "|", 2},    {"eo", "^", 2},      {"ls", "<<", 2},      {"rs", ">>", 2},
    {"eq", "==", 2},   {"ne", "!=", 2},     {"lt", "<", 2},       {"gt", ">", 2},
    {"le", "<=", 2},   {"ge", ">=", 2},     {"aa", "&&", 2},      {"oo", "||", 2},
    {"aS", "=", 2},    {"pL", "+=", 2},     {"mI", "-=", 2},      {"mL", "*=", 2},
    {"dV", "/=", 2},   {"cm", ",", 2},      {"pp", "++", 1},      {"mm", "--", 1},
    {"pt", "->", 2},   {"cl", "()", 0},     {"ix", "[]", 0},
};

static int take_operator(struct demangler *d) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (take(d, operators[i].code))
            return (int)i;
    return -1;
}

static const struct node *parse_source_name(struct demangler *d) {
    size_t n;
    if (!take_number(d, &n) || n == 0 || n > (size_t)(d->end - d->at))
        return NULL;
    struct tbp_str name = {d->at, n};
    d->at += n;
    bool is_anonymous = tbp_str_starts(name, "_GLOBAL__N");
    return text_node(d, is_anonymous ? TBP_STR("(anonymous namespace)") : name);
}

/* U is taken: Ut_, UlvE_ */
static const struct node *parse_unnamed(struct demangler *d) {
    size_t index;
    if (take(d, "t")) {
        if (!take_index(d, 10, &index))
            return NULL;
        return text_node(d, tbp_str_c(tbp_arena_printf(d->arena, "{unnamed type#%zu}", index + 1)));
    }
    if (!take(d, "l"))
        return NULL;
    d->in_lambda++;
    const struct node *parameters = parse_list(d, parse_type);
    d->in_lambda--;
    if (!parameters || !take_index(d, 10, &index))
        return NULL;
    struct node *function = new_node(d, NODE_FUNCTION);
    if (!function)
        return NULL;
    function->b = parameters;
    return around(d, NODE_BEFORE, "{lambda", function,
                  tbp_arena_printf(d->arena, "#%zu}", index + 1));
}

static struct tbp_str last_name(const struct node *n) {
    while (n && (n->kind == NODE_NESTED || n->kind == NODE_TEMPLATE))
        n = n->kind == NODE_NESTED ? n->b : n->a;
    return n ? n->text : TBP_STR_NONE;
}

static const struct node *parse_unqualified(struct demangler *d, const struct node *scope) {
    const struct node *n = NULL;
    char c = peek(d), second = peek_second(d);
    int op;
    take(d, "L"); /* of internal linkage */
    if (is_digit(peek(d))) {
        n = parse_source_name(d);
    } else if (scope && (c == 'C' || c == 'D') && is_digit(second)) {
        d->at += 2;
        d->is_special_name = true;
        const char *form = c == 'C' ? "%.*s" : "~%.*s";
        struct tbp_str name = last_name(scope);
        n = text_node(d, tbp_str_c(tbp_arena_printf(d->arena, form, (int)name.n, name.p)));
    } else if (take(d, "U")) {
        n = parse_unnamed(d);
    } else if (take(d, "cv")) {
        d->is_special_name = true;
        n = around(d, NODE_BEFORE, "operator ", parse_type(d), "");
    } else if ((op = take_operator(d)) >= 0) {
        n = around(d, NODE_BEFORE, "operator", text_node(d, tbp_str_c(operators[op].text)), "");
    }
    while (n && take(d, "B"))
        n = pair(d, NODE_MEMBER, n, around(d, NODE_BEFORE, "[abi:", parse_source_name(d), "]"));
    return n;
}

/* One part of a nested name; *is_known: it has a number already. */
static const struct node *parse_part(struct demangler *d, const struct node *scope,
                                     bool is_function, bool *is_known) {
    *is_known = false;
    d->ends_in_template = false;
    if (scope && take(d, "I")) {
        const struct node *n = parse_template(d, scope);
        if (n && is_function)
            d->template_args = n->b;
        d->ends_in_template = true;
        return n;
    }
    if (!scope && take(d, "S")) {
        *is_known = true;
        return parse_substitution(d);
    }
    if (!scope && take(d, "T"))
        return parse_parameter(d);
    const struct node *n = parse_unqualified(d, scope);
    return scope ? pair(d, NODE_NESTED, scope, n) : n;
}

/* N is taken. */
static const struct node *parse_nested(struct demangler *d, bool is_function) {
    const char *qualifiers = "";
    for (;; d->at++) {
        if (peek(d) == 'K')
            qualifiers = " const";
        else if (peek(d) != 'V' && peek(d) != 'r' && peek(d) != 'R' && peek(d) != 'O')
            break;
    }
    const struct node *n = NULL;
    bool is_known, is_template = false;
    while (!take(d, "E")) {
        n = parse_part(d, n, is_function, &is_known);
        is_template = d->ends_in_template;
        if (!n || (!is_known && peek(d) != 'E' && !remember(d, n)))
            return NULL;
    }
    d->ends_in_template = is_template;
    return *qualifiers && is_function ? around(d, NODE_BEFORE, "", n, qualifiers) : n;
}

/* Z is taken: what stands inside of a function. */
static const struct node *parse_local(struct demangler *d) {
    const struct node *function = parse_encoding(d);
    size_t number;
    if (!take(d, "E"))
        return NULL;
    if (take(d, "d") && !take_index(d, 10, &number))
        return NULL;
    const struct node *entity =
        take(d, "s") ? text_node(d, TBP_STR("string literal")) : parse_name(d, false);
    if (take(d, "_") && !take_number(d, &number))
        return NULL;
    return pair(d, NODE_NESTED, function, entity);
}

static const struct node *parse_plain_name(struct demangler *d, bool is_function) {
    const struct node *n;
    bool is_known = false;
    d->ends_in_template = false;
    if (take(d, "St"))
        n = pair(d, NODE_NESTED, text_node(d, TBP_STR("std")), parse_unqualified(d, NULL));
    else
        n = parse_part(d, NULL, is_function, &is_known);
    if (!n || !take(d, "I"))
        return n;
    if (!is_known && !remember(d, n))
        return NULL;
    n = parse_template(d, n);
    if (n && is_function)
        d->template_args = n->b;
    d->ends_in_template = true;
    return n;
}

static const struct node *parse_name(struct demangler *d, bool is_function) {
    const struct node *n = NULL;
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    if (take(d, "N"))
        n = parse_nested(d, is_function);
    else if (take(d, "Z"))
        n = parse_local(d);
    else
        n = parse_plain_name(d, is_function);
    d->depth--;
    return n;
}

/* ---- types ---- */

/* F is taken. */
static const struct node *parse_function_type(struct demangler *d) {
    take(d, "Y"); /* extern "C" */
    const struct node *result = parse_type(d);
    return pair(d, NODE_FUNCTION, result, result ? parse_list(d, parse_type) : NULL);
}

/* A is taken. */
static const struct node *parse_array(struct demangler *d) {
    struct tbp_str digits = {d->at, 0};
    while (is_digit(peek(d))) {
        d->at++;
        digits.n++;
    }
    struct node *n = take(d, "_") ? new_node(d, NODE_ARRAY) : NULL;
    if (!n || !(n->a = parse_type(d)))
        return NULL;
    n->text = digits;
    return n;
}

/* D is taken. */
static const struct node *parse_d_type(struct demangler *d, bool *is_known) {
    static const struct {
        char code;
        const char *name;
    } named[] = {{'n', "decltype(nullptr)"}, {'i', "char32_t"}, {'s', "char16_t"},
                 {'u', "char8_t"},           {'a', "auto"},     {'h', "half"}};
    *is_known = true;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (peek(d) == named[i].code) {
            d->at++;
            return text_node(d, tbp_str_c(named[i].name));
        }
    *is_known = false;
    if (take(d, "p"))
        return parse_type(d);
    if (!take(d, "t") && !take(d, "T"))
        return NULL;
    const struct node *n = parse_expression(d);
    return take(d, "E") ? around(d, NODE_BEFORE, "decltype (", n, ")") : NULL;
}

static const struct {
    char code;
    const char *text;
} modifiers[] = {{'P', "*"},      {'R', "&"},         {'O', "&&"},
                 {'K', " const"}, {'V', " volatile"}, {'r', " restrict"}};

static bool is_reference(const struct node *n) {
    return n->kind == NODE_AFTER && (tbp_str_is(n->text, "&") || tbp_str_is(n->text, "&&"));
}

/* A reference to a reference is one: && only if both are. */
static const struct node *modified(struct demangler *d, const struct node *n, const char *text) {
    bool is_ref = *text == '&';
    if (!n || !is_ref || !is_reference(n))
        return around(d, NODE_AFTER, text, n, "");
    return text[1] == '&' || tbp_str_is(n->text, "&") ? n : around(d, NODE_AFTER, "&", n->a, "");
}

/* Of a pack: each of its types. */
static const struct node *modify_all(struct demangler *d, const struct node *list,
                                     const char *text) {
    struct node *first = new_node(d, NODE_LIST), *last = first;
    for (; last && list->next; list = list->next) {
        last->a = modified(d, list->a, text);
        last->next = last->a ? new_node(d, NODE_LIST) : NULL;
        last = last->next;
    }
    return last ? first : NULL;
}

static const struct node *parse_modified(struct demangler *d) {
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
        if (peek(d) == modifiers[i].code) {
            d->at++;
            const struct node *n = parse_type(d);
            return n && n->kind == NODE_LIST ? modify_all(d, n, modifiers[i].text)
                                             : modified(d, n, modifiers[i].text);
        }
    return NULL;
}

static const struct node *parse_template_or(struct demangler *d, const struct node *n,
                                            bool *is_known) {
    if (!n || peek(d) != 'I')
        return n;
    if (!*is_known && !remember(d, n))
        return NULL;
    *is_known = false;
    d->at++;
    return parse_template(d, n);
}

static const struct node *parse_class(struct demangler *d, bool *is_known) {
    if (peek(d) == 'S' && peek_second(d) != 't') {
        d->at++;
        *is_known = true;
        return parse_template_or(d, parse_substitution(d), is_known);
    }
    if (take(d, "T"))
        return parse_template_or(d, parse_parameter(d), is_known);
    const struct node *args = d->template_args;
    const struct node *n = parse_name(d, false);
    d->template_args = args;
    return n;
}

static const struct node *parse_any_type(struct demangler *d, bool *is_known) {
    int builtin = builtin_of(peek(d));
    if (builtin >= 0) {
        d->at++;
        *is_known = true;
        return text_node(d, tbp_str_c(builtins[builtin].name));
    }
    switch (peek(d)) {
    case 'P':
    case 'R':
    case 'O':
    case 'K':
    case 'V':
    case 'r':
        return parse_modified(d);
    case 'F':
        d->at++;
        return parse_function_type(d);
    case 'A':
        d->at++;
        return parse_array(d);
    case 'D':
        d->at++;
        return parse_d_type(d, is_known);
    case 'u':
        d->at++;
        return parse_source_name(d);
    case 'M': {
        d->at++;
        const struct node *of = parse_type(d);
        return around(d, NODE_AFTER, "*", pair(d, NODE_NESTED, of, of ? parse_type(d) : NULL), "");
    }
    default:
        return parse_class(d, is_known);
    }
}

static const struct node *parse_type(struct demangler *d) {
    bool is_known = false;
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    const struct node *n = parse_any_type(d, &is_known);
    d->depth--;
    return is_known ? n : remember(d, n);
}

/* ---- expressions: the simple ones ---- */

static const struct node *parse_operation(struct demangler *d) {
    int op = take_operator(d);
    if (op < 0 || operators[op].operands == 0)
        return NULL;
    const struct node *a = parse_expression(d);
    if (operators[op].operands == 1)
        return around(d, NODE_BEFORE, operators[op].text, around(d, NODE_BEFORE, "(", a, ")"), "");
    const struct node *b = a ? parse_expression(d) : NULL;
    const char *between = tbp_arena_printf(d->arena, ")%s(", operators[op].text);
    return pair(d, NODE_MEMBER, around(d, NODE_BEFORE, "((", a, between),
                around(d, NODE_BEFORE, "", b, "))"));
}

static const struct node *parse_expression(struct demangler *d) {
    const struct node *n = NULL;
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    if (take(d, "L")) {
        n = parse_literal(d);
    } else if (take(d, "T")) {
        n = parse_parameter(d);
    } else if (take(d, "sr")) {
        const struct node *of = parse_type(d);
        n = pair(d, NODE_NESTED, of, of ? parse_source_name(d) : NULL);
        n = n && take(d, "I") ? parse_template(d, n) : n;
    } else if (take(d, "st")) {
        n = around(d, NODE_BEFORE, "sizeof (", parse_type(d), ")");
    } else if (is_digit(peek(d))) {
        n = parse_source_name(d);
    } else {
        n = parse_operation(d);
    }
    d->depth--;
    return n;
}

/* ---- a function or variable with its type ---- */

static const struct node *parse_parameters(struct demangler *d) {
    struct node *first = new_node(d, NODE_LIST), *last = first;
    while (first && peek(d) && peek(d) != 'E' && peek(d) != '.') {
        last->a = parse_type(d);
        last->next = last->a ? new_node(d, NODE_LIST) : NULL;
        last = last->next;
        if (!last)
            return NULL;
    }
    return first;
}

static const struct node *parse_encoding(struct demangler *d) {
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    d->is_special_name = false;
    const struct node *name = parse_name(d, true), *n = name;
    bool has_result = d->ends_in_template && !d->is_special_name;
    if (name && peek(d) && peek(d) != 'E' && peek(d) != '.') {
        struct node *function = new_node(d, NODE_FUNCTION);
        const struct node *result = has_result ? parse_type(d) : NULL;
        bool is_whole = function && (result || !has_result);
        if (is_whole) {
            function->a = result;
            is_whole = (function->b = parse_parameters(d)) != NULL;
        }
        n = is_whole ? pair(d, NODE_NAMED, name, function) : NULL;
    }
    d->depth--;
    return n;
}

/* ---- writing ---- */

struct writer {
    char *text;
    size_t n;
    unsigned depth, steps; /* steps: what is empty can repeat itself, too */
    bool is_full;
};

static void write_node(struct writer *w, const struct node *n);
static void write_left(struct writer *w, const struct node *n);
static void write_right(struct writer *w, const struct node *n);

static void put(struct writer *w, struct tbp_str s) {
    if (s.n > MAX_TEXT - w->n)
        w->is_full = true;
    if (w->is_full)
        return;
    memcpy(w->text + w->n, s.p, s.n);
    w->n += s.n;
}

/* Packs stand in one list with the rest; void alone is no parameter. */
static void write_list(struct writer *w, const struct node *list, bool *is_first) {
    for (; list && list->next && !w->is_full; list = list->next) {
        w->is_full = ++w->steps > MAX_STEPS;
        if (list->a->kind == NODE_LIST) {
            if (++w->depth < MAX_DEPTH)
                write_list(w, list->a, is_first);
            w->depth--;
            continue;
        }
        if (!*is_first)
            put(w, TBP_STR(", "));
        *is_first = false;
        write_node(w, list->a);
    }
}

static void write_parameters(struct writer *w, const struct node *list) {
    bool is_first = true;
    put(w, TBP_STR("("));
    bool is_void = list->next && !list->next->next && list->a->kind == NODE_TEXT &&
                   tbp_str_is(list->a->text, "void");
    if (!is_void)
        write_list(w, list, &is_first);
    put(w, TBP_STR(")"));
}

static bool is_written_around(const struct node *n) {
    return n->kind == NODE_FUNCTION || n->kind == NODE_ARRAY;
}

static void write_template(struct writer *w, const struct node *n) {
    bool is_first = true;
    write_node(w, n->a);
    put(w, TBP_STR("<"));
    write_list(w, n->b, &is_first);
    put(w, w->n && w->text[w->n - 1] == '>' ? TBP_STR(" >") : TBP_STR(">"));
}

static void write_function_of_name(struct writer *w, const struct node *n) {
    const struct node *function = n->b, *name = n->a;
    bool is_const = name->kind == NODE_BEFORE && tbp_str_is(name->more, " const");
    if (function->a) {
        write_left(w, function->a);
        put(w, TBP_STR(" "));
    }
    write_node(w, is_const ? name->a : name);
    write_parameters(w, function->b);
    if (function->a)
        write_right(w, function->a);
    if (is_const)
        put(w, name->more);
}

static void write_left_part(struct writer *w, const struct node *n) {
    switch (n->kind) {
    case NODE_TEXT:
        put(w, n->text);
        break;
    case NODE_NESTED:
    case NODE_MEMBER:
        write_node(w, n->a);
        put(w, n->kind == NODE_NESTED ? TBP_STR("::") : TBP_STR_NONE);
        write_node(w, n->b);
        break;
    case NODE_TEMPLATE:
        write_template(w, n);
        break;
    case NODE_AFTER:
        write_left(w, n->a);
        put(w, is_written_around(n->a) ? TBP_STR("(") : TBP_STR_NONE);
        put(w, n->text);
        break;
    case NODE_BEFORE:
        put(w, n->text);
        write_node(w, n->a);
        put(w, n->more);
        break;
    case NODE_FUNCTION:
    case NODE_ARRAY:
        if (n->a) {
            write_left(w, n->a);
            put(w, TBP_STR(" "));
        }
        break;
    case NODE_NAMED:
        write_function_of_name(w, n);
        break;
    case NODE_LIST: {
        bool is_first = true;
        write_list(w, n, &is_first);
        break;
    }
    }
}

static void write_left(struct writer *w, const struct node *n) {
    if (++w->depth >= MAX_DEPTH || ++w->steps > MAX_STEPS)
        w->is_full = true;
    if (!w->is_full)
        write_left_part(w, n);
    w->depth--;
}

static void write_right(struct writer *w, const struct node *n) {
    if (++w->depth >= MAX_DEPTH)
        w->is_full = true;
    if (!w->is_full && n->kind == NODE_AFTER) {
        put(w, is_written_around(n->a) ? TBP_STR(")") : TBP_STR_NONE);
        write_right(w, n->a);
    } else if (!w->is_full && is_written_around(n)) {
        if (n->kind == NODE_FUNCTION)
            write_parameters(w, n->b);
        put(w, n->kind == NODE_ARRAY ? TBP_STR("[") : TBP_STR_NONE);
        put(w, n->text);
        put(w, n->kind == NODE_ARRAY ? TBP_STR("]") : TBP_STR_NONE);
        if (n->a)
            write_right(w, n->a);
    }
    w->depth--;
}

static void write_node(struct writer *w, const struct node *n) {
    write_left(w, n);
    write_right(w, n);
}

struct tbp_str tbp_demangle(struct tbp_str mangled, struct tbp_arena *a) {
    struct tbp_arena scratch;
    struct tbp_str name = mangled;
    if (!tbp_str_starts(mangled, "_Z"))
        return mangled;
    tbp_arena_init(&scratch);
    struct demangler d = {.at = mangled.p + 2, .end = mangled.p + mangled.n, .arena = &scratch};
    d.substitutions = TBP_NEW_N(&scratch, const struct node *, MAX_SUBSTITUTIONS);
    const struct node *n = parse_encoding(&d);
    if (n && (d.at == d.end || *d.at == '.')) {
        struct writer w = {.text = tbp_arena_alloc(&scratch, MAX_TEXT, 1)};
        write_node(&w, n);
        if (!w.is_full)
            name = tbp_arena_str(a, (struct tbp_str){w.text, w.n});
    }
    tbp_arena_release(&scratch);
    return name;
}
