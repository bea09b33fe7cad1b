/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges of different domains may cross, scopes cannot: those above a range that ends are ended
 * with it and begun again.
 */
#include "capture/range_stack.h"

#include "capture/tbprof.h"
#include "capture/thread.h"

#include <string.h>

enum {
    MAX_DEPTH = 128,    /* of ranges on one thread */
    MAX_REOPENED = 104, /* bytes kept of a name, in case its range is cut in two */
};

struct range {
    const void *domain;
    tbprof_scope scope;
    uint32_t size;
    char name[MAX_REOPENED - sizeof(uint32_t)];
};
struct stack {      /* of the thread's open ranges */
    uint32_t depth; /* may exceed MAX_DEPTH: ranges deeper than that are only counted */
    struct range ranges[MAX_DEPTH];
};

/* NULL: no memory. Not thread-local storage, see capture/thread.h. */
static struct stack *my_stack(void) {
    return tbp_thread_extra(sizeof(struct stack));
}

int tbp_range_push(const void *domain, struct tbp_str name, bool is_wanted) {
    struct stack *stack = my_stack();
    if (!stack)
        return TBP_RANGE_NO_MEMORY;
    uint32_t depth = stack->depth++;
    if (depth >= MAX_DEPTH)
        return (int)depth;
    struct range *r = &stack->ranges[depth];
    r->domain = domain;
    r->scope = is_wanted ? tbprof_scope_begin_dyn(name.p, name.n, 1) : 0;
    r->size = (uint32_t)(name.n < sizeof r->name ? name.n : sizeof r->name);
    if (r->scope)
        memcpy(r->name, name.p, r->size);
    return (int)depth;
}

static void end_range(struct stack *stack, uint32_t at) {
    tbprof_scope_end(stack->ranges[at].scope);
    stack->depth--;
    for (uint32_t i = at; i < stack->depth; i++) {
        struct range *r = &stack->ranges[i];
        *r = stack->ranges[i + 1];
        if (r->scope)
            r->scope = tbprof_scope_begin_dyn(r->name, r->size, 1);
    }
}

int tbp_range_pop(const void *domain) {
    struct stack *stack = my_stack();
    if (!stack)
        return TBP_RANGE_NO_MEMORY;
    if (stack->depth > MAX_DEPTH) {
        static bool has_warned; /* atomic */
        if (!__atomic_exchange_n(&has_warned, true, __ATOMIC_RELAXED))
            tbprof_warn("ranges of NVTX or ITT nested deeper than 128 were not recorded");
        return (int)--stack->depth;
    }
    for (uint32_t at = stack->depth; at-- > 0;)
        if (stack->ranges[at].domain == domain) {
            end_range(stack, at);
            return (int)at;
        }
    return TBP_RANGE_NONE_OPEN;
}
