/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the usual shape; see quick_event.h. A stat counts as usual if its id comes first and
 * one value follows that fills the message; only ids, presence and groups are of interest, other
 * values are stepped over.
 */
#include "convert/read/quick_event.h"

#include "schemas/xplane_fields.h"

#define KEY(number, type) ((number) << 3 | TBP_WIRE_##type)

/* Known ids are those of the dense table: 0 stands for all others. */
static inline uint32_t known_stat(const struct tbp_plane *p, uint64_t id) {
    return id < p->stat_meta_by_id.n_dense ? p->stat_meta_by_id.dense[id] : 0;
}

static inline bool quick_stat(const struct tbp_plane *p, const uint8_t *at, const uint8_t *end,
                              struct tbp_event_values *v) {
    uint64_t id = 0, value = 0;
    if (*at != KEY(TBP_XSTAT_METADATA_ID, VARINT))
        return false;
    at = tbp_wire_quick(at + 1, &id);
    uint32_t index = at && at < end ? known_stat(p, id) : 0;
    if (!index)
        return false;
    uint8_t key = *at;
    switch (key) {
    case KEY(TBP_XSTAT_INT64, VARINT):
    case KEY(TBP_XSTAT_UINT64, VARINT):
        at = tbp_wire_quick(at + 1, &value);
        break;
    case KEY(TBP_XSTAT_REF, VARINT):
        at = tbp_wire_quick(at + 1, &value);
        if (!known_stat(p, value))
            return false;
        break;
    case KEY(TBP_XSTAT_DOUBLE, FIXED64):
        at += 1 + sizeof(double);
        break;
    case KEY(TBP_XSTAT_STR, BYTES):
        at = tbp_wire_quick(at + 1, &value);
        if (!at || at > end || value != (uint64_t)(end - at) ||
            tbp_utf8_valid_prefix((struct tbp_str){(const char *)at, value}) < value)
            return false;
        at = end;
        break;
    default:
        return false;
    }
    uint32_t bit = p->stat_metas[index].has;
    if (bit == TBP_HAS_GROUP && !(v->has & TBP_HAS_GROUP))
        v->group = key == KEY(TBP_XSTAT_INT64, VARINT) ? (int64_t)value : 0;
    v->has |= bit | TBP_HAS_STATS;
    return at == end;
}

bool tbp_quick_event(const struct tbp_plane *p, struct tbp_wire w, struct tbp_event_values *v) {
    *v = (struct tbp_event_values){0};
    while (w.at < w.end) {
        uint64_t value = 0;
        uint8_t key = *w.at;
        w.at = tbp_wire_quick(w.at + 1, &value);
        if (!w.at || w.at > w.end)
            return false;
        switch (key) {
        case KEY(TBP_XEVENT_METADATA_ID, VARINT):
            v->id = (int64_t)value;
            break;
        case KEY(TBP_XEVENT_OFFSET_PS, VARINT):
            v->offset_ps = (int64_t)value;
            break;
        case KEY(TBP_XEVENT_DURATION_PS, VARINT):
            v->dur_ps = (int64_t)value;
            break;
        case KEY(TBP_XEVENT_STATS, BYTES):
            if (value == 0 || value > (uint64_t)(w.end - w.at) ||
                !quick_stat(p, w.at, w.at + value, v))
                return false;
            w.at += value;
            break;
        default:
            return false;
        }
    }
    return true;
}
