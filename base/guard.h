/* SPDX-License-Identifier: Apache-2.0
 *
 * tbp_guard_run: calls fn(ctx, err) so that exhausted memory anywhere below (arena, vec, map)
 * becomes TBP_E_MEMORY instead of the end of the process, and so does a mapped input that became
 * shorter while it was read (SIGBUS), with TBP_E_TRUNCATED. Resources that fn opens must be owned
 * by ctx, since fn may be left by a jump; heap arrays local to fn then leak (bounded by one failed
 * conversion). One guard per thread may be active inside another; the pool (base/pool.h) guards its
 * jobs.
 */
#ifndef TBP_BASE_GUARD_H
#define TBP_BASE_GUARD_H

#include "base/status.h"

typedef int tbp_guard_fn(void *ctx, struct tbp_error *err);
int tbp_guard_run(tbp_guard_fn *fn, void *ctx, struct tbp_error *err);
_Noreturn void tbp_out_of_memory(size_t size_bytes);

/* For the handler of SIGBUS, which must not block the signal (SA_NODEFER): leaves by the guard of
 * the thread if the address lies in a mapped input, else returns. Also for write(2), which fails
 * with EFAULT where a copy would raise the signal. Bytes of inputs are never touched under a lock
 * without a guard, and by no function of the C library that holds one. */
void tbp_guard_bus_error(const void *address);

#endif
