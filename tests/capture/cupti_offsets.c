/* SPDX-License-Identifier: Apache-2.0
 *
 * Our table of CUPTI's fields against its public headers of one release: records are filled by the
 * header's names and read by our table. tests/capture/test_cupti_sizes.py builds it for each
 * release whose headers can be had. A record is of the newest struct that the release has.
 */
#include "capture/cupti_load.h"
#include "capture/cupti_records.h"

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_version.h>
#include <stdio.h>

#define AT_LEAST(release) (CUPTI_API_VERSION >= (release))

#if AT_LEAST(130400)
typedef CUpti_ActivityKernel13 newest_kernel;
typedef CUpti_ActivityMemcpy7 newest_memcpy;
typedef CUpti_ActivityMemset5 newest_memset;
#elif AT_LEAST(130300)
typedef CUpti_ActivityKernel12 newest_kernel;
#elif AT_LEAST(130100)
typedef CUpti_ActivityKernel11 newest_kernel;
#elif AT_LEAST(130000)
typedef CUpti_ActivityKernel10 newest_kernel;
#elif AT_LEAST(19)
typedef CUpti_ActivityKernel9 newest_kernel;
#elif AT_LEAST(18)
typedef CUpti_ActivityKernel8 newest_kernel;
#else
typedef CUpti_ActivityKernel7 newest_kernel;
#endif

#if !AT_LEAST(130400)
typedef CUpti_ActivityMemset4 newest_memset;
#if AT_LEAST(26)
typedef CUpti_ActivityMemcpy6 newest_memcpy;
#else
typedef CUpti_ActivityMemcpy5 newest_memcpy;
#endif
#endif

#if AT_LEAST(130000)
typedef CUpti_ActivityMemoryPool3 newest_pool;
#else
typedef CUpti_ActivityMemoryPool2 newest_pool;
#endif

#if AT_LEAST(130200)
typedef CUpti_ActivityDevice6 newest_device;
#elif AT_LEAST(20)
typedef CUpti_ActivityDevice5 newest_device;
#else
typedef CUpti_ActivityDevice4 newest_device;
#endif

#if AT_LEAST(26)
typedef CUpti_ActivityUnifiedMemoryCounter3 newest_unified;
typedef CUpti_ActivitySynchronization2 newest_sync;
#else
typedef CUpti_ActivityUnifiedMemoryCounter2 newest_unified;
typedef CUpti_ActivitySynchronization newest_sync;
#endif

#if AT_LEAST(24)
typedef CUpti_ActivityMemory4 newest_memory;
#else
typedef CUpti_ActivityMemory3 newest_memory;
#endif

#if AT_LEAST(22)
typedef CUpti_ActivityJit2 newest_jit;
typedef CUpti_ActivityGraphTrace2 newest_graph;
typedef CUpti_ActivityOverhead3 newest_overhead;
#else
typedef CUpti_ActivityGraphTrace newest_graph;
typedef CUpti_ActivityOverhead newest_overhead;
#if AT_LEAST(18)
typedef CUpti_ActivityJit newest_jit;
#endif
#endif

static int n_wrong;

#define SAME(a, b)                                                                                 \
    do {                                                                                           \
        if ((unsigned long long)(a) != (unsigned long long)(b)) {                                  \
            printf("%s:%d: %s is not %s\n", __func__, __LINE__, #a, #b);                           \
            n_wrong++;                                                                             \
        }                                                                                          \
    } while (0)
#define SIZE_IS_OURS(record)                                                                       \
    SAME(tbp_cupti_record_bytes((record).kind, CUPTI_API_VERSION), sizeof(record))

static struct tbp_cupti_record read_it(const void *record) {
    struct tbp_cupti_record r;
    SAME(tbp_cupti_read(&r, record, CUPTI_API_VERSION), true);
    return r;
}

static void kernel(void) {
    newest_kernel k = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                       .registersPerThread = 1,
                       .start = 2,
                       .end = 3,
                       .deviceId = 4,
                       .contextId = 5,
                       .streamId = 6,
                       .gridX = 7,
                       .gridY = 8,
                       .gridZ = 9,
                       .blockX = 10,
                       .blockY = 11,
                       .blockZ = 12,
                       .staticSharedMemory = 13,
                       .dynamicSharedMemory = 14,
                       .correlationId = 15,
                       .name = "k",
                       .graphNodeId = 16,
                       .graphId = 17};
    struct tbp_cupti_record r = read_it(&k);
    SAME(r.kind, TBP_GPU_KERNEL);
    SAME(r.launch.registers, 1);
    SAME(r.start_ns, 2);
    SAME(r.end_ns, 3);
    SAME(r.device, 4);
    SAME(r.context, 5);
    SAME(r.stream, 6);
    for (unsigned i = 0; i < 3; i++) {
        SAME(r.launch.grid[i], 7 + i);
        SAME(r.launch.block[i], 10 + i);
    }
    SAME(r.launch.static_shared_bytes, 13);
    SAME(r.launch.dynamic_shared_bytes, 14);
    SAME(r.correlation, 15);
    SAME((uintptr_t)r.name, (uintptr_t)k.name);
    SAME(r.graph_node, 16);
    SAME(r.graph, 17);
    SIZE_IS_OURS(k);
}

static void copies(void) {
    newest_memcpy c = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                       .copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOH,
                       .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                       .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                       .flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC,
                       .bytes = 1,
                       .start = 2,
                       .end = 3,
                       .deviceId = 4,
                       .contextId = 5,
                       .streamId = 6,
                       .correlationId = 7,
                       .graphNodeId = 8,
                       .graphId = 9};
    struct tbp_cupti_record r = read_it(&c);
    SAME(r.kind, TBP_GPU_MEMCPY);
    SAME(r.code, 2);
    SAME(r.copy.source, TBP_GPU_MEMORY_DEVICE);
    SAME(r.copy.target, TBP_GPU_MEMORY_PINNED);
    SAME(r.copy.is_async, 1);
    SAME(r.copy.bytes, 1);
    SAME(r.start_ns + r.end_ns * 10 + r.device * 100 + r.context * 1000, 5432);
    SAME(r.stream + r.correlation * 10 + r.graph_node * 100 + r.graph * 1000, 9876);
    SIZE_IS_OURS(c);
    CUpti_ActivityMemcpyPtoP4 p = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                   .start = 2,
                                   .end = 3,
                                   .deviceId = 4,
                                   .streamId = 6,
                                   .dstDeviceId = 1,
                                   .correlationId = 7,
                                   .graphNodeId = 8,
                                   .graphId = 9};
    r = read_it(&p);
    SAME(r.kind, TBP_GPU_MEMCPY);
    SAME(r.copy.peer + r.start_ns * 10 + r.end_ns * 100 + r.device * 1000, 4321);
    SAME(r.stream + r.correlation * 10 + r.graph_node * 100 + r.graph * 1000, 9876);
    SIZE_IS_OURS(p);
    newest_memset m = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                       .bytes = 1,
                       .start = 2,
                       .end = 3,
                       .deviceId = 4,
                       .streamId = 6,
                       .correlationId = 7,
                       .flags = CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC,
                       .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                       .graphNodeId = 8,
                       .graphId = 9};
    r = read_it(&m);
    SAME(r.kind, TBP_GPU_MEMSET);
    SAME(r.copy.bytes + r.start_ns * 10 + r.end_ns * 100 + r.device * 1000, 4321);
    SAME(r.stream + r.correlation * 10 + r.graph_node * 100 + r.graph * 1000, 9876);
    SAME(r.copy.is_async * 10 + r.copy.target, 13);
    SIZE_IS_OURS(m);
}

static void memory(void) {
    newest_memory m = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
                       .memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                       .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED,
                       .correlationId = 1,
                       .address = 2,
                       .bytes = 3,
                       .timestamp = 4,
                       .deviceId = 5,
                       .isAsync = 1};
    m.memoryPoolConfig.address = 6;
    struct tbp_cupti_record r = read_it(&m);
    SAME(r.kind, TBP_GPU_FREE);
    SAME(r.copy.target, TBP_GPU_MEMORY_MANAGED);
    SAME(r.correlation + r.address * 10 + r.copy.bytes * 100 + r.start_ns * 1000, 4321);
    SAME(r.end_ns + r.device * 10 + r.pool * 100 + r.copy.is_async * 1000, 1654);
    SIZE_IS_OURS(m);
}

static void host(void) {
    CUpti_ActivityAPI a = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                           .cbid = 1,
                           .start = 2,
                           .end = 3,
                           .processId = 4,
                           .threadId = 5,
                           .correlationId = 6,
                           .returnValue = 7};
    struct tbp_cupti_record r = read_it(&a);
    SAME(r.kind, TBP_GPU_API);
    SAME(r.code + r.start_ns * 10 + r.end_ns * 100 + r.process * 1000, 4321);
    SAME(r.thread + r.correlation * 10 + r.result * 100, 765);
    newest_sync s = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                     .type = 1,
                     .start = 2,
                     .end = 3,
                     .correlationId = 4,
                     .contextId = 5,
                     .streamId = 6};
    r = read_it(&s);
    SAME(r.kind, TBP_GPU_SYNC);
    SAME(r.code + r.start_ns * 10 + r.end_ns * 100 + r.correlation * 1000, 4321);
    SAME(r.context * 10 + r.stream, 56);
    newest_overhead o = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                         .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
                         .start = 2,
                         .end = 3};
    r = read_it(&o);
    SAME(r.kind, TBP_GPU_OVERHEAD);
    SAME(r.start_ns * 10 + r.end_ns * 100, 320);
    SAME(tbp_cupti_overhead_name(r.code)[7], 'F');
#if AT_LEAST(22)
    o.correlationId = 4;
    r = read_it(&o);
    SAME(r.correlation, 4);
#endif
    SIZE_IS_OURS(o);
    SIZE_IS_OURS(a);
    SIZE_IS_OURS(s);
    newest_graph g = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
                      .correlationId = 1,
                      .start = 2,
                      .end = 3,
                      .deviceId = 4,
                      .graphId = 5,
                      .contextId = 6,
                      .streamId = 7};
    r = read_it(&g);
    SAME(r.kind, TBP_GPU_GRAPH);
    SAME(r.correlation + r.start_ns * 10 + r.end_ns * 100 + r.device * 1000, 4321);
    SAME(r.graph + r.context * 10 + r.stream * 100, 765);
}

static void pools(void) {
    newest_pool p = {.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL,
                     .memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED,
                     .memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL,
                     .correlationId = 1,
                     .processId = 2,
                     .deviceId = 3,
                     .address = 4,
                     .size = 5,
                     .timestamp = 6};
    struct tbp_cupti_record r = read_it(&p);
    SAME(r.code, 3);
    SAME(r.correlation + r.process * 10 + r.device * 100 + r.pool * 1000, 4321);
    SAME(r.pool_bytes + r.start_ns * 10 + r.end_ns * 100, 665);
    p.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
    r = read_it(&p);
    SAME(r.pool_bytes, 0);
    SIZE_IS_OURS(p);
    newest_unified u = {.kind = CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
                        .counterKind =
                            CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
                        .value = 1,
                        .start = 2,
                        .end = 3,
                        .address = 4,
                        .srcId = 5,
                        .dstId = 6,
                        .processId = 7};
    r = read_it(&u);
    SAME(r.kind, TBP_GPU_MEMCPY);
    SAME(r.copy.bytes + r.start_ns * 10 + r.end_ns * 100 + r.address * 1000, 4321);
    SAME(r.device + r.process * 10, 76);
    u.counterKind = CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT;
    r = read_it(&u);
    SAME(r.kind * 10 + r.device, TBP_GPU_FAULTS * 10 + 5);
    SIZE_IS_OURS(u);
}

static void names(void) {
    CUpti_ActivityName n = {.kind = CUPTI_ACTIVITY_KIND_NAME,
                            .objectKind = CUPTI_ACTIVITY_OBJECT_STREAM,
                            .objectId.dcs = {1, 2, 3},
                            .name = "n"};
    struct tbp_cupti_record r = read_it(&n);
    SAME(r.code, TBP_CUPTI_OBJECT_STREAM);
    SAME(r.device + r.context * 10 + r.stream * 100, 321);
    SAME((uintptr_t)r.name, (uintptr_t)n.name);
    n.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    n.objectId.pt.processId = 4;
    n.objectId.pt.threadId = 5;
    r = read_it(&n);
    SAME(r.process * 10 + r.thread, 45);
    SIZE_IS_OURS(n);
}

static void devices(void) {
    newest_device d = {.kind = CUPTI_ACTIVITY_KIND_DEVICE,
                       .globalMemoryBandwidth = 1,
                       .globalMemorySize = 2,
                       .numThreadsPerWarp = 32,
                       .coreClockRate = 3,
                       .numMultiprocessors = 4,
                       .maxWarpsPerMultiprocessor = 5,
                       .maxBlocksPerMultiprocessor = 6,
                       .maxSharedMemoryPerMultiprocessor = 7,
                       .maxRegistersPerMultiprocessor = 8,
                       .computeCapabilityMajor = 9,
                       .computeCapabilityMinor = 10,
                       .id = 11,
                       .name = "d"};
    struct tbp_cupti_record r = read_it(&d);
    SAME(r.facts.bandwidth_bytes, 1000);
    SAME(r.facts.memory_bytes + r.facts.clock_khz * 10 + r.facts.multiprocessors * 100, 432);
    SAME(r.facts.max_threads, 160);
    SAME(r.facts.max_blocks + r.facts.shared_bytes * 10 + r.facts.registers * 100, 876);
    SAME(r.facts.compute_major * 100 + r.facts.compute_minor, 910);
    SAME(r.facts.ordinal, 11);
    SAME((uintptr_t)r.name, (uintptr_t)d.name);
    SIZE_IS_OURS(d);
}

static void compiler(void) {
#if AT_LEAST(18)
    newest_jit j = {.kind = CUPTI_ACTIVITY_KIND_JIT,
                    .jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE,
                    .deviceId = 1,
                    .start = 2,
                    .end = 3,
                    .correlationId = 4};
    struct tbp_cupti_record r = read_it(&j);
    SAME(r.kind, TBP_GPU_OVERHEAD);
    SAME(r.device + r.start_ns * 10 + r.end_ns * 100 + r.correlation * 1000, 4321);
    SAME(tbp_cupti_jit_name(r.code)[4], 'C');
    SIZE_IS_OURS(j);
#endif
}

static void subscriber(void) {
#if AT_LEAST(130300)
    SAME(sizeof(struct tbp_cupti_subscriber_params), sizeof(CUpti_SubscriberParams));
    SAME(offsetof(struct tbp_cupti_subscriber_params, shares),
         offsetof(CUpti_SubscriberParams, allowMultipleSubscribers));
#endif
#if AT_LEAST(130000)
    SAME(offsetof(struct tbp_cupti_subscriber_params, name),
         offsetof(CUpti_SubscriberParams, subscriberName));
    SAME(offsetof(struct tbp_cupti_subscriber_params, holder),
         offsetof(CUpti_SubscriberParams, oldSubscriberName));
    SAME(offsetof(struct tbp_cupti_subscriber_params, holder_bytes),
         offsetof(CUpti_SubscriberParams, oldSubscriberSize));
#endif
}

int main(void) {
    kernel();
    copies();
    memory();
    host();
    pools();
    names();
    devices();
    compiler();
    subscriber();
    printf("CUPTI %s (%d): %s\n", tbp_cupti_release(CUPTI_API_VERSION), CUPTI_API_VERSION,
           n_wrong ? "differs" : "as in the table");
    return n_wrong != 0;
}
