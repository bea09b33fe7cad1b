/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and folders of the on-disk contract with TensorBoard's Profile tab (README.md of this
 * folder): <logdir>/plugins/profile/<run>/<host>.<suffix>. Ownership: results lie in the arena
 * given. No state, thread-safe but for what is done to the disk.
 */
#ifndef TBP_PLUGIN_DATA_RUNDIR_H
#define TBP_PLUGIN_DATA_RUNDIR_H

#include "base/arena.h"
#include "base/status.h"

#include <time.h>

#define TBP_RUNDIR_MIDDLE    "plugins/profile"
#define TBP_RUNDIR_ALL_HOSTS "ALL_HOSTS" /* host part of files that combine hosts */
#define TBP_RUNDIR_XPLANE    "xplane.pb"

enum { TBP_RUNDIR_TIME_NAME = 20 };
/* Of a host in a name of a file: that has 255 bytes, and what comes after the host needs some. */
enum { TBP_RUNDIR_HOST_BYTES = 160 };

/* "2026_08_21_14_05_09", local time, with its NUL: what every producer names runs, so that the
 * order of names is the order of times. */
void tbp_rundir_time_name(char to[TBP_RUNDIR_TIME_NAME], time_t t);

/* The n-th name of what wants the same one: name, name_1 … name_9, name_a10 … name_a99, name_b100 …
 * A letter stands for each further digit, so that the order of names is that of the numbers. */
const char *tbp_rundir_numbered(struct tbp_arena *arena, const char *name, unsigned n);

/* A run name is one visible path component: not empty, no '/', no leading '.', at most 255 bytes.
 */
bool tbp_rundir_is_run_name(struct tbp_str name);
/* The same of a name that somebody types, as messages and --help tell it; that has something to see
 * and nothing that breaks lines, too. */
bool tbp_rundir_is_typed_name(struct tbp_str name);
#define TBP_RUNDIR_NAME_RULE                                                                       \
    "1 to 255 bytes, not only blanks, without '/', control characters and a leading '.'"

/* A host as it may stand in a file name: ':' (of addresses) and '/' become '_', a leading '.' and
 * an empty name too. */
char *tbp_rundir_clean_host(struct tbp_arena *arena, struct tbp_str host);

char *tbp_rundir_path(struct tbp_arena *arena, const char *logdir, const char *run);
/* <folder>/<host>.<suffix>; the host is cleaned. */
char *tbp_rundir_file(struct tbp_arena *arena, const char *folder, struct tbp_str host,
                      const char *suffix);

/* Splits "<host>.<suffix>" at the first suffix of the contract that ends the name; the host may
 * contain dots, and is empty if the name is a suffix alone. False: no file of the contract. */
bool tbp_rundir_split(struct tbp_str file_name, struct tbp_str *host, struct tbp_str *suffix);

/* Splits "<logdir>/plugins/profile/<run>[/]"; an empty logdir stands for ".". */
bool tbp_rundir_split_path(struct tbp_str path, struct tbp_str *logdir, struct tbp_str *run);

/* A folder to write to, as somebody types it: of "file:///DIR" it becomes /DIR. Any other URL
 * (gs://, s3://, hdfs:// …) is refused: as a path it would be a folder here called "gs:". */
int tbp_rundir_local(const char **folder, struct tbp_error *err);

/* Makes the folder and all above it. */
int tbp_rundir_make(const char *path, struct tbp_error *err);
/* Removes of the folders that this process made last those that are empty (async-signal-safe); only
 * for programs that write one run. */
void tbp_rundir_remove_empty(void);

#endif
