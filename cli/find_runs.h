/* SPDX-License-Identifier: Apache-2.0
 *
 * What an INPUT of the command line means: the runs it holds and the files of their hosts.
 *
 *   a file            one run of one host
 *   a run folder      one run; each *.xplane.pb (or .xplane.pb.gz) in it is a host
 *   a trace folder    traces of workers (*.pt.trace.json[.gz]): one run, each worker a host; one
 *                     more for each further span of a worker
 *   folders of ranks  side by side, each with the profile of one rank (rank_folders.h): one run
 *   a log directory   every plugins/profile/RUN below it, at any depth; profiles of other tools
 *                     that are folders (MindSpore, Ascend) are runs, too
 *   FILE.zip:MEMBER   a file of a zip: one run of one host
 *   "-"               standard input: one run of one host
 *
 * What looks like a profile and is not taken stands in `skipped`: nothing is passed over in
 * silence. Order is that of the names, byte by byte. All texts and arrays lie in the arena given.
 */
#ifndef TBP_CLI_FIND_RUNS_H
#define TBP_CLI_FIND_RUNS_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

struct tbp_run_file {
    struct tbp_str host; /* file name without .xplane.pb; NUL-terminated */
    const char *path;    /* where it is read from */
    const char *given;   /* what messages call it: the path, unless path is a copy */
    const char *label;   /* its own file name, for receipts */
    uint64_t size_bytes; /* on disk; 0 if not known */
};

struct tbp_run {
    const char *name;      /* folder below plugins/profile; of a lone file: its host */
    const char *full_name; /* the same behind the folders between it and the INPUT: "train/NAME" */
    const char
        *logdir;       /* what holds plugins/profile; NULL if the files do not lie in that layout */
    const char *below; /* logdir relative to the INPUT, "" or "train" */
    struct tbp_run_file *hosts;
    size_t n_hosts, cap_hosts;
    bool is_folder;       /* given as folder, not as single file */
    const char *folder;   /* profiles of another tool: the folder that they are all of; or NULL */
    size_t span, n_spans; /* of the folder: which of how many */
};

struct tbp_skipped {
    const char *path, *why;
    bool is_loss; /* a profile that is not read */
};

struct tbp_runs {
    TBP_VEC(struct tbp_run) list;
    TBP_VEC(struct tbp_skipped) skipped;
};

/* Appends the runs of one INPUT. Fails with TBP_E_NOT_FOUND or TBP_E_IO naming the path. */
int tbp_find_runs(struct tbp_runs *runs, struct tbp_arena *arena, const char *input,
                  struct tbp_error *err);
/* The same of several inputs; no run at all is TBP_E_NOT_FOUND, too. */
int tbp_find_all_runs(struct tbp_runs *runs, struct tbp_arena *arena, char *const *inputs, size_t n,
                      struct tbp_error *err);
/* Skips runs that lie in the folder, where that is a part of what was searched: what is written
 * into it must not be read again. */
void tbp_runs_skip_below(struct tbp_runs *runs, const char *folder);
void tbp_runs_release(struct tbp_runs *runs);

#endif
