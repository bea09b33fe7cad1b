/* SPDX-License-Identifier: Apache-2.0
 *
 * The open ranges of a thread, for annotations that know of no handles: NVTX, ITT. A pop ends the
 * innermost range of its domain. The stack is right also for ranges that began while nothing was
 * recorded. Thread-safety: each thread has its own.
 */
#ifndef TBP_CAPTURE_RANGE_STACK_H
#define TBP_CAPTURE_RANGE_STACK_H

#include "base/str.h"

enum {
    TBP_RANGE_NO_MEMORY = -1,
    TBP_RANGE_NONE_OPEN = -2, /* as NVTX has it */
};

/* Depth of the new range, or a code. domain: any address, compared only. is_wanted: it becomes a
 * scope; else name is not looked at. */
int tbp_range_push(const void *domain, struct tbp_str name, bool is_wanted);
/* Depth of the range that has ended, or a code. */
int tbp_range_pop(const void *domain);

#endif
