/* SPDX-License-Identifier: Apache-2.0
 *
 * NVIDIA's profiling library, found and loaded at run time: nothing of NVIDIA is needed to build
 * or to run without a GPU. A copy that the process has already mapped is taken first, since a
 * second one would be in the way of the program's own profiler. Ownership: the library stays
 * loaded. Thread-safe.
 */
#ifndef TBP_CAPTURE_CUPTI_LOAD_H
#define TBP_CAPTURE_CUPTI_LOAD_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void tbp_cupti_callback(void *userdata, int domain, uint32_t id, const void *data);
typedef void tbp_cupti_request(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void tbp_cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                                size_t valid_size);

typedef void tbp_cupti_request_shared(uint8_t **buffer, size_t *size, size_t *max_records,
                                      void *info);
typedef void tbp_cupti_complete_shared(uint8_t *buffer, size_t size, size_t valid_size, void *info);

struct tbp_cupti_subscriber_params {
    size_t bytes; /* of this struct, as far as the library knows it */
    const char *name;
    char *holder; /* out: who was first */
    size_t holder_bytes;
    uint8_t shares; /* from 13.3 on: others may subscribe too */
    uint8_t reserved[7];
};

struct tbp_cupti_unified_config {
    uint32_t scope, counter, device, enable;
};

/* The interface for several subscribers. */
#define TBP_CUPTI_SHARED_FUNCTIONS(X)                                                              \
    X(false, Subscribe_v2,                                                                         \
      (void **subscriber, tbp_cupti_callback *callback, void *userdata,                            \
       struct tbp_cupti_subscriber_params *params))                                                \
    X(false, ActivityRegisterCallbacks_v2,                                                         \
      (void *subscriber, tbp_cupti_request_shared *ask, tbp_cupti_complete_shared *done))          \
    X(false, ActivityEnable_v2, (void *subscriber, uint32_t kind, void *config))                   \
    X(false, ActivityEnableAndDump_v2, (void *subscriber, uint32_t kind, void *config))            \
    X(false, ActivityDisable_v2, (void *subscriber, uint32_t kind, void *config))                  \
    X(false, ActivityGetNextRecord_v2,                                                             \
      (void *subscriber, uint8_t *buffer, size_t valid_size, const uint8_t **record))              \
    X(false, ActivityGetNumDroppedRecords_v2,                                                      \
      (void *subscriber, void *context, uint32_t stream, size_t *dropped))                         \
    X(false, GetTimestamp_v2, (void *subscriber, uint64_t *ns))                                    \
    X(false, ActivitySetAttribute_v2,                                                              \
      (void *subscriber, uint32_t attribute, size_t *size, void *value))

/* X(required, name, parameters): results are CUPTI's error numbers. */
#define TBP_CUPTI_FUNCTIONS(X)                                                                     \
    X(true, GetVersion, (uint32_t * version))                                                      \
    X(true, Subscribe, (void **subscriber, tbp_cupti_callback *callback, void *userdata))          \
    X(true, Unsubscribe, (void *subscriber))                                                       \
    X(true, ActivityRegisterCallbacks, (tbp_cupti_request * ask, tbp_cupti_complete * done))       \
    X(true, ActivityEnable, (uint32_t kind))                                                       \
    X(true, ActivityDisable, (uint32_t kind))                                                      \
    X(true, ActivityFlushAll, (uint32_t flag))                                                     \
    X(true, ActivityGetNextRecord, (uint8_t * buffer, size_t valid_size, const uint8_t **record))  \
    X(true, ActivityGetNumDroppedRecords, (void *context, uint32_t stream, size_t *dropped))       \
    X(true, GetTimestamp, (uint64_t * ns))                                                         \
    X(false, ActivitySetAttribute, (uint32_t attribute, size_t * size, void *value))               \
    X(false, SetThreadIdType, (uint32_t type))                                                     \
    X(false, ActivityEnableAndDump, (uint32_t kind))                                               \
    X(false, ActivityConfigureUnifiedMemoryCounter,                                                \
      (const struct tbp_cupti_unified_config *config, uint32_t n))                                 \
    X(false, GetContextId, (void *context, uint32_t *id))                                          \
    X(false, GetDeviceId, (void *context, uint32_t *id))                                           \
    X(false, GetStreamIdEx, (void *context, void *stream, uint8_t per_thread, uint32_t *id))       \
    X(false, GetCallbackName, (uint32_t domain, uint32_t id, const char **name))                   \
    TBP_CUPTI_SHARED_FUNCTIONS(X)

struct tbp_cupti {
    uint32_t version; /* cuptiGetVersion: 15 … 28, from 13.0 on 130000 + 100 minor + update */
    char path[1024];  /* of the file */
/* A declaration. NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define X(required, name, parameters) int(*name) parameters;
    TBP_CUPTI_FUNCTIONS(X)
#undef X
};

/* cuda_version: of the driver (tbp_cuda_version), whose libraries are tried first. Fails with
 * TBP_E_NOT_FOUND and tells where it was looked for. */
int tbp_cupti_load(struct tbp_cupti *c, int cuda_version, struct tbp_error *err);

/* "12.4" of a version number. */
const char *tbp_cupti_release(uint32_t version);
enum { /* version numbers from which on something is different */
       TBP_CUPTI_11_0 = 13,
       TBP_CUPTI_11_1 = 14,
       TBP_CUPTI_11_2 = 15,
       TBP_CUPTI_11_6 = 17,
       TBP_CUPTI_11_8 = 18,
       TBP_CUPTI_12_0 = 19,
       TBP_CUPTI_12_2 = 20,
       TBP_CUPTI_12_4 = 22,
       TBP_CUPTI_12_6 = 24,
       TBP_CUPTI_12_8 = 26,
       TBP_CUPTI_12_9 = 27,
       TBP_CUPTI_13_0 = 130000,
       TBP_CUPTI_13_1 = 130100,
       TBP_CUPTI_13_2 = 130200,
       TBP_CUPTI_13_3 = 130300,
       TBP_CUPTI_13_4 = 130400,
       TBP_CUPTI_14_0 = 140000, /* not known yet */
};

#endif
