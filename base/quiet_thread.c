/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads without signals; see quiet_thread.h.
 */
#include "base/quiet_thread.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

int tbp_quiet_thread(pthread_t *thread, const char *name, void *(*run)(void *ctx), void *ctx,
                     struct tbp_error *err) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(thread, NULL, run, ctx);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (code) {
        errno = code;
        return tbp_fail_errno(err, TBP_E_MEMORY, "starting the thread '%s' failed", name);
    }
    pthread_setname_np(*thread, name);
    return TBP_OK;
}

static int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t tbp_monotonic_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

int64_t tbp_realtime_ns(void) {
    return clock_ns(CLOCK_REALTIME);
}
