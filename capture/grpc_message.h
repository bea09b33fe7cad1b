/* SPDX-License-Identifier: Apache-2.0
 *
 * What gRPC adds to HTTP/2, as pure functions: status numbers, the prefix of messages and their
 * compression, deadlines and messages in headers. Source: the public description of the protocol.
 */
#ifndef TBP_CAPTURE_GRPC_MESSAGE_H
#define TBP_CAPTURE_GRPC_MESSAGE_H

#include "base/arena.h"
#include "base/status.h"

enum tbp_grpc_status {
    TBP_GRPC_OK = 0,
    TBP_GRPC_CANCELLED = 1,
    TBP_GRPC_UNKNOWN = 2,
    TBP_GRPC_INVALID_ARGUMENT = 3,
    TBP_GRPC_DEADLINE_EXCEEDED = 4,
    TBP_GRPC_NOT_FOUND = 5,
    TBP_GRPC_ALREADY_EXISTS = 6,
    TBP_GRPC_PERMISSION_DENIED = 7,
    TBP_GRPC_RESOURCE_EXHAUSTED = 8,
    TBP_GRPC_FAILED_PRECONDITION = 9,
    TBP_GRPC_UNIMPLEMENTED = 12,
    TBP_GRPC_INTERNAL = 13,
    TBP_GRPC_UNAVAILABLE = 14,
    TBP_GRPC_UNAUTHENTICATED = 16
};
const char *tbp_grpc_status_name(int status); /* "UNAVAILABLE"; "status 77" is "UNKNOWN" */

enum { TBP_GRPC_PREFIX = 5, TBP_GRPC_TEXT = 512, TBP_GRPC_ENCODED_TEXT = 3 * TBP_GRPC_TEXT };

void tbp_grpc_prefix(uint8_t to[TBP_GRPC_PREFIX], uint32_t size_bytes);

enum tbp_grpc_encoding { TBP_GRPC_IDENTITY, TBP_GRPC_GZIP, TBP_GRPC_DEFLATE, TBP_GRPC_OTHER };
enum tbp_grpc_encoding tbp_grpc_encoding_of(struct tbp_str name);

/* The one message of a unary body, decompressed into the arena if need be. Fails with TBP_E_FORMAT
 * (not exactly one message), TBP_E_UNSUPPORTED (encoding) or TBP_E_LIMIT (over max_bytes). */
int tbp_grpc_message(struct tbp_str *message, struct tbp_arena *arena, struct tbp_str body,
                     enum tbp_grpc_encoding encoding, size_t max_bytes, struct tbp_error *err);

/* "grpc-timeout": up to eight digits and one of H M S m u n. */
bool tbp_grpc_timeout_parse(struct tbp_str text, int64_t *ns);
size_t tbp_grpc_timeout_write(char *to, size_t size, int64_t ns);

/* "grpc-message": bytes outside of 0x20 … 0x7e, and '%', as %XX. Returns the size written. */
size_t tbp_grpc_text_encode(char to[TBP_GRPC_ENCODED_TEXT], struct tbp_str text);
/* Control characters become '?'; `to` is NUL-terminated and cut at its size. */
void tbp_grpc_text_decode(char *to, size_t size, struct tbp_str encoded);

#endif
