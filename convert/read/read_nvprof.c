/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of nvprof's databases (`nvprof -o x.nvvp`, --export-profile). Tables are called by CUPTI's
 * records; times are nanoseconds since 1970; kernels are mangled names, calls are numbers. Source:
 * reference trace_kernel_memory_import F.6.2.
 */
#include "base/demangle.h"
#include "convert/read/cuda_api_names.h"
#include "convert/read/reader.h"
#include "convert/read/sqlite_gpu.h"

#include <stdio.h>

struct marker { /* the start of a range */
    int64_t start_ns;
    uint32_t name, domain;
    uint32_t process;
    int32_t thread;
    bool is_of_thread, is_ended;
};

struct nvprof {
    struct tbp_sqlite db;
    struct tbp_gpu_trace gpu;
    struct tbp_sqlite_texts strings;
    struct tbp_idmap kernel_names; /* id of a text -> text */
    struct tbp_idmap marker_of;    /* id of a range -> its last start */
    TBP_VEC(struct marker) markers;
};

static uint32_t text_of(struct nvprof *n, int64_t id) {
    struct tbp_str s = tbp_sqlite_texts_get(&n->strings, id);
    return id == 0 ? 0 : tbp_trace_text(&n->gpu.t, s); /* number 0: "-- null --" */
}

static uint32_t kernel_name(struct nvprof *n, int64_t id) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&n->kernel_names, (uint64_t)id, &is_new);
    if (!is_new)
        return *at;
    struct tbp_str mangled = tbp_sqlite_texts_get(&n->strings, id);
    *at = tbp_trace_text(&n->gpu.t, tbp_demangle(mangled, &n->db.host->arena));
    return *at;
}

/* ---- devices ---- */

static void read_devices(struct nvprof *n) {
    enum {
        ID,
        NAME,
        CLOCK,
        SMS,
        BANDWIDTH,
        MEMORY,
        MAJOR,
        MINOR,
        WARPS,
        BLOCKS,
        REGS,
        SHM,
        COLUMNS
    };
    static const char *const columns[COLUMNS] = {"id",
                                                 "name",
                                                 "coreClockRate",
                                                 "numMultiprocessors",
                                                 "globalMemoryBandwidth",
                                                 "globalMemorySize",
                                                 "computeCapabilityMajor",
                                                 "computeCapabilityMinor",
                                                 "maxWarpsPerMultiprocessor",
                                                 "maxBlocksPerMultiprocessor",
                                                 "maxRegistersPerMultiprocessor",
                                                 "maxSharedMemoryPerMultiprocessor"};
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_DEVICE", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        struct tbp_gpu_device d = {
            .ordinal = (uint32_t)tbp_sqlite_i64(&r, ID, 0),
            .name = tbp_sqlite_texts_get(&n->strings, tbp_sqlite_i64(&r, NAME, 0)),
            .clock_khz = tbp_sqlite_size(&r, CLOCK),
            .n_sms = tbp_sqlite_size(&r, SMS),
            .bandwidth_bytes_per_s =
                (tbp_sqlite_size(&r, BANDWIDTH) & UINT32_MAX) * 1000u, /* kB/s */
            .memory_bytes = tbp_sqlite_size(&r, MEMORY),
            .major = tbp_sqlite_size(&r, MAJOR),
            .minor = tbp_sqlite_size(&r, MINOR),
            .max_warps = tbp_sqlite_size(&r, WARPS),
            .max_blocks = tbp_sqlite_size(&r, BLOCKS),
            .registers = tbp_sqlite_size(&r, REGS),
            .shared_bytes = tbp_sqlite_size(&r, SHM)};
        tbp_gpu_add_device(&n->gpu, &d);
    }
}

/* ---- work of devices: the first columns are the same in all tables ---- */

enum { START, END, DEVICE, STREAM, CORRELATION, OWN };
#define OF_DEVICE "start", "end", "deviceId", "streamId", "correlationId"

static bool begin_event(struct nvprof *n, const struct tbp_sqlite_rows *r,
                        struct tbp_trace_event *e) {
    if (tbp_sqlite_is_null(r, START) || tbp_sqlite_i64(r, START, 0) != 0)
        return tbp_sqlite_begin_event(&n->gpu, r, e, START, END);
    tbp_gpu_no_time(&n->gpu); /* zero: CUPTI could not take the time */
    return false;
}

static bool begin_work(struct nvprof *n, const struct tbp_sqlite_rows *r,
                       struct tbp_trace_event *e) {
    if (!begin_event(n, r, e))
        return false;
    e->track = tbp_gpu_stream(&n->gpu, tbp_sqlite_i64(r, DEVICE, 0), tbp_sqlite_i64(r, STREAM, 0));
    e->link = tbp_sqlite_size(r, CORRELATION);
    return true;
}

static void read_kernels(struct nvprof *n, const char *table) {
    enum { NAME = OWN, LAUNCH, COLUMNS = LAUNCH + TBP_SQLITE_LAUNCH_COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "name", TBP_SQLITE_LAUNCH};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, table, columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_work(n, &r, &e))
            continue;
        struct tbp_gpu_kernel k = tbp_sqlite_launch(&r, LAUNCH, tbp_sqlite_i64(&r, DEVICE, 0));
        e.name = kernel_name(n, tbp_sqlite_i64(&r, NAME, 0));
        tbp_gpu_add_kernel(&n->gpu, &e, &k);
    }
}

static void read_copies(struct nvprof *n, const char *table) {
    enum { KIND = OWN, FROM, TO, BYTES, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "copyKind", "srcKind", "dstKind",
                                                 "bytes"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, table, columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r))
        if (begin_work(n, &r, &e))
            tbp_gpu_add_copy(&n->gpu, &e, tbp_sqlite_i64(&r, KIND, 0), tbp_sqlite_i64(&r, FROM, 0),
                             tbp_sqlite_i64(&r, TO, 0), tbp_sqlite_size(&r, BYTES));
}

static void read_memsets(struct nvprof *n) {
    enum { KIND = OWN, BYTES, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_DEVICE, "memoryKind", "bytes"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_MEMSET", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r))
        if (begin_work(n, &r, &e))
            tbp_gpu_add_memset(&n->gpu, &e, tbp_sqlite_i64(&r, KIND, 0),
                               tbp_sqlite_size(&r, BYTES));
}

static void read_waits(struct nvprof *n) {
    enum { W_CONTEXT = 2, W_STREAM, KIND, COLUMNS };
    static const char *const columns[COLUMNS] = {"start", "end", "contextId", "streamId", "type"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_event(n, &r, &e))
            continue;
        tbp_sqlite_add_wait(&n->gpu, &r, &e, tbp_sqlite_i64(&r, W_CONTEXT, 0), W_STREAM, KIND);
    }
}

/* ---- host ---- */

struct api {
    const char *table, *unknown;
    struct tbp_str (*name_of)(int64_t);
};

static uint32_t call_name(struct nvprof *n, const struct api *api, struct tbp_idmap *known,
                          int64_t number) {
    char made[64];
    bool is_new;
    uint32_t *at = tbp_idmap_put(known, (uint64_t)number, &is_new);
    if (!is_new)
        return *at;
    struct tbp_str name = api->name_of(number);
    if (name.n == 0) {
        int length = snprintf(made, sizeof made, "%s %lld", api->unknown, (long long)number);
        name = (struct tbp_str){made, (size_t)length};
    }
    *at = tbp_trace_text(&n->gpu.t, name);
    return *at;
}

static void read_calls(struct nvprof *n, const struct api *api) {
    enum { C_PROCESS = 2, C_THREAD, C_CORRELATION, NUMBER, COLUMNS };
    static const char *const columns[COLUMNS] = {"start",    "end",           "processId",
                                                 "threadId", "correlationId", "cbid"};
    struct tbp_idmap names = {0};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, api->table, columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_event(n, &r, &e))
            continue;
        e.track = tbp_trace_thread(&n->gpu.t, tbp_sqlite_i64(&r, C_PROCESS, 0),
                                   tbp_sqlite_i64(&r, C_THREAD, 0));
        e.link = tbp_sqlite_size(&r, C_CORRELATION);
        e.name = call_name(n, api, &names, tbp_sqlite_i64(&r, NUMBER, 0));
        tbp_gpu_add_call(&n->gpu, &e);
    }
    tbp_idmap_release(&names);
}

static const char *overhead_name(int64_t kind) {
    switch (kind >> 16) {
    case 1:
        return "Driver compiler";
    case 2:
        return "Buffer flush";
    case 3:
        return "Instrumentation";
    case 4:
        return "Resource";
    default:
        return "Overhead";
    }
}

static void read_overhead(struct nvprof *n) {
    enum { KIND = 2, COLUMNS };
    static const char *const columns[COLUMNS] = {"start", "end", "overheadKind"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_OVERHEAD", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_event(n, &r, &e))
            continue;
        e.track = tbp_trace_line(&n->gpu.t, 0, TBP_STR("Profiler overhead"));
        e.name = tbp_trace_text(&n->gpu.t, tbp_str_c(overhead_name(tbp_sqlite_i64(&r, KIND, 0))));
        tbp_trace_add(&n->gpu.t, &e);
    }
}

/* ---- ranges: two rows each, of the same id ---- */

enum { M_TIME, M_ID, M_FLAGS, M_KIND, M_OBJECT, M_NAME, M_DOMAIN, MARKER_COLUMNS };
static const char *const marker_columns[MARKER_COLUMNS] = {
    "timestamp", "id", "flags", "objectKind", "objectId", "name", "domain"};
enum { FLAG_INSTANT = 1, FLAG_START = 2, FLAG_END = 4 };
enum { OBJECT_THREAD = 2 };

/* Process and thread: two numbers of 32 bits, as the machine had them (little endian). */
static struct marker marker_of(struct nvprof *n, const struct tbp_sqlite_rows *r) {
    struct marker m = {.start_ns = tbp_sqlite_i64(r, M_TIME, 0)};
    struct tbp_str object = tbp_sqlite_blob(r, M_OBJECT);
    if (object.n >= 8) {
        memcpy(&m.process, object.p, 4);
        memcpy(&m.thread, object.p + 4, 4);
    }
    m.is_of_thread = tbp_sqlite_i64(r, M_KIND, OBJECT_THREAD) == OBJECT_THREAD;
    m.name = text_of(n, tbp_sqlite_i64(r, M_NAME, 0));
    m.domain = text_of(n, tbp_sqlite_i64(r, M_DOMAIN, 0));
    return m;
}

static void add_range(struct nvprof *n, const struct marker *m, int64_t end_ns, bool is_open) {
    struct tbp_trace_event e = {.name = m->name, .start_ns = m->start_ns};
    struct tbp_gpu_range range = {.is_nested = m->is_of_thread,
                                  .is_open = is_open,
                                  .domain = m->domain,
                                  .process = m->process};
    e.track = m->is_of_thread ? tbp_trace_thread(&n->gpu.t, m->process, m->thread)
                              : tbp_gpu_line(&n->gpu, "NVTX ranges", m->process, m->thread);
    tbp_gpu_set_time(&n->gpu, &e, m->start_ns, end_ns);
    tbp_gpu_add_range(&n->gpu, &e, &range);
}

static void read_starts(struct nvprof *n) {
    struct tbp_sqlite_rows r;
    bool is_new;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_MARKER", marker_columns,
                           MARKER_COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        int64_t flags = tbp_sqlite_i64(&r, M_FLAGS, 0);
        if (!(flags & (FLAG_START | FLAG_INSTANT)))
            continue;
        struct marker m = marker_of(n, &r);
        if (flags & FLAG_START) {
            *tbp_idmap_put(&n->marker_of, tbp_sqlite_size(&r, M_ID), &is_new) =
                (uint32_t)n->markers.n;
            *tbp_vec_push(&n->markers) = m;
            continue;
        }
        struct tbp_trace_event e = {.name = m.name, .start_ns = m.start_ns};
        e.track = tbp_trace_thread(&n->gpu.t, m.process, m.thread);
        tbp_trace_add(&n->gpu.t, &e);
    }
}

static void read_ends(struct nvprof *n) {
    struct tbp_ledger *l = &n->db.host->ledger;
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_MARKER", marker_columns,
                           MARKER_COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!(tbp_sqlite_i64(&r, M_FLAGS, 0) & FLAG_END))
            continue;
        uint32_t at = tbp_idmap_get(&n->marker_of, tbp_sqlite_size(&r, M_ID));
        l->events_read++;
        if (at == TBP_MAP_NONE || n->markers.at[at].is_ended) {
            l->events_dropped++;
            tbp_ledger_count(l, TBP_LEDGER_UNMATCHED_END, 1, TBP_NO_OFFSET);
            continue;
        }
        l->events_merged++;
        n->markers.at[at].is_ended = true;
        add_range(n, &n->markers.at[at], tbp_sqlite_i64(&r, M_TIME, 0), false);
    }
    for (size_t i = 0; i < n->markers.n; i++)
        if (!n->markers.at[i].is_ended)
            add_range(n, &n->markers.at[i], n->markers.at[i].start_ns, true);
}

/* ---- memory ---- */

/* One row for the life of an allocation; no end: it outlived the recording. */
static void read_memory(struct nvprof *n) {
    enum { FROM, TO, M_PROCESS, M_DEVICE, ADDRESS, BYTES, KIND, COLUMNS };
    static const char *const columns[COLUMNS] = {"start",   "end",   "processId", "deviceId",
                                                 "address", "bytes", "memoryKind"};
    struct tbp_sqlite_rows r;
    char name[48];
    if (!tbp_sqlite_select(&n->db, &r, "CUPTI_ACTIVITY_KIND_MEMORY", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        int64_t kind = tbp_sqlite_i64(&r, KIND, TBP_GPU_DEVICE), end_ns = tbp_sqlite_i64(&r, TO, 0);
        const char *form = kind == TBP_GPU_PINNED ? "host_pinned" : "GPU";
        int length = snprintf(name, sizeof name, "%s_%lld", form,
                              (long long)tbp_sqlite_i64(&r, M_DEVICE, 0));
        struct tbp_trace_memory_event m = {
            .track = tbp_trace_thread(&n->gpu.t, tbp_sqlite_i64(&r, M_PROCESS, 0), 0),
            .allocator = tbp_trace_text(&n->gpu.t, (struct tbp_str){name, (size_t)length}),
            .start_ns = tbp_sqlite_i64(&r, FROM, 0),
            .bytes = (int64_t)tbp_sqlite_size(&r, BYTES),
            .address = (uint64_t)tbp_sqlite_i64(&r, ADDRESS, 0),
            .allocated = -1};
        tbp_trace_track_name(&n->gpu.t, m.track, TBP_STR("GPU memory"));
        tbp_trace_memory(&n->gpu.t, &m);
        m.start_ns = end_ns;
        m.bytes = -m.bytes;
        if (end_ns > 0)
            tbp_trace_memory(&n->gpu.t, &m);
    }
}

/* ---- all of it ---- */

static void read_other_tables(struct nvprof *n) {
    static const char *const times[] = {"start", "timestamp"};
    for (size_t i = 0; i < n->db.tables.n; i++) {
        struct tbp_sqlite_table *table = &n->db.tables.at[i];
        bool is_event = false;
        for (size_t k = 0; k < sizeof times / sizeof *times && !table->is_used; k++)
            is_event |= tbp_sqlite_has_column(&n->db, table->name, times[k]);
        if (is_event)
            tbp_gpu_not_shown(&n->gpu, tbp_sqlite_count(&n->db, table->name));
    }
}

static void read_events(struct nvprof *n) {
    static const char *const kernels[] = {"CUPTI_ACTIVITY_KIND_KERNEL",
                                          "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
                                          "CUPTI_ACTIVITY_KIND_CDP_KERNEL"};
    static const struct api apis[] = {
        {"CUPTI_ACTIVITY_KIND_RUNTIME", "runtime call", tbp_cuda_runtime_name},
        {"CUPTI_ACTIVITY_KIND_DRIVER", "driver call", tbp_cuda_driver_name}};
    tbp_sqlite_texts_load(&n->strings, &n->db, "StringTable", "_id_", "value");
    read_devices(n);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        read_kernels(n, kernels[i]);
    read_copies(n, "CUPTI_ACTIVITY_KIND_MEMCPY");
    read_copies(n, "CUPTI_ACTIVITY_KIND_MEMCPY2");
    read_memsets(n);
    read_waits(n);
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++)
        read_calls(n, &apis[i]);
    read_overhead(n);
    read_starts(n);
    read_ends(n);
    read_memory(n);
    read_other_tables(n);
    n->gpu.t.has_wall_clock = true;
}

static int read_database(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct nvprof n = {0};
    int status = tbp_sqlite_open(&n.db, host, err);
    if (status)
        return status;
    tbp_gpu_trace_init(&n.gpu, host, "Nvidia");
    read_events(&n);
    tbp_sqlite_close(&n.db);
    tbp_gpu_trace_finish(&n.gpu, pool);
    tbp_gpu_trace_release(&n.gpu);
    tbp_sqlite_texts_release(&n.strings);
    tbp_idmap_release(&n.kernel_names);
    tbp_idmap_release(&n.marker_of);
    tbp_vec_release(&n.markers);
    return TBP_OK;
}

/* What the Visual Profiler saves: how it looked, not what it showed. */
static bool is_session(const uint8_t *data, size_t size) {
    static const char mark[] = "\xef\xbb\xbf";
    struct tbp_str s = {(const char *)data, size < 1024 ? size : 1024};
    if (tbp_str_starts(s, mark))
        s = tbp_str_sub(s, sizeof mark - 1, s.n);
    return tbp_str_starts(s, "<?xml") && tbp_str_has(s, "<session version=");
}

static int read_nvprof(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    if (is_session(host->input.data, host->input.size))
        return tbp_fail(err, TBP_E_FORMAT,
                        "'%.*s' is a session of the Visual Profiler (XML), which holds settings "
                        "and no timeline; export one with `nvprof --export-profile`",
                        (int)host->path.n, host->path.p);
    return read_database(host, pool, err);
}

static int probe(const uint8_t *data, size_t size) {
    enum { LIKELY = 82 };
    bool is_likely = is_session(data, size) || (tbp_sqlite_is_database(data, size) &&
                                                tbp_sqlite_mentions(data, size, "StringTable") &&
                                                tbp_sqlite_mentions(data, size, "CUPTI_ACTIVITY"));
    return is_likely ? LIKELY : 0;
}

static int probe_input(const struct tbp_input *in) {
    enum { CERTAIN = 90 };
    static const char *const tables[] = {"StringTable", NULL};
    return tbp_sqlite_has_any(in, tables) ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_nvprof = {
    .name = "nvprof",
    .help = "databases of nvprof and the Visual Profiler (nvprof -o x.nvvp)",
    .probe = probe,
    .probe_input = probe_input,
    .read = read_nvprof,
};
