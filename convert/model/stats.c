/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoding of stats on demand; see stats.h.
 */
#include "convert/model/stats.h"

#include "convert/model/stat_parts.h"

static struct tbp_wire body_of(const struct tbp_line *l, size_t i) {
    static const uint8_t nothing[1];
    uint64_t body = tbp_event_body(&l->ev, i);
    if (body == TBP_NO_BODY)
        return tbp_wire_of(nothing, 0);
    struct tbp_wire w = {l->base + body, l->base + l->base_size};
    uint64_t n = 0;
    if (tbp_wire_varint(&w, &n) ||
        n > (uint64_t)(w.end - w.at)) /* only if the file changed under us */
        return tbp_wire_of(nothing, 0);
    return tbp_wire_of(w.at, n);
}

/* The event's own fields, which every writer puts before its stats. */
static void skip_numbers(struct tbp_wire *w) {
    const uint8_t *at = w->at;
    while (at < w->end && *at < 0x80 && *at >= 8 && (*at & 7) == TBP_WIRE_VARINT) {
        at = tbp_wire_quick_end(at + 1);
        if (!at || at > w->end)
            return; /* damaged; whoever walks on finds it */
        w->at = at;
    }
}

struct tbp_stat_iter tbp_stat_iter_event(const struct tbp_line *l, size_t i) {
    struct tbp_wire w = body_of(l, i);
    bool has_slack = tbp_event_body(&l->ev, i) != TBP_NO_BODY &&
                     l->base + l->base_size - w.end >= TBP_WIRE_SLACK;
    if (has_slack)
        skip_numbers(&w);
    return (struct tbp_stat_iter){w, l->plane, TBP_XEVENT_STATS, has_slack};
}

struct tbp_stat_iter tbp_stat_iter_meta(const struct tbp_plane *p, const struct tbp_meta *m) {
    return (struct tbp_stat_iter){tbp_wire_of(m->wire.p, m->wire.n), p, TBP_XEVENTMETA_STATS,
                                  false};
}

static void take_value(const struct tbp_plane *p, const struct tbp_wire_field *f,
                       struct tbp_stat *out) {
    if (f->number == TBP_XSTAT_METADATA_ID && f->type == TBP_WIRE_VARINT) {
        out->meta = &p->stat_metas[tbp_plane_stat_meta_index(p, (int64_t)f->value)];
    } else if (f->number == TBP_XSTAT_DOUBLE && f->type == TBP_WIRE_FIXED64) {
        out->type = TBP_STAT_DOUBLE;
        out->d = tbp_wire_double(f->value);
    } else if (f->number == TBP_XSTAT_UINT64 && f->type == TBP_WIRE_VARINT) {
        out->type = TBP_STAT_UINT64;
        out->u = f->value;
    } else if (f->number == TBP_XSTAT_INT64 && f->type == TBP_WIRE_VARINT) {
        out->type = TBP_STAT_INT64;
        out->i = (int64_t)f->value;
    } else if ((f->number == TBP_XSTAT_STR || f->number == TBP_XSTAT_BYTES) &&
               f->type == TBP_WIRE_BYTES) {
        out->type = f->number == TBP_XSTAT_STR ? TBP_STAT_STR : TBP_STAT_BYTES;
        out->s = tbp_wire_str(f->bytes);
    } else if (f->number == TBP_XSTAT_REF && f->type == TBP_WIRE_VARINT) {
        out->type = TBP_STAT_REF;
        out->s = p->stat_metas[tbp_plane_stat_meta_index(p, (int64_t)f->value)].name;
    }
}

bool tbp_stat_decode(const struct tbp_plane *p, struct tbp_wire w, struct tbp_stat *out) {
    *out = (struct tbp_stat){.meta = &p->stat_metas[0]};
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0)
        take_value(p, &f, out);
    return got == 0;
}

bool tbp_stat_next_message_slow(struct tbp_stat_iter *it, struct tbp_wire *out) {
    struct tbp_wire_field f;
    while (tbp_wire_next(&it->w, &f) > 0)
        if (f.number == it->field && f.type == TBP_WIRE_BYTES) {
            *out = f.bytes;
            return true;
        }
    return false;
}

struct tbp_stat_parts tbp_stat_parts_first_slow(const struct tbp_plane *p, struct tbp_wire w) {
    struct tbp_stat_parts s = {0};
    uint64_t n = 0;
    if (w.at >= w.end || *w.at != TBP_KEY(TBP_XEVENT_STATS, BYTES))
        return s;
    w.at = tbp_wire_quick(w.at + 1, &n);
    if (!w.at || w.at > w.end || n > (uint64_t)(w.end - w.at) ||
        !tbp_stat_split(p, tbp_wire_of(w.at, n), &s))
        s.meta = 0;
    return s;
}

bool tbp_stat_decode_next(const struct tbp_stat_iter *it, struct tbp_wire w, struct tbp_stat *out) {
    struct tbp_stat_parts s;
    if (!it->has_slack || !tbp_stat_split(it->plane, w, &s))
        return tbp_stat_decode(it->plane, w, out);
    tbp_stat_parts_decode(it->plane, &s, out);
    return true;
}

bool tbp_stat_next(struct tbp_stat_iter *it, struct tbp_stat *out) {
    struct tbp_wire w;
    while (tbp_stat_next_message(it, &w))
        if (tbp_stat_decode_next(it, w, out))
            return true;
    return false;
}

/* True if the first field of the message is its id (where every writer puts it) and names another
 * stat; a later id would replace it, but no writer gives two. */
static bool is_other(const struct tbp_plane *p, struct tbp_wire w, enum tbp_stat_key key) {
    uint64_t id;
    if (w.at == w.end || *w.at++ != TBP_XSTAT_METADATA_ID << 3 || tbp_wire_varint(&w, &id))
        return false;
    return p->stat_metas[tbp_plane_stat_meta_index(p, (int64_t)id)].key != key;
}

/* Steps over stats of other keys as long as they are of the usual shape: a length and an id of one
 * byte. */
static void skip_others(struct tbp_stat_iter *it, enum tbp_stat_key key) {
    while (it->has_slack && it->w.end - it->w.at > TBP_STAT_HEAD && tbp_stat_has_head(it->w.at)) {
        const struct tbp_plane *p = it->plane;
        size_t n = it->w.at[1];
        uint32_t meta = tbp_small_stat_id(p, it->w.at[3]);
        if (!meta || p->stat_metas[meta].key == key || n + 2 > (size_t)(it->w.end - it->w.at))
            return;
        it->w.at += n + 2;
    }
}

static bool find(struct tbp_stat_iter it, enum tbp_stat_key key, struct tbp_stat *out) {
    struct tbp_wire w;
    if (!tbp_plane_has_stat(it.plane, key))
        return false;
    for (skip_others(&it, key); tbp_stat_next_message(&it, &w); skip_others(&it, key))
        if (!is_other(it.plane, w, key) && tbp_stat_decode_next(&it, w, out) &&
            out->meta->key == key)
            return true;
    return false;
}

bool tbp_event_stat(const struct tbp_line *l, size_t i, enum tbp_stat_key key,
                    struct tbp_stat *out) {
    return find(tbp_stat_iter_event(l, i), key, out);
}

bool tbp_meta_stat(const struct tbp_plane *p, const struct tbp_meta *m, enum tbp_stat_key key,
                   struct tbp_stat *out) {
    return m->has_stats && find(tbp_stat_iter_meta(p, m), key, out);
}

bool tbp_plane_stat(const struct tbp_plane *p, enum tbp_stat_key key, struct tbp_stat *out) {
    for (size_t i = 0; i < p->n_stats; i++)
        if (tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), out) &&
            out->meta->key == key)
            return true;
    return false;
}

bool tbp_plane_stat_named(const struct tbp_plane *p, const char *name, struct tbp_stat *out) {
    for (size_t i = 0; i < p->n_stats; i++)
        if (tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), out) &&
            tbp_str_is(out->meta->name, name))
            return true;
    return false;
}
