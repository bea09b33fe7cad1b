/* SPDX-License-Identifier: Apache-2.0
 *
 * Errors of the public interface: a status, and a text per thread.
 */
#include "capture/last_error.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not thread-local variables: the library's few of those are in static TLS, of which a process that
 * loads it late (Python) has little left. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    bool has_key;
    struct tbp_thread_texts spare; /* where there is no memory: shared by all threads */
} texts = {.once = PTHREAD_ONCE_INIT};

static void make_key(void) {
    texts.has_key = pthread_key_create(&texts.key, free) == 0;
}

struct tbp_thread_texts *tbp_thread_texts(void) {
    pthread_once(&texts.once, make_key);
    struct tbp_thread_texts *mine = texts.has_key ? pthread_getspecific(texts.key) : NULL;
    if (mine)
        return mine;
    mine = texts.has_key ? calloc(1, sizeof *mine) : NULL;
    if (mine && pthread_setspecific(texts.key, mine) == 0) {
        /* what was said while there was no memory is asked for when there is some again */
        memcpy(mine, &texts.spare, sizeof *mine);
        texts.spare.error[0] = texts.spare.run[0] = 0;
        return mine;
    }
    free(mine);
    return &texts.spare;
}

static const struct {
    int code;
    tbprof_status status;
} statuses[] = {
    {TBP_OK, TBPROF_OK},
    {TBP_E_USAGE, TBPROF_INVALID_ARGUMENT},
    {TBP_E_NOT_FOUND, TBPROF_NOT_FOUND},
    {TBP_E_IO, TBPROF_UNAVAILABLE},
    {TBP_E_OPTION, TBPROF_INVALID_ARGUMENT},
    {TBP_E_MEMORY, TBPROF_RESOURCE_EXHAUSTED},
    {TBP_E_LIMIT, TBPROF_RESOURCE_EXHAUSTED},
    {TBP_E_UNSUPPORTED, TBPROF_UNIMPLEMENTED},
    {TBP_E_INTERRUPTED, TBPROF_CANCELLED},
};

tbprof_status tbp_last_error_status(int code) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return TBPROF_INTERNAL;
}

tbprof_status tbp_last_error_set(tbprof_status status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vsnprintf(tbp_thread_texts()->error, sizeof texts.spare.error, fmt, args);
    va_end(args);
    return status;
}

tbprof_status tbp_last_error_from(const struct tbp_error *err) {
    tbp_error_text(err, tbp_thread_texts()->error, sizeof texts.spare.error);
    return tbp_last_error_status(err->code);
}

const char *tbprof_last_error(void) {
    return tbp_thread_texts()->error;
}

const char *tbprof_version(void) {
    return TBP_VERSION;
}
