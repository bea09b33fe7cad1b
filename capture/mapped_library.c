/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/mapped_library.h"

#include <link.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* Taken before the loader's own; recursive for a signal handler that forks. */
static pthread_mutex_t look_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static int has_name(struct dl_phdr_info *info, size_t size, void *context) {
    const char *path = info->dlpi_name ? info->dlpi_name : "", *slash = strrchr(path, '/');
    const char *name = context;
    (void)size;
    return strncmp(slash ? slash + 1 : path, name, strlen(name)) == 0;
}

bool tbp_library_is_mapped(const char *name) {
    pthread_mutex_lock(&look_lock);
    bool is_mapped = dl_iterate_phdr(has_name, (void *)(uintptr_t)name) != 0;
    pthread_mutex_unlock(&look_lock);
    return is_mapped;
}

bool tbp_libraries_hold(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1; /* a look takes microseconds, on a processor of its own */
    return pthread_mutex_timedlock(&look_lock, &until) == 0;
}

void tbp_libraries_unhold(void) {
    pthread_mutex_unlock(&look_lock);
}

void tbp_libraries_after_fork(void) {
    static const pthread_mutex_t free_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
    memcpy(&look_lock, &free_lock, sizeof look_lock);
}
