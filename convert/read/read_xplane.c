/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of XSpace (xplane.pb). Two steps: (1) the planes are indexed, metadata first, since names
 * and stat keys are needed to read events but usually stand behind them; (2) in parallel, each line
 * is counted and read, in chunks, into exact columns. Stats stay where they are; only their
 * presence is noted (column `has`).
 *
 * Budget: 40 ns per event on one thread; guarded by tests/bench.
 * Source of the format: reference plugin_contract 6.1; field numbers in schemas/xplane_fields.h.
 */
#include "base/vec.h"
#include "convert/model/builder.h"
#include "convert/read/quick_event.h"
#include "convert/read/reader.h"
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

struct pending_line {
    size_t plane, line; /* numbers in host->planes, plane->lines */
    struct tbp_wire w;
    size_t n_events;
    const uint8_t *is_wanted; /* by metadata index, as tbp_wanted_metas gives it; if not NULL: */
    TBP_VEC(uint64_t) bodies; /* of the events that are wanted, as in tbp_event_body */
    TBP_VEC(struct chunk) chunks;
    bool is_cut;
};

struct plane_span {
    struct tbp_wire w;
    bool is_cut;
};

struct reading {
    struct tbp_host *host;
    struct tbp_pool *pool;
    const uint8_t *file;
    uint64_t budget; /* of salvage, serial part */
    TBP_VEC(struct plane_span) planes;
    TBP_VEC(struct pending_line) lines;
    pthread_mutex_t lock; /* host->ledger during parallel steps */
};

static struct tbp_walk walk_of(struct reading *r, struct tbp_wire w, const struct tbp_shape *shape,
                               bool is_cut) {
    return (struct tbp_walk){.w = w,
                             .shape = shape,
                             .file = r->file,
                             .ledger = &r->host->ledger,
                             .budget = &r->budget,
                             .is_cut = is_cut};
}

static uint64_t offset_in(const struct reading *r, const void *p) {
    return (uint64_t)((const uint8_t *)p - r->file);
}

static struct tbp_str checked_text(struct reading *r, struct tbp_wire w) {
    struct tbp_str s = tbp_wire_str(w);
    size_t good = tbp_utf8_valid_prefix(s);
    if (good < s.n)
        tbp_ledger_count(&r->host->ledger, TBP_LEDGER_INVALID_UTF8, 1, offset_in(r, s.p + good));
    return s;
}

/* ---- step 1: index ---- */
struct counts {
    size_t lines, metas, stat_metas, stats;
};

static size_t count_line(struct reading *r, struct pending_line *pl, struct tbp_line *head,
                         struct tbp_ledger *ledger, const uint8_t **stop);

/* Where the bytes of a line really end whose length says too much. */
static const uint8_t *end_of_cut_line(struct reading *r, struct tbp_wire w) {
    struct pending_line pl = {.w = w, .is_cut = true};
    struct tbp_ledger unused;
    struct tbp_line head;
    const uint8_t *stop;
    tbp_ledger_init(&unused);
    count_line(r, &pl, &head, &unused, &stop);
    tbp_vec_release(&pl.chunks);
    return stop;
}

/* Walks the plane once to know how much it has; returns where its bytes end (earlier than told if
 * they are damaged). */
static const uint8_t *count_plane(struct reading *r, const struct plane_span *span,
                                  struct counts *c) {
    struct tbp_ledger unused;
    tbp_ledger_init(&unused);
    struct tbp_walk walk = walk_of(r, span->w, &tbp_shape_xplane, span->is_cut);
    walk.ledger = &unused; /* the second walk counts */
    struct tbp_wire_field f;
    bool is_cut;
    while (tbp_walk_next(&walk, &f, &is_cut)) {
        c->lines += f.number == TBP_XPLANE_LINES;
        c->metas += f.number == TBP_XPLANE_EVENT_METADATA;
        c->stat_metas += f.number == TBP_XPLANE_STAT_METADATA;
        c->stats += f.number == TBP_XPLANE_STATS;
        if (is_cut)
            walk.w.at = end_of_cut_line(r, f.bytes);
    }
    return walk.w.at;
}

/* Key and body of a map entry; either may be absent. */
static void map_entry(struct tbp_wire w, int64_t *key, struct tbp_wire *body) {
    *key = 0;
    *body = tbp_wire_of(w.end, 0);
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == TBP_MAP_KEY && f.type == TBP_WIRE_VARINT)
            *key = (int64_t)f.value;
        else if (f.number == TBP_MAP_VALUE && f.type == TBP_WIRE_BYTES)
            *body = f.bytes;
    }
}

/* Place for an entry with this id: its old one if given twice (the last counts), else a new one. */
static uint32_t entry_place(struct reading *r, struct tbp_id_index *index, int64_t id, size_t *n,
                            const void *at) {
    uint32_t old = tbp_id_index_get(index, id);
    if (old) {
        tbp_ledger_count(&r->host->ledger, TBP_LEDGER_DUPLICATE_ID, 1, offset_in(r, at));
        return old;
    }
    tbp_id_index_put(index, id, (uint32_t)*n);
    return (uint32_t)(*n)++;
}

static void add_meta(struct reading *r, struct tbp_plane *p, struct tbp_wire entry) {
    int64_t key;
    struct tbp_wire body;
    map_entry(entry, &key, &body);
    struct tbp_meta m = {.id = key, .wire = tbp_wire_str(body)};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&body, &f)) > 0) {
        if (f.number == TBP_XEVENTMETA_NAME && f.type == TBP_WIRE_BYTES)
            m.name = checked_text(r, f.bytes);
        else if (f.number == TBP_XEVENTMETA_DISPLAY_NAME && f.type == TBP_WIRE_BYTES)
            m.display = checked_text(r, f.bytes);
        else if (f.number == TBP_XEVENTMETA_STATS && f.type == TBP_WIRE_BYTES)
            m.has_stats = true;
    }
    if (got < 0)
        tbp_ledger_count(&r->host->ledger, TBP_LEDGER_BAD_WIRE, 1, offset_in(r, body.at));
    m.kind = tbp_event_kind_of(m.name);
    p->metas[entry_place(r, &p->meta_by_id, key, &p->n_metas, entry.at)] = m;
}

static void add_stat_meta(struct reading *r, struct tbp_plane *p, struct tbp_wire entry) {
    int64_t key;
    struct tbp_wire body;
    map_entry(entry, &key, &body);
    struct tbp_stat_meta m = {.id = key, .name = TBP_STR_NONE};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&body, &f)) > 0)
        if (f.number == TBP_XSTATMETA_NAME && f.type == TBP_WIRE_BYTES)
            m.name = checked_text(r, f.bytes);
    if (got < 0)
        tbp_ledger_count(&r->host->ledger, TBP_LEDGER_BAD_WIRE, 1, offset_in(r, body.at));
    m.key = tbp_stat_key_of(m.name);
    m.has = tbp_has_of_stat(m.key);
    p->has_stat_key[m.key] = 1;
    p->stat_metas[entry_place(r, &p->stat_meta_by_id, key, &p->n_stat_metas, entry.at)] = m;
}

static void add_line(struct reading *r, struct tbp_plane *p, struct tbp_wire w, bool is_cut) {
    struct tbp_line *l = &p->lines[p->n_lines];
    *l = (struct tbp_line){.name = TBP_STR_NONE,
                           .display_name = TBP_STR_NONE,
                           .plane = p,
                           .metas = p->metas,
                           .base = w.at,
                           .base_size = (size_t)(w.end - w.at)};
    *tbp_vec_push(&r->lines) =
        (struct pending_line){.plane = p->index, .line = p->n_lines++, .w = w, .is_cut = is_cut};
}

static void add_plane_field(struct reading *r, struct tbp_plane *p, const struct tbp_wire_field *f,
                            bool is_cut, struct tbp_walk *walk) {
    struct tbp_wire line = f->bytes;
    switch (f->number) {
    case TBP_XPLANE_ID:
        p->id = (int64_t)f->value;
        break;
    case TBP_XPLANE_NAME:
        p->name = checked_text(r, f->bytes);
        break;
    case TBP_XPLANE_LINES:
        if (is_cut)
            walk->w.at = line.end = end_of_cut_line(r, line);
        add_line(r, p, line, is_cut);
        break;
    case TBP_XPLANE_EVENT_METADATA:
        add_meta(r, p, f->bytes);
        break;
    case TBP_XPLANE_STAT_METADATA:
        add_stat_meta(r, p, f->bytes);
        break;
    case TBP_XPLANE_STATS:
        p->stats[p->n_stats++] = tbp_wire_str(f->bytes);
        break;
    }
}

static void index_plane(struct reading *r, size_t index) {
    struct tbp_host *h = r->host;
    struct tbp_plane *p = &h->planes[index];
    struct counts c = {0};
    uint64_t budget = r->budget;
    count_plane(r, &r->planes.at[index], &c);
    r->budget = budget; /* both walks meet the same damage */
    *p = (struct tbp_plane){.name = TBP_STR_NONE, .host = h, .index = index};
    p->cap_metas = c.metas + 1;
    p->cap_stat_metas = c.stat_metas + 1;
    p->metas = TBP_NEW_N(&h->arena, struct tbp_meta, p->cap_metas);
    p->stat_metas = TBP_NEW_N(&h->arena, struct tbp_stat_meta, p->cap_stat_metas);
    p->metas[p->n_metas++] =
        (struct tbp_meta){.name = TBP_STR_NONE, .display = TBP_STR_NONE, .wire = TBP_STR_NONE};
    p->stat_metas[p->n_stat_metas++] = (struct tbp_stat_meta){.name = TBP_STR_NONE};
    p->cap_lines = c.lines + 1;
    p->lines = TBP_NEW_N(&h->arena, struct tbp_line, p->cap_lines);
    p->stats = TBP_NEW_N(&h->arena, struct tbp_str, c.stats + 1);
    tbp_id_index_init(&p->meta_by_id, c.metas, &h->arena);
    tbp_id_index_init(&p->stat_meta_by_id, c.stat_metas, &h->arena);
    struct tbp_walk walk =
        walk_of(r, r->planes.at[index].w, &tbp_shape_xplane, r->planes.at[index].is_cut);
    struct tbp_wire_field f;
    bool is_cut;
    while (tbp_walk_next(&walk, &f, &is_cut))
        add_plane_field(r, p, &f, is_cut, &walk);
}

/* Finds the planes; texts of the space are taken at once. */
static void index_space(struct reading *r) {
    struct tbp_host *h = r->host;
    struct tbp_walk walk =
        walk_of(r, tbp_wire_of(h->input.data, h->input.size), &tbp_shape_xspace, false);
    struct tbp_wire_field f;
    bool is_cut;
    while (tbp_walk_next(&walk, &f, &is_cut)) {
        if (f.number == TBP_XSPACE_PLANES) {
            struct plane_span *span = tbp_vec_push(&r->planes);
            *span = (struct plane_span){f.bytes, is_cut};
            if (is_cut)
                walk.w.at = span->w.end = count_plane(r, span, &(struct counts){0});
        } else if (f.number == TBP_XSPACE_ERRORS) {
            tbp_host_add_text(h, &h->errors, &h->n_errors, checked_text(r, f.bytes));
        } else if (f.number == TBP_XSPACE_WARNINGS) {
            tbp_host_add_text(h, &h->warnings, &h->n_warnings, checked_text(r, f.bytes));
        } else if (f.number == TBP_XSPACE_HOSTNAMES) {
            tbp_host_add_text(h, &h->hostnames, &h->n_hostnames, checked_text(r, f.bytes));
        }
    }
}

/* ---- step 2: count … ---- */
/* By the first id in it; no writer gives two. An event whose id is not found at once is read. */
static bool is_wanted(const struct reading *r, const struct pending_line *pl,
                      struct tbp_wire event) {
    int64_t id;
    bool has_slack = r->file + r->host->input.size - event.end >= TBP_WIRE_SLACK;
    if (!has_slack || !tbp_quick_event_id(event, &id))
        return true;
    return pl->is_wanted[tbp_plane_meta_index(&r->host->planes[pl->plane], id)];
}

/* The length prefix that stands before content: its last byte has no continuation bit, those before
 * it do, and the key byte in front of them has none. */
static const uint8_t *prefix_of(const uint8_t *content, const uint8_t *line) {
    const uint8_t *p = content - 1;
    while (p - 1 > line && p[-1] & 0x80)
        p--;
    return p;
}

/* n, or n + 1 if the event that the walk met at `at` is to be read. */
static size_t count_event(struct reading *r, struct pending_line *pl, const uint8_t *at,
                          struct tbp_wire event, size_t n) {
    if (pl->is_wanted && !is_wanted(r, pl, event))
        return n;
    if (n % CHUNK_EVENTS == 0)
        *tbp_vec_push(&pl->chunks) = (struct chunk){.at = at};
    if (pl->is_wanted)
        *tbp_vec_push(&pl->bodies) = (uint64_t)(prefix_of(event.at, pl->w.at) - pl->w.at);
    return n + 1;
}

static size_t count_line(struct reading *r, struct pending_line *pl, struct tbp_line *head,
                         struct tbp_ledger *ledger, const uint8_t **stop) {
    enum { AHEAD_BYTES = 1024 }; /* from event to event, the processor cannot see far ahead */
    const uint64_t full = 8 * (uint64_t)(pl->w.end - pl->w.at) + 1024;
    uint64_t budget = full;
    struct tbp_walk walk = walk_of(r, pl->w, &tbp_shape_xline, pl->is_cut);
    walk.ledger = ledger;
    walk.budget = &budget;
    struct tbp_wire_field f;
    size_t n = 0;
    bool event_cut;
    for (const uint8_t *at = pl->w.at; tbp_walk_next(&walk, &f, &event_cut); at = walk.w.at) {
        switch (f.number) {
        case TBP_XLINE_EVENTS:
            __builtin_prefetch(at + AHEAD_BYTES);
            n = count_event(r, pl, at, f.bytes, n);
            break;
        case TBP_XLINE_ID:
            head->id = (int64_t)f.value;
            break;
        case TBP_XLINE_DISPLAY_ID:
            head->display_id = (int64_t)f.value;
            break;
        case TBP_XLINE_TIMESTAMP_NS:
            head->timestamp_ns = (int64_t)f.value;
            break;
        case TBP_XLINE_DURATION_PS:
            head->duration_ps = (int64_t)f.value;
            break;
        case TBP_XLINE_NAME:
            head->name = tbp_wire_str(f.bytes);
            break;
        case TBP_XLINE_DISPLAY_NAME:
            head->display_name = tbp_wire_str(f.bytes);
            break;
        }
    }
    ledger->events_read += walk.n_lost;
    ledger->events_dropped += walk.n_lost;
    if (budget < full && pl->chunks.n) { /* only a walk from the beginning finds the same again */
        pl->chunks.n = 1;
        pl->chunks.at[0].at = pl->w.at;
    }
    *stop = walk.w.at;
    return n;
}

static void fold_ledger(struct reading *r, const struct tbp_ledger *ledger) {
    pthread_mutex_lock(&r->lock);
    tbp_ledger_add(&r->host->ledger, ledger);
    pthread_mutex_unlock(&r->lock);
}

static struct tbp_line *line_of(struct reading *r, const struct pending_line *pl) {
    return &r->host->planes[pl->plane].lines[pl->line];
}

static void check_line_text(struct reading *r, struct tbp_str s, struct tbp_ledger *ledger) {
    size_t good = tbp_utf8_valid_prefix(s);
    if (good < s.n)
        tbp_ledger_count(ledger, TBP_LEDGER_INVALID_UTF8, 1, offset_in(r, s.p + good));
}

/* Of the input, no more than the lines being read need be in memory. */
static void drop_line(struct reading *r, const struct pending_line *pl) {
    tbp_input_drop_range(&r->host->input, offset_in(r, pl->w.at), (uint64_t)(pl->w.end - pl->w.at));
}

/* ---- … and read ---- */
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
            check_line_text(lr->r, tbp_wire_str(f.bytes), &lr->ledger);
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

static void read_listed(struct line_reading *lr, const struct pending_line *pl, size_t from,
                        size_t end, struct chunk *c) {
    for (size_t i = from; i < end; i++) {
        struct tbp_wire w = {pl->w.at + pl->bodies.at[i], pl->w.end};
        const uint8_t *body = w.at;
        uint64_t n = 0;
        if (tbp_wire_varint(&w, &n) == TBP_OK && n <= (uint64_t)(w.end - w.at))
            c->n_read = take_event(lr, from + c->n_read, tbp_wire_of(w.at, n), body) - from;
    }
}

static void read_walked(struct line_reading *lr, const struct pending_line *pl, size_t from,
                        size_t end, struct chunk *c) {
    uint64_t budget = 8 * (uint64_t)(pl->w.end - pl->w.at) + 1024;
    struct tbp_ledger counted_before;
    tbp_ledger_init(&counted_before);
    struct tbp_walk walk =
        walk_of(lr->r, (struct tbp_wire){c->at, pl->w.end}, &tbp_shape_xline, pl->is_cut);
    walk.ledger = &counted_before;
    walk.budget = &budget;
    struct tbp_wire_field f;
    bool is_cut;
    size_t k = from;
    for (size_t i = from; i < end && tbp_walk_next(&walk, &f, &is_cut);
         i += f.number == TBP_XLINE_EVENTS)
        if (f.number == TBP_XLINE_EVENTS)
            k = take_event(lr, k, f.bytes, prefix_of(f.bytes.at, lr->l->base));
    c->n_read = k - from;
}

struct chunks_of_line {
    struct reading *r;
    struct pending_line *pl;
};

static int chunk_job(void *ctx, size_t i, struct tbp_error *err) {
    (void)err;
    struct chunks_of_line *of = ctx;
    struct pending_line *pl = of->pl;
    struct line_reading lr = {
        .r = of->r, .l = line_of(of->r, pl), .file_end = of->r->file + of->r->host->input.size};
    lr.base_ps = (uint64_t)lr.l->timestamp_ns * 1000u;
    lr.over_base_ps = tbp_line_is_since_epoch(lr.l) ? 0 : lr.base_ps;
    tbp_ledger_init(&lr.ledger);
    size_t from = i * CHUNK_EVENTS, end = i + 1 < pl->chunks.n ? from + CHUNK_EVENTS : pl->n_events;
    if (pl->is_wanted)
        read_listed(&lr, pl, from, end, &pl->chunks.at[i]);
    else
        read_walked(&lr, pl, from, end, &pl->chunks.at[i]);
    lr.ledger.events_emitted += pl->chunks.at[i].n_read;
    fold_ledger(of->r, &lr.ledger);
    return TBP_OK;
}

/* Events that could not be read leave gaps behind their chunks. */
static void close_gaps(struct tbp_events *ev, const struct pending_line *pl) {
    ev->n = 0;
    for (size_t i = 0; i < pl->chunks.n; i++) {
        tbp_events_move(ev, ev->n, i * CHUNK_EVENTS, pl->chunks.at[i].n_read);
        ev->n += pl->chunks.at[i].n_read;
    }
}

static void count_whole_line(struct reading *r, struct pending_line *pl) {
    struct tbp_line *l = line_of(r, pl);
    struct tbp_ledger ledger;
    tbp_ledger_init(&ledger);
    const uint8_t *stop;
    pl->n_events = count_line(r, pl, l, &ledger, &stop);
    l->is_derived = tbp_is_derived_line(l->id);
    check_line_text(r, l->name, &ledger);
    check_line_text(r, l->display_name, &ledger);
    fold_ledger(r, &ledger);
}

static void make_columns(struct reading *r, const struct pending_line *pl) {
    struct tbp_line *l = line_of(r, pl);
    pthread_mutex_lock(&r->lock);
    tbp_events_alloc(r->host, &l->ev, pl->n_events);
    tbp_events_reach(r->host, &l->ev, l->base_size);
    pthread_mutex_unlock(&r->lock);
}

static int line_job(void *ctx, size_t i, struct tbp_error *err) {
    struct reading *r = ctx;
    struct pending_line *pl = &r->lines.at[i];
    count_whole_line(r, pl);
    make_columns(r, pl);
    int status =
        tbp_pool_for(r->pool, pl->chunks.n, chunk_job, &(struct chunks_of_line){r, pl}, err);
    close_gaps(&line_of(r, pl)->ev, pl);
    drop_line(r, pl);
    return status;
}

static uint64_t line_size(void *ctx, size_t i) {
    const struct pending_line *pl = &((const struct reading *)ctx)->lines.at[i];
    return (uint64_t)(pl->w.end - pl->w.at);
}

static void mark_first_of_name(struct tbp_host *h) {
    struct tbp_strtab names = {0};
    for (size_t i = 0; i < h->n_planes; i++) {
        size_t before = names.n;
        tbp_strtab_put(&names, h->planes[i].name);
        h->planes[i].is_first_of_name = names.n > before;
        if (names.n == before)
            tbp_ledger_count(&h->ledger, TBP_LEDGER_DUPLICATE_PLANE, 1, TBP_NO_OFFSET);
    }
    tbp_strtab_release(&names);
}

/* A plane's name may stand behind its lines, so this is asked when all planes are known. */
static void drop_unwanted_lines(struct reading *r) {
    struct tbp_host *h = r->host;
    const uint8_t **is_wanted = TBP_NEW_N(&h->arena, const uint8_t *, h->n_planes);
    size_t n = 0;
    tbp_wanted_decide(h);
    for (size_t i = 0; i < h->n_planes; i++)
        is_wanted[i] = tbp_wanted_metas(&h->planes[i]);
    for (size_t i = 0; i < r->lines.n; i++) {
        struct pending_line *pl = &r->lines.at[i];
        pl->is_wanted = is_wanted[pl->plane];
        if (tbp_wants_plane(&h->planes[pl->plane]))
            r->lines.at[n++] = *pl;
    }
    r->lines.n = n;
}

static int read_all(struct reading *r, struct tbp_error *err) {
    struct tbp_host *h = r->host;
    index_space(r);
    h->planes = TBP_NEW_N(&h->arena, struct tbp_plane, r->planes.n);
    for (size_t i = 0; i < r->planes.n; i++) {
        h->n_planes = i + 1;
        index_plane(r, i);
    }
    mark_first_of_name(h);
    drop_unwanted_lines(r);
    return tbp_pool_for_sized(r->pool, r->lines.n, line_size, line_job, r, err);
}

/* No plane with a name, no event: whatever the bytes were, they were no profile. */
static bool holds_nothing(const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (h->planes[i].name.n)
            return false;
    return tbp_host_count_events(h) == 0;
}

static int read_xplane(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct reading r = {.host = host,
                        .pool = pool,
                        .file = host->input.data,
                        .budget = 64 * (uint64_t)host->input.size + (1 << 20)};
    pthread_mutex_init(&r.lock, NULL);
    int status = read_all(&r, err);
    pthread_mutex_destroy(&r.lock);
    tbp_vec_release(&r.planes);
    for (size_t i = 0; i < r.lines.n; i++) {
        tbp_vec_release(&r.lines.at[i].bodies);
        tbp_vec_release(&r.lines.at[i].chunks);
    }
    tbp_vec_release(&r.lines);
    tbp_input_drop_pages(&host->input); /* few analyses look at stats, and few of them */
    if (status == TBP_OK && holds_nothing(host) && tbp_ledger_has_loss(&host->ledger)) {
        char path[TBP_ERROR_TEXT];
        size_t n = host->path.n < sizeof path - 1 ? host->path.n : sizeof path - 1;
        memcpy(path, host->path.p, n);
        path[n] = 0;
        status =
            tbp_fail_at(err, TBP_E_FORMAT, path, host->ledger.first_offset[TBP_LEDGER_BAD_WIRE],
                        "no plane could be read from this xplane file");
    }
    return status;
}

/* Begins like the fields of a plane. A newline before text or JSON reads as a plane, too, so the
 * first field inside must be one, and what is nested in it (metadata, stats) must begin with a key,
 * which no text does. */
static bool looks_like_plane(struct tbp_wire plane) {
    enum { FIRST_PRINTABLE = ' ' };
    struct tbp_wire_field f;
    if (plane.at == plane.end)
        return true;
    if (tbp_wire_next(&plane, &f) <= 0)
        return plane.at[0] < FIRST_PRINTABLE; /* cut or damaged, but no text */
    bool fits = f.number < TBP_SHAPE_FIELDS && tbp_shape_xplane.type[f.number] == (int8_t)f.type;
    bool nested = f.number >= TBP_XPLANE_EVENT_METADATA;
    return fits && (!nested || f.bytes.at == f.bytes.end || f.bytes.at[0] < FIRST_PRINTABLE);
}

/* Nothing at all is a valid, empty XSpace; else the first bytes must be its fields. */
static int probe(const uint8_t *data, size_t size) {
    enum { LIKELY = 60, SURE = 90 };
    if (size == 0)
        return LIKELY;
    struct tbp_wire w = tbp_wire_of(data, size);
    struct tbp_wire_field f;
    int got = tbp_wire_next(&w, &f);
    if (got > 0 && f.number != TBP_XSPACE_PLANES)
        return f.number <= TBP_XSPACE_HOSTNAMES && f.type == TBP_WIRE_BYTES ? LIKELY : 0;
    if (got > 0)
        return f.type == TBP_WIRE_BYTES && looks_like_plane(f.bytes) ? SURE : 0;
    uint64_t n;
    w.at++; /* the first plane is longer than what is looked at, or than the file */
    if (got != TBP_E_TRUNCATED || data[0] != (TBP_XSPACE_PLANES << 3 | TBP_WIRE_BYTES) ||
        tbp_wire_varint(&w, &n))
        return 0;
    return looks_like_plane(w) ? SURE : 0;
}

const struct tbp_reader tbp_reader_xplane = {
    .name = "xplane",
    .help = "XSpace protobuf of TensorFlow, JAX and PyTorch/XLA (*.xplane.pb, also gzip'ed)",
    .probe = probe,
    .read = read_xplane,
};
