/* SPDX-License-Identifier: Apache-2.0
 *
 * The tree of a mangled name as text. What points to a function or an array is written around it:
 * each node has a left and a right part. See demangle_tree.h.
 */
#include "base/demangle_tree.h"

enum { MAX_DEPTH = 160, MAX_TEXT = 1 << 16, MAX_STEPS = 1 << 18 };

struct writer {
    char *text;
    size_t n;
    unsigned depth, steps; /* steps: what is empty can repeat itself, too */
    bool is_full;
};

static void write_node(struct writer *w, const struct tbp_demangled *n);
static void write_left(struct writer *w, const struct tbp_demangled *n);
static void write_right(struct writer *w, const struct tbp_demangled *n);

static void put(struct writer *w, struct tbp_str s) {
    if (s.n > MAX_TEXT - w->n)
        w->is_full = true;
    if (w->is_full)
        return;
    memcpy(w->text + w->n, s.p, s.n);
    w->n += s.n;
}

/* Packs stand in one list with the rest; void alone is no parameter. */
static void write_list(struct writer *w, const struct tbp_demangled *list, bool *is_first) {
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

static void write_parameters(struct writer *w, const struct tbp_demangled *list) {
    bool is_first = true;
    put(w, TBP_STR("("));
    bool is_void = list->next && !list->next->next && list->a->kind == NODE_TEXT &&
                   tbp_str_is(list->a->text, "void");
    if (!is_void)
        write_list(w, list, &is_first);
    put(w, TBP_STR(")"));
}

static bool is_written_around(const struct tbp_demangled *n) {
    return n->kind == NODE_FUNCTION || n->kind == NODE_ARRAY;
}

static void write_template(struct writer *w, const struct tbp_demangled *n) {
    bool is_first = true;
    write_node(w, n->a);
    put(w, TBP_STR("<"));
    write_list(w, n->b, &is_first);
    put(w, w->n && w->text[w->n - 1] == '>' ? TBP_STR(" >") : TBP_STR(">"));
}

static void write_function_of_name(struct writer *w, const struct tbp_demangled *n) {
    const struct tbp_demangled *function = n->b, *name = n->a;
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

static void write_left_part(struct writer *w, const struct tbp_demangled *n) {
    switch (n->kind) {
    case NODE_TEXT:
        put(w, n->text);
        break;
    case NODE_NESTED:
    case NODE_JOINED:
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

static void write_left(struct writer *w, const struct tbp_demangled *n) {
    if (++w->depth >= MAX_DEPTH || ++w->steps > MAX_STEPS)
        w->is_full = true;
    if (!w->is_full)
        write_left_part(w, n);
    w->depth--;
}

static void write_right(struct writer *w, const struct tbp_demangled *n) {
    if (++w->depth >= MAX_DEPTH)
        w->is_full = true;
    if (!w->is_full && n->kind == NODE_AFTER) {
        put(w, is_written_around(n->a) ? TBP_STR(")") : TBP_STR_NONE);
        write_right(w, n->a);
    } else if (!w->is_full && is_written_around(n)) {
        if (n->kind == NODE_FUNCTION)
            write_parameters(w, n->b);
        put(w, n->kind == NODE_ARRAY ? TBP_STR(" [") : TBP_STR_NONE);
        put(w, n->text);
        put(w, n->kind == NODE_ARRAY ? TBP_STR("]") : TBP_STR_NONE);
        if (n->a)
            write_right(w, n->a);
    }
    w->depth--;
}

static void write_node(struct writer *w, const struct tbp_demangled *n) {
    write_left(w, n);
    write_right(w, n);
}

struct tbp_str tbp_demangled_text(const struct tbp_demangled *n, struct tbp_arena *a) {
    struct writer w = {.text = tbp_arena_alloc(a, MAX_TEXT, 1)};
    write_node(&w, n);
    return w.is_full ? TBP_STR_NONE : (struct tbp_str){w.text, w.n};
}
