/* SPDX-License-Identifier: Apache-2.0
 *
 * Folders each of which holds the profile of one rank, beside those of the other ranks:
 *
 *   DIR/rank_0/…, DIR/rank_1/…                      paths that differ in the number of a rank alone
 *   DIR/<worker>_<time>_ascend_pt, …                workers that began within one minute
 *   DIR/0_ascend_pt, DIR/1_ascend_pt
 *
 * They are one run with one host per rank, unless their files say that two are of one rank: what
 * they tell (told_rank.h) counts more than names. Whatever else lies side by side stays as it is:
 * runs, epochs and jobs are numbered, too.
 */
#ifndef TBP_CLI_RANK_FOLDERS_H
#define TBP_CLI_RANK_FOLDERS_H

#include "cli/find_runs.h"

/* Makes one run, in the place of the first, of those from runs->list.at[first] on that are ranks of
 * one job. Texts and arrays lie in the arena. */
void tbp_unite_ranks(struct tbp_runs *runs, size_t first, struct tbp_arena *arena);

/* "…_ascend_pt", "…_ascend_ms": a folder with such a name is the profile of a rank. */
bool tbp_has_name_of_ascend(struct tbp_str name);

#endif
