/* SPDX-License-Identifier: Apache-2.0
 *
 * tbp_guard_run: calls fn(ctx, err) so that exhausted memory anywhere below (arena, vec, map)
 * becomes TBP_E_MEMORY instead of the end of the process. Resources that fn opens must be owned by
 * ctx, since fn may be left by a jump; heap arrays local to fn then leak (bounded by one failed
 * conversion). One guard per thread may be active inside another; the pool (base/pool.h) guards its
 * jobs.
 */
#ifndef TBP_BASE_GUARD_H
#define TBP_BASE_GUARD_H

#include "base/status.h"

typedef int tbp_guard_fn(void *ctx, struct tbp_error *err);
int tbp_guard_run(tbp_guard_fn *fn, void *ctx, struct tbp_error *err);
_Noreturn void tbp_out_of_memory(size_t size_bytes);

#endif
