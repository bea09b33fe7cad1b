/* SPDX-License-Identifier: Apache-2.0
 *
 * Everything that tbprof does with one file, in memory: reading, all analyses, all tools in both
 * dialects, the rewritten xplane. For fuzzers and tests of damaged inputs.
 */
#ifndef TBP_TESTS_FUZZ_EVERYTHING_H
#define TBP_TESTS_FUZZ_EVERYTHING_H

#include "convert/analyze/session.h"

/* Sees each answer; kind is the tool's name. */
typedef void everything_seen_fn(void *ctx, const char *kind, const uint8_t *data, size_t size);

/* False if the bytes could not be read at all. Aborts if the ledger does not add up. seen may be
 * NULL. */
bool everything(const uint8_t *data, size_t size, enum tbp_semantics semantics,
                everything_seen_fn *seen, void *ctx);

#endif
