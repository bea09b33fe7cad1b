/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of links that stands before the official plugin on Python's path: the package `xprof` as
 * it is installed, with the backend library in place of the official one, which stays reachable
 * under another name. Nothing that is installed is touched. Texts lie in the arena given.
 */
#ifndef TBP_CLI_OVERLAY_H
#define TBP_CLI_OVERLAY_H

#include "base/arena.h"
#include "base/status.h"

/* Folder of the installed package, from the places where Python's packages usually are, seen from
 * the environment and from this program; TBP_E_NOT_FOUND if there is none. */
int tbp_overlay_find_package(const char **out, struct tbp_arena *arena, struct tbp_error *err);
/* The backend library beside this program or where it gets installed. */
int tbp_overlay_find_library(const char **out, struct tbp_arena *arena, struct tbp_error *err);

/* Makes the overlay, or makes it again; refuses a folder that holds anything else. */
int tbp_overlay_make(struct tbp_arena *arena, const char *folder, const char *package,
                     const char *library, struct tbp_error *err);
int tbp_overlay_remove(struct tbp_arena *arena, const char *folder, struct tbp_error *err);

#endif
