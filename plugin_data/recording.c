/* SPDX-License-Identifier: Apache-2.0
 *
 * See recording.h. The walk that finds the threads reads each committed record once, so that later
 * walks meet only records that lie whole in their chunk.
 */
#include "plugin_data/recording.h"

#include "base/map.h"
#include "base/sort.h"
#include "plugin_data/rec_strings.h"

enum { SLOT = TBP_SPOOL_SLOT_BYTES, CHUNK_HEAD_SLOTS = sizeof(struct tbp_spool_chunk) / SLOT };
#define MAX_SPOOL_BYTES ((uint64_t)UINT32_MAX * SLOT)

struct indexing { /* one opening */
    struct tbp_recording *s;
    struct tbp_arena *arena;
    uint64_t until_ticks;
    bool is_live;
    struct tbp_idmap by_key; /* pid and serial -> thread */
    TBP_VEC(struct tbp_rec_thread) threads;
    TBP_VEC(uint32_t) thread_of_run;
};

bool tbp_recording_is_spool(const uint8_t *data, uint64_t size_bytes) {
    uint64_t magic = TBP_SPOOL_MAGIC;
    return size_bytes >= sizeof magic && memcmp(data, &magic, sizeof magic) == 0;
}

static uint32_t load(const uint32_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static int read_header(struct tbp_recording *s, struct tbp_error *err) {
    struct tbp_spool_header *h = &s->head;
    if (!tbp_recording_is_spool(s->data, s->size_bytes))
        return tbp_fail(err, TBP_E_FORMAT, "not a spool of tbprof");
    if (s->size_bytes < TBP_SPOOL_HEADER_BYTES)
        return tbp_fail(err, TBP_E_TRUNCATED, "the spool ends inside its header");
    memcpy(h, s->data, sizeof *h);
    h->hostname[sizeof h->hostname - 1] = h->logdir[sizeof h->logdir - 1] = '\0';
    h->run[sizeof h->run - 1] = h->options[sizeof h->options - 1] = '\0';
    h->command[sizeof h->command - 1] = '\0';
    if (h->version != TBP_SPOOL_VERSION)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "a spool of version %u, known is %d", h->version,
                        TBP_SPOOL_VERSION);
    if (h->state == TBP_SPOOL_EMPTY || h->state > TBP_SPOOL_WRITTEN)
        return tbp_fail(err, TBP_E_FORMAT, "the process ended before the spool was set up");
    if (h->chunk_bytes != TBP_SPOOL_CHUNK_BYTES || h->chunks_offset % SLOT != 0 ||
        h->chunks_offset < TBP_SPOOL_HEADER_BYTES)
        return tbp_fail(err, TBP_E_FORMAT, "a spool with chunks of %u bytes at %llu",
                        h->chunk_bytes, (unsigned long long)h->chunks_offset);
    if (s->size_bytes > MAX_SPOOL_BYTES)
        s->size_bytes = MAX_SPOOL_BYTES;
    return TBP_OK;
}

static void read_clock(struct tbp_recording *s, struct tbp_arena *arena) {
    const struct tbp_spool_header *h = &s->head;
    const struct tbp_spool_anchor *anchors = NULL;
    uint64_t n = h->n_anchors < TBP_SPOOL_ANCHORS ? h->n_anchors : TBP_SPOOL_ANCHORS;
    if (h->anchors_offset % 8 != 0 || h->anchors_offset > s->size_bytes ||
        (s->size_bytes - h->anchors_offset) / sizeof *anchors < n) {
        s->n_defects++;
        n = 0;
    } else {
        anchors = (const void *)(s->data + h->anchors_offset);
    }
    tbp_rec_clock_init(&s->clock, arena, anchors, (uint32_t)n, h->ticks_base, h->clock_is_tsc != 0,
                       h->start_realtime_ns);
}

/* ---- chunks ---- */

static struct tbp_rec_thread *thread_of(struct indexing *x, const struct tbp_spool_chunk *c,
                                        uint32_t *index) {
    bool is_new;
    uint64_t key = (uint64_t)(uint32_t)c->pid << 32 | c->thread;
    uint32_t *slot = tbp_idmap_put(&x->by_key, key, &is_new);
    if (is_new) {
        *slot = (uint32_t)x->threads.n;
        *tbp_vec_push(&x->threads) =
            (struct tbp_rec_thread){.serial = c->thread, .tid = c->tid, .pid = c->pid};
    }
    *index = *slot;
    return &x->threads.at[*slot];
}

/* Finds how far the records of the run are whole and not too late. */
static void measure_run(struct indexing *x, struct tbp_rec_run *run) {
    struct tbp_recording *s = x->s;
    struct tbp_rec_walk w = tbp_rec_walk_of(s, run);
    const struct tbp_spool_slot *first = w.at;
    struct tbp_rec r;
    while (tbp_rec_next(&w, &r)) {
        if (r.ticks > x->until_ticks) {
            w.at = w.end = r.at;
            break;
        }
        s->n_records++;
        if (r.kind >= TBP_REC_KINDS) {
            s->n_defects++;
            continue;
        }
        run->kinds |= TBP_REC_BIT(r.kind);
        s->first_ticks = r.ticks < s->first_ticks ? r.ticks : s->first_ticks;
        s->last_ticks = r.ticks > s->last_ticks ? r.ticks : s->last_ticks;
        if (r.kind == TBP_REC_BEGIN)
            s->n_by_level[tbp_rec_level(&r)]++;
    }
    if (w.at < w.end && TBP_SPOOL_KIND(w.at->head) != TBP_REC_NONE)
        s->n_defects++; /* a record that ends beyond what is committed */
    run->n_slots = (uint32_t)(w.at - first);
    run->taken_bytes += run->n_slots * SLOT;
}

const struct tbp_spool_chunk *tbp_recording_chunk(const struct tbp_recording *s, uint32_t number) {
    return (const void *)(s->data + s->head.chunks_offset +
                          (uint64_t)number * TBP_SPOOL_CHUNK_BYTES);
}

/* Takes the run's slots out of the hands of a process that may use their chunk again. False: it
 * has. */
static bool copy_run(struct tbp_recording *s, const struct tbp_spool_chunk *c,
                     struct tbp_rec_run *run) {
    size_t n = s->copies.n;
    if (run->n_slots == 0)
        return true;
    if (n + run->n_slots > UINT32_MAX - s->n_file_slots)
        return false;
    tbp_vec_reserve(&s->copies, n + run->n_slots + 1); /* + 1: never NULL */
    memcpy(s->copies.at + n, tbp_rec_slot(s, run->slot), (size_t)run->n_slots * SLOT);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (load(&c->state) == TBP_SPOOL_CHUNK_UNUSED || c->sequence != run->sequence ||
        load(&c->committed) < run->taken_bytes + run->n_slots * SLOT)
        return false;
    s->copies.n += run->n_slots;
    run->slot = s->n_file_slots + (uint32_t)n;
    return true;
}

/* How many slots of the chunk are complete records. */
static uint32_t committed_slots(struct tbp_recording *s, const struct tbp_spool_chunk *c,
                                uint32_t number) {
    uint64_t room =
        s->size_bytes - s->head.chunks_offset - (uint64_t)number * TBP_SPOOL_CHUNK_BYTES;
    uint32_t bytes = load(&c->committed), slots = bytes / SLOT;
    uint32_t most = (room > TBP_SPOOL_CHUNK_BYTES ? TBP_SPOOL_CHUNK_BYTES : (uint32_t)room) / SLOT -
                    CHUNK_HEAD_SLOTS;
    if (slots > most || bytes % SLOT != 0)
        s->n_defects++;
    return slots > most ? most : slots;
}

static struct tbp_rec_run whole_chunk(const struct tbp_recording *s, uint32_t number) {
    const struct tbp_spool_chunk *c = tbp_recording_chunk(s, number);
    uint64_t offset = (uint64_t)((const uint8_t *)(c + 1) - s->data);
    return (struct tbp_rec_run){
        .sequence = c->sequence, .chunk = number, .slot = (uint32_t)(offset / SLOT)};
}

static void take_records(struct indexing *x, const struct tbp_spool_chunk *c, uint32_t number) {
    struct tbp_recording *s = x->s;
    uint32_t state = load(&c->state), index;
    struct tbp_rec_run run = whole_chunk(s, number);
    uint32_t slots = committed_slots(s, c, number), consumed = c->consumed / SLOT;
    consumed = consumed > slots ? slots : consumed;
    run.slot += consumed;
    run.n_slots = slots - consumed;
    run.taken_bytes = consumed * SLOT;
    if (x->is_live && state != TBP_SPOOL_CHUNK_READING && !copy_run(s, c, &run))
        return;
    struct tbp_rec_thread *t = thread_of(x, c, &index);
    measure_run(x, &run);
    t->kinds |= run.kinds;
    /* What an earlier snapshot took is not missing. */
    run.after_gap = consumed == 0;
    run.n_lost = consumed == 0 ? c->n_lost_before : 0;
    *tbp_vec_push(&s->runs) = run;
    *tbp_vec_push(&x->thread_of_run) = index;
}

/* The chunk of that number if it is in use and of this session. */
static const struct tbp_spool_chunk *used_chunk(const struct tbp_recording *s, uint32_t number,
                                                enum tbp_spool_chunk_kind kind) {
    const struct tbp_spool_chunk *c = tbp_recording_chunk(s, number);
    bool is_used = load(&c->state) != TBP_SPOOL_CHUNK_UNUSED && c->magic == TBP_SPOOL_CHUNK_MAGIC;
    return is_used && c->generation == s->head.generation && c->kind == kind ? c : NULL;
}

static uint32_t n_chunks(const struct tbp_recording *s) {
    if (s->head.chunks_offset >= s->size_bytes)
        return 0;
    uint64_t room = s->size_bytes - s->head.chunks_offset;
    /* The last one may be cut anywhere behind its header. */
    uint64_t n = room / TBP_SPOOL_CHUNK_BYTES +
                 (room % TBP_SPOOL_CHUNK_BYTES >= sizeof(struct tbp_spool_chunk));
    uint32_t used = load(&((const struct tbp_spool_header *)(const void *)s->data)->n_chunks);
    return n < used ? (uint32_t)n : used;
}

static int by_sequence(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_rec_run *x = a, *y = b;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* After the records: a record that is committed has its strings committed, perhaps in a chunk that
 * was not there when they were begun with. */
static void take_strings(struct indexing *x) {
    struct tbp_recording *s = x->s;
    uint32_t n = n_chunks(s);
    TBP_VEC(struct tbp_rec_run) runs = {0};
    struct tbp_rec_strings strings;
    tbp_rec_strings_init(&strings, x->arena);
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_spool_chunk *c = used_chunk(s, i, TBP_SPOOL_CHUNK_STRINGS);
        if (!c)
            continue;
        struct tbp_rec_run run = whole_chunk(s, i);
        run.n_slots = committed_slots(s, c, i);
        *tbp_vec_push(&runs) = run;
    }
    tbp_sort(runs.at, runs.n, sizeof *runs.at, by_sequence, NULL);
    for (size_t i = 0; i < runs.n; i++)
        s->n_defects += tbp_rec_strings_take(&strings, tbp_rec_walk_of(s, &runs.at[i]));
    tbp_rec_strings_finish(&strings, &s->strings, &s->n_strings);
    tbp_vec_release(&runs);
}

static void take_chunks(struct indexing *x) {
    uint32_t n = n_chunks(x->s);
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_spool_chunk *c = used_chunk(x->s, i, TBP_SPOOL_CHUNK_RECORDS);
        if (c)
            take_records(x, c, i);
    }
    take_strings(x);
}

/* ---- threads ---- */

struct order {
    const struct tbp_rec_run *runs;
    const struct tbp_rec_thread *threads;
    const uint32_t *thread_of_run;
};

static int by_thread_and_sequence(const void *a, const void *b, void *ctx) {
    const struct order *o = ctx;
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct tbp_rec_thread *t = &o->threads[o->thread_of_run[i]],
                                *u = &o->threads[o->thread_of_run[k]];
    if (t != u) {
        if (t->pid != u->pid)
            return t->pid < u->pid ? -1 : 1;
        return t->serial < u->serial ? -1 : 1;
    }
    uint64_t x = o->runs[i].sequence, y = o->runs[k].sequence;
    return x < y ? -1 : x > y;
}

static bool is_gap(const struct tbp_rec_run *before, const struct tbp_rec_run *run) {
    return run->after_gap && run->sequence != before->sequence + 1;
}

/* Takes runs order[0 … n-1], all of one thread, over into it. */
static void fill_thread(struct indexing *x, struct tbp_rec_thread *t, const uint32_t *order,
                        size_t n, struct tbp_rec_run *to) {
    const struct tbp_rec_run *from = x->s->runs.at;
    t->runs = to;
    for (size_t i = 0; i < n; i++) {
        const struct tbp_rec_run *run = &from[order[i]];
        bool gap = i > 0 ? is_gap(&from[order[i - 1]], run) : run->after_gap && run->sequence > 0;
        const struct tbp_spool_chunk *c = tbp_recording_chunk(x->s, run->chunk);
        struct tbp_str name = {c->thread_name, strnlen(c->thread_name, sizeof c->thread_name)};
        if (name.n)
            t->name = tbp_arena_str(x->arena, name);
        to[t->n_runs] = *run;
        to[t->n_runs++].after_gap = gap;
    }
}

static void sort_threads(struct indexing *x) {
    struct tbp_recording *s = x->s;
    size_t n = s->runs.n, done = 0;
    uint32_t *order = TBP_NEW_N(x->arena, uint32_t, n + 1);
    struct tbp_rec_run *sorted = TBP_NEW_N(x->arena, struct tbp_rec_run, n + 1);
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    struct order ctx = {s->runs.at, x->threads.at, x->thread_of_run.at};
    tbp_sort(order, n, sizeof *order, by_thread_and_sequence, &ctx);
    s->threads = TBP_NEW_N(x->arena, struct tbp_rec_thread, x->threads.n + 1);
    while (done < n) {
        uint32_t thread = x->thread_of_run.at[order[done]];
        size_t end = done;
        while (end < n && x->thread_of_run.at[order[end]] == thread)
            end++;
        struct tbp_rec_thread *t = &s->threads[s->n_threads++];
        *t = x->threads.at[thread];
        fill_thread(x, t, order + done, end - done, sorted + done);
        done = end;
    }
}

int tbp_recording_open(struct tbp_recording *s, struct tbp_arena *arena, const uint8_t *data,
                       uint64_t size_bytes, const struct tbp_recording_bounds *bounds,
                       struct tbp_error *err) {
    *s = (struct tbp_recording){.data = data, .size_bytes = size_bytes, .first_ticks = UINT64_MAX};
    TBP_BUG_IF((uintptr_t)data % SLOT != 0);
    int status = read_header(s, err);
    if (status)
        return status;
    s->n_file_slots = (uint32_t)(s->size_bytes / SLOT);
    read_clock(s, arena);
    struct indexing x = {.s = s,
                         .arena = arena,
                         .until_ticks = UINT64_MAX,
                         .is_live = bounds->is_live && s->head.state == TBP_SPOOL_RECORDING};
    if (bounds->until_realtime_ns != INT64_MAX) {
        int64_t ps = tbp_rec_clock_realtime_ps(&s->clock, bounds->until_realtime_ns);
        x.until_ticks = ps < 0 ? 0 : tbp_rec_clock_ticks(&s->clock, ps);
    }
    take_chunks(&x);
    sort_threads(&x);
    tbp_idmap_release(&x.by_key);
    tbp_vec_release(&x.threads);
    tbp_vec_release(&x.thread_of_run);
    return TBP_OK;
}

void tbp_recording_release(struct tbp_recording *s) {
    tbp_vec_release(&s->runs);
    tbp_vec_release(&s->copies);
}

/* ---- records and arguments ---- */

struct tbp_rec_walk tbp_rec_walk_of(const struct tbp_recording *s, const struct tbp_rec_run *run) {
    const struct tbp_spool_slot *at = tbp_rec_slot(s, run->slot);
    return (struct tbp_rec_walk){at, at + run->n_slots, run->slot};
}

struct tbp_rec tbp_rec_at(const struct tbp_recording *s, uint32_t slot) {
    struct tbp_rec r;
    tbp_rec_of(&r, tbp_rec_slot(s, slot), slot);
    return r;
}

static unsigned inline_name_bytes(const struct tbp_rec *r) {
    unsigned n = r->at->aux & 0xffff;
    return n > r->extra * SLOT ? r->extra * SLOT : n;
}

struct tbp_str tbp_rec_name(const struct tbp_recording *s, const struct tbp_rec *r) {
    if (r->at->name != TBP_SPOOL_NAME_INLINE)
        return tbp_rec_string(s, r->at->name);
    return (struct tbp_str){(const char *)(r->at + 1), inline_name_bytes(r)};
}

/* END and its like have no name: their aux counts something else. */
static bool has_inline_name(const struct tbp_rec *r) {
    const uint32_t nameless = TBP_REC_BIT(TBP_REC_END) | TBP_REC_BIT(TBP_REC_ASYNC_END) |
                              TBP_REC_BIT(TBP_REC_FLOW_OUT) | TBP_REC_BIT(TBP_REC_FLOW_IN) |
                              TBP_REC_BIT(TBP_REC_DROPPED) | TBP_REC_BIT(TBP_REC_ARGS);
    return r->at->name == TBP_SPOOL_NAME_INLINE && !(nameless >> r->kind & 1);
}

struct tbp_rec_arg_walk tbp_rec_args(const struct tbp_rec *r) {
    unsigned name_slots = has_inline_name(r) ? (inline_name_bytes(r) + SLOT - 1) / SLOT : 0;
    return (struct tbp_rec_arg_walk){r->at + 1 + name_slots, r->at + 1 + r->extra};
}

bool tbp_rec_next_arg(const struct tbp_recording *s, struct tbp_rec_arg_walk *w,
                      struct tbp_rec_arg *a) {
    if (w->at >= w->end)
        return false;
    const struct tbp_spool_arg *arg = (const void *)w->at;
    size_t more = (size_t)(w->end - w->at) - 1;
    *a = (struct tbp_rec_arg){.key = arg->key, .type = arg->type, .value = arg->value};
    if (arg->type < TBP_ARG_I64 || arg->type > TBP_ARG_SPAN || arg->extra > more) {
        w->at = w->end; /* what follows cannot be trusted */
        return false;
    }
    if (arg->type == TBP_ARG_TEXT) {
        size_t n = arg->size < (size_t)arg->extra * SLOT ? arg->size : (size_t)arg->extra * SLOT;
        a->text = (struct tbp_str){(const char *)(w->at + 1), n};
    } else if (arg->type == TBP_ARG_ID) {
        a->text = tbp_rec_string(s, arg->value > UINT32_MAX ? UINT32_MAX : (uint32_t)arg->value);
    } else if (arg->type == TBP_ARG_SPAN) {
        if (more < 1)
            return false;
        memcpy(&a->second, w->at + 1, sizeof a->second);
        w->at += arg->extra ? 0 : 1; /* the second slot belongs to it, whether counted or not */
    }
    w->at += 1 + arg->extra;
    return true;
}

bool tbp_rec_value(const struct tbp_recording *s, const struct tbp_rec *r, struct tbp_rec_arg *a) {
    struct tbp_rec_arg_walk w = tbp_rec_args(r);
    while (tbp_rec_next_arg(s, &w, a)) {
        if (a->key == 0)
            return true;
    }
    return false;
}

const struct tbp_spool_memory *tbp_rec_memory_block(const struct tbp_rec *r) {
    struct tbp_rec_arg_walk w = tbp_rec_args(r);
    if ((size_t)(w.end - w.at) * SLOT < sizeof(struct tbp_spool_memory))
        return NULL;
    return (const void *)w.at;
}
