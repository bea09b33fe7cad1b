/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of the folders that MindSpore's profiler (MindInsight) leaves: timelines, step trace,
 * MindData queues, per device. A timeline alone is read, too. See read_mindspore.h.
 */
#include "convert/read/read_mindspore.h"

#include "convert/read/csv_rows.h"
#include "convert/read/read_kineto.h"

#include <stdio.h>

struct table {
    const char *prefix, *suffix;
    const char *needs; /* columns; NULL: it has no heading */
};

static const struct {
    struct table name;
    enum tbp_mindspore_target target;
} timelines[] = {{{"ascend_timeline_display_", ".json", NULL}, TBP_MINDSPORE_ASCEND},
                 {{"gpu_timeline_display_", ".json", NULL}, TBP_MINDSPORE_GPU},
                 {{"cpu_timeline_display_", ".json", NULL}, TBP_MINDSPORE_CPU}};
enum { TIMELINES = sizeof timelines / sizeof *timelines };

static const struct table step_trace = {"step_trace_raw_", "_detail_time.csv",
                                        "step_num,start_point,end_point,fp_point,bp_point,"
                                        "iteration_interval,fp_and_bp,tail"},
                          aicpu = {"aicpu_intermediate_", ".csv", "run_start"},
                          stream_ops = {"output_timeline_data_", ".txt", "start_time(ms)"},
                          pipeline = {"minddata_pipeline_raw_", ".csv",
                                      "op_id,op_type,output_queue_size,output_queue_length,"
                                      "sample_interval"},
                          device_queue = {"device_queue_profiling_", ".txt", NULL},
                          iterator = {"dataset_iterator_profiling_", ".txt", NULL},
                          get_next = {"minddata_aicpu_", ".txt", NULL};

static bool is_table(struct tbp_str name, struct table t, uint32_t *device) {
    return tbp_folder_numbered(name, t.prefix, t.suffix, device);
}

static int timeline_of(struct tbp_str name, uint32_t *device) {
    for (int i = 0; i < TIMELINES; i++)
        if (is_table(name, timelines[i].name, device))
            return i;
    return -1;
}

/* ---- one device ---- */

static void read_clock(struct tbp_mindspore *m, const struct tbp_host *h, uint32_t device) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    uint32_t id;
    m->has_zero = false;
    m->zero_ns = 0;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if ((is_table(f.name, aicpu, &id) || is_table(f.name, stream_ops, &id)) && id == device)
            tbp_mindspore_find_zero(m, f);
}

/* The steps of one device mark those of the run. */
static void read_steps(struct tbp_mindspore *m, const struct tbp_host *h, uint32_t device,
                       bool is_mark) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    uint32_t id;
    m->steps.n = 0;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if (is_table(f.name, step_trace, &id) && id == device)
            tbp_mindspore_step_trace(m, f.bytes, is_mark);
    m->marks_steps &= m->steps.n == 0;
    if (!m->has_zero && m->steps.n) /* ops begin with the first step, as far as is known */
        m->zero_ns = m->steps.at[0].start_ns;
}

static void read_tables(struct tbp_mindspore *m, const struct tbp_host *h, uint32_t device) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    uint32_t id;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);) {
        if (is_table(f.name, pipeline, &id) && id == device)
            tbp_mindspore_pipeline(m, f.bytes);
        else if ((is_table(f.name, device_queue, &id) || is_table(f.name, iterator, &id)) &&
                 id == device)
            tbp_mindspore_queue(m, f.bytes);
        else if (is_table(f.name, get_next, &id) && id == device)
            tbp_mindspore_get_next(m, f.bytes);
    }
}

static void read_timelines(struct tbp_mindspore *m, const struct tbp_host *h, uint32_t device,
                           bool is_ascend) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    uint32_t id;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);) {
        int i = timeline_of(f.name, &id);
        if (i < 0 || id != device || (timelines[i].target == TBP_MINDSPORE_ASCEND) != is_ascend)
            continue;
        m->target = timelines[i].target;
        tbp_mindspore_timeline(m, f.bytes);
    }
}

/* ---- a folder ---- */

/* Devices of the files in it, in order. */
struct devices {
    TBP_VEC(uint32_t) ids;
};

static void note_device(struct devices *d, uint32_t id) {
    size_t i = 0;
    while (i < d->ids.n && d->ids.at[i] < id)
        i++;
    if (i < d->ids.n && d->ids.at[i] == id)
        return;
    (void)tbp_vec_push(&d->ids);
    memmove(&d->ids.at[i + 1], &d->ids.at[i], (d->ids.n - 1 - i) * sizeof *d->ids.at);
    d->ids.at[i] = id;
}

static bool is_ours(struct tbp_str name, uint32_t *device, struct table *kind) {
    static const struct table *const tables[] = {&step_trace,   &aicpu,    &stream_ops, &pipeline,
                                                 &device_queue, &iterator, &get_next};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        *kind = *tables[i];
        if (is_table(name, *kind, device))
            return true;
    }
    *kind = (struct table){0};
    return timeline_of(name, device) >= 0;
}

/* GPU and CPU timelines may have a clock of their own: then both begin together. */
static void align_clocks(struct tbp_trace *t, size_t from) {
    const int64_t day_ns = 86400000000000;
    int64_t first[2] = {INT64_MAX, INT64_MAX};
    for (size_t i = 0; i < t->rows.n; i++)
        if (t->rows.at[i].start_ns < first[i >= from])
            first[i >= from] = t->rows.at[i].start_ns;
    int64_t shift_ns;
    if (first[0] == INT64_MAX || first[1] == INT64_MAX ||
        __builtin_sub_overflow(first[0], first[1], &shift_ns) ||
        (shift_ns < day_ns && shift_ns > -day_ns))
        return;
    for (size_t i = from; i < t->rows.n; i++) {
        int64_t moved_ns;
        if (!__builtin_add_overflow(t->rows.at[i].start_ns, shift_ns, &moved_ns))
            t->rows.at[i].start_ns = moved_ns;
    }
}

static void name_device(struct tbp_trace *t, uint32_t device, enum tbp_mindspore_target target) {
    char name[32];
    snprintf(name, sizeof name, "/device:GPU:%u", (unsigned)device);
    uint32_t plane = tbp_strtab_get(&t->plane_names, tbp_str_c(name));
    if (plane == TBP_MAP_NONE)
        return;
    bool is_ascend = target == TBP_MINDSPORE_ASCEND;
    tbp_trace_plane_text(t, plane, "device_vendor",
                         is_ascend ? TBP_STR("Huawei") : TBP_STR("Nvidia"));
    if (is_ascend)
        tbp_trace_plane_text(t, plane, "gpu_device_name", TBP_STR("Ascend"));
}

static void read_devices(struct tbp_mindspore *m, const struct tbp_host *h) {
    struct tbp_folder_walk w = tbp_folder_walk(h->input.data, h->input.size);
    struct devices devices = {0};
    struct table kind;
    uint32_t id;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if (is_ours(f.name, &id, &kind)) {
            note_device(&devices, id);
            tbp_folder_check(&m->jt.host->ledger, &h->input, &f, kind.needs);
        }
    m->marks_steps = true;
    for (size_t i = 0; i < devices.ids.n; i++) {
        m->device = devices.ids.at[i];
        m->target = TBP_MINDSPORE_ASCEND;
        read_clock(m, h, m->device);
        read_steps(m, h, m->device, m->marks_steps);
        read_tables(m, h, m->device);
        read_timelines(m, h, m->device, true);
    }
    size_t from = m->jt.trace.rows.n;
    for (size_t i = 0; i < devices.ids.n; i++) {
        m->device = devices.ids.at[i];
        read_timelines(m, h, m->device, false);
        m->marks_steps = false;
        name_device(&m->jt.trace, m->device, m->target);
    }
    align_clocks(&m->jt.trace, from);
    tbp_vec_release(&devices.ids);
}

/* ---- the reader ---- */

enum { LIKELY = 60 };

static const char *const marks[] = {"\"HostCpuOps", "\"scope_level\"", "\"op_full_name\"",
                                    "\"fullname\"", NULL};

static enum tbp_mindspore_target target_of(const struct tbp_input *in) {
    struct tbp_str bytes = {(const char *)in->data, in->size};
    return tbp_str_has(bytes, "\"HostCpuOps")       ? TBP_MINDSPORE_CPU
           : tbp_str_has(bytes, "\"op_full_name\"") ? TBP_MINDSPORE_GPU
                                                    : TBP_MINDSPORE_ASCEND;
}

static void read_alone(struct tbp_mindspore *m, const struct tbp_host *h) {
    m->marks_steps = true;
    m->target = target_of(&h->input);
    tbp_mindspore_timeline(m, (struct tbp_str){(const char *)h->input.data, h->input.size});
    name_device(&m->jt.trace, 0, m->target);
}

static int read_mindspore(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct tbp_mindspore m = {0};
    int status = TBP_OK;
    tbp_json_trace_begin(&m.jt, host, &tbp_mindspore_dialect, &m);
    if (tbp_folder_is(host->input.data, host->input.size))
        read_devices(&m, host);
    else
        read_alone(&m, host);
    if (m.jt.trace.rows.n == 0 && !m.jt.has_list)
        status = tbp_fail(err, TBP_E_FORMAT,
                          "'%.*s': neither a timeline nor a step trace of MindSpore's profiler",
                          (int)(host->path.n < 150 ? host->path.n : 150), host->path.p);
    tbp_trace_find_wall_clock(&m.jt.trace);
    if (!status)
        tbp_trace_finish(&m.jt.trace, pool);
    tbp_json_trace_end(&m.jt);
    tbp_vec_release(&m.steps);
    return status;
}

static int probe(const uint8_t *data, size_t size) {
    enum { CERTAIN = 100 };
    struct tbp_folder_walk w = tbp_folder_walk(data, size);
    struct table kind;
    uint32_t id;
    for (struct tbp_folder_file f; tbp_folder_next(&w, &f);)
        if (is_ours(f.name, &id, &kind))
            return CERTAIN;
    return tbp_json_trace_looks_so(data, size) && tbp_json_trace_has_any(data, size, marks) ? LIKELY
                                                                                            : 0;
}

/* A timeline of the CPU begins with a row for each number that a thread might have. */
static int probe_input(const struct tbp_input *in) {
    return tbp_kineto_is_dialect_of(in->data, in->size) ? 0 : probe(in->data, in->size);
}

const struct tbp_reader tbp_reader_mindspore = {
    .name = "mindspore",
    .help = "folders of MindSpore's profiler (MindInsight), or a timeline of one",
    .probe = probe,
    .probe_input = probe_input,
    .telling_texts = marks,
    .telling_score = LIKELY,
    .read = read_mindspore,
};
