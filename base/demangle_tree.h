/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of demangle.h: the tree of a mangled name. Nodes are shared, since a name repeats its
 * parts by number; a tree of few nodes may be a text without end, so writing it is bounded.
 */
#ifndef TBP_BASE_DEMANGLE_TREE_H
#define TBP_BASE_DEMANGLE_TREE_H

#include "base/arena.h"

enum tbp_demangled_kind {
    NODE_TEXT,
    NODE_NESTED,   /* a::b */
    NODE_TEMPLATE, /* a<b, …> */
    NODE_AFTER,    /* a, then text: pointers, qualifiers */
    NODE_BEFORE,   /* text, then a, then more */
    NODE_FUNCTION, /* a: result or NULL, b: parameters */
    NODE_NAMED,    /* function of a name: a, with the function b */
    NODE_ARRAY,    /* of a; text: the number in brackets */
    NODE_JOINED,   /* a, then b */
    NODE_LIST,     /* a, and next */
};

struct tbp_demangled {
    enum tbp_demangled_kind kind;
    struct tbp_str text, more;
    const struct tbp_demangled *a, *b;
    struct tbp_demangled *next;
};

/* Empty: it would be absurdly long or deep. */
struct tbp_str tbp_demangled_text(const struct tbp_demangled *n, struct tbp_arena *a);

#endif
