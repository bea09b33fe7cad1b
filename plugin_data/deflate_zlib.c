/* SPDX-License-Identifier: Apache-2.0
 *
 * zlib, block by block: each is ended by a sync marker, which is an empty stored block that aligns
 * to a byte, and the state is reset, so that no block refers to the one before.
 */
#include "plugin_data/deflate_block.h"

#include "base/status.h"

#include <zlib.h>

enum {
    FASTEST = 1,
    RAW_WINDOW_BITS = -15,
    MEMORY_LEVEL = 7, /* its hash table stays in the cache: a sixth faster on trace JSON than 9 */
};

struct tbp_deflate {
    z_stream z;
};

static void *from_arena(void *arena, unsigned n, unsigned size) {
    return tbp_arena_alloc(arena, n, size);
}

static void stays_in_arena(void *arena, void *p) {
    (void)arena;
    (void)p;
}

struct tbp_deflate *tbp_deflate_new(struct tbp_arena *arena) {
    struct tbp_deflate *d = TBP_NEW(arena, struct tbp_deflate);
    d->z.zalloc = from_arena;
    d->z.zfree = stays_in_arena;
    d->z.opaque = arena;
    int status =
        deflateInit2(&d->z, FASTEST, Z_DEFLATED, RAW_WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
    TBP_BUG_IF(status != Z_OK);
    return d;
}

size_t tbp_deflate_block(struct tbp_deflate *d, const uint8_t *in, size_t n, uint8_t *out) {
    TBP_BUG_IF(n > TBP_DEFLATE_BLOCK);
    d->z.next_in = (Bytef *)(uintptr_t)in;
    d->z.avail_in = (uInt)n;
    d->z.next_out = out;
    d->z.avail_out = TBP_DEFLATE_OUT;
    int status = deflate(&d->z, Z_SYNC_FLUSH);
    TBP_BUG_IF(status != Z_OK || d->z.avail_in != 0 || d->z.avail_out == 0);
    deflateReset(&d->z);
    return TBP_DEFLATE_OUT - d->z.avail_out;
}
