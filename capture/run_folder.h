/* SPDX-License-Identifier: Apache-2.0
 *
 * Putting a profile where TensorBoard looks: it is written into a folder of its own beside
 * (<logdir>/.tbprof/run-<place>-<pid>-<n>), which then becomes the run by one rename. So a run
 * appears whole, an empty folder never shows as a run, and two processes that want one name cannot
 * mix.
 * Ownership: paths lie in the arena given. No state.
 */
#ifndef TBP_CAPTURE_RUN_FOLDER_H
#define TBP_CAPTURE_RUN_FOLDER_H

#include "base/arena.h"
#include "base/status.h"

struct tbp_run_folder {
    struct tbp_arena *arena;
    const char *logdir;
    const char *staging; /* where the file is written; gone after publish or discard */
    const char *stem;    /* host part of the file's name, clean */
    const char *file;    /* in staging, then where it was made visible: */
    const char *run;     /* the run folder */
};

/* Makes the log directory, if need be, and the staging folder. */
int tbp_run_folder_begin(struct tbp_run_folder *f, struct tbp_arena *arena, const char *logdir,
                         struct tbp_str host, struct tbp_error *err);

/* Makes the file visible as a run. A run of that name that is there stays as it is: the name gets
 * a number (tbp_rundir_numbered). is_shared: it may be of another rank, then the file joins it,
 * under the name of the process if the host's name is taken. */
int tbp_run_folder_publish(struct tbp_run_folder *f, const char *run, bool is_shared,
                           struct tbp_error *err);

/* A profile with that inode number among all runs of the log directory; NULL: there is none. */
const char *tbp_run_folder_find(struct tbp_run_folder *f, uint64_t inode);

/* Makes the file visible in the place of `older`, a whole path: what was written earlier of the
 * same spool. False: its folder is gone; nothing has changed. */
bool tbp_run_folder_replace(struct tbp_run_folder *f, const char *older);

/* After publish or replace: results that were made of fewer hosts go, and the staging folder; waits
 * until what was published is on disk. */
void tbp_run_folder_settle(struct tbp_run_folder *f);

/* Removes what has not been published. */
void tbp_run_folder_discard(struct tbp_run_folder *f);

#endif
