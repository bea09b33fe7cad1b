/* SPDX-License-Identifier: Apache-2.0
 *
 * Stats of the shape that every writer gives them, taken apart without a check per byte: the id,
 * which is in the plane's table, then one value that fills the message. For hot paths; whatever
 * differs is left to tbp_stat_decode. Pure.
 */
#ifndef TBP_CONVERT_MODEL_STAT_PARTS_H
#define TBP_CONVERT_MODEL_STAT_PARTS_H

#include "convert/model/model.h"
#include "schemas/wire.h"
#include "schemas/xplane_fields.h"

/* Key byte of a field. */
#define TBP_KEY(number, type) ((number) << 3 | TBP_WIRE_##type)

struct tbp_stat_parts {
    uint32_t meta;      /* index in stat_metas, never 0 */
    uint8_t key;        /* of the value: TBP_KEY(TBP_XSTAT_…, …) */
    uint64_t value;     /* number, bits of a double, or length of a text */
    const uint8_t *end; /* of the message; a text ends there */
};

/* Index of a stat whose id is small, as nearly all are; 0 for others. */
static inline uint32_t tbp_small_stat_id(const struct tbp_plane *p, uint64_t id) {
    return id < p->stat_meta_by_id.n_dense ? p->stat_meta_by_id.dense[id] : 0;
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
    uint8_t key = out->key = *at++;
    out->value = 0;
    out->end = w.end;
    if (key == TBP_KEY(TBP_XSTAT_INT64, VARINT) || key == TBP_KEY(TBP_XSTAT_REF, VARINT) ||
        key == TBP_KEY(TBP_XSTAT_UINT64, VARINT))
        return tbp_wire_quick(at, &out->value) == w.end;
    if (key == TBP_KEY(TBP_XSTAT_STR, BYTES) || key == TBP_KEY(TBP_XSTAT_BYTES, BYTES)) {
        at = tbp_wire_quick(at, &out->value);
        return at && at <= w.end && out->value == (uint64_t)(w.end - at);
    }
    for (int i = 7; i >= 0; i--)
        out->value = out->value << 8 | at[i];
    return key == TBP_KEY(TBP_XSTAT_DOUBLE, FIXED64) && at + 8 == w.end;
}

static inline struct tbp_str tbp_stat_parts_text(const struct tbp_stat_parts *s) {
    return (struct tbp_str){(const char *)s->end - s->value, s->value};
}

#endif
