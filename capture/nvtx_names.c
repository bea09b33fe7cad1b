/* SPDX-License-Identifier: Apache-2.0
 *
 * Registered names of NVTX: lists that only grow, so that reading needs no lock. Programs register
 * tens of names, at start; a search through a list is what they pay for it.
 */
#include "capture/nvtx_names.h"

#include "base/arena.h"
#include "base/guard.h"

#include <pthread.h>

enum name_kind { NAME_DOMAIN, NAME_STRING, NAME_CATEGORY };

struct tbp_nvtx_name {
    struct tbp_nvtx_name *next;
    const struct tbp_nvtx_name *domain;
    struct tbp_str text;
    uint32_t kind, id; /* id: of a category */
};

static struct tbp_nvtx_name *all_names; /* newest first; atomic */
static struct tbp_arena names_arena;
static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_same(const struct tbp_nvtx_name *a, const struct tbp_nvtx_name *b) {
    return a->kind == b->kind && a->domain == b->domain && a->id == b->id &&
           (a->kind == NAME_CATEGORY || tbp_str_eq(a->text, b->text));
}

static struct tbp_nvtx_name *find(const struct tbp_nvtx_name *wanted) {
    struct tbp_nvtx_name *n = __atomic_load_n(&all_names, __ATOMIC_ACQUIRE);
    while (n && !is_same(n, wanted))
        n = n->next;
    return n;
}

struct addition {
    const struct tbp_nvtx_name *wanted;
    struct tbp_nvtx_name *made;
};

static int add(void *ctx, struct tbp_error *err) {
    (void)err;
    struct addition *a = ctx;
    struct tbp_nvtx_name *n =
        tbp_arena_alloc(&names_arena, sizeof *n, _Alignof(struct tbp_nvtx_name));
    *n = *a->wanted;
    n->text = tbp_arena_str(&names_arena, n->text);
    n->next = all_names;
    a->made = n;
    return TBP_OK;
}

/* A category that is named anew gets a new entry, found before the old one. */
static struct tbp_nvtx_name *intern(const struct tbp_nvtx_name *wanted) {
    pthread_mutex_lock(&names_lock);
    struct addition a = {.wanted = wanted, .made = find(wanted)};
    bool is_known = a.made && tbp_str_eq(a.made->text, wanted->text);
    if (!is_known && tbp_guard_run(add, &a, NULL) == TBP_OK)
        __atomic_store_n(&all_names, a.made, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&names_lock);
    return a.made;
}

struct tbp_nvtx_name *tbp_nvtx_domain(struct tbp_str name) {
    return intern(&(struct tbp_nvtx_name){.kind = NAME_DOMAIN, .text = name});
}

struct tbp_nvtx_name *tbp_nvtx_string(const struct tbp_nvtx_name *domain, struct tbp_str text) {
    return intern(&(struct tbp_nvtx_name){.kind = NAME_STRING, .domain = domain, .text = text});
}

struct tbp_str tbp_nvtx_name_text(const struct tbp_nvtx_name *name) {
    return name ? name->text : TBP_STR_NONE;
}

void tbp_nvtx_category_set(const struct tbp_nvtx_name *domain, uint32_t id, struct tbp_str name) {
    intern(
        &(struct tbp_nvtx_name){.kind = NAME_CATEGORY, .domain = domain, .id = id, .text = name});
}

struct tbp_str tbp_nvtx_category(const struct tbp_nvtx_name *domain, uint32_t id) {
    return tbp_nvtx_name_text(
        find(&(struct tbp_nvtx_name){.kind = NAME_CATEGORY, .domain = domain, .id = id}));
}

static size_t put_utf8(char to[4], uint32_t c) {
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)((0xf00 >> n) | c); /* 110, 1110, 11110 before the rest */
    return n;
}

struct tbp_str tbp_nvtx_utf8(char *to, size_t size, const wchar_t *text) {
    size_t n = 0;
    for (; text && *text && n + 4 <= size; text++) {
        uint32_t c = (uint32_t)*text;
        n += put_utf8(to + n, c > 0x10ffff || c >> 11 == 0x1b ? 0xfffd : c);
    }
    return (struct tbp_str){to, n};
}
