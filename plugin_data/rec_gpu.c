/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_gpu.h: finding the records, and putting them in order.
 */
#include "plugin_data/rec_gpu.h"

#include "base/sort.h"
#include "plugin_data/rec_gpu_join.h"

#define GPU_KINDS                                                                                  \
    (TBP_REC_BIT(TBP_REC_GPU) | TBP_REC_BIT(TBP_REC_GPU_DEVICE) | TBP_REC_BIT(TBP_REC_GPU_LOSS))
#define DURATION_MAX_NS (INT64_MAX / 4000)

void tbp_rec_gpu_release(struct tbp_rec_gpu *g) {
    tbp_vec_release(&g->calls);
    tbp_vec_release(&g->memory);
    tbp_vec_release(&g->events);
    tbp_vec_release(&g->lines);
    tbp_idmap_release(&g->devices);
    tbp_idmap_release(&g->given);
    tbp_vec_release(&g->ordinals);
    tbp_vec_release(&g->host);
    tbp_idmap_release(&g->call_of);
    tbp_strtab_release(&g->texts);
}

const struct tbp_spool_gpu *tbp_rec_gpu_base(const struct tbp_rec *r, size_t more_bytes) {
    size_t bytes = (size_t)r->extra * TBP_SPOOL_SLOT_BYTES;
    return bytes < sizeof(struct tbp_spool_gpu) + more_bytes ? NULL : (const void *)(r->at + 1);
}

struct tbp_str tbp_rec_gpu_op(const struct tbp_rec_gpu *g, uint32_t correlation) {
    uint32_t call = correlation ? tbp_idmap_get(&g->call_of, correlation) : TBP_MAP_NONE;
    uint32_t op = call == TBP_MAP_NONE ? 0 : g->calls.at[call].op;
    return op ? g->texts.strs[op - 1] : TBP_STR_NONE;
}

static uint64_t key_of(uint32_t what, uint32_t device, uint32_t context, uint32_t stream) {
    return (uint64_t)what << 62 ^ (uint64_t)device << 48 ^ (uint64_t)context << 32 ^ stream;
}

struct tbp_str tbp_rec_gpu_given(const struct tbp_rec_gpu *g, enum tbp_gpu_named what,
                                 uint32_t device, uint32_t context, uint32_t stream) {
    uint32_t name = tbp_idmap_get(&g->given, key_of(what, device, context, stream));
    return name == TBP_MAP_NONE ? TBP_STR_NONE : tbp_rec_string(g->recording, name);
}

/* ---- finding ---- */

struct finding {
    struct tbp_rec_gpu *g;
    struct tbp_recording *s;
    struct tbp_idmap threads; /* tid -> thread */
    struct tbp_idmap lines;   /* hash of device, context, stream -> line */
    TBP_VEC(int32_t) new_tids;
    struct tbp_idmap names; /* tid -> string id */
};

static struct tbp_rec_span span_of(const struct finding *f, const struct tbp_spool_gpu *base,
                                   uint32_t slot) {
    uint64_t dur_ns = base->duration_ns < DURATION_MAX_NS ? base->duration_ns : DURATION_MAX_NS;
    return (struct tbp_rec_span){tbp_rec_clock_monotonic_ps(&f->s->clock, base->start_ns),
                                 (int64_t)dur_ns * 1000, slot};
}

/* Of threads with one number the last; unknown ones are numbered behind those that there are. */
static uint32_t thread_of(struct finding *f, int32_t tid) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(&f->threads, (uint32_t)tid, &is_new);
    if (is_new) {
        *slot = (uint32_t)(f->s->n_threads + f->new_tids.n);
        *tbp_vec_push(&f->new_tids) = tid;
    }
    return *slot;
}

static void take_call(struct finding *f, const struct tbp_rec *r,
                      const struct tbp_spool_gpu *base) {
    struct tbp_rec_gpu *g = f->g;
    bool is_new, is_runtime = base->device == TBP_GPU_API_RUNTIME;
    struct tbp_rec_gpu_call *call = tbp_vec_push(&g->calls);
    *call = (struct tbp_rec_gpu_call){.span = span_of(f, base, r->slot),
                                      .thread = thread_of(f, base->tid),
                                      .correlation = base->correlation};
    if (!base->correlation)
        return;
    uint32_t *known = tbp_idmap_put(&g->call_of, base->correlation, &is_new);
    if (!is_new && is_runtime) /* the driver's part has the number of the runtime's call */
        g->calls.at[*known].is_hidden = true;
    else if (!is_new)
        call->is_hidden = true;
    if (is_new || is_runtime)
        *known = (uint32_t)g->calls.n - 1;
}

static uint32_t line_of(struct finding *f, const struct tbp_spool_gpu *base) {
    struct tbp_rec_gpu *g = f->g;
    bool is_new;
    uint64_t key = key_of(0, base->device, base->context, base->stream);
    uint32_t *slot = tbp_idmap_put(&f->lines, key, &is_new);
    if (is_new && g->lines.n >= TBP_REC_GPU_MAX_LINES) {
        *slot = (uint32_t)g->lines.n - 1;
    } else if (is_new) {
        *slot = (uint32_t)g->lines.n;
        *tbp_vec_push(&g->lines) = (struct tbp_rec_gpu_line){
            .device = base->device, .context = base->context, .stream = base->stream};
    }
    return *slot;
}

static void take_event(struct finding *f, const struct tbp_rec *r, const struct tbp_spool_gpu *base,
                       uint32_t line) {
    *tbp_vec_push(&f->g->events) = (struct tbp_rec_gpu_event){span_of(f, base, r->slot), line};
    f->g->lines.at[line].n++;
}

static void take_memory(struct finding *f, const struct tbp_rec *r,
                        const struct tbp_spool_gpu *base) {
    *tbp_vec_push(&f->g->memory) = (struct tbp_rec_gpu_call){.span = span_of(f, base, r->slot),
                                                             .correlation = base->correlation};
}

static const size_t more_bytes[TBP_GPU_KINDS] = {
    [TBP_GPU_KERNEL] = sizeof(struct tbp_spool_gpu_launch),
    [TBP_GPU_MEMCPY] = sizeof(struct tbp_spool_gpu_copy),
    [TBP_GPU_MEMSET] = sizeof(struct tbp_spool_gpu_copy),
    [TBP_GPU_ALLOC] = sizeof(struct tbp_spool_gpu_memory),
    [TBP_GPU_FREE] = sizeof(struct tbp_spool_gpu_memory),
    [TBP_GPU_FAULTS] = sizeof(struct tbp_spool_gpu_copy),
};

static void take(struct finding *f, const struct tbp_rec *r) {
    bool is_new;
    enum tbp_gpu_kind kind = tbp_rec_gpu_kind(r);
    const struct tbp_spool_gpu *base =
        kind < TBP_GPU_KINDS ? tbp_rec_gpu_base(r, more_bytes[kind]) : NULL;
    if (!base || kind == TBP_GPU_NONE)
        f->s->n_defects++;
    else if (kind == TBP_GPU_API)
        take_call(f, r, base);
    else if (kind == TBP_GPU_THREAD)
        *tbp_idmap_put(&f->names, (uint32_t)base->tid, &is_new) = r->at->name;
    else if (kind == TBP_GPU_NAMED)
        *tbp_idmap_put(&f->g->given, key_of(base->graph, base->device, base->context, base->stream),
                       &is_new) = r->at->name;
    else if (kind == TBP_GPU_ALLOC || kind == TBP_GPU_FREE)
        take_memory(f, r, base);
    else if (kind == TBP_GPU_SYNC)
        take_event(f, r, base, TBP_REC_GPU_SYNC_LINE);
    else if (kind == TBP_GPU_OVERHEAD)
        take_event(f, r, base, TBP_REC_GPU_OVERHEAD_LINE);
    else if (base->device < TBP_REC_GPU_MAX_DEVICES)
        take_event(f, r, base, line_of(f, base));
    else
        f->s->n_defects++;
}

static void take_device(struct finding *f, const struct tbp_rec *r) {
    const struct tbp_spool_gpu_device *d = (const void *)(r->at + 1);
    bool is_new;
    if ((size_t)r->extra * TBP_SPOOL_SLOT_BYTES < sizeof *d ||
        d->ordinal >= TBP_REC_GPU_MAX_DEVICES)
        f->s->n_defects++;
    else
        *tbp_idmap_put(&f->g->devices, d->ordinal, &is_new) = r->slot;
}

static void take_any(struct finding *f, const struct tbp_rec *r) {
    struct tbp_rec_arg n = {0};
    uint32_t what = r->at->aux & 0xffff;
    if (r->kind == TBP_REC_GPU) {
        take(f, r);
    } else if (r->kind == TBP_REC_GPU_DEVICE) {
        take_device(f, r);
    } else if (what < TBP_GPU_LOSSES && tbp_rec_value(f->s, r, &n)) {
        f->g->n_losses[what] += n.value;
    }
}

/* Threads that called into CUDA and recorded nothing themselves. */
static void add_threads(struct finding *f) {
    struct tbp_recording *s = f->s;
    size_t n = s->n_threads + f->new_tids.n;
    if (f->new_tids.n == 0)
        return;
    struct tbp_rec_thread *threads = TBP_NEW_N(f->g->arena, struct tbp_rec_thread, n + 1);
    if (s->n_threads)
        memcpy(threads, s->threads, s->n_threads * sizeof *threads);
    for (size_t i = s->n_threads; i < n; i++) {
        int32_t tid = f->new_tids.at[i - s->n_threads];
        threads[i] = (struct tbp_rec_thread){
            .serial = UINT32_MAX - (uint32_t)i,
            .tid = tid,
            .pid = s->head.pid,
            .name = tbp_rec_string(s, tbp_idmap_get(&f->names, (uint32_t)tid))};
    }
    s->threads = threads;
    s->n_threads = n;
}

static void walk(struct finding *f, const struct tbp_rec_thread *t) {
    for (size_t i = 0; i < t->n_runs; i++) {
        if (!(t->runs[i].kinds & GPU_KINDS))
            continue;
        struct tbp_rec_walk w = tbp_rec_walk_of(f->s, &t->runs[i]);
        struct tbp_rec r;
        while (tbp_rec_next(&w, &r))
            if (r.kind < TBP_REC_KINDS && GPU_KINDS >> r.kind & 1)
                take_any(f, &r);
    }
}

void tbp_rec_gpu_read(struct tbp_rec_gpu *g, struct tbp_recording *s, struct tbp_arena *arena) {
    struct finding f = {.g = g, .s = s};
    bool is_new;
    *g = (struct tbp_rec_gpu){.recording = s, .arena = arena};
    for (int i = 0; i < TBP_REC_GPU_HOST_LINES; i++)
        *tbp_vec_push(&g->lines) = (struct tbp_rec_gpu_line){0};
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i].pid == s->head.pid)
            *tbp_idmap_put(&f.threads, (uint32_t)s->threads[i].tid, &is_new) = (uint32_t)i;
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i].kinds & GPU_KINDS)
            walk(&f, &s->threads[i]);
    add_threads(&f);
    tbp_idmap_release(&f.threads);
    tbp_idmap_release(&f.lines);
    tbp_idmap_release(&f.names);
    tbp_vec_release(&f.new_tids);
}

/* ---- order ---- */

/* Since the profile's begin; false: it was over then. */
static bool shift(struct tbp_rec_span *span, int64_t base_ps) {
    span->start_ps -= base_ps;
    if (span->start_ps < 0) {
        span->dur_ps += span->start_ps;
        span->start_ps = 0;
    }
    return span->dur_ps >= 0;
}

static int by_span(const struct tbp_rec_span *x, const struct tbp_rec_span *y) {
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return x->dur_ps > y->dur_ps ? -1 : x->dur_ps < y->dur_ps;
}

static int by_line(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_rec_gpu_event *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return by_span(&x->span, &y->span);
}

static int by_thread(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_rec_gpu_call *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return by_span(&x->span, &y->span);
}

static void place_events(struct tbp_rec_gpu *g, int64_t base_ps) {
    size_t n = 0;
    for (size_t i = 0; i < g->events.n; i++) {
        struct tbp_rec_gpu_event e = g->events.at[i];
        if (shift(&e.span, base_ps))
            g->events.at[n++] = e;
        else
            g->n_early++;
    }
    g->events.n = n;
    tbp_sort(g->events.at, n, sizeof *g->events.at, by_line, NULL);
    for (size_t i = 0; i < g->lines.n; i++)
        g->lines.at[i].n = 0;
    for (size_t i = 0; i < n; i++) {
        struct tbp_rec_gpu_line *l = &g->lines.at[g->events.at[i].line];
        l->first = l->n == 0 ? i : l->first;
        l->n++;
    }
}

/* Calls in order of thread and time; `call_of` follows them. */
static void place_calls(struct tbp_rec_gpu *g, int64_t base_ps) {
    size_t n = 0;
    for (size_t i = 0; i < g->calls.n; i++) {
        struct tbp_rec_gpu_call c = g->calls.at[i];
        if (shift(&c.span, base_ps))
            g->calls.at[n++] = c;
        else
            g->n_early++;
    }
    g->calls.n = n;
    tbp_sort(g->calls.at, n, sizeof *g->calls.at, by_thread, NULL);
    tbp_idmap_release(&g->call_of);
    for (size_t i = 0; i < n; i++) {
        bool is_new;
        if (g->calls.at[i].correlation && !g->calls.at[i].is_hidden)
            *tbp_idmap_put(&g->call_of, g->calls.at[i].correlation, &is_new) = (uint32_t)i;
    }
}

/* Allocations belong to the thread of their call; those without, to the first thread that called,
 * or the first there is. */
static void place_memory(struct tbp_rec_gpu *g, int64_t base_ps) {
    size_t n = 0;
    for (size_t i = 0; i < g->memory.n; i++) {
        struct tbp_rec_gpu_call m = g->memory.at[i];
        uint32_t call = m.correlation ? tbp_idmap_get(&g->call_of, m.correlation) : TBP_MAP_NONE;
        g->n_without_call += call == TBP_MAP_NONE;
        if (call != TBP_MAP_NONE)
            m.thread = g->calls.at[call].thread;
        else if (g->calls.n > 0)
            m.thread = g->calls.at[0].thread;
        if (shift(&m.span, base_ps))
            g->memory.at[n++] = m;
        else
            g->n_early++;
    }
    g->memory.n = n;
    tbp_sort(g->memory.at, n, sizeof *g->memory.at, by_thread, NULL);
}

static void push_host(struct tbp_rec_gpu *g, const struct tbp_rec_gpu_call *c) {
    if (!c->is_hidden)
        *tbp_vec_push(&g->host) = c->span;
}

/* Both lists as one, by thread and time. */
static void merge_host(struct tbp_rec_gpu *g) {
    size_t i = 0, k = 0;
    g->n_threads = g->recording->n_threads;
    g->host_first = TBP_NEW_N(g->arena, size_t, g->n_threads + 1);
    for (size_t t = 0; t < g->n_threads; t++) {
        g->host_first[t] = g->host.n;
        for (;;) {
            bool has_call = i < g->calls.n && g->calls.at[i].thread == t;
            bool has_memory = k < g->memory.n && g->memory.at[k].thread == t;
            if (has_call &&
                (!has_memory || by_span(&g->calls.at[i].span, &g->memory.at[k].span) <= 0))
                push_host(g, &g->calls.at[i++]);
            else if (has_memory)
                push_host(g, &g->memory.at[k++]);
            else
                break;
        }
    }
    g->host_first[g->n_threads] = g->host.n;
}

static int by_number(const void *a, const void *b, void *ctx) {
    (void)ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static void list_ordinals(struct tbp_rec_gpu *g) {
    size_t n = 0;
    for (size_t i = TBP_REC_GPU_HOST_LINES; i < g->lines.n; i++)
        if (g->lines.at[i].n > 0)
            *tbp_vec_push(&g->ordinals) = g->lines.at[i].device;
    tbp_sort(g->ordinals.at, g->ordinals.n, sizeof *g->ordinals.at, by_number, NULL);
    for (size_t i = 0; i < g->ordinals.n; i++)
        if (n == 0 || g->ordinals.at[n - 1] != g->ordinals.at[i])
            g->ordinals.at[n++] = g->ordinals.at[i];
    g->ordinals.n = n;
}

void tbp_rec_gpu_place(struct tbp_rec_gpu *g, int64_t base_ps,
                       const struct tbp_rec_gpu_carried *carried) {
    if (tbp_rec_gpu_is_empty(g))
        return;
    place_events(g, base_ps);
    place_calls(g, base_ps);
    place_memory(g, base_ps);
    list_ordinals(g);
    tbp_rec_gpu_join(g, base_ps, carried);
    merge_host(g);
}
