/* SPDX-License-Identifier: Apache-2.0
 *
 * See demangle.h. The name becomes a tree, because what comes later may repeat what came earlier
 * by number (S_, T_), and pointers to functions are written around what they point to; then the
 * tree becomes text. Both are bounded: nodes, depth, and bytes of text, since a short name can
 * double itself again and again. Source of the grammar: Itanium C++ ABI, section 5.1.
 */
#include "base/demangle.h"
#include "base/demangle_tree.h"

enum { MAX_NODES = 8192, MAX_SUBSTITUTIONS = 2048, MAX_DEPTH = 160 };

struct demangler {
    const char *at, *end;
    struct tbp_arena *arena;
    size_t n_nodes, n_substitutions;
    unsigned depth, in_lambda;
    const struct tbp_demangled **substitutions;
    const struct tbp_demangled *template_args; /* what T_ stands for */
    bool ends_in_template, is_special_name;
};

static const struct tbp_demangled *parse_type(struct demangler *d);
static const struct tbp_demangled *parse_name(struct demangler *d, bool is_function);
static const struct tbp_demangled *parse_encoding(struct demangler *d);
static const struct tbp_demangled *parse_expression(struct demangler *d);

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

static struct tbp_demangled *new_node(struct demangler *d, enum tbp_demangled_kind kind) {
    if (d->n_nodes++ >= MAX_NODES)
        return NULL;
    struct tbp_demangled *n = TBP_NEW(d->arena, struct tbp_demangled);
    *n = (struct tbp_demangled){.kind = kind, .text = TBP_STR_NONE, .more = TBP_STR_NONE};
    return n;
}

static const struct tbp_demangled *text_node(struct demangler *d, struct tbp_str text) {
    struct tbp_demangled *n = new_node(d, NODE_TEXT);
    if (n)
        n->text = text;
    return n;
}

static const struct tbp_demangled *pair(struct demangler *d, enum tbp_demangled_kind kind,
                                        const struct tbp_demangled *a,
                                        const struct tbp_demangled *b) {
    struct tbp_demangled *n = a && b ? new_node(d, kind) : NULL;
    if (n) {
        n->a = a;
        n->b = b;
    }
    return n;
}

static const struct tbp_demangled *around(struct demangler *d, enum tbp_demangled_kind kind,
                                          const char *text, const struct tbp_demangled *a,
                                          const char *more) {
    struct tbp_demangled *n = a ? new_node(d, kind) : NULL;
    if (n) {
        n->a = a;
        n->text = tbp_str_c(text);
        n->more = tbp_str_c(more);
    }
    return n;
}

static const struct tbp_demangled *remember(struct demangler *d, const struct tbp_demangled *n) {
    if (!n || d->n_substitutions >= MAX_SUBSTITUTIONS)
        return NULL;
    d->substitutions[d->n_substitutions++] = n;
    return n;
}

/* A list up to an E: of types, arguments or expressions. */
static const struct tbp_demangled *
parse_list(struct demangler *d, const struct tbp_demangled *(*item)(struct demangler *)) {
    struct tbp_demangled *first = new_node(d, NODE_LIST), *last = first;
    while (first && !take(d, "E")) {
        const struct tbp_demangled *a = item(d);
        struct tbp_demangled *next = a ? new_node(d, NODE_LIST) : NULL;
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

static const struct tbp_demangled *number_node(struct demangler *d, struct tbp_str digits,
                                               bool is_negative, const char *suffix) {
    return text_node(d, tbp_str_c(tbp_arena_printf(d->arena, "%s%.*s%s", is_negative ? "-" : "",
                                                   (int)digits.n, digits.p, suffix)));
}

/* L is taken: Li128E, Lb1E, L_Z3fooE, LN3ns4enumE2E. */
static const struct tbp_demangled *parse_literal(struct demangler *d) {
    if (take(d, "_Z")) {
        const struct tbp_demangled *n = parse_encoding(d);
        return take(d, "E") ? n : NULL;
    }
    int builtin = builtin_of(peek(d));
    const struct tbp_demangled *type = parse_type(d);
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
    const struct tbp_demangled *value = number_node(d, digits, is_negative, "");
    return pair(d, NODE_JOINED, around(d, NODE_BEFORE, "(", type, ")"), value);
}

static const struct tbp_demangled *parse_argument(struct demangler *d) {
    if (take(d, "L"))
        return parse_literal(d);
    if (take(d, "J"))
        return parse_list(d, parse_argument);
    if (!take(d, "X"))
        return parse_type(d);
    const struct tbp_demangled *n = parse_expression(d);
    return take(d, "E") ? n : NULL;
}

/* I is taken. */
static const struct tbp_demangled *parse_template(struct demangler *d,
                                                  const struct tbp_demangled *name) {
    return pair(d, NODE_TEMPLATE, name, parse_list(d, parse_argument));
}

/* T is taken. */
static const struct tbp_demangled *parse_parameter(struct demangler *d) {
    size_t index;
    if (!take_index(d, 10, &index))
        return NULL;
    if (d->in_lambda)
        return text_node(d, tbp_str_c(tbp_arena_printf(d->arena, "auto:%zu", index + 1)));
    const struct tbp_demangled *n = d->template_args;
    while (n && n->next && index--)
        n = n->next;
    return n ? n->a : NULL;
}

/* S is taken. */
static const struct tbp_demangled *parse_substitution(struct demangler *d) {
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

static const struct tbp_demangled *parse_source_name(struct demangler *d) {
    size_t n;
    if (!take_number(d, &n) || n == 0 || n > (size_t)(d->end - d->at))
        return NULL;
    struct tbp_str name = {d->at, n};
    d->at += n;
    bool is_anonymous = tbp_str_starts(name, "_GLOBAL__N");
    return text_node(d, is_anonymous ? TBP_STR("(anonymous namespace)") : name);
}

/* U is taken: Ut_, UlvE_ */
static const struct tbp_demangled *parse_unnamed(struct demangler *d) {
    size_t index;
    if (take(d, "t")) {
        if (!take_index(d, 10, &index))
            return NULL;
        return text_node(d, tbp_str_c(tbp_arena_printf(d->arena, "{unnamed type#%zu}", index + 1)));
    }
    if (!take(d, "l"))
        return NULL;
    d->in_lambda++;
    const struct tbp_demangled *parameters = parse_list(d, parse_type);
    d->in_lambda--;
    if (!parameters || !take_index(d, 10, &index))
        return NULL;
    struct tbp_demangled *function = new_node(d, NODE_FUNCTION);
    if (!function)
        return NULL;
    function->b = parameters;
    return around(d, NODE_BEFORE, "{lambda", function,
                  tbp_arena_printf(d->arena, "#%zu}", index + 1));
}

static struct tbp_str last_name(const struct tbp_demangled *n) {
    while (n && (n->kind == NODE_NESTED || n->kind == NODE_TEMPLATE))
        n = n->kind == NODE_NESTED ? n->b : n->a;
    return n ? n->text : TBP_STR_NONE;
}

static const struct tbp_demangled *parse_unqualified(struct demangler *d,
                                                     const struct tbp_demangled *scope) {
    const struct tbp_demangled *n = NULL;
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
        n = pair(d, NODE_JOINED, n, around(d, NODE_BEFORE, "[abi:", parse_source_name(d), "]"));
    return n;
}

/* One part of a nested name; *is_known: it has a number already. */
static const struct tbp_demangled *parse_part(struct demangler *d,
                                              const struct tbp_demangled *scope, bool is_function,
                                              bool *is_known) {
    *is_known = false;
    d->ends_in_template = false;
    if (scope && take(d, "I")) {
        const struct tbp_demangled *n = parse_template(d, scope);
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
    const struct tbp_demangled *n = parse_unqualified(d, scope);
    return scope ? pair(d, NODE_NESTED, scope, n) : n;
}

/* N is taken. */
static const struct tbp_demangled *parse_nested(struct demangler *d, bool is_function) {
    const char *qualifiers = "";
    for (;; d->at++) {
        if (peek(d) == 'K')
            qualifiers = " const";
        else if (peek(d) != 'V' && peek(d) != 'r' && peek(d) != 'R' && peek(d) != 'O')
            break;
    }
    const struct tbp_demangled *n = NULL;
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
static const struct tbp_demangled *parse_local(struct demangler *d) {
    const struct tbp_demangled *function = parse_encoding(d);
    size_t number;
    if (!take(d, "E"))
        return NULL;
    if (take(d, "d") && !take_index(d, 10, &number))
        return NULL;
    const struct tbp_demangled *entity =
        take(d, "s") ? text_node(d, TBP_STR("string literal")) : parse_name(d, false);
    if (take(d, "_") && !take_number(d, &number))
        return NULL;
    return pair(d, NODE_NESTED, function, entity);
}

static const struct tbp_demangled *parse_plain_name(struct demangler *d, bool is_function) {
    const struct tbp_demangled *n;
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

static const struct tbp_demangled *parse_name(struct demangler *d, bool is_function) {
    const struct tbp_demangled *n = NULL;
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
static const struct tbp_demangled *parse_function_type(struct demangler *d) {
    take(d, "Y"); /* extern "C" */
    const struct tbp_demangled *result = parse_type(d);
    return pair(d, NODE_FUNCTION, result, result ? parse_list(d, parse_type) : NULL);
}

/* A is taken. */
static const struct tbp_demangled *parse_array(struct demangler *d) {
    struct tbp_str digits = {d->at, 0};
    while (is_digit(peek(d))) {
        d->at++;
        digits.n++;
    }
    struct tbp_demangled *n = take(d, "_") ? new_node(d, NODE_ARRAY) : NULL;
    if (!n || !(n->a = parse_type(d)))
        return NULL;
    n->text = digits;
    return n;
}

/* D is taken. */
static const struct tbp_demangled *parse_d_type(struct demangler *d, bool *is_known) {
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
    const struct tbp_demangled *n = parse_expression(d);
    return take(d, "E") ? around(d, NODE_BEFORE, "decltype (", n, ")") : NULL;
}

static const struct {
    char code;
    const char *text;
} modifiers[] = {{'P', "*"},      {'R', "&"},         {'O', "&&"},
                 {'K', " const"}, {'V', " volatile"}, {'r', " restrict"}};

static bool is_reference(const struct tbp_demangled *n) {
    return n->kind == NODE_AFTER && (tbp_str_is(n->text, "&") || tbp_str_is(n->text, "&&"));
}

/* A reference to a reference is one: && only if both are. */
static const struct tbp_demangled *modified(struct demangler *d, const struct tbp_demangled *n,
                                            const char *text) {
    bool is_ref = *text == '&';
    if (!n || !is_ref || !is_reference(n))
        return around(d, NODE_AFTER, text, n, "");
    return text[1] == '&' || tbp_str_is(n->text, "&") ? n : around(d, NODE_AFTER, "&", n->a, "");
}

/* Of a pack: each of its types. */
static const struct tbp_demangled *modify_all(struct demangler *d, const struct tbp_demangled *list,
                                              const char *text) {
    struct tbp_demangled *first = new_node(d, NODE_LIST), *last = first;
    for (; last && list->next; list = list->next) {
        last->a = modified(d, list->a, text);
        last->next = last->a ? new_node(d, NODE_LIST) : NULL;
        last = last->next;
    }
    return last ? first : NULL;
}

static const struct tbp_demangled *parse_modified(struct demangler *d) {
    for (size_t i = 0; i < sizeof modifiers / sizeof *modifiers; i++)
        if (peek(d) == modifiers[i].code) {
            d->at++;
            const struct tbp_demangled *n = parse_type(d);
            return n && n->kind == NODE_LIST ? modify_all(d, n, modifiers[i].text)
                                             : modified(d, n, modifiers[i].text);
        }
    return NULL;
}

static const struct tbp_demangled *
parse_template_or(struct demangler *d, const struct tbp_demangled *n, bool *is_known) {
    if (!n || peek(d) != 'I')
        return n;
    if (!*is_known && !remember(d, n))
        return NULL;
    *is_known = false;
    d->at++;
    return parse_template(d, n);
}

static const struct tbp_demangled *parse_class(struct demangler *d, bool *is_known) {
    if (peek(d) == 'S' && peek_second(d) != 't') {
        d->at++;
        *is_known = true;
        return parse_template_or(d, parse_substitution(d), is_known);
    }
    if (take(d, "T"))
        return parse_template_or(d, parse_parameter(d), is_known);
    const struct tbp_demangled *args = d->template_args;
    const struct tbp_demangled *n = parse_name(d, false);
    d->template_args = args;
    return n;
}

static const struct tbp_demangled *parse_any_type(struct demangler *d, bool *is_known) {
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
        const struct tbp_demangled *of = around(d, NODE_BEFORE, " ", parse_type(d), "::*");
        return of ? pair(d, NODE_JOINED, parse_type(d), of) : NULL;
    }
    default:
        return parse_class(d, is_known);
    }
}

static const struct tbp_demangled *parse_type(struct demangler *d) {
    bool is_known = false;
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    const struct tbp_demangled *n = parse_any_type(d, &is_known);
    d->depth--;
    return is_known ? n : remember(d, n);
}

/* ---- expressions: the simple ones ---- */

static const struct tbp_demangled *parse_operation(struct demangler *d) {
    int op = take_operator(d);
    if (op < 0 || operators[op].operands == 0)
        return NULL;
    const struct tbp_demangled *a = parse_expression(d);
    if (operators[op].operands == 1)
        return around(d, NODE_BEFORE, operators[op].text, around(d, NODE_BEFORE, "(", a, ")"), "");
    const struct tbp_demangled *b = a ? parse_expression(d) : NULL;
    const char *between = tbp_arena_printf(d->arena, ")%s(", operators[op].text);
    return pair(d, NODE_JOINED, around(d, NODE_BEFORE, "((", a, between),
                around(d, NODE_BEFORE, "", b, "))"));
}

static const struct tbp_demangled *parse_expression(struct demangler *d) {
    const struct tbp_demangled *n = NULL;
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    if (take(d, "L")) {
        n = parse_literal(d);
    } else if (take(d, "T")) {
        n = parse_parameter(d);
    } else if (take(d, "sr")) {
        const struct tbp_demangled *of = parse_type(d);
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

static const struct tbp_demangled *parse_parameters(struct demangler *d) {
    struct tbp_demangled *first = new_node(d, NODE_LIST), *last = first;
    while (first && peek(d) && peek(d) != 'E' && peek(d) != '.') {
        last->a = parse_type(d);
        last->next = last->a ? new_node(d, NODE_LIST) : NULL;
        last = last->next;
        if (!last)
            return NULL;
    }
    return first;
}

static const struct tbp_demangled *parse_encoding(struct demangler *d) {
    if (d->depth >= MAX_DEPTH)
        return NULL;
    d->depth++;
    d->is_special_name = false;
    const struct tbp_demangled *name = parse_name(d, true), *n = name;
    bool has_result = d->ends_in_template && !d->is_special_name;
    if (name && peek(d) && peek(d) != 'E' && peek(d) != '.') {
        struct tbp_demangled *function = new_node(d, NODE_FUNCTION);
        const struct tbp_demangled *result = has_result ? parse_type(d) : NULL;
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

struct tbp_str tbp_demangle(struct tbp_str mangled, struct tbp_arena *a) {
    struct tbp_arena scratch;
    struct tbp_str name = mangled;
    if (!tbp_str_starts(mangled, "_Z"))
        return mangled;
    tbp_arena_init(&scratch);
    struct demangler d = {.at = mangled.p + 2, .end = mangled.p + mangled.n, .arena = &scratch};
    d.substitutions = TBP_NEW_N(&scratch, const struct tbp_demangled *, MAX_SUBSTITUTIONS);
    const struct tbp_demangled *n = parse_encoding(&d);
    if (n && (d.at == d.end || *d.at == '.')) {
        struct tbp_str readable = tbp_demangled_text(n, &scratch);
        if (readable.n)
            name = tbp_arena_str(a, readable);
    }
    tbp_arena_release(&scratch);
    return name;
}
