/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of the folders that profilers for Ascend devices leave (*_ascend_pt, *_ascend_ms): the
 * tables and the timeline that their analysis wrote into ASCEND_PROFILER_OUTPUT. A folder that was
 * not analysed yet holds raw records only and is refused with what to do. Cells may be "N/A",
 * numbers may carry a tab, a step or a device may be missing.
 */
#include "base/sort.h"
#include "convert/read/ascend_timeline.h"
#include "convert/read/csv_rows.h"
#include "convert/read/folder.h"
#include "convert/read/step_name.h"

#include <stdio.h>

#define OUTPUT "ASCEND_PROFILER_OUTPUT/"

struct step {
    int64_t number, start_ns;
};

struct step_row { /* of the step trace */
    int64_t number, device, start_ns;
    uint64_t dur_ps;
};

struct ascend {
    struct tbp_ascend_timeline timeline;
    struct tbp_trace *t;        /* its own */
    TBP_VEC(struct step) steps; /* of kernels: where each begins */
    struct tbp_idmap step_of;   /* number -> index */
    uint64_t devices;           /* bits */
};

/* ---- kernels ---- */

struct kernel_columns {
    int step, device, stream, name, type, core, start, dur, wait, blocks, shapes;
};

static struct kernel_columns find_kernel_columns(const struct tbp_csv *c) {
    return (struct kernel_columns){.step = tbp_csv_column(c, "Step Id"),
                                   .device = tbp_csv_column(c, "Device_id"),
                                   .stream = tbp_csv_column(c, "Stream ID"),
                                   .name = tbp_csv_column(c, "Name|Op Name|Kernel Name"),
                                   .type = tbp_csv_column(c, "Type|OP Type"),
                                   .core = tbp_csv_column(c, "Accelerator Core|Task Type"),
                                   .start = tbp_csv_column(c, "Start Time(us)|Task Start Time(us)"),
                                   .dur = tbp_csv_column(c, "Duration(us)|Task Duration(us)"),
                                   .wait = tbp_csv_column(c, "Wait Time(us)|Task Wait Time(us)"),
                                   .blocks = tbp_csv_column(c, "Block Dim"),
                                   .shapes = tbp_csv_column(c, "Input Shapes")};
}

static void add_text(struct ascend *a, struct tbp_csv *c, int column, const char *key) {
    struct tbp_str s = tbp_csv_text(c, column);
    if (s.n && !tbp_str_is(s, "N/A"))
        tbp_trace_stat_text(a->t, TBP_TRACE_SHARED, tbp_trace_text(a->t, tbp_str_c(key)),
                            tbp_trace_text(a->t, s));
}

static void add_launch(struct ascend *a, struct tbp_csv *c, int column) {
    char text[96];
    int64_t blocks;
    if (!tbp_csv_i64(c, column, &blocks) || blocks < 0)
        blocks = 0;
    int n = snprintf(text, sizeof text,
                     "regs:0 static_shared:0 dynamic_shared:0 grid:%lld,1,1 block:1,1,1 occ_pct:0",
                     (long long)blocks);
    tbp_trace_stat_text(a->t, TBP_TRACE_SHARED, tbp_trace_text(a->t, TBP_STR("kernel_details")),
                        tbp_trace_text(a->t, (struct tbp_str){text, (size_t)n}));
}

static void note_step(struct ascend *a, int64_t number, int64_t start_ns) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&a->step_of, (uint64_t)number, &is_new);
    if (is_new) {
        *at = (uint32_t)a->steps.n;
        *tbp_vec_push(&a->steps) = (struct step){number, start_ns};
    }
    if (start_ns < a->steps.at[*at].start_ns)
        a->steps.at[*at].start_ns = start_ns;
}

static void drop_row(struct ascend *a, const struct tbp_csv *c) {
    struct tbp_ledger *l = &a->t->host->ledger;
    l->events_read++;
    l->events_dropped++;
    tbp_ledger_count(l, TBP_LEDGER_SHORT_ROW, 1, c->offset);
}

static int64_t device_of(struct tbp_csv *c, int column) {
    enum { MAX_DEVICE = 499 };
    int64_t device;
    return tbp_csv_i64(c, column, &device) && device >= 0 && device <= MAX_DEVICE ? device : 0;
}

static void add_kernel(struct ascend *a, struct tbp_csv *c, const struct kernel_columns *at) {
    enum { DEVICE_BITS = 64 };
    struct tbp_trace *t = a->t;
    struct tbp_trace_event e = {.flags = TBP_TRACE_DEVICE};
    int64_t device, stream, step;
    double wait;
    if (!tbp_csv_time(c, at->start, 3, &e.start_ns, &e.start_ps) ||
        !tbp_csv_duration(c, at->dur, 3, &e.dur_ps) || tbp_csv_text(c, at->name).n == 0) {
        drop_row(a, c);
        return;
    }
    device = device_of(c, at->device);
    if (!tbp_csv_i64(c, at->stream, &stream))
        stream = 0;
    a->devices |= device < DEVICE_BITS ? (uint64_t)1 << device : 0;
    e.track = tbp_trace_stream(t, (uint32_t)device, stream);
    e.link = tbp_ascend_op_of_kernel(&a->timeline, e.start_ns);
    e.name = tbp_trace_text(t, tbp_csv_text(c, at->name));
    if (e.link == 0) /* else it is that of the host */
        tbp_trace_stat_op(t, e.name, tbp_trace_text(t, tbp_csv_text(c, at->type)));
    add_launch(a, c, at->blocks);
    add_text(a, c, at->core, "accelerator_core");
    add_text(a, c, at->shapes, "input_shapes");
    if (tbp_str_to_double(tbp_csv_text(c, at->wait), &wait))
        tbp_trace_stat_double(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("wait_us")), wait);
    if (tbp_csv_i64(c, at->step, &step)) {
        tbp_trace_stat_i64(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("step_id")), step);
        note_step(a, step, e.start_ns);
    }
    a->timeline.has_kernels = true;
    tbp_trace_add(t, &e);
}

static void read_kernels(struct ascend *a, struct tbp_str bytes) {
    struct tbp_csv c;
    tbp_csv_init(&c, bytes);
    struct kernel_columns at = find_kernel_columns(&c);
    while (tbp_csv_next(&c))
        add_kernel(a, &c, &at);
    tbp_csv_release(&c);
}

/* ---- steps ---- */

/* All figures of the row, under the names of their columns. */
static void add_figures(struct ascend *a, struct tbp_csv *c) {
    for (size_t i = 0; i < c->heading.n; i++) {
        double v;
        if (tbp_str_to_double(tbp_csv_text(c, (int)i), &v) && c->heading.at[i].n)
            tbp_trace_stat_double(a->t, TBP_TRACE_OWN, tbp_trace_text(a->t, c->heading.at[i]), v);
    }
}

/* The same on the device, whose steps then last as long as this says. */
static void add_on_device(struct ascend *a, struct tbp_csv *c, int column,
                          struct tbp_trace_event e) {
    struct tbp_trace *t = a->t;
    int64_t device = device_of(c, column);
    char name[32];
    snprintf(name, sizeof name, "/device:GPU:%u", (unsigned)device);
    e.track = tbp_trace_line(t, tbp_trace_plane(t, tbp_str_c(name)), TBP_STR("Step trace"));
    tbp_trace_device_step(t, &e);
}

struct step_columns {
    int number, device, parts[3];
};

/* On a device a step lasts what is computed, what of its communication nothing hides, and what is
 * free. */
static bool read_step(struct tbp_csv *c, const struct step_columns *at, struct step_row *row) {
    uint64_t ps;
    *row = (struct step_row){.device = device_of(c, at->device)};
    if (!tbp_csv_i64(c, at->number, &row->number))
        return false;
    for (size_t i = 0; i < sizeof at->parts / sizeof *at->parts; i++)
        if (tbp_csv_duration(c, at->parts[i], 3, &ps) && row->dur_ps + ps < INT64_MAX)
            row->dur_ps += ps;
    return true;
}

static int by_device_and_number(const void *a, const void *b, void *ctx) {
    const struct step_row *rows = ctx;
    const struct step_row *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* A step begins with its first kernel, or where the step before ends: in order of their numbers,
 * wherever their rows stand. */
static void place_steps(struct ascend *a, struct step_row *rows, size_t n) {
    TBP_VEC(uint32_t) order = {0};
    int64_t first_ns = a->t->rows.n ? INT64_MAX : 0, next_ns = 0;
    for (size_t i = 0; i < a->t->rows.n; i++)
        first_ns = a->t->rows.at[i].start_ns < first_ns ? a->t->rows.at[i].start_ns : first_ns;
    tbp_vec_reserve(&order, n);
    for (uint32_t i = 0; i < n; i++)
        *tbp_vec_push(&order) = i;
    tbp_sort(order.at, n, sizeof *order.at, by_device_and_number, rows);
    for (size_t i = 0; i < n; i++) {
        struct step_row *row = &rows[order.at[i]];
        bool is_first = i == 0 || rows[order.at[i - 1]].device != row->device;
        uint32_t known = tbp_idmap_get(&a->step_of, (uint64_t)row->number);
        row->start_ns = known != TBP_MAP_NONE ? a->steps.at[known].start_ns
                        : is_first            ? first_ns
                                              : next_ns;
        next_ns = row->start_ns + (int64_t)(row->dur_ps / 1000);
    }
    tbp_vec_release(&order);
}

static void add_step(struct ascend *a, struct tbp_csv *c, const struct step_columns *at,
                     const struct step_row *row) {
    struct tbp_trace_event e = {.start_ns = row->start_ns,
                                .dur_ps = row->dur_ps,
                                .name = tbp_trace_text(a->t, TBP_STR("step")),
                                .track = tbp_trace_thread(a->t, 0, 1)};
    tbp_trace_track_name(a->t, e.track, TBP_STR("Step trace"));
    if (tbp_idmap_get(&a->timeline.steps, (uint64_t)row->number) == TBP_MAP_NONE) {
        e.flags = TBP_TRACE_STEP; /* otherwise the host knows better where it began */
        e.link = (uint64_t)row->number;
        if (tbp_step_is_unsigned(tbp_csv_text(c, at->number), row->number))
            tbp_step_count_unsigned(a->t->host);
    }
    add_figures(a, c);
    tbp_trace_add(a->t, &e);
    add_on_device(a, c, at->device, e);
}

static void read_steps(struct ascend *a, struct tbp_str bytes) {
    struct tbp_csv c;
    struct step_row row;
    TBP_VEC(struct step_row) rows = {0};
    tbp_csv_init(&c, bytes);
    struct step_columns at = {tbp_csv_column(&c, "Step"),
                              tbp_csv_column(&c, "Device_id"),
                              {tbp_csv_column(&c, "Computing"),
                               tbp_csv_column(&c, "Communication(Not Overlapped)"),
                               tbp_csv_column(&c, "Free")}};
    while (tbp_csv_next(&c)) {
        if (read_step(&c, &at, &row))
            *tbp_vec_push(&rows) = row;
        else
            drop_row(a, &c);
    }
    tbp_csv_release(&c);
    place_steps(a, rows.at, rows.n);
    tbp_csv_init(&c, bytes);
    for (size_t i = 0; tbp_csv_next(&c);)
        if (read_step(&c, &at, &row))
            add_step(a, &c, &at, &rows.at[i++]);
    tbp_csv_release(&c);
    tbp_vec_release(&rows);
}

/* ---- memory ---- */

struct memory_columns {
    int size, device, time, allocated, reserved;
};

static int64_t bytes_of(struct tbp_csv *c, int column, double unit, int64_t otherwise) {
    double v;
    struct tbp_str s = tbp_csv_text(c, column);
    return tbp_str_to_double(s, &v) && v > -1e12 && v < 1e12 ? (int64_t)(v * unit) : otherwise;
}

/* What is never freed within the profile has no time of it. */
static bool is_no_time(struct tbp_csv *c, int column) {
    struct tbp_str s = tbp_csv_text(c, column);
    return s.n == 0 || tbp_str_is(s, "N/A");
}

static void add_memory(struct ascend *a, struct tbp_csv *c, const struct memory_columns *at,
                       int sign) {
    const double kib = 1024, mib = 1024 * 1024;
    struct tbp_trace *t = a->t;
    struct tbp_trace_memory_event m = {.track = tbp_trace_thread(t, 0, 2)};
    if (is_no_time(c, at->time))
        return;
    double size;
    if (!tbp_csv_time(c, at->time, 3, &m.start_ns, &m.start_ps) ||
        !tbp_str_to_double(tbp_csv_text(c, at->size), &size)) {
        drop_row(a, c);
        return;
    }
    tbp_trace_track_name(t, m.track, TBP_STR("Memory"));
    m.allocator = tbp_trace_text(t, tbp_csv_text(c, at->device));
    m.bytes = sign * bytes_of(c, at->size, kib, 0);
    m.allocated = bytes_of(c, at->allocated, mib, -1);
    m.reserved = bytes_of(c, at->reserved, mib, 0);
    tbp_trace_memory(t, &m);
}

static void read_memory(struct ascend *a, struct tbp_str bytes) {
    struct tbp_csv c;
    tbp_csv_init(&c, bytes);
    int size = tbp_csv_column(&c, "Size(KB)"), device = tbp_csv_column(&c, "Device Type");
    struct memory_columns taken = {size, device, tbp_csv_column(&c, "Allocation Time(us)"),
                                   tbp_csv_column(&c, "Allocation Total Allocated(MB)"),
                                   tbp_csv_column(&c, "Allocation Total Reserved(MB)")};
    struct memory_columns freed = {size, device, tbp_csv_column(&c, "Release Time(us)"),
                                   tbp_csv_column(&c, "Release Total Allocated(MB)"),
                                   tbp_csv_column(&c, "Release Total Reserved(MB)")};
    while (tbp_csv_next(&c)) {
        if (is_no_time(&c, taken.time) && is_no_time(&c, freed.time))
            drop_row(a, &c);
        add_memory(a, &c, &taken, 1);
        add_memory(a, &c, &freed, -1);
    }
    tbp_csv_release(&c);
}

/* What each part of the software holds, over time, as counters. */
static void read_components(struct ascend *a, struct tbp_str bytes) {
    struct tbp_csv c;
    tbp_csv_init(&c, bytes);
    int time = tbp_csv_column(&c, "Timestamp(us)"), who = tbp_csv_column(&c, "Component");
    while (tbp_csv_next(&c)) {
        char name[80];
        struct tbp_trace_event e = {.track = tbp_trace_counters(a->t)};
        struct tbp_str component = tbp_csv_text(&c, who);
        if (!tbp_csv_time(&c, time, 3, &e.start_ns, &e.start_ps) || component.n == 0) {
            drop_row(a, &c);
            continue;
        }
        int n = snprintf(name, sizeof name, "memory of %.*s",
                         (int)(component.n < 60 ? component.n : 60), component.p);
        e.name = tbp_trace_text(a->t, (struct tbp_str){name, (size_t)n});
        for (size_t i = 0; i < c.heading.n; i++) {
            double v;
            if (tbp_str_starts(c.heading.at[i], "Total ") &&
                tbp_str_to_double(tbp_csv_text(&c, (int)i), &v))
                tbp_trace_stat_double(a->t, TBP_TRACE_OWN, tbp_trace_text(a->t, c.heading.at[i]),
                                      v);
        }
        tbp_trace_add(a->t, &e);
    }
    tbp_csv_release(&c);
}

/* ---- the folder ---- */

static void read_links(struct ascend *a, struct tbp_str json) {
    tbp_ascend_timeline_links(&a->timeline, json);
}

static void read_events(struct ascend *a, struct tbp_str json) {
    tbp_ascend_timeline_events(&a->timeline, json);
}

static void read_rank(struct ascend *a, struct tbp_str json) {
    struct tbp_json_pull j;
    int64_t rank;
    tbp_json_pull_init(&j, json.p, json.n);
    if (tbp_json_pull_next(&j) != TBP_JSON_OBJECT)
        return;
    while (tbp_json_pull_next(&j) == TBP_JSON_KEY) {
        if (!tbp_str_is(j.text, "rank_id"))
            tbp_json_pull_skip(&j, TBP_JSON_KEY);
        else if (tbp_json_pull_next(&j) == TBP_JSON_NUMBER && tbp_json_id(j.text, &rank))
            tbp_trace_plane_u64(a->t, 0, "distributed_rank", (uint64_t)rank);
    }
}

struct table {
    const char *name;
    void (*read)(struct ascend *a, struct tbp_str bytes);
    const char *needs; /* columns; NULL: it is JSON */
};

/* In the order in which they are read: links and kernels before what refers to them. */
static const struct table tables[] = {
    {OUTPUT "trace_view.json", read_links, NULL},
    {OUTPUT "kernel_details.csv", read_kernels,
     "Name|Op Name|Kernel Name,Start Time(us)|Task Start Time(us),Duration(us)|Task Duration(us)"},
    {OUTPUT "step_trace_time.csv", read_steps, "Step,Computing,Communication(Not Overlapped),Free"},
    {OUTPUT "operator_memory.csv", read_memory,
     "Size(KB),Allocation Time(us),Release Time(us),Device Type"},
    {OUTPUT "memory_record.csv", read_components,
     "Component,Timestamp(us),Total Allocated(MB)|Total Reserved(MB)"},
    {OUTPUT "trace_view.json", read_events, NULL},
    {"profiler_info.json", read_rank, NULL}};
enum { TABLES = sizeof tables / sizeof *tables };

static void read_table(struct ascend *a, const struct tbp_host *h, const struct table *table) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if (tbp_str_is(f.name, table->name))
            table->read(a, f.bytes);
}

static bool has_output(const struct tbp_host *h) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if (tbp_str_starts(f.name, OUTPUT) && f.bytes.n)
            return true;
    return false;
}

static void check_tables(struct tbp_host *h) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);) {
        size_t i = 0;
        while (i < TABLES && !tbp_str_is(f.name, tables[i].name))
            i++;
        if (i < TABLES)
            tbp_folder_check(&h->ledger, &h->input, &f, tables[i].needs);
    }
}

static void describe_devices(struct ascend *a) {
    for (unsigned i = 0; i < 64; i++) {
        char name[32];
        snprintf(name, sizeof name, "/device:GPU:%u", i);
        if (!(a->devices >> i & 1))
            continue;
        uint32_t plane = tbp_trace_plane(a->t, tbp_str_c(name));
        tbp_trace_plane_text(a->t, plane, "device_vendor", TBP_STR("Huawei"));
        tbp_trace_plane_text(a->t, plane, "gpu_device_name", TBP_STR("Ascend"));
    }
}

static int read_ascend(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct ascend a = {0};
    if (!has_output(host))
        return tbp_fail(err, TBP_E_UNSUPPORTED,
                        "'%.*s' holds raw data only, not analysed yet: run the vendor's analysis "
                        "(torch_npu.profiler.profiler.analyse), then convert the folder again",
                        (int)(host->path.n < 100 ? host->path.n : 100), host->path.p);
    check_tables(host);
    tbp_ascend_timeline_begin(&a.timeline, host);
    a.t = &a.timeline.jt.trace;
    for (size_t i = 0; i < TABLES; i++)
        read_table(&a, host, &tables[i]);
    describe_devices(&a);
    tbp_trace_find_wall_clock(a.t);
    tbp_trace_finish(a.t, pool);
    tbp_ascend_timeline_end(&a.timeline);
    tbp_vec_release(&a.steps);
    tbp_idmap_release(&a.step_of);
    return TBP_OK;
}

static int probe(const uint8_t *data, size_t size) {
    enum { CERTAIN = 100 };
    bool has_raw = false, has_info = false;
    struct tbp_folder_walk w = tbp_folder_walk(data, size);
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);) {
        if (tbp_str_is(f.name, OUTPUT))
            return CERTAIN;
        has_raw |= tbp_str_is(f.name, "FRAMEWORK/") || tbp_str_starts(f.name, "PROF_");
        has_info |= tbp_str_starts(f.name, "profiler_info");
    }
    return has_raw && has_info ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_ascend = {
    .name = "ascend",
    .help = "folders of the profilers for Ascend devices, after their analysis (*_ascend_pt)",
    .probe = probe,
    .read = read_ascend,
};
