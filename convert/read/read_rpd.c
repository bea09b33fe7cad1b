/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of RPD databases (rocmProfileData, *.rpd). Times are nanoseconds of the boot clock.
 * Sources: reference trace_kernel_memory_import F.8. Calls and operations are linked by a table of
 * pairs; one call may start many operations (a graph launch), and an operation may have no call.
 *
 * Grids are counted in blocks by hipLaunchKernel and in work items by the module launches of HCC.
 */
#include "convert/read/reader.h"
#include "convert/read/sqlite_gpu.h"

#include <stdio.h>

struct launch { /* what a call says of the operation it starts */
    int64_t kernel;
    uint64_t grid[3], block[3], group_bytes;
    int64_t copy_kind;
    uint64_t copy_bytes;
};

struct rpd {
    struct tbp_sqlite db;
    struct tbp_gpu_trace gpu;
    struct tbp_sqlite_texts strings, long_strings; /* long: arguments, of schema 3 */
    bool has_long_strings;
    struct tbp_idmap launch_of_api, item_launches, api_of_op; /* index in launches; … in apis */
    TBP_VEC(struct launch) launches;
    TBP_VEC(int64_t) apis;
    uint64_t n_operations, n_calls;
    struct tbp_str schema;
};

static struct launch *launch_of(struct rpd *d, int64_t api) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&d->launch_of_api, (uint64_t)api, &is_new);
    if (is_new) {
        *at = (uint32_t)d->launches.n;
        *tbp_vec_push(&d->launches) = (struct launch){.kernel = -1};
    }
    return &d->launches.at[*at];
}

/* ---- launches ---- */

static void read_kernel_launches(struct rpd *d) {
    enum { API, KERNEL, GROUP, GRID, BLOCK = GRID + 3, COLUMNS = BLOCK + 3 };
    static const char *const columns[COLUMNS] = {"api_ptr_id", "kernelName_id", "groupSegmentSize",
                                                 "gridX",      "gridY",         "gridZ",
                                                 "workgroupX", "workgroupY",    "workgroupZ"};
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&d->db, &r, "rocpd_kernelapi", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        struct launch *l = launch_of(d, tbp_sqlite_i64(&r, API, 0));
        l->kernel = tbp_sqlite_i64(&r, KERNEL, -1);
        l->group_bytes = tbp_sqlite_size(&r, GROUP);
        for (unsigned i = 0; i < 3; i++) {
            l->grid[i] = tbp_sqlite_size(&r, GRID + i);
            l->block[i] = tbp_sqlite_size(&r, BLOCK + i);
        }
    }
}

static void read_copy_launches(struct rpd *d) {
    enum { API, KIND, SIZE, COLUMNS };
    static const char *const columns[COLUMNS] = {"api_ptr_id", "kind", "size"};
    struct tbp_sqlite_rows r;
    if (!tbp_sqlite_select(&d->db, &r, "rocpd_copyapi", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        struct launch *l = launch_of(d, tbp_sqlite_i64(&r, API, 0));
        l->copy_kind = tbp_sqlite_i64(&r, KIND, 0);
        l->copy_bytes = tbp_sqlite_size(&r, SIZE);
    }
}

static void read_links(struct rpd *d) {
    enum { API, OP, COLUMNS };
    static const char *const columns[COLUMNS] = {"api_id", "op_id"};
    struct tbp_sqlite_rows r;
    bool is_new;
    if (!tbp_sqlite_select(&d->db, &r, "rocpd_api_ops", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        uint32_t *at = tbp_idmap_put(&d->api_of_op, (uint64_t)tbp_sqlite_i64(&r, OP, 0), &is_new);
        if (!is_new)
            continue;
        *at = (uint32_t)d->apis.n;
        *tbp_vec_push(&d->apis) = tbp_sqlite_i64(&r, API, 0);
    }
}

/* ---- calls ---- */

/* The text of a marker stands among the arguments; names of the tracer's own categories too. */
static bool is_marker(struct tbp_str name) {
    return tbp_str_is(name, "UserMarker") || tbp_str_is(name, "roctx");
}

static void read_calls(struct rpd *d) {
    enum { ID, PROCESS, THREAD, START, END, NAME, ARGS, COLUMNS };
    static const char *const columns[COLUMNS] = {"id",  "pid",        "tid",    "start",
                                                 "end", "apiName_id", "args_id"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    bool is_new;
    if (!tbp_sqlite_select(&d->db, &r, "rocpd_api", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        struct tbp_str name = tbp_sqlite_texts_get(&d->strings, tbp_sqlite_i64(&r, NAME, 0));
        int64_t id = tbp_sqlite_i64(&r, ID, 0), process = tbp_sqlite_i64(&r, PROCESS, 0);
        if (!tbp_sqlite_begin_event(&d->gpu, &r, &e, START, END))
            continue;
        d->n_calls++;
        e.track = tbp_trace_thread(&d->gpu.t, process, tbp_sqlite_i64(&r, THREAD, 0));
        if (is_marker(name)) {
            const struct tbp_sqlite_texts *from =
                d->has_long_strings ? &d->long_strings : &d->strings;
            struct tbp_gpu_range range = {.is_nested = true, .process = process};
            e.name =
                tbp_trace_text(&d->gpu.t, tbp_sqlite_texts_get(from, tbp_sqlite_i64(&r, ARGS, 0)));
            tbp_gpu_add_range(&d->gpu, &e, &range);
            continue;
        }
        if (tbp_str_has(name, "ModuleLaunchKernel") && !tbp_str_is(name, "hipModuleLaunchKernel"))
            *tbp_idmap_put(&d->item_launches, (uint64_t)id, &is_new) = 1;
        e.name = tbp_trace_text(&d->gpu.t, name);
        e.link = (uint64_t)id;
        tbp_gpu_add_call(&d->gpu, &e);
    }
}

/* ---- operations ---- */

static const struct {
    const char *type;
    int64_t kind, from, to;
} copies[] = {{"CopyHostToDevice", TBP_GPU_HTOD, 0, TBP_GPU_DEVICE},
              {"CopyDeviceToHost", TBP_GPU_DTOH, TBP_GPU_DEVICE, 0},
              {"CopyDeviceToDevice", TBP_GPU_DTOD, TBP_GPU_DEVICE, TBP_GPU_DEVICE},
              {"CopyHostToHost", 9, 0, 0},
              {"Copy", 0, 0, 0}};

static bool add_copy(struct rpd *d, const struct tbp_trace_event *e, struct tbp_str type,
                     const struct launch *l) {
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        if (!tbp_str_starts(type, copies[i].type))
            continue;
        tbp_gpu_add_copy(&d->gpu, e, copies[i].kind, copies[i].from, copies[i].to,
                         l ? l->copy_bytes : 0);
        return true;
    }
    return false;
}

/* The launch tells of this kernel, or (of a graph) of none. */
static void add_kernel(struct rpd *d, const struct tbp_trace_event *e, const struct launch *l,
                       int64_t name, int64_t device) {
    struct tbp_gpu_kernel k = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .device = (uint32_t)device};
    bool is_in_items = tbp_idmap_get(&d->item_launches, e->link) != TBP_MAP_NONE;
    for (unsigned i = 0; l && l->kernel == name && i < 3; i++) {
        k.grid[i] = l->grid[i];
        k.block[i] = l->block[i];
        if (is_in_items && l->block[i])
            k.grid[i] = (l->grid[i] + l->block[i] - 1) / l->block[i];
    }
    if (l && l->kernel == name)
        k.static_shared = l->group_bytes;
    tbp_gpu_add_kernel(&d->gpu, e, &k);
}

static void add_operation(struct rpd *d, struct tbp_trace_event *e, struct tbp_str type,
                          int64_t description, int64_t device) {
    uint32_t at = tbp_idmap_get(&d->launch_of_api, e->link);
    const struct launch *l = e->link && at != TBP_MAP_NONE ? &d->launches.at[at] : NULL;
    struct tbp_str name = tbp_sqlite_texts_get(&d->strings, description);
    e->name = tbp_trace_text(&d->gpu.t, name.n ? name : type);
    if (tbp_str_starts(type, "Kernel"))
        add_kernel(d, e, l, description, device);
    else if (tbp_str_starts(type, "Fill") || tbp_str_has_nocase(type, "memset"))
        tbp_gpu_add_memset(&d->gpu, e, TBP_GPU_DEVICE, l ? l->copy_bytes : 0);
    else if (!add_copy(d, e, type, l))
        tbp_gpu_add_work(&d->gpu, e);
}

static void read_operations(struct rpd *d) {
    enum { ID, DEVICE, QUEUE, START, END, NAME, TYPE, COLUMNS };
    static const char *const columns[COLUMNS] = {"id",  "gpuId",          "queueId",  "start",
                                                 "end", "description_id", "opType_id"};
    struct tbp_sqlite_rows r;
    struct tbp_trace_event e;
    if (!tbp_sqlite_select(&d->db, &r, "rocpd_op", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!tbp_sqlite_begin_event(&d->gpu, &r, &e, START, END))
            continue;
        int64_t device = tbp_sqlite_i64(&r, DEVICE, 0);
        uint32_t api = tbp_idmap_get(&d->api_of_op, (uint64_t)tbp_sqlite_i64(&r, ID, 0));
        d->n_operations++;
        e.track = tbp_gpu_stream(&d->gpu, device, tbp_sqlite_i64(&r, QUEUE, 0));
        e.link = api == TBP_MAP_NONE ? 0 : (uint64_t)d->apis.at[api];
        add_operation(d, &e, tbp_sqlite_texts_get(&d->strings, tbp_sqlite_i64(&r, TYPE, 0)),
                      tbp_sqlite_i64(&r, NAME, -1), device);
    }
}

/* ---- all of it ---- */

static void read_schema(struct rpd *d) {
    static const char *const columns[] = {"tag", "value"};
    struct tbp_sqlite_rows r;
    d->schema = TBP_STR("unknown");
    if (!tbp_sqlite_select(&d->db, &r, "rocpd_metadata", columns, 2))
        return;
    while (tbp_sqlite_next(&r))
        if (tbp_str_is(tbp_sqlite_text(&r, 0), "schema_version"))
            d->schema = tbp_arena_str(&d->db.host->arena, tbp_sqlite_text(&r, 1));
    tbp_trace_plane_text(&d->gpu.t, 0, "rpd_schema", d->schema);
}

static void read_events(struct rpd *d) {
    read_schema(d);
    d->has_long_strings = tbp_sqlite_find(&d->db, "rocpd_ustring") != NULL;
    tbp_sqlite_texts_load(&d->strings, &d->db, "rocpd_string", "id", "string");
    tbp_sqlite_texts_load(&d->long_strings, &d->db, "rocpd_ustring", "id", "string");
    read_kernel_launches(d);
    read_copy_launches(d);
    read_links(d);
    read_calls(d);
    read_operations(d);
    struct tbp_sqlite_table *monitor = tbp_sqlite_find(&d->db, "rocpd_monitor");
    if (monitor)
        tbp_gpu_not_shown(&d->gpu, tbp_sqlite_count(&d->db, monitor->name));
    if (d->n_operations == 0)
        tbp_gpu_warn(&d->gpu,
                     tbp_str_c(tbp_arena_printf(
                         &d->db.host->arena, "RPD schema %.*s: 0 operations, %llu API calls; %s",
                         (int)d->schema.n, d->schema.p, (unsigned long long)d->n_calls,
                         d->n_calls ? "no work of a GPU" : "nothing was recorded")));
}

static int read_rpd(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct rpd d = {0};
    int status = tbp_sqlite_open(&d.db, host, err);
    if (status)
        return status;
    tbp_gpu_trace_init(&d.gpu, host, "AMD");
    read_events(&d);
    tbp_sqlite_close(&d.db);
    tbp_gpu_trace_finish(&d.gpu, pool);
    tbp_gpu_trace_release(&d.gpu);
    tbp_sqlite_texts_release(&d.strings);
    tbp_sqlite_texts_release(&d.long_strings);
    tbp_idmap_release(&d.launch_of_api);
    tbp_idmap_release(&d.item_launches);
    tbp_idmap_release(&d.api_of_op);
    tbp_vec_release(&d.launches);
    tbp_vec_release(&d.apis);
    return TBP_OK;
}

static int probe(const uint8_t *data, size_t size) {
    enum { LIKELY = 85 };
    bool is_likely =
        tbp_sqlite_is_database(data, size) && (tbp_sqlite_mentions(data, size, "rocpd_api") ||
                                               tbp_sqlite_mentions(data, size, "rocpd_kernelapi"));
    return is_likely ? LIKELY : 0;
}

static int probe_input(const struct tbp_input *in) {
    enum { CERTAIN = 90 };
    static const char *const tables[] = {"rocpd_api", "rocpd_op", NULL};
    return tbp_sqlite_has_any(in, tables) ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_rpd = {
    .name = "rpd",
    .help = "databases of rocmProfileData (*.rpd)",
    .probe = probe,
    .probe_input = probe_input,
    .read = read_rpd,
};
