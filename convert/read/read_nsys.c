/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of Nsight Systems' SQLite exports (`nsys export -t sqlite`). A table is there only if it
 * has rows, columns come and go with the version; zero stands for NULL in old ones. Source:
 * reference trace_kernel_memory_import F.6.1. Threads are told by globalTid, whose low 24 bits are
 * the thread and the next 24 the process.
 *
 * Correlation ids count per process: where several have device work, the process is part of them.
 */
#include "convert/read/reader.h"
#include "convert/read/sqlite_gpu.h"

#include <stdio.h>

struct nsys {
    struct tbp_sqlite db;
    struct tbp_gpu_trace gpu;
    struct tbp_sqlite_texts strings;
    struct tbp_idmap processes; /* with device work */
    struct tbp_idmap domains;   /* id of an NVTX domain -> text */
    struct tbp_idmap threads;   /* global id -> track */
    struct tbp_idmap gpu_of;    /* process and CUDA device -> GPU */
    bool has_gpu_numbers;       /* the same CUDA device is another GPU in another process */
};

/* ---- ids ---- */

enum { ID_BITS = 24 };

static int64_t id_part(int64_t global, unsigned shift) {
    return (int64_t)((uint64_t)global >> shift & ((1u << ID_BITS) - 1));
}

static int64_t process_of(int64_t global) {
    return id_part(global, ID_BITS);
}

static uint32_t thread_of(struct nsys *n, int64_t global) {
    bool is_new;
    uint32_t known = tbp_idmap_get(&n->threads, (uint64_t)global);
    if (known != TBP_MAP_NONE)
        return known;
    uint32_t track = tbp_trace_thread(&n->gpu.t, process_of(global), id_part(global, 0));
    if (track != TBP_NO_TRACK)
        *tbp_idmap_put(&n->threads, (uint64_t)global, &is_new) = track;
    return track;
}

static uint64_t link_of(const struct nsys *n, int64_t global, int64_t correlation) {
    uint64_t process = (uint64_t)process_of(global);
    if (correlation == 0 || tbp_idmap_get(&n->processes, process) == TBP_MAP_NONE)
        return 0;
    uint64_t id = (uint64_t)correlation & UINT32_MAX;
    return n->processes.n > 1 ? process << 32 | id : id;
}

static uint64_t device_key(int64_t process, int64_t device) {
    return (uint64_t)process << 32 | ((uint64_t)device & UINT32_MAX);
}

/* CUDA numbers devices per process; where they disagree, the number of the GPU is taken. */
static int64_t device_of(const struct nsys *n, int64_t global, int64_t device) {
    uint32_t gpu = n->has_gpu_numbers
                       ? tbp_idmap_get(&n->gpu_of, device_key(process_of(global), device))
                       : TBP_MAP_NONE;
    return gpu == TBP_MAP_NONE ? device : (int64_t)gpu;
}

static uint32_t text_of(struct nsys *n, int64_t id) {
    return tbp_trace_text(&n->gpu.t, tbp_sqlite_texts_get(&n->strings, id));
}

/* ---- what is known before events are read ---- */

static void find_processes(struct nsys *n) {
    static const char *const tables[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY",
                                         "CUPTI_ACTIVITY_KIND_MEMSET",
                                         "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"};
    static const char *const columns[] = {"globalPid"};
    struct tbp_sqlite_rows rows;
    bool is_new;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (!tbp_sqlite_select(&n->db, &rows, tables[i], columns, 1))
            continue;
        while (tbp_sqlite_next(&rows)) {
            uint64_t process = (uint64_t)process_of(tbp_sqlite_i64(&rows, 0, 0));
            *tbp_idmap_put(&n->processes, process, &is_new) = 0;
        }
    }
}

static void find_gpu_numbers(struct nsys *n) {
    enum { GPU, CUDA, PROCESS };
    static const char *const columns[] = {"gpuId", "cudaId", "pid"};
    struct tbp_sqlite_rows rows;
    struct tbp_idmap of_cuda = {0};
    bool is_new;
    if (!tbp_sqlite_select(&n->db, &rows, "TARGET_INFO_CUDA_DEVICE", columns, 3))
        return;
    while (tbp_sqlite_next(&rows)) {
        uint32_t gpu = (uint32_t)tbp_sqlite_i64(&rows, GPU, 0);
        int64_t cuda = tbp_sqlite_i64(&rows, CUDA, 0);
        uint64_t key = device_key(tbp_sqlite_i64(&rows, PROCESS, 0), cuda);
        *tbp_idmap_put(&n->gpu_of, key, &is_new) = gpu;
        uint32_t *first = tbp_idmap_put(&of_cuda, (uint64_t)cuda, &is_new);
        n->has_gpu_numbers |= !is_new && *first != gpu;
        *first = gpu;
    }
    tbp_idmap_release(&of_cuda);
}

static void read_devices(struct nsys *n) {
    enum { ID, CUDA, NAME, CLOCK, SMS, BANDWIDTH, MEMORY, MAJOR, MINOR, WARPS, BLOCKS, REGS, SHM };
    static const char *const columns[] = {
        "id",           "cuDevice",        "name",           "clockRate",
        "smCount",      "memoryBandwidth", "totalMemory",    "computeMajor",
        "computeMinor", "maxWarpsPerSm",   "maxBlocksPerSm", "maxRegistersPerSm",
        "maxShmemPerSm"};
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&n->db, &r, "TARGET_INFO_GPU", columns,
                           sizeof columns / sizeof *columns))
        return;
    while (tbp_sqlite_next(&r)) {
        int64_t id = tbp_sqlite_i64(&r, ID, 0);
        struct tbp_gpu_device d = {
            .ordinal = (uint32_t)(n->has_gpu_numbers ? id : tbp_sqlite_i64(&r, CUDA, id)),
            .name = tbp_arena_str(&n->db.host->arena, tbp_sqlite_text(&r, NAME)),
            .clock_khz = (uint64_t)tbp_sqlite_i64(&r, CLOCK, 0) / 1000,
            .n_sms = (uint64_t)tbp_sqlite_i64(&r, SMS, 0),
            .bandwidth_bytes_per_s = (uint64_t)tbp_sqlite_i64(&r, BANDWIDTH, 0),
            .memory_bytes = (uint64_t)tbp_sqlite_i64(&r, MEMORY, 0),
            .major = (uint64_t)tbp_sqlite_i64(&r, MAJOR, 0),
            .minor = (uint64_t)tbp_sqlite_i64(&r, MINOR, 0),
            .max_warps = (uint64_t)tbp_sqlite_i64(&r, WARPS, 0),
            .max_blocks = (uint64_t)tbp_sqlite_i64(&r, BLOCKS, 0),
            .registers = (uint64_t)tbp_sqlite_i64(&r, REGS, 0),
            .shared_bytes = (uint64_t)tbp_sqlite_i64(&r, SHM, 0)};
        tbp_gpu_add_device(&n->gpu, &d);
    }
}

/* "2026.3.1.157 (export schema 3.27.2)". */
static void read_versions(struct nsys *n) {
    static const char *const columns[] = {"name", "value"};
    struct tbp_sqlite_rows rows;
    if (!tbp_sqlite_select(&n->db, &rows, "META_DATA_EXPORT", columns, 2))
        return;
    while (tbp_sqlite_next(&rows)) {
        struct tbp_str name = tbp_arena_str(&n->db.host->arena, tbp_sqlite_text(&rows, 0));
        if (tbp_str_is(name, "EXPORT_PRODUCT_VERSION"))
            tbp_trace_plane_text(&n->gpu.t, 0, "nsight_version", tbp_sqlite_text(&rows, 1));
        else if (tbp_str_is(name, "EXPORT_SCHEMA_VERSION"))
            tbp_trace_plane_text(&n->gpu.t, 0, "export_schema", tbp_sqlite_text(&rows, 1));
    }
}

static void read_wall_clock(struct nsys *n) {
    static const char *const columns[] = {"utcEpochNs"};
    struct tbp_sqlite_rows rows;
    if (!tbp_sqlite_select(&n->db, &rows, "TARGET_INFO_SESSION_START_TIME", columns, 1))
        return;
    while (tbp_sqlite_next(&rows)) {
        n->gpu.t.base_ns = tbp_sqlite_i64(&rows, 0, 0);
        n->gpu.t.has_wall_clock = n->gpu.t.base_ns > 0;
    }
}

/* ---- work of devices: the first columns are the same in all tables ---- */

enum { START, END, DEVICE, STREAM, CORRELATION, PROCESS, OWN };
#define OF_DEVICE "start", "end", "deviceId", "streamId", "correlationId", "globalPid"

static bool begin_event(struct nsys *n, const struct tbp_sqlite_rows *r,
                        struct tbp_trace_event *e) {
    return tbp_sqlite_begin_event(&n->gpu, r, e, START, END);
}

static bool begin_work(struct nsys *n, const struct tbp_sqlite_rows *r, struct tbp_trace_event *e) {
    int64_t global = tbp_sqlite_i64(r, PROCESS, 0);
    if (!begin_event(n, r, e))
        return false;
    e->track = tbp_gpu_stream(&n->gpu, device_of(n, global, tbp_sqlite_i64(r, DEVICE, 0)),
                              tbp_sqlite_i64(r, STREAM, 0));
    e->link = link_of(n, global, tbp_sqlite_i64(r, CORRELATION, 0));
    return true;
}

static void read_kernels(struct nsys *n) {
    enum { LONG = OWN, SHORT, LAUNCH, COLUMNS = LAUNCH + TBP_SQLITE_LAUNCH_COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "demangledName", "shortName",
                                                 TBP_SQLITE_LAUNCH};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_KERNEL", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_work(n, &r, &e))
            continue;
        int64_t global = tbp_sqlite_i64(&r, PROCESS, 0);
        struct tbp_gpu_kernel k =
            tbp_sqlite_launch(&r, LAUNCH, device_of(n, global, tbp_sqlite_i64(&r, DEVICE, 0)));
        e.name = text_of(n, tbp_sqlite_i64(&r, LONG, 0));
        if (e.name == 0)
            e.name = text_of(n, tbp_sqlite_i64(&r, SHORT, 0));
        tbp_gpu_add_kernel(&n->gpu, &e, &k);
    }
}

/* Nsight's kinds of memory are CUPTI's less one, with the unknown last. */
static int64_t memory_kind(int64_t kind) {
    return kind >= 0 && kind < 7 ? kind + 1 : 0;
}

static void read_copies(struct nsys *n) {
    enum { KIND = OWN, FROM, TO, BYTES, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "copyKind", "srcKind", "dstKind",
                                                 "bytes"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_MEMCPY", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r))
        if (begin_work(n, &r, &e))
            tbp_gpu_add_copy(&n->gpu, &e, tbp_sqlite_i64(&r, KIND, 0),
                             memory_kind(tbp_sqlite_i64(&r, FROM, -1)),
                             memory_kind(tbp_sqlite_i64(&r, TO, -1)), tbp_sqlite_size(&r, BYTES));
}

static void read_memsets(struct nsys *n) {
    enum { KIND = OWN, BYTES, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "memKind", "bytes"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_MEMSET", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r))
        if (begin_work(n, &r, &e))
            tbp_gpu_add_memset(&n->gpu, &e, memory_kind(tbp_sqlite_i64(&r, KIND, -1)),
                               tbp_sqlite_size(&r, BYTES));
}

/* Launches of graphs whose kernels were not recorded one by one. */
static void read_graphs(struct nsys *n) {
    enum { EXEC = OWN, GRAPH, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "graphExecId", "graphId"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    char name[48];
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_work(n, &r, &e))
            continue;
        int64_t id = tbp_sqlite_i64(&r, EXEC, tbp_sqlite_i64(&r, GRAPH, 0));
        int length = snprintf(name, sizeof name, "CudaGraphExec:%lld", (long long)id);
        e.name = tbp_trace_text(&n->gpu.t, (struct tbp_str){name, (size_t)length});
        tbp_gpu_add_work(&n->gpu, &e);
    }
}

static void read_waits(struct nsys *n) {
    enum { KIND = OWN, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "syncType"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_event(n, &r, &e))
            continue;
        int64_t device =
            device_of(n, tbp_sqlite_i64(&r, PROCESS, 0), tbp_sqlite_i64(&r, DEVICE, 0));
        tbp_sqlite_add_wait(&n->gpu, &r, &e, device, STREAM, KIND);
    }
}

/* ---- host ---- */

/* "cudaLaunchKernel_v7000" without the version of its introduction. */
static uint32_t api_name(struct nsys *n, int64_t id) {
    struct tbp_str name = tbp_sqlite_texts_get(&n->strings, id);
    size_t at = name.n;
    while (at > 0 && name.p[at - 1] >= '0' && name.p[at - 1] <= '9')
        at--;
    bool is_version = at >= 3 && name.n - at >= 4 && memcmp(name.p + at - 2, "_v", 2) == 0;
    return tbp_trace_text(&n->gpu.t, is_version ? tbp_str_sub(name, 0, at - 2) : name);
}

static void read_runtime(struct nsys *n) {
    enum { THREAD = 2, CALL_ID, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = {"start", "end", "globalTid", "correlationId",
                                                 "nameId"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_RUNTIME", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_event(n, &r, &e))
            continue;
        int64_t global = tbp_sqlite_i64(&r, THREAD, 0);
        e.track = thread_of(n, global);
        e.link = link_of(n, global, tbp_sqlite_i64(&r, CALL_ID, 0));
        e.name = api_name(n, tbp_sqlite_i64(&r, NAME, 0));
        tbp_gpu_add_call(&n->gpu, &e);
    }
}

/* Calls of other libraries, whatever the table is called: a start, an end, a thread, a name. */
static void read_calls(struct nsys *n, struct tbp_sqlite_table *table, bool is_overhead) {
    enum { THREAD = 2, NAME, TEXT, COLUMNS };
    static const char *const columns[COLUMNS] = {"start", "end", "globalTid", "nameId", "textId"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select_table(&n->db, &r, table, columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_event(n, &r, &e))
            continue;
        e.track = is_overhead ? tbp_trace_line(&n->gpu.t, 0, TBP_STR("Profiler overhead"))
                              : thread_of(n, tbp_sqlite_i64(&r, THREAD, 0));
        e.name = text_of(n, tbp_sqlite_i64(&r, NAME, tbp_sqlite_i64(&r, TEXT, 0)));
        tbp_trace_add(&n->gpu.t, &e);
    }
}

/* What is left: calls, and records that no page shows. */
static void read_other_tables(struct nsys *n) {
    for (size_t i = 0; i < n->db.tables.n; i++) {
        struct tbp_sqlite_table *table = &n->db.tables.at[i];
        bool has_start = !table->is_used && tbp_sqlite_has_column(&n->db, table->name, "start");
        bool has_name = has_start && (tbp_sqlite_has_column(&n->db, table->name, "nameId") ||
                                      tbp_sqlite_has_column(&n->db, table->name, "textId"));
        if (has_name && tbp_sqlite_has_column(&n->db, table->name, "end") &&
            tbp_sqlite_has_column(&n->db, table->name, "globalTid"))
            read_calls(n, table, tbp_str_has(table->name, "OVERHEAD"));
        else if (has_start ||
                 (!table->is_used && tbp_sqlite_has_column(&n->db, table->name, "timestamp")))
            tbp_gpu_not_shown(&n->gpu, tbp_sqlite_count(&n->db, table->name));
    }
}

/* ---- NVTX ---- */

enum nvtx_type {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTXT_MARK = 65,
    NVTXT_PUSH_POP = 70,
    NVTXT_START_END = 71,
    NVTX_DOMAIN = 75,
};

enum { N_THREAD = 2, N_TYPE, N_TEXT, N_TEXT_ID, N_DOMAIN, NVTX_COLUMNS };
static const char *const nvtx_columns[NVTX_COLUMNS] = {"start", "end",    "globalTid", "eventType",
                                                       "text",  "textId", "domainId"};

static struct tbp_str nvtx_text(const struct nsys *n, const struct tbp_sqlite_rows *r) {
    return tbp_sqlite_is_null(r, N_TEXT)
               ? tbp_sqlite_texts_get(&n->strings, tbp_sqlite_i64(r, N_TEXT_ID, 0))
               : tbp_sqlite_text(r, N_TEXT);
}

/* Ids of domains count per process. */
static uint64_t domain_key(const struct tbp_sqlite_rows *r) {
    return (uint64_t)process_of(tbp_sqlite_i64(r, N_THREAD, 0)) << 32 |
           ((uint64_t)tbp_sqlite_i64(r, N_DOMAIN, 0) & UINT32_MAX);
}

static void read_domains(struct nsys *n) {
    struct tbp_sqlite_rows r;
    bool is_new;
    if (!tbp_sqlite_select(&n->db, &r, "NVTX_EVENTS", nvtx_columns, NVTX_COLUMNS))
        return;
    while (tbp_sqlite_next(&r))
        if (tbp_sqlite_i64(&r, N_TYPE, 0) == NVTX_DOMAIN)
            *tbp_idmap_put(&n->domains, domain_key(&r), &is_new) =
                tbp_trace_text(&n->gpu.t, nvtx_text(n, &r));
}

static void read_range(struct nsys *n, const struct tbp_sqlite_rows *r, bool is_nested) {
    struct tbp_trace_event e;
    int64_t global = tbp_sqlite_i64(r, N_THREAD, 0);
    if (!begin_event(n, r, &e))
        return;
    uint32_t domain = tbp_idmap_get(&n->domains, domain_key(r));
    struct tbp_gpu_range range = {.is_nested = is_nested,
                                  .is_open = tbp_sqlite_i64(r, END, 0) == 0,
                                  .domain = domain == TBP_MAP_NONE ? 0 : domain,
                                  .process = process_of(global)};
    e.name = tbp_trace_text(&n->gpu.t, nvtx_text(n, r));
    e.track = is_nested
                  ? thread_of(n, global)
                  : tbp_gpu_line(&n->gpu, "NVTX ranges", process_of(global), id_part(global, 0));
    if (range.is_open)
        e.dur_ps = 0;
    tbp_gpu_add_range(&n->gpu, &e, &range);
}

static void read_mark(struct nsys *n, const struct tbp_sqlite_rows *r) {
    struct tbp_trace_event e = {.start_ns = tbp_sqlite_i64(r, START, 0)};
    if (tbp_sqlite_is_null(r, START)) {
        tbp_gpu_no_time(&n->gpu);
        return;
    }
    e.track = thread_of(n, tbp_sqlite_i64(r, N_THREAD, 0));
    e.name = tbp_trace_text(&n->gpu.t, nvtx_text(n, r));
    tbp_trace_add(&n->gpu.t, &e);
}

static void read_nvtx(struct nsys *n) {
    struct tbp_ledger *l = &n->db.host->ledger;
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&n->db, &r, "NVTX_EVENTS", nvtx_columns, NVTX_COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        switch (tbp_sqlite_i64(&r, N_TYPE, 0)) {
        case NVTX_PUSH_POP:
        case NVTXT_PUSH_POP:
            read_range(n, &r, true);
            break;
        case NVTX_START_END:
        case NVTXT_START_END:
            read_range(n, &r, false);
            break;
        case NVTX_MARK:
        case NVTXT_MARK:
            read_mark(n, &r);
            break;
        default: /* names of categories, threads, domains */
            l->events_read++;
            l->events_merged++;
            break;
        }
    }
}

/* ---- memory ---- */

/* On a line of their own: the thread is not told. */
static void read_memory(struct nsys *n) {
    enum { AT, M_PROCESS, M_DEVICE, ADDRESS, BYTES, KIND, OPERATION, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "start", "globalPid", "deviceId", "address", "bytes", "memKind", "memoryOperationType"};
    enum { ALLOCATION = 0, PINNED = 1, DEVICE_MEMORY = 2 };
    struct tbp_sqlite_rows r;
    char name[48];
    if (!tbp_sqlite_select(&n->db, &r, "CUDA_GPU_MEMORY_USAGE_EVENTS", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        int64_t kind = tbp_sqlite_i64(&r, KIND, DEVICE_MEMORY);
        int64_t global = tbp_sqlite_i64(&r, M_PROCESS, 0);
        int64_t device = device_of(n, global, tbp_sqlite_i64(&r, M_DEVICE, 0));
        int64_t bytes = (int64_t)tbp_sqlite_size(&r, BYTES);
        if (tbp_sqlite_is_null(&r, AT)) {
            tbp_gpu_no_time(&n->gpu);
            continue;
        }
        int length = kind <= PINNED
                         ? snprintf(name, sizeof name, "host_pinned")
                         : snprintf(name, sizeof name,
                                    kind == DEVICE_MEMORY ? "GPU_%lld" : "GPU_%lld_managed",
                                    (long long)device);
        struct tbp_trace_memory_event m = {
            .track = tbp_trace_thread(&n->gpu.t, process_of(global), 0),
            .allocator = tbp_trace_text(&n->gpu.t, (struct tbp_str){name, (size_t)length}),
            .start_ns = tbp_sqlite_i64(&r, AT, 0),
            .bytes = tbp_sqlite_i64(&r, OPERATION, ALLOCATION) == ALLOCATION ? bytes : -bytes,
            .address = (uint64_t)tbp_sqlite_i64(&r, ADDRESS, 0),
            .allocated = -1};
        tbp_trace_track_name(&n->gpu.t, m.track, TBP_STR("GPU memory"));
        tbp_trace_memory(&n->gpu.t, &m);
    }
}

/* ---- names of threads ---- */

/* "name (thread)", of the highest priority. */
static void name_threads(struct nsys *n) {
    enum { NAME, PRIORITY, GLOBAL, COLUMNS };
    static const char *const columns[COLUMNS] = {"nameId", "priority", "globalTid"};
    struct tbp_trace *t = &n->gpu.t;
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&n->db, &r, "ThreadNames", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        uint32_t track = tbp_idmap_get(&n->threads, (uint64_t)tbp_sqlite_i64(&r, GLOBAL, 0));
        struct tbp_given_name name = {.ns = tbp_sqlite_i64(&r, PRIORITY, 0)};
        name.text = tbp_sqlite_texts_get(&n->strings, tbp_sqlite_i64(&r, NAME, 0));
        if (track != TBP_MAP_NONE)
            tbp_trace_track_given(t, track, &name);
    }
    for (uint32_t i = 0; i < t->tracks.n; i++) {
        struct tbp_str name = t->tracks.at[i].given.text;
        if (name.n)
            tbp_trace_track_name(
                t, i,
                tbp_str_c(tbp_arena_printf(&t->host->arena, "%.*s (%lld)", (int)name.n, name.p,
                                           (long long)t->tracks.at[i].id)));
    }
}

/* ---- all of it ---- */

static void read_events(struct nsys *n) {
    find_processes(n);
    find_gpu_numbers(n);
    read_devices(n);
    read_versions(n);
    read_wall_clock(n);
    tbp_sqlite_texts_load(&n->strings, &n->db, "StringIds", "id", "value");
    read_kernels(n);
    read_copies(n);
    read_memsets(n);
    read_graphs(n);
    read_waits(n);
    read_runtime(n);
    read_domains(n);
    read_nvtx(n);
    read_memory(n);
    read_other_tables(n);
    name_threads(n);
}

static const char *const marks[] = {
    "StringIds",   "TARGET_INFO_GPU",  "CUPTI_ACTIVITY_KIND_RUNTIME",
    "NVTX_EVENTS", "META_DATA_EXPORT", NULL};

static bool is_export(struct tbp_sqlite *db) {
    for (size_t i = 0; marks[i]; i++)
        if (tbp_sqlite_find(db, marks[i]))
            return true;
    return false;
}

static int read_nsys(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct nsys n = {0};
    int status = tbp_sqlite_open(&n.db, host, err);
    if (status)
        return status;
    if (!is_export(&n.db)) {
        tbp_sqlite_close(&n.db);
        if (n.db.is_list_cut)
            return tbp_sqlite_list_cut(&n.db, err);
        return tbp_fail(err, TBP_E_FORMAT,
                        "'%.*s' is an SQLite database without the tables of Nsight Systems, "
                        "nvprof, RPD or rocpd",
                        (int)host->path.n, host->path.p);
    }
    tbp_gpu_trace_init(&n.gpu, host, "Nvidia");
    read_events(&n);
    tbp_sqlite_close(&n.db);
    tbp_gpu_trace_finish(&n.gpu, pool);
    tbp_gpu_trace_release(&n.gpu);
    tbp_sqlite_texts_release(&n.strings);
    tbp_idmap_release(&n.processes);
    tbp_idmap_release(&n.domains);
    tbp_idmap_release(&n.threads);
    tbp_idmap_release(&n.gpu_of);
    return TBP_OK;
}

/* Of a database that nobody knows, this reader says so. */
static int probe(const uint8_t *data, size_t size) {
    enum { LIKELY = 80, PERHAPS = 1 };
    if (!tbp_sqlite_is_database(data, size))
        return 0;
    bool is_likely = tbp_sqlite_mentions(data, size, "StringIds") ||
                     tbp_sqlite_mentions(data, size, "TARGET_INFO_");
    return is_likely ? LIKELY : PERHAPS;
}

static int probe_input(const struct tbp_input *in) {
    enum { CERTAIN = 80 };
    return tbp_sqlite_has_any(in, marks) ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_nsys = {
    .name = "nsys",
    .help = "SQLite exports of Nsight Systems (nsys export -t sqlite)",
    .probe = probe,
    .probe_input = probe_input,
    .read = read_nsys,
};
