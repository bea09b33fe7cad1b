/* SPDX-License-Identifier: Apache-2.0
 *
 * See cuda_load.h. The numbers of attributes are the driver interface's.
 */
#include "capture/cuda_load.h"

#include "capture/mapped_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *library(int flags) {
    return dlopen("libcuda.so.1", flags | RTLD_NOW | RTLD_LOCAL);
}

bool tbp_cuda_is_mapped(void) {
    return tbp_library_is_mapped("libcuda.so");
}

bool tbp_cuda_find(struct tbp_cuda *c, bool may_load) {
    const char *path = getenv("TBPROF_CUDA_PATH");
    void *l = tbp_cuda_is_mapped() ? library(RTLD_NOLOAD) : NULL;
    *c = (struct tbp_cuda){0};
    if (!l && may_load && path && *path)
        l = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l && may_load)
        l = library(0);
    if (!l)
        return false;
    c->is_there = true;
#define X(name, symbol, parameters)                                                                \
    *(void **)(void *)&c->name = dlsym(l, symbol);                                                 \
    c->is_there &= c->name != NULL;
    TBP_CUDA_FUNCTIONS(X)
#undef X
    *(void **)(void *)&c->stream_context = dlsym(l, "cuStreamGetCtx");
    return c->is_there;
}

int tbp_cuda_version(const struct tbp_cuda *c) {
    int version = 0;
    bool is_known = c->is_there && c->driver_version(&version) == 0 && version >= 1000;
    return is_known ? version : 0;
}

uint32_t tbp_cuda_devices(const struct tbp_cuda *c) {
    int n = 0;
    return c->is_there && c->device_count(&n) == 0 && n > 0 ? (uint32_t)n : 0;
}

static void put(const struct tbp_cuda *c, int device, int attribute, uint32_t *to) {
    int value = 0;
    if (c->device_attribute(&value, attribute, device) == 0 && value > 0)
        *to = (uint32_t)value;
}

void tbp_cuda_device(const struct tbp_cuda *c, uint32_t ordinal, struct tbp_spool_gpu_device *d,
                     char *name, size_t name_size) {
    int device;
    size_t bytes = 0;
    *d = (struct tbp_spool_gpu_device){.ordinal = ordinal};
    *name = '\0';
    if (!c->is_there || c->device_get(&device, (int)ordinal) != 0)
        return;
    c->device_name(name, (int)name_size, device);
    if (c->device_memory(&bytes, device) == 0)
        d->memory_bytes = bytes;
    put(c, device, 75, &d->compute_major);
    put(c, device, 76, &d->compute_minor);
    put(c, device, 13, &d->clock_khz);
    put(c, device, 36, &d->memory_clock_khz);
    put(c, device, 37, &d->bus_width_bits);
    put(c, device, 16, &d->multiprocessors);
    put(c, device, 39, &d->max_threads);
    put(c, device, 106, &d->max_blocks);
    put(c, device, 82, &d->registers);
    put(c, device, 81, &d->shared_bytes);
    put(c, device, 111, &d->reserved_shared_bytes);
}
