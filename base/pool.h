/* SPDX-License-Identifier: Apache-2.0
 *
 * A fixed pool of threads that runs independent jobs 0 … n-1.
 *
 * tbp_pool_for blocks until all jobs are done; the calling thread works too. It may be called from
 * inside a job (the inner jobs then run on whoever is free, at least on the caller). Jobs write to
 * places of their own index, so results do not depend on the number of threads. A pool pointer of
 * NULL means: run on the calling thread.
 */
#ifndef TBP_BASE_POOL_H
#define TBP_BASE_POOL_H

#include "base/status.h"

enum { TBP_POOL_MOST_THREADS = 256 };

struct tbp_pool;
/* 0: one per available processor; never more than the most. NULL for one thread. */
struct tbp_pool *tbp_pool_new(unsigned n_threads);
void tbp_pool_free(struct tbp_pool *p); /* NULL is fine */
unsigned tbp_pool_threads(const struct tbp_pool *p);
/* Every job runs even if another fails; returns the failure of the lowest failing index, or TBP_OK.
 */
int tbp_pool_for(struct tbp_pool *p, size_t n,
                 int (*job)(void *ctx, size_t i, struct tbp_error *err), void *ctx,
                 struct tbp_error *err);
/* The same, but jobs with more to do, as size tells, begin first: so that none of them is begun
 * last and waited for alone. */
int tbp_pool_for_sized(struct tbp_pool *p, size_t n, uint64_t (*size)(void *ctx, size_t i),
                       int (*job)(void *ctx, size_t i, struct tbp_error *err), void *ctx,
                       struct tbp_error *err);

#endif
