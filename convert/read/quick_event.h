/* SPDX-License-Identifier: Apache-2.0
 *
 * XEvents of the shape that every writer gives them, which is nearly all there are: read without a
 * check per byte. Whatever differs in any way is left to the careful reader of read_xplane.c, which
 * counts what is wrong with it.
 */
#ifndef TBP_CONVERT_READ_QUICK_EVENT_H
#define TBP_CONVERT_READ_QUICK_EVENT_H

#include "convert/model/model.h"
#include "schemas/wire.h"

/* What the columns need of an event. */
struct tbp_event_values {
    int64_t id, offset_ps, dur_ps, group;
    uint32_t has;
};

/* The XEvent message w of a line of p, behind whose end TBP_WIRE_SLACK more bytes can be read.
 * False if there is anything unusual or wrong in it; *v then has no meaning. */
bool tbp_quick_event(const struct tbp_plane *p, struct tbp_wire w, struct tbp_event_values *v);

#endif
