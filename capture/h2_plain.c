/* SPDX-License-Identifier: Apache-2.0
 *
 * Header blocks without Huffman code; see h2_plain.h. The block is decoded by libnghttp2 and
 * written anew (RFC 7541, 6.2.3 and 5.2). As nothing in it is indexed, no state goes with it.
 */
#include "capture/h2_plain.h"

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <string.h>

enum { NEVER_INDEXED = 0x10, SIZE_UPDATE = 0x20, INDEXED_200 = 0x88, FLAG_PADDED = 8 };

struct block {
    uint8_t *to;
    size_t n;
    bool is_full;
};

static void put(struct block *b, const void *p, size_t n) {
    b->is_full = b->is_full || n > TBP_H2_PLAIN_MAX - b->n;
    if (b->is_full)
        return;
    memcpy(b->to + b->n, p, n);
    b->n += n;
}

static void put_text(struct block *b, const uint8_t *p, size_t n) {
    uint8_t head[6] = {(uint8_t)(n < 127 ? n : 127)};
    size_t size = 1;
    for (size_t rest = n - 127; n >= 127; rest >>= 7) {
        head[size++] = (uint8_t)((rest & 127) | (rest > 127 ? 128 : 0));
        if (rest <= 127)
            break;
    }
    put(b, head, size);
    put(b, p, n);
}

static void put_field(struct block *b, const nghttp2_nv *nv) {
    static const uint8_t never = NEVER_INDEXED, status_200 = INDEXED_200;
    if (nv->namelen == 7 && memcmp(nv->name, ":status", 7) == 0 && nv->valuelen == 3 &&
        memcmp(nv->value, "200", 3) == 0) {
        put(b, &status_200, 1);
        return;
    }
    put(b, &never, 1);
    put_text(b, nv->name, nv->namelen);
    put_text(b, nv->value, nv->valuelen);
}

/* Size updates stand in front and must stay there. */
static size_t size_updates(const uint8_t *p, size_t n) {
    size_t at = 0;
    while (at < n && (p[at] & 0xe0) == SIZE_UPDATE) {
        bool goes_on = (p[at++] & 0x1f) == 0x1f;
        while (goes_on && at < n)
            goes_on = p[at++] & 0x80;
    }
    return at;
}

static bool put_fields(struct block *b, nghttp2_hd_inflater *inflater, const uint8_t *p, size_t n) {
    for (;;) {
        nghttp2_nv nv;
        int flags = 0;
        ssize_t taken = nghttp2_hd_inflate_hd2(inflater, &nv, &flags, p, n, 1);
        if (taken < 0)
            return false;
        p += taken;
        n -= (size_t)taken;
        if (flags & NGHTTP2_HD_INFLATE_EMIT)
            put_field(b, &nv);
        if (flags & NGHTTP2_HD_INFLATE_FINAL)
            return nghttp2_hd_inflate_end_headers(inflater) == 0 && !b->is_full;
        if (n == 0 && !(flags & NGHTTP2_HD_INFLATE_EMIT))
            return false;
    }
}

size_t tbp_h2_plain_headers(uint8_t to[TBP_H2_PLAIN_MAX], const uint8_t *frame, size_t n) {
    struct block b = {to, TBP_H2_FRAME_HEAD, false};
    nghttp2_hd_inflater *inflater;
    const uint8_t *p = frame + TBP_H2_FRAME_HEAD;
    if (n < TBP_H2_FRAME_HEAD || nghttp2_hd_inflate_new(&inflater) != 0)
        return 0;
    n -= TBP_H2_FRAME_HEAD;
    put(&b, p, size_updates(p, n));
    bool is_done = put_fields(&b, inflater, p, n);
    nghttp2_hd_inflate_del(inflater);
    if (!is_done || (frame[4] & FLAG_PADDED))
        return 0;
    size_t size = b.n - TBP_H2_FRAME_HEAD;
    memcpy(to, frame, TBP_H2_FRAME_HEAD);
    to[0] = (uint8_t)(size >> 16);
    to[1] = (uint8_t)(size >> 8);
    to[2] = (uint8_t)size;
    return b.n;
}
