/* SPDX-License-Identifier: Apache-2.0
 *
 * Pushing events into the model; see builder.h.
 */
#include "convert/model/builder.h"

#include "convert/model/stats.h"
#include "schemas/xplane_fields.h"

#include <string.h>

void tbp_events_alloc(struct tbp_host *h, struct tbp_events *ev, size_t n) {
    struct tbp_arena *a = &h->columns;
    *ev = (struct tbp_events){.n = n};
    ev->start_ps = TBP_NEW_N(a, uint64_t, n);
    ev->dur_ps = TBP_NEW_N(a, uint64_t, n);
    ev->body_low = TBP_NEW_N(a, uint32_t, n);
    ev->meta = TBP_NEW_N(a, uint32_t, n);
    ev->has = TBP_NEW_N(a, uint32_t, n);
    ev->group = TBP_NEW_N(a, int32_t, n);
    ev->flags = TBP_NEW_N(a, uint8_t, n);
}

void tbp_events_reach(struct tbp_host *h, struct tbp_events *ev, uint64_t size_bytes) {
    if (size_bytes >= UINT32_MAX && !ev->body_high)
        ev->body_high = TBP_NEW_N(&h->columns, uint16_t, ev->n);
}

static void move(void *column, size_t size, size_t to, size_t from, size_t n) {
    if (column)
        memmove((char *)column + to * size, (char *)column + from * size, n * size);
}

void tbp_events_move(struct tbp_events *ev, size_t to, size_t from, size_t n) {
    if (to == from || n == 0)
        return;
    move(ev->start_ps, sizeof *ev->start_ps, to, from, n);
    move(ev->dur_ps, sizeof *ev->dur_ps, to, from, n);
    move(ev->body_low, sizeof *ev->body_low, to, from, n);
    move(ev->body_high, sizeof *ev->body_high, to, from, n);
    move(ev->meta, sizeof *ev->meta, to, from, n);
    move(ev->has, sizeof *ev->has, to, from, n);
    move(ev->group, sizeof *ev->group, to, from, n);
    move(ev->flags, sizeof *ev->flags, to, from, n);
}

void tbp_line_builder_init(struct tbp_line_builder *b, struct tbp_plane *plane) {
    *b = (struct tbp_line_builder){.plane = plane, .open_event = SIZE_MAX};
}

void tbp_line_builder_release(struct tbp_line_builder *b) {
    tbp_vec_release(&b->rows);
    tbp_wire_out_release(&b->bytes);
    b->open_event = SIZE_MAX;
}

static void close_event(struct tbp_line_builder *b) {
    if (b->open_event != SIZE_MAX)
        tbp_wire_end(&b->bytes, b->open_event);
    b->open_event = SIZE_MAX;
}

struct tbp_event_row *tbp_line_builder_event(struct tbp_line_builder *b, uint64_t start_ps,
                                             uint64_t dur_ps, uint32_t meta) {
    close_event(b);
    struct tbp_event_row *row = tbp_vec_push(&b->rows);
    *row = (struct tbp_event_row){start_ps, dur_ps, TBP_NO_BODY, meta, 0, 0, TBP_EVENT_MADE};
    return row;
}

/* Opens the body of the last event on its first stat, and notes which well-known stat it gets. */
static size_t begin_stat(struct tbp_line_builder *b, uint32_t stat_meta) {
    struct tbp_event_row *row = &b->rows.at[b->rows.n - 1];
    if (b->open_event == SIZE_MAX) {
        b->open_event = tbp_wire_begin(&b->bytes, TBP_XLINE_EVENTS);
        row->body = b->open_event - 5; /* at the length prefix */
    }
    row->has |= TBP_HAS_STATS | b->plane->stat_metas[stat_meta].has;
    size_t mark = tbp_wire_begin(&b->bytes, TBP_XEVENT_STATS);
    tbp_wire_put_u64(&b->bytes, TBP_XSTAT_METADATA_ID,
                     (uint64_t)b->plane->stat_metas[stat_meta].id);
    return mark;
}

void tbp_line_builder_stat_i64(struct tbp_line_builder *b, uint32_t stat_meta, int64_t v) {
    size_t mark = begin_stat(b, stat_meta);
    tbp_wire_put_u64(&b->bytes, TBP_XSTAT_INT64, (uint64_t)v);
    tbp_wire_end(&b->bytes, mark);
    if (b->plane->stat_metas[stat_meta].key == TBP_STAT_GROUP_ID)
        b->rows.at[b->rows.n - 1].group =
            v > INT32_MIN && v <= INT32_MAX ? (int32_t)v : TBP_GROUP_WIDE;
}

void tbp_line_builder_stat_u64(struct tbp_line_builder *b, uint32_t stat_meta, uint64_t v) {
    size_t mark = begin_stat(b, stat_meta);
    tbp_wire_put_u64(&b->bytes, TBP_XSTAT_UINT64, v);
    tbp_wire_end(&b->bytes, mark);
}

void tbp_line_builder_stat_double(struct tbp_line_builder *b, uint32_t stat_meta, double v) {
    size_t mark = begin_stat(b, stat_meta);
    tbp_wire_put_double(&b->bytes, TBP_XSTAT_DOUBLE, v);
    tbp_wire_end(&b->bytes, mark);
}

void tbp_line_builder_stat_str(struct tbp_line_builder *b, uint32_t stat_meta, struct tbp_str v) {
    size_t mark = begin_stat(b, stat_meta);
    tbp_wire_put_str(&b->bytes, TBP_XSTAT_STR, v);
    tbp_wire_end(&b->bytes, mark);
}

void tbp_line_builder_stat(struct tbp_line_builder *b, const struct tbp_stat *st) {
    uint32_t index = (uint32_t)(st->meta - b->plane->stat_metas);
    size_t mark;
    switch (st->type) {
    case TBP_STAT_INT64:
        tbp_line_builder_stat_i64(b, index, st->i);
        break;
    case TBP_STAT_UINT64:
        tbp_line_builder_stat_u64(b, index, st->u);
        break;
    case TBP_STAT_DOUBLE:
        tbp_line_builder_stat_double(b, index, st->d);
        break;
    case TBP_STAT_STR:
    case TBP_STAT_REF:
        tbp_line_builder_stat_str(b, index, st->s);
        break;
    case TBP_STAT_BYTES:
        mark = begin_stat(b, index);
        tbp_wire_put_str(&b->bytes, TBP_XSTAT_BYTES, st->s);
        tbp_wire_end(&b->bytes, mark);
        break;
    case TBP_STAT_NONE:
        tbp_wire_end(&b->bytes, begin_stat(b, index));
        break;
    }
}

void tbp_events_store(struct tbp_events *ev, size_t i, const struct tbp_event_row *r) {
    ev->start_ps[i] = r->start_ps;
    ev->dur_ps[i] = r->dur_ps;
    tbp_event_set_body(ev, i, r->body);
    ev->meta[i] = r->meta;
    ev->has[i] = r->has;
    ev->group[i] = r->group;
    ev->flags[i] = r->flags;
}

void tbp_line_builder_finish(struct tbp_line_builder *b, struct tbp_line *line) {
    close_event(b);
    struct tbp_host *h = b->plane->host;
    uint8_t *bytes = TBP_NEW_N(b->keeps_bytes ? &h->arena : &h->columns, uint8_t, b->bytes.n);
    if (b->bytes.n)
        memcpy(bytes, b->bytes.at, b->bytes.n);
    tbp_events_alloc(h, &line->ev, b->rows.n);
    tbp_events_reach(h, &line->ev, b->bytes.n);
    for (size_t i = 0; i < b->rows.n; i++)
        tbp_events_store(&line->ev, i, &b->rows.at[i]);
    line->base = bytes;
    line->base_size = b->bytes.n;
    line->plane = b->plane;
    if (!line->metas)
        line->metas = b->plane->metas;
    tbp_line_builder_release(b);
}

/* Room for one more entry in an arena array that doubles. */
static void *grow(struct tbp_arena *a, void *at, size_t n, size_t *cap, size_t size) {
    if (n < *cap)
        return at;
    size_t more = *cap * 2 + 8;
    void *p = tbp_arena_alloc(a, more, size);
    if (n)
        memcpy(p, at, n * size);
    *cap = more;
    return p;
}

void tbp_host_add_text(struct tbp_host *h, struct tbp_str **list, size_t *n, struct tbp_str text) {
    bool is_full = (*n & (*n - 1)) == 0; /* room is the power of two that is not below n */
    if (is_full) {
        struct tbp_str *grown = TBP_NEW_N(&h->arena, struct tbp_str, *n ? 2 * *n : 1);
        if (*n)
            memcpy(grown, *list, *n * sizeof *grown);
        *list = grown;
    }
    (*list)[(*n)++] = text;
}

static int64_t largest_meta_id(const struct tbp_plane *p) {
    int64_t id = 0;
    for (size_t i = 1; i < p->n_metas; i++)
        id = p->metas[i].id > id ? p->metas[i].id : id;
    return id;
}

uint32_t tbp_plane_add_meta(struct tbp_plane *p, struct tbp_str name) {
    struct tbp_host *h = p->host;
    const struct tbp_meta *old = p->metas;
    p->metas = grow(&h->arena, p->metas, p->n_metas, &p->cap_metas, sizeof *p->metas);
    for (size_t i = 0; i < p->n_lines && p->metas != old; i++)
        if (p->lines[i].metas == old)
            p->lines[i].metas = p->metas;
    int64_t last = p->n_metas > 1 ? p->metas[p->n_metas - 1].id : 0;
    int64_t id = p->made_metas ? last + 1 : largest_meta_id(p) + 1;
    p->made_metas = true;
    uint32_t index = (uint32_t)p->n_metas;
    struct tbp_str copy = tbp_arena_str(&h->arena, name);
    p->metas[p->n_metas++] = (struct tbp_meta){.id = id,
                                               .name = copy,
                                               .display = TBP_STR_NONE,
                                               .wire = TBP_STR_NONE,
                                               .kind = tbp_event_kind_of(copy)};
    tbp_id_index_put(&p->meta_by_id, id, index);
    return index;
}

uint32_t tbp_plane_ensure_meta(struct tbp_plane *p, struct tbp_str name) {
    for (size_t i = 1; i < p->n_metas; i++)
        if (tbp_str_eq(p->metas[i].name, name))
            return (uint32_t)i;
    return tbp_plane_add_meta(p, name);
}

uint32_t tbp_plane_ensure_stat(struct tbp_plane *p, struct tbp_str name) {
    int64_t id = 0;
    for (size_t i = 1; i < p->n_stat_metas; i++) {
        if (tbp_str_eq(p->stat_metas[i].name, name))
            return (uint32_t)i;
        id = p->stat_metas[i].id > id ? p->stat_metas[i].id : id;
    }
    struct tbp_host *h = p->host;
    p->stat_metas =
        grow(&h->arena, p->stat_metas, p->n_stat_metas, &p->cap_stat_metas, sizeof *p->stat_metas);
    uint32_t index = (uint32_t)p->n_stat_metas;
    struct tbp_str copy = tbp_arena_str(&h->arena, name);
    p->stat_metas[p->n_stat_metas++] =
        (struct tbp_stat_meta){.id = id + 1, .name = copy, .key = tbp_stat_key_of(copy)};
    p->stat_metas[index].has = tbp_has_of_stat(p->stat_metas[index].key);
    tbp_id_index_put(&p->stat_meta_by_id, id + 1, index);
    p->has_stat_key[p->stat_metas[index].key] = 1;
    return index;
}

/* All planes, and room for one more behind them. */
static struct tbp_plane *copy_planes(struct tbp_host *h) {
    struct tbp_plane *planes = TBP_NEW_N(&h->arena, struct tbp_plane, h->n_planes + 1);
    for (size_t p = 0; p < h->n_planes; p++) {
        planes[p] = h->planes[p];
        for (size_t k = 0; k < planes[p].n_lines; k++)
            planes[p].lines[k].plane = &planes[p];
    }
    return planes;
}

struct tbp_plane *tbp_host_add_plane(struct tbp_host *h, struct tbp_str name) {
    int64_t id = 0;
    for (size_t p = 0; p < h->n_planes; p++)
        id = h->planes[p].id >= id && h->planes[p].id < INT64_MAX ? h->planes[p].id + 1 : id;
    h->planes = copy_planes(h);
    struct tbp_plane *made = &h->planes[h->n_planes];
    *made = (struct tbp_plane){.id = id,
                               .name = name,
                               .metas = TBP_NEW(&h->arena, struct tbp_meta),
                               .n_metas = 1,
                               .cap_metas = 1,
                               .stat_metas = TBP_NEW(&h->arena, struct tbp_stat_meta),
                               .n_stat_metas = 1,
                               .cap_stat_metas = 1,
                               .index = h->n_planes++,
                               .host = h,
                               .is_first_of_name = true};
    made->metas[0].name = made->metas[0].display = made->metas[0].wire = TBP_STR_NONE;
    made->stat_metas[0].name = TBP_STR_NONE;
    tbp_id_index_init(&made->meta_by_id, 1, &h->arena);
    tbp_id_index_init(&made->stat_meta_by_id, 1, &h->arena);
    return made;
}

struct tbp_line *tbp_plane_add_line(struct tbp_plane *p, int64_t id, struct tbp_str name,
                                    int64_t timestamp_ns) {
    p->lines = grow(&p->host->arena, p->lines, p->n_lines, &p->cap_lines, sizeof *p->lines);
    struct tbp_line *l = &p->lines[p->n_lines++];
    *l = (struct tbp_line){.id = id,
                           .name = tbp_arena_str(&p->host->arena, name),
                           .timestamp_ns = timestamp_ns,
                           .plane = p,
                           .metas = p->metas,
                           .is_derived = tbp_is_derived_line(id)};
    return l;
}
