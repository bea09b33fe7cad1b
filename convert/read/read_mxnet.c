/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of what MXNet's profiler dumps (profile.json, also one that was never closed). Processes
 * are devices ("cpu/0", "gpu/1") and domains ("operator", "MXNET_C_API", the user's own). An
 * operator is there twice: as begin and end on its device, and as a task of the domain "operator".
 * Only the first is an op; the second is shown, and counted nowhere. Counters of memory become
 * allocations and frees, of others the plane tells the domain; frames are steps. Source: reference
 * trace_kernel_memory_import F.3.
 */
#include "base/sort.h"
#include "convert/read/process_names.h"

#include <limits.h>
#include <stdio.h>

struct gauge { /* a counter of memory said so */
    int64_t start_ns, value;
    int64_t pid, tid;
    uint32_t allocator; /* text */
};

struct frame { /* row that may be a step */
    int64_t start_ns;
    uint32_t row, name;
    int64_t pid, tid;
};

struct domain { /* texts */
    uint32_t counter, text;
};

struct mxnet {
    struct tbp_json_trace *jt;
    struct tbp_idmap domain_of; /* counter -> index */
    TBP_VEC(struct domain) domains;
    struct tbp_process_names processes;
    TBP_VEC(struct gauge) gauges;
    TBP_VEC(struct frame) frames;
    TBP_VEC(uint32_t) tasks; /* rows: operators as tasks */
    uint64_t n_ops;
};

static bool is_operator(const struct tbp_json_event *e) {
    return tbp_str_is(e->cat.text, "operator") || tbp_str_is(e->cat.text, "Custom Operator");
}

/* ---- counters ---- */

static bool read_gauge(struct mxnet *m, const struct tbp_json_event *e, int64_t start_ns) {
    static const char prefix[] = "Memory: ";
    struct gauge g = {.start_ns = start_ns};
    bool is_text;
    struct tbp_str name = tbp_json_trace_text(m->jt, &e->name);
    if (e->n_args == 0 || !tbp_str_starts(name, prefix) ||
        !tbp_json_id(e->args[0].value.text, &g.value) || g.value < 0)
        return false;
    g.allocator = tbp_trace_text(&m->jt->trace, tbp_str_sub(name, sizeof prefix - 1, name.n));
    tbp_json_trace_id(m->jt, &e->pid, &g.pid, &is_text);
    tbp_json_trace_id(m->jt, &e->tid, &g.tid, &is_text);
    *tbp_vec_push(&m->gauges) = g;
    return true;
}

/* Of several domains that a counter's samples tell the first by bytes. */
static void note_domain(struct mxnet *m, const struct tbp_json_event *e, uint32_t counter) {
    const struct tbp_strtab *texts = &m->jt->trace.texts;
    bool is_new;
    if (e->cat.token != TBP_JSON_STRING)
        return;
    uint32_t text = tbp_json_trace_intern(m->jt, &e->cat);
    uint32_t *at = tbp_idmap_put(&m->domain_of, counter, &is_new);
    if (is_new) {
        *at = (uint32_t)m->domains.n;
        *tbp_vec_push(&m->domains) = (struct domain){counter, text};
    }
    struct domain *d = &m->domains.at[*at];
    if (tbp_str_cmp(texts->strs[text], texts->strs[d->text]) < 0)
        d->text = text;
}

static void read_counter(struct mxnet *m, const struct tbp_json_event *e,
                         struct tbp_trace_event *out) {
    struct tbp_trace *t = &m->jt->trace;
    if (read_gauge(m, e, out->start_ns))
        return;
    out->track = tbp_trace_counters(t);
    out->name = tbp_json_trace_intern(m->jt, &e->name);
    note_domain(m, e, out->name);
    tbp_json_trace_series(m->jt, e);
    tbp_trace_add(t, out);
}

static int by_number(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static int by_gauge(const void *a, const void *b, void *ctx) {
    const struct gauge *x = a, *y = b;
    const struct tbp_strtab *texts = ctx;
    int order = by_number(x->start_ns, y->start_ns);
    if (order == 0 && x->allocator != y->allocator)
        return tbp_str_cmp(texts->strs[x->allocator], texts->strs[y->allocator]);
    order = order ? order : by_number(x->value, y->value);
    order = order ? order : by_number(x->tid, y->tid);
    return order ? order : by_number(x->pid, y->pid);
}

static void add_gauge(struct mxnet *m, const struct gauge *g, int64_t *value) {
    struct tbp_trace *t = &m->jt->trace;
    tbp_trace_memory(t,
                     &(struct tbp_trace_memory_event){.track = tbp_trace_thread(t, g->pid, g->tid),
                                                      .allocator = g->allocator,
                                                      .start_ns = g->start_ns,
                                                      .bytes = g->value - *value,
                                                      .allocated = g->value});
    *value = g->value;
}

/* Samples of one moment, smallest first: in which order they were taken is not told. From what was
 * before, up from the smallest or down from the largest, whichever is nearer. */
static void add_moment(struct mxnet *m, const struct gauge *g, size_t n, int64_t *value) {
    bool falls = n > 1 && *value > g[0].value / 2 + g[n - 1].value / 2;
    for (size_t i = 0; i < n; i++)
        add_gauge(m, &g[falls ? n - 1 - i : i], value);
}

/* What rises was allocated, what falls freed; by whom is not told. */
static void add_memory(struct mxnet *m) {
    struct tbp_idmap numbers = {0}; /* of allocators */
    tbp_sort(m->gauges.at, m->gauges.n, sizeof *m->gauges.at, by_gauge, &m->jt->trace.texts);
    TBP_VEC(int64_t) values = {0}; /* of allocators, by their number */
    for (size_t from = 0, to; from < m->gauges.n; from = to) {
        const struct gauge *g = &m->gauges.at[from];
        bool is_new;
        for (to = from; to < m->gauges.n && m->gauges.at[to].start_ns == g->start_ns &&
                        m->gauges.at[to].allocator == g->allocator;)
            to++;
        uint32_t *number = tbp_idmap_put(&numbers, g->allocator, &is_new);
        if (is_new) {
            *number = (uint32_t)values.n;
            *tbp_vec_push(&values) = 0;
        }
        add_moment(m, g, to - from, &values.at[*number]);
    }
    tbp_vec_release(&values);
    tbp_idmap_release(&numbers);
}

/* ---- events ---- */

static unsigned pair_of(char ph) {
    return ph == 'B' || ph == 'b' || ph == '('   ? TBP_TRACE_BEGIN
           : ph == 'E' || ph == 'e' || ph == ')' ? TBP_TRACE_END
                                                 : 0;
}

/* The category as a stat, by which reports tell rows apart; the second record of an operator has
 * one of its own. */
static void add_category(struct mxnet *m, const struct tbp_json_event *e) {
    struct tbp_trace *t = &m->jt->trace;
    bool is_task = e->ph == 'b' && is_operator(e);
    if (e->cat.token == TBP_JSON_STRING && !(pair_of(e->ph) & TBP_TRACE_END))
        tbp_trace_stat_text(t, TBP_TRACE_SHARED, tbp_trace_text(t, TBP_STR("category")),
                            is_task ? tbp_trace_text(t, TBP_STR("operator task"))
                                    : tbp_json_trace_intern(m->jt, &e->cat));
}

static void read_work(struct mxnet *m, const struct tbp_json_event *e,
                      struct tbp_trace_event *out) {
    struct tbp_trace *t = &m->jt->trace;
    int64_t pid, tid;
    bool is_text;
    uint32_t row = (uint32_t)t->rows.n;
    tbp_json_trace_id(m->jt, &e->pid, &pid, &is_text);
    tbp_json_trace_id(m->jt, &e->tid, &tid, &is_text);
    out->track = tbp_trace_thread(t, pid, tid);
    out->name = tbp_json_trace_intern(m->jt, &e->name);
    out->flags = pair_of(e->ph);
    if (e->ph == 'X')
        out->dur_ps = tbp_json_trace_duration(m->jt, e);
    if ((e->ph == 'B' || e->ph == 'X') && is_operator(e)) {
        out->flags |= TBP_TRACE_OP;
        m->n_ops++;
    }
    add_category(m, e);
    tbp_trace_add(t, out);
    if (t->rows.n > row && e->ph == '(')
        *tbp_vec_push(&m->frames) = (struct frame){out->start_ns, row, out->name, pid, tid};
    if (t->rows.n > row && e->ph == 'b' && is_operator(e))
        *tbp_vec_push(&m->tasks) = row;
}

static void read_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct mxnet *m = jt->ctx;
    struct tbp_ledger *l = &jt->host->ledger;
    struct tbp_trace_event out = {0};
    m->jt = jt;
    if (e->ph == 'M') {
        tbp_process_names_read(&m->processes, jt, e);
        l->events_read++;
        l->events_merged++;
    } else if (!strchr("BEbe()niIRXC", e->ph) || !e->ph) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
    } else if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
    } else if (e->ph == 'C') {
        read_counter(m, e, &out);
    } else {
        read_work(m, e, &out);
    }
}

/* ---- what processes are ---- */

/* Threads that ran operators of a device are its streams; they have 64-bit numbers, of which as
 * much is shown as tells them apart. */
static void place_stream(struct tbp_trace *t, struct tbp_trace_track *track, unsigned device) {
    char plane[32];
    snprintf(plane, sizeof plane, "/device:GPU:%u", device);
    track->plane = tbp_trace_plane(t, tbp_str_c(plane));
    track->kind = TBP_TRACK_DEVICE;
    track->id &= UINT16_MAX;
    tbp_trace_plane_text(t, track->plane, "device_vendor", TBP_STR("Nvidia"));
}

/* Processes named gpu/N are devices, others are named with their thread. */
static void place_threads(struct mxnet *m) {
    struct tbp_trace *t = &m->jt->trace;
    for (size_t i = 0; i < t->tracks.n; i++) {
        struct tbp_trace_track *track = &t->tracks.at[i];
        struct tbp_str name;
        uint64_t device;
        if (track->kind != TBP_TRACK_THREAD ||
            !tbp_process_names_get(&m->processes, track->sort, &name))
            continue;
        if (tbp_str_starts(name, "gpu/") &&
            tbp_str_to_u64(tbp_str_sub(name, sizeof "gpu/" - 1, name.n), &device) &&
            device <= UINT16_MAX)
            place_stream(t, track, (unsigned)device);
        else
            track->name = tbp_str_c(tbp_arena_printf(&m->jt->host->arena, "%.*s %llu",
                                                     (int)(name.n < 200 ? name.n : 200), name.p,
                                                     (unsigned long long)track->id));
    }
}

/* Operators on devices: tables know the op of a device event by the stat tf_op. */
static void name_device_ops(struct mxnet *m) {
    struct tbp_trace *t = &m->jt->trace;
    for (size_t i = 0; i < t->rows.n; i++) {
        struct tbp_trace_row *row = &t->rows.at[i];
        if (!(row->flags & TBP_TRACE_OP) || t->tracks.at[row->track].kind != TBP_TRACK_DEVICE)
            continue;
        tbp_trace_stat_op(t, row->name, 0);
        row->set = tbp_trace_take_shared(t) & 0xffffffu;
        row->flags = (uint8_t)((row->flags & ~TBP_TRACE_OP) | TBP_TRACE_DEVICE);
    }
}

static int by_counter(const void *a, const void *b, void *ctx) {
    const struct tbp_str *s = ((const struct tbp_strtab *)ctx)->strs;
    return tbp_str_cmp(s[((const struct domain *)a)->counter],
                       s[((const struct domain *)b)->counter]);
}

/* Stats of a sample are series of the counter, so the plane has the domain as a stat. */
static void tell_domains(struct mxnet *m) {
    enum { MOST = 1000 };
    struct tbp_trace *t = &m->jt->trace;
    uint32_t track = m->domains.n ? tbp_trace_counters(t) : TBP_NO_TRACK;
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    tbp_sort(m->domains.at, m->domains.n, sizeof *m->domains.at, by_counter, &t->texts);
    for (size_t i = 0; i < m->domains.n && i < MOST && track != TBP_NO_TRACK; i++) {
        struct tbp_str name = t->texts.strs[m->domains.at[i].counter];
        const char *key =
            tbp_arena_printf(&scratch, "domain of %.*s", (int)(name.n & INT_MAX), name.p);
        tbp_trace_plane_text(t, t->tracks.at[track].plane, key,
                             t->texts.strs[m->domains.at[i].text]);
    }
    tbp_arena_release(&scratch);
}

/* ---- steps ---- */

static int by_frame(const void *a, const void *b, void *ctx) {
    const struct frame *x = a, *y = b;
    const struct tbp_strtab *texts = ctx;
    int order = x->name == y->name ? 0 : tbp_str_cmp(texts->strs[x->name], texts->strs[y->name]);
    order = order ? order : by_number(x->start_ns, y->start_ns);
    order = order ? order : by_number(x->tid, y->tid);
    return order ? order : by_number(x->pid, y->pid);
}

/* Frames of the name that there are most of, in order of time: what repeats within others is the
 * step. */
static void mark_steps(struct mxnet *m) {
    struct tbp_trace *t = &m->jt->trace;
    size_t best = 0, best_n = 0;
    tbp_sort(m->frames.at, m->frames.n, sizeof *m->frames.at, by_frame, &t->texts);
    for (size_t from = 0, to; from < m->frames.n; from = to) {
        for (to = from; to < m->frames.n && m->frames.at[to].name == m->frames.at[from].name;)
            to++;
        if (to - from > best_n) {
            best = from;
            best_n = to - from;
        }
    }
    for (size_t i = 0; i < best_n; i++) {
        struct tbp_trace_row *row = &t->rows.at[m->frames.at[best + i].row];
        row->flags |= TBP_TRACE_STEP;
        row->link = i;
    }
}

static void finish(struct tbp_json_trace *jt) {
    struct mxnet *m = jt->ctx;
    m->jt = jt;
    for (size_t i = 0; i < m->tasks.n && m->n_ops == 0; i++) /* no begin and end: they are it */
        jt->trace.rows.at[m->tasks.at[i]].flags |= TBP_TRACE_OP;
    mark_steps(m);
    add_memory(m);
    tell_domains(m);
    place_threads(m);
    name_device_ops(m);
    tbp_trace_find_wall_clock(&jt->trace);
}

static const struct tbp_json_dialect dialect = {.event = read_event, .finish = finish};

static int read_mxnet(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct mxnet m = {0};
    int status = tbp_json_trace_read(host, &dialect, &m, pool, err);
    tbp_process_names_release(&m.processes);
    tbp_idmap_release(&m.domain_of);
    tbp_vec_release(&m.domains);
    tbp_vec_release(&m.gauges);
    tbp_vec_release(&m.frames);
    tbp_vec_release(&m.tasks);
    return status;
}

enum { LIKELY = 70 };

static const char *const marks[] = {"\"MXNET_C_API\"", "\"cpu pinned/\"",    "\"cpu/0\"",
                                    "\"gpu/0\"",       "\"Device Storage\"", NULL};

static int probe(const uint8_t *data, size_t size) {
    return tbp_json_trace_looks_so(data, size) && tbp_json_trace_has_any(data, size, marks) ? LIKELY
                                                                                            : 0;
}

const struct tbp_reader tbp_reader_mxnet = {
    .name = "mxnet",
    .help = "dumps of MXNet's profiler (profile.json)",
    .probe = probe,
    .telling_texts = marks,
    .telling_score = LIKELY,
    .read = read_mxnet,
};
