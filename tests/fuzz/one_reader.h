/* SPDX-License-Identifier: Apache-2.0
 *
 * One reader over bytes in memory, for the fuzzers of single formats: the ledger must add up and
 * every event and stat of the model must be readable.
 */
#ifndef TBP_TESTS_FUZZ_ONE_READER_H
#define TBP_TESTS_FUZZ_ONE_READER_H

#include "convert/read/reader.h"

/* Aborts on what is wrong. False if the reader refuses the bytes. */
bool one_reader(const struct tbp_reader *reader, const uint8_t *data, size_t size);

#endif
