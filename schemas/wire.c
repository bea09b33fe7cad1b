/* SPDX-License-Identifier: Apache-2.0
 *
 * Wire format: the parts that are not inline; see wire.h.
 */
#include "schemas/wire.h"

#include "base/vec.h"

#include <string.h>

int tbp_wire_varint_slow(struct tbp_wire *w, uint64_t *out) {
    uint64_t v = 0;
    const uint8_t *p = w->at;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (p == w->end)
            return TBP_E_TRUNCATED;
        uint8_t c = *p++;
        v |= shift < 64 ? (uint64_t)(c & 127) << shift : 0;
        if (c < 128) {
            *out = v;
            w->at = p;
            return TBP_OK;
        }
    }
    return TBP_E_VARINT;
}

static int fixed(struct tbp_wire *w, size_t n, uint64_t *out) {
    if ((size_t)(w->end - w->at) < n)
        return TBP_E_TRUNCATED;
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;)
        v = v << 8 | w->at[i];
    w->at += n;
    *out = v;
    return TBP_OK;
}

static int payload(struct tbp_wire *w, struct tbp_wire_field *f) {
    switch (f->type) {
    case TBP_WIRE_VARINT:
        return tbp_wire_varint(w, &f->value);
    case TBP_WIRE_FIXED64:
        return fixed(w, 8, &f->value);
    case TBP_WIRE_FIXED32:
        return fixed(w, 4, &f->value);
    case TBP_WIRE_BYTES: {
        uint64_t n;
        int status = tbp_wire_varint(w, &n);
        if (status)
            return status;
        if (n > (uint64_t)(w->end - w->at))
            return TBP_E_TRUNCATED;
        f->bytes = (struct tbp_wire){w->at, w->at + n};
        w->at += n;
        return TBP_OK;
    }
    }
    return TBP_E_FORMAT;
}

int tbp_wire_next_slow(struct tbp_wire *w, struct tbp_wire_field *f) {
    if (w->at == w->end)
        return 0;
    const uint8_t *start = w->at;
    uint64_t key;
    int status = tbp_wire_varint(w, &key);
    if (!status && (key >> 3 == 0 || key >> 3 > UINT32_MAX))
        status = TBP_E_FORMAT;
    if (!status) {
        f->number = (uint32_t)(key >> 3);
        f->type = (enum tbp_wire_type)(key & 7);
        status = payload(w, f);
    }
    if (status) {
        w->at = start;
        return status;
    }
    return 1;
}

/* ---- writer ---- */
enum { PATCHED_LENGTH = 5 };

static uint8_t *room(struct tbp_wire_out *o, size_t n) {
    if (o->n + n > o->cap)
        o->at = tbp_vec_grow_bytes(o->at, &o->cap, o->n + n, 1);
    uint8_t *p = o->at ? o->at + o->n : NULL; /* no room was asked for yet */
    o->n += n;
    return p;
}

void tbp_wire_out_release(struct tbp_wire_out *o) {
    tbp_vec_free_bytes(o->at);
    *o = (struct tbp_wire_out){0};
}

enum { LONGEST_VARINT = 10 };

static inline uint8_t *put_varint(uint8_t *p, uint64_t v) {
    for (; v > 127; v >>= 7)
        *p++ = (uint8_t)(v | 128);
    *p++ = (uint8_t)v;
    return p;
}

void tbp_wire_put_varint(struct tbp_wire_out *o, uint64_t v) {
    o->n = (size_t)(put_varint(room(o, LONGEST_VARINT), v) - o->at);
}

static void put_key(struct tbp_wire_out *o, uint32_t field, enum tbp_wire_type type) {
    tbp_wire_put_varint(o, (uint64_t)field << 3 | type);
}

void tbp_wire_put_u64(struct tbp_wire_out *o, uint32_t field, uint64_t v) {
    uint8_t *p = put_varint(room(o, 2 * LONGEST_VARINT), (uint64_t)field << 3 | TBP_WIRE_VARINT);
    o->n = (size_t)(put_varint(p, v) - o->at);
}

/* Little-endian, n bytes. */
static void put_fixed(struct tbp_wire_out *o, uint64_t bits, int n) {
    uint8_t *p = room(o, (size_t)n);
    for (int i = 0; i < n; i++)
        p[i] = (uint8_t)(bits >> (8 * i));
}

void tbp_wire_put_double(struct tbp_wire_out *o, uint32_t field, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_key(o, field, TBP_WIRE_FIXED64);
    put_fixed(o, bits, 8);
}

void tbp_wire_put_float(struct tbp_wire_out *o, uint32_t field, float v) {
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_key(o, field, TBP_WIRE_FIXED32);
    put_fixed(o, bits, 4);
}

void tbp_wire_put_bytes(struct tbp_wire_out *o, uint32_t field, const void *p, size_t n) {
    put_key(o, field, TBP_WIRE_BYTES);
    tbp_wire_put_varint(o, n);
    tbp_wire_put_raw(o, p, n);
}

void tbp_wire_put_raw(struct tbp_wire_out *o, const void *p, size_t n) {
    uint8_t *to = room(o, n);
    if (n)
        memcpy(to, p, n);
}

void tbp_wire_put_str(struct tbp_wire_out *o, uint32_t field, struct tbp_str s) {
    tbp_wire_put_bytes(o, field, s.p, s.n);
}

size_t tbp_wire_begin(struct tbp_wire_out *o, uint32_t field) {
    put_key(o, field, TBP_WIRE_BYTES);
    room(o, PATCHED_LENGTH);
    return o->n;
}

void tbp_wire_end(struct tbp_wire_out *o, size_t mark) {
    uint64_t n = o->n - mark;
    uint8_t *p = o->at + mark - PATCHED_LENGTH;
    for (int i = 0; i < PATCHED_LENGTH; i++, n >>= 7)
        p[i] = (uint8_t)((n & 127) | (i + 1 < PATCHED_LENGTH ? 128 : 0));
}
