/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflate blocks by zlib, level 1, ended by an empty stored block (the sync marker).
 */
#include "plugin_data/deflate_block.h"

#include "base/guard.h"
#include "base/status.h"

#include <zlib.h>

struct tbp_deflate {
    z_stream z;
};

struct tbp_deflate *tbp_deflate_new(struct tbp_arena *arena) {
    struct tbp_deflate *d = TBP_NEW(arena, struct tbp_deflate);
    if (deflateInit2(&d->z, 1, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK)
        tbp_out_of_memory(sizeof d->z);
    return d;
}

void tbp_deflate_free(struct tbp_deflate *d) {
    deflateEnd(&d->z);
}

size_t tbp_deflate_block(struct tbp_deflate *d, const uint8_t *in, size_t n, uint8_t *out) {
    deflateReset(&d->z);
    d->z.next_in = (Bytef *)in;
    d->z.avail_in = (uInt)n;
    d->z.next_out = out;
    d->z.avail_out = TBP_DEFLATE_OUT;
    int status = deflate(&d->z, Z_SYNC_FLUSH);
    TBP_BUG_IF(status != Z_OK || d->z.avail_in > 0 || d->z.avail_out == 0);
    return TBP_DEFLATE_OUT - d->z.avail_out;
}
