/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver library, if the process has it: what devices there are. Never initializes CUDA:
 * a program that does not use the GPU must not pay for it, and may fork. Ownership: the library
 * stays loaded. Thread-safe.
 */
#ifndef TBP_CAPTURE_CUDA_LOAD_H
#define TBP_CAPTURE_CUDA_LOAD_H

#include "schemas/spool_gpu.h"

#include <stdbool.h>
#include <stddef.h>

/* X(name, symbol, parameters): results are CUDA's error numbers. */
#define TBP_CUDA_FUNCTIONS(X)                                                                      \
    X(driver_version, "cuDriverGetVersion", (int *version))                                        \
    X(device_count, "cuDeviceGetCount", (int *n))                                                  \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                       \
    X(device_name, "cuDeviceGetName", (char *name, int size, int device))                          \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                          \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))

struct tbp_cuda {
    bool is_there;
    int (*stream_context)(void *stream, void **context); /* NULL: the driver has none */
/* A declaration. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define X(name, symbol, parameters) int(*name) parameters;
    TBP_CUDA_FUNCTIONS(X)
#undef X
};

/* Finds the library that the process has mapped; with may_load, loads it ($TBPROF_CUDA_PATH, else
 * libcuda.so.1). False: there is none. */
bool tbp_cuda_find(struct tbp_cuda *c, bool may_load);
/* The cheap look alone: has the process mapped it by now? */
bool tbp_cuda_is_mapped(void);
/* 12040 for CUDA 12.4, what the driver serves at most; 0: not known. */
int tbp_cuda_version(const struct tbp_cuda *c);
/* How many there are; 0: not known. */
uint32_t tbp_cuda_devices(const struct tbp_cuda *c);
/* What the driver says of a device; 0 and "" where it says nothing (all but the ordinal, if CUDA is
 * not initialized). */
void tbp_cuda_device(const struct tbp_cuda *c, uint32_t ordinal, struct tbp_spool_gpu_device *d,
                     char *name, size_t name_size);

#endif
