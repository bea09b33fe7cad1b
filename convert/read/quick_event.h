/* SPDX-License-Identifier: Apache-2.0
 *
 * XEvents of the shape that every writer gives them, which is nearly all there are: read without a
 * check per byte. Whatever differs in any way is left to the careful reader of read_xplane.c, which
 * counts what is wrong with it.
 */
#ifndef TBP_CONVERT_READ_QUICK_EVENT_H
#define TBP_CONVERT_READ_QUICK_EVENT_H

#include "convert/model/stat_parts.h"

/* What the columns need of an event. */
struct tbp_event_values {
    int64_t id, offset_ps, dur_ps, group;
    uint32_t has;
};

/* The XEvent message w of a line of p, behind whose end TBP_WIRE_SLACK more bytes can be read.
 * False if there is anything unusual or wrong in it; *v then has no meaning. */
bool tbp_quick_event(const struct tbp_plane *p, struct tbp_wire w, struct tbp_event_values *v);

/* Only its metadata id, which stands first or behind the offset; false if it is not found there. */
static inline bool tbp_quick_event_id(struct tbp_wire w, int64_t *id) {
    const uint8_t *at = w.at;
    uint64_t v = 0;
    if (at < w.end && *at == TBP_KEY(TBP_XEVENT_OFFSET_PS, VARINT))
        at = tbp_wire_quick_end(at + 1);
    if (!at || at >= w.end || *at != TBP_KEY(TBP_XEVENT_METADATA_ID, VARINT))
        return false;
    at = tbp_wire_quick(at + 1, &v);
    *id = (int64_t)v;
    return at && at <= w.end;
}

#endif
