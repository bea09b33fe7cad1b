/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders in which each worker of a job left its traces, as PyTorch names them:
 *
 *   <worker>.<time>[#<number>].pt.trace.json[.gz]
 *
 * A worker's name may hold dots and blanks; the time tells the spans of one worker apart, the
 * number the processes of one name. Texts lie in the arena given.
 */
#ifndef TBP_CLI_WORKER_FILES_H
#define TBP_CLI_WORKER_FILES_H

#include "base/arena.h"
#include "base/vec.h"

struct tbp_worker_file {
    struct tbp_str host; /* "<worker>" or "<worker>_<number>"; NUL-terminated */
    uint64_t time;       /* as the name tells; 0 if it does not */
    const char *path, *name;
    uint64_t size_bytes;
    size_t span; /* 0 for the first of its host, … */
};
struct tbp_worker_files {
    TBP_VEC(struct tbp_worker_file) list;
};

/* Host and time of a file with such a name; false for others. */
bool tbp_worker_file_parse(struct tbp_worker_file *out, const char *name, struct tbp_arena *arena);
/* The first word "rank" with a number in a name ("rank3", "my-rank_03"): its digits and what they
 * say; false if there is none. A word that merely ends so ("frank3") is another. */
bool tbp_rank_find(struct tbp_str name, struct tbp_str *digits, int64_t *rank);
/* The same by the last name in a path that tells one. */
bool tbp_rank_of_path(struct tbp_str path, struct tbp_str *name, struct tbp_str *digits,
                      int64_t *rank);
/* Rank that the name of a file tells: so, or as "#3" in that of a worker; false if it tells none. A
 * number 0 after '#' is what a job of one process has, too, and tells nothing. */
bool tbp_worker_rank(const char *name, int64_t *rank);
/* By host, then time; numbers the spans of each host and returns how many spans there are. */
size_t tbp_worker_files_order(struct tbp_worker_files *files);

#endif
