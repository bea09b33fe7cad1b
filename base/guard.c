/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread's guard against exhausted memory and lost inputs; see guard.h. One thread-local
 * pointer to the innermost guard.
 */
#include "base/guard.h"

#include "base/mapped.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

struct guard {
    jmp_buf at;
    struct guard *outer;
    size_t wanted_bytes;
    const char *shortened; /* path of an input, or NULL: memory it was */
};

static _Thread_local struct guard *innermost;

int tbp_guard_run(tbp_guard_fn *fn, void *ctx, struct tbp_error *err) {
    struct guard g = {.outer = innermost};
    if (setjmp(g.at)) {
        innermost = g.outer;
        if (g.shortened)
            return tbp_fail(err, TBP_E_TRUNCATED, "'%s' became shorter while it was read",
                            g.shortened);
        return tbp_fail(err, TBP_E_MEMORY, "out of memory (%zu bytes wanted)", g.wanted_bytes);
    }
    innermost = &g;
    int status = fn(ctx, err);
    innermost = g.outer;
    return status;
}

void tbp_guard_bus_error(const void *address) {
    const char *path = tbp_mapped_path(address);
    if (!path || !innermost)
        return;
    innermost->shortened = path;
    longjmp(innermost->at, 1);
}

void tbp_out_of_memory(size_t size_bytes) {
    if (innermost) {
        innermost->wanted_bytes = size_bytes;
        longjmp(innermost->at, 1);
    }
    fprintf(stderr, "tbprof: out of memory (%zu bytes wanted)\n", size_bytes);
    exit(1);
}
