/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip and zip undone; see tbp_input_open, which calls this.
 */
#ifndef TBP_BASE_UNPACK_H
#define TBP_BASE_UNPACK_H

#include "base/input.h"

#include <sys/types.h>

bool tbp_is_packed(const struct tbp_input *in);
/* Replaces packed bytes by what they hold; others stay as they are. member: which file of a zip, or
 * NULL: the only one; what is gzip in a zip or in gzip is undone, too. On failure in is
 * released. */
int tbp_unpack(struct tbp_input *in, const char *member, const char *path, struct tbp_error *err);
/* What the beginning of a gzip file holds, as far as n bytes of it tell; its size, or -1 if it is
 * damaged before the first byte. */
ssize_t tbp_unpack_head(const uint8_t *packed, size_t n, uint8_t *to, size_t room);
bool tbp_is_gzip(const struct tbp_input *in);

#endif
