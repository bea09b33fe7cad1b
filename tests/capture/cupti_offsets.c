/* SPDX-License-Identifier: Apache-2.0
 *
 * Our table of CUPTI's fields against its public headers, where these are installed: records are
 * filled by the header's names and read by our table. Built only then.
 */
#include "capture/cupti_load.h"
#include "capture/cupti_records.h"

#include <cuda.h>
#include <cupti.h>
#include <stdio.h>

static int n_wrong;

#define SAME(a, b)                                                                                 \
    do {                                                                                           \
        if ((unsigned long long)(a) != (unsigned long long)(b)) {                                  \
            printf("%s:%d: %s is not %s\n", __func__, __LINE__, #a, #b);                           \
            n_wrong++;                                                                             \
        }                                                                                          \
    } while (0)

static struct tbp_cupti_record read_it(const void *record) {
    struct tbp_cupti_record r;
    SAME(tbp_cupti_read(&r, record, CUPTI_API_VERSION), true);
    return r;
}

static void kernel(void) {
    CUpti_ActivityKernel10 k = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
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
    SAME(tbp_cupti_record_bytes(k.kind, CUPTI_API_VERSION), sizeof k);
}

static void copies(void) {
    CUpti_ActivityMemcpy6 c = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
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
    SAME(tbp_cupti_record_bytes(c.kind, CUPTI_API_VERSION), sizeof c);
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
    SAME(tbp_cupti_record_bytes(p.kind, CUPTI_API_VERSION), sizeof p);
    CUpti_ActivityMemset4 m = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
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
    SAME(tbp_cupti_record_bytes(m.kind, CUPTI_API_VERSION), sizeof m);
}

static void memory(void) {
    CUpti_ActivityMemory4 m = {.kind = CUPTI_ACTIVITY_KIND_MEMORY2,
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
    SAME(tbp_cupti_record_bytes(m.kind, CUPTI_API_VERSION), sizeof m);
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
    CUpti_ActivitySynchronization2 s = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
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
    CUpti_ActivityOverhead3 o = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                 .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH,
                                 .start = 2,
                                 .end = 3,
                                 .correlationId = 4};
    r = read_it(&o);
    SAME(r.kind, TBP_GPU_OVERHEAD);
    SAME(r.start_ns * 10 + r.end_ns * 100 + r.correlation * 1000, 4320);
    SAME(tbp_cupti_overhead_name(r.code)[7], 'F');
    CUpti_ActivityGraphTrace2 g = {.kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
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

int main(void) {
    kernel();
    copies();
    memory();
    host();
    printf("%d passed, %d failed\n", n_wrong == 0, n_wrong);
    return n_wrong != 0;
}
