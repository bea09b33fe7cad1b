/* SPDX-License-Identifier: Apache-2.0
 *
 * One side of one HTTP/2 connection, without a socket: bytes in, bytes out, and calls of a handler
 * as headers and bodies come. HTTP/2 itself (frames, HPACK, flow control) is libnghttp2's; where it
 * was missing at build time every `new` fails and says so (h2_none.c).
 *
 * Ownership: the session borrows handler and ctx. Thread-safety: one thread at a time; the handler
 * is called from inside input and output and may submit, but not free the session.
 */
#ifndef TBP_CAPTURE_H2_SESSION_H
#define TBP_CAPTURE_H2_SESSION_H

#include "base/status.h"
#include "base/str.h"

#include <sys/types.h>

enum {
    TBP_H2_MAX_STREAMS = 32,
    TBP_H2_MAX_HEADER_BYTES = 16 * 1024,
    TBP_H2_CANCEL = 8, /* error code of RST_STREAM: the peer does not want it any more */
};

struct tbp_h2_header {
    struct tbp_str name, value;
};

/* ctx is the one given to new. What returns int resets the stream with anything but TBP_OK. */
struct tbp_h2_handler {
    int (*headers_begin)(void *ctx, int32_t stream);
    int (*header)(void *ctx, int32_t stream, struct tbp_str name, struct tbp_str value);
    int (*data)(void *ctx, int32_t stream, const uint8_t *p, size_t n);
    int (*ended)(void *ctx, int32_t stream); /* the peer has sent all */
    void (*closed)(void *ctx, int32_t stream, uint32_t h2_error);
    /* Up to `size` bytes of the body that was promised to submit; sets *is_last with the last. */
    ssize_t (*body)(void *ctx, int32_t stream, uint8_t *to, size_t size, bool *is_last);
    /* Servers: headers that follow the body; at most n_max of them. */
    size_t (*trailers)(void *ctx, int32_t stream, struct tbp_h2_header *to, size_t n_max);
};

struct tbp_h2;
int tbp_h2_new(struct tbp_h2 **out, bool is_server, const struct tbp_h2_handler *handler, void *ctx,
               struct tbp_error *err);
void tbp_h2_free(struct tbp_h2 *h); /* NULL is fine; `closed` is not called */

/* Fails when the connection is beyond use; what is to be told to the peer is then in the output. */
int tbp_h2_input(struct tbp_h2 *h, const uint8_t *p, size_t n, struct tbp_error *err);
/* The next bytes for the peer, valid until the next call; *n is 0 if there are none for now. */
int tbp_h2_output(struct tbp_h2 *h, const uint8_t **p, size_t *n, struct tbp_error *err);
bool tbp_h2_wants_output(const struct tbp_h2 *h);
bool tbp_h2_is_done(const struct tbp_h2 *h); /* neither side has anything left to say */

/* Clients: opens a stream; negative on failure. */
int32_t tbp_h2_request(struct tbp_h2 *h, const struct tbp_h2_header *headers, size_t n,
                       struct tbp_error *err);
/* Servers: without a body the headers end the stream. */
int tbp_h2_respond(struct tbp_h2 *h, int32_t stream, const struct tbp_h2_header *headers, size_t n,
                   bool has_body, struct tbp_error *err);
void tbp_h2_reset(struct tbp_h2 *h, int32_t stream);
void tbp_h2_goaway(struct tbp_h2 *h); /* no further streams; then tbp_h2_is_done once they end */

/* Of a server's connection so far. */
struct tbp_h2_traffic {
    uint64_t resets, frames; /* of the peer: RST_STREAM, and of all kinds */
    uint64_t open_frame;     /* number of the one that has begun and is not whole; 0: none */
    uint64_t body_bytes;     /* both ways */
};
struct tbp_h2_traffic tbp_h2_traffic(const struct tbp_h2 *h);

#endif
