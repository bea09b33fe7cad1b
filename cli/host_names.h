/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of hosts whose files are called the same: `convert rank0 rank1 --run both` makes hosts of
 * rank0/t.pt.trace.json and rank1/t.pt.trace.json, and a host is known by its name.
 */
#ifndef TBP_CLI_HOST_NAMES_H
#define TBP_CLI_HOST_NAMES_H

#include "cli/find_runs.h"

/* Hosts of one name among all runs are named after the folders in their paths that tell a rank, if
 * each tells another: "rank0", or "rank0_<name>" where there are hosts of other names, too. Labels
 * begin with that folder. Texts lie in the arena. */
void tbp_name_ranks_apart(struct tbp_runs *runs, struct tbp_arena *arena);

#endif
