/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of rocpd databases, the default output of rocprofv3 (ROCm 7). Each process writes a set of
 * tables whose names end in its id; several sets can stand in one file. Schemas up to 3 keep times
 * and ids of threads in each record, schema 4 keeps them in tables of their own (rocpd_timestamp,
 * rocpd_track). Times are nanoseconds of the boot clock; grids are counted in work items.
 *
 * A call and the work it starts share the stack_id of their rocpd_event (the correlation id of the
 * profiler; the column correlation_id is that of the program).
 */
#include "base/sort.h"
#include "convert/read/reader.h"
#include "convert/read/sqlite_gpu.h"

#include <stdio.h>

struct event {
    int64_t stack, category;
};

struct track {
    int64_t process, thread, agent, queue, stream;
};

struct symbol {
    struct tbp_str name;
    uint64_t registers;
};

struct agent {
    bool is_gpu;
    uint32_t ordinal;
};

/* Rows of a table by their id. */
#define BY_ID(type)                                                                                \
    struct {                                                                                       \
        struct tbp_idmap index;                                                                    \
        TBP_VEC(type) of;                                                                          \
    }
#define GET(table, id)                                                                             \
    (tbp_idmap_get(&(table)->index, (uint64_t)(id)) == TBP_MAP_NONE                                \
         ? NULL                                                                                    \
         : &(table)->of.at[tbp_idmap_get(&(table)->index, (uint64_t)(id))])

struct rocpd {
    struct tbp_sqlite db;
    struct tbp_gpu_trace gpu;
    struct tbp_str suffix; /* of the tables being read */
    uint32_t set;          /* their number */
    struct tbp_sqlite_texts strings;
    BY_ID(struct event) events;
    BY_ID(struct track) tracks;
    BY_ID(struct symbol) symbols;
    BY_ID(struct agent) agents;
    BY_ID(int64_t) processes; /* number of the system */
    BY_ID(int64_t) threads;
    BY_ID(int64_t) times;
};

/* ---- tables of a set ---- */

static const char *table_name(struct rocpd *p, const char *name) {
    return tbp_arena_printf(&p->db.host->arena, "%s%.*s", name, (int)p->suffix.n, p->suffix.p);
}

static bool select_rows(struct rocpd *p, struct tbp_sqlite_rows *r, const char *name,
                        const char *const *columns, size_t n) {
    return tbp_sqlite_select(&p->db, r, table_name(p, name), columns, n);
}

/* Room for the row of this id; NULL if there is one. */
static bool is_new_id(struct tbp_idmap *index, int64_t id, size_t n) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(index, (uint64_t)id, &is_new);
    if (is_new)
        *at = (uint32_t)n;
    return is_new;
}

static void load_events(struct rocpd *p) {
    static const char *const columns[] = {"id", "stack_id", "category_id"};
    struct tbp_sqlite_rows r;
    if (!select_rows(p, &r, "rocpd_event", columns, 3))
        return;
    while (tbp_sqlite_next(&r))
        if (is_new_id(&p->events.index, tbp_sqlite_i64(&r, 0, 0), p->events.of.n))
            *tbp_vec_push(&p->events.of) =
                (struct event){tbp_sqlite_i64(&r, 1, 0), tbp_sqlite_i64(&r, 2, 0)};
}

enum { T_PROCESS, T_THREAD, T_AGENT, T_QUEUE, T_STREAM, T_COLUMNS };
#define OF_TRACK "pid", "tid", "agent_id", "queue_id", "stream_id"

static void load_tracks(struct rocpd *p) {
    static const char *const columns[] = {OF_TRACK, "id"};
    struct tbp_sqlite_rows r;
    if (!select_rows(p, &r, "rocpd_track", columns, T_COLUMNS + 1))
        return;
    while (tbp_sqlite_next(&r))
        if (is_new_id(&p->tracks.index, tbp_sqlite_i64(&r, T_COLUMNS, 0), p->tracks.of.n))
            *tbp_vec_push(&p->tracks.of) =
                (struct track){tbp_sqlite_i64(&r, T_PROCESS, 0), tbp_sqlite_i64(&r, T_THREAD, 0),
                               tbp_sqlite_i64(&r, T_AGENT, 0), tbp_sqlite_i64(&r, T_QUEUE, 0),
                               tbp_sqlite_i64(&r, T_STREAM, 0)};
}

static void load_symbols(struct rocpd *p) {
    static const char *const columns[] = {"id", "display_name", "kernel_name", "arch_vgpr_count"};
    struct tbp_sqlite_rows r;
    if (!select_rows(p, &r, "rocpd_info_kernel_symbol", columns, 4))
        return;
    while (tbp_sqlite_next(&r)) {
        struct tbp_str name = tbp_sqlite_text(&r, 1);
        int64_t registers = tbp_sqlite_i64(&r, 3, 0);
        name = name.n ? name : tbp_sqlite_text(&r, 2);
        if (is_new_id(&p->symbols.index, tbp_sqlite_i64(&r, 0, 0), p->symbols.of.n))
            *tbp_vec_push(&p->symbols.of) = (struct symbol){
                tbp_arena_str(&p->db.host->arena, name), registers > 0 ? (uint64_t)registers : 0};
    }
}

/* One number for each id. */
static void load_numbers(struct rocpd *p, const char *table, const char *column,
                         struct tbp_idmap *index, void (*push)(struct rocpd *, int64_t)) {
    const char *const columns[] = {"id", column};
    struct tbp_sqlite_rows r;
    if (!select_rows(p, &r, table, columns, 2))
        return;
    while (tbp_sqlite_next(&r)) {
        int64_t id = tbp_sqlite_i64(&r, 0, 0);
        if (is_new_id(index, id, index->n))
            push(p, tbp_sqlite_i64(&r, 1, id));
    }
}

static void push_process(struct rocpd *p, int64_t v) {
    *tbp_vec_push(&p->processes.of) = v;
}

static void push_thread(struct rocpd *p, int64_t v) {
    *tbp_vec_push(&p->threads.of) = v;
}

static void push_time(struct rocpd *p, int64_t v) {
    *tbp_vec_push(&p->times.of) = v;
}

static void load_agents(struct rocpd *p) {
    enum { ID, TYPE, INDEX, PRODUCT, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = {"id", "type", "type_index", "product_name",
                                                 "name"};
    struct tbp_sqlite_rows r;
    if (!select_rows(p, &r, "rocpd_info_agent", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        struct agent a = {.is_gpu = tbp_str_is(tbp_sqlite_text(&r, TYPE), "GPU"),
                          .ordinal = (uint32_t)tbp_sqlite_i64(&r, INDEX, 0)};
        if (!is_new_id(&p->agents.index, tbp_sqlite_i64(&r, ID, 0), p->agents.of.n))
            continue;
        *tbp_vec_push(&p->agents.of) = a;
        if (!a.is_gpu)
            continue;
        struct tbp_str name = tbp_sqlite_text(&r, PRODUCT);
        struct tbp_gpu_device d = {.ordinal = a.ordinal};
        d.name = tbp_arena_str(&p->db.host->arena, name.n ? name : tbp_sqlite_text(&r, NAME));
        tbp_gpu_add_device(&p->gpu, &d);
    }
}

#define RELEASE(table) (tbp_idmap_release(&(table)->index), tbp_vec_release(&(table)->of))

static void release_set(struct rocpd *p) {
    tbp_sqlite_texts_release(&p->strings);
    RELEASE(&p->events);
    RELEASE(&p->tracks);
    RELEASE(&p->symbols);
    RELEASE(&p->agents);
    RELEASE(&p->processes);
    RELEASE(&p->threads);
    RELEASE(&p->times);
}

/* ---- records: the first columns are the same in all tables ---- */

enum { R_START = T_COLUMNS, R_END, R_START_ID, R_END_ID, R_TRACK, R_EVENT, R_NAME, OWN };
#define OF_RECORD                                                                                  \
    OF_TRACK, "start", "end", "start_id", "end_id", "track_id", "event_id", "region_name_id"

struct record {
    struct tbp_trace_event e;
    struct track at;
    struct event of;
};

/* false: no such time. */
static bool time_of(const struct rocpd *p, const struct tbp_sqlite_rows *r, unsigned column,
                    int64_t *out) {
    if (!tbp_sqlite_is_null(r, column)) {
        *out = tbp_sqlite_i64(r, column, 0);
        return true;
    }
    unsigned id = column == R_START ? R_START_ID : R_END_ID;
    const int64_t *known = GET(&p->times, tbp_sqlite_i64(r, id, -1));
    *out = known ? *known : 0;
    return known != NULL;
}

static bool begin_record(struct rocpd *p, const struct tbp_sqlite_rows *r, struct record *rec) {
    int64_t start_ns, end_ns;
    *rec = (struct record){0};
    if (!time_of(p, r, R_START, &start_ns)) {
        tbp_gpu_no_time(&p->gpu);
        return false;
    }
    if (!time_of(p, r, R_END, &end_ns))
        end_ns = start_ns;
    tbp_gpu_set_time(&p->gpu, &rec->e, start_ns, end_ns);
    const struct track *track = GET(&p->tracks, tbp_sqlite_i64(r, R_TRACK, -1));
    const struct event *event = GET(&p->events, tbp_sqlite_i64(r, R_EVENT, -1));
    struct track own = {tbp_sqlite_i64(r, T_PROCESS, 0), tbp_sqlite_i64(r, T_THREAD, 0),
                        tbp_sqlite_i64(r, T_AGENT, 0), tbp_sqlite_i64(r, T_QUEUE, 0),
                        tbp_sqlite_i64(r, T_STREAM, 0)};
    rec->at = track ? *track : own;
    if (event)
        rec->of = *event;
    /* ids count per set */
    rec->e.link = rec->of.stack > 0 ? (uint64_t)rec->of.stack ^ (uint64_t)p->set << 48 : 0;
    return true;
}

static int64_t process_of(const struct rocpd *p, const struct record *rec) {
    const int64_t *number = GET(&p->processes, rec->at.process);
    return number ? *number : rec->at.process;
}

static int64_t thread_number(const struct rocpd *p, const struct record *rec) {
    const int64_t *number = GET(&p->threads, rec->at.thread);
    return number ? *number : rec->at.thread;
}

static uint32_t device_of(const struct rocpd *p, int64_t agent) {
    const struct agent *a = GET(&p->agents, agent);
    return a ? a->ordinal : 0;
}

/* Streams are what the program sees; where none is told, the queue. */
static void put_on_device(struct rocpd *p, struct record *rec, uint32_t device) {
    rec->e.track = tbp_gpu_stream(&p->gpu, device, rec->at.stream ? rec->at.stream : rec->at.queue);
}

static void read_kernels(struct rocpd *p) {
    enum { KERNEL = OWN, GROUP, GRID, BLOCK = GRID + 3, COLUMNS = BLOCK + 3 };
    static const char *const columns[COLUMNS] = {
        OF_RECORD,     "kernel_id",        "group_segment_size", "grid_size_x",     "grid_size_y",
        "grid_size_z", "workgroup_size_x", "workgroup_size_y",   "workgroup_size_z"};
    struct tbp_sqlite_rows r;
    struct record rec;
    if (!select_rows(p, &r, "rocpd_kernel_dispatch", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_record(p, &r, &rec))
            continue;
        const struct symbol *symbol = GET(&p->symbols, tbp_sqlite_i64(&r, KERNEL, -1));
        struct tbp_gpu_kernel k = {.static_shared = tbp_sqlite_size(&r, GROUP),
                                   .registers = symbol ? symbol->registers : 0,
                                   .device = device_of(p, rec.at.agent)};
        for (unsigned i = 0; i < 3; i++) {
            k.block[i] = tbp_sqlite_size(&r, BLOCK + i);
            uint64_t items = tbp_sqlite_size(&r, GRID + i);
            k.grid[i] = k.block[i] ? items / k.block[i] + (items % k.block[i] != 0) : items;
        }
        put_on_device(p, &rec, k.device);
        rec.e.name = tbp_trace_text(&p->gpu.t, symbol ? symbol->name : TBP_STR_NONE);
        tbp_gpu_add_kernel(&p->gpu, &rec.e, &k);
    }
}

/* What the name says ("MEMORY_COPY_HOST_TO_DEVICE"), or the two agents. */
static int64_t copy_kind(bool from_gpu, bool to_gpu, struct tbp_str name) {
    if (tbp_str_has_nocase(name, "HOST_TO_DEVICE") || tbp_str_has(name, "HtoD"))
        return TBP_GPU_HTOD;
    if (tbp_str_has_nocase(name, "DEVICE_TO_HOST") || tbp_str_has(name, "DtoH"))
        return TBP_GPU_DTOH;
    if (tbp_str_has_nocase(name, "DEVICE_TO_DEVICE") || tbp_str_has(name, "DtoD"))
        return TBP_GPU_DTOD;
    if (from_gpu != to_gpu)
        return to_gpu ? TBP_GPU_HTOD : TBP_GPU_DTOH;
    return from_gpu ? TBP_GPU_DTOD : 0;
}

static void read_copies(struct rocpd *p) {
    enum { FROM = OWN, TO, BYTES, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_RECORD, "src_agent_id", "dst_agent_id", "size",
                                                 "name_id"};
    struct tbp_sqlite_rows r;
    struct record rec;
    if (!select_rows(p, &r, "rocpd_memory_copy", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_record(p, &r, &rec))
            continue;
        int64_t from = tbp_sqlite_i64(&r, FROM, -1), to = tbp_sqlite_i64(&r, TO, -1);
        const struct agent *a = GET(&p->agents, from), *b = GET(&p->agents, to);
        bool from_gpu = a && a->is_gpu, to_gpu = b && b->is_gpu;
        struct tbp_str name = tbp_sqlite_texts_get(&p->strings, tbp_sqlite_i64(&r, NAME, 0));
        put_on_device(p, &rec, device_of(p, to_gpu ? to : from_gpu ? from : rec.at.agent));
        tbp_gpu_add_copy(&p->gpu, &rec.e, copy_kind(from_gpu, to_gpu, name),
                         from_gpu ? TBP_GPU_DEVICE : 0, to_gpu ? TBP_GPU_DEVICE : 0,
                         tbp_sqlite_size(&r, BYTES));
    }
}

static void read_regions(struct rocpd *p) {
    enum { NAME = OWN, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_RECORD, "name_id"};
    struct tbp_sqlite_rows r;
    struct record rec;
    if (!select_rows(p, &r, "rocpd_region", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_record(p, &r, &rec))
            continue;
        struct tbp_str category = tbp_sqlite_texts_get(&p->strings, rec.of.category);
        struct tbp_gpu_range range = {.is_nested = true, .process = process_of(p, &rec)};
        rec.e.track = tbp_trace_thread(&p->gpu.t, range.process, thread_number(p, &rec));
        rec.e.name = tbp_trace_text(&p->gpu.t,
                                    tbp_sqlite_texts_get(&p->strings, tbp_sqlite_i64(&r, NAME, 0)));
        if (tbp_str_has_nocase(category, "MARKER")) {
            rec.e.link = 0;
            tbp_gpu_add_range(&p->gpu, &rec.e, &range);
        } else {
            tbp_gpu_add_call(&p->gpu, &rec.e);
        }
    }
}

struct memory_row {
    struct tbp_trace_memory_event e; /* bytes of releases: <= 0 */
    bool is_release;
};
typedef TBP_VEC(struct memory_row) memory_list;

/* What is given back can be taken anew in the same moment. */
static int by_moment(const void *a, const void *b, void *ctx) {
    const struct memory_row *x = a, *y = b;
    (void)ctx;
    if (x->e.start_ns != y->e.start_ns)
        return x->e.start_ns < y->e.start_ns ? -1 : 1;
    if (x->is_release != y->is_release)
        return x->is_release ? -1 : 1;
    return x->e.bytes < y->e.bytes ? -1 : x->e.bytes > y->e.bytes;
}

struct held {
    int64_t bytes;
    uint32_t allocator;
};

/* A release may say neither how much nor of which agent: what the allocation at its address before
 * it did, wherever the rows of the two stand. */
static void add_memory(struct rocpd *p, memory_list *list) {
    BY_ID(struct held) held = {0};
    tbp_sort(list->at, list->n, sizeof *list->at, by_moment, NULL);
    for (size_t i = 0; i < list->n; i++) {
        struct tbp_trace_memory_event *m = &list->at[i].e;
        bool is_release = list->at[i].is_release;
        if (is_new_id(&held.index, (int64_t)m->address, held.of.n))
            *tbp_vec_push(&held.of) = (struct held){0};
        struct held *at = GET(&held, (int64_t)m->address);
        if (is_release && m->bytes == 0)
            m->bytes = -at->bytes;
        if (is_release && at->bytes)
            m->allocator = at->allocator;
        *at = (struct held){is_release ? 0 : m->bytes, m->allocator};
        tbp_trace_memory(&p->gpu.t, m);
    }
    RELEASE(&held);
}

static void read_memory(struct rocpd *p) {
    enum { TYPE = OWN, ADDRESS, BYTES, COLUMNS };
    static const char *const columns[COLUMNS] = {OF_RECORD, "type", "address", "size"};
    memory_list list = {0};
    struct tbp_sqlite_rows r;
    struct record rec;
    char name[32];
    if (!select_rows(p, &r, "rocpd_memory_allocate", columns, COLUMNS))
        return;
    while (tbp_sqlite_next(&r)) {
        if (!begin_record(p, &r, &rec))
            continue;
        struct tbp_str type = tbp_sqlite_text(&r, TYPE);
        bool is_release = tbp_str_has_nocase(type, "FREE") || tbp_str_has_nocase(type, "RECLAIM");
        int64_t bytes = (int64_t)tbp_sqlite_size(&r, BYTES);
        const struct agent *agent = GET(&p->agents, rec.at.agent);
        int n = snprintf(name, sizeof name, agent && !agent->is_gpu ? "host_%u" : "GPU_%u",
                         agent ? agent->ordinal : 0);
        struct tbp_trace_memory_event e = {
            .track = tbp_trace_thread(&p->gpu.t, process_of(p, &rec), thread_number(p, &rec)),
            .allocator = tbp_trace_text(&p->gpu.t, (struct tbp_str){name, (size_t)n}),
            .start_ns = rec.e.start_ns,
            .bytes = is_release ? -bytes : bytes,
            .address = (uint64_t)tbp_sqlite_i64(&r, ADDRESS, 0),
            .allocated = -1};
        *tbp_vec_push(&list) = (struct memory_row){e, is_release};
    }
    add_memory(p, &list);
    tbp_vec_release(&list);
}

/* Samples and counters. */
static void count_the_rest(struct rocpd *p) {
    static const char *const tables[] = {"rocpd_sample", "rocpd_pmc_event", "rocpd_gpu_pc_sample"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const struct tbp_sqlite_table *t = tbp_sqlite_find(&p->db, table_name(p, tables[i]));
        if (t)
            tbp_gpu_not_shown(&p->gpu, tbp_sqlite_count(&p->db, t->name));
    }
}

static void read_set(struct rocpd *p, struct tbp_str suffix) {
    p->suffix = suffix;
    tbp_sqlite_texts_load(&p->strings, &p->db, table_name(p, "rocpd_string"), "id", "string");
    load_events(p);
    load_tracks(p);
    load_symbols(p);
    load_agents(p);
    load_numbers(p, "rocpd_info_process", "pid", &p->processes.index, push_process);
    load_numbers(p, "rocpd_info_thread", "tid", &p->threads.index, push_thread);
    load_numbers(p, "rocpd_timestamp", "value", &p->times.index, push_time);
    read_kernels(p);
    read_copies(p);
    read_regions(p);
    read_memory(p);
    count_the_rest(p);
    release_set(p);
    p->set++;
}

/* A set is where its table of strings is. */
static void read_sets(struct rocpd *p) {
    static const char first[] = "rocpd_string";
    for (size_t i = 0; i < p->db.tables.n; i++) {
        struct tbp_str name = p->db.tables.at[i].name;
        if (tbp_str_starts(name, first))
            read_set(p, tbp_str_sub(name, sizeof first - 1, name.n));
    }
}

static int read_rocpd(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct rocpd p = {0};
    int status = tbp_sqlite_open(&p.db, host, err);
    if (status)
        return status;
    tbp_gpu_trace_init(&p.gpu, host, "AMD");
    read_sets(&p);
    tbp_sqlite_close(&p.db);
    tbp_gpu_trace_finish(&p.gpu, pool);
    tbp_gpu_trace_release(&p.gpu);
    return TBP_OK;
}

static int probe(const uint8_t *data, size_t size) {
    enum { LIKELY = 90 };
    bool is_likely = tbp_sqlite_is_database(data, size) &&
                     (tbp_sqlite_mentions(data, size, "rocpd_info_") ||
                      tbp_sqlite_mentions(data, size, "rocpd_kernel_dispatch"));
    return is_likely ? LIKELY : 0;
}

static int probe_input(const struct tbp_input *in) {
    enum { CERTAIN = 95 };
    static const char *const tables[] = {"rocpd_info_", "rocpd_kernel_dispatch", NULL};
    return tbp_sqlite_has_any(in, tables) ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_rocpd = {
    .name = "rocpd",
    .help = "databases of rocprofv3 (rocpd, *.db)",
    .probe = probe,
    .probe_input = probe_input,
    .read = read_rocpd,
};
