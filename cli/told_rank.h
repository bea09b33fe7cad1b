/* SPDX-License-Identifier: Apache-2.0
 *
 * The rank that a profile says it is of, read without the rest of it: what stands before the events
 * of a trace (distributedInfo), or in the notes of a folder (profiler_info.json). Thread-safe.
 */
#ifndef TBP_CLI_TOLD_RANK_H
#define TBP_CLI_TOLD_RANK_H

#include <stdbool.h>
#include <stdint.h>

/* False if it says none, or not so early; what a name says counts then. */
bool tbp_told_rank(const char *path, int64_t *rank);

#endif
