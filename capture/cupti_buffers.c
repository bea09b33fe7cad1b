/* SPDX-License-Identifier: Apache-2.0
 *
 * See cupti_buffers.h. CUPTI's callbacks carry no context, so there is one pool per process.
 */
#include "capture/cupti_buffers.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { WAKE_AT = 8 /* buffers filled and not read */ };

static struct {
    pthread_mutex_t lock;
    bool is_open, may_refuse;
    void (*wake)(void);
    size_t buffer_bytes;
    unsigned max, n; /* buffers there may be, are */
    uint8_t *free[TBP_CUPTI_MAX_BUFFERS];
    unsigned n_free;
    struct tbp_cupti_filled filled[TBP_CUPTI_MAX_BUFFERS]; /* a ring */
    unsigned first_filled, n_filled;
    uint8_t *common; /* for what is thrown away */
    uint64_t refused_bytes;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* NULL: none. Zeroed, so that CUPTI need not do it on a thread of the program. */
static uint8_t *map(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void tbp_cupti_buffers_open(size_t buffer_bytes, uint64_t max_bytes, bool may_refuse,
                            void (*wake)(void)) {
    pthread_mutex_lock(&pool.lock);
    uint64_t max = max_bytes / buffer_bytes;
    pool.is_open = true;
    pool.may_refuse = may_refuse;
    pool.wake = wake;
    pool.buffer_bytes = pool.n > 0 ? pool.buffer_bytes : buffer_bytes; /* some are still lent */
    pool.max = max < 2 ? 2 : max > TBP_CUPTI_MAX_BUFFERS ? TBP_CUPTI_MAX_BUFFERS : (unsigned)max;
    pool.refused_bytes = 0;
    pthread_mutex_unlock(&pool.lock);
}

static void unmap_free(void) {
    while (pool.n_free > 0) {
        munmap(pool.free[--pool.n_free], pool.buffer_bytes);
        pool.n--;
    }
}

void tbp_cupti_buffers_close(void) {
    pthread_mutex_lock(&pool.lock);
    pool.is_open = false;
    unmap_free();
    pthread_mutex_unlock(&pool.lock);
}

static uint8_t *lend(void) {
    if (pool.n_free > 0)
        return pool.free[--pool.n_free];
    if (!pool.is_open || pool.n >= pool.max)
        return NULL;
    uint8_t *data = map(pool.buffer_bytes);
    pool.n += data != NULL;
    return data;
}

void tbp_cupti_buffers_request(uint8_t **buffer, size_t *size, size_t *max_records) {
    pthread_mutex_lock(&pool.lock);
    *buffer = lend();
    *size = pool.buffer_bytes;
    if (!*buffer && !pool.may_refuse) {
        pool.common = pool.common ? pool.common : map(pool.buffer_bytes);
        *buffer = pool.common;
    }
    if (!*buffer)
        *size = 0;
    *max_records = 0; /* as many as fit */
    pthread_mutex_unlock(&pool.lock);
}

void tbp_cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid_size) {
    bool is_urgent = false;
    (void)size;
    if (!buffer)
        return;
    pthread_mutex_lock(&pool.lock);
    if (buffer == pool.common) {
        pool.refused_bytes += valid_size;
    } else if (valid_size == 0 || !pool.is_open) {
        pool.refused_bytes += valid_size;
        pool.free[pool.n_free++] = buffer;
        if (!pool.is_open)
            unmap_free();
    } else {
        unsigned at = (pool.first_filled + pool.n_filled++) % TBP_CUPTI_MAX_BUFFERS;
        pool.filled[at] = (struct tbp_cupti_filled){buffer, valid_size, context, stream};
        is_urgent = pool.n_filled >= WAKE_AT || pool.n_filled * 2 >= pool.max;
    }
    void (*wake)(void) = pool.wake;
    pthread_mutex_unlock(&pool.lock);
    if (is_urgent && wake)
        wake();
}

bool tbp_cupti_buffers_take(struct tbp_cupti_filled *filled) {
    pthread_mutex_lock(&pool.lock);
    bool is_there = pool.n_filled > 0;
    if (is_there) {
        *filled = pool.filled[pool.first_filled];
        pool.first_filled = (pool.first_filled + 1) % TBP_CUPTI_MAX_BUFFERS;
        pool.n_filled--;
    }
    pthread_mutex_unlock(&pool.lock);
    return is_there;
}

void tbp_cupti_buffers_give(uint8_t *data) {
    memset(data, 0, pool.buffer_bytes);
    pthread_mutex_lock(&pool.lock);
    pool.free[pool.n_free++] = data;
    if (!pool.is_open)
        unmap_free();
    pthread_mutex_unlock(&pool.lock);
}

uint64_t tbp_cupti_buffers_refused_bytes(void) {
    pthread_mutex_lock(&pool.lock);
    uint64_t n = pool.refused_bytes;
    pool.refused_bytes = 0;
    pthread_mutex_unlock(&pool.lock);
    return n;
}

void tbp_cupti_buffers_after_fork(void) {
    pthread_mutex_init(&pool.lock, NULL);
    pool.is_open = false;
}
