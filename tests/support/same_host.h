/* SPDX-License-Identifier: Apache-2.0
 *
 * Two hosts read of the same bytes in two ways: everything that a reader makes must be the same, to
 * the bytes of the stats and the first offsets of the ledger.
 */
#ifndef TBP_TESTS_SAME_HOST_H
#define TBP_TESTS_SAME_HOST_H

#include "convert/model/model.h"

/* What differs, or NULL. */
const char *host_difference(const struct tbp_host *a, const struct tbp_host *b);

struct tbp_reader;
/* Reads copies of the bytes with one thread, and with the pool in pieces of so many bytes. What
 * differs, or NULL. */
const char *reading_difference(const struct tbp_reader *reader, const uint8_t *data, size_t size,
                               struct tbp_pool *pool, size_t piece_bytes);

#endif
