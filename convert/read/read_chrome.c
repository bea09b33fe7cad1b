/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of trace events in general (about:tracing, Perfetto's JSON, bazel, clang, TensorFlow's and
 * JAX's trace.json, timelines of TensorFlow 1): every phase is taken, paired or counted. Processes
 * named like planes ("/device:GPU:0", "/host:CPU") become these planes. Source: reference
 * trace_kernel_memory_import F.2, F.7.
 */
#include "convert/read/process_names.h"
#include "convert/read/read_kineto.h"
#include "convert/read/tf_timeline.h"

struct chrome {
    struct tbp_json_trace *jt;
    struct tbp_process_names processes;
    TBP_VEC(char) text, shown;
};

/* ---- processes and threads ---- */

static void read_metadata(struct chrome *c, const struct tbp_json_event *e) {
    const struct tbp_json_value *name = tbp_json_trace_arg(e, "name");
    if (!name || !tbp_str_is(e->name.text, "thread_name")) {
        tbp_process_names_read(&c->processes, c->jt, e);
        return;
    }
    uint32_t track = tbp_json_trace_thread(c->jt, e);
    struct tbp_given_name given = tbp_json_trace_given(c->jt, e, name);
    tbp_trace_track_given(&c->jt->trace, track, &given);
}

/* ---- asynchronous events ---- */

static void put(struct chrome *c, struct tbp_str s) {
    tbp_vec_reserve(&c->text, c->text.n + s.n + 1);
    if (s.n)
        memcpy(c->text.at + c->text.n, s.p, s.n);
    c->text.n += s.n;
    c->text.at[c->text.n++] = '\t';
}

/* "async send 1": what is in c->text, for people. */
static struct tbp_str shown_name(struct chrome *c) {
    size_t n = c->text.n;
    while (n && c->text.at[n - 1] == '\t')
        n--;
    tbp_vec_reserve(&c->shown, n + 1);
    for (size_t i = 0; i < n; i++)
        c->shown.at[i] = c->text.at[i] == '\t' ? ' ' : c->text.at[i];
    return (struct tbp_str){c->shown.at, n};
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
    struct tbp_str shown = shown_name(c);
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
        struct tbp_json_value key = tbp_json_arg_key(a);
        int64_t whole;
        uint64_t wide;
        double v;
        if (a->value.token == TBP_JSON_NULL || a->key.n == 0)
            continue;
        uint32_t k = tbp_json_trace_intern(c->jt, &key);
        bool may_be_whole = a->value.token == TBP_JSON_NUMBER || is_whole(a->key);
        if (may_be_whole && tbp_str_to_i64(a->value.text, &whole))
            tbp_trace_stat_i64(t, TBP_TRACE_OWN, k, whole);
        else if (may_be_whole && tbp_str_to_u64(a->value.text, &wide))
            tbp_trace_stat_u64(t, TBP_TRACE_OWN, k, wide);
        else if (a->value.token == TBP_JSON_NUMBER && tbp_str_to_double(a->value.text, &v))
            tbp_trace_stat_double(t, TBP_TRACE_OWN, k, v);
        else
            tbp_trace_stat_text(t, TBP_TRACE_OWN, k, tbp_json_trace_intern(c->jt, &a->value));
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

/* Events of timelines are called by their op; tables know "node:Op". */
static uint32_t name_of(struct chrome *c, const struct tbp_json_event *e) {
    const struct tbp_json_value *node = tbp_json_trace_arg(e, "name");
    const struct tbp_json_value *op = tbp_json_trace_arg(e, "op");
    if (!tbp_str_is(e->cat.text, "Op") || !node || !op || node->token != TBP_JSON_STRING)
        return tbp_json_trace_intern(c->jt, &e->name);
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct tbp_str prefix = tbp_arena_str(&scratch, tbp_json_trace_text(c->jt, node));
    prefix = tbp_arena_cat(&scratch, prefix, TBP_STR(":"));
    prefix = tbp_arena_cat(&scratch, prefix, tbp_json_trace_text(c->jt, op));
    uint32_t text = tbp_trace_text(&c->jt->trace, prefix);
    tbp_arena_release(&scratch);
    return text;
}

static void add_event(struct chrome *c, const struct tbp_json_event *e, enum phase phase) {
    struct tbp_json_trace *jt = c->jt;
    struct tbp_trace_event out = {0};
    if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
        return;
    }
    bool is_async =
        phase == PHASE_ASYNC_BEGIN || phase == PHASE_ASYNC_END || phase == PHASE_ASYNC_MARK;
    out.track = is_async                 ? async_track(c, e)
                : phase == PHASE_COUNTER ? tbp_trace_counters(&jt->trace)
                                         : tbp_json_trace_thread(c->jt, e);
    out.name = name_of(c, e);
    if (e->ph == 'X')
        out.dur_ps = tbp_json_trace_duration(jt, e);
    if (phase == PHASE_BEGIN || phase == PHASE_ASYNC_BEGIN)
        out.flags = TBP_TRACE_BEGIN;
    if (phase == PHASE_END || phase == PHASE_ASYNC_END)
        out.flags = TBP_TRACE_END;
    if (phase == PHASE_COUNTER)
        tbp_json_trace_series(jt, e);
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
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
    } else {
        add_event(c, e, phase);
    }
}

/* Stacks that were sampled beside the events stand in a list of their own. */
static bool read_header(struct tbp_json_trace *jt, struct tbp_str key) {
    struct tbp_json_pull *j = &jt->json;
    uint64_t n = 0, offset = j->offset;
    if (!tbp_str_is(key, "samples"))
        return false;
    enum tbp_json_token token;
    if (!tbp_json_pull_opens(j, TBP_JSON_ARRAY))
        return true;
    while ((token = tbp_json_pull_next(j)) != TBP_JSON_ARRAY_END && token != TBP_JSON_END) {
        tbp_json_pull_skip(j, token);
        n++;
    }
    tbp_ledger_count(&jt->host->ledger, TBP_LEDGER_NOT_SHOWN, n, offset);
    return true;
}

/* "/device:GPU:0" or "/host:CPU", whole. */
static bool is_plane_name(struct tbp_str s) {
    size_t colon = tbp_str_rfind(s, ':');
    uint64_t ordinal;
    if (tbp_str_starts(s, "/host:"))
        return tbp_str_find(s, ' ') == s.n;
    return tbp_str_starts(s, "/device:") && colon < s.n &&
           tbp_str_to_u64(tbp_str_sub(s, colon + 1, s.n), &ordinal);
}

/* Processes that are planes take their threads with them. */
static void place_threads(struct chrome *c) {
    struct tbp_trace *t = &c->jt->trace;
    struct tbp_tf_timeline timeline = {0};
    for (size_t i = 0; i < t->tracks.n; i++) {
        struct tbp_str name;
        if (t->tracks.at[i].kind != TBP_TRACK_THREAD ||
            !tbp_process_names_get(&c->processes, t->tracks.at[i].sort, &name))
            continue;
        if (tbp_tf_timeline_place(&timeline, t, (uint32_t)i, name))
            continue;
        if (is_plane_name(name)) {
            uint32_t plane = tbp_trace_plane(t, name);
            t->tracks.at[i].plane = plane;
            if (tbp_is_device_plane(name))
                t->tracks.at[i].kind = TBP_TRACK_DEVICE;
        } else if (t->tracks.at[i].name.n == 0) {
            t->tracks.at[i].name = tbp_str_c(tbp_arena_printf(
                &c->jt->host->arena, "%.*s %lld", (int)(name.n < 200 ? name.n : 200), name.p,
                (long long)t->tracks.at[i].id));
        }
    }
    tbp_tf_timeline_finish(&timeline, t);
    tbp_tf_timeline_release(&timeline);
}

static void finish(struct tbp_json_trace *jt) {
    struct chrome *c = jt->ctx;
    c->jt = jt;
    place_threads(c);
}

static const struct tbp_json_dialect dialect = {
    .event = read_event, .header = read_header, .finish = finish, .keeps_args = true};

static int read_chrome(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    if (tbp_kineto_is_dialect_of(host->input.data, host->input.size))
        return tbp_kineto_read(host, pool, err); /* its marks stand far behind the beginning */
    struct chrome c = {0};
    int status = tbp_json_trace_read(host, &dialect, &c, pool, err);
    tbp_process_names_release(&c.processes);
    tbp_vec_release(&c.text);
    tbp_vec_release(&c.shown);
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
