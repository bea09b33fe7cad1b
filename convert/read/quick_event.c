/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the usual shape; see quick_event.h. Of their stats only presence and groups are of
 * interest.
 */
#include "convert/read/quick_event.h"

#include "convert/model/stat_parts.h"

static inline bool quick_stat(const struct tbp_plane *p, struct tbp_wire w,
                              struct tbp_event_values *v) {
    struct tbp_stat_parts s;
    if (!tbp_stat_split(p, w, &s))
        return false;
    if (s.key == TBP_KEY(TBP_XSTAT_REF, VARINT) && !tbp_small_stat_id(p, s.value))
        return false;
    if (s.key == TBP_KEY(TBP_XSTAT_STR, BYTES) &&
        tbp_utf8_valid_prefix(tbp_stat_parts_text(&s)) < s.value)
        return false;
    uint32_t bit = p->stat_metas[s.meta].has;
    if (bit == TBP_HAS_GROUP && !(v->has & TBP_HAS_GROUP))
        v->group = s.key == TBP_KEY(TBP_XSTAT_INT64, VARINT) ? (int64_t)s.value : 0;
    v->has |= bit | TBP_HAS_STATS;
    return true;
}

bool tbp_quick_event(const struct tbp_plane *p, struct tbp_wire w, struct tbp_event_values *v) {
    *v = (struct tbp_event_values){0};
    while (w.at < w.end) {
        uint64_t value = 0;
        uint8_t key = *w.at;
        w.at = tbp_wire_quick(w.at + 1, &value);
        if (!w.at || w.at > w.end)
            return false;
        if (key == TBP_KEY(TBP_XEVENT_STATS, BYTES)) {
            if (value > (uint64_t)(w.end - w.at) || !quick_stat(p, tbp_wire_of(w.at, value), v))
                return false;
            w.at += value;
        } else if (key == TBP_KEY(TBP_XEVENT_METADATA_ID, VARINT)) {
            v->id = (int64_t)value;
        } else if (key == TBP_KEY(TBP_XEVENT_OFFSET_PS, VARINT)) {
            v->offset_ps = (int64_t)value;
        } else if (key == TBP_KEY(TBP_XEVENT_DURATION_PS, VARINT)) {
            v->dur_ps = (int64_t)value;
        } else {
            return false;
        }
    }
    return true;
}
