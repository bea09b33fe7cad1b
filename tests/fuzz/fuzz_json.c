/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuzzes the readers of trace events; the first byte chooses the reader, and the pieces in which
 * the same is read ahead by two threads: nothing may differ.
 */
#include "base/pool.h"
#include "fuzz/one_reader.h"
#include "tests/support/same_host.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void both_ways(const struct tbp_reader *reader, const uint8_t *data, size_t size,
                      size_t piece_bytes) {
    static struct tbp_pool *pool;
    if (!pool)
        pool = tbp_pool_new(2);
    const char *what = reading_difference(reader, data, size, pool, piece_bytes);
    if (what) {
        fprintf(stderr, "%s: %s differs in pieces of %zu\n", reader->name, what, piece_bytes);
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    const struct tbp_reader *reader = data[0] & 1 ? &tbp_reader_kineto : &tbp_reader_chrome;
    one_reader(reader, data + 1, size - 1);
    both_ways(reader, data + 1, size - 1, (size_t)16 << (data[0] >> 1 & 7));
    return 0;
}
