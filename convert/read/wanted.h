/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events a reader may leave unread, by host->wanted (enum tbp_wanted): asked once the
 * metadata of all planes are known. A reader may also read all. What it leaves is not
 * looked at, so that damage inside is not counted.
 *
 * Of an xplane, whole planes can be left where their name stands before all else in them, as every
 * writer puts it: then nothing behind it is looked at.
 */
#ifndef TBP_CONVERT_READ_WANTED_H
#define TBP_CONVERT_READ_WANTED_H

#include "convert/model/model.h"
#include "schemas/wire.h"

/* First: what can be left depends on how the host came. */
void tbp_wanted_decide(struct tbp_host *h);
bool tbp_wants_plane(const struct tbp_plane *p);
/* False if nothing of the plane is needed but its name: *end is where that ends then. */
bool tbp_wants_any_of_plane(enum tbp_wanted wanted, struct tbp_wire plane, const uint8_t **end);
/* 1 by metadata index for events that are wanted; NULL: all of this plane are. In the host's arena.
 */
const uint8_t *tbp_wanted_metas(const struct tbp_plane *p);

#endif
