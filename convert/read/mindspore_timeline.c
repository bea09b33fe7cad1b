/* SPDX-License-Identifier: Apache-2.0
 *
 * Timelines of MindSpore: {ascend,gpu,cpu}_timeline_display_N.json. Rows of a stream are work of
 * the device; the rest are rows that MindInsight drew: steps, scopes, what was computed from both.
 * Source: reference trace_kernel_memory_import F.5, formats_in_2026 D.2.
 */
#include "convert/read/read_mindspore.h"
#include "convert/read/step_name.h"

#include <stdio.h>

enum { ROW_STEPS = 100000, PID_AI_CPU = 9000, PID_COMMUNICATION = 10000, PID_DRAWN = 11000 };

/* "Default/x/MatMul-op5": MatMul. */
static struct tbp_str type_of_op(struct tbp_str name) {
    size_t slash = tbp_str_rfind(name, '/');
    name = slash < name.n ? tbp_str_sub(name, slash + 1, name.n) : name;
    const char *op = memmem(name.p, name.n, "-op", 3);
    return op ? tbp_str_sub(name, 0, (size_t)(op - name.p)) : name;
}

static uint32_t text_of(struct tbp_mindspore *m, const struct tbp_json_event *e, const char *key) {
    const struct tbp_json_value *v = tbp_json_trace_arg(e, key);
    return v && v->token == TBP_JSON_STRING ? tbp_json_trace_intern(&m->jt, v) : 0;
}

static void describe_op(struct tbp_mindspore *m, const struct tbp_json_event *e, uint32_t name) {
    struct tbp_trace *t = &m->jt.trace;
    uint32_t full = text_of(m, e, "fullname");
    full = full ? full : text_of(m, e, "op_full_name");
    full = full ? full : name;
    uint32_t type = m->target == TBP_MINDSPORE_ASCEND ? text_of(m, e, "type") : 0;
    type = type ? type : tbp_trace_text(t, type_of_op(t->texts.strs[full]));
    tbp_trace_stat_op(t, full, type);
}

/* Kernels of GPUs tell how they were launched. */
static void describe_kernel(struct tbp_mindspore *m, const struct tbp_json_event *e) {
    struct tbp_trace *t = &m->jt.trace;
    uint32_t grid_text = text_of(m, e, "grid_dim"), block_text = text_of(m, e, "block_dim");
    struct tbp_str grid = t->texts.strs[grid_text]; /* only now: a new text may move the table */
    struct tbp_str block = t->texts.strs[block_text];
    char details[256];
    if (grid.n == 0 || block.n == 0)
        return;
    int n = snprintf(details, sizeof details,
                     "regs:0 static_shared:0 dynamic_shared:0 grid:%.*s block:%.*s occ_pct:0",
                     (int)(grid.n < 80 ? grid.n : 80), grid.p, (int)(block.n < 80 ? block.n : 80),
                     block.p);
    tbp_trace_stat_text(t, TBP_TRACE_SHARED, tbp_trace_text(t, TBP_STR("kernel_details")),
                        tbp_trace_text(t, (struct tbp_str){details, (size_t)n}));
}

static uint32_t host_row(struct tbp_mindspore *m, const struct tbp_json_event *e, int64_t pid) {
    int64_t tid;
    bool is_text;
    tbp_json_trace_id(&m->jt, &e->tid, &tid, &is_text);
    uint32_t track = tbp_trace_thread(&m->jt.trace, pid, tid);
    if (is_text && track != TBP_NO_TRACK && m->jt.trace.tracks.at[track].name.n == 0)
        tbp_trace_track_name(&m->jt.trace, track, tbp_json_trace_text(&m->jt, &e->tid));
    return track;
}

uint32_t tbp_mindspore_line(struct tbp_mindspore *m, const char *name) {
    char plane[32];
    struct tbp_trace *t = &m->jt.trace;
    snprintf(plane, sizeof plane, "/device:GPU:%u", (unsigned)m->device);
    return tbp_trace_line(t, tbp_trace_plane(t, tbp_str_c(plane)), tbp_str_c(name));
}

static void place_device_op(struct tbp_mindspore *m, const struct tbp_json_event *e, int64_t pid,
                            int64_t tid, struct tbp_trace_event *out) {
    char name[48];
    out->flags = TBP_TRACE_DEVICE;
    describe_op(m, e, out->name);
    if (m->target == TBP_MINDSPORE_GPU)
        describe_kernel(m, e);
    if (pid != PID_AI_CPU && pid != PID_COMMUNICATION) {
        out->track = tbp_trace_stream(&m->jt.trace, m->device, tid);
        return;
    }
    snprintf(name, sizeof name, "Stream (%s %lld)", pid == PID_AI_CPU ? "AI CPU" : "communication",
             (long long)tid);
    out->track = tbp_mindspore_line(m, name);
}

/* Where the row belongs, and what it is. */
static void place(struct tbp_mindspore *m, const struct tbp_json_event *e,
                  struct tbp_trace_event *out) {
    int64_t pid, tid, step;
    bool pid_is_text, tid_is_text;
    tbp_json_trace_id(&m->jt, &e->pid, &pid, &pid_is_text);
    tbp_json_trace_id(&m->jt, &e->tid, &tid, &tid_is_text);
    bool is_drawn = pid >= PID_DRAWN || (pid < PID_AI_CPU && !tid_is_text && tid >= ROW_STEPS);
    if (!is_drawn && !tid_is_text && m->target != TBP_MINDSPORE_CPU) {
        place_device_op(m, e, pid, tid, out);
        return;
    }
    out->track = host_row(m, e, pid);
    if (!is_drawn) {
        describe_op(m, e, out->name);
    } else if (pid < PID_AI_CPU && tid == ROW_STEPS && m->marks_steps &&
               tbp_step_number(m->jt.host, e->name.text, &step)) {
        out->flags = TBP_TRACE_STEP;
        out->link = (uint64_t)step;
        out->name = tbp_trace_text(&m->jt.trace, TBP_STR("step"));
    }
}

static void read_name(struct tbp_mindspore *m, const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    int64_t pid;
    bool is_text;
    if (!name || !tbp_str_is(e->name.text, "thread_name"))
        return;
    tbp_json_trace_id(&m->jt, &e->pid, &pid, &is_text);
    uint32_t track = host_row(m, e, pid);
    struct tbp_given_name given = tbp_json_trace_given(&m->jt, e, name);
    if (tbp_str_is(given.text, "Steps")) /* would be taken for the line that TensorFlow draws */
        given.text = TBP_STR("MindSpore steps");
    tbp_trace_track_given(&m->jt.trace, track, &given);
}

static void read_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct tbp_mindspore *m = jt->ctx;
    struct tbp_trace_event out = {0};
    if (e->ph == 'M') {
        read_name(m, e);
        jt->host->ledger.events_read++;
        jt->host->ledger.events_merged++;
    } else if (e->ph != 'X') {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
    } else if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps) ||
               __builtin_add_overflow(out.start_ns, m->zero_ns, &out.start_ns)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
    } else {
        out.name = tbp_json_trace_intern(jt, &e->name);
        out.dur_ps = tbp_json_trace_duration(jt, e);
        place(m, e, &out);
        tbp_trace_add(&jt->trace, &out);
    }
}

const struct tbp_json_dialect tbp_mindspore_dialect = {.event = read_event};

void tbp_mindspore_timeline(struct tbp_mindspore *m, struct tbp_str json) {
    int64_t zero_ns = m->zero_ns;
    m->zero_ns = m->target == TBP_MINDSPORE_ASCEND ? zero_ns : 0;
    tbp_json_trace_table(&m->jt, json);
    m->zero_ns = zero_ns;
}
