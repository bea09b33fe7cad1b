/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin_data/entries.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_bool is_stopping;
static atomic_int n_begun; /* threads between begin and end */

bool tbp_entry_begin(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    atomic_fetch_add(&n_begun, 1);
    return !atomic_load(&is_stopping);
}

void tbp_entry_end(const sigset_t *before) {
    int saved = errno;
    atomic_fetch_sub(&n_begun, 1);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = saved;
}

void tbp_entries_stop(void) {
    enum { PATIENCE = 1000 };
    static const struct timespec moment = {0, 1000000};
    atomic_store(&is_stopping, true);
    /* they hold signals back, so the interrupted thread is none of them and they get on */
    for (int i = 0; i < PATIENCE && atomic_load(&n_begun) > 0; ++i)
        nanosleep(&moment, NULL);
}

bool tbp_entries_are_stopped(void) {
    return atomic_load(&is_stopping);
}
