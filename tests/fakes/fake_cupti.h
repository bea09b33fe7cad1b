/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the fake CUPTI share: its state, and the way to the buffers of the profiler
 * under test. The script is described in fake_records.c.
 */
#ifndef TBP_TESTS_FAKES_FAKE_CUPTI_H
#define TBP_TESTS_FAKES_FAKE_CUPTI_H

#include "fake_script.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

enum {
    OK = 0,
    MEMCPY = 1,
    MEMSET = 2,
    DRIVER = 4,
    RUNTIME = 5,
    DEVICE = 8,
    KERNEL = 10,
    NAME = 11,
    OVERHEAD = 17,
    UNIFIED = 25,
    SYNC = 38,
    MEMORY2 = 49,
    POOL = 50,
    GRAPH = 51,
    JIT = 52,
    MAX_BUFFERS = 2048,
    FAKE_LINE = 512,
};

struct buffer {
    uint8_t *data;
    size_t size, used;
    int n_records;
};

struct fake {
    pthread_mutex_t lock;
    int records_per_buffer;
    size_t n_dropped;
    bool is_reversed, is_subscribed, is_system_thread;
    uint64_t enabled; /* bit n: kind n */
    /* Of the profiler. */
    void (*request)(struct buffer *b);
    void (*complete)(const struct buffer *b);
    struct buffer full[MAX_BUFFERS];
    int n_full, n_lent, most_lent;
    unsigned n_flushes; /* atomic: that are over */
    int64_t clock_offset;
};
extern struct fake fake;

/* Bytes of a record of the kind in this release. */
size_t bytes_of(uint32_t kind);
/* A record of a device, as the line says. Under the lock. */
void tell_device(const char *line);
/* The buffer that is being filled is full. */
void put_away(void);
/* Name of a call; NULL: none. */
const char *call_name(uint32_t id);

static inline uint64_t clock_ns(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t gpu_ns(void) {
    return clock_ns(CLOCK_REALTIME) + (uint64_t)fake.clock_offset;
}

#endif
