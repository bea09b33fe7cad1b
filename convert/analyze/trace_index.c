/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of a host, their order and serial numbers; see trace_index.h.
 * Lines are looked at in parallel; most are one track as they stand. The serials need the order of
 * all tracks together, which is merged in stretches of time, one job each.
 */
#include "convert/analyze/trace_index.h"

#include "base/sort.h"

#include <string.h>

/* What the first look at a line tells. */
struct look {
    size_t n_shown, n_async;
    bool is_ordered;
    bool has_low, has_high;
    uint64_t low_ps, high_ps;
};

struct draft { /* a track in the making */
    struct tbp_track track;
    bool is_whole; /* one line, all of it, in order */
    TBP_VEC(struct tbp_track_ref) refs;
};

struct making {
    struct tbp_trace_index *x;
    struct tbp_arena *arena;  /* of the index */
    struct tbp_arena scratch; /* until it is made */
    struct look *looks;
    TBP_VEC(struct draft) drafts;
    struct tbp_idmap threads; /* pid, tid -> draft */
    struct tbp_idmap loose;   /* pid, number of name -> draft */
    struct tbp_strtab names;
};

/* ---- first look, per line ---- */

static bool has_int_async(const struct tbp_trace_line *l, size_t i) {
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    for (uint32_t k = 0; m->has_special && k < m->n_args; k++)
        if (l->plane->keys[m->args[k].key].what == TBP_TRACE_ASYNC &&
            (m->args[k].type == TBP_STAT_INT64 || m->args[k].type == TBP_STAT_UINT64))
            return true;
    if (l->made || !(l->line->ev.has[i] & TBP_HAS_ASYNC))
        return false;
    struct tbp_stat_iter it = tbp_stat_iter_event(l->line, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_IS_ASYNC &&
            (st.type == TBP_STAT_INT64 || st.type == TBP_STAT_UINT64))
            return true;
    return false;
}

static bool may_flow(const struct tbp_trace_line *l, size_t i) {
    const uint32_t needed = TBP_HAS_CORRELATION | TBP_HAS_LINK | TBP_HAS_RUN | TBP_HAS_ITER_NUM;
    if (tbp_trace_meta_at(l, i)->has_special)
        return true;
    if (l->made)
        return false;
    uint32_t has = l->line->ev.has[i];
    return (has & TBP_HAS_FLOW) || (l->plane->makes_flows && (has & needed));
}

/* TBP_NO_FLOW is all ones: context 63 and 62 both mean none, so one bit may go. */
static uint64_t flow_of(const struct tbp_trace_line *l, size_t i) {
    uint64_t flow;
    if (!tbp_trace_flow(l, i, &flow))
        return TBP_NO_FLOW;
    return flow == TBP_NO_FLOW ? flow & ~(UINT64_C(1) << 58) : flow;
}

static void read_flows(struct tbp_trace_index *x, size_t line, struct look *look, uint64_t *flows) {
    const struct tbp_trace_line *l = x->lines[line];
    for (size_t i = 0; i < l->line->ev.n; i++) {
        flows[i] = may_flow(l, i) && !tbp_trace_is_left_out(l, i) ? flow_of(l, i) : TBP_NO_FLOW;
        look->n_async += flows[i] != TBP_NO_FLOW && has_int_async(l, i);
    }
}

static void widen(struct look *k, uint64_t begin, uint64_t end) {
    const uint64_t most = UINT64_MAX / 2; /* later times are taken for rubbish */
    if (begin <= most && (!k->has_low || begin < k->low_ps)) {
        k->has_low = true;
        k->low_ps = begin;
    }
    if (end <= most && (!k->has_high || end > k->high_ps)) {
        k->has_high = true;
        k->high_ps = end;
    }
}

static int look_at_line(void *ctx, size_t line, struct tbp_error *err) {
    (void)err;
    struct making *m = ctx;
    const struct tbp_trace_line *l = m->x->lines[line];
    struct look *k = &m->looks[line];
    uint64_t last_begin = 0, last_dur = UINT64_MAX;
    k->is_ordered = true;
    for (size_t i = 0; i < l->line->ev.n; i++) {
        if (tbp_trace_is_left_out(l, i))
            continue;
        struct tbp_track_ref r = {(uint32_t)line, (uint32_t)i};
        uint64_t begin = tbp_trace_begin(l, i), dur = tbp_index_dur(m->x, r);
        k->is_ordered &= begin > last_begin || (begin == last_begin && dur <= last_dur);
        last_begin = begin;
        last_dur = dur;
        k->n_shown++;
        widen(k, begin, begin + dur);
    }
    if (m->x->flows[line])
        read_flows(m->x, line, k, m->x->flows[line]);
    return TBP_OK;
}

static void collect_lines(struct making *m) {
    struct tbp_trace_index *x = m->x;
    for (size_t p = 0; p < x->trace->n_planes; p++)
        x->n_lines += x->trace->planes[p].n_lines;
    x->lines = TBP_NEW_N(m->arena, const struct tbp_trace_line *, x->n_lines);
    x->flows = TBP_NEW_N(m->arena, uint64_t *, x->n_lines);
    x->n_lines = 0;
    for (size_t p = 0; p < x->trace->n_planes; p++)
        for (size_t k = 0; k < x->trace->planes[p].n_lines; k++) {
            const struct tbp_trace_line *l = &x->trace->planes[p].lines[k];
            bool flows = false;
            for (size_t i = 0; i < l->line->ev.n && !flows && !tbp_trace_is_counter(l); i++)
                flows = may_flow(l, i);
            if (flows)
                x->flows[x->n_lines] = TBP_NEW_N(m->arena, uint64_t, l->line->ev.n);
            if (l->line->ev.n)
                x->lines[x->n_lines++] = l;
        }
    m->looks = TBP_NEW_N(&m->scratch, struct look, x->n_lines);
}

/* ---- tracks ---- */

static struct draft *draft_of(struct making *m, struct tbp_idmap *map, uint64_t key,
                              struct tbp_track fresh) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(map, key, &is_new);
    if (is_new) {
        *slot = (uint32_t)m->drafts.n;
        *tbp_vec_push(&m->drafts) = (struct draft){.track = fresh};
    }
    return &m->drafts.at[*slot];
}

static struct draft *thread_draft(struct making *m, const struct tbp_trace_line *l) {
    uint32_t pid = l->plane->pid;
    return draft_of(m, &m->threads, (uint64_t)pid << 32 | l->tid,
                    (struct tbp_track){.pid = pid, .tid = l->tid, .has_tid = true});
}

static struct draft *loose_draft(struct making *m, const struct tbp_trace_line *l,
                                 struct tbp_str name) {
    uint32_t pid = l->plane->pid;
    uint64_t key = (uint64_t)pid << 32 | tbp_strtab_put(&m->names, name);
    return draft_of(m, &m->loose, key, (struct tbp_track){.pid = pid, .name = name});
}

static void make_explicit(struct draft *d) {
    for (size_t i = 0; d->is_whole && i < d->track.n; i++)
        *tbp_vec_push(&d->refs) = (struct tbp_track_ref){d->track.line, (uint32_t)i};
    d->is_whole = false;
}

/* Events of a line that has counters or async events go to tracks by name. */
static void split_line(struct making *m, uint32_t line) {
    const struct tbp_trace_line *l = m->x->lines[line];
    const bool counters = tbp_trace_is_counter(l);
    for (uint32_t i = 0; i < l->line->ev.n; i++) {
        if (tbp_trace_is_left_out(l, i))
            continue;
        struct tbp_track_ref r = {line, i};
        const struct tbp_trace_meta *meta = tbp_trace_meta_at(l, i);
        struct draft *d;
        if (counters)
            d = loose_draft(m, l, meta->full_name);
        else if (tbp_index_flow(m->x, r) != TBP_NO_FLOW && has_int_async(l, i))
            d = loose_draft(m, l, meta->name);
        else
            d = thread_draft(m, l);
        make_explicit(d);
        *tbp_vec_push(&d->refs) = r;
    }
}

static void draft_line(struct making *m, uint32_t line) {
    const struct tbp_trace_line *l = m->x->lines[line];
    const struct look *k = &m->looks[line];
    m->x->n_events += k->n_shown;
    if (k->n_async || tbp_trace_is_counter(l)) {
        split_line(m, line);
        return;
    }
    if (k->n_shown == 0)
        return;
    struct draft *d = thread_draft(m, l);
    bool is_first = !d->is_whole && d->refs.n == 0;
    if (is_first && k->is_ordered && k->n_shown == l->line->ev.n) {
        d->is_whole = true;
        d->track.line = line;
        d->track.n = k->n_shown;
        return;
    }
    make_explicit(d);
    tbp_vec_reserve(&d->refs, d->refs.n + k->n_shown);
    for (uint32_t i = 0; i < l->line->ev.n; i++)
        if (!tbp_trace_is_left_out(l, i))
            d->refs.at[d->refs.n++] = (struct tbp_track_ref){line, i};
}

static int by_rank(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_track *x = &((const struct draft *)a)->track;
    const struct tbp_track *y = &((const struct draft *)b)->track;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->has_tid != y->has_tid)
        return x->has_tid ? -1 : 1;
    if (x->has_tid)
        return x->tid < y->tid ? -1 : x->tid > y->tid;
    return tbp_str_cmp(x->name, y->name);
}

static int by_begin_longest(const void *a, const void *b, void *ctx) {
    const struct tbp_trace_index *x = ctx;
    const struct tbp_track_ref *r = a, *s = b;
    uint64_t begin_r = tbp_index_begin(x, *r), begin_s = tbp_index_begin(x, *s);
    if (begin_r != begin_s)
        return begin_r < begin_s ? -1 : 1;
    uint64_t dur_r = tbp_index_dur(x, *r), dur_s = tbp_index_dur(x, *s);
    return dur_r > dur_s ? -1 : dur_r < dur_s;
}

static int finish_track(void *ctx, size_t i, struct tbp_error *err) {
    (void)err;
    struct tbp_trace_index *x = ctx;
    struct tbp_track *t = &x->tracks[i];
    if (t->refs)
        tbp_sort(t->refs, t->n, sizeof *t->refs, by_begin_longest, x);
    return TBP_OK;
}

static int make_tracks(struct making *m, struct tbp_pool *pool, struct tbp_error *err) {
    struct tbp_trace_index *x = m->x;
    tbp_sort(m->drafts.at, m->drafts.n, sizeof *m->drafts.at, by_rank, NULL);
    x->tracks = TBP_NEW_N(m->arena, struct tbp_track, m->drafts.n);
    x->n_tracks = m->drafts.n;
    for (size_t i = 0; i < m->drafts.n; i++) {
        struct draft *d = &m->drafts.at[i];
        struct tbp_track *t = &x->tracks[i];
        *t = d->track;
        if (!d->is_whole) {
            t->n = d->refs.n;
            t->refs = TBP_NEW_N(m->arena, struct tbp_track_ref, t->n);
            memcpy(t->refs, d->refs.at, t->n * sizeof *t->refs);
            tbp_vec_release(&d->refs);
        }
        t->serial = TBP_NEW_N(m->arena, uint32_t, t->n);
    }
    return tbp_pool_for(pool, x->n_tracks, finish_track, x, err);
}

/* ---- merge ---- */

static bool comes_first(const struct tbp_track_cursor *a, const struct tbp_track_cursor *b) {
    if (a->begin_ps != b->begin_ps)
        return a->begin_ps < b->begin_ps;
    if (a->dur_ps != b->dur_ps)
        return a->dur_ps > b->dur_ps;
    return a->track < b->track;
}

static void load(const struct tbp_trace_index *x, struct tbp_track_cursor *c) {
    size_t at = c->picks ? c->picks[c->at] : c->at;
    struct tbp_track_ref r = tbp_track_at(&x->tracks[c->track], at);
    c->begin_ps = tbp_index_begin(x, r);
    c->dur_ps = tbp_index_dur(x, r);
}

static void sift_down(struct tbp_track_merge *m, size_t i) {
    struct tbp_track_cursor c = m->heap[i];
    for (size_t k; (k = 2 * i + 1) < m->n; i = k) {
        if (k + 1 < m->n && comes_first(&m->heap[k + 1], &m->heap[k]))
            k++;
        if (!comes_first(&m->heap[k], &c))
            break;
        m->heap[i] = m->heap[k];
    }
    m->heap[i] = c;
}

void tbp_track_merge_add(struct tbp_track_merge *m, uint32_t track, const uint32_t *picks,
                         size_t from, size_t to) {
    if (from >= to)
        return;
    struct tbp_track_cursor *c = &m->heap[m->n++];
    *c = (struct tbp_track_cursor){.track = track, .at = from, .end = to, .picks = picks};
    load(m->index, c);
}

void tbp_track_merge_start(struct tbp_track_merge *m) {
    for (size_t i = m->n / 2; i-- > 0;)
        sift_down(m, i);
}

bool tbp_track_merge_next(struct tbp_track_merge *m, uint32_t *track, size_t *at,
                          uint64_t *begin_ps) {
    if (m->n == 0)
        return false;
    struct tbp_track_cursor *c = &m->heap[0];
    *track = c->track;
    *at = c->picks ? c->picks[c->at] : c->at;
    *begin_ps = c->begin_ps;
    if (++c->at < c->end)
        load(m->index, c);
    else
        m->heap[0] = m->heap[--m->n];
    if (m->n > 1)
        sift_down(m, 0);
    return true;
}

/* ---- serials ---- */

struct stretch { /* of time: every track from first[track] to the next stretch's */
    size_t *first;
    TBP_VEC(struct tbp_track_flow) flows;
    size_t n_lost;
};

struct numbering {
    struct tbp_trace_index *x;
    struct stretch *stretches;
    struct tbp_track_cursor **heaps;
};

size_t tbp_track_lower_bound(const struct tbp_trace_index *x, const struct tbp_track *t,
                             uint64_t begin) {
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (tbp_index_begin(x, tbp_track_at(t, mid)) < begin)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static int number_stretch(void *ctx, size_t i, struct tbp_error *err) {
    (void)err;
    struct numbering *n = ctx;
    struct tbp_trace_index *x = n->x;
    struct stretch *s = &n->stretches[i];
    struct tbp_track_merge merge = {.index = x, .heap = n->heaps[i]};
    for (uint32_t t = 0; t < x->n_tracks; t++)
        tbp_track_merge_add(&merge, t, NULL, s->first[t], n->stretches[i + 1].first[t]);
    tbp_track_merge_start(&merge);
    uint32_t track, serial = 0;
    uint64_t begin, last = 0;
    bool is_first = true;
    for (size_t at; tbp_track_merge_next(&merge, &track, &at, &begin); is_first = false) {
        serial = !is_first && begin == last ? serial + 1 : 0;
        last = begin;
        struct tbp_track *t = &x->tracks[track];
        t->serial[at] = serial;
        s->n_lost += tbp_track_is_lost(x, t, at);
        if (x->flows[tbp_track_at(t, at).line] &&
            tbp_index_flow(x, tbp_track_at(t, at)) != TBP_NO_FLOW)
            *tbp_vec_push(&s->flows) = (struct tbp_track_flow){track, (uint32_t)at};
    }
    return TBP_OK;
}

static int by_value(const void *a, const void *b, void *ctx) {
    (void)ctx;
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Begins that cut the trace into n stretches of about equal numbers of events. */
static void choose_cuts(const struct tbp_trace_index *x, uint64_t *cuts, size_t n) {
    enum { SAMPLES = 4096 };
    size_t step = x->n_events / SAMPLES + 1;
    TBP_VEC(uint64_t) sample = {0};
    size_t skipped = 0;
    for (size_t t = 0; t < x->n_tracks; t++)
        for (size_t i = 0; i < x->tracks[t].n; i++)
            if (skipped++ % step == 0)
                *tbp_vec_push(&sample) = tbp_index_begin(x, tbp_track_at(&x->tracks[t], i));
    tbp_sort(sample.at, sample.n, sizeof *sample.at, by_value, NULL);
    for (size_t k = 1; k < n; k++)
        cuts[k] = sample.n ? sample.at[k * sample.n / n] : 0;
    tbp_vec_release(&sample);
}

static void join_flows(struct tbp_trace_index *x, struct tbp_arena *a, struct stretch *s,
                       size_t n) {
    for (size_t i = 0; i < n; i++) {
        x->n_flow_events += s[i].flows.n;
        x->n_lost += s[i].n_lost;
    }
    x->flow_events = TBP_NEW_N(a, struct tbp_track_flow, x->n_flow_events);
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i].flows.n)
            memcpy(x->flow_events + at, s[i].flows.at, s[i].flows.n * sizeof *x->flow_events);
        at += s[i].flows.n;
        tbp_vec_release(&s[i].flows);
    }
}

static int number_events(struct tbp_trace_index *x, struct tbp_arena *a, struct tbp_pool *pool,
                         struct tbp_error *err) {
    size_t n = x->n_events < 65536 ? 1 : 2 * (size_t)tbp_pool_threads(pool);
    struct numbering job = {.x = x};
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    uint64_t *cuts = TBP_NEW_N(&scratch, uint64_t, n);
    choose_cuts(x, cuts, n);
    job.stretches = TBP_NEW_N(&scratch, struct stretch, n + 1);
    job.heaps = TBP_NEW_N(&scratch, struct tbp_track_cursor *, n);
    for (size_t k = 0; k <= n; k++) {
        job.stretches[k].first = TBP_NEW_N(&scratch, size_t, x->n_tracks);
        for (size_t t = 0; t < x->n_tracks; t++)
            job.stretches[k].first[t] = k == 0   ? 0
                                        : k == n ? x->tracks[t].n
                                                 : tbp_track_lower_bound(x, &x->tracks[t], cuts[k]);
        if (k < n)
            job.heaps[k] = TBP_NEW_N(&scratch, struct tbp_track_cursor, x->n_tracks);
    }
    int status = tbp_pool_for(pool, n, number_stretch, &job, err);
    join_flows(x, a, job.stretches, n);
    tbp_arena_release(&scratch);
    return status;
}

/* ---- the whole ---- */

static void sum_looks(struct tbp_trace_index *x, const struct look *looks) {
    for (size_t i = 0; i < x->n_lines; i++) {
        if (looks[i].has_low && (!x->has_low || looks[i].low_ps < x->low_ps))
            x->low_ps = looks[i].low_ps;
        if (looks[i].has_high && (!x->has_high || looks[i].high_ps > x->high_ps))
            x->high_ps = looks[i].high_ps;
        x->has_low |= looks[i].has_low;
        x->has_high |= looks[i].has_high;
    }
}

int tbp_trace_index_make(struct tbp_trace_index *x, const struct tbp_trace *trace, bool keeps_all,
                         struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err) {
    *x = (struct tbp_trace_index){.trace = trace, .keeps_all = keeps_all};
    struct making m = {.x = x, .arena = a};
    tbp_arena_init(&m.scratch);
    collect_lines(&m);
    int status = tbp_pool_for(pool, x->n_lines, look_at_line, &m, err);
    if (!status) {
        sum_looks(x, m.looks);
        for (uint32_t i = 0; i < x->n_lines; i++)
            draft_line(&m, i);
        status = make_tracks(&m, pool, err);
    }
    tbp_vec_release(&m.drafts);
    tbp_idmap_release(&m.threads);
    tbp_idmap_release(&m.loose);
    tbp_strtab_release(&m.names);
    tbp_arena_release(&m.scratch);
    return status ? status : number_events(x, a, pool, err);
}
