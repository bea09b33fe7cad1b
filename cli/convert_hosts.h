/* SPDX-License-Identifier: Apache-2.0
 *
 * Which hosts a run folder has beside those of a conversion: the pages of all hosts together must
 * tell of them, too, or not be there.
 */
#ifndef TBP_CLI_CONVERT_HOSTS_H
#define TBP_CLI_CONVERT_HOSTS_H

#include "cli/find_runs.h"

struct tbp_folder_hosts {
    struct tbp_run run; /* every host with an xplane in the folder, in order of names */
    /* Hosts that are not among those converted, the first of their kind, or NULL: */
    const char *other;  /* with an xplane */
    const char *unread; /* with pages and no xplane */
};

/* folder: one whose lock is held. Texts lie in the arena. */
void tbp_folder_hosts_find(struct tbp_folder_hosts *out, struct tbp_arena *arena,
                           const char *folder, const struct tbp_run *converted);

#endif
