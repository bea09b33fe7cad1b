/* SPDX-License-Identifier: Apache-2.0
 *
 * Stats of the shape that every writer gives them, taken apart without a check per byte: the id,
 * which is in the plane's table, then one value that fills the message. For hot paths; whatever
 * differs is left to tbp_stat_decode. Pure.
 */
#ifndef TBP_CONVERT_MODEL_STAT_PARTS_H
#define TBP_CONVERT_MODEL_STAT_PARTS_H

#include "convert/model/stats.h"
#include "schemas/xplane_fields.h"

/* Key byte of a field. */
#define TBP_KEY(number, type) ((number) << 3 | TBP_WIRE_##type)

struct tbp_stat_parts {
    uint32_t meta;           /* index in stat_metas, never 0 */
    uint8_t key;             /* of the value: TBP_KEY(TBP_XSTAT_…, …) */
    const uint8_t *at, *end; /* the value; of a text its bytes */
};

/* Index of a stat whose id is small, as nearly all are; 0 for others. */
static inline uint32_t tbp_small_stat_id(const struct tbp_plane *p, uint64_t id) {
    return id < p->stat_meta_by_id.n_dense ? p->stat_meta_by_id.dense[id] : 0;
}

/* Whether the value is of a known kind and ends where the message does; sets `at` of texts. */
static inline bool tbp_stat_value_fits(struct tbp_stat_parts *s) {
    if (s->key == TBP_KEY(TBP_XSTAT_INT64, VARINT) || s->key == TBP_KEY(TBP_XSTAT_REF, VARINT) ||
        s->key == TBP_KEY(TBP_XSTAT_UINT64, VARINT))
        return tbp_wire_quick_end(s->at) == s->end;
    if (s->key == TBP_KEY(TBP_XSTAT_STR, BYTES) || s->key == TBP_KEY(TBP_XSTAT_BYTES, BYTES)) {
        uint64_t n = 0;
        s->at = tbp_wire_quick(s->at, &n);
        return s->at && s->at <= s->end && n == (uint64_t)(s->end - s->at);
    }
    return s->key == TBP_KEY(TBP_XSTAT_DOUBLE, FIXED64) && s->at + 8 == s->end;
}

/* False if the message w is not of this shape. TBP_WIRE_SLACK bytes behind it must be there to be
 * read. */
static inline bool tbp_stat_split(const struct tbp_plane *p, struct tbp_wire w,
                                  struct tbp_stat_parts *out) {
    const uint8_t *at = w.at;
    uint64_t id = 0;
    if (at == w.end || *at != TBP_KEY(TBP_XSTAT_METADATA_ID, VARINT))
        return false;
    at = tbp_wire_quick(at + 1, &id);
    out->meta = at && at < w.end ? tbp_small_stat_id(p, id) : 0;
    if (!out->meta)
        return false;
    out->key = *at++;
    out->at = at;
    out->end = w.end;
    return tbp_stat_value_fits(out);
}

/* Of a value of that kind. */
static inline struct tbp_str tbp_stat_parts_text(const struct tbp_stat_parts *s) {
    return (struct tbp_str){(const char *)s->at, (size_t)(s->end - s->at)};
}
static inline uint64_t tbp_stat_parts_number(const struct tbp_stat_parts *s) {
    return tbp_wire_sized(s->at, (size_t)(s->end - s->at));
}
static inline double tbp_stat_parts_double(const struct tbp_stat_parts *s) {
    uint64_t bits = 0;
    for (int i = 7; i >= 0; i--)
        bits = bits << 8 | s->at[i];
    return tbp_wire_double(bits);
}

static inline bool tbp_stat_parts_is_int(const struct tbp_stat_parts *s) {
    return s->key == TBP_KEY(TBP_XSTAT_INT64, VARINT);
}

static inline void tbp_stat_parts_decode(const struct tbp_plane *p, const struct tbp_stat_parts *s,
                                         struct tbp_stat *out) {
    out->meta = &p->stat_metas[s->meta];
    switch (s->key) {
    case TBP_KEY(TBP_XSTAT_DOUBLE, FIXED64):
        out->type = TBP_STAT_DOUBLE;
        out->d = tbp_stat_parts_double(s);
        break;
    case TBP_KEY(TBP_XSTAT_UINT64, VARINT):
        out->type = TBP_STAT_UINT64;
        out->u = tbp_stat_parts_number(s);
        break;
    case TBP_KEY(TBP_XSTAT_INT64, VARINT):
        out->type = TBP_STAT_INT64;
        out->i = (int64_t)tbp_stat_parts_number(s);
        break;
    case TBP_KEY(TBP_XSTAT_REF, VARINT):
        out->type = TBP_STAT_REF;
        out->s =
            p->stat_metas[tbp_plane_stat_meta_index(p, (int64_t)tbp_stat_parts_number(s))].name;
        break;
    default:
        out->type = s->key == TBP_KEY(TBP_XSTAT_STR, BYTES) ? TBP_STAT_STR : TBP_STAT_BYTES;
        out->s = tbp_stat_parts_text(s);
        break;
    }
}

/* Whether the bytes begin with a stat whose length and id take one byte each, as nearly all do: two
 * keys and two short numbers are told at one look. TBP_WIRE_SLACK bytes must be there to be read.
 */
enum { TBP_STAT_HEAD = 5 }; /* with the key of the value */
static inline bool tbp_stat_has_head(const uint8_t *at) {
    const uint32_t keys =
        TBP_KEY(TBP_XSTAT_METADATA_ID, VARINT) << 16 | TBP_KEY(TBP_XEVENT_STATS, BYTES);
    uint32_t head;
    __builtin_memcpy(&head, at, sizeof head);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    head = __builtin_bswap32(head);
#endif
    return (head & 0x80ff80ff) == keys;
}

/* The stat that the fields w of an event begin with, which go on at its `end`. Without meta: they
 * begin with anything else. By value, so that all of it stays in registers. */
struct tbp_stat_parts tbp_stat_parts_first_slow(const struct tbp_plane *p, struct tbp_wire w);
static inline struct tbp_stat_parts tbp_stat_parts_first(const struct tbp_plane *p,
                                                         struct tbp_wire w) {
    if (w.end - w.at >= TBP_STAT_HEAD && tbp_stat_has_head(w.at)) {
        struct tbp_stat_parts s = {.meta = tbp_small_stat_id(p, w.at[3]),
                                   .key = w.at[4],
                                   .at = w.at + TBP_STAT_HEAD,
                                   .end = w.at + 2 + w.at[1]};
        if (s.end > w.end || !tbp_stat_value_fits(&s))
            s.meta = 0;
        return s;
    }
    return tbp_stat_parts_first_slow(p, w);
}

#endif
