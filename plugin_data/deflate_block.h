/* SPDX-License-Identifier: Apache-2.0
 *
 * Compresses one block of a raw deflate stream at the fastest level: byte-aligned at both
 * ends and not final, so that blocks made by different threads can be joined in order.
 * Ownership: the state lies in the caller's arena. One thread at a time per state.
 */
#ifndef TBP_PLUGIN_DATA_DEFLATE_BLOCK_H
#define TBP_PLUGIN_DATA_DEFLATE_BLOCK_H

#include "base/arena.h"

enum {
    TBP_DEFLATE_BLOCK = 256 * 1024,
    TBP_DEFLATE_OUT = TBP_DEFLATE_BLOCK + 1024, /* enough for any block and its end marker */
};

struct tbp_deflate;
struct tbp_deflate *tbp_deflate_new(struct tbp_arena *arena);

/* n <= TBP_DEFLATE_BLOCK bytes to `out` of TBP_DEFLATE_OUT bytes; returns the count. The result
 * depends on the n bytes alone. */
size_t tbp_deflate_block(struct tbp_deflate *d, const uint8_t *in, size_t n, uint8_t *out);

#endif
