/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of the profiler inside somebody else's program: with a name, and with all signals
 * blocked, so that the program's handlers run on its own threads. And the clock they sleep by.
 */
#ifndef TBP_BASE_QUIET_THREAD_H
#define TBP_BASE_QUIET_THREAD_H

#include "base/status.h"

#include <pthread.h>

int tbp_quiet_thread(pthread_t *thread, const char *name, void *(*run)(void *ctx), void *ctx,
                     struct tbp_error *err);

int64_t tbp_monotonic_ns(void);
int64_t tbp_realtime_ns(void);

#endif
