/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the usual shape; see quick_event.h. Of their stats only presence and groups are of
 * interest.
 */
#include "convert/read/quick_event.h"

/* The few stats whose value matters here. */
static inline void take_value(uint32_t bit, const struct tbp_stat_parts *s,
                              struct tbp_event_values *v) {
    int64_t value = tbp_stat_parts_is_int(s) ? (int64_t)tbp_stat_parts_number(s) : 0;
    if (bit == TBP_HAS_GROUP)
        v->group = v->has & TBP_HAS_GROUP ? v->group : value;
    else if (v->has & TBP_HAS_CORRELATION)
        v->has &= ~(uint32_t)TBP_HAS_LAUNCH;
    else
        v->has |= value >= 0 ? TBP_HAS_LAUNCH : 0;
}

static inline bool take_stat(const struct tbp_plane *p, const struct tbp_stat_parts *s,
                             struct tbp_event_values *v) {
    if (s->key == TBP_KEY(TBP_XSTAT_REF, VARINT) && !tbp_small_stat_id(p, tbp_stat_parts_number(s)))
        return false;
    if (s->key == TBP_KEY(TBP_XSTAT_STR, BYTES) &&
        tbp_utf8_valid_prefix(tbp_stat_parts_text(s)) < tbp_stat_parts_text(s).n)
        return false;
    uint32_t bit = p->stat_metas[s->meta].has;
    if (bit == TBP_HAS_GROUP || bit == TBP_HAS_CORRELATION)
        take_value(bit, s, v);
    v->has |= bit | TBP_HAS_STATS;
    return true;
}

static bool take_own(uint8_t key, uint64_t value, struct tbp_event_values *v) {
    if (key == TBP_KEY(TBP_XEVENT_METADATA_ID, VARINT))
        v->id = (int64_t)value;
    else if (key == TBP_KEY(TBP_XEVENT_OFFSET_PS, VARINT))
        v->offset_ps = (int64_t)value;
    else if (key == TBP_KEY(TBP_XEVENT_DURATION_PS, VARINT))
        v->dur_ps = (int64_t)value;
    else
        return false;
    return true;
}

bool tbp_quick_event(const struct tbp_plane *p, struct tbp_wire w, struct tbp_event_values *v) {
    *v = (struct tbp_event_values){0};
    while (w.at < w.end) {
        uint8_t key = *w.at;
        if (key == TBP_KEY(TBP_XEVENT_STATS, BYTES)) {
            struct tbp_stat_parts stat = tbp_stat_parts_first(p, w);
            if (!stat.meta || !take_stat(p, &stat, v))
                return false;
            w.at = stat.end;
        } else {
            uint64_t value = 0;
            w.at = tbp_wire_quick(w.at + 1, &value);
            if (!w.at || w.at > w.end || !take_own(key, value, v))
                return false;
        }
    }
    return true;
}
