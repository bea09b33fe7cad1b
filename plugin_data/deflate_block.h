/* SPDX-License-Identifier: Apache-2.0
 *
 * Compresses one block of a raw deflate stream, byte-aligned and not final, so that blocks made by
 * different threads can be joined in order.
 * Ownership: the state belongs to the caller's arena. One thread at a time per state.
 */
#ifndef TBP_PLUGIN_DATA_DEFLATE_BLOCK_H
#define TBP_PLUGIN_DATA_DEFLATE_BLOCK_H

#include "base/arena.h"

enum {
    TBP_DEFLATE_BLOCK = 256 * 1024,
    TBP_DEFLATE_OUT = TBP_DEFLATE_BLOCK + 4096, /* enough for any block */
};

struct tbp_deflate;
struct tbp_deflate *tbp_deflate_new(struct tbp_arena *arena);
void tbp_deflate_free(struct tbp_deflate *d);
/* n <= TBP_DEFLATE_BLOCK bytes to `out` of TBP_DEFLATE_OUT bytes; returns the count. Same in, same
 * out. */
size_t tbp_deflate_block(struct tbp_deflate *d, const uint8_t *in, size_t n, uint8_t *out);

#endif
