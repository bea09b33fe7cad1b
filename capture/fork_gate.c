/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/fork_gate.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* Recursive for a signal handler that forks. */
static pthread_mutex_t gate = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

void tbp_fork_gate_enter(void) {
    pthread_mutex_lock(&gate);
}

void tbp_fork_gate_leave(void) {
    pthread_mutex_unlock(&gate);
}

bool tbp_fork_gate_close(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    return pthread_mutex_timedlock(&gate, &until) == 0;
}

void tbp_fork_gate_after_fork(void) {
    static const pthread_mutex_t free_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    memcpy(&gate, &free_lock, sizeof gate);
}
