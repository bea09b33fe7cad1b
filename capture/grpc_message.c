/* SPDX-License-Identifier: Apache-2.0
 *
 * gRPC's framing and header texts; see grpc_message.h.
 */
#include "capture/grpc_message.h"

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

const char *tbp_grpc_status_name(int status) {
    static const char *const names[] = {
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    };
    if (status < 0 || (size_t)status >= sizeof names / sizeof *names)
        return "UNKNOWN";
    return names[status];
}

void tbp_grpc_prefix(uint8_t to[TBP_GRPC_PREFIX], uint32_t size_bytes) {
    to[0] = 0;
    to[1] = (uint8_t)(size_bytes >> 24);
    to[2] = (uint8_t)(size_bytes >> 16);
    to[3] = (uint8_t)(size_bytes >> 8);
    to[4] = (uint8_t)size_bytes;
}

enum tbp_grpc_encoding tbp_grpc_encoding_of(struct tbp_str name) {
    if (name.n == 0 || tbp_str_is(name, "identity"))
        return TBP_GRPC_IDENTITY;
    if (tbp_str_is(name, "gzip"))
        return TBP_GRPC_GZIP;
    return tbp_str_is(name, "deflate") ? TBP_GRPC_DEFLATE : TBP_GRPC_OTHER;
}

/* zlib and gzip are told apart by zlib itself. Output grows by doubling, so a bomb costs at most
 * twice max_bytes. */
static int inflate_message(struct tbp_str *out, struct tbp_arena *arena, struct tbp_str in,
                           size_t max_bytes, struct tbp_error *err) {
    for (size_t size = 64 * 1024;; size *= 2) {
        z_stream z = {.next_in = (Bytef *)(uintptr_t)in.p, .avail_in = (uInt)in.n};
        char *to = tbp_arena_alloc(arena, 1, size);
        if (inflateInit2(&z, 15 + 32) != Z_OK)
            return tbp_fail(err, TBP_E_MEMORY, "decompressing a message failed");
        z.next_out = (Bytef *)to;
        z.avail_out = (uInt)size;
        int code = inflate(&z, Z_FINISH);
        *out = (struct tbp_str){to, size - z.avail_out};
        bool is_full = z.avail_out == 0;
        inflateEnd(&z);
        if (code == Z_STREAM_END)
            return TBP_OK;
        if (!is_full)
            return tbp_fail(err, TBP_E_FORMAT, "decompressing a message failed: damaged");
        if (size >= max_bytes)
            return tbp_fail(err, TBP_E_LIMIT, "a message is larger than %zu bytes", max_bytes);
    }
}

int tbp_grpc_message(struct tbp_str *message, struct tbp_arena *arena, struct tbp_str body,
                     enum tbp_grpc_encoding encoding, size_t max_bytes, struct tbp_error *err) {
    const uint8_t *p = (const uint8_t *)body.p;
    if (body.n < TBP_GRPC_PREFIX)
        return tbp_fail(err, TBP_E_FORMAT, "the body holds no message");
    uint32_t size = (uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 | p[4];
    if (size != body.n - TBP_GRPC_PREFIX)
        return tbp_fail(err, TBP_E_FORMAT, "the body is not exactly one message");
    *message = tbp_str_sub(body, TBP_GRPC_PREFIX, body.n);
    if (p[0] == 0)
        return size <= max_bytes
                   ? TBP_OK
                   : tbp_fail(err, TBP_E_LIMIT, "a message is larger than %zu bytes", max_bytes);
    if (p[0] != 1)
        return tbp_fail(err, TBP_E_FORMAT, "the message has unknown flags");
    if (encoding != TBP_GRPC_GZIP && encoding != TBP_GRPC_DEFLATE)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "messages may be compressed by gzip or deflate");
    return inflate_message(message, arena, *message, max_bytes, err);
}

bool tbp_grpc_timeout_parse(struct tbp_str text, int64_t *ns) {
    static const struct {
        char unit;
        int64_t ns;
    } units[] = {{'H', 3600000000000}, {'M', 60000000000}, {'S', 1000000000},
                 {'m', 1000000},       {'u', 1000},        {'n', 1}};
    uint64_t n;
    if (text.n < 2 || text.n > 9 || !tbp_str_to_u64(tbp_str_sub(text, 0, text.n - 1), &n))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (units[i].unit != text.p[text.n - 1])
            continue;
        *ns = __builtin_mul_overflow((int64_t)n, units[i].ns, ns) ? INT64_MAX : *ns;
        return true;
    }
    return false;
}

size_t tbp_grpc_timeout_write(char *to, size_t size, int64_t ns) {
    int64_t ms = ns <= 0 ? 1 : ns / 1000000 + 1;
    if (ms < 100000000)
        return (size_t)snprintf(to, size, "%" PRId64 "m", ms);
    return (size_t)snprintf(to, size, "%" PRId64 "S", ms / 1000);
}

size_t tbp_grpc_text_encode(char to[TBP_GRPC_ENCODED_TEXT], struct tbp_str text) {
    static const char hex[] = "0123456789ABCDEF";
    size_t n = 0;
    for (size_t i = 0; i < text.n && i < TBP_GRPC_TEXT; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c >= 0x20 && c <= 0x7e && c != '%') {
            to[n++] = (char)c;
            continue;
        }
        to[n++] = '%';
        to[n++] = hex[c >> 4];
        to[n++] = hex[c & 15];
    }
    return n;
}

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void tbp_grpc_text_decode(char *to, size_t size, struct tbp_str encoded) {
    size_t n = 0;
    for (size_t i = 0; i < encoded.n && n + 1 < size; i++) {
        unsigned char c = (unsigned char)encoded.p[i];
        if (c == '%' && i + 2 < encoded.n && hex_value(encoded.p[i + 1]) >= 0 &&
            hex_value(encoded.p[i + 2]) >= 0) {
            c = (unsigned char)(hex_value(encoded.p[i + 1]) << 4 | hex_value(encoded.p[i + 2]));
            i += 2;
        }
        to[n++] = c < 0x20 || c == 0x7f ? '?' : (char)c;
    }
    to[n] = '\0';
}
