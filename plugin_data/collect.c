/* SPDX-License-Identifier: Apache-2.0
 *
 * See collect.h: the plane and its lines. The profile is written by a source that is asked twice
 * (xspace_out.h); what it says depends on the recording alone.
 */
#include "plugin_data/collect.h"

#include "base/map.h"
#include "base/sort.h"
#include "plugin_data/collect_state.h"
#include "schemas/names.h"

/* Numbers of lines that are no threads, beyond those that Linux gives to threads. */
enum {
    LINE_AGAIN = 0x40000000, /* a thread number that was used twice */
    LINE_ACTIVITIES = 0x7f000000,
    LINE_COUNTERS = 0x7f0000ff,
    LINE_GPU = 0x7f000100,
    MAX_LEVEL = 255,
};
#define LINE_COUNTERS_NAME "_counters_"

static const uint32_t line_kinds =
    ~(TBP_REC_BIT(TBP_REC_COUNTER) | TBP_REC_BIT(TBP_REC_ASYNC_BEGIN) |
      TBP_REC_BIT(TBP_REC_ASYNC_END) | TBP_REC_BIT(TBP_REC_MEMORY_BASE) |
      TBP_REC_BIT(TBP_REC_THREAD_NAME) | TBP_REC_BIT(TBP_REC_METADATA) |
      TBP_REC_BIT(TBP_REC_WARNING) | TBP_REC_BIT(TBP_REC_ANNOTATION) |
      TBP_REC_BIT(TBP_REC_ANNOTATION_END) | TBP_REC_BIT(TBP_REC_GPU) |
      TBP_REC_BIT(TBP_REC_GPU_DEVICE) | TBP_REC_BIT(TBP_REC_GPU_LOSS));
static const uint32_t scope_kinds = TBP_REC_BIT(TBP_REC_BEGIN) | TBP_REC_BIT(TBP_REC_END) |
                                    TBP_REC_BIT(TBP_REC_ANNOTATION) | TBP_REC_BIT(TBP_REC_ARGS) |
                                    TBP_REC_BIT(TBP_REC_ANNOTATION_END);

/* ---- before the profile ---- */

static void read_scopes(struct tbp_collect *c) {
    for (size_t i = 0; i < c->recording.n_threads; i++) {
        const struct tbp_rec_thread *t = &c->recording.threads[i];
        struct tbp_collect_thread *own = &c->threads[i];
        if (!(t->kinds & scope_kinds) && own->n_carried == 0)
            continue;
        tbp_rec_scopes_thread(&c->walk, t, own->carried, own->n_carried);
        if (c->next)
            tbp_collect_carry_thread(c, i);
        own->crossing = c->walk.crossing;
        c->walk.crossing = (struct tbp_rec_scopes){0};
    }
    c->n_without_begin = c->walk.n_without_begin;
    c->n_untracked = c->walk.n_untracked;
    c->n_notes_lost = c->walk.n_notes_lost;
}

/* Names of threads, sentences and metadata, in order of time. */
static void read_texts(struct tbp_collect *c) {
    struct tbp_rec_merge merge;
    struct tbp_rec r;
    uint32_t thread;
    tbp_rec_merge_init(&merge, &c->recording,
                       TBP_REC_BIT(TBP_REC_THREAD_NAME) | TBP_REC_BIT(TBP_REC_METADATA) |
                           TBP_REC_BIT(TBP_REC_WARNING),
                       &c->arena);
    while (tbp_rec_merge_next(&merge, &r, &thread)) {
        if (r.kind == TBP_REC_THREAD_NAME)
            c->recording.threads[thread].name = tbp_rec_name(&c->recording, &r);
        else
            *tbp_vec_push(&c->texts) = r.slot;
    }
}

/* Since when a ring has kept every record: a thread that it has not asked for chunks may reach far
 * further back, but what others did meanwhile is forgotten. */
static int64_t kept_since_ps(const struct tbp_recording *s, int64_t first_ps) {
    struct tbp_rec r;
    uint32_t hint = 0;
    for (size_t i = 0; i < s->n_threads; i++) {
        const struct tbp_rec_thread *t = &s->threads[i];
        if (t->n_runs == 0 || !t->runs[0].after_gap)
            continue;
        struct tbp_rec_walk w = tbp_rec_walk_of(s, &t->runs[0]);
        if (!tbp_rec_next(&w, &r))
            continue;
        int64_t ps = tbp_rec_clock_ps(&s->clock, r.ticks, &hint);
        first_ps = ps > first_ps ? ps : first_ps;
    }
    return first_ps;
}

static void find_bounds(struct tbp_collect *c) {
    const struct tbp_recording *s = &c->recording;
    const struct tbp_rec_clock *clock = &s->clock;
    uint32_t hint = 0;
    bool is_empty = s->first_ticks > s->last_ticks;
    int64_t first = is_empty ? 0 : tbp_rec_clock_ps(clock, s->first_ticks, &hint);
    int64_t last = is_empty ? 0 : tbp_rec_clock_ps(clock, s->last_ticks, &hint);
    int64_t until = c->request.until_realtime_ns;
    int64_t anchor = clock->pieces[clock->n - 1].ps; /* the process lived then */
    c->emit.base_ps = 0;
    if (c->next)
        c->emit.base_ps = tbp_collect_carry_border_ps(c->next);
    else if (s->head.n_dropped[TBP_DROP_RING] > 0)
        c->emit.base_ps = first; /* a ring holds the last seconds of what may be days */
    c->emit.end_ps = last > anchor ? last : anchor;
    if (until != INT64_MAX)
        c->emit.end_ps = tbp_rec_clock_realtime_ps(clock, until);
    if (c->emit.end_ps < c->emit.base_ps)
        c->emit.end_ps = c->emit.base_ps;
    c->kept_since_ps = kept_since_ps(s, c->emit.base_ps);
}

/* ---- lines ---- */

static struct tbp_str thread_name(struct tbp_collect *c, const struct tbp_rec_thread *t) {
    struct tbp_str name = t->name;
    if (name.n == 0)
        name = tbp_str_c(tbp_arena_printf(&c->arena, "thread %d", t->tid));
    if (t->pid != c->recording.head.pid)
        name = tbp_str_c(tbp_arena_printf(&c->arena, "worker %d/%.*s", t->pid,
                                          (int)(name.n < 512 ? name.n : 512), name.p));
    return name;
}

static void add_line(struct tbp_collect *c, enum tbp_collect_line_kind kind, uint32_t index,
                     int64_t id, struct tbp_str name) {
    *tbp_vec_push(&c->lines) = (struct tbp_collect_line){kind, index, id, name};
}

static void add_thread_lines(struct tbp_collect *c) {
    struct tbp_idmap tids = {0};
    for (size_t i = 0; i < c->recording.n_threads; i++) {
        const struct tbp_rec_thread *t = &c->recording.threads[i];
        bool is_new;
        size_t n_calls;
        tbp_rec_gpu_host(&c->gpu, i, &n_calls);
        if (!(t->kinds & line_kinds) && c->threads[i].n_carried == 0 && n_calls == 0)
            continue;
        tbp_idmap_put(&tids, (uint32_t)t->tid, &is_new);
        add_line(c, TBP_LINE_THREAD, (uint32_t)i, is_new ? t->tid : LINE_AGAIN + (int64_t)i,
                 thread_name(c, t));
    }
    tbp_idmap_release(&tids);
}

static int by_name(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_collect_line *x = a, *y = b;
    return tbp_str_cmp(x->name, y->name);
}

static void add_gpu_lines(struct tbp_collect *c) {
    static const struct tbp_str names[TBP_REC_GPU_HOST_LINES] = {
        [TBP_REC_GPU_SYNC_LINE] = TBP_STR_INIT("GPU synchronization"),
        [TBP_REC_GPU_OVERHEAD_LINE] = TBP_STR_INIT("CUPTI overhead"),
    };
    for (uint32_t i = 0; i < TBP_REC_GPU_HOST_LINES; i++)
        if (c->gpu.lines.at[i].n > 0)
            add_line(c, TBP_LINE_GPU, i, LINE_GPU + i, names[i]);
}

static void make_lines(struct tbp_collect *c) {
    add_thread_lines(c);
    for (uint32_t i = 0; i < c->activities.n_lanes; i++)
        add_line(c, TBP_LINE_ACTIVITIES, i, LINE_ACTIVITIES + i,
                 tbp_str_c(tbp_arena_printf(&c->arena, "Activities %u", i + 1)));
    if (c->all_kinds & TBP_REC_BIT(TBP_REC_COUNTER))
        add_line(c, TBP_LINE_COUNTERS, 0, LINE_COUNTERS, TBP_STR(LINE_COUNTERS_NAME));
    add_gpu_lines(c);
    tbp_sort(c->lines.at, c->lines.n, sizeof *c->lines.at, by_name, NULL);
}

static void open_line(struct tbp_collect *c, const struct tbp_collect_line *l) {
    tbp_xspace_line(c->emit.out, &(struct tbp_xspace_line){.id = l->id, .name = l->name});
}

static void write_thread(struct tbp_collect *c, const struct tbp_collect_line *l) {
    const struct tbp_collect_thread *t = &c->threads[l->index];
    struct tbp_rec_line line = {l->index, &t->crossing, t->carried, t->n_carried};
    open_line(c, l);
    tbp_rec_line_write(&c->emit, &line);
    for (size_t batch = 1; tbp_rec_line_has_spans(&c->emit, l->index, batch); batch++) {
        open_line(c, l);
        tbp_rec_line_write_spans(&c->emit);
    }
}

static void write_activity(struct tbp_collect *c, const struct tbp_rec_activity *a) {
    struct tbp_rec_emit *e = &c->emit;
    struct tbp_rec r = tbp_rec_at(&c->recording, a->begin);
    struct tbp_rec_label label = tbp_rec_names_label(&c->names, &r);
    struct tbp_rec_arg id = {0};
    int64_t start = tbp_rec_ps(e, r.ticks), end = e->end_ps - e->base_ps;
    tbp_rec_value(&c->recording, &r, &id);
    tbp_rec_stats_clear(e->stats);
    tbp_rec_stats_pairs(e->stats, label.pairs);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_ASYNC, 1);
    tbp_rec_stats_u64(e->stats, TBP_REC_STAT_ACTIVITY, id.value);
    if (a->end)
        end = tbp_rec_ps(e, tbp_rec_at(&c->recording, a->end).ticks);
    else
        tbp_rec_stats_i64(e->stats, TBP_REC_STAT_OPEN, 1);
    tbp_rec_put(e, &label, start, end > start ? end - start : 0);
}

static void write_activities(struct tbp_collect *c, const struct tbp_collect_line *l) {
    open_line(c, l);
    tbp_rec_line_begin(&c->emit);
    for (size_t i = 0; i < c->activities.list.n; i++)
        if (c->activities.lanes.at[i] == l->index)
            write_activity(c, &c->activities.list.at[i]);
}

static void write_counters(struct tbp_collect *c, const struct tbp_collect_line *l) {
    struct tbp_rec_emit *e = &c->emit;
    struct tbp_rec_merge merge;
    struct tbp_rec r;
    struct tbp_arena scratch;
    uint32_t thread;
    tbp_arena_init(&scratch);
    open_line(c, l);
    tbp_rec_line_begin(e);
    tbp_rec_merge_init(&merge, &c->recording, TBP_REC_BIT(TBP_REC_COUNTER), &scratch);
    while (tbp_rec_merge_next(&merge, &r, &thread)) {
        struct tbp_rec_label label = tbp_rec_names_label(&c->names, &r);
        tbp_rec_stats_clear(e->stats);
        tbp_rec_stats_args(e->stats, &r);
        tbp_rec_put(e, &label, tbp_rec_ps(e, r.ticks), 0);
    }
    tbp_arena_release(&scratch);
}

static void write_gpu(struct tbp_collect *c, const struct tbp_collect_line *l) {
    const struct tbp_rec_gpu_line *line = &c->gpu.lines.at[l->index];
    open_line(c, l);
    tbp_rec_line_begin(&c->emit);
    for (size_t i = line->first; i < line->first + line->n; i++)
        tbp_rec_line_write_these(&c->emit, &c->gpu.events.at[i].span, 1);
}

static int source(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    (void)err;
    struct tbp_collect *c = ctx;
    tbp_rec_emit_begin(&c->emit, o);
    tbp_xspace_hostname(o, tbp_str_c(c->recording.head.hostname));
    tbp_xspace_plane(o, 1, TBP_STR(TBP_HOST_PLANE));
    for (size_t i = 0; i < c->lines.n; i++) {
        const struct tbp_collect_line *l = &c->lines.at[i];
        if (l->kind == TBP_LINE_THREAD)
            write_thread(c, l);
        else if (l->kind == TBP_LINE_ACTIVITIES)
            write_activities(c, l);
        else if (l->kind == TBP_LINE_GPU)
            write_gpu(c, l);
        else
            write_counters(c, l);
    }
    tbp_rec_names_write(&c->names, o);
    c->gpu_planes.max_start_ps = c->emit.max_start_ps;
    tbp_rec_gpu_planes_write(&c->gpu_planes, o);
    c->emit.n_events += c->gpu_planes.n_events;
    c->emit.n_too_late += c->gpu_planes.n_too_late;
    tbp_collect_environment(c, o);
    tbp_collect_warnings(c, o);
    return TBP_OK;
}

/* ---- the whole ---- */

/* It may find threads that recorded nothing else. */
static void read_gpu(struct tbp_collect *c) {
    size_t n_before = c->recording.n_threads;
    tbp_rec_gpu_read(&c->gpu, &c->recording, &c->arena);
    size_t n = c->recording.n_threads;
    if (n == n_before)
        return;
    struct tbp_collect_thread *threads = TBP_NEW_N(&c->arena, struct tbp_collect_thread, n + 1);
    if (n_before)
        memcpy(threads, c->threads, n_before * sizeof *threads);
    c->threads = threads;
}

static void place_gpu(struct tbp_collect *c) {
    size_t n = c->recording.n_threads;
    struct tbp_rec_gpu_carried *carried = TBP_NEW_N(&c->arena, struct tbp_rec_gpu_carried, n + 1);
    for (size_t i = 0; i < n; i++)
        carried[i] = (struct tbp_rec_gpu_carried){c->threads[i].carried, c->threads[i].n_carried};
    tbp_rec_gpu_place(&c->gpu, c->emit.base_ps, carried);
    tbp_rec_gpu_planes_init(&c->gpu_planes, &c->gpu, &c->arena);
    c->emit.gpu = &c->gpu;
}

static void read_all(struct tbp_collect *c) {
    struct tbp_recording *s = &c->recording;
    memcpy(c->n_dropped, s->head.n_dropped, sizeof c->n_dropped);
    if (c->request.carry)
        tbp_collect_take_carry(c);
    else
        c->threads = TBP_NEW_N(&c->arena, struct tbp_collect_thread, s->n_threads + 1);
    read_gpu(c);
    for (size_t i = 0; i < s->n_threads; i++)
        c->all_kinds |= s->threads[i].kinds;
    c->walk.recording = s;
    c->walk.ring_forgot = c->n_dropped[TBP_DROP_RING] > 0;
    find_bounds(c);
    place_gpu(c);
    read_texts(c);
    read_scopes(c);
    tbp_rec_memory_read(&c->memory, s, &c->arena);
    tbp_rec_activities_read(&c->activities, s, &c->arena);
    if (c->next)
        tbp_collect_carry_rest(c);
    make_lines(c);
    tbp_rec_names_init(&c->names, s, &c->arena);
    c->stats.names = &c->names;
    c->emit.recording = s;
    c->emit.names = &c->names;
    c->emit.stats = &c->stats;
    c->emit.memory = &c->memory;
    c->emit.walk = &c->walk;
    c->emit.max_level = MAX_LEVEL;
    c->emit.max_start_ps = INT64_MAX;
}

/* What a client asked for is advice: scopes that say least go, the others stay and are told. */
static void trim_levels(struct tbp_collect *c) {
    enum { KEPT_LEVEL = 2 };
    const uint64_t *n_by_level = c->recording.n_by_level;
    uint64_t n = 0, most = c->request.max_events;
    for (unsigned level = 0; level <= MAX_LEVEL; level++)
        n += n_by_level[level];
    for (unsigned level = MAX_LEVEL; most && n > most && level > KEPT_LEVEL; level--) {
        n -= n_by_level[level];
        c->is_trimmed |= n_by_level[level] > 0;
        c->emit.max_level = level - 1;
    }
    c->n_beyond = most && n > most ? n - most : 0;
}

int tbp_collect_open(struct tbp_collect **out, const struct tbp_collect_request *request,
                     struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_collect *c = TBP_NEW(&arena, struct tbp_collect);
    struct tbp_recording_bounds bounds = {request->until_realtime_ns, request->carry != NULL};
    c->arena = arena;
    c->request = *request;
    int status = tbp_recording_open(&c->recording, &c->arena, request->data, request->size_bytes,
                                    &bounds, err);
    if (status) {
        tbp_collect_free(c);
        return status;
    }
    read_all(c);
    trim_levels(c);
    *out = c;
    return TBP_OK;
}

void tbp_collect_free(struct tbp_collect *c) {
    if (!c)
        return;
    for (size_t i = 0; c->threads && i < c->recording.n_threads; i++)
        tbp_rec_scopes_release(&c->threads[i].crossing);
    tbp_rec_scope_walk_release(&c->walk);
    tbp_rec_memory_release(&c->memory);
    tbp_rec_activities_release(&c->activities);
    tbp_rec_gpu_planes_release(&c->gpu_planes);
    tbp_rec_gpu_release(&c->gpu);
    tbp_rec_names_release(&c->names);
    tbp_rec_emit_release(&c->emit);
    tbp_vec_release(&c->texts);
    tbp_vec_release(&c->lines);
    tbp_recording_release(&c->recording);
    struct tbp_arena arena = c->arena;
    tbp_arena_release(&arena);
}

const struct tbp_spool_header *tbp_collect_header(const struct tbp_collect *c) {
    return &c->recording.head;
}

bool tbp_collect_is_empty(const struct tbp_collect *c) {
    for (size_t i = 0; i < c->lines.n; i++)
        if (c->lines.at[i].kind != TBP_LINE_COUNTERS)
            return false;
    return c->gpu.ordinals.n == 0;
}

/* The last moment there is, where the header of a damaged spool tells a later one. */
static int64_t wall_ns(const struct tbp_collect *c, int64_t since_start_ps) {
    int64_t ns;
    bool is_beyond =
        __builtin_add_overflow(c->recording.head.start_realtime_ns, since_start_ps / 1000, &ns);
    return is_beyond ? INT64_MAX : ns;
}

int64_t tbp_collect_start_ns(const struct tbp_collect *c) {
    return wall_ns(c, c->emit.base_ps);
}

int64_t tbp_collect_stop_ns(const struct tbp_collect *c) {
    return wall_ns(c, c->emit.end_ps);
}

/* Leaves out more than before; false: there is nothing left that may go. */
static bool shrink(struct tbp_collect *c, uint64_t size_bytes) {
    struct tbp_rec_emit *e = &c->emit;
    unsigned level = e->max_level;
    while (level > 1 && c->recording.n_by_level[level] == 0)
        level--;
    if (level > 1) {
        e->max_level = level - 1;
        return true;
    }
    int64_t last = e->max_start_ps == INT64_MAX ? e->end_ps - e->base_ps : e->max_start_ps;
    double share = 0.95 * TBP_XSPACE_MAX_BYTES / (double)size_bytes;
    e->max_start_ps = (int64_t)((double)last * (share < 0.95 ? share : 0.95));
    return last > 0;
}

int tbp_collect_write(struct tbp_collect *c, struct tbp_sink *sink,
                      struct tbp_collect_result *result, struct tbp_error *err) {
    uint64_t size_bytes = 0;
    int status;
    do {
        status = tbp_xspace_write(sink, source, c, 0, &size_bytes, err);
    } while (status == TBP_E_LIMIT && size_bytes > TBP_XSPACE_MAX_BYTES && shrink(c, size_bytes));
    *result = (struct tbp_collect_result){.n_records = c->recording.n_records,
                                          .n_events = c->emit.n_events,
                                          .n_defects = c->recording.n_defects,
                                          .size_bytes = size_bytes};
    return status;
}

void tbp_collect_commit(struct tbp_collect *c) {
    if (!c->next)
        return;
    for (size_t i = 0; i < c->recording.runs.n; i++) {
        const struct tbp_rec_run *run = &c->recording.runs.at[i];
        struct tbp_spool_chunk *chunk =
            (void *)(uintptr_t)tbp_recording_chunk(&c->recording, run->chunk);
        chunk->consumed = run->taken_bytes;
    }
    tbp_collect_carry_commit(c);
}
