/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip and zip undone; see tbp_input_open, which calls this.
 */
#ifndef TBP_BASE_UNPACK_H
#define TBP_BASE_UNPACK_H

#include "base/file.h"

bool tbp_is_packed(const struct tbp_input *in);
/* Replaces packed bytes by what they hold; others stay as they are. member: which file of a zip, or
 * NULL: the only one. On failure in is released. */
int tbp_unpack(struct tbp_input *in, const char *member, const char *path, struct tbp_error *err);

#endif
