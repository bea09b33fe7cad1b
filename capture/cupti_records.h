/* SPDX-License-Identifier: Apache-2.0
 *
 * What lies where in CUPTI's activity records. Records of a kind have only ever been extended at
 * their end, so that one table of offsets serves all releases: a field is read if the library is
 * not older than it. How long a record is, CUPTI itself says (cuptiActivityGetNextRecord). Pure.
 */
#ifndef TBP_CAPTURE_CUPTI_RECORDS_H
#define TBP_CAPTURE_CUPTI_RECORDS_H

#include "schemas/spool_gpu.h"

#include <stdbool.h>
#include <stddef.h>

enum tbp_cupti_kind { /* CUPTI's numbers */
                      TBP_CUPTI_MEMCPY = 1,
                      TBP_CUPTI_MEMSET = 2,
                      TBP_CUPTI_DRIVER = 4,
                      TBP_CUPTI_RUNTIME = 5,
                      TBP_CUPTI_DEVICE = 8,
                      TBP_CUPTI_CONTEXT = 9,
                      TBP_CUPTI_KERNEL = 10, /* CONCURRENT_KERNEL: does not serialise kernels */
                      TBP_CUPTI_NAME = 11,
                      TBP_CUPTI_OVERHEAD = 17,
                      TBP_CUPTI_MEMCPY2 = 22,        /* between devices */
                      TBP_CUPTI_UNIFIED_MEMORY = 25, /* …_COUNTER */
                      TBP_CUPTI_STREAM = 37,
                      TBP_CUPTI_SYNCHRONIZATION = 38,
                      TBP_CUPTI_EXTERNAL_CORRELATION = 39,
                      TBP_CUPTI_MEMORY2 = 49,
                      TBP_CUPTI_MEMORY_POOL = 50,
                      TBP_CUPTI_GRAPH_TRACE = 51,
                      TBP_CUPTI_JIT = 52,
};

enum {
    TBP_CUPTI_OBJECT_THREAD = 2, /* what a NAME is of */
    TBP_CUPTI_OBJECT_DEVICE = 3,
    TBP_CUPTI_OBJECT_CONTEXT = 4,
    TBP_CUPTI_OBJECT_STREAM = 5
};
/* `code` of UNIFIED_MEMORY: as directions of MEMCPY, or this. */
enum { TBP_CUPTI_PAGE_FAULTS = 4 };

/* One record, whatever its kind and release; what it does not have is 0. */
struct tbp_cupti_record {
    enum tbp_gpu_kind kind; /* NONE: not one that is recorded as it is */
    uint32_t cupti_kind;
    uint64_t start_ns, end_ns; /* CUPTI's clock */
    uint32_t device, context, stream, correlation, graph;
    uint64_t graph_node;
    union {
        struct tbp_spool_gpu_launch launch;
        struct tbp_spool_gpu_device facts; /* of DEVICE */
    };
    struct tbp_spool_gpu_copy copy; /* also of ALLOC and FREE: bytes, target */
    uint64_t address, pool, pool_bytes;
    uint32_t process, thread;
    uint32_t code; /* API: the function; MEMCPY: direction; SYNC, OVERHEAD, NAME: what */
    uint32_t result;
    const char *name; /* NULL: none; CUPTI's, valid for a while */
};

/* False: the record is of a kind that is not known. `record` has at least its kind's first bytes,
 * up to tbp_cupti_base_bytes. */
bool tbp_cupti_read(struct tbp_cupti_record *r, const uint8_t *record, uint32_t version);

/* How long a record of the kind is in that release, 0: not known. Never used to step through a
 * buffer: for tests, against the libraries themselves. */
size_t tbp_cupti_record_bytes(uint32_t kind, uint32_t version);

/* Names as tables know them: "MemcpyHtoD"; "" for a number that is not known. */
const char *tbp_cupti_copy_name(uint32_t direction);
const char *tbp_cupti_sync_name(uint32_t type);
const char *tbp_cupti_overhead_name(uint32_t type);
const char *tbp_cupti_jit_name(uint32_t operation);

#endif
