/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of what ROCm's rocprof writes besides databases: tables (*.csv, one or a folder of them)
 * and trace events (results.json; also those that rpd2tracing makes of an RPD database). In JSON
 * times are microseconds in quotes, cut to whole ones; where arguments tell nanoseconds, these
 * count. A file may be what a writer that died left: one line that begins with a comma.
 */
#include "convert/read/folder.h"
#include "convert/read/launch_flows.h"
#include "convert/read/process_names.h"
#include "convert/read/reader.h"
#include "convert/read/rocprof_csv.h"

struct rocprof {
    struct tbp_gpu_trace gpu;
    struct tbp_json_trace jt; /* walks documents; what they say goes to gpu */
    struct tbp_process_names processes;
    struct tbp_launch_flows flows;
};

/* ---- trace events ---- */

static bool number(const struct tbp_json_event *e, const char *key, int64_t *v) {
    const struct tbp_json_value *arg = tbp_json_trace_arg(e, key);
    return arg && (arg->token == TBP_JSON_NUMBER || arg->token == TBP_JSON_STRING) &&
           tbp_json_id(arg->text, v);
}

static bool set_time(struct rocprof *r, const struct tbp_json_event *e,
                     struct tbp_trace_event *out) {
    int64_t begin_ns, end_ns, dur_ns;
    unsigned ps;
    if (!number(e, "BeginNs", &begin_ns) || !number(e, "EndNs", &end_ns)) {
        if (!tbp_json_trace_time(&e->ts, &begin_ns, &ps))
            return false;
        end_ns = begin_ns;
        if (e->ph == 'X' && tbp_json_trace_time(&e->dur, &dur_ns, &ps) &&
            __builtin_add_overflow(begin_ns, dur_ns, &end_ns))
            end_ns = begin_ns;
    }
    tbp_gpu_set_time(&r->gpu, out, begin_ns, end_ns);
    return true;
}

/* "GPU2": 2. */
static bool device_of_process(const struct rocprof *r, int64_t pid, int64_t *device) {
    struct tbp_str name;
    return tbp_process_names_get(&r->processes, pid, &name) && tbp_str_starts(name, "GPU") &&
           tbp_str_to_i64(tbp_str_sub(name, sizeof "GPU" - 1, name.n), device);
}

static const struct {
    const char *name;
    int64_t kind, from, to;
} copies[] = {{"CopyHostToDevice", TBP_GPU_HTOD, 0, TBP_GPU_DEVICE},
              {"CopyDeviceToHost", TBP_GPU_DTOH, TBP_GPU_DEVICE, 0},
              {"CopyDeviceToDevice", TBP_GPU_DTOD, TBP_GPU_DEVICE, TBP_GPU_DEVICE}};

static void add_operation(struct rocprof *r, const struct tbp_trace_event *e, int64_t device) {
    struct tbp_str name = r->gpu.t.texts.strs[e->name];
    struct tbp_gpu_kernel k = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .device = (uint32_t)device};
    for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) {
        if (!tbp_str_starts(name, copies[i].name))
            continue;
        tbp_gpu_add_copy(&r->gpu, e, copies[i].kind, copies[i].from, copies[i].to, 0);
        return;
    }
    if (tbp_str_starts(name, "FillBuffer"))
        tbp_gpu_add_memset(&r->gpu, e, TBP_GPU_DEVICE, 0);
    else
        tbp_gpu_add_kernel(&r->gpu, e, &k);
}

static void add_span(struct rocprof *r, const struct tbp_json_event *e,
                     struct tbp_trace_event *out) {
    int64_t pid, tid, device, queue;
    bool is_text;
    tbp_json_trace_id(&r->jt, &e->pid, &pid, &is_text);
    tbp_json_trace_id(&r->jt, &e->tid, &tid, &is_text);
    out->name = tbp_trace_text(&r->gpu.t, tbp_json_trace_text(&r->jt, &e->name));
    if (device_of_process(r, pid, &device) || number(e, "dev-id", &device)) {
        out->track = tbp_gpu_stream(&r->gpu, device, number(e, "queue-id", &queue) ? queue : tid);
        add_operation(r, out, device);
        return;
    }
    struct tbp_str process;
    out->track = tbp_trace_thread(&r->gpu.t, pid, tid);
    if (tbp_process_names_get(&r->processes, pid, &process) &&
        tbp_str_has_nocase(process, "Markers")) {
        struct tbp_gpu_range range = {.is_nested = true, .process = pid};
        tbp_gpu_add_range(&r->gpu, out, &range);
    } else {
        tbp_gpu_add_call(&r->gpu, out);
    }
}

static void add_counter(struct rocprof *r, const struct tbp_json_event *e,
                        struct tbp_trace_event *out) {
    struct tbp_trace *t = &r->gpu.t;
    for (size_t i = 0; i < e->n_args; i++) {
        double v;
        if (tbp_str_to_double(e->args[i].value.text, &v))
            tbp_trace_stat_double(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("value")), v);
    }
    out->track = tbp_trace_counters(t);
    out->name = tbp_trace_text(t, tbp_json_trace_text(&r->jt, &e->name));
    tbp_trace_add(t, out);
}

static void read_names(struct rocprof *r, const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    int64_t pid, tid;
    bool is_text;
    if (tbp_process_names_read(&r->processes, &r->jt, e) || !name ||
        !tbp_str_is(e->name.text, "thread_name"))
        return;
    tbp_json_trace_id(&r->jt, &e->pid, &pid, &is_text);
    tbp_json_trace_id(&r->jt, &e->tid, &tid, &is_text);
    struct tbp_given_name given = tbp_json_trace_given(&r->jt, e, name);
    tbp_trace_track_given(&r->gpu.t, tbp_trace_thread(&r->gpu.t, pid, tid), &given);
}

/* From calls to work of devices. rpd2tracing ends an arrow with "f", rocprof with "t". */
static void read_arrow(struct rocprof *r, const struct tbp_json_event *e) {
    int64_t pid, tid, device, id, ns;
    unsigned ps;
    bool is_text, is_begin = e->ph == 's';
    tbp_json_trace_id(&r->jt, &e->pid, &pid, &is_text);
    tbp_json_trace_id(&r->jt, &e->tid, &tid, &is_text);
    if (device_of_process(r, pid, &device) == is_begin)
        return;
    if (!tbp_json_trace_id(&r->jt, &e->id, &id, &is_text) ||
        !tbp_json_trace_time(&e->ts, &ns, &ps)) {
        r->flows.n_lost++;
        return;
    }
    struct tbp_flow_id flow = {(uint64_t)id, tbp_trace_text(&r->gpu.t, e->cat.text)};
    uint32_t track =
        is_begin ? tbp_trace_thread(&r->gpu.t, pid, tid) : tbp_gpu_stream(&r->gpu, device, tid);
    tbp_launch_flows_place(&r->flows, !is_begin, flow, track, ns);
}

static void read_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct rocprof *r = jt->ctx;
    struct tbp_ledger *l = &jt->host->ledger;
    struct tbp_trace_event out = {0};
    if (e->ph == 'M')
        read_names(r, e);
    bool is_arrow = e->ph && strchr("stf", e->ph);
    if (is_arrow)
        read_arrow(r, e);
    if (e->ph == 'M' || is_arrow) {
        l->events_read++;
        l->events_merged++;
    } else if (!e->ph || !strchr("XCiI", e->ph)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
    } else if (!set_time(r, e, &out)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
    } else if (e->ph == 'C') {
        add_counter(r, e, &out);
    } else {
        add_span(r, e, &out);
    }
}

static const struct tbp_json_dialect dialect = {.event = read_event};

/* Which processes are devices may stand behind their events. */
static void note_names(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct rocprof *r = jt->ctx;
    tbp_process_names_read(&r->processes, jt, e);
}

static const struct tbp_json_dialect names = {.event = note_names};

/* ---- tables ---- */

static struct tbp_str bytes_of(const struct tbp_host *h) {
    return (struct tbp_str){(const char *)h->input.data, h->input.size};
}

/* The columns that a table which is read needs, by its name; NULL: it is none. */
static const char *needs_of(struct tbp_str name) {
    static const char calls[] = "Domain,Function,Start_Timestamp,End_Timestamp";
    static const struct {
        const char *name, *needs;
    } tables[] = {{"kernel_trace.csv", "Kernel_Name,Agent_Id,Start_Timestamp,End_Timestamp"},
                  {"memory_copy_trace.csv",
                   "Direction,Source_Agent_Id,Destination_Agent_Id,Start_Timestamp,End_Timestamp"},
                  {"hip_api_trace.csv", calls},
                  {"hsa_api_trace.csv", calls},
                  {"marker_api_trace.csv", calls}};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (tbp_str_ends(name, tables[i].name))
            return tables[i].needs;
    return NULL;
}

static void read_tables(struct rocprof *r, struct tbp_host *h) {
    struct tbp_rocprof_agents agents = {0};
    if (!tbp_folder_is(h->input.data, h->input.size)) {
        if (tbp_rocprof_table_of(bytes_of(h)) == TBP_ROCPROF_NONE) /* its heading has no end */
            tbp_ledger_count(&h->ledger, TBP_LEDGER_NO_TABLE, 1, 0);
        tbp_rocprof_note_agents(&agents, bytes_of(h));
        tbp_rocprof_read_table(&r->gpu, &agents, bytes_of(h));
    }
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size), again = w;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);) {
        if (needs_of(f.name))
            tbp_folder_check(&h->ledger, &h->input, &f, needs_of(f.name));
        if (tbp_str_ends(f.name, ".csv"))
            tbp_rocprof_note_agents(&agents, f.bytes);
    }
    for (struct tbp_folder_file f; tbp_folder_next(&again, &f);)
        if (tbp_str_ends(f.name, ".csv"))
            tbp_rocprof_read_table(&r->gpu, &agents, f.bytes);
    tbp_vec_release(&agents.ids);
}

/* ---- the reader ---- */

static int read_rocprof(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct rocprof r = {0};
    (void)err;
    tbp_gpu_trace_init(&r.gpu, host, "AMD");
    if (tbp_json_trace_looks_so(host->input.data, host->input.size)) {
        tbp_json_trace_begin(&r.jt, host, &dialect, &r);
        tbp_json_trace_look(&r.jt, bytes_of(host), &names);
        tbp_json_trace_document(&r.jt, bytes_of(host));
        tbp_json_trace_end(&r.jt);
    } else {
        read_tables(&r, host);
    }
    if (r.gpu.n_device == 0)
        tbp_gpu_warn(&r.gpu, TBP_STR("no kernels recorded"));
    tbp_launch_flows_apply(&r.flows, &r.gpu.t);
    tbp_gpu_trace_finish(&r.gpu, pool);
    tbp_gpu_trace_release(&r.gpu);
    tbp_process_names_release(&r.processes);
    tbp_launch_flows_release(&r.flows);
    return TBP_OK;
}

enum { LIKELY = 65 };

static const char *const json_marks[] = {"\"BeginNs\"", "\"KernelExecution\"",
                                         "\"CopyHostToDevice\"", "{\"name\":\"COPY\"}", NULL};

static int probe(const uint8_t *data, size_t size) {
    enum { CERTAIN = 90, HEADING = 4096 };
    struct tbp_folder_walk w = tbp_folder_walk(data, size);
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if (needs_of(f.name))
            return CERTAIN;
    if (tbp_json_trace_looks_so(data, size))
        return tbp_json_trace_has_any(data, size, json_marks) ? LIKELY : 0;
    bool is_text = size && !memchr(data, 0, size < 512 ? size : 512);
    struct tbp_str begin = {(const char *)data, size < HEADING ? size : HEADING};
    return is_text && tbp_rocprof_table_of(begin) != TBP_ROCPROF_NONE ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_rocprof = {
    .name = "rocprof",
    .help = "tables and JSON of ROCm's rocprof and rocprofv3, JSON of rpd2tracing",
    .probe = probe,
    .telling_texts = json_marks,
    .telling_score = LIKELY,
    .read = read_rocprof,
};
