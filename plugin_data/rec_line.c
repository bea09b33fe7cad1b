/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_line.h. Budget: 100 ns per scope in each of the two passes (tests/bench/bench_collect.c).
 */
#include "plugin_data/rec_line.h"

#include "base/sort.h"

void tbp_rec_emit_release(struct tbp_rec_emit *e) {
    tbp_vec_release(&e->open);
    tbp_vec_release(&e->spans);
    tbp_wire_out_release(&e->annotation);
    tbp_vec_release(&e->annotation_ends);
}

void tbp_rec_emit_begin(struct tbp_rec_emit *e, struct tbp_xspace_out *out) {
    e->out = out;
    e->n_events = e->n_above_level = e->n_too_late = e->n_open = e->n_cut = e->n_early_spans = 0;
    e->stats->n_lost = 0;
}

void tbp_rec_line_begin(struct tbp_rec_emit *e) {
    e->last_start_ps = 0;
    e->last_dur_ps = INT64_MAX;
    e->begin_hint = e->end_hint = 0;
    e->open.n = e->spans.n = e->annotation_ends.n = 0;
    e->next_span = 0;
    e->annotation.n = 0;
}

/* Since the profile's begin. */
int64_t tbp_rec_ps(struct tbp_rec_emit *e, uint64_t ticks) {
    int64_t ps = tbp_rec_clock_ps(&e->recording->clock, ticks, &e->begin_hint) - e->base_ps;
    return ps < 0 ? 0 : ps;
}

/* ---- one event ---- */

/* A line is in order of start, of equal ones the longer first. Clocks that step back by a few ticks
 * and events at one instant would break it: these are moved, as a rule by a picosecond. */
static void keep_order(struct tbp_rec_emit *e, int64_t *start_ps, int64_t *dur_ps) {
    int64_t end = *start_ps + *dur_ps, least = e->last_start_ps;
    if (*start_ps < least || (*start_ps == least && *dur_ps > e->last_dur_ps)) {
        least += end - least > e->last_dur_ps;
        *start_ps = least;
        *dur_ps = end > least ? end - least : 0;
    }
    e->last_start_ps = *start_ps;
    e->last_dur_ps = *dur_ps;
}

void tbp_rec_put(struct tbp_rec_emit *e, const struct tbp_rec_label *label, int64_t start_ps,
                 int64_t dur_ps) {
    if (start_ps > e->max_start_ps) {
        e->n_too_late++;
        return;
    }
    keep_order(e, &start_ps, &dur_ps);
    tbp_xspace_event(e->out, label->event, start_ps, dur_ps);
    tbp_rec_names_use_event(e->names, label->event);
    if (label->own.n)
        tbp_rec_stats_text(e->stats, TBP_REC_STAT_NAME, label->own);
    if (e->stats->n)
        tbp_rec_stats_write(e->stats, e->out);
    e->n_events++;
}

static struct tbp_rec_label known_label(enum tbp_rec_event event) {
    return (struct tbp_rec_label){.event = event, .pairs = TBP_STR_NONE, .own = TBP_STR_NONE};
}

/* ---- spans ---- */

static int by_start(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_rec_span *x = a, *y = b;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return x->dur_ps > y->dur_ps ? -1 : x->dur_ps < y->dur_ps;
}

/* False: it ended before the profile begins. */
static bool read_span(struct tbp_rec_emit *e, const struct tbp_rec *r, struct tbp_rec_span *span) {
    struct tbp_rec_arg_walk w = tbp_rec_args(r);
    struct tbp_rec_arg a;
    do {
        if (!tbp_rec_next_arg(e->recording, &w, &a))
            return false;
    } while (a.type != TBP_ARG_SPAN);
    int64_t longest_ns = INT64_MAX / 4000;
    int64_t dur_ns = a.second > (uint64_t)longest_ns ? longest_ns : (int64_t)a.second;
    int64_t start = tbp_rec_clock_realtime_ps(&e->recording->clock, (int64_t)a.value) - e->base_ps;
    int64_t dur_ps = dur_ns * 1000;
    if (start < 0) {
        dur_ps += start;
        start = 0;
    }
    *span = (struct tbp_rec_span){start, dur_ps, r->slot};
    return dur_ps >= 0;
}

/* Spans that the thread recorded, then its calls into CUDA; the first `skip` are in other batches.
 */
static void gather_spans(struct tbp_rec_emit *e, size_t thread, size_t batch) {
    const struct tbp_rec_thread *t = &e->recording->threads[thread];
    size_t skip = batch * TBP_REC_SPANS, n_calls = 0;
    struct tbp_rec r;
    e->spans.n = e->next_span = 0;
    for (size_t i = 0; i < t->n_runs && e->spans.n < TBP_REC_SPANS; i++) {
        if (!(t->runs[i].kinds & TBP_REC_BIT(TBP_REC_SPAN)))
            continue;
        struct tbp_rec_walk w = tbp_rec_walk_of(e->recording, &t->runs[i]);
        while (e->spans.n < TBP_REC_SPANS && tbp_rec_next(&w, &r)) {
            struct tbp_rec_span span;
            if (r.kind != TBP_REC_SPAN || (skip > 0 && skip--))
                continue;
            if (read_span(e, &r, &span))
                *tbp_vec_push(&e->spans) = span;
            else
                e->n_early_spans++;
        }
    }
    const struct tbp_rec_span *calls = tbp_rec_gpu_host(e->gpu, thread, &n_calls);
    for (size_t i = skip; i < n_calls && e->spans.n < TBP_REC_SPANS; i++)
        *tbp_vec_push(&e->spans) = calls[i];
    tbp_sort(e->spans.at, e->spans.n, sizeof *e->spans.at, by_start, NULL);
}

static void put_span(struct tbp_rec_emit *e, const struct tbp_rec_span *s) {
    struct tbp_rec r = tbp_rec_at(e->recording, s->slot);
    struct tbp_rec_label label;
    tbp_rec_stats_clear(e->stats);
    if (r.kind == TBP_REC_GPU) {
        label = tbp_rec_gpu_label(e->names, &r);
        tbp_rec_gpu_stats(e->gpu, e->stats, &r);
    } else {
        label = tbp_rec_names_label(e->names, &r);
        tbp_rec_stats_pairs(e->stats, label.pairs);
        tbp_rec_stats_args(e->stats, &r);
    }
    tbp_rec_put(e, &label, s->start_ps, s->dur_ps);
}

/* Spans that come before an event of that start and length. */
static void put_spans(struct tbp_rec_emit *e, int64_t start_ps, int64_t dur_ps) {
    while (e->next_span < e->spans.n) {
        const struct tbp_rec_span *s = &e->spans.at[e->next_span];
        if (s->start_ps > start_ps || (s->start_ps == start_ps && s->dur_ps < dur_ps))
            return;
        put_span(e, s);
        e->next_span++;
    }
}

/* The thread has spans, or calls, to be sorted in. */
static bool has_spans(const struct tbp_rec_emit *e, size_t thread) {
    size_t n_calls;
    tbp_rec_gpu_host(e->gpu, thread, &n_calls);
    return n_calls > 0 || e->recording->threads[thread].kinds & TBP_REC_BIT(TBP_REC_SPAN);
}

bool tbp_rec_line_has_spans(struct tbp_rec_emit *e, size_t thread, size_t batch) {
    tbp_rec_line_begin(e);
    if (has_spans(e, thread))
        gather_spans(e, thread, batch);
    return e->spans.n > 0;
}

void tbp_rec_line_write_these(struct tbp_rec_emit *e, const struct tbp_rec_span *spans, size_t n) {
    for (size_t i = 0; i < n; i++)
        put_span(e, &spans[i]);
}

void tbp_rec_line_write_spans(struct tbp_rec_emit *e) {
    put_spans(e, INT64_MAX, 0);
}

/* ---- scopes ---- */

static void add_flow(struct tbp_rec_emit *e, const struct tbp_rec *r) {
    struct tbp_rec_arg id = {0};
    bool out = r->kind == TBP_REC_FLOW_OUT;
    tbp_rec_value(e->recording, r, &id);
    tbp_rec_stats_i64(e->stats, out ? TBP_REC_STAT_PRODUCER_TYPE : TBP_REC_STAT_CONSUMER_TYPE,
                      r->at->aux & 0xffff);
    tbp_rec_stats_u64(e->stats, out ? TBP_REC_STAT_PRODUCER : TBP_REC_STAT_CONSUMER, id.value);
}

static void add_notes(struct tbp_rec_emit *e, const struct tbp_rec_scope *s,
                      const struct tbp_rec_note *notes) {
    uint32_t slots[TBP_REC_MAX_NOTES], n = 0;
    for (uint32_t k = s->notes; k && n < TBP_REC_MAX_NOTES; k = notes[k - 1].next)
        slots[n++] = notes[k - 1].slot;
    while (n > 0) {
        struct tbp_rec r = tbp_rec_at(e->recording, slots[--n]);
        if (r.kind == TBP_REC_ARGS)
            tbp_rec_stats_args(e->stats, &r);
        else
            add_flow(e, &r);
    }
}

static int64_t scope_end(struct tbp_rec_emit *e, const struct tbp_rec_scope *s,
                         struct tbp_rec *end) {
    if (s->end == 0)
        return e->end_ps - e->base_ps;
    *end = tbp_rec_at(e->recording, s->end);
    return tbp_rec_clock_ps(&e->recording->clock, end->ticks, &e->end_hint) - e->base_ps;
}

/* notes: where those of s stand. */
static void put_scope(struct tbp_rec_emit *e, const struct tbp_rec *r, int64_t start_ps,
                      const struct tbp_rec_scope *s, const struct tbp_rec_note *notes,
                      bool is_carried) {
    struct tbp_rec_label label = tbp_rec_names_label(e->names, r);
    if (e->open.n < TBP_REC_MAX_OPEN)
        *tbp_vec_push(&e->open) = (struct tbp_rec_open_name){label.event, 0};
    if (tbp_rec_level(r) > e->max_level) {
        e->n_above_level++;
        return;
    }
    struct tbp_rec end = {.kind = TBP_REC_NONE};
    int64_t end_ps = scope_end(e, s, &end);
    int64_t dur_ps = end_ps > start_ps ? end_ps - start_ps : 0;
    put_spans(e, start_ps, dur_ps);
    tbp_rec_stats_clear(e->stats);
    if (label.pairs.n)
        tbp_rec_stats_pairs(e->stats, label.pairs);
    if (r->extra)
        tbp_rec_stats_args(e->stats, r);
    if (s->notes)
        add_notes(e, s, notes);
    if (end.extra && end.kind == TBP_REC_END && !(s->flags & TBP_REC_SCOPE_INNER))
        tbp_rec_stats_args(e->stats, &end);
    if (is_carried)
        tbp_rec_stats_i64(e->stats, TBP_REC_STAT_CONTINUED, 1);
    if (s->end == 0)
        tbp_rec_stats_i64(e->stats, TBP_REC_STAT_OPEN, 1);
    else if (end.kind != TBP_REC_END)
        tbp_rec_stats_i64(e->stats, TBP_REC_STAT_CUT, 1);
    e->n_open += s->end == 0;
    e->n_cut += s->end != 0 && end.kind != TBP_REC_END;
    tbp_rec_put(e, &label, start_ps, dur_ps);
}

/* ---- the other records ---- */

static void put_instant(struct tbp_rec_emit *e, const struct tbp_rec *r, int64_t start_ps) {
    static const char *const scopes[] = {NULL, "process", "global"};
    struct tbp_rec_label label = tbp_rec_names_label(e->names, r);
    unsigned scope = r->at->aux >> 24 & 31;
    tbp_rec_stats_pairs(e->stats, label.pairs);
    tbp_rec_stats_args(e->stats, r);
    if (scope > 0 && scope < sizeof scopes / sizeof *scopes)
        tbp_rec_stats_text(e->stats, TBP_REC_STAT_SCOPE, tbp_str_c(scopes[scope]));
    tbp_rec_put(e, &label, start_ps, 0);
}

/* The first flow of each direction is a stat of its scope; further ones are events. */
static void put_flow(struct tbp_rec_emit *e, const struct tbp_rec *r, int64_t start_ps) {
    bool out = r->kind == TBP_REC_FLOW_OUT;
    uint8_t flag = out ? TBP_REC_SCOPE_HAS_OUT : TBP_REC_SCOPE_HAS_IN;
    if (e->open.n > 0 && !(e->open.at[e->open.n - 1].flags & flag)) {
        e->open.at[e->open.n - 1].flags |= flag;
        return;
    }
    struct tbp_rec_label label = known_label(out ? TBP_REC_EVENT_PRODUCE : TBP_REC_EVENT_CONSUME);
    add_flow(e, r);
    tbp_rec_put(e, &label, start_ps, 0);
}

static void add_text_id(struct tbp_rec_emit *e, uint32_t stat, uint32_t id) {
    if (id)
        tbp_rec_stats_ref(e->stats, stat, tbp_rec_names_value(e->names, id));
}

static void add_tf_op(struct tbp_rec_emit *e) {
    struct tbp_str op = {(const char *)e->annotation.at, e->annotation.n};
    if (op.n == 0 && e->open.n > 0)
        op = tbp_rec_names_text(e->names, e->open.at[e->open.n - 1].event);
    if (op.n)
        tbp_rec_stats_text(e->stats, TBP_REC_STAT_TF_OP, op);
}

static void put_memory(struct tbp_rec_emit *e, struct tbp_rec_memory_reader *reader,
                       const struct tbp_rec *r, int64_t start_ps) {
    struct tbp_rec_memory_event m;
    bool is_alloc = r->kind == TBP_REC_MEMORY_ALLOC;
    if (!e->memory || !tbp_rec_memory_next(reader, e->recording, r, &m))
        return;
    const struct tbp_rec_totals *t = &m.totals;
    struct tbp_rec_label label =
        known_label(is_alloc ? TBP_REC_EVENT_ALLOCATION : TBP_REC_EVENT_DEALLOCATION);
    uint64_t free_bytes =
        t->capacity_bytes > t->in_use_bytes ? t->capacity_bytes - t->in_use_bytes : 0;
    add_text_id(e, TBP_REC_STAT_ALLOCATOR, r->at->name);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_RESERVED, 0);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_ALLOCATED, (int64_t)t->in_use_bytes);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_AVAILABLE, (int64_t)free_bytes);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_PEAK, (int64_t)t->peak_bytes);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_REQUESTED, (int64_t)m.requested_bytes);
    tbp_rec_stats_i64(e->stats, TBP_REC_STAT_ALLOCATION, (int64_t)m.allocated_bytes);
    tbp_rec_stats_u64(e->stats, TBP_REC_STAT_ADDRESS, m.address);
    if (is_alloc) {
        const struct tbp_spool_memory *b = tbp_rec_memory_block(r);
        add_tf_op(e);
        add_text_id(e, TBP_REC_STAT_REGION, b->region_id);
        add_text_id(e, TBP_REC_STAT_SHAPE, b->shape_id);
        tbp_rec_stats_i64(e->stats, TBP_REC_STAT_DATA_TYPE, b->data_type);
    }
    tbp_rec_put(e, &label, start_ps, 0);
}

static void begin_annotation(struct tbp_rec_emit *e, const struct tbp_rec *r) {
    struct tbp_str name = tbp_rec_name(e->recording, r);
    size_t room = TBP_REC_ANNOTATION_BYTES - e->annotation.n;
    if (e->annotation_ends.n == TBP_REC_MAX_OPEN)
        return;
    *tbp_vec_push(&e->annotation_ends) = (uint32_t)e->annotation.n;
    if (e->annotation.n && room > 0) {
        tbp_wire_put_raw(&e->annotation, "/", 1);
        room--;
    }
    tbp_wire_put_raw(&e->annotation, name.p, name.n < room ? name.n : room);
}

static void end_annotation(struct tbp_rec_emit *e) {
    if (e->annotation_ends.n > 0)
        e->annotation.n = e->annotation_ends.at[--e->annotation_ends.n];
}

static void put_reason(struct tbp_rec_emit *e, enum tbp_spool_drop why) {
    static const char *const reasons[TBP_DROP_KINDS] = {
        "max_host_bytes reached", "forgotten by the ring", "no memory",
        "arguments too long",     "inside a signal",       "nested too deeply",
        "too many threads",       "cut by stop",           "name cut",
    };
    tbp_rec_stats_text(e->stats, TBP_REC_STAT_REASON, tbp_str_c(reasons[why]));
}

static void put_dropped(struct tbp_rec_emit *e, const struct tbp_rec *r, int64_t start_ps) {
    struct tbp_rec_label label = known_label(TBP_REC_EVENT_DROPPED);
    struct tbp_rec_arg n = {0};
    uint32_t why = r->at->aux & 0xffff;
    tbp_rec_value(e->recording, r, &n);
    tbp_rec_stats_u64(e->stats, TBP_REC_STAT_COUNT, n.value);
    if (why < TBP_DROP_KINDS)
        put_reason(e, why);
    tbp_rec_put(e, &label, start_ps, 0);
}

/* Records that were dropped before the chunk that begins here; of those that a ring forgot, only
 * the sum over all threads is known. */
static void put_lost(struct tbp_rec_emit *e, const struct tbp_rec_run *run, bool is_forgotten,
                     uint64_t ticks) {
    struct tbp_rec_label label = known_label(TBP_REC_EVENT_DROPPED);
    int64_t start_ps = tbp_rec_ps(e, ticks);
    put_spans(e, start_ps, 0);
    tbp_rec_stats_clear(e->stats);
    if (run->n_lost)
        tbp_rec_stats_u64(e->stats, TBP_REC_STAT_COUNT, run->n_lost);
    if (is_forgotten)
        put_reason(e, TBP_DROP_RING);
    tbp_rec_put(e, &label, start_ps, 0);
}

static void put_known(struct tbp_rec_emit *e, enum tbp_rec_event event, int64_t start_ps) {
    struct tbp_rec_label label = known_label(event);
    tbp_rec_put(e, &label, start_ps, 0);
}

/* Records that are neither scopes nor spans. */
static void put_record(struct tbp_rec_emit *e, struct tbp_rec_memory_reader *memory,
                       const struct tbp_rec *r) {
    int64_t start_ps = tbp_rec_ps(e, r->ticks);
    put_spans(e, start_ps, 0);
    tbp_rec_stats_clear(e->stats);
    if (r->kind == TBP_REC_INSTANT)
        put_instant(e, r, start_ps);
    else if (r->kind == TBP_REC_FLOW_OUT || r->kind == TBP_REC_FLOW_IN)
        put_flow(e, r, start_ps);
    else if (r->kind == TBP_REC_MEMORY_ALLOC || r->kind == TBP_REC_MEMORY_FREE)
        put_memory(e, memory, r, start_ps);
    else if (r->kind == TBP_REC_ANNOTATION)
        begin_annotation(e, r);
    else if (r->kind == TBP_REC_ANNOTATION_END)
        end_annotation(e);
    else if (r->kind == TBP_REC_DROPPED)
        put_dropped(e, r, start_ps);
    else if (r->kind == TBP_REC_PAUSE)
        put_known(e, TBP_REC_EVENT_PAUSE, start_ps);
    else if (r->kind == TBP_REC_RESUME)
        put_known(e, TBP_REC_EVENT_RESUME, start_ps);
}

/* ---- the line ---- */

/* Gives scopes that are open at the run's end the entries of the thread's list that are theirs. */
static void fill_crossing(struct tbp_rec_scope_walk *walk, const struct tbp_rec_scopes *crossing,
                          size_t *next, uint32_t last_slot) {
    for (size_t i = 0; i < walk->open.n; i++) {
        struct tbp_rec_scope *s = &walk->local.list.at[walk->open.at[i].scope];
        if (*next < crossing->list.n)
            *s = crossing->list.at[(*next)++];
        else
            *s = (struct tbp_rec_scope){.end = last_slot};
        s->flags |= TBP_REC_SCOPE_CROSSING;
    }
}

static void write_run(struct tbp_rec_emit *e, const struct tbp_rec_line *line,
                      const struct tbp_rec_run *run, size_t *next_crossing,
                      struct tbp_rec_memory_reader *memory) {
    struct tbp_rec_scope_walk *walk = e->walk;
    struct tbp_rec_walk w = tbp_rec_walk_of(e->recording, run);
    struct tbp_rec r;
    size_t n_begun = 0;
    bool is_forgotten = walk->ring_forgot && run->after_gap;
    tbp_rec_scopes_run(walk, run);
    fill_crossing(walk, line->crossing, next_crossing, walk->last_slot);
    if (run->after_gap)
        e->open.n = 0;
    if ((run->n_lost || is_forgotten) && w.at < w.end)
        put_lost(e, run, is_forgotten, TBP_SPOOL_TICKS(w.at->head));
    while (tbp_rec_next(&w, &r)) {
        if (r.kind == TBP_REC_BEGIN) {
            const struct tbp_rec_scope *s = &walk->local.list.at[n_begun++];
            bool crosses = s->flags & TBP_REC_SCOPE_CROSSING;
            put_scope(e, &r, tbp_rec_ps(e, r.ticks), s,
                      crosses ? line->crossing->notes.at : walk->local.notes.at, false);
        } else if (r.kind == TBP_REC_END) {
            size_t n = tbp_rec_ends(&r);
            e->open.n -= n < e->open.n ? n : e->open.n;
        } else if (r.kind != TBP_REC_SPAN) {
            put_record(e, memory, &r);
        }
    }
}

/* What was open when an earlier snapshot ended goes on from the profile's begin. */
static size_t write_carried(struct tbp_rec_emit *e, const struct tbp_rec_line *line) {
    const struct tbp_rec_scopes *crossing = line->crossing;
    size_t n_scopes = 0;
    for (size_t i = 0; i < line->n_carried; i++) {
        struct tbp_rec r = tbp_rec_at(e->recording, line->carried[i]);
        if (r.kind == TBP_REC_ANNOTATION)
            begin_annotation(e, &r);
        else if (n_scopes < crossing->list.n)
            put_scope(e, &r, 0, &crossing->list.at[n_scopes++], crossing->notes.at, true);
    }
    return n_scopes;
}

void tbp_rec_line_write(struct tbp_rec_emit *e, const struct tbp_rec_line *line) {
    const struct tbp_rec_thread *t = &e->recording->threads[line->thread];
    struct tbp_rec_memory_reader memory = {0};
    tbp_rec_line_begin(e);
    if (e->memory)
        memory = tbp_rec_memory_reader(e->memory, line->thread);
    if (has_spans(e, line->thread))
        gather_spans(e, line->thread, 0);
    size_t next_crossing = write_carried(e, line);
    for (size_t i = 0; i < t->n_runs; i++)
        write_run(e, line, &t->runs[i], &next_crossing, &memory);
    put_spans(e, INT64_MAX, 0);
}
