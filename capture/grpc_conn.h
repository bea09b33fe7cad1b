/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's side of one connection: unary gRPC calls out of bytes, answers into bytes, and the
 * limits that keep a peer from costing more than it should. No socket and no clock (times are
 * handed in), so that tests and fuzzers can play any peer at any speed. A peer that speaks HTTP/1
 * gets one line of text.
 *
 * Ownership: the service is borrowed; an answer's bytes pass to the connection. One thread at a
 * time.
 */
#ifndef TBP_CAPTURE_GRPC_CONN_H
#define TBP_CAPTURE_GRPC_CONN_H

#include "capture/grpc_message.h"
#include "schemas/wire.h"

enum {
    TBP_GRPC_MAX_REQUEST_BYTES = 4 << 20,
    TBP_GRPC_MAX_RESETS_PER_S = 100,
    TBP_GRPC_MAX_FRAMES_PER_S = 1000, /* and one more for each KiB of requests and answers */
    TBP_GRPC_PREFACE_S = 10,          /* to say anything HTTP */
    TBP_GRPC_FRAME_S = 10,            /* from the first byte of a frame to the last one */
    TBP_GRPC_HEADERS_S = 10,          /* from the first header to the first byte of the body */
    TBP_GRPC_REQUEST_S = 30,          /* to the last one */
    TBP_GRPC_STALL_S = 60,            /* of a peer that does not take its answer */
    TBP_GRPC_SLOWEST_BYTES_PER_S = 16 * 1024,
    TBP_GRPC_IDLE_S = 300, /* without a call */
};
#define TBP_GRPC_FOREVER INT64_MAX

struct tbp_grpc_call {
    uint64_t id;
    struct tbp_str path;    /* "/tensorflow.ProfilerService/Profile" */
    struct tbp_str message; /* valid during the call of `call` */
    int64_t deadline_ns;    /* monotonic; TBP_GRPC_FOREVER if there is none */
    bool is_local;          /* of this machine */
};

/* What goes back. The message is head, then big; who fills it gives both away. */
struct tbp_grpc_reply {
    int status; /* enum tbp_grpc_status */
    char text[TBP_GRPC_TEXT];
    struct tbp_wire_out head;
    uint8_t *big;
    size_t big_n;
    void (*big_free)(uint8_t *big);
};
void tbp_grpc_reply_release(struct tbp_grpc_reply *reply);
void tbp_grpc_reply_fail(struct tbp_grpc_reply *reply, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

struct tbp_grpc_conn;
struct tbp_grpc_service {
    /* Answers with tbp_grpc_conn_reply, at once or later. */
    void (*call)(void *ctx, struct tbp_grpc_conn *conn, const struct tbp_grpc_call *call);
    void (*dropped)(void *ctx, uint64_t call_id); /* nobody waits for this answer any more */
    void *ctx;
    const char *token; /* what clients must show as "authorization: Bearer TOKEN"; NULL: nothing */
};

/* serial: nonzero, another one for each connection: the upper half of its calls' ids. */
int tbp_grpc_conn_new(struct tbp_grpc_conn **out, const struct tbp_grpc_service *service,
                      uint32_t serial, bool is_local, int64_t now_ns, struct tbp_error *err);
void tbp_grpc_conn_free(struct tbp_grpc_conn *c); /* open calls are dropped; NULL is fine */
uint32_t tbp_grpc_conn_serial(const struct tbp_grpc_conn *c);

/* A failure means: send what is in the output, then close. */
int tbp_grpc_conn_input(struct tbp_grpc_conn *c, const uint8_t *p, size_t n, int64_t now_ns,
                        struct tbp_error *err);
/* The next bytes to send, valid until the next call; *n is 0 if there are none for now. */
int tbp_grpc_conn_output(struct tbp_grpc_conn *c, const uint8_t **p, size_t *n, int64_t now_ns,
                         struct tbp_error *err);
bool tbp_grpc_conn_wants_output(const struct tbp_grpc_conn *c);
bool tbp_grpc_conn_is_done(const struct tbp_grpc_conn *c);
size_t tbp_grpc_conn_open_calls(const struct tbp_grpc_conn *c);

/* Calls whose requests are whole: those that wait for their answer, and those that take it. */
struct tbp_grpc_owed {
    size_t waiting, taking;
};
struct tbp_grpc_owed tbp_grpc_conn_owed(const struct tbp_grpc_conn *c);

/* When tbp_grpc_conn_tick wants to be called next; the latter fails when the connection is to be
 * closed for what its peer did not do. */
int64_t tbp_grpc_conn_due_ns(const struct tbp_grpc_conn *c);
int tbp_grpc_conn_tick(struct tbp_grpc_conn *c, int64_t now_ns, struct tbp_error *err);

/* Takes the reply's bytes; a call that is gone is none of the caller's worry. */
void tbp_grpc_conn_reply(struct tbp_grpc_conn *c, uint64_t call_id, struct tbp_grpc_reply *reply);

#endif
