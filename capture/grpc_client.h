/* SPDX-License-Identifier: Apache-2.0
 *
 * Unary gRPC calls to several servers at a time, on the calling thread with one poll loop. Every
 * address of a name is tried (a server may listen on 127.0.0.1 while "localhost" is ::1 first);
 * proxies are never used. A server of this machine that two calls reach by different names is asked
 * by one of them; elsewhere one address may serve many servers, told apart by name. An answer is
 * stored in memory, up to 2 GiB.
 *
 * Ownership: calls and their texts are the caller's; what is received is released by
 * tbp_grpc_client_release. Thread-safety: none needed, no state.
 */
#ifndef TBP_CAPTURE_GRPC_CLIENT_H
#define TBP_CAPTURE_GRPC_CLIENT_H

#include "capture/grpc_message.h"
#include "capture/target_address.h"

#include <stdatomic.h>

enum { TBP_CLIENT_TEXT = 1024 };

struct tbp_grpc_client_call {
    /* the question */
    const struct tbp_target *target;
    const char *path;
    struct tbp_str request;
    int64_t deadline_ns; /* monotonic */
    const char *token;   /* NULL: none */
    /* the answer */
    int status; /* enum tbp_grpc_status */
    char text[TBP_CLIENT_TEXT];
    bool was_reached;                 /* somebody who speaks HTTP/2 was there */
    bool was_lost;                    /* and went away before the answer */
    const struct tbp_target *same_as; /* not asked, since this other one is the same server; NULL */
    struct {
        uint8_t *at;
        size_t n, cap;
    } body; /* prefix and message */
    unsigned attempts;
    bool has_server_times;
    int64_t sent_ns, received_ns, server_received_ns, server_sent_ns; /* since 1970 */
};

struct tbp_grpc_client {
    struct tbp_grpc_client_call *calls;
    size_t n;
    /* Called when an attempt is over. True: once more, not before *not_before_ns. */
    bool (*over)(void *ctx, struct tbp_grpc_client_call *call, int64_t *not_before_ns);
    void *ctx;
    const atomic_bool *cancel; /* NULL: never */
};

/* Returns when all calls are over; fails only for want of HTTP/2 or memory. */
int tbp_grpc_client_run(const struct tbp_grpc_client *client, struct tbp_error *err);
/* The message in a good answer. */
struct tbp_str tbp_grpc_client_message(const struct tbp_grpc_client_call *call);
void tbp_grpc_client_release(struct tbp_grpc_client_call *call);

#endif
