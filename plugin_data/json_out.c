/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON text: runs of harmless bytes are copied whole, the rest is looked up in one table of byte
 * classes shared by all dialects. Numbers are formatted in the writer's buffer.
 */
#include "plugin_data/json_out.h"

#include <stdio.h>

void tbp_json_init(struct tbp_json *j, struct tbp_sink *sink) {
    j->sink = sink;
    j->n = 0;
    j->status = TBP_OK;
    j->err = (struct tbp_error){.offset = TBP_NO_OFFSET};
}

void tbp_json_flush(struct tbp_json *j) {
    if (j->status == TBP_OK && j->n > 0)
        j->status = tbp_sink_write(j->sink, j->buf, j->n, &j->err);
    j->n = 0;
}

int tbp_json_finish(struct tbp_json *j, struct tbp_error *err) {
    tbp_json_flush(j);
    if (j->status != TBP_OK && err)
        *err = j->err;
    return j->status;
}

void tbp_json_raw_slow(struct tbp_json *j, const char *p, size_t n) {
    while (n > 0) {
        tbp_json_flush(j);
        size_t part = n < sizeof j->buf ? n : sizeof j->buf;
        memcpy(j->buf, p, part);
        j->n = part;
        p += part;
        n -= part;
    }
}

/* ---- texts ---- */

enum { G = 1 << TBP_JSON_GVIZ, P = 1 << TBP_JSON_PROTO, T = 1 << TBP_JSON_TRACE };
enum { Y = 1 << TBP_JSON_PYTHON, A = G | P | T | Y };

/* Dialects in which a byte cannot be copied as it stands; every byte of a longer character is
 * looked at in all of them. */
static const uint8_t special[256] = {[0 ... 31] = A, ['"'] = A, ['\\'] = A,    ['<'] = P | T,
                                     ['>'] = P | T,  ['&'] = T, [127] = P | Y, [128 ... 255] = A};

/* Length of the character at p, 0 if it is none (overlong, surrogate, beyond U+10FFFF, cut). */
static unsigned decode_utf8(const uint8_t *p, size_t n, uint32_t *code) {
    uint8_t c = p[0];
    unsigned length = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    uint32_t v = length == 1 ? c : c & (0x7f >> length);
    for (unsigned i = 1; i < length; ++i) {
        if ((p[i] & 0xc0) != 0x80)
            return 0;
        v = v << 6 | (p[i] & 0x3f);
    }
    if ((length == 3 && (v < 0x800 || (v >= 0xd800 && v < 0xe000))) ||
        (length == 4 && (v < 0x10000 || v > 0x10ffff)))
        return 0;
    *code = v;
    return length;
}

static void put_u16(struct tbp_json *j, uint32_t v) {
    static const char hex[] = "0123456789abcdef";
    char *p = tbp_json_room(j, 6);
    p[0] = '\\';
    p[1] = 'u';
    for (int i = 0; i < 4; ++i)
        p[2 + i] = hex[v >> (12 - 4 * i) & 15];
    j->n += 6;
}

static void put_escape(struct tbp_json *j, uint32_t code) {
    static const char letters[32] = {
        ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    char letter = code < 32 ? letters[code] : code == '"' || code == '\\' ? (char)code : 0;
    if (letter) {
        tbp_json_raw(j, (char[]){'\\', letter}, 2);
    } else if (code >= 0x10000) {
        put_u16(j, 0xd800 + ((code - 0x10000) >> 10));
        put_u16(j, 0xdc00 + ((code - 0x10000) & 0x3ff));
    } else {
        put_u16(j, code);
    }
}

/* What protobuf's JSON printer escapes beyond ASCII: controls, and what is invisible or turns the
 * direction of text. */
static bool is_escaped_by_protobuf(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {
        {0x80, 0x9f},       {0xad, 0xad},       {0x600, 0x603},     {0x6dd, 0x6dd},
        {0x70f, 0x70f},     {0x17b4, 0x17b5},   {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x2064},   {0x206a, 0x206f},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
        {0x1d173, 0x1d17a}, {0xe0001, 0xe0001}, {0xe0020, 0xe007f},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && code >= ranges[i].first; ++i)
        if (code <= ranges[i].last)
            return true;
    return false;
}

static bool is_escaped(uint32_t code, enum tbp_json_escape how) {
    if (code < 0x80)
        return true;
    switch (how) {
    case TBP_JSON_PYTHON:
        return true;
    case TBP_JSON_PROTO:
        return is_escaped_by_protobuf(code);
    default:
        return false;
    }
}

void tbp_json_text(struct tbp_json *j, struct tbp_str s, enum tbp_json_escape how) {
    if (s.n == 0)
        return;
    const uint8_t *p = (const uint8_t *)s.p, *end = p + s.n, *copied = p,
                  mask = (uint8_t)(1 << how);
    while (p < end) {
        if (!(special[*p] & mask)) {
            ++p;
            continue;
        }
        uint32_t code = 0xfffd;
        unsigned length = decode_utf8(p, (size_t)(end - p), &code);
        if (length && !is_escaped(code, how)) {
            p += length;
            continue;
        }
        tbp_json_raw(j, (const char *)copied, (size_t)(p - copied));
        if (length || how == TBP_JSON_PYTHON)
            put_escape(j, code);
        else
            tbp_json_raw(j, "\xef\xbf\xbd", 3);
        p += length ? length : 1;
        copied = p;
    }
    tbp_json_raw(j, (const char *)copied, (size_t)(p - copied));
}

void tbp_json_str(struct tbp_json *j, struct tbp_str s, enum tbp_json_escape how) {
    tbp_json_char(j, '"');
    tbp_json_text(j, s, how);
    tbp_json_char(j, '"');
}

/* ---- numbers ---- */

void tbp_json_i64(struct tbp_json *j, int64_t v) {
    j->n += tbp_number_i64(tbp_json_room(j, TBP_NUMBER_MAX), v);
}

void tbp_json_u64(struct tbp_json *j, uint64_t v) {
    j->n += tbp_number_u64(tbp_json_room(j, TBP_NUMBER_MAX), v);
}

void tbp_json_gviz_number(struct tbp_json *j, double v) {
    j->n += tbp_number_gviz(tbp_json_room(j, TBP_NUMBER_MAX), v);
}

void tbp_json_proto_number(struct tbp_json *j, double v) {
    j->n += tbp_number_proto(tbp_json_room(j, TBP_NUMBER_MAX), v);
}

void tbp_json_us17(struct tbp_json *j, uint64_t ps) {
    j->n += tbp_number_us_g17(tbp_json_room(j, TBP_NUMBER_MAX), ps);
}

void tbp_json_us_repr(struct tbp_json *j, uint64_t ps) {
    j->n += tbp_number_us_repr(tbp_json_room(j, TBP_NUMBER_MAX), ps);
}

void tbp_json_printf(struct tbp_json *j, const char *fmt, ...) {
    enum { ROOM = 512 };
    va_list args;
    va_start(args, fmt);
    int n = tbp_number_vprintf(tbp_json_room(j, ROOM), ROOM, fmt, args);
    va_end(args);
    TBP_BUG_IF(n < 0 || n >= ROOM);
    j->n += (size_t)n;
}
