/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking and looking up stats of events, metadata entries and planes; decoded on demand from wire
 * bytes.
 *
 *     struct tbp_stat_iter it = tbp_stat_iter_event(line, i);
 *     for (struct tbp_stat st; tbp_stat_next(&it, &st);) …
 *
 * The event iterator yields the file's stats in order. Stats computed by grouping (group_id,
 * is_eager, step_name) are *not* yielded; use the accessors of model.h and the flags column.
 * Accessors never convert (spec: I, U, IU, D, S, B): asking for another member than the stored one
 * yields 0 or "". Pure, thread-safe. Damaged bytes end the walk (they were counted when the line
 * was read).
 */
#ifndef TBP_CONVERT_MODEL_STATS_H
#define TBP_CONVERT_MODEL_STATS_H

#include "convert/model/model.h"
#include "schemas/wire.h"

enum tbp_stat_type {
    TBP_STAT_NONE, /* no value stored */
    TBP_STAT_DOUBLE,
    TBP_STAT_UINT64,
    TBP_STAT_INT64,
    TBP_STAT_STR,
    TBP_STAT_BYTES,
    TBP_STAT_REF, /* name of a stat metadata entry; `s` is already that name ("" if unknown) */
};

struct tbp_stat {
    const struct tbp_stat_meta *meta; /* never NULL; nameless entry for unknown ids */
    enum tbp_stat_type type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        struct tbp_str s; /* STR, BYTES, REF */
    };
};

struct tbp_stat_iter {
    struct tbp_wire w;
    const struct tbp_plane *plane;
    uint32_t field; /* number of the stats field in the message walked */
    bool has_slack; /* TBP_WIRE_SLACK bytes behind the message can be read */
};

struct tbp_stat_iter tbp_stat_iter_event(const struct tbp_line *l, size_t i);
struct tbp_stat_iter tbp_stat_iter_meta(const struct tbp_plane *p, const struct tbp_meta *m);
bool tbp_stat_next(struct tbp_stat_iter *it, struct tbp_stat *out);
/* The next XStat message as it lies in the file, for those who decode it themselves. */
bool tbp_stat_next_message_slow(struct tbp_stat_iter *it, struct tbp_wire *out);
static inline bool tbp_stat_next_message(struct tbp_stat_iter *it, struct tbp_wire *out) {
    uint64_t n = 0;
    const uint8_t *at = it->w.at;
    if (!it->has_slack || at == it->w.end || *at != (it->field << 3 | TBP_WIRE_BYTES))
        return tbp_stat_next_message_slow(it, out);
    at = tbp_wire_quick(at + 1, &n);
    if (!at || at > it->w.end || n > (uint64_t)(it->w.end - at))
        return false;
    *out = tbp_wire_of(at, n);
    it->w.at = at + n;
    return true;
}
/* One XStat message. */
bool tbp_stat_decode(const struct tbp_plane *p, struct tbp_wire w, struct tbp_stat *out);
/* The same of a message that tbp_stat_next_message gave. */
bool tbp_stat_decode_next(const struct tbp_stat_iter *it, struct tbp_wire w, struct tbp_stat *out);

/* First stat with this key on the event / metadata entry / plane. */
bool tbp_event_stat(const struct tbp_line *l, size_t i, enum tbp_stat_key key,
                    struct tbp_stat *out);
bool tbp_meta_stat(const struct tbp_plane *p, const struct tbp_meta *m, enum tbp_stat_key key,
                   struct tbp_stat *out);
bool tbp_plane_stat(const struct tbp_plane *p, enum tbp_stat_key key, struct tbp_stat *out);
bool tbp_plane_stat_named(const struct tbp_plane *p, const char *name, struct tbp_stat *out);

static inline int64_t tbp_stat_i(const struct tbp_stat *s) {
    return s->type == TBP_STAT_INT64 ? s->i : 0;
}
static inline uint64_t tbp_stat_u(const struct tbp_stat *s) {
    return s->type == TBP_STAT_UINT64 ? s->u : 0;
}
static inline uint64_t tbp_stat_iu(const struct tbp_stat *s) {
    return s->type == TBP_STAT_UINT64 ? s->u : (uint64_t)tbp_stat_i(s);
}
static inline double tbp_stat_d(const struct tbp_stat *s) {
    return s->type == TBP_STAT_DOUBLE ? s->d : 0.0;
}
static inline struct tbp_str tbp_stat_s(const struct tbp_stat *s) {
    return s->type == TBP_STAT_STR || s->type == TBP_STAT_REF ? s->s : TBP_STR_NONE;
}
static inline bool tbp_stat_b(const struct tbp_stat *s) {
    return tbp_stat_i(s) != 0;
}

#endif
