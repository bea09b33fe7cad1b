/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_names.h. The libraries are never called under the lock.
 */
#include "capture/gpu_names.h"

#include "capture/thread.h"

#include <pthread.h>
#include <stdio.h>

enum { MAX_NAMES = 1024, PER_THREAD_STREAM = 0 };

/* Functions of libraries, which stay loaded; NULL: nobody can be asked. */
struct asking {
    int (*context_of)(void *stream, void **context);
    int (*context_id)(void *context, uint32_t *id);
    int (*device_id)(void *context, uint32_t *id);
    int (*stream_id)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
};

static struct {
    pthread_mutex_t lock;
    struct asking asking;
    struct tbp_gpu_name at[MAX_NAMES];
    unsigned n;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Signal handlers on this thread record nothing meanwhile: they might name something. */
static uint32_t lock(void) {
    uint32_t held = tbp_thread_hold();
    pthread_mutex_lock(&names.lock);
    return held;
}

static void unlock(uint32_t held) {
    pthread_mutex_unlock(&names.lock);
    tbp_thread_unhold(held);
}

void tbp_gpu_names_by(const struct tbp_cupti *cupti, const struct tbp_cuda *cuda) {
    uint32_t held = lock();
    names.asking = (struct asking){0};
    if (cupti && cuda && cuda->stream_context && cupti->GetContextId && cupti->GetDeviceId &&
        cupti->GetStreamIdEx)
        names.asking = (struct asking){cuda->stream_context, cupti->GetContextId,
                                       cupti->GetDeviceId, cupti->GetStreamIdEx};
    unlock(held);
}

static void add(struct tbp_gpu_name *name, struct tbp_str text) {
    snprintf(name->text, sizeof name->text, "%.*s", (int)text.n, text.p);
    uint32_t held = lock();
    if (text.n > 0 && names.n < MAX_NAMES)
        names.at[names.n++] = *name;
    unlock(held);
}

static bool can_ask(struct asking *a) {
    uint32_t held = lock();
    *a = names.asking;
    unlock(held);
    return a->context_of != NULL;
}

void tbp_gpu_name_device(uint32_t ordinal, struct tbp_str text) {
    struct tbp_gpu_name name = {.what = TBP_GPU_NAMED_DEVICE, .device = ordinal};
    add(&name, text);
}

static bool find_context(const struct asking *a, void *context, struct tbp_gpu_name *name) {
    return context && a->context_id(context, &name->context) == 0 &&
           a->device_id(context, &name->device) == 0;
}

void tbp_gpu_name_context(void *context, struct tbp_str text) {
    struct tbp_gpu_name name = {.what = TBP_GPU_NAMED_CONTEXT};
    struct asking a;
    if (can_ask(&a) && find_context(&a, context, &name))
        add(&name, text);
}

void tbp_gpu_name_stream(void *stream, struct tbp_str text) {
    struct tbp_gpu_name name = {.what = TBP_GPU_NAMED_STREAM};
    struct asking a;
    void *context = NULL;
    if (can_ask(&a) && a.context_of(stream, &context) == 0 && find_context(&a, context, &name) &&
        a.stream_id(NULL, stream, PER_THREAD_STREAM, &name.stream) == 0)
        add(&name, text);
}

bool tbp_gpu_names_get(unsigned n, struct tbp_gpu_name *name) {
    uint32_t held = lock();
    bool is_there = n < names.n;
    if (is_there)
        *name = names.at[n];
    unlock(held);
    return is_there;
}

void tbp_gpu_names_after_fork(void) {
    pthread_mutex_init(&names.lock, NULL);
    names.asking = (struct asking){0};
}
