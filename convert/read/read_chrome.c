/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of trace events in general (about:tracing, Perfetto's JSON, bazel, clang, TensorFlow's and
 * JAX's trace.json, timelines of TensorFlow 1): every phase is taken, paired or counted. Processes
 * named like planes ("/device:GPU:0", "/host:CPU") become these planes. Source: reference
 * trace_kernel_memory_import F.2, F.7.
 */
#include "convert/read/json_trace.h"
#include "convert/read/read_kineto.h"

#include <stdio.h>

struct process {
    int64_t id;
    struct tbp_str name;
};

struct chrome {
    struct tbp_json_trace *jt;
    TBP_VEC(struct process) processes;
    struct tbp_idmap by_id; /* process id -> index */
    TBP_VEC(char) text;
};

/* ---- processes and threads ---- */

static struct process *process_of(struct chrome *c, int64_t id) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&c->by_id, (uint64_t)id, &is_new);
    if (is_new) {
        *at = (uint32_t)c->processes.n;
        *tbp_vec_push(&c->processes) = (struct process){id, TBP_STR_NONE};
    }
    return &c->processes.at[*at];
}

static uint32_t thread_of(struct chrome *c, const struct tbp_json_event *e) {
    int64_t pid, tid;
    bool pid_is_text, tid_is_text;
    struct tbp_trace *t = &c->jt->trace;
    tbp_json_trace_id(c->jt, &e->pid, &pid, &pid_is_text);
    tbp_json_trace_id(c->jt, &e->tid, &tid, &tid_is_text);
    uint32_t track = tbp_trace_thread(t, pid, tid);
    if (tid_is_text && track != TBP_NO_TRACK && t->tracks.at[track].name.n == 0)
        tbp_trace_track_name(t, track, tbp_json_trace_text(c->jt, &e->tid));
    return track;
}

static void read_metadata(struct chrome *c, const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    int64_t pid;
    bool is_text;
    if (!name)
        return;
    struct tbp_str s = tbp_json_trace_text(c->jt, name);
    if (tbp_str_is(e->name.text, "thread_name")) {
        tbp_trace_track_name(&c->jt->trace, thread_of(c, e), s);
    } else if (tbp_str_is(e->name.text, "process_name")) {
        s = tbp_arena_str(&c->jt->host->arena, s);
        tbp_json_trace_id(c->jt, &e->pid, &pid, &is_text);
        process_of(c, pid)->name = s;
    }
}

/* ---- asynchronous events ---- */

static void put(struct chrome *c, struct tbp_str s) {
    tbp_vec_reserve(&c->text, c->text.n + s.n + 1);
    if (s.n)
        memcpy(c->text.at + c->text.n, s.p, s.n);
    c->text.n += s.n;
    c->text.at[c->text.n++] = '\t';
}

/* All events of one id are paired on a track of their own, and then shown on one line per process
 * and category. Ids are the process's own if the file says so. */
static uint32_t async_track(struct chrome *c, const struct tbp_json_event *e) {
    struct tbp_trace *t = &c->jt->trace;
    struct tbp_str cat = e->cat.token == TBP_JSON_STRING ? e->cat.text : TBP_STR_NONE;
    bool is_local = e->id_local.token != TBP_JSON_END;
    bool is_global = e->id_global.token != TBP_JSON_END;
    const struct tbp_json_value *id = is_local ? &e->id_local : is_global ? &e->id_global : &e->id;
    c->text.n = 0;
    put(c, TBP_STR("async"));
    put(c, cat);
    put(c, is_local ? e->pid.text : TBP_STR_NONE);
    struct tbp_str shown =
        tbp_arena_str(&c->jt->host->arena, (struct tbp_str){c->text.at, c->text.n - 1});
    put(c, id->text);
    put(c, e->scope.text);
    uint32_t track = tbp_trace_line(t, 0, (struct tbp_str){c->text.at, c->text.n});
    uint32_t target = tbp_trace_line(t, 0, shown);
    if (track != TBP_NO_TRACK && target != TBP_NO_TRACK)
        t->tracks.at[track].target = target;
    return track;
}

/* ---- events ---- */

static const char *const whole_keys[] = {"group_id", "step_num", "correlation_id", "is_eager",
                                         NULL};

static bool is_whole(struct tbp_str key) {
    for (size_t i = 0; whole_keys[i]; i++)
        if (tbp_str_is(key, whole_keys[i]))
            return true;
    return false;
}

static void add_args(struct chrome *c, const struct tbp_json_event *e) {
    struct tbp_trace *t = &c->jt->trace;
    for (size_t i = 0; i < e->n_args; i++) {
        const struct tbp_json_arg *a = &e->args[i];
        struct tbp_json_value key = {TBP_JSON_STRING, a->key, a->key_is_plain};
        int64_t whole;
        double v;
        if (a->value.token == TBP_JSON_NULL || a->key.n == 0)
            continue;
        uint32_t k = tbp_json_trace_intern(c->jt, &key);
        if ((a->value.token == TBP_JSON_NUMBER || is_whole(a->key)) &&
            tbp_str_to_i64(a->value.text, &whole))
            tbp_trace_stat_i64(t, TBP_TRACE_OWN, k, whole);
        else if (a->value.token == TBP_JSON_NUMBER && tbp_str_to_double(a->value.text, &v))
            tbp_trace_stat_double(t, TBP_TRACE_OWN, k, v);
        else
            tbp_trace_stat_text(t, TBP_TRACE_OWN, k, tbp_json_trace_intern(c->jt, &a->value));
    }
}

static uint32_t counter_track(struct chrome *c) {
    struct tbp_trace *t = &c->jt->trace;
    return tbp_trace_line(t, tbp_trace_plane(t, TBP_STR("/device:CUSTOM:Counters")),
                          TBP_STR("_counters_"));
}

static void add_series(struct chrome *c, const struct tbp_json_event *e) {
    for (size_t i = 0; i < e->n_args; i++) {
        struct tbp_json_value key = {TBP_JSON_STRING, e->args[i].key, e->args[i].key_is_plain};
        double v;
        if (tbp_str_to_double(e->args[i].value.text, &v))
            tbp_trace_stat_double(&c->jt->trace, TBP_TRACE_OWN,
                                  key.text.n ? tbp_json_trace_intern(c->jt, &key)
                                             : tbp_trace_text(&c->jt->trace, TBP_STR("value")),
                                  v);
    }
}

enum phase {
    PHASE_UNKNOWN,
    PHASE_EVENT,
    PHASE_BEGIN,
    PHASE_END,
    PHASE_ASYNC_BEGIN,
    PHASE_ASYNC_END,
    PHASE_ASYNC_MARK,
    PHASE_COUNTER,
    PHASE_NAMES,
    PHASE_FLOW
};

static enum phase phase_of(char ph) {
    static const struct {
        const char *letters;
        enum phase phase;
    } phases[] = {{"XiIPRc", PHASE_EVENT},   {"B", PHASE_BEGIN},      {"E", PHASE_END},
                  {"bS", PHASE_ASYNC_BEGIN}, {"eF", PHASE_ASYNC_END}, {"nTp", PHASE_ASYNC_MARK},
                  {"C", PHASE_COUNTER},      {"M", PHASE_NAMES},      {"stf", PHASE_FLOW}};
    for (size_t i = 0; ph && i < sizeof phases / sizeof *phases; i++)
        if (strchr(phases[i].letters, ph))
            return phases[i].phase;
    return PHASE_UNKNOWN;
}

static void add_event(struct chrome *c, const struct tbp_json_event *e, enum phase phase) {
    struct tbp_json_trace *jt = c->jt;
    struct tbp_trace_event out = {0};
    if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps)) {
        jt->host->ledger.events_read++;
        jt->host->ledger.events_quarantined++;
        tbp_ledger_count(&jt->host->ledger, TBP_LEDGER_NO_TIME, 1, e->offset);
        return;
    }
    bool is_async =
        phase == PHASE_ASYNC_BEGIN || phase == PHASE_ASYNC_END || phase == PHASE_ASYNC_MARK;
    out.track = is_async                 ? async_track(c, e)
                : phase == PHASE_COUNTER ? counter_track(c)
                                         : thread_of(c, e);
    out.name = tbp_json_trace_intern(jt, &e->name);
    if (e->ph == 'X')
        out.dur_ps = tbp_json_trace_duration(jt, e);
    if (phase == PHASE_BEGIN || phase == PHASE_ASYNC_BEGIN)
        out.flags = TBP_TRACE_BEGIN;
    if (phase == PHASE_END || phase == PHASE_ASYNC_END)
        out.flags = TBP_TRACE_END;
    if (phase == PHASE_COUNTER)
        add_series(c, e);
    else if (!(out.flags & TBP_TRACE_END))
        add_args(c, e);
    tbp_trace_add(&jt->trace, &out);
}

static void read_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct chrome *c = jt->ctx;
    struct tbp_ledger *l = &jt->host->ledger;
    enum phase phase = phase_of(e->ph);
    c->jt = jt;
    if (phase == PHASE_NAMES)
        read_metadata(c, e);
    if (phase == PHASE_NAMES || phase == PHASE_FLOW) {
        l->events_read++;
        l->events_merged++;
    } else if (phase == PHASE_UNKNOWN) {
        l->events_read++;
        l->events_dropped++;
        tbp_ledger_count(l, TBP_LEDGER_NOT_SHOWN, 1, e->offset);
    } else {
        add_event(c, e, phase);
    }
}

/* Processes that are planes take their threads with them; others name them. */
static void place_threads(struct chrome *c) {
    struct tbp_trace *t = &c->jt->trace;
    for (size_t i = 0; i < t->tracks.n; i++) {
        if (t->tracks.at[i].kind != TBP_TRACK_THREAD)
            continue;
        uint32_t index = tbp_idmap_get(&c->by_id, (uint64_t)t->tracks.at[i].sort);
        if (index == TBP_MAP_NONE)
            continue;
        struct tbp_str name = c->processes.at[index].name;
        if (!tbp_str_starts(name, "/device:") && !tbp_str_starts(name, "/host:"))
            continue;
        uint32_t plane = tbp_trace_plane(t, name);
        struct tbp_trace_track *track = &t->tracks.at[i];
        track->plane = plane;
        if (tbp_is_device_plane(name))
            track->kind = TBP_TRACK_DEVICE;
    }
}

static void finish(struct tbp_json_trace *jt) {
    struct chrome *c = jt->ctx;
    c->jt = jt;
    place_threads(c);
}

static const struct tbp_json_dialect dialect = {NULL, read_event, NULL, finish};

static int read_chrome(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    (void)pool;
    if (tbp_kineto_is_dialect_of(host->input.data, host->input.size))
        return tbp_kineto_read(host, err); /* its marks stand far behind the beginning */
    struct chrome c = {0};
    int status = tbp_json_trace_read(host, &dialect, &c, err);
    tbp_vec_release(&c.processes);
    tbp_idmap_release(&c.by_id);
    tbp_vec_release(&c.text);
    return status;
}

static int probe(const uint8_t *data, size_t size) {
    enum { POSSIBLE = 30 };
    return tbp_json_trace_looks_so(data, size) ? POSSIBLE : 0;
}

const struct tbp_reader tbp_reader_chrome = {
    .name = "chrome",
    .help = "trace events in JSON: about:tracing, TensorFlow, JAX, Perfetto, and others",
    .probe = probe,
    .read = read_chrome,
};
