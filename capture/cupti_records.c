/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of fields: kind, field, offset and width in the record, first release that has it.
 * Source: the public layout of the records of CUDA 11.1 to 13.5; tests/capture/test_cupti_sizes.py
 * holds the sizes against NVIDIA's own libraries. (12.0
 * calls itself by the number of 11.8; its kernels are 208 bytes long.)
 */
#include "capture/cupti_records.h"

#include "capture/cupti_load.h"

#include <string.h>

/* Where a field lies in CUPTI's record and in ours; both little endian. */
struct place {
    uint8_t to, to_width, offset, width;
    uint32_t since; /* release */
};

#define FIELD(member)                                                                              \
    offsetof(struct tbp_cupti_record, member), sizeof(((struct tbp_cupti_record *)0)->member)
#define F_START       FIELD(start_ns)
#define F_END         FIELD(end_ns)
#define F_DEVICE      FIELD(device)
#define F_CONTEXT     FIELD(context)
#define F_STREAM      FIELD(stream)
#define F_CORRELATION FIELD(correlation)
#define F_GRAPH       FIELD(graph)
#define F_GRAPH_NODE  FIELD(graph_node)
#define F_NAME        FIELD(name)
#define F_GRID        FIELD(launch.grid)
#define F_BLOCK       FIELD(launch.block)
#define F_STATIC      FIELD(launch.static_shared_bytes)
#define F_DYNAMIC     FIELD(launch.dynamic_shared_bytes)
#define F_REGISTERS   FIELD(launch.registers)
#define F_BYTES       FIELD(copy.bytes)
#define F_SOURCE      FIELD(copy.source)
#define F_TARGET      FIELD(copy.target)
#define F_ASYNC       FIELD(copy.is_async) /* bit 0 */
#define F_PEER        FIELD(copy.peer)
#define F_ADDRESS     FIELD(address)
#define F_POOL        FIELD(pool)
#define F_POOL_BYTES  FIELD(pool_bytes)
#define F_PROCESS     FIELD(process)
#define F_THREAD      FIELD(thread)
#define F_CODE        FIELD(code)
#define F_RESULT      FIELD(result)
_Static_assert(sizeof(struct tbp_cupti_record) < 256, "offsets in a byte");

#define SINCE_EVER 0

static const struct place kernel[] = {
    {F_START, 16, 8, SINCE_EVER},           {F_END, 24, 8, SINCE_EVER},
    {F_DEVICE, 40, 4, SINCE_EVER},          {F_CONTEXT, 44, 4, SINCE_EVER},
    {F_STREAM, 48, 4, SINCE_EVER},          {F_GRID, 52, 12, SINCE_EVER},
    {F_BLOCK, 64, 12, SINCE_EVER},          {F_STATIC, 76, 4, SINCE_EVER},
    {F_DYNAMIC, 80, 4, SINCE_EVER},         {F_CORRELATION, 92, 4, SINCE_EVER},
    {F_NAME, 104, 8, SINCE_EVER},           {F_REGISTERS, 6, 2, SINCE_EVER},
    {F_GRAPH_NODE, 144, 8, TBP_CUPTI_11_1}, {F_GRAPH, 156, 4, TBP_CUPTI_11_1},
};
static const struct place memcpy_[] = {
    {F_CODE, 4, 1, SINCE_EVER},         {F_SOURCE, 5, 1, SINCE_EVER},
    {F_TARGET, 6, 1, SINCE_EVER},       {F_ASYNC, 7, 1, SINCE_EVER},
    {F_BYTES, 8, 8, SINCE_EVER},        {F_START, 16, 8, SINCE_EVER},
    {F_END, 24, 8, SINCE_EVER},         {F_DEVICE, 32, 4, SINCE_EVER},
    {F_CONTEXT, 36, 4, SINCE_EVER},     {F_STREAM, 40, 4, SINCE_EVER},
    {F_CORRELATION, 44, 4, SINCE_EVER}, {F_GRAPH_NODE, 64, 8, TBP_CUPTI_11_1},
    {F_GRAPH, 72, 4, TBP_CUPTI_11_1},
};
static const struct place memcpy2[] = {
    {F_CODE, 4, 1, SINCE_EVER},
    {F_SOURCE, 5, 1, SINCE_EVER},
    {F_TARGET, 6, 1, SINCE_EVER},
    {F_ASYNC, 7, 1, SINCE_EVER},
    {F_BYTES, 8, 8, SINCE_EVER},
    {F_START, 16, 8, SINCE_EVER},
    {F_END, 24, 8, SINCE_EVER},
    {F_DEVICE, 32, 4, SINCE_EVER},
    {F_CONTEXT, 36, 4, SINCE_EVER},
    {F_STREAM, 40, 4, SINCE_EVER},
    {F_PEER, 52, 4, SINCE_EVER},
    {F_CORRELATION, 60, 4, SINCE_EVER},
    {F_GRAPH_NODE, 72, 8, TBP_CUPTI_11_1},
    {F_GRAPH, 80, 4, TBP_CUPTI_11_1},
};
static const struct place memset_[] = {
    {F_BYTES, 8, 8, SINCE_EVER},        {F_START, 16, 8, SINCE_EVER},
    {F_END, 24, 8, SINCE_EVER},         {F_DEVICE, 32, 4, SINCE_EVER},
    {F_CONTEXT, 36, 4, SINCE_EVER},     {F_STREAM, 40, 4, SINCE_EVER},
    {F_CORRELATION, 44, 4, SINCE_EVER}, {F_ASYNC, 48, 2, SINCE_EVER},
    {F_TARGET, 50, 2, SINCE_EVER},      {F_GRAPH_NODE, 64, 8, TBP_CUPTI_11_1},
    {F_GRAPH, 72, 4, TBP_CUPTI_11_1},
};
static const struct place api[] = {
    {F_CODE, 4, 4, SINCE_EVER},    {F_START, 8, 8, SINCE_EVER},
    {F_END, 16, 8, SINCE_EVER},    {F_PROCESS, 24, 4, SINCE_EVER},
    {F_THREAD, 28, 4, SINCE_EVER}, {F_CORRELATION, 32, 4, SINCE_EVER},
    {F_RESULT, 36, 4, SINCE_EVER},
};
static const struct place overhead[] = {
    {F_CODE, 4, 4, SINCE_EVER},
    {F_START, 24, 8, SINCE_EVER},
    {F_END, 32, 8, SINCE_EVER},
    {F_CORRELATION, 40, 4, TBP_CUPTI_12_4},
};
static const struct place synchronization[] = {
    {F_CODE, 4, 4, SINCE_EVER},     {F_START, 8, 8, SINCE_EVER},
    {F_END, 16, 8, SINCE_EVER},     {F_CORRELATION, 24, 4, SINCE_EVER},
    {F_CONTEXT, 28, 4, SINCE_EVER}, {F_STREAM, 32, 4, SINCE_EVER},
};
static const struct place memory2[] = {
    {F_CODE, 4, 4, SINCE_EVER},         {F_TARGET, 8, 4, SINCE_EVER},
    {F_CORRELATION, 12, 4, SINCE_EVER}, {F_ADDRESS, 16, 8, SINCE_EVER},
    {F_BYTES, 24, 8, SINCE_EVER},       {F_START, 32, 8, SINCE_EVER},
    {F_END, 32, 8, SINCE_EVER},         {F_PROCESS, 48, 4, SINCE_EVER},
    {F_DEVICE, 52, 4, SINCE_EVER},      {F_CONTEXT, 56, 4, SINCE_EVER},
    {F_STREAM, 60, 4, SINCE_EVER},      {F_ASYNC, 72, 4, SINCE_EVER},
    {F_RESULT, 80, 4, SINCE_EVER},      {F_POOL, 88, 8, SINCE_EVER},
    {F_POOL_BYTES, 104, 8, SINCE_EVER},
};
static const struct place memory_pool[] = {
    {F_CODE, 4, 4, SINCE_EVER},         {F_RESULT, 8, 4, SINCE_EVER},
    {F_CORRELATION, 12, 4, SINCE_EVER}, {F_PROCESS, 16, 4, SINCE_EVER},
    {F_DEVICE, 20, 4, SINCE_EVER},      {F_POOL, 32, 8, SINCE_EVER},
    {F_POOL_BYTES, 40, 8, SINCE_EVER},  {F_START, 56, 8, SINCE_EVER},
    {F_END, 56, 8, SINCE_EVER},
};
static const struct place unified_memory[] = {
    {F_CODE, 4, 4, SINCE_EVER},  {F_BYTES, 8, 8, SINCE_EVER},    {F_START, 16, 8, SINCE_EVER},
    {F_END, 24, 8, SINCE_EVER},  {F_ADDRESS, 32, 8, SINCE_EVER}, {F_DEVICE, 40, 4, SINCE_EVER},
    {F_PEER, 44, 4, SINCE_EVER}, {F_PROCESS, 52, 4, SINCE_EVER},
};
static const struct place jit[] = {
    {F_CODE, 8, 4, SINCE_EVER}, {F_DEVICE, 12, 4, SINCE_EVER},      {F_START, 16, 8, SINCE_EVER},
    {F_END, 24, 8, SINCE_EVER}, {F_CORRELATION, 32, 4, SINCE_EVER},
};
/* The identifiers are process and thread, or device, context and stream. */
static const struct place name[] = {
    {F_CODE, 4, 4, SINCE_EVER},     {F_DEVICE, 8, 4, SINCE_EVER},  {F_PROCESS, 8, 4, SINCE_EVER},
    {F_CONTEXT, 12, 4, SINCE_EVER}, {F_THREAD, 12, 4, SINCE_EVER}, {F_STREAM, 16, 4, SINCE_EVER},
    {F_NAME, 24, 8, SINCE_EVER},
};
/* Bandwidth in kB a second; threads in warps, whose size goes to `code`. */
static const struct place device[] = {
    {FIELD(facts.bandwidth_bytes), 8, 8, SINCE_EVER},
    {FIELD(facts.memory_bytes), 16, 8, SINCE_EVER},
    {F_CODE, 32, 4, SINCE_EVER},
    {FIELD(facts.clock_khz), 36, 4, SINCE_EVER},
    {FIELD(facts.multiprocessors), 44, 4, SINCE_EVER},
    {FIELD(facts.max_threads), 52, 4, SINCE_EVER},
    {FIELD(facts.max_blocks), 56, 4, SINCE_EVER},
    {FIELD(facts.shared_bytes), 60, 4, SINCE_EVER},
    {FIELD(facts.registers), 64, 4, SINCE_EVER},
    {FIELD(facts.compute_major), 104, 4, SINCE_EVER},
    {FIELD(facts.compute_minor), 108, 4, SINCE_EVER},
    {FIELD(facts.ordinal), 112, 4, SINCE_EVER},
    {F_NAME, 136, 8, SINCE_EVER},
};
static const struct place graph_trace[] = {
    {F_CORRELATION, 4, 4, SINCE_EVER}, {F_START, 8, 8, SINCE_EVER},  {F_END, 16, 8, SINCE_EVER},
    {F_DEVICE, 24, 4, SINCE_EVER},     {F_GRAPH, 28, 4, SINCE_EVER}, {F_CONTEXT, 32, 4, SINCE_EVER},
    {F_STREAM, 36, 4, SINCE_EVER},
};

#define PLACES(array) array, sizeof(array) / sizeof *(array)
#define NO_PLACES     NULL, 0

/* Sizes in bytes from a release on. */
struct size {
    uint16_t bytes;
    uint32_t since;
};
static const struct kind {
    uint8_t cupti, ours;
    const struct place *places;
    size_t n_places;
    struct size sizes[10];
} kinds[] = {
    {TBP_CUPTI_KERNEL,
     TBP_GPU_KERNEL,
     PLACES(kernel),
     {{160, 0},
      {168, TBP_CUPTI_11_2},
      {176, TBP_CUPTI_11_6},
      {200, TBP_CUPTI_11_8},
      {208, TBP_CUPTI_12_0},
      {216, TBP_CUPTI_13_0},
      {224, TBP_CUPTI_13_1},
      {232, TBP_CUPTI_13_3},
      {248, TBP_CUPTI_13_4}}},
    {TBP_CUPTI_MEMCPY,
     TBP_GPU_MEMCPY,
     PLACES(memcpy_),
     {{80, 0}, {88, TBP_CUPTI_11_6}, {96, TBP_CUPTI_12_8}, {112, TBP_CUPTI_13_4}}},
    {TBP_CUPTI_MEMCPY2, TBP_GPU_MEMCPY, PLACES(memcpy2), {{88, 0}, {96, TBP_CUPTI_11_6}}},
    {TBP_CUPTI_MEMSET,
     TBP_GPU_MEMSET,
     PLACES(memset_),
     {{80, 0}, {88, TBP_CUPTI_11_6}, {104, TBP_CUPTI_13_4}}},
    {TBP_CUPTI_RUNTIME, TBP_GPU_API, PLACES(api), {{40, 0}}},
    {TBP_CUPTI_DRIVER, TBP_GPU_API, PLACES(api), {{40, 0}}},
    {TBP_CUPTI_OVERHEAD, TBP_GPU_OVERHEAD, PLACES(overhead), {{40, 0}, {56, TBP_CUPTI_12_4}}},
    {TBP_CUPTI_SYNCHRONIZATION,
     TBP_GPU_SYNC,
     PLACES(synchronization),
     {{40, 0}, {56, TBP_CUPTI_12_8}}},
    {TBP_CUPTI_MEMORY2,
     TBP_GPU_ALLOC,
     PLACES(memory2),
     {{112, 0}, {120, TBP_CUPTI_11_6}, {128, TBP_CUPTI_12_6}}},
    {TBP_CUPTI_GRAPH_TRACE, TBP_GPU_GRAPH, PLACES(graph_trace), {{48, 0}, {56, TBP_CUPTI_12_4}}},
    {TBP_CUPTI_DEVICE,
     TBP_GPU_NONE,
     PLACES(device),
     {{144, 0},
      {152, TBP_CUPTI_11_2},
      {176, TBP_CUPTI_11_6},
      {184, TBP_CUPTI_12_2},
      {192, TBP_CUPTI_13_2}}},
    {TBP_CUPTI_CONTEXT,
     TBP_GPU_NONE,
     NO_PLACES,
     {{16, 0}, {24, TBP_CUPTI_12_4}, {32, TBP_CUPTI_12_6}, {40, TBP_CUPTI_13_1}}},
    {TBP_CUPTI_NAME, TBP_GPU_NONE, PLACES(name), {{32, 0}}},
    {TBP_CUPTI_STREAM, TBP_GPU_NONE, NO_PLACES, {{24, 0}}},
    {TBP_CUPTI_EXTERNAL_CORRELATION, TBP_GPU_NONE, NO_PLACES, {{24, 0}}},
    {TBP_CUPTI_MEMORY_POOL,
     TBP_GPU_NONE,
     PLACES(memory_pool),
     {{64, 0}, {72, TBP_CUPTI_11_6}, {80, TBP_CUPTI_13_0}}},
    {TBP_CUPTI_UNIFIED_MEMORY,
     TBP_GPU_MEMCPY,
     PLACES(unified_memory),
     {{64, 0}, {104, TBP_CUPTI_12_8}}},
    {TBP_CUPTI_JIT, TBP_GPU_OVERHEAD, PLACES(jit), {{64, TBP_CUPTI_11_8}, {72, TBP_CUPTI_12_4}}},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };
enum { MEMORY_ALLOCATES = 1, MEMORY_RELEASES = 2, POOL_IMPORTED = 2 };
enum { HOST_TO_DEVICE = 1, DEVICE_TO_DEVICE = 8 };

static const struct kind *kind_of(uint32_t cupti_kind) {
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].cupti == cupti_kind)
            return &kinds[i];
    return NULL;
}

/* The side of the device is ours, whichever way the pages go. */
static void finish_unified(struct tbp_cupti_record *r) {
    bool is_fault = r->code == TBP_CUPTI_PAGE_FAULTS;
    if (r->code == HOST_TO_DEVICE)
        r->device = r->copy.peer;
    if (r->code != DEVICE_TO_DEVICE) /* processors have numbers there */
        r->copy.peer = 0;
    if (is_fault || *tbp_cupti_copy_name(r->code) == '\0')
        r->kind = is_fault ? TBP_GPU_FAULTS : TBP_GPU_NONE;
    r->copy.source = r->copy.target = TBP_GPU_MEMORY_MANAGED;
    r->copy.is_async = 1;
    r->stream = TBP_GPU_UNIFIED_STREAM;
}

/* What is not a matter of places. */
static void finish(struct tbp_cupti_record *r) {
    switch (r->cupti_kind) {
    case TBP_CUPTI_MEMORY2:
        r->kind = r->code == MEMORY_ALLOCATES  ? TBP_GPU_ALLOC
                  : r->code == MEMORY_RELEASES ? TBP_GPU_FREE
                                               : TBP_GPU_NONE;
        /* fall through */
    case TBP_CUPTI_MEMORY_POOL:
        if (r->result == POOL_IMPORTED) /* the number of its process stands there */
            r->pool_bytes = 0;
        break;
    case TBP_CUPTI_DEVICE:
        r->facts.bandwidth_bytes *= 1000;
        r->facts.max_threads *= r->code;
        break;
    case TBP_CUPTI_UNIFIED_MEMORY:
        finish_unified(r);
        break;
    default:
        break;
    }
}

bool tbp_cupti_read(struct tbp_cupti_record *r, const uint8_t *record, uint32_t version) {
    uint32_t cupti_kind;
    memcpy(&cupti_kind, record, sizeof cupti_kind);
    const struct kind *k = kind_of(cupti_kind);
    *r = (struct tbp_cupti_record){.cupti_kind = cupti_kind};
    if (!k)
        return false;
    r->kind = (enum tbp_gpu_kind)k->ours;
    for (size_t i = 0; i < k->n_places; i++) {
        const struct place *p = &k->places[i];
        if (version >= p->since)
            memcpy((uint8_t *)r + p->to, record + p->offset,
                   p->width < p->to_width ? p->width : p->to_width);
    }
    r->copy.is_async &= 1;
    finish(r);
    return true;
}

size_t tbp_cupti_record_bytes(uint32_t cupti_kind, uint32_t version) {
    const struct kind *k = kind_of(cupti_kind);
    size_t bytes = 0;
    for (size_t i = 0; k && i < sizeof k->sizes / sizeof *k->sizes; i++)
        if (k->sizes[i].bytes && version >= k->sizes[i].since)
            bytes = k->sizes[i].bytes;
    return bytes;
}

const char *tbp_cupti_copy_name(uint32_t direction) {
    static const char *const names[] = {"",           "MemcpyHtoD", "MemcpyDtoH", "MemcpyHtoA",
                                        "MemcpyAtoH", "MemcpyAtoA", "MemcpyAtoD", "MemcpyDtoA",
                                        "MemcpyDtoD", "MemcpyHtoH", "MemcpyPtoP"};
    return direction < sizeof names / sizeof *names ? names[direction] : "";
}

const char *tbp_cupti_sync_name(uint32_t type) {
    static const char *const names[] = {"", "event synchronize", "stream wait event",
                                        "stream synchronize", "context synchronize"};
    return type < sizeof names / sizeof *names ? names[type] : "";
}

const char *tbp_cupti_overhead_name(uint32_t type) {
    static const struct {
        uint32_t type;
        const char *name;
    } names[] = {{1, "COMPILER"},
                 {1 << 16, "BUFFER_FLUSH"},
                 {2 << 16, "INSTRUMENTATION"},
                 {3 << 16, "RESOURCE"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type)
            return names[i].name;
    return "";
}

const char *tbp_cupti_jit_name(uint32_t operation) {
    static const char *const names[] = {"", "JIT_CACHE_LOAD", "JIT_CACHE_STORE", "JIT_COMPILE"};
    return operation < sizeof names / sizeof *names ? names[operation] : "";
}
