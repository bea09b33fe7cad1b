/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf wire format, bounds-checked: a reader over borrowed bytes and an append-only writer.
 * Not a general protobuf library: messages small and rare use protobuf-c (schemas/ *.proto), events
 * use this. The reader never reads past `end`, whatever the bytes are. Pure, thread-safe, no
 * allocation (reader). Source: the public protobuf encoding description.
 */
#ifndef TBP_SCHEMAS_WIRE_H
#define TBP_SCHEMAS_WIRE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

enum tbp_wire_type {
    TBP_WIRE_VARINT = 0,
    TBP_WIRE_FIXED64 = 1,
    TBP_WIRE_BYTES = 2,
    TBP_WIRE_FIXED32 = 5
};

struct tbp_wire {
    const uint8_t *at, *end;
};

struct tbp_wire_field {
    uint32_t number;
    enum tbp_wire_type type;
    uint64_t value;        /* VARINT, FIXED64, FIXED32 */
    struct tbp_wire bytes; /* BYTES */
};

static inline struct tbp_wire tbp_wire_of(const void *p, size_t n) {
    return (struct tbp_wire){(const uint8_t *)p, (const uint8_t *)p + n};
}
static inline struct tbp_str tbp_wire_str(struct tbp_wire w) {
    return (struct tbp_str){(const char *)w.at, (size_t)(w.end - w.at)};
}
static inline double tbp_wire_double(uint64_t bits) {
    double d;
    __builtin_memcpy(&d, &bits, sizeof d);
    return d;
}

int tbp_wire_varint_slow(struct tbp_wire *w, uint64_t *out);
int tbp_wire_next_slow(struct tbp_wire *w, struct tbp_wire_field *f);

/* Seven bits of each byte, joined. */
static inline uint64_t tbp_wire_join_all(uint64_t word) {
    uint64_t x = word & 0x7f7f7f7f7f7f7f7fu;
    x = (x & 0x007f007f007f007fu) | (x & 0x7f007f007f007f00u) >> 1;
    x = (x & 0x00003fff00003fffu) | (x & 0x3fff00003fff0000u) >> 2;
    return (x & 0x000000000fffffffu) | (x & 0x0fffffff00000000u) >> 4;
}

/* The same up to the first byte without continuation bit; *n bytes taken. The caller has looked
 * that there is one among the eight. */
static inline uint64_t tbp_wire_join(uint64_t word, uint64_t ends, unsigned *n) {
    *n = (unsigned)__builtin_ctzll(ends) / 8 + 1;
    return tbp_wire_join_all(word & (ends ^ (ends - 1)));
}

/* 0, or TBP_E_TRUNCATED / TBP_E_VARINT; w->at then stays at the start of the value. */
static inline int tbp_wire_varint(struct tbp_wire *w, uint64_t *out) {
    if (w->at < w->end && *w->at < 0x80) {
        *out = *w->at++;
        return TBP_OK;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (w->end - w->at >= 8) {
        uint64_t word;
        __builtin_memcpy(&word, w->at, 8);
        uint64_t ends = ~word & 0x8080808080808080u;
        if (ends) {
            unsigned n;
            *out = tbp_wire_join(word, ends, &n);
            w->at += n;
            return TBP_OK;
        }
    }
#endif
    return tbp_wire_varint_slow(w, out);
}

/* For hot paths: a varint without a look at where its message ends; the place behind it, or NULL if
 * it is none. TBP_WIRE_SLACK bytes from `at` on must be there to be read; that the value lay within
 * its message is for the caller to check. */
enum { TBP_WIRE_SLACK = 10 };
static inline const uint8_t *tbp_wire_quick(const uint8_t *at, uint64_t *out) {
    if (at[0] < 0x80) {
        *out = at[0];
        return at + 1;
    }
    if (at[1] < 0x80) {
        *out = (uint64_t)at[1] << 7 | (at[0] & 0x7f);
        return at + 2;
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    uint64_t ends = ~word & 0x8080808080808080u;
    if (ends) {
        unsigned n;
        *out = tbp_wire_join(word, ends, &n);
        return at + n;
    }
    if (at[8] < 0x80) {
        *out = tbp_wire_join_all(word) | (uint64_t)at[8] << 56;
        return at + 9;
    }
    *out = tbp_wire_join_all(word) | (uint64_t)(at[8] & 0x7f) << 56 | (uint64_t)at[9] << 63;
    return at[9] < 0x80 ? at + 10 : NULL;
#else
    struct tbp_wire w = {at, at + TBP_WIRE_SLACK};
    return tbp_wire_varint_slow(&w, out) == TBP_OK ? w.at : NULL;
#endif
}

/* Only the place behind it. */
static inline const uint8_t *tbp_wire_quick_end(const uint8_t *at) {
    if (at[0] < 0x80)
        return at + 1;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t word;
    __builtin_memcpy(&word, at, 8);
    uint64_t ends = ~word & 0x8080808080808080u;
    if (ends)
        return at + __builtin_ctzll(ends) / 8 + 1;
    if (at[8] < 0x80)
        return at + 9;
    return at[9] < 0x80 ? at + 10 : NULL;
#else
    uint64_t unused;
    return tbp_wire_quick(at, &unused);
#endif
}

/* The value of a varint that is known to take n bytes; TBP_WIRE_SLACK can be read as above. */
static inline uint64_t tbp_wire_sized(const uint8_t *at, size_t n) {
    uint64_t v = at[0];
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (n == 1)
        return v;
    if (n <= 8) {
        __builtin_memcpy(&v, at, 8);
        return tbp_wire_join_all(v & UINT64_MAX >> (64 - 8 * n));
    }
#endif
    tbp_wire_quick(at, &v);
    return v;
}

/* Next field: 1 = read, 0 = end of message, negative = TBP_E_TRUNCATED, TBP_E_VARINT or
 * TBP_E_FORMAT (field number 0, groups, unknown wire type). On error w->at stays at the start of
 * the faulty field. Hot path: about 2 ns; keys of one byte with varint or bytes are read here, the
 * rest in tbp_wire_next_slow. */
static inline int tbp_wire_next(struct tbp_wire *w, struct tbp_wire_field *f) {
    if (w->at == w->end)
        return 0;
    const uint8_t *start = w->at;
    uint8_t key = *start;
    f->number = key >> 3;
    f->type = (enum tbp_wire_type)(key & 7);
    if (key < 0x80 && key >= 8 && (f->type == TBP_WIRE_VARINT || f->type == TBP_WIRE_BYTES)) {
        uint64_t v;
        w->at++;
        if (tbp_wire_varint(w, &v) == TBP_OK) {
            f->value = v;
            if (f->type == TBP_WIRE_VARINT)
                return 1;
            if (v <= (uint64_t)(w->end - w->at)) {
                f->bytes = (struct tbp_wire){w->at, w->at + v};
                w->at += v;
                return 1;
            }
        }
        w->at = start;
    }
    return tbp_wire_next_slow(w, f);
}

/* ---- writer: appends to a heap buffer owned by it ---- */
struct tbp_wire_out {
    uint8_t *at;
    size_t n, cap;
};
void tbp_wire_out_release(struct tbp_wire_out *o);
void tbp_wire_put_varint(struct tbp_wire_out *o, uint64_t v);
void tbp_wire_put_u64(struct tbp_wire_out *o, uint32_t field,
                      uint64_t v); /* varint field, written even if 0 */
void tbp_wire_put_double(struct tbp_wire_out *o, uint32_t field, double v); /* fixed64 field */
void tbp_wire_put_float(struct tbp_wire_out *o, uint32_t field, float v);   /* fixed32 field */
void tbp_wire_put_bytes(struct tbp_wire_out *o, uint32_t field, const void *p, size_t n);
void tbp_wire_put_raw(struct tbp_wire_out *o, const void *p,
                      size_t n); /* bytes as they are, no field around */
void tbp_wire_put_str(struct tbp_wire_out *o, uint32_t field, struct tbp_str s);
/* Nested message: begin reserves a 5-byte length, end patches it (a legal, padded varint; < 32
 * GiB). */
size_t tbp_wire_begin(struct tbp_wire_out *o, uint32_t field);
void tbp_wire_end(struct tbp_wire_out *o, size_t mark);

#endif
