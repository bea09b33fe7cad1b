/* SPDX-License-Identifier: Apache-2.0
 *
 * Deflate for speed. One pass finds matches greedily through a table of the last position of each
 * hash and counts symbols; a second writes them with one dynamic Huffman code per block, or stores
 * the block when that is smaller. An empty stored block aligns the end to a byte. Budget: 1.3 ns
 * per byte of trace JSON (tests/bench).
 */
#include "plugin_data/deflate_block.h"

#include "base/status.h"
#include "plugin_data/huffman.h"

#include <string.h>

enum {
    HASH_BITS = 15,
    MATCH_MIN =
        8, /* shorter ones cost more than they save, in bytes too, since the parse is greedy */
    MATCH_MAX = 258,
    WINDOW = 32768,
    RUNS_MAX = TBP_DEFLATE_BLOCK / MATCH_MIN + 1,
    LITLEN = 286,
    END_OF_BLOCK = 256,
    DISTANCES = 30,
    LENGTH_CODES = 19,
    STORED_MAX = 65535,
};

/* `literals` bytes as they are, then a match (length 0: none, only at the end). */
struct run {
    uint32_t literals;
    uint16_t length, distance; /* distance - 1 */
};

struct tbp_deflate {
    uint32_t last[1 << HASH_BITS]; /* position + 1 */
    struct run runs[RUNS_MAX];
    size_t n_runs;
    uint32_t litlen_count[TBP_HUFFMAN_SYMBOLS], distance_count[DISTANCES];
    /* The written form of a literal, a match length, a distance: bits and how many (at most 27). */
    uint32_t literal[256], length[MATCH_MAX + 1];
    uint32_t distance_code[DISTANCES];
    uint8_t length_symbol[MATCH_MAX + 1]; /* minus 257 */
    uint8_t distance_symbol[512];         /* of distance - 1 < 256, then of (distance - 1) >> 7 */
};

static const uint16_t length_base[29] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                         15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                         67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                         2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

static unsigned distance_extra(unsigned symbol) {
    return symbol < 4 ? 0 : symbol / 2 - 1;
}

static unsigned distance_base(unsigned symbol) { /* of distance - 1 */
    return symbol < 4 ? symbol : (2u + (symbol & 1)) << distance_extra(symbol);
}

static unsigned distance_symbol(const struct tbp_deflate *d, unsigned distance) {
    return d->distance_symbol[distance < 256 ? distance : 256 + (distance >> 7)];
}

struct tbp_deflate *tbp_deflate_new(struct tbp_arena *arena) {
    struct tbp_deflate *d = TBP_NEW(arena, struct tbp_deflate);
    for (unsigned s = 0; s < 29; ++s)
        for (unsigned l = length_base[s];
             l < MATCH_MAX + 1u && l < length_base[s] + (1u << length_extra[s]); ++l)
            d->length_symbol[l] = (uint8_t)s; /* 258 has a symbol of its own, the last to be set */
    for (unsigned s = 0; s < DISTANCES; ++s)
        for (unsigned i = distance_base(s); i < distance_base(s) + (1u << distance_extra(s)); ++i) {
            if (i < 256)
                d->distance_symbol[i] = (uint8_t)s;
            else
                d->distance_symbol[256 + (i >> 7)] = (uint8_t)s;
        }
    return d;
}

/* ---- finding matches ---- */

static uint64_t load8(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static void store8(uint8_t *p, uint64_t v) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, sizeof v);
}

static uint32_t hash_of(const uint8_t *p) { /* of MATCH_MIN bytes */
    return (uint32_t)(load8(p) * 0x9e3779b97f4a7c15u >> (64 - HASH_BITS));
}

/* Equal bytes at a and b, at most max. Both may be read 8 bytes beyond. */
static unsigned match_length(const uint8_t *a, const uint8_t *b, unsigned max) {
    for (unsigned n = 0; n < max; n += 8) {
        uint64_t x = load8(a + n) ^ load8(b + n);
        if (x) {
            n += (unsigned)__builtin_ctzll(x) >> 3;
            return n < max ? n : max;
        }
    }
    return max;
}

static void add_run(struct tbp_deflate *d, const uint8_t *literals, size_t n, unsigned length,
                    unsigned distance) {
    for (size_t i = 0; i < n; ++i)
        ++d->litlen_count[literals[i]];
    if (length) {
        ++d->litlen_count[257 + d->length_symbol[length]];
        ++d->distance_count[distance_symbol(d, distance)];
    }
    d->runs[d->n_runs++] = (struct run){(uint32_t)n, (uint16_t)length, (uint16_t)distance};
}

static void remember(struct tbp_deflate *d, const uint8_t *in, size_t at) {
    d->last[hash_of(in + at)] = (uint32_t)at + 1;
}

static void clear(struct tbp_deflate *d) {
    memset(d->last, 0, sizeof d->last);
    memset(d->litlen_count, 0, sizeof d->litlen_count);
    memset(d->distance_count, 0, sizeof d->distance_count);
    d->n_runs = 0;
}

static void find_runs(struct tbp_deflate *d, const uint8_t *in, size_t n) {
    clear(d);
    size_t at = 0, done = 0, end = n < 2 * MATCH_MIN ? 0 : n - MATCH_MIN;
    while (at < end) {
        size_t before = d->last[hash_of(in + at)], distance = at - before; /* both one off */
        remember(d, in, at);
        unsigned max = n - at < MATCH_MAX ? (unsigned)(n - at) : MATCH_MAX, length = 0;
        if (before > 0 && distance < WINDOW)
            length = match_length(in + before - 1, in + at, max);
        if (length < MATCH_MIN) {
            at += 1 + ((at - done) >> 7); /* faster through what does not repeat */
            continue;
        }
        size_t found = at;
        for (; at > done && length < MATCH_MAX && before > 1 && in[before - 2] == in[at - 1];
             ++length) {
            --at;
            --before;
        }
        add_run(d, in + done, at - done, length, (unsigned)distance);
        at = done = at + length;
        if (done < end) { /* some positions inside, so that the next line finds this one */
            remember(d, in, found + 2);
            remember(d, in, done - 5);
            remember(d, in, done - 2);
        }
    }
    add_run(d, in + done, n - done, 0, 0);
    ++d->litlen_count[END_OF_BLOCK];
}

/* ---- writing ---- */

/* Bits not yet written, lowest first. A flush leaves less than 8, so that 56 may be added. */
struct bits {
    uint64_t hold;
    unsigned n;
    uint8_t *out;
};

static inline void put(struct bits *b, uint64_t v, unsigned n) {
    b->hold |= v << b->n;
    b->n += n;
}

static inline void flush(struct bits *b) {
    store8(b->out, b->hold);
    b->out += b->n >> 3;
    b->hold >>= b->n & ~7u; /* n < 64 */
    b->n &= 7;
}

/* Bits in the low 27, their number above. */
static inline void put_entry(struct bits *b, uint32_t entry) {
    put(b, entry & 0x7ffffff, entry >> 27);
}

struct codes {
    uint8_t length[LITLEN + DISTANCES];
    uint16_t litlen[LITLEN], distance[DISTANCES];
    unsigned n_litlen, n_distances;
    /* The lengths above as deflate writes them: symbols 0-15, 16-18 with a repeat count in the high
     * byte. */
    uint16_t packed[LITLEN + DISTANCES];
    unsigned n_packed;
    uint8_t packed_length[LENGTH_CODES];
    uint16_t packed_code[LENGTH_CODES];
};

static const uint8_t packed_order[LENGTH_CODES] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                   11, 4,  12, 3, 13, 2, 14, 1, 15};
static const uint8_t packed_extra[LENGTH_CODES] = {[16] = 2, [17] = 3, [18] = 7};

/* Run-length form of n code lengths. */
static void pack_lengths(struct codes *c, const uint8_t *length, unsigned n) {
    c->n_packed = 0;
    for (unsigned i = 0, same; i < n; i += same) {
        uint8_t v = length[i];
        unsigned max = v ? 7 : 138;
        for (same = 1; same < max && i + same < n && length[i + same] == v; ++same)
            ;
        if (v == 0 && same >= 11)
            c->packed[c->n_packed++] = (uint16_t)(18 | (same - 11) << 8);
        else if (v == 0 && same >= 3)
            c->packed[c->n_packed++] = (uint16_t)(17 | (same - 3) << 8);
        else if (v != 0 && same >= 4) {
            c->packed[c->n_packed++] = v;
            c->packed[c->n_packed++] = (uint16_t)(16 | (same - 4) << 8);
        } else {
            same = 1;
            c->packed[c->n_packed++] = v;
        }
    }
}

static void make_codes(struct tbp_deflate *d, struct codes *c) {
    uint8_t *distance = c->length + LITLEN;
    tbp_huffman_lengths(d->litlen_count, LITLEN, TBP_HUFFMAN_BITS - 1, c->length);
    tbp_huffman_lengths(d->distance_count, DISTANCES, TBP_HUFFMAN_BITS - 1, distance);
    tbp_huffman_codes(c->length, LITLEN, c->litlen);
    tbp_huffman_codes(distance, DISTANCES, c->distance);
    c->n_litlen = LITLEN;
    while (c->n_litlen > 257 && c->length[c->n_litlen - 1] == 0)
        --c->n_litlen;
    c->n_distances = DISTANCES;
    while (c->n_distances > 1 && distance[c->n_distances - 1] == 0)
        --c->n_distances;
    uint8_t joined[LITLEN + DISTANCES];
    memcpy(joined, c->length, c->n_litlen);
    memcpy(joined + c->n_litlen, distance, c->n_distances);
    pack_lengths(c, joined, c->n_litlen + c->n_distances);
    uint32_t count[LENGTH_CODES] = {0};
    for (unsigned i = 0; i < c->n_packed; ++i)
        ++count[c->packed[i] & 0xff];
    tbp_huffman_lengths(count, LENGTH_CODES, 7, c->packed_length);
    tbp_huffman_codes(c->packed_length, LENGTH_CODES, c->packed_code);
}

static void fill_entries(struct tbp_deflate *d, const struct codes *c) {
    for (unsigned i = 0; i < 256; ++i)
        d->literal[i] = c->litlen[i] | (uint32_t)c->length[i] << 27;
    for (unsigned l = 3; l <= MATCH_MAX; ++l) {
        unsigned s = d->length_symbol[l], bits = c->length[257 + s];
        uint32_t extra = l - length_base[s];
        d->length[l] = c->litlen[257 + s] | extra << bits | (bits + length_extra[s]) << 27;
    }
    for (unsigned s = 0; s < DISTANCES; ++s)
        d->distance_code[s] = c->distance[s] | (uint32_t)c->length[LITLEN + s] << 27;
}

static uint64_t bits_needed(const struct tbp_deflate *d, const struct codes *c) {
    uint64_t n = 3 + 14 + 3 * LENGTH_CODES;
    for (unsigned i = 0; i < c->n_packed; ++i)
        n += c->packed_length[c->packed[i] & 0xff] + packed_extra[c->packed[i] & 0xff];
    for (unsigned i = 0; i < LITLEN; ++i)
        n += (uint64_t)d->litlen_count[i] * (c->length[i] + (i > 256 ? length_extra[i - 257] : 0u));
    for (unsigned i = 0; i < DISTANCES; ++i)
        n += (uint64_t)d->distance_count[i] * (c->length[LITLEN + i] + distance_extra(i));
    return n;
}

static void put_header(struct bits *b, const struct codes *c) {
    unsigned n = LENGTH_CODES;
    while (n > 4 && c->packed_length[packed_order[n - 1]] == 0)
        --n;
    put(b, 0 | 2 << 1, 3); /* not final, dynamic codes */
    put(b, c->n_litlen - 257, 5);
    put(b, c->n_distances - 1, 5);
    put(b, n - 4, 4);
    for (unsigned i = 0; i < n; ++i) {
        put(b, c->packed_length[packed_order[i]], 3);
        flush(b);
    }
    for (unsigned i = 0; i < c->n_packed; ++i) {
        unsigned symbol = c->packed[i] & 0xff;
        put(b, c->packed_code[symbol], c->packed_length[symbol]);
        put(b, c->packed[i] >> 8, packed_extra[symbol]);
        flush(b);
    }
}

static void put_runs(struct bits *to, const struct tbp_deflate *d, const uint8_t *in) {
    struct bits b = *to;
    for (size_t r = 0; r < d->n_runs; ++r) {
        struct run run = d->runs[r];
        const uint8_t *end = in + run.literals;
        for (; end - in >= 4; in += 4) { /* 4 * 14 bits between flushes */
            put_entry(&b, d->literal[in[0]]);
            put_entry(&b, d->literal[in[1]]);
            put_entry(&b, d->literal[in[2]]);
            put_entry(&b, d->literal[in[3]]);
            flush(&b);
        }
        for (; in < end; ++in)
            put_entry(&b, d->literal[*in]); /* 3 * 14 bits */
        if (run.length == 0)
            continue;
        flush(&b);
        unsigned symbol = distance_symbol(d, run.distance);
        put_entry(&b, d->length[run.length]); /* 19 + 14 + 13 bits */
        put_entry(&b, d->distance_code[symbol]);
        put(&b, run.distance - distance_base(symbol), distance_extra(symbol));
        flush(&b);
        in += run.length;
    }
    flush(&b);
    *to = b;
}

/* Whole bytes as they are. At a byte boundary; leaves one. */
static uint8_t *put_stored(uint8_t *out, const uint8_t *in, size_t n) {
    do {
        size_t part = n < STORED_MAX ? n : STORED_MAX;
        *out++ = 0; /* not final, stored, five bits unused */
        *out++ = (uint8_t)part;
        *out++ = (uint8_t)(part >> 8);
        *out++ = (uint8_t)~part;
        *out++ = (uint8_t)(~part >> 8);
        memcpy(out, in, part);
        out += part;
        in += part;
        n -= part;
    } while (n > 0);
    return out;
}

size_t tbp_deflate_block(struct tbp_deflate *d, const uint8_t *in, size_t n, uint8_t *out) {
    TBP_BUG_IF(n > TBP_DEFLATE_BLOCK);
    struct codes c;
    find_runs(d, in, n);
    make_codes(d, &c);
    if (bits_needed(d, &c) / 8 + 16 >= n)
        return (size_t)(put_stored(out, in, n) - out);
    fill_entries(d, &c);
    struct bits b = {.out = out};
    put_header(&b, &c);
    put_runs(&b, d, in);
    put(&b, c.litlen[END_OF_BLOCK], c.length[END_OF_BLOCK]);
    put(&b, 0, 3); /* an empty stored block: its header up to the byte boundary, then its length */
    b.n = (b.n + 7) & ~7u;
    flush(&b);
    memcpy(b.out, "\0\0\xff\xff", 4);
    return (size_t)(b.out + 4 - out);
}
