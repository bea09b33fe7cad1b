/* SPDX-License-Identifier: Apache-2.0
 *
 * One conversion at a time per run folder: an exclusive flock of the folder itself, which leaves
 * nothing behind and ends with its process. Who comes second waits, and then sees what the first
 * one wrote. File systems that cannot lock a folder (some network mounts) are written unlocked.
 */
#ifndef TBP_CLI_RUN_LOCK_H
#define TBP_CLI_RUN_LOCK_H

#include "cli/cli.h"

struct tbp_run_lock {
    int fd; /* -1: not held */
};

/* Makes the folder, and all above it, and locks it; tells if it has to wait. */
int tbp_run_lock_take(struct tbp_run_lock *l, const char *folder, const struct tbp_cli *cli,
                      struct tbp_error *err);
void tbp_run_lock_release(struct tbp_run_lock *l);

#endif
