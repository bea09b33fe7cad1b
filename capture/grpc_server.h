/* SPDX-License-Identifier: Apache-2.0
 *
 * Listening sockets, connections and the one thread ("tbprof-server") that serves them with poll.
 * It sleeps without a timer while nobody is connected. What calls mean is the service's.
 *
 * Peers: of this machine unless said otherwise (docs: an address that others can reach needs a list
 * of ranges or a token); on a unix socket only processes of the same user, or root.
 * Ownership: borrows the configuration's texts and the service until freed. Thread-safety: wake may
 * be called from any thread, reply from the server's thread (service callbacks) only.
 */
#ifndef TBP_CAPTURE_GRPC_SERVER_H
#define TBP_CAPTURE_GRPC_SERVER_H

#include "capture/grpc_conn.h"
#include "capture/target_address.h"

enum { TBP_GRPC_MAX_CONNS = 16 };

struct tbp_grpc_server_config {
    const char *bind; /* NULL or "localhost": 127.0.0.1 and ::1; an IP address; "unix:/path" */
    uint16_t port;    /* 0: one that is free */
    struct tbp_peer_ranges allowed; /* besides this machine */
    struct tbp_grpc_service service;
    /* On the server's thread: after tbp_grpc_server_wake, and when it is to stop, whereupon all
     * calls are to be answered soon. */
    void (*woken)(void *service_ctx);
    void (*stopping)(void *service_ctx);
};

struct tbp_grpc_server;
/* Binds and listens; nothing is served before run. */
int tbp_grpc_server_new(struct tbp_grpc_server **out, const struct tbp_grpc_server_config *config,
                        struct tbp_error *err);
int tbp_grpc_server_run(struct tbp_grpc_server *s, struct tbp_error *err); /* starts the thread */
uint16_t tbp_grpc_server_port(const struct tbp_grpc_server *s);
void tbp_grpc_server_wake(struct tbp_grpc_server *s);
void tbp_grpc_server_reply(struct tbp_grpc_server *s, uint64_t call_id,
                           struct tbp_grpc_reply *reply);
/* Accepts nobody any more, waits until calls are answered (at most a minute) and their answers
 * taken (five seconds after the last one), ends and joins the thread. wake and free may still be
 * called. */
void tbp_grpc_server_stop(struct tbp_grpc_server *s);
void tbp_grpc_server_free(struct tbp_grpc_server *s);
/* In a forked child: closes the sockets, touches nothing else (no thread serves them here). */
void tbp_grpc_server_forget(struct tbp_grpc_server *s);

#endif
