/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events a reader may leave unread, by host->wanted (enum tbp_wanted): asked once the
 * metadata of all planes are known. A reader may also read all. What it leaves is not
 * looked at, so that damage inside is not counted.
 */
#ifndef TBP_CONVERT_READ_WANTED_H
#define TBP_CONVERT_READ_WANTED_H

#include "convert/model/model.h"

/* First: what can be left depends on how the host came. */
void tbp_wanted_decide(struct tbp_host *h);
bool tbp_wants_plane(const struct tbp_plane *p);
/* 1 by metadata index for events that are wanted; NULL: all of this plane are. In the host's arena.
 */
const uint8_t *tbp_wanted_metas(const struct tbp_plane *p);

#endif
