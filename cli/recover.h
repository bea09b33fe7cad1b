/* SPDX-License-Identifier: Apache-2.0
 *
 * Spools that processes left behind which ended while they were recorded: finding them, and making
 * runs of them. A spool whose process lives is locked and left alone.
 * Ownership: texts lie in the arena given.
 */
#ifndef TBP_CLI_RECOVER_H
#define TBP_CLI_RECOVER_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vec.h"

struct tbp_spool_paths {
    TBP_VEC(const char *) list;   /* in order of names, folder by folder */
    TBP_VEC(const char *) unread; /* folders below that could not be looked through */
};
void tbp_spool_paths_release(struct tbp_spool_paths *paths);

/* Appends the spools at a place: a file, or a folder with spools in it or in folders below. Fails
 * with TBP_E_NOT_FOUND or TBP_E_IO. */
int tbp_recover_find(struct tbp_spool_paths *paths, struct tbp_arena *arena, const char *place,
                     struct tbp_error *err);
/* The same of the places where spools are if nobody says otherwise. Never fails. */
void tbp_recover_find_default(struct tbp_spool_paths *paths, struct tbp_arena *arena);

/* Of these, our own user's of captures on demand (which name no log directory) that began since
 * then. *n_alive: how many more there are whose processes live. */
void tbp_recover_find_captures(struct tbp_spool_paths *paths, struct tbp_arena *arena,
                               int64_t since_realtime_ns, size_t *n_alive);

enum tbp_recovered {
    TBP_RECOVERED,         /* a run was made of it */
    TBP_RECOVERED_LATER,   /* a run can be made of it: only asked for */
    TBP_RECOVERED_ALIVE,   /* its process lives */
    TBP_RECOVERED_GONE,    /* its process, or another recovery, has removed it meanwhile */
    TBP_RECOVERED_FOREIGN, /* another user's; left alone */
    TBP_RECOVERED_WRITTEN, /* its run had been written before; removed */
    TBP_RECOVERED_EMPTY,   /* nothing was recorded; removed */
    TBP_RECOVERED_FAILED,  /* stays as it is */
};
extern const char *const tbp_recovered_words[]; /* by enum tbp_recovered */

struct tbp_recover_request {
    const char *logdir;    /* NULL: what the spool says */
    const char *otherwise; /* where it says nothing, as those of captures on demand; NULL */
    bool is_kept;          /* the spool stays */
    bool is_dry;           /* nothing is done, only said what would be */
    bool
        is_own_only; /* spools of other users are left alone: what they name is not ours to write */
};
struct tbp_recover_result {
    enum tbp_recovered what;
    const char *run;              /* folder; "" if none was made */
    const char *command, *logdir; /* of the process, as far as the spool was read; else "" */
    int pid;
    uint64_t n_records, n_events, size_bytes;
    struct tbp_error err; /* of FAILED */
};

void tbp_recover_spool(struct tbp_recover_result *result, struct tbp_arena *arena, const char *path,
                       const struct tbp_recover_request *request);

#endif
