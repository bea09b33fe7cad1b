/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the lines of an xplane: counted, so that columns are exact, and read in chunks, while
 * the bytes are still at hand. Both are jobs.
 */
#include "convert/read/xplane_lines.h"

#include "base/guard.h"
#include "base/vec.h"
#include "convert/model/builder.h"
#include "convert/read/quick_event.h"
#include "convert/read/salvage.h"
#include "convert/read/wanted.h"
#include "schemas/xplane_fields.h"

#include <pthread.h>

/* Events of a line that are read by one job: CHUNK_EVENTS, the last of a line fewer; all of a line
 * that is damaged. */
enum { CHUNK_EVENTS = 1 << 15 };
struct chunk {
    const uint8_t *at; /* where the walk over the line meets the first of them */
    size_t n_read;
};

struct reading {
    struct tbp_host *host;
    struct tbp_pool *pool;
    const struct tbp_xline *lines;
    struct line_job *jobs;     /* as many */
    const uint8_t **is_wanted; /* per plane, as tbp_wanted_metas gives it */
    pthread_mutex_t lock;      /* host->ledger and host->columns */
};

struct line_job { /* a line at work */
    struct reading *r;
    const struct tbp_xline *x;
    struct tbp_line *l;
    size_t n_events;
    const uint8_t *is_wanted; /* by metadata index; if not NULL: */
    TBP_VEC(uint64_t) bodies; /* of the events that are wanted, as in tbp_event_body */
    TBP_VEC(struct chunk) chunks;
};

static uint64_t offset_in(const struct reading *r, const void *p) {
    return (uint64_t)((const uint8_t *)p - (const uint8_t *)r->host->input.data);
}

/* ---- counting ---- */

/* A walk over a line. Budget and ledger are of its own. */
struct line_walk {
    struct tbp_walk walk;
    struct tbp_ledger ledger;
    uint64_t budget;
};

static uint64_t budget_of(struct tbp_wire w) {
    return 8 * (uint64_t)(w.end - w.at) + 1024;
}

static void line_walk_init(struct line_walk *lw, const struct tbp_host *h, struct tbp_wire w,
                           bool is_cut) {
    tbp_ledger_init(&lw->ledger);
    lw->budget = budget_of(w);
    lw->walk = (struct tbp_walk){.w = w,
                                 .shape = &tbp_shape_xline,
                                 .file = h->input.data,
                                 .ledger = &lw->ledger,
                                 .budget = &lw->budget,
                                 .is_cut = is_cut};
}

const uint8_t *tbp_xline_cut_end(const struct tbp_host *host, struct tbp_wire w) {
    struct line_walk lw;
    struct tbp_wire_field f;
    bool is_cut;
    line_walk_init(&lw, host, w, true);
    while (tbp_walk_next(&lw.walk, &f, &is_cut))
        continue;
    return lw.walk.w.at;
}

/* By the first id in it; no writer gives two. An event whose id is not found at once is read. */
static bool is_wanted(const struct line_job *j, struct tbp_wire event) {
    const struct tbp_input *in = &j->r->host->input;
    int64_t id;
    bool has_slack = (const uint8_t *)in->data + in->size - event.end >= TBP_WIRE_SLACK;
    if (!has_slack || !tbp_quick_event_id(event, &id))
        return true;
    return j->is_wanted[tbp_plane_meta_index(j->l->plane, id)];
}

/* The length prefix that stands before content: its last byte has no continuation bit, those before
 * it do, and the key byte in front of them has none. */
static const uint8_t *prefix_of(const uint8_t *content, const uint8_t *line) {
    const uint8_t *p = content - 1;
    while (p - 1 > line && p[-1] & 0x80)
        p--;
    return p;
}

/* Of the event that the walk met at `at`. */
static void count_event(struct line_job *j, const uint8_t *at, struct tbp_wire event) {
    if (j->is_wanted && !is_wanted(j, event))
        return;
    if (j->n_events++ % CHUNK_EVENTS == 0)
        *tbp_vec_push(&j->chunks) = (struct chunk){.at = at};
    if (j->is_wanted)
        *tbp_vec_push(&j->bodies) = (uint64_t)(prefix_of(event.at, j->x->w.at) - j->x->w.at);
}

static void take_head(struct tbp_line *l, const struct tbp_wire_field *f) {
    switch (f->number) {
    case TBP_XLINE_ID:
        l->id = (int64_t)f->value;
        break;
    case TBP_XLINE_DISPLAY_ID:
        l->display_id = (int64_t)f->value;
        break;
    case TBP_XLINE_TIMESTAMP_NS:
        l->timestamp_ns = (int64_t)f->value;
        break;
    case TBP_XLINE_DURATION_PS:
        l->duration_ps = (int64_t)f->value;
        break;
    case TBP_XLINE_NAME:
        l->name = tbp_wire_str(f->bytes);
        break;
    case TBP_XLINE_DISPLAY_NAME:
        l->display_name = tbp_wire_str(f->bytes);
        break;
    }
}

static void check_text(const struct reading *r, struct tbp_str s, struct tbp_ledger *ledger) {
    size_t good = tbp_utf8_valid_prefix(s);
    if (good < s.n)
        tbp_ledger_count(ledger, TBP_LEDGER_INVALID_UTF8, 1, offset_in(r, s.p + good));
}

static void fold_ledger(struct reading *r, const struct tbp_ledger *ledger) {
    pthread_mutex_lock(&r->lock);
    tbp_ledger_add(&r->host->ledger, ledger);
    pthread_mutex_unlock(&r->lock);
}

static void count_line(struct line_job *j) {
    enum { AHEAD_BYTES = 1024 }; /* from event to event, the processor cannot see far ahead */
    const struct tbp_wire w = j->x->w;
    struct tbp_line *l = j->l;
    struct line_walk lw;
    struct tbp_wire_field f;
    bool event_cut;
    line_walk_init(&lw, j->r->host, w, j->x->is_cut);
    for (const uint8_t *at = w.at; tbp_walk_next(&lw.walk, &f, &event_cut); at = lw.walk.w.at) {
        __builtin_prefetch(at + AHEAD_BYTES);
        if (f.number == TBP_XLINE_EVENTS)
            count_event(j, at, f.bytes);
        else
            take_head(l, &f);
    }
    lw.ledger.events_read += lw.walk.n_lost;
    lw.ledger.events_dropped += lw.walk.n_lost;
    l->is_derived = tbp_is_derived_line(l->id);
    check_text(j->r, l->name, &lw.ledger);
    check_text(j->r, l->display_name, &lw.ledger);
    fold_ledger(j->r, &lw.ledger);
    /* beyond damage, only a walk from the beginning finds the same again */
    if (lw.budget < budget_of(w) && j->chunks.n) {
        j->chunks.n = 1;
        j->chunks.at[0].at = w.at;
    }
}

/* ---- reading ---- */
struct line_reading {
    struct reading *r;
    struct tbp_line *l;
    const uint8_t *file_end;
    uint64_t base_ps, over_base_ps; /* the latter 0 where base_ps runs over in any case */
    struct tbp_ledger ledger;
};

static void note(struct line_reading *lr, enum tbp_ledger_key key, const void *at) {
    tbp_ledger_count(&lr->ledger, key, 1, offset_in(lr->r, at));
}

/* Which stat it is, and its value if it is a group id. False if its bytes are broken. */
static bool read_stat(struct line_reading *lr, struct tbp_wire w, struct tbp_event_values *row) {
    const struct tbp_plane *p = lr->l->plane;
    uint32_t index = 0;
    int64_t group = 0;
    struct tbp_wire_field f = {0};
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0) {
        if (f.number == TBP_XSTAT_METADATA_ID && f.type == TBP_WIRE_VARINT)
            index = tbp_plane_stat_meta_index(p, (int64_t)f.value);
        else if (f.number == TBP_XSTAT_INT64 && f.type == TBP_WIRE_VARINT)
            group = (int64_t)f.value;
        else if (f.number == TBP_XSTAT_STR && f.type == TBP_WIRE_BYTES)
            check_text(lr->r, tbp_wire_str(f.bytes), &lr->ledger);
        else if (f.number == TBP_XSTAT_REF && f.type == TBP_WIRE_VARINT &&
                 !tbp_plane_stat_meta_index(p, (int64_t)f.value))
            note(lr, TBP_LEDGER_DANGLING_REF, w.at);
        else if (f.number > TBP_XSTAT_REF)
            note(lr, TBP_LEDGER_UNKNOWN_FIELD, w.at);
    }
    if (got < 0)
        return false;
    if (!index)
        note(lr, TBP_LEDGER_DANGLING_STAT_ID, w.at);
    uint32_t bit = p->stat_metas[index].has;
    if (bit == TBP_HAS_GROUP && !(row->has & TBP_HAS_GROUP))
        row->group = group;
    row->has |= bit | TBP_HAS_STATS;
    return true;
}

static void read_event_field(struct line_reading *lr, const struct tbp_wire_field *f,
                             struct tbp_event_values *row) {
    switch (f->number) {
    case TBP_XEVENT_METADATA_ID:
        row->id = (int64_t)f->value;
        break;
    case TBP_XEVENT_OFFSET_PS: /* one of offset and occurrences: the later wins */
        row->offset_ps = (int64_t)f->value;
        row->has &= ~(uint32_t)TBP_HAS_OCCURRENCES;
        break;
    case TBP_XEVENT_NUM_OCCURRENCES:
        row->offset_ps = 0;
        row->has |= TBP_HAS_OCCURRENCES;
        break;
    case TBP_XEVENT_DURATION_PS:
        row->dur_ps = (int64_t)f->value;
        break;
    case TBP_XEVENT_STATS:
        if (!read_stat(lr, f->bytes, row))
            note(lr, TBP_LEDGER_STAT_DROPPED, f->bytes.at);
        break;
    }
}

/* False if the event's own bytes are broken; it is then lost. */
static bool read_event(struct line_reading *lr, struct tbp_wire w, struct tbp_event_values *row) {
    if (lr->file_end - w.end >= TBP_WIRE_SLACK && tbp_quick_event(lr->l->plane, w, row))
        return true;
    *row = (struct tbp_event_values){0};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0) {
        bool known =
            f.number < TBP_SHAPE_FIELDS && tbp_shape_xevent.type[f.number] == (int8_t)f.type;
        if (known)
            read_event_field(lr, &f, row);
        else
            note(lr, TBP_LEDGER_UNKNOWN_FIELD, w.at);
    }
    return got == 0;
}

static void store_event(struct line_reading *lr, size_t k, const struct tbp_event_values *row,
                        const uint8_t *body) {
    struct tbp_events *ev = &lr->l->ev;
    uint32_t meta = tbp_plane_meta_index(lr->l->plane, row->id);
    if (!meta)
        note(lr, TBP_LEDGER_DANGLING_EVENT_ID, body);
    if (row->offset_ps < 0 || row->dur_ps < 0)
        note(lr, TBP_LEDGER_NEGATIVE_TIME, body);
    ev->start_ps[k] = lr->base_ps + (uint64_t)row->offset_ps;
    ev->dur_ps[k] = (uint64_t)row->dur_ps;
    uint64_t start_ps = lr->over_base_ps + (uint64_t)row->offset_ps;
    if (start_ps + ev->dur_ps[k] < start_ps)
        note(lr, TBP_LEDGER_TIME_OVERFLOW, body);
    ev->meta[k] = meta;
    ev->has[k] = row->has;
    tbp_event_set_body(ev, k, (uint64_t)(body - lr->l->base));
    bool fits = row->group > INT32_MIN && row->group <= INT32_MAX;
    ev->group[k] = fits ? (int32_t)row->group : TBP_GROUP_WIDE;
}

/* At place k, if it is not lost; returns how many events there are then. */
static size_t take_event(struct line_reading *lr, size_t k, struct tbp_wire event,
                         const uint8_t *body) {
    struct tbp_event_values row;
    lr->ledger.events_read++;
    if (read_event(lr, event, &row)) {
        store_event(lr, k, &row, body);
        return k + 1;
    }
    lr->ledger.events_dropped++;
    note(lr, TBP_LEDGER_EVENT_DROPPED, event.at);
    return k;
}

static void read_listed(struct line_reading *lr, const struct line_job *j, size_t from, size_t end,
                        struct chunk *c) {
    for (size_t i = from; i < end; i++) {
        struct tbp_wire w = {j->x->w.at + j->bodies.at[i], j->x->w.end};
        const uint8_t *body = w.at;
        uint64_t n = 0;
        if (tbp_wire_varint(&w, &n) == TBP_OK && n <= (uint64_t)(w.end - w.at))
            c->n_read = take_event(lr, from + c->n_read, tbp_wire_of(w.at, n), body) - from;
    }
}

/* What the walk finds beside events was told when they were counted. */
static void read_walked(struct line_reading *lr, const struct line_job *j, size_t from, size_t end,
                        struct chunk *c) {
    struct line_walk lw;
    struct tbp_wire_field f;
    bool is_cut;
    size_t k = from;
    line_walk_init(&lw, lr->r->host, j->x->w, j->x->is_cut);
    lw.walk.w.at = c->at;
    for (size_t i = from; i < end && tbp_walk_next(&lw.walk, &f, &is_cut);) {
        if (f.number != TBP_XLINE_EVENTS)
            continue;
        k = take_event(lr, k, f.bytes, prefix_of(f.bytes.at, lr->l->base));
        i++;
    }
    c->n_read = k - from;
}

static int read_chunk(void *ctx, size_t i, struct tbp_error *err) {
    (void)err;
    const struct line_job *j = ctx;
    const struct tbp_input *in = &j->r->host->input;
    struct line_reading lr = {
        .r = j->r, .l = j->l, .file_end = (const uint8_t *)in->data + in->size};
    struct chunk *c = &j->chunks.at[i];
    size_t from = i * CHUNK_EVENTS, end = i + 1 < j->chunks.n ? from + CHUNK_EVENTS : j->n_events;
    lr.base_ps = (uint64_t)j->l->timestamp_ns * 1000u;
    lr.over_base_ps = tbp_line_is_since_epoch(j->l) ? 0 : lr.base_ps;
    tbp_ledger_init(&lr.ledger);
    if (j->is_wanted)
        read_listed(&lr, j, from, end, c);
    else
        read_walked(&lr, j, from, end, c);
    lr.ledger.events_emitted += c->n_read;
    fold_ledger(j->r, &lr.ledger);
    return TBP_OK;
}

static int alloc_columns(void *ctx, struct tbp_error *err) {
    (void)err;
    const struct line_job *j = ctx;
    tbp_events_alloc(j->r->host, &j->l->ev, j->n_events);
    tbp_events_reach(j->r->host, &j->l->ev, j->l->base_size);
    return TBP_OK;
}

/* Guarded: want of memory must not jump out with the lock held. */
static int make_columns(struct line_job *j, struct tbp_error *err) {
    pthread_mutex_lock(&j->r->lock);
    int status = tbp_guard_run(alloc_columns, j, err);
    pthread_mutex_unlock(&j->r->lock);
    return status;
}

/* Events that could not be read leave gaps behind their chunks. */
static void close_gaps(const struct line_job *j) {
    struct tbp_events *ev = &j->l->ev;
    ev->n = 0;
    for (size_t i = 0; i < j->chunks.n; i++) {
        tbp_events_move(ev, ev->n, i * CHUNK_EVENTS, j->chunks.at[i].n_read);
        ev->n += j->chunks.at[i].n_read;
    }
}

static void release_job(struct line_job *j) {
    tbp_vec_release(&j->bodies);
    tbp_vec_release(&j->chunks);
}

static int read_line(void *ctx, size_t i, struct tbp_error *err) {
    struct reading *r = ctx;
    const struct tbp_xline *x = &r->lines[i];
    struct line_job *j = &r->jobs[i];
    *j = (struct line_job){.r = r,
                           .x = x,
                           .l = &r->host->planes[x->plane].lines[x->line],
                           .is_wanted = r->is_wanted[x->plane]};
    count_line(j);
    int status = make_columns(j, err);
    if (!status)
        status = tbp_pool_for(r->pool, j->chunks.n, read_chunk, j, err);
    close_gaps(j);
    release_job(j);
    tbp_input_drop_range(&r->host->input, offset_in(r, x->w.at), (uint64_t)(x->w.end - x->w.at));
    return status;
}

static uint64_t line_size(void *ctx, size_t i) {
    const struct tbp_xline *x = &((const struct reading *)ctx)->lines[i];
    return (uint64_t)(x->w.end - x->w.at);
}

int tbp_xlines_read(struct tbp_host *host, const struct tbp_xline *lines, size_t n,
                    struct tbp_pool *pool, struct tbp_error *err) {
    struct reading r = {.host = host, .pool = pool, .lines = lines};
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    r.jobs = TBP_NEW_N(&scratch, struct line_job, n);
    r.is_wanted = TBP_NEW_N(&host->arena, const uint8_t *, host->n_planes);
    for (size_t i = 0; i < host->n_planes; i++)
        r.is_wanted[i] = tbp_wanted_metas(&host->planes[i]);
    pthread_mutex_init(&r.lock, NULL);
    int status = tbp_pool_for_sized(pool, n, line_size, read_line, &r, err);
    pthread_mutex_destroy(&r.lock);
    for (size_t i = 0; i < n; i++)
        release_job(&r.jobs[i]); /* of those that memory did not suffice for */
    tbp_arena_release(&scratch);
    return status;
}
