/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a profile where a client said, on this machine: only under folders that the program
 * allowed, and never through a symbolic link that leads elsewhere. Nothing is kept.
 */
#ifndef TBP_CAPTURE_CAPTURE_SAVE_H
#define TBP_CAPTURE_CAPTURE_SAVE_H

#include "base/arena.h"
#include "base/status.h"

struct tbp_save_target {
    const char *allowed;           /* folders, with ':' between them; NULL: none */
    const char *root, *run, *host; /* <root>/<run>/<host with '_' for ':'>.xplane.pb */
};

/* May this be written, as things are? TBP_E_USAGE says why not, TBP_E_IO what is in the way. */
int tbp_capture_save_check(const struct tbp_save_target *target, struct tbp_error *err);
/* Is there such a place already: does what holds plugins/profile exist, and is it allowed? */
bool tbp_capture_save_exists(const struct tbp_save_target *target);
/* Is the file there, in a run of that name? */
bool tbp_capture_save_is_taken(const struct tbp_save_target *target);
/* Appears whole or not at all; folders are made. What is there is never overwritten: TBP_E_USAGE.
 */
int tbp_capture_save(const struct tbp_save_target *target, const void *bytes, size_t size_bytes,
                     struct tbp_error *err);

#endif
