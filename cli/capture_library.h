/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture runtime (libtbprof) that `tbprof run` loads into programs.
 */
#ifndef TBP_CLI_CAPTURE_LIBRARY_H
#define TBP_CLI_CAPTURE_LIBRARY_H

#include "base/arena.h"
#include "base/status.h"

/* $TBPROF_LIBRARY, else the one beside this program, as it is built or installed, else what the
 * loader finds by name. Fails if there is none, or none that can be loaded; the message says what
 * to do. The text lies in the arena or in the environment. */
int tbp_capture_library_find(const char **out, struct tbp_arena *arena, struct tbp_error *err);

#endif
