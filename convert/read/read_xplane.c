/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of XSpace (xplane.pb). The planes are indexed, metadata first, since names and stat keys
 * are needed to read events but usually stand behind them; then xplane_lines.c reads the events.
 *
 * Budget: 40 ns per event on one thread; guarded by tests/bench.
 * Source of the format: reference plugin_contract 6.1; field numbers in schemas/xplane_fields.h.
 */
#include "base/vec.h"
#include "convert/model/builder.h"
#include "convert/read/reader.h"
#include "convert/read/salvage.h"
#include "convert/read/strangers.h"
#include "convert/read/wanted.h"
#include "convert/read/xplane_lines.h"
#include "schemas/xplane_fields.h"

/* More than any profile has. What a plane and a line take in memory is a hundred times what an
 * empty one takes in a file. */
enum { MOST_PLANES = 1 << 16, MOST_LINES = 1 << 19 };

struct plane_span {
    struct tbp_wire w;
    bool is_cut;
};

struct reading {
    struct tbp_host *host;
    const uint8_t *file;
    uint64_t budget; /* of salvage */
    TBP_VEC(struct plane_span) planes;
    TBP_VEC(struct tbp_xline) lines;
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

static uint64_t budget_of(const struct tbp_input *in) {
    return 64 * (uint64_t)in->size + (1 << 20);
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

struct counts {
    size_t lines, metas, stat_metas, stats;
};

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
            walk.w.at = tbp_xline_cut_end(r->host, f.bytes);
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

/* Events in lines that are not read. */
static void leave_line(struct reading *r, struct tbp_wire line) {
    struct tbp_ledger *l = &r->host->ledger;
    struct tbp_wire_field f;
    while (tbp_wire_next(&line, &f) > 0) {
        l->events_read += f.number == TBP_XLINE_EVENTS;
        l->events_dropped += f.number == TBP_XLINE_EVENTS;
    }
}

static void leave_plane(struct reading *r, struct tbp_wire plane) {
    struct tbp_wire_field f;
    tbp_ledger_count(&r->host->ledger, TBP_LEDGER_PLANE_CAP, 1, offset_in(r, plane.at));
    while (tbp_wire_next(&plane, &f) > 0)
        if (f.number == TBP_XPLANE_LINES && f.type == TBP_WIRE_BYTES)
            leave_line(r, f.bytes);
}

static void add_line(struct reading *r, struct tbp_plane *p, struct tbp_wire w, bool is_cut) {
    if (r->lines.n == MOST_LINES) {
        tbp_ledger_count(&r->host->ledger, TBP_LEDGER_PLANE_CAP, 1, offset_in(r, w.at));
        leave_line(r, w);
        return;
    }
    struct tbp_line *l = &p->lines[p->n_lines];
    *l = (struct tbp_line){.name = TBP_STR_NONE,
                           .display_name = TBP_STR_NONE,
                           .plane = p,
                           .metas = p->metas,
                           .base = w.at,
                           .base_size = (size_t)(w.end - w.at)};
    *tbp_vec_push(&r->lines) =
        (struct tbp_xline){.plane = p->index, .line = p->n_lines++, .w = w, .is_cut = is_cut};
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
            walk->w.at = line.end = tbp_xline_cut_end(r->host, line);
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

/* Nothing but the name is looked at if nothing else is wanted. */
static void cut_to_name(struct reading *r, struct plane_span *span) {
    const uint8_t *end;
    if (!span->is_cut && !tbp_wants_any_of_plane(r->host->wanted, span->w, &end))
        span->w.end = end;
}

static void index_plane(struct reading *r, size_t index) {
    struct tbp_host *h = r->host;
    struct tbp_plane *p = &h->planes[index];
    struct counts c = {0};
    cut_to_name(r, &r->planes.at[index]);
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
    p->cap_lines = (c.lines < MOST_LINES ? c.lines : MOST_LINES) + 1;
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
            struct plane_span span = {f.bytes, is_cut};
            span.w.end = tbp_walk_child_end(&walk, f.bytes);
            if (is_cut)
                span.w.end = count_plane(r, &span, &(struct counts){0});
            walk.w.at = span.w.end;
            if (r->planes.n < MOST_PLANES)
                *tbp_vec_push(&r->planes) = span;
            else
                leave_plane(r, span.w);
        } else if (f.number == TBP_XSPACE_ERRORS) {
            tbp_host_add_text(h, &h->errors, &h->n_errors, checked_text(r, f.bytes));
        } else if (f.number == TBP_XSPACE_WARNINGS) {
            tbp_host_add_text(h, &h->warnings, &h->n_warnings, checked_text(r, f.bytes));
        } else if (f.number == TBP_XSPACE_HOSTNAMES) {
            tbp_host_add_text(h, &h->hostnames, &h->n_hostnames, checked_text(r, f.bytes));
        }
    }
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
    size_t n = 0;
    tbp_wanted_decide(r->host);
    for (size_t i = 0; i < r->lines.n; i++)
        if (tbp_wants_plane(&r->host->planes[r->lines.at[i].plane]))
            r->lines.at[n++] = r->lines.at[i];
    r->lines.n = n;
}

static void index_planes(struct reading *r) {
    struct tbp_host *h = r->host;
    index_space(r);
    h->planes = TBP_NEW_N(&h->arena, struct tbp_plane, r->planes.n);
    for (size_t i = 0; i < r->planes.n; i++) {
        h->n_planes = i + 1;
        index_plane(r, i);
    }
    mark_first_of_name(h);
    drop_unwanted_lines(r);
}

/* No plane with a name, no event: whatever the bytes were, they were no profile. */
static bool holds_nothing(const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (h->planes[i].name.n)
            return false;
    return tbp_host_count_events(h) == 0;
}

/* Where the wire format breaks off. */
static uint64_t first_damage(const struct tbp_ledger *l) {
    uint64_t bad = l->first_offset[TBP_LEDGER_BAD_WIRE],
             cut = l->first_offset[TBP_LEDGER_TRUNCATED];
    return bad < cut ? bad : cut;
}

static int read_xplane(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct reading r = {.host = host, .file = host->input.data, .budget = budget_of(&host->input)};
    index_planes(&r);
    int status = tbp_xlines_read(host, r.lines.at, r.lines.n, pool, err);
    tbp_vec_release(&r.planes);
    tbp_vec_release(&r.lines);
    tbp_input_drop_pages(&host->input); /* few analyses look at stats, and few of them */
    if (status == TBP_OK && holds_nothing(host) && tbp_ledger_has_loss(&host->ledger)) {
        char path[TBP_ERROR_TEXT];
        size_t n = host->path.n < sizeof path - 1 ? host->path.n : sizeof path - 1;
        memcpy(path, host->path.p, n);
        path[n] = 0;
        status = tbp_fail_at(err, TBP_E_FORMAT, path, first_damage(&host->ledger),
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

/* The first bytes are fields of an XSpace. */
static int first_field(const uint8_t *data, size_t size) {
    enum { LIKELY = 60, SURE = 90 };
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

/* Nothing at all is a valid, empty XSpace. Text may begin like one: a quote is the key of a host's
 * name, a newline that of a plane. */
static int probe(const uint8_t *data, size_t size) {
    enum { LIKELY = 60 };
    if (size == 0)
        return LIKELY;
    int score = first_field(data, size);
    return score && tbp_looks_like_text(data, size) ? 0 : score;
}

/* The first bytes are damaged, but a plane stands behind them, with metadata or events, or with
 * nothing strange behind it. No message is longer than 2 GiB, and JSON without a blank, which may
 * be large, is not looked through, nor is an archive, which may hold a profile that is whole. */
static int probe_input(const struct tbp_input *in) {
    enum { LIKELY = 60 };
    uint64_t budget = budget_of(in);
    const struct tbp_walk walk = {
        .w = tbp_wire_of(in->data, in->size), .shape = &tbp_shape_xspace, .budget = &budget};
    if (in->size > INT32_MAX || tbp_is_of_characters(in->data, in->size) ||
        tbp_stranger_of(in->data, in->size) != TBP_STRANGER_NONE)
        return 0;
    return tbp_walk_has_child(&walk) ? LIKELY : 0;
}

const struct tbp_reader tbp_reader_xplane = {
    .name = "xplane",
    .help = "XSpace protobuf of TensorFlow, JAX and PyTorch/XLA (*.xplane.pb, also gzip'ed)",
    .probe = probe,
    .probe_input = probe_input,
    .read = read_xplane,
};
