/* SPDX-License-Identifier: Apache-2.0
 *
 * The same as deflate_zlib.c by ISA-L, whose fastest dynamic codes take a sixth of zlib's time on
 * trace JSON and come out smaller. Which bytes come out depends on the processor's vector units.
 */
#include "plugin_data/deflate_block.h"

#include "base/status.h"

#include <isa-l/igzip_lib.h>

enum { FASTEST_WITH_CODES_OF_ITS_OWN = 1 };

struct tbp_deflate {
    struct isal_zstream z;
};

struct tbp_deflate *tbp_deflate_new(struct tbp_arena *arena) {
    struct tbp_deflate *d = TBP_NEW(arena, struct tbp_deflate);
    isal_deflate_init(&d->z);
    d->z.level = FASTEST_WITH_CODES_OF_ITS_OWN;
    d->z.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    d->z.level_buf = TBP_NEW_N(arena, uint8_t, ISAL_DEF_LVL1_DEFAULT);
    d->z.flush = SYNC_FLUSH;
    return d;
}

size_t tbp_deflate_block(struct tbp_deflate *d, const uint8_t *in, size_t n, uint8_t *out) {
    TBP_BUG_IF(n > TBP_DEFLATE_BLOCK);
    d->z.next_in = (uint8_t *)(uintptr_t)in;
    d->z.avail_in = (uint32_t)n;
    d->z.next_out = out;
    d->z.avail_out = TBP_DEFLATE_OUT;
    int status = isal_deflate(&d->z);
    TBP_BUG_IF(status != COMP_OK || d->z.avail_in != 0 || d->z.avail_out == 0);
    isal_deflate_reset(&d->z);
    return TBP_DEFLATE_OUT - d->z.avail_out;
}
