/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs that can be read only once (standard input, pipes): their bytes are taken over into a
 * nameless file, because a session may load a host more than once.
 */
#ifndef TBP_CLI_SPOOL_INPUT_H
#define TBP_CLI_SPOOL_INPUT_H

#include "base/arena.h"
#include "base/status.h"

/* Path of the copy, which lives as long as the process. path "-" is standard input. */
int tbp_spool_input(const char **copy, struct tbp_arena *arena, const char *path,
                    struct tbp_error *err);

#endif
