/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of rocprof, first version to rocprofv3; see rocprof_csv.h. Columns came in the middle over
 * the years and are taken by name. Grids are counted in work items. An end of 0 is a range that
 * nobody closed. Source: reference trace_kernel_memory_import F.8.
 */
#include "convert/read/rocprof_csv.h"

#include "convert/read/csv_rows.h"

#define START  "Start_Timestamp|BeginNs"
#define END    "End_Timestamp|EndNs"
#define KERNEL "Kernel_Name|KernelName"
#define AGENT  "Agent_Id|GPU_ID"

/* ---- which table ---- */

static enum tbp_rocprof_table table_of(const struct tbp_csv *c) {
    if (tbp_csv_column(c, START) == TBP_CSV_NONE || tbp_csv_column(c, END) == TBP_CSV_NONE)
        return TBP_ROCPROF_NONE;
    if (tbp_csv_column(c, KERNEL) != TBP_CSV_NONE)
        return TBP_ROCPROF_KERNELS;
    if (tbp_csv_column(c, "Direction") != TBP_CSV_NONE)
        return TBP_ROCPROF_COPIES;
    return tbp_csv_column(c, "Function") != TBP_CSV_NONE ? TBP_ROCPROF_CALLS : TBP_ROCPROF_NONE;
}

enum tbp_rocprof_table tbp_rocprof_table_of(struct tbp_str bytes) {
    struct tbp_csv c;
    tbp_csv_init(&c, bytes);
    enum tbp_rocprof_table table = table_of(&c);
    tbp_csv_release(&c);
    return table;
}

/* ---- agents ---- */

/* "Agent 4" or 4. */
static bool agent_of(struct tbp_csv *c, int column, int64_t *id) {
    static const char prefix[] = "Agent ";
    struct tbp_str s = tbp_csv_text(c, column);
    if (tbp_str_starts(s, prefix))
        s = tbp_str_sub(s, sizeof prefix - 1, s.n);
    return tbp_str_to_i64(s, id);
}

static void note_agent(struct tbp_rocprof_agents *a, int64_t id) {
    enum { MAX_AGENTS = 500 };
    size_t i = 0;
    while (i < a->ids.n && a->ids.at[i] < id)
        i++;
    if ((i < a->ids.n && a->ids.at[i] == id) || a->ids.n >= MAX_AGENTS)
        return;
    (void)tbp_vec_push(&a->ids);
    memmove(&a->ids.at[i + 1], &a->ids.at[i], (a->ids.n - 1 - i) * sizeof *a->ids.at);
    a->ids.at[i] = id;
}

void tbp_rocprof_note_agents(struct tbp_rocprof_agents *a, struct tbp_str bytes) {
    struct tbp_csv c;
    int64_t id;
    tbp_csv_init(&c, bytes);
    int agent = tbp_csv_column(&c, AGENT);
    bool has_kernels = table_of(&c) == TBP_ROCPROF_KERNELS;
    while (has_kernels && tbp_csv_next(&c))
        if (agent_of(&c, agent, &id))
            note_agent(a, id);
    tbp_csv_release(&c);
}

static int64_t device_of(const struct tbp_rocprof_agents *a, int64_t id) {
    for (size_t i = 0; i < a->ids.n; i++)
        if (a->ids.at[i] == id)
            return (int64_t)i;
    return 0;
}

/* ---- rows ---- */

struct columns {
    int start, end, correlation;
    int kernel, agent, queue, registers, shared, grid[3], block[3];
    int direction, from, to, bytes;
    int domain, function, process, thread;
};

static struct columns find_columns(const struct tbp_csv *c) {
    return (struct columns){
        .start = tbp_csv_column(c, START),
        .end = tbp_csv_column(c, END),
        .correlation = tbp_csv_column(c, "Correlation_Id"),
        .kernel = tbp_csv_column(c, KERNEL),
        .agent = tbp_csv_column(c, AGENT),
        .queue = tbp_csv_column(c, "Queue_Id"),
        .registers = tbp_csv_column(c, "VGPR_Count|Arch_VGPR|vgpr"),
        .shared = tbp_csv_column(c, "LDS_Block_Size|Group_Segment_Size|LDS"),
        .grid = {tbp_csv_column(c, "Grid_Size_X|GRD"), tbp_csv_column(c, "Grid_Size_Y"),
                 tbp_csv_column(c, "Grid_Size_Z")},
        .block = {tbp_csv_column(c, "Workgroup_Size_X|WGR"), tbp_csv_column(c, "Workgroup_Size_Y"),
                  tbp_csv_column(c, "Workgroup_Size_Z")},
        .direction = tbp_csv_column(c, "Direction"),
        .from = tbp_csv_column(c, "Source_Agent_Id"),
        .to = tbp_csv_column(c, "Destination_Agent_Id"),
        .bytes = tbp_csv_column(c, "Size|Bytes"),
        .domain = tbp_csv_column(c, "Domain"),
        .function = tbp_csv_column(c, "Function"),
        .process = tbp_csv_column(c, "Process_Id|PID"),
        .thread = tbp_csv_column(c, "Thread_Id|TID"),
    };
}

static int64_t whole(struct tbp_csv *c, int column, int64_t otherwise) {
    int64_t v;
    return tbp_csv_i64(c, column, &v) ? v : otherwise;
}

static uint64_t size_at(struct tbp_csv *c, int column, uint64_t otherwise) {
    int64_t v = whole(c, column, -1);
    return v < 0 ? otherwise : (uint64_t)v;
}

static void drop_row(struct tbp_gpu_trace *g, const struct tbp_csv *c) {
    struct tbp_ledger *l = &g->t.host->ledger;
    l->events_read++;
    l->events_dropped++;
    tbp_ledger_count(l, TBP_LEDGER_SHORT_ROW, 1, c->offset);
}

/* "f(int) [clone .kd]": kernels carry a suffix of the code object. */
static struct tbp_str kernel_name(struct tbp_str s) {
    static const char *const suffixes[] = {" [clone .kd]", ".kd"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (tbp_str_ends(s, suffixes[i]))
            return tbp_str_sub(s, 0, s.n - strlen(suffixes[i]));
    return s;
}

static void add_kernel(struct tbp_gpu_trace *g, struct tbp_csv *c, const struct columns *at,
                       struct tbp_trace_event *e, int64_t device) {
    struct tbp_gpu_kernel k = {.device = (uint32_t)device,
                               .registers = size_at(c, at->registers, 0),
                               .static_shared = size_at(c, at->shared, 0)};
    for (unsigned i = 0; i < 3; i++) {
        k.block[i] = size_at(c, at->block[i], 1);
        uint64_t items = size_at(c, at->grid[i], 1);
        k.grid[i] = k.block[i] ? items / k.block[i] + (items % k.block[i] != 0) : items;
    }
    e->name = tbp_trace_text(&g->t, kernel_name(tbp_csv_text(c, at->kernel)));
    tbp_gpu_add_kernel(g, e, &k);
}

static void add_copy(struct tbp_gpu_trace *g, struct tbp_csv *c, const struct columns *at,
                     const struct tbp_trace_event *e) {
    struct tbp_str way = tbp_csv_text(c, at->direction);
    bool from_host = tbp_str_has_nocase(way, "HOST_TO") || tbp_str_has_nocase(way, "HostToDevice");
    bool to_host = tbp_str_has_nocase(way, "TO_HOST") || tbp_str_has_nocase(way, "DeviceToHost");
    int64_t kind = from_host && to_host ? 9
                   : from_host          ? TBP_GPU_HTOD
                   : to_host            ? TBP_GPU_DTOH
                                        : TBP_GPU_DTOD;
    tbp_gpu_add_copy(g, e, kind, from_host ? TBP_GPU_UNKNOWN : TBP_GPU_DEVICE,
                     to_host ? TBP_GPU_UNKNOWN : TBP_GPU_DEVICE, size_at(c, at->bytes, 0));
}

/* The device at the end of the copy that is one. */
static int64_t device_of_copy(const struct tbp_rocprof_agents *a, struct tbp_csv *c,
                              const struct columns *at) {
    int64_t id;
    for (size_t i = 0; i < a->ids.n; i++)
        if ((agent_of(c, at->to, &id) && id == a->ids.at[i]) ||
            (agent_of(c, at->from, &id) && id == a->ids.at[i]))
            return (int64_t)i;
    return 0;
}

static void add_call(struct tbp_gpu_trace *g, struct tbp_csv *c, const struct columns *at,
                     struct tbp_trace_event *e, bool is_open) {
    int64_t process = whole(c, at->process, 0);
    e->track = tbp_trace_thread(&g->t, process, whole(c, at->thread, 0));
    e->name = tbp_trace_text(&g->t, tbp_csv_text(c, at->function));
    if (tbp_str_has_nocase(tbp_csv_text(c, at->domain), "MARKER")) {
        struct tbp_gpu_range range = {.is_nested = true, .is_open = is_open, .process = process};
        e->link = 0;
        tbp_gpu_add_range(g, e, &range);
    } else {
        tbp_gpu_add_call(g, e);
    }
}

static void read_row(struct tbp_gpu_trace *g, const struct tbp_rocprof_agents *a, struct tbp_csv *c,
                     const struct columns *at, enum tbp_rocprof_table table) {
    struct tbp_trace_event e = {.link = (uint64_t)whole(c, at->correlation, 0)};
    int64_t start_ns, end_ns, agent = 0;
    unsigned ps;
    if (!tbp_csv_time(c, at->start, 0, &start_ns, &ps) ||
        !tbp_csv_time(c, at->end, 0, &end_ns, &ps)) {
        drop_row(g, c);
        return;
    }
    bool is_open = end_ns == 0 && start_ns > 0;
    tbp_gpu_set_time(g, &e, start_ns, is_open ? start_ns : end_ns);
    if (table == TBP_ROCPROF_CALLS) {
        add_call(g, c, at, &e, is_open);
        return;
    }
    (void)agent_of(c, at->agent, &agent);
    int64_t device = table == TBP_ROCPROF_KERNELS ? device_of(a, agent) : device_of_copy(a, c, at);
    e.track = tbp_gpu_stream(g, device, whole(c, at->queue, 0));
    if (table == TBP_ROCPROF_KERNELS)
        add_kernel(g, c, at, &e, device);
    else
        add_copy(g, c, at, &e);
}

uint64_t tbp_rocprof_read_table(struct tbp_gpu_trace *g, const struct tbp_rocprof_agents *a,
                                struct tbp_str bytes) {
    struct tbp_csv c;
    uint64_t before = g->n_device;
    tbp_csv_init(&c, bytes);
    struct columns at = find_columns(&c);
    enum tbp_rocprof_table table = table_of(&c);
    while (table != TBP_ROCPROF_NONE && tbp_csv_next(&c))
        read_row(g, a, &c, &at, table);
    tbp_csv_release(&c);
    return g->n_device - before;
}
