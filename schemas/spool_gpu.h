/* SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU did, as records of a capture spool (schemas/spool_format.h). The worker of the capture
 * runtime writes them as they come out of CUPTI, in no order but that in which they became known;
 * their times are on CLOCK_MONOTONIC of the recording process, to which the spool's anchors tie the
 * ticks of all other records. Identifiers are CUPTI's; what a record does not have is 0.
 */
#ifndef TBP_SCHEMAS_SPOOL_GPU_H
#define TBP_SCHEMAS_SPOOL_GPU_H

#include <stdint.h>

enum tbp_gpu_kind {
    TBP_GPU_NONE,
    TBP_GPU_KERNEL,   /* and a struct tbp_spool_gpu_launch */
    TBP_GPU_MEMCPY,   /* and a struct tbp_spool_gpu_copy */
    TBP_GPU_MEMSET,   /* the same */
    TBP_GPU_GRAPH,    /* a graph as a whole */
    TBP_GPU_ALLOC,    /* name: the allocator; and a struct tbp_spool_gpu_memory */
    TBP_GPU_FREE,     /* the same */
    TBP_GPU_SYNC,     /* the program waited */
    TBP_GPU_OVERHEAD, /* of the profiler */
    TBP_GPU_API,      /* a call into the driver or the runtime library */
    TBP_GPU_THREAD,   /* name: of the thread `tid`, which made calls */
    TBP_GPU_NAMED,    /* name: that the program gave; `graph`: enum tbp_gpu_named */
    TBP_GPU_FAULTS,   /* pages that the device asked for; a struct tbp_spool_gpu_copy, whose
                         `bytes` is their number */
    TBP_GPU_KINDS
};

enum tbp_gpu_api_domain { TBP_GPU_API_DRIVER = 1, TBP_GPU_API_RUNTIME = 2 };

/* What of `device`, `context` and `stream` bears the name. */
enum tbp_gpu_named { TBP_GPU_NAMED_DEVICE, TBP_GPU_NAMED_CONTEXT, TBP_GPU_NAMED_STREAM };
/* Pages of unified memory come and go beside the streams: on a line of their own. */
#define TBP_GPU_UNIFIED_STREAM UINT32_MAX

struct tbp_spool_gpu {
    int64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t duration_ns;
    uint32_t device; /* ordinal; of API: enum tbp_gpu_api_domain */
    uint32_t context, stream;
    uint32_t correlation; /* ties work to the call that launched it */
    uint32_t graph;
    int32_t tid; /* of API: the kernel's number of the calling thread */
    uint64_t graph_node;
};
struct tbp_spool_gpu_launch {
    uint32_t grid[3], block[3];
    uint32_t static_shared_bytes, dynamic_shared_bytes;
    uint32_t registers; /* per thread */
    uint32_t reserved[3];
};
struct tbp_spool_gpu_copy {
    uint64_t bytes;
    uint8_t source, target; /* enum tbp_gpu_memory; of a memset: target */
    uint8_t is_async, reserved;
    uint32_t peer; /* the device on the other side, if there is one */
};
struct tbp_spool_gpu_memory {
    uint64_t address, bytes;
    uint64_t in_use_bytes, peak_bytes; /* of the allocator, after the event */
    uint64_t capacity_bytes;           /* 0: unknown */
    uint64_t reserved;
};

enum tbp_gpu_memory { /* CUPTI's numbers */
                      TBP_GPU_MEMORY_UNKNOWN,
                      TBP_GPU_MEMORY_PAGEABLE,
                      TBP_GPU_MEMORY_PINNED,
                      TBP_GPU_MEMORY_DEVICE,
                      TBP_GPU_MEMORY_ARRAY,
                      TBP_GPU_MEMORY_MANAGED,
                      TBP_GPU_MEMORY_DEVICE_STATIC,
                      TBP_GPU_MEMORY_MANAGED_STATIC,
                      TBP_GPU_MEMORY_KINDS
};

/* 0 in any field: not known. */
struct tbp_spool_gpu_device {
    uint32_t ordinal;
    uint32_t compute_major, compute_minor;
    uint32_t clock_khz, memory_clock_khz, bus_width_bits;
    uint32_t multiprocessors;
    uint32_t max_threads, max_blocks, registers; /* per multiprocessor */
    uint32_t shared_bytes;                       /* per multiprocessor */
    uint32_t reserved_shared_bytes;              /* per block, of the system */
    uint64_t memory_bytes;
    uint64_t bandwidth_bytes; /* a second, where the memory's clock is not known */
};
_Static_assert(sizeof(struct tbp_spool_gpu) == 48 && sizeof(struct tbp_spool_gpu_launch) == 48 &&
                   sizeof(struct tbp_spool_gpu_copy) == 16 &&
                   sizeof(struct tbp_spool_gpu_memory) == 48 &&
                   sizeof(struct tbp_spool_gpu_device) == 64,
               "layout of a file");

enum tbp_gpu_loss {
    TBP_GPU_LOSS_DROPPED,       /* by CUPTI, which had no buffer */
    TBP_GPU_LOSS_REFUSED_BYTES, /* of records, in buffers beyond max_device_bytes */
    TBP_GPU_LOSS_TIMELESS,      /* start and end 0 */
    TBP_GPU_LOSS_OTHER_CLOCK,   /* times that no clock of the session can have shown */
    TBP_GPU_LOSS_BACKWARDS,     /* end before start */
    TBP_GPU_LOSS_EARLY,         /* over before the session began */
    TBP_GPU_LOSS_CUT,           /* buffers whose rest could not be read */
    TBP_GPU_LOSS_CLOCK_STEPS,   /* how often CUPTI's clock was set: not a loss, but to be told */
    TBP_GPU_LOSS_UNTRACKED,     /* allocations beyond those whose size is remembered */
    TBP_GPU_LOSSES
};

#endif
