/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of trace_view.json; see ascend_timeline.h. Processes are known by their names, ops by the
 * category "cpu_op"; arrows of the category "async_npu" lead from the start of an op to that of a
 * kernel. Numbers may stand in quotes.
 */
#include "convert/read/ascend_timeline.h"

#include "base/sort.h"
#include "convert/read/step_name.h"

#include <stdio.h>

static int64_t pair_of(int64_t a, int64_t b) {
    uint64_t h = ((uint64_t)a ^ 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (int64_t)((h ^ (h >> 32)) * 0xc4ceb9fe1a85ec53u + (uint64_t)b);
}

struct place {
    int64_t pid, tid;
    bool tid_is_text;
};

static struct place place_of(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct place p;
    bool is_text;
    tbp_json_trace_id(jt, &e->pid, &p.pid, &is_text);
    tbp_json_trace_id(jt, &e->tid, &p.tid, &p.tid_is_text);
    return p;
}

/* ---- names and arrows ---- */

static uint32_t flow_of(struct tbp_ascend_timeline *a, const struct tbp_json_event *e) {
    int64_t id;
    bool is_text, is_new;
    tbp_json_trace_id(&a->jt, &e->id, &id, &is_text);
    uint32_t *flow = tbp_idmap_put(&a->flow_of_id, (uint64_t)id, &is_new);
    if (is_new) {
        *flow = (uint32_t)a->op_of_flow.n;
        *tbp_vec_push(&a->op_of_flow) = 0;
    }
    return *flow;
}

static void name_thread(struct tbp_ascend_timeline *a, const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    struct place p = place_of(&a->jt, e);
    if (!name || !tbp_str_is(e->name.text, "thread_name"))
        return;
    struct tbp_given_name given = tbp_json_trace_given(&a->jt, e, name);
    tbp_process_names_put(&a->threads, &a->jt.host->arena, pair_of(p.pid, p.tid), &given);
}

static void look_at_arrow(struct tbp_ascend_timeline *a, const struct tbp_json_event *e) {
    int64_t ns;
    unsigned ps;
    bool is_new;
    if (!tbp_str_is(e->cat.text, "async_npu") || !tbp_json_trace_time(&e->ts, &ns, &ps))
        return;
    uint32_t flow = flow_of(a, e);
    if (e->ph == 'f') {
        *tbp_idmap_put(&a->flow_of_kernel, (uint64_t)ns, &is_new) = flow;
        return;
    }
    struct place p = place_of(&a->jt, e);
    uint64_t start = (uint64_t)pair_of(pair_of(p.pid, p.tid), ns);
    uint32_t *op = tbp_idmap_put(&a->op_of_start, start, &is_new);
    if (is_new) {
        *op = (uint32_t)a->op_of_start.n;
        *tbp_vec_push(&a->starts) = (struct tbp_ascend_start){ns, p.pid, p.tid, *op};
    }
    a->op_of_flow.at[flow] = *op;
}

static void look(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct tbp_ascend_timeline *a = jt->ctx;
    int64_t step;
    bool is_new;
    if (e->ph == 'M' && !tbp_process_names_read(&a->processes, jt, e))
        name_thread(a, e);
    else if (e->ph == 's' || e->ph == 'f')
        look_at_arrow(a, e);
    else if (e->ph == 'X' && tbp_step_of_profiler(jt->host, e->name.text, &step))
        *tbp_idmap_put(&a->steps, (uint64_t)step, &is_new) = 0;
}

static int by_time(const void *a, const void *b, void *ctx) {
    const struct tbp_ascend_start *x = a, *y = b;
    (void)ctx;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* By time, since arrows stand in any order. */
static void number_ops(struct tbp_ascend_timeline *a) {
    tbp_sort(a->starts.at, a->starts.n, sizeof *a->starts.at, by_time, NULL);
    a->numbers.n = 0;
    tbp_vec_reserve(&a->numbers, a->starts.n + 1);
    a->numbers.n = a->starts.n + 1;
    a->numbers.at[0] = 0;
    for (uint32_t i = 0; i < a->starts.n; i++)
        a->numbers.at[a->starts.at[i].index] = i + 1;
}

uint32_t tbp_ascend_op_of_kernel(const struct tbp_ascend_timeline *a, int64_t start_ns) {
    uint32_t flow = tbp_idmap_get(&a->flow_of_kernel, (uint64_t)start_ns);
    return flow == TBP_MAP_NONE ? 0 : a->numbers.at[a->op_of_flow.at[flow]];
}

/* ---- events ---- */

static void count_aside(struct tbp_json_trace *jt) {
    jt->host->ledger.events_read++;
    jt->host->ledger.events_merged++;
}

static void add_args(struct tbp_ascend_timeline *a, const struct tbp_json_event *e) {
    static const char *const keys[] = {"Input Dims", "Input type", "Call stack"};
    struct tbp_trace *t = &a->jt.trace;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const struct tbp_json_value *v = tbp_json_trace_arg(e, keys[i]);
        if (v && v->text.n)
            tbp_trace_stat_text(t, TBP_TRACE_SHARED, tbp_trace_text(t, tbp_str_c(keys[i])),
                                tbp_json_trace_intern(&a->jt, v));
    }
}

static void describe_op(struct tbp_ascend_timeline *a, const struct tbp_json_event *e,
                        struct place p, struct tbp_trace_event *out) {
    int64_t step;
    if (tbp_step_of_profiler(a->jt.host, e->name.text, &step)) {
        out->flags = TBP_TRACE_STEP;
        out->link = (uint64_t)step;
        return;
    }
    if (!tbp_str_is(e->cat.text, "cpu_op"))
        return;
    add_args(a, e);
    out->flags = TBP_TRACE_OP;
    uint64_t start = (uint64_t)pair_of(pair_of(p.pid, p.tid), out->start_ns);
    uint32_t op = tbp_idmap_get(&a->op_of_start, start);
    if (op == TBP_MAP_NONE)
        return;
    out->flags |= TBP_TRACE_LAUNCH;
    out->link = a->numbers.at[op];
}

/* A row that the analysis drew: a line of the host's plane, since it is no work of a device. */
static uint32_t drawn_row(struct tbp_ascend_timeline *a, struct tbp_str process, struct place p) {
    char name[96];
    struct tbp_str thread;
    struct tbp_trace *t = &a->jt.trace;
    int n;
    if (tbp_process_names_get(&a->threads, pair_of(p.pid, p.tid), &thread))
        n = snprintf(name, sizeof name, "%.*s: %.*s", (int)(process.n < 40 ? process.n : 40),
                     process.p, (int)(thread.n < 40 ? thread.n : 40), thread.p);
    else
        n = snprintf(name, sizeof name, "%.*s: %lld", (int)(process.n < 40 ? process.n : 40),
                     process.p, (long long)p.tid);
    return tbp_trace_line(t, 0, (struct tbp_str){name, (size_t)n});
}

static uint32_t host_row(struct tbp_ascend_timeline *a, struct place p, const char *otherwise) {
    struct tbp_str name;
    struct tbp_trace *t = &a->jt.trace;
    uint32_t track = tbp_trace_thread(t, p.pid, p.tid);
    if (track == TBP_NO_TRACK || t->tracks.at[track].name.n)
        return track;
    if (!tbp_process_names_get(&a->threads, pair_of(p.pid, p.tid), &name))
        name = tbp_str_c(tbp_arena_printf(&t->host->arena, "%s %lld", otherwise, (long long)p.tid));
    tbp_trace_track_name(t, track, name);
    return track;
}

static void add_complete(struct tbp_ascend_timeline *a, const struct tbp_json_event *e,
                         struct tbp_trace_event *out) {
    struct tbp_json_trace *jt = &a->jt;
    struct tbp_str process = TBP_STR_NONE;
    struct place p = place_of(jt, e);
    tbp_process_names_get(&a->processes, p.pid, &process);
    bool is_hardware = tbp_str_is(process, "Ascend Hardware");
    if (is_hardware && a->has_kernels) { /* the table has them */
        count_aside(jt);
        return;
    }
    out->name = tbp_json_trace_intern(jt, &e->name);
    out->dur_ps = tbp_json_trace_duration(jt, e);
    if (is_hardware) {
        out->track = tbp_trace_stream(&jt->trace, 0, p.tid);
        out->flags = TBP_TRACE_DEVICE;
        out->link = tbp_ascend_op_of_kernel(a, out->start_ns);
    } else if (tbp_str_is(process, "CANN")) {
        out->track = host_row(a, p, "CANN");
    } else if (process.n == 0 || tbp_str_is(process, "Python") ||
               tbp_str_is(process, "MindSpore")) {
        out->track = host_row(a, p, "thread");
        describe_op(a, e, p, out);
    } else {
        out->track = drawn_row(a, process, p);
    }
    tbp_trace_add(&jt->trace, out);
}

static void take(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct tbp_ascend_timeline *a = jt->ctx;
    struct tbp_trace_event out = {0};
    if (e->ph == 'M' || e->ph == 's' || e->ph == 't' || e->ph == 'f') {
        count_aside(jt);
    } else if (e->ph != 'X' && e->ph != 'C') {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
    } else if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
    } else if (e->ph == 'X') {
        add_complete(a, e, &out);
    } else {
        out.name = tbp_json_trace_intern(jt, &e->name);
        out.track = tbp_trace_counters(&jt->trace);
        tbp_json_trace_series(jt, e);
        tbp_trace_add(&jt->trace, &out);
    }
}

static const struct tbp_json_dialect looking = {.event = look}, taking = {.event = take};

void tbp_ascend_timeline_begin(struct tbp_ascend_timeline *a, struct tbp_host *host) {
    *a = (struct tbp_ascend_timeline){0};
    tbp_json_trace_begin(&a->jt, host, &looking, a);
}

void tbp_ascend_timeline_end(struct tbp_ascend_timeline *a) {
    tbp_json_trace_end(&a->jt);
    tbp_process_names_release(&a->processes);
    tbp_process_names_release(&a->threads);
    tbp_idmap_release(&a->op_of_start);
    tbp_idmap_release(&a->flow_of_id);
    tbp_idmap_release(&a->flow_of_kernel);
    tbp_idmap_release(&a->steps);
    tbp_vec_release(&a->op_of_flow);
    tbp_vec_release(&a->starts);
    tbp_vec_release(&a->numbers);
}

/* What is wrong with the document is counted when its events are read. */
void tbp_ascend_timeline_links(struct tbp_ascend_timeline *a, struct tbp_str json) {
    struct tbp_ledger kept = a->jt.host->ledger;
    uint64_t n_unsigned_steps = a->jt.host->n_unsigned_steps;
    a->jt.dialect = &looking;
    tbp_json_trace_document(&a->jt, json);
    number_ops(a);
    a->jt.host->ledger = kept;
    a->jt.host->n_unsigned_steps = n_unsigned_steps;
}

void tbp_ascend_timeline_events(struct tbp_ascend_timeline *a, struct tbp_str json) {
    a->jt.dialect = &taking;
    tbp_json_trace_table(&a->jt, json);
}
