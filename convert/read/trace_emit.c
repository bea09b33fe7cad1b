/* SPDX-License-Identifier: Apache-2.0
 *
 * From rows in order to planes, lines and columns. The lines of a plane are filled at the same
 * time; rows go while they are, so that rows and columns do not stand in memory together. Stats
 * become XStat wire bytes; equal ones of one op or kernel are kept once. See trace_build.h.
 */
#include "base/guard.h"
#include "base/sort.h"
#include "convert/read/trace_build.h"
#include "schemas/xplane_fields.h"

#include <stdio.h>

enum { USE_NAME = 1, USE_KEY = 2, USE_REFERENCE = 4 };

enum made_key {
    KEY_CORRELATION,
    KEY_TF_OP,
    KEY_STEP_NUM,
    KEY_ROOT,
    KEY_PRODUCER_TYPE,
    KEY_PRODUCER,
    KEY_CONSUMER_TYPE,
    KEY_CONSUMER,
    KEY_ALLOCATOR,
    KEY_ALLOCATED,
    KEY_AVAILABLE,
    KEY_PEAK,
    KEY_REQUESTED,
    KEY_ALLOCATION,
    KEY_ADDRESS,
    KEY_RESERVED,
    MADE_KEYS
};

static const enum tbp_stat_key made_keys[MADE_KEYS] = {
    TBP_STAT_CORRELATION_ID,  TBP_STAT_TF_OP,
    TBP_STAT_STEP_NUM,        TBP_STAT_IS_ROOT,
    TBP_STAT_PRODUCER_TYPE,   TBP_STAT_PRODUCER_ID,
    TBP_STAT_CONSUMER_TYPE,   TBP_STAT_CONSUMER_ID,
    TBP_STAT_ALLOCATOR_NAME,  TBP_STAT_BYTES_ALLOCATED,
    TBP_STAT_BYTES_AVAILABLE, TBP_STAT_PEAK_BYTES_IN_USE,
    TBP_STAT_REQUESTED_BYTES, TBP_STAT_ALLOCATION_BYTES,
    TBP_STAT_ADDRESS,         TBP_STAT_BYTES_RESERVED,
};

struct emitting {
    struct tbp_trace *t;
    uint32_t key[MADE_KEYS];  /* texts */
    TBP_VEC(uint32_t) sorted; /* texts by bytes */
    const struct tbp_trace_track **by_rank;
    /* of a plane */
    TBP_VEC(uint32_t) meta_of; /* texts -> meta index in the plane, 0: none */
    const struct tbp_plane *plane;
};

struct body {
    uint64_t at; /* in the bytes of the line */
    uint32_t has;
    int64_t group; /* the first group_id, 0 if that is no whole number */
};

/* A line in the making: apart from the tables above, which are only read by then, all it needs. */
struct filling {
    const struct emitting *e;
    struct tbp_line *line;
    size_t from, to;           /* rows */
    struct tbp_wire_out bytes; /* becomes the line's … */
    TBP_VEC(uint16_t) high;    /* … and so does this, its body_high */
    struct tbp_wire_out event; /* stats of the event … */
    struct body body;          /* … and what they tell */
    TBP_VEC(struct body) kept; /* of what may be shared */
    struct tbp_idmap kept_of;  /* set and name -> number in kept */
};

/* ---- stats ---- */

/* Once per stat put. As in profile files, the first group_id counts. */
static void note_stat(struct filling *f, uint32_t key, int64_t whole) {
    uint32_t bit = f->e->plane->stat_metas[f->e->t->stat_id.at[key]].has;
    if (bit == TBP_HAS_GROUP && !(f->body.has & TBP_HAS_GROUP))
        f->body.group = whole;
    f->body.has |= TBP_HAS_STATS | bit;
}

static size_t put_varint(uint8_t *to, size_t n, uint64_t v) {
    for (; v >= 0x80; v >>= 7)
        to[n++] = (uint8_t)(v | 0x80);
    to[n++] = (uint8_t)v;
    return n;
}

/* A stat without a text has less than 24 bytes: its length takes one byte, as in files. */
static size_t begin_stat(const struct filling *f, uint32_t key, uint8_t *stat) {
    stat[0] = TBP_XEVENT_STATS << 3 | TBP_WIRE_BYTES;
    stat[2] = TBP_XSTAT_METADATA_ID << 3;
    return put_varint(stat, 3, f->e->t->stat_id.at[key]);
}

static void end_stat(struct filling *f, uint8_t *stat, size_t n) {
    stat[1] = (uint8_t)(n - 2);
    tbp_wire_put_raw(&f->event, stat, n);
}

static void put_number(struct filling *f, uint32_t key, uint32_t field, uint64_t v) {
    uint8_t stat[24];
    note_stat(f, key, field == TBP_XSTAT_INT64 ? (int64_t)v : 0);
    size_t n = begin_stat(f, key, stat);
    stat[n++] = (uint8_t)(field << 3);
    end_stat(f, stat, put_varint(stat, n, v));
}

static void put_made(struct filling *f, enum made_key key, uint64_t v) {
    put_number(f, f->e->key[key], TBP_XSTAT_INT64, v);
}

static void put_reference(struct filling *f, uint32_t key, uint32_t text) {
    put_number(f, key, TBP_XSTAT_REF, f->e->t->stat_id.at[text]);
}

static void put_double(struct filling *f, uint32_t key, uint64_t bits) {
    uint8_t stat[24];
    size_t n = begin_stat(f, key, stat);
    note_stat(f, key, 0);
    stat[n++] = TBP_XSTAT_DOUBLE << 3 | TBP_WIRE_FIXED64;
    for (unsigned i = 0; i < sizeof bits; i++)
        stat[n++] = (uint8_t)(bits >> 8 * i);
    end_stat(f, stat, n);
}

static void put_collected(struct filling *f, struct tbp_wire w) {
    uint64_t key, type, v;
    while (tbp_wire_varint(&w, &key) == TBP_OK && key) {
        tbp_wire_varint(&w, &type);
        if (type == TBP_STAT_DOUBLE) {
            memcpy(&v, w.at, sizeof v);
            w.at += sizeof v;
            put_double(f, (uint32_t)key - 1, v);
            continue;
        }
        tbp_wire_varint(&w, &v);
        if (type == TBP_STAT_REF)
            put_reference(f, (uint32_t)key - 1, (uint32_t)v);
        else if (type == TBP_STAT_UINT64)
            put_number(f, (uint32_t)key - 1, TBP_XSTAT_UINT64, v);
        else
            put_number(f, (uint32_t)key - 1, TBP_XSTAT_INT64, v);
    }
}

static void put_memory(struct filling *f, const struct tbp_trace_row *row) {
    const struct tbp_trace_memory *m = &f->e->t->memory.at[row->own];
    uint64_t size = m->bytes < 0 ? 0 - (uint64_t)m->bytes : (uint64_t)m->bytes;
    put_reference(f, f->e->key[KEY_ALLOCATOR], m->allocator);
    put_made(f, KEY_ALLOCATED, (uint64_t)m->allocated);
    if (m->reserved > m->allocated)
        put_made(f, KEY_AVAILABLE, (uint64_t)(m->reserved - m->allocated));
    put_made(f, KEY_PEAK, (uint64_t)m->peak);
    put_made(f, KEY_REQUESTED, size);
    put_made(f, KEY_ALLOCATION, size);
    put_made(f, KEY_ADDRESS, m->address);
    if (row->dur_ps)
        put_reference(f, f->e->key[KEY_TF_OP], f->e->t->op_text.at[row->dur_ps]);
}

static void put_links(struct filling *f, const struct tbp_trace_row *row) {
    enum { OF_STEPS = 1 };
    const struct tbp_trace *t = f->e->t;
    uint32_t op;
    /* steps count no device event without a correlation id: 0, which no launch has */
    bool is_lone = row->flags & TBP_TRACE_DEVICE && row->flags & TBP_TRACE_INSIDE;
    if (is_lone || (row->link && row->flags & (TBP_TRACE_LAUNCH | TBP_TRACE_DEVICE)))
        put_made(f, KEY_CORRELATION, row->link);
    if (row->flags & TBP_TRACE_DEVICE && row->link &&
        (op = tbp_idmap_get(&t->op_of_link, row->link)) != TBP_MAP_NONE)
        put_reference(f, f->e->key[KEY_TF_OP], t->op_text.at[op]);
    if (row->flags & TBP_TRACE_STEP) {
        put_made(f, KEY_STEP_NUM, row->link);
        put_made(f, KEY_ROOT, 1);
        put_made(f, KEY_PRODUCER_TYPE, OF_STEPS);
        put_made(f, KEY_PRODUCER, tbp_trace_step_at(t, row->start_ns));
    }
    if (row->flags & TBP_TRACE_INSIDE) {
        put_made(f, KEY_CONSUMER_TYPE, OF_STEPS);
        put_made(f, KEY_CONSUMER, tbp_trace_step_at(t, row->start_ns));
    }
}

static uint64_t store_event(struct filling *f) {
    enum { EVENT_KEY = TBP_XLINE_EVENTS << 3 | TBP_WIRE_BYTES };
    struct tbp_wire_out *o = &f->bytes;
    uint8_t key = EVENT_KEY;
    tbp_wire_put_raw(o, &key, 1);
    uint64_t body = o->n;
    tbp_wire_put_varint(o, f->event.n);
    tbp_wire_put_raw(o, f->event.at, f->event.n);
    return body;
}

/* The stats that events of this set, and ops of this name, have in common. */
static void put_shared(struct filling *f, const struct tbp_trace_row *row) {
    const struct tbp_trace *t = f->e->t;
    struct tbp_str set = t->sets.strs[row->set];
    f->body = (struct body){0};
    f->event.n = 0;
    if (row->flags & TBP_TRACE_OP && t->op_text.at[row->name])
        put_reference(f, f->e->key[KEY_TF_OP], t->op_text.at[row->name]);
    put_collected(f, tbp_wire_of(set.p, set.n));
}

/* Sets f->body of a row whose stats are no others' but its own. */
static void make_own_body(struct filling *f, const struct tbp_trace_row *row) {
    const struct tbp_trace *t = f->e->t;
    put_shared(f, row);
    if (row->flags & TBP_TRACE_MEMORY)
        put_memory(f, row);
    else if (row->own && !(row->flags & TBP_TRACE_OP)) /* of ops: ids to link by */
        put_collected(f, (struct tbp_wire){t->own.at + row->own, t->own.at + t->own.n});
    put_links(f, row);
    f->body.at = store_event(f);
}

/* Of a row whose stats others may have, too. */
static void find_body(struct filling *f, const struct tbp_trace_row *row) {
    bool is_new, is_op = row->flags & TBP_TRACE_OP;
    if (!is_op && f->e->t->sets.strs[row->set].n == 0) {
        f->body = (struct body){.at = TBP_NO_BODY};
        return;
    }
    uint64_t name = is_op ? (uint64_t)row->name + 1 : 0;
    uint32_t *number = tbp_idmap_put(&f->kept_of, (uint64_t)row->set << 32 | name, &is_new);
    if (is_new) {
        *number = (uint32_t)f->kept.n;
        put_shared(f, row);
        f->body.at = store_event(f);
        *tbp_vec_push(&f->kept) = f->body;
    }
    f->body = f->kept.at[*number];
}

static void set_body(struct filling *f, const struct tbp_trace_row *row) {
    const unsigned varies = TBP_TRACE_STEP | TBP_TRACE_INSIDE | TBP_TRACE_MEMORY;
    bool is_own = (row->own && !(row->flags & TBP_TRACE_OP)) || row->flags & varies ||
                  (row->link && row->flags & (TBP_TRACE_LAUNCH | TBP_TRACE_DEVICE));
    if (is_own)
        make_own_body(f, row);
    else
        find_body(f, row);
}

/* ---- tables of a plane ---- */

static void add_stat_metas(struct emitting *e, struct tbp_plane *p) {
    struct tbp_trace *t = e->t;
    struct tbp_arena *a = &t->host->arena;
    size_t n = 1;
    for (uint32_t i = 0; i < t->texts.n; i++)
        n += t->stat_id.at[i] != 0;
    p->stat_metas = TBP_NEW_N(a, struct tbp_stat_meta, n);
    p->n_stat_metas = p->cap_stat_metas = n;
    p->stat_metas[0].name = TBP_STR_NONE;
    tbp_id_index_init(&p->stat_meta_by_id, n + 1, a);
    for (uint32_t i = 0; i < t->texts.n; i++) {
        uint32_t id = t->stat_id.at[i];
        if (!id)
            continue;
        struct tbp_stat_meta *m = &p->stat_metas[id];
        *m = (struct tbp_stat_meta){.id = id, .name = t->texts.strs[i]};
        tbp_id_index_put(&p->stat_meta_by_id, id, id);
        if (!(t->uses.at[i] & USE_KEY))
            continue;
        m->key = tbp_stat_key_of(m->name);
        m->has = tbp_has_of_stat(m->key);
        p->has_stat_key[m->key] = 1;
    }
}

static void add_metas(struct emitting *e, struct tbp_plane *p, size_t from, size_t to) {
    struct tbp_trace *t = e->t;
    struct tbp_arena *a = &t->host->arena;
    size_t n = 1;
    memset(e->meta_of.at, 0, t->texts.n * sizeof *e->meta_of.at);
    for (size_t i = from; i < to; i++) {
        n += e->meta_of.at[t->rows.at[i].name] == 0;
        e->meta_of.at[t->rows.at[i].name] = 1;
    }
    p->metas = TBP_NEW_N(a, struct tbp_meta, n);
    p->cap_metas = n;
    p->metas[p->n_metas++] =
        (struct tbp_meta){.name = TBP_STR_NONE, .display = TBP_STR_NONE, .wire = TBP_STR_NONE};
    tbp_id_index_init(&p->meta_by_id, n + 1, a);
    for (size_t i = 0; i < e->sorted.n && from < to; i++) {
        uint32_t text = e->sorted.at[i];
        if (!e->meta_of.at[text])
            continue;
        struct tbp_str name = t->texts.strs[text];
        p->metas[p->n_metas] = (struct tbp_meta){.id = (int64_t)p->n_metas,
                                                 .name = name,
                                                 .display = TBP_STR_NONE,
                                                 .wire = TBP_STR_NONE,
                                                 .kind = tbp_event_kind_of(name)};
        tbp_id_index_put(&p->meta_by_id, (int64_t)p->n_metas, (uint32_t)p->n_metas);
        e->meta_of.at[text] = (uint32_t)p->n_metas++;
    }
}

static void add_plane_stats(struct emitting *e, struct tbp_plane *p, uint32_t plane) {
    struct tbp_trace *t = e->t;
    size_t n = 0;
    for (size_t i = 0; i < t->plane_stats.n; i++)
        n += t->plane_stats.at[i].plane == plane;
    p->stats = TBP_NEW_N(&t->host->arena, struct tbp_str, n + 1);
    for (size_t i = 0; i < t->plane_stats.n; i++) {
        const struct tbp_trace_plane_stat *s = &t->plane_stats.at[i];
        struct tbp_wire_out o = {0};
        if (s->plane != plane)
            continue;
        tbp_wire_put_u64(&o, TBP_XSTAT_METADATA_ID, t->stat_id.at[s->key]);
        if (s->is_text)
            tbp_wire_put_str(&o, TBP_XSTAT_STR, t->texts.strs[s->value]);
        else
            tbp_wire_put_u64(&o, TBP_XSTAT_UINT64, s->value);
        p->stats[p->n_stats++] =
            tbp_arena_str(&t->host->arena, (struct tbp_str){(const char *)o.at, o.n});
        tbp_wire_out_release(&o);
    }
}

/* ---- lines ---- */

static const struct {
    const char *prefix, *type;
} stream_types[] = {
    {"MemcpyHtoD", "MemcpyH2D"}, {"MemcpyDtoH", "MemcpyD2H"},
    {"MemcpyDtoD", "MemcpyD2D"}, {"MemcpyPtoP", "MemcpyP2P"},
    {"MEMCPYHtoD", "MemcpyH2D"}, /* in timelines of TensorFlow 1 */
    {"MEMCPYDtoH", "MemcpyD2H"}, {"MEMCPYDtoD", "MemcpyD2D"},
    {"MEMCPYPtoP", "MemcpyP2P"}, {"Memcpy", "MemcpyOther"},
    {"MEMCPY", "MemcpyOther"},   {"Memset", "Memset"},
    {"MEMSET", "Memset"},        {"", "Compute"},
};
enum { STREAM_TYPES = sizeof stream_types / sizeof *stream_types };

static struct tbp_str stream_name(struct emitting *e, const struct tbp_trace_track *track,
                                  size_t from, size_t to) {
    struct tbp_arena *a = &e->t->host->arena;
    unsigned seen = 0;
    for (size_t i = from; i < to; i++) {
        unsigned k = 0;
        while (!tbp_str_starts(e->t->texts.strs[e->t->rows.at[i].name], stream_types[k].prefix))
            k++;
        seen |= 1u << k;
    }
    const char *types = "";
    for (unsigned k = 0; k < STREAM_TYPES; k++)
        if (seen >> k & 1 && !strstr(types, stream_types[k].type))
            types = tbp_arena_printf(a, "%s%s%s", types, *types ? "," : "", stream_types[k].type);
    return tbp_str_c(tbp_arena_printf(a, "Stream #%lld(%s)", (long long)track->id, types));
}

static struct tbp_str line_name(struct emitting *e, const struct tbp_trace_track *track,
                                size_t from, size_t to) {
    if (track->kind == TBP_TRACK_DEVICE && track->name.n == 0)
        return stream_name(e, track, from, to);
    if (track->name.n)
        return track->name;
    return tbp_str_c(tbp_arena_printf(&e->t->host->arena, "thread %lld", (long long)track->id));
}

/* Lanes are told apart by a number behind the name. */
static struct tbp_str lane_name(struct emitting *e, struct tbp_str stream, uint32_t lane) {
    if (lane == 0)
        return stream;
    const char *number = tbp_arena_printf(&e->t->host->arena, " (%u)", (unsigned)lane + 1);
    return tbp_arena_cat(&e->t->host->arena, stream, tbp_str_c(number));
}

/* Numbers of the lines of a plane. */
struct line_ids {
    struct tbp_idmap taken;
    int64_t next_made;
};

/* Viewers see 32 bits of a number: those that do not fit, or are there, get another. */
static int64_t line_id(struct line_ids *ids, int64_t wanted) {
    bool is_new = false;
    bool fits = wanted >= 0 && (wanted <= INT32_MAX ||
                                (wanted <= TBP_DERIVED_LAST && tbp_is_derived_line(wanted)));
    if (fits)
        *tbp_idmap_put(&ids->taken, (uint64_t)wanted, &is_new) = 0;
    while (!is_new)
        *tbp_idmap_put(&ids->taken, (uint64_t)(wanted = ids->next_made++), &is_new) = 0;
    return wanted;
}

/* Rows behind the first `keep` are done with. */
static void give_back(struct tbp_trace *t, size_t keep) {
    enum { WORTH_ROWS = 1 << 16 };
    t->rows.n = keep;
    if (t->rows.cap - keep >= WORTH_ROWS)
        tbp_vec_shrink(&t->rows, keep);
}

/* Bodies may lie beyond 4 GiB from now on. */
static void reach_high(struct filling *f) {
    struct tbp_events *ev = &f->line->ev;
    tbp_vec_reserve(&f->high, ev->n);
    memset(f->high.at, 0, ev->n * sizeof *f->high.at);
    ev->body_high = f->high.at;
}

static void fill_event(struct filling *f, const struct tbp_trace_row *row, size_t k) {
    const struct tbp_trace *t = f->e->t;
    struct tbp_events *ev = &f->line->ev;
    ev->start_ps[k] = (uint64_t)(row->start_ns - t->origin_ns) * 1000u + row->start_ps;
    ev->dur_ps[k] = row->flags & TBP_TRACE_MEMORY ? 0 : row->dur_ps;
    set_body(f, row);
    if (f->bytes.n >= UINT32_MAX && !ev->body_high)
        reach_high(f);
    tbp_event_set_body(ev, k, f->body.at);
    bool fits = f->body.group > INT32_MIN && f->body.group <= INT32_MAX;
    ev->has[k] = f->body.has;
    ev->group[k] = fits ? (int32_t)f->body.group : TBP_GROUP_WIDE;
    ev->meta[k] = f->e->meta_of.at[row->name];
}

/* Pool job: fills a line from its rows, which go as it is filled. */
static int fill_line(void *ctx, size_t number, struct tbp_error *err) {
    enum { AT_A_TIME = 1 << 16 };
    (void)err;
    struct filling *f = &((struct filling *)ctx)[number];
    const struct tbp_trace_row *rows = f->e->t->rows.at;
    for (size_t i = f->from, end; i < f->to; i = end) {
        end = f->to - i < AT_A_TIME ? f->to : i + AT_A_TIME;
        for (size_t k = i; k < end; k++)
            fill_event(f, &rows[k], k - f->from);
        tbp_vec_drop(&f->e->t->rows, i, end);
    }
    tbp_idmap_release(&f->kept_of);
    tbp_vec_release(&f->kept);
    tbp_wire_out_release(&f->event);
    tbp_vec_reserve(&f->bytes, 1); /* a line has bytes, if of no length */
    tbp_vec_shrink(&f->bytes, f->bytes.n);
    return TBP_OK;
}

static uint64_t rows_of(void *ctx, size_t number) {
    const struct filling *f = &((const struct filling *)ctx)[number];
    return f->to - f->from;
}

static void fill_lines(struct tbp_trace *t, struct filling *fillings, size_t n) {
    struct tbp_host *h = t->host;
    for (size_t i = 0; i < n; i++)
        tbp_events_alloc(h, &fillings[i].line->ev, fillings[i].to - fillings[i].from);
    if (tbp_pool_for_sized(t->pool, n, rows_of, fill_line, fillings, NULL) != TBP_OK)
        tbp_out_of_memory(0); /* they fail of nothing else */
    for (size_t i = 0; i < n; i++) {
        struct filling *f = &fillings[i];
        f->line->base = f->bytes.at;
        f->line->base_size = f->bytes.n;
        tbp_arena_own(&h->columns, f->bytes.at, f->bytes.cap);
        if (f->high.at)
            tbp_arena_own(&h->columns, f->high.at, f->high.cap * sizeof *f->high.at);
    }
}

/* The rows behind those of a stream that are on further lanes of it. */
static size_t end_of_lanes(const struct emitting *e, size_t end, size_t to) {
    while (end < to && e->by_rank[e->t->rows.at[end].track]->lane > 0)
        end++;
    return end;
}

static size_t count_lines(const struct tbp_trace *t, size_t from, size_t to) {
    size_t n = 0;
    for (size_t i = from; i < to; i++)
        n += i == from || t->rows.at[i].track != t->rows.at[i - 1].track;
    return n;
}

/* Names and places of the lines, then their events. */
static void emit_lines(struct emitting *e, struct tbp_plane *p, size_t from, size_t to) {
    struct tbp_trace *t = e->t;
    struct line_ids ids = {.next_made = TBP_MADE_LINE_FIRST};
    struct tbp_str name = TBP_STR_NONE;
    TBP_VEC(struct filling) fillings = {0};
    p->cap_lines = count_lines(t, from, to) + 1;
    p->lines = TBP_NEW_N(&t->host->arena, struct tbp_line, p->cap_lines);
    for (size_t i = from, end; i < to; i = end) {
        const struct tbp_trace_track *track = e->by_rank[t->rows.at[i].track];
        for (end = i; end < to && t->rows.at[end].track == t->rows.at[i].track;)
            end++;
        *tbp_vec_push(&fillings) =
            (struct filling){.e = e, .line = &p->lines[p->n_lines], .from = i, .to = end};
        int64_t id = line_id(&ids, track->id);
        if (track->lane == 0)
            name = line_name(e, track, i, end_of_lanes(e, end, to));
        p->lines[p->n_lines++] = (struct tbp_line){.id = id,
                                                   .name = lane_name(e, name, track->lane),
                                                   .display_name = TBP_STR_NONE,
                                                   .plane = p,
                                                   .metas = p->metas,
                                                   .is_derived = tbp_is_derived_line(id)};
    }
    fill_lines(t, fillings.at, fillings.n);
    give_back(t, from);
    tbp_idmap_release(&ids.taken);
    tbp_vec_release(&fillings);
}

static void emit_plane(struct emitting *e, uint32_t plane, struct tbp_plane *p, size_t from,
                       size_t to) {
    struct tbp_trace *t = e->t;
    *p = (struct tbp_plane){.id = (int64_t)t->planes.at[plane].rank,
                            .name = t->planes.at[plane].name,
                            .host = t->host,
                            .index = (size_t)(p - t->host->planes),
                            .is_first_of_name = true};
    uint64_t ordinal;
    if (tbp_is_gpu_plane(p->name) &&
        tbp_str_to_u64(tbp_str_sub(p->name, sizeof "/device:GPU:" - 1, p->name.n), &ordinal))
        p->id = (int64_t)ordinal;
    e->plane = p;
    add_stat_metas(e, p);
    add_metas(e, p, from, to);
    add_plane_stats(e, p, plane);
    emit_lines(e, p, from, to);
}

/* ---- texts ---- */

/* Names of ops as the tables call them. */
static void name_ops(struct tbp_trace *t) {
    size_t n = t->texts.n;
    TBP_VEC(uint8_t) is_op = {0};
    tbp_vec_reserve(&is_op, n);
    memset(is_op.at, 0, n);
    for (size_t i = 0; i < t->rows.n; i++)
        if (t->rows.at[i].flags & TBP_TRACE_OP)
            is_op.at[t->rows.at[i].name] = 1;
    tbp_vec_reserve(&t->op_text, n);
    memset(t->op_text.at, 0, n * sizeof *t->op_text.at);
    t->op_text.n = n;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t called = tbp_idmap_get(&t->op_names, i);
        struct tbp_str name = t->texts.strs[called == TBP_MAP_NONE ? i : called];
        if (is_op.at[i])
            t->op_text.at[i] = tbp_trace_op_text(t, name, TBP_STR_NONE);
    }
    tbp_vec_release(&is_op);
}

static int by_text(const void *a, const void *b, void *ctx) {
    const struct tbp_str *s = ((const struct tbp_strtab *)ctx)->strs;
    return tbp_str_cmp(s[*(const uint32_t *)a], s[*(const uint32_t *)b]);
}

/* Keys first, so that most stats are short. */
static void number_stats(struct emitting *e) {
    struct tbp_trace *t = e->t;
    uint32_t next = 1;
    for (uint32_t i = 0; i < t->texts.n; i++)
        *tbp_vec_push(&e->sorted) = i;
    tbp_sort(e->sorted.at, e->sorted.n, sizeof *e->sorted.at, by_text, &t->texts);
    tbp_vec_reserve(&t->stat_id, t->texts.n);
    memset(t->stat_id.at, 0, t->texts.n * sizeof *t->stat_id.at);
    t->stat_id.n = t->texts.n;
    for (uint8_t use = USE_KEY; use <= USE_REFERENCE; use = (uint8_t)(use * 2))
        for (size_t i = 0; i < e->sorted.n; i++)
            if (t->uses.at[e->sorted.at[i]] & use && !t->stat_id.at[e->sorted.at[i]])
                t->stat_id.at[e->sorted.at[i]] = next++;
}

static bool uses_key(const struct tbp_trace *t, enum made_key key, unsigned flags) {
    switch (key) {
    case KEY_CORRELATION:
        return flags & (TBP_TRACE_LAUNCH | TBP_TRACE_DEVICE);
    case KEY_TF_OP:
        return flags & TBP_TRACE_OP;
    case KEY_STEP_NUM:
    case KEY_ROOT:
    case KEY_PRODUCER_TYPE:
    case KEY_PRODUCER:
        return flags & TBP_TRACE_STEP;
    case KEY_CONSUMER_TYPE:
    case KEY_CONSUMER:
        return flags & TBP_TRACE_INSIDE;
    default:
        return t->memory.n > 0;
    }
}

static void make_keys(struct emitting *e) {
    unsigned flags = 0;
    for (size_t i = 0; i < e->t->rows.n; i++)
        flags |= e->t->rows.at[i].flags;
    for (int k = 0; k < MADE_KEYS; k++) {
        if (!uses_key(e->t, (enum made_key)k, flags))
            continue;
        e->key[k] = tbp_trace_text(e->t, tbp_stat_key_text(made_keys[k]));
        e->t->uses.at[e->key[k]] |= USE_KEY;
    }
}

/* When it was, for those who compare with other clocks. */
static void add_environment(struct tbp_trace *t) {
    if (!t->has_wall_clock || t->rows.n == 0)
        return;
    int64_t end_ns = t->origin_ns, start_ns;
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        int64_t ns = row->flags & TBP_TRACE_MEMORY ? row->start_ns
                                                   : row->start_ns + (int64_t)(row->dur_ps / 1000);
        end_ns = ns > end_ns ? ns : end_ns;
    }
    if (__builtin_add_overflow(t->base_ns, t->origin_ns, &start_ns) || start_ns < 0)
        return;
    uint32_t plane = tbp_trace_plane(t, TBP_STR("Task Environment"));
    t->planes.at[plane].rank = plane;
    tbp_trace_plane_u64(t, plane, "profile_start_time", (uint64_t)start_ns);
    tbp_trace_plane_u64(t, plane, "profile_stop_time",
                        (uint64_t)start_ns + (uint64_t)(end_ns - t->origin_ns));
}

static int by_plane_and_key(const void *a, const void *b, void *ctx) {
    const struct tbp_trace_plane_stat *x = a, *y = b;
    const struct tbp_strtab *texts = ctx;
    return x->plane != y->plane ? (x->plane < y->plane ? -1 : 1)
                                : tbp_str_cmp(texts->strs[x->key], texts->strs[y->key]);
}

static void emit_planes(struct emitting *e) {
    struct tbp_trace *t = e->t;
    struct tbp_host *h = t->host;
    size_t *ends = TBP_NEW_N(&h->arena, size_t, t->planes.n);
    uint32_t *of_rank = TBP_NEW_N(&h->arena, uint32_t, t->planes.n);
    for (uint32_t i = 0; i < t->planes.n; i++)
        of_rank[t->planes.at[i].rank] = i;
    for (size_t i = 0; i < t->rows.n; i++)
        ends[t->planes.at[e->by_rank[t->rows.at[i].track]->plane].rank] = i + 1;
    for (size_t i = 1; i < t->planes.n; i++)
        ends[i] = ends[i] ? ends[i] : ends[i - 1];
    h->planes = TBP_NEW_N(&h->arena, struct tbp_plane, t->planes.n);
    h->n_planes = t->planes.n;
    for (size_t i = t->planes.n; i-- > 0;)
        emit_plane(e, of_rank[i], &h->planes[i], i ? ends[i - 1] : 0, ends[i]);
}

void tbp_trace_emit(struct tbp_trace *t) {
    struct emitting e = {.t = t};
    add_environment(t);
    tbp_sort(t->plane_stats.at, t->plane_stats.n, sizeof *t->plane_stats.at, by_plane_and_key,
             &t->texts);
    name_ops(t);
    make_keys(&e);
    number_stats(&e);
    tbp_vec_reserve(&e.meta_of, t->texts.n);
    e.by_rank = TBP_NEW_N(&t->host->arena, const struct tbp_trace_track *, t->tracks.n + 1);
    for (size_t i = 0; i < t->tracks.n; i++)
        e.by_rank[t->tracks.at[i].rank] = &t->tracks.at[i];
    t->host->is_foreign = true;
    emit_planes(&e);
    tbp_vec_release(&e.sorted);
    tbp_vec_release(&e.meta_of);
}
