/* SPDX-License-Identifier: Apache-2.0
 *
 * Connecting to a target without blocking: every address of its name, one after another, until one
 * takes the connection. What went wrong with each is kept as text.
 */
#ifndef TBP_CAPTURE_CLIENT_CONNECT_H
#define TBP_CAPTURE_CLIENT_CONNECT_H

#include "capture/target_address.h"

struct addrinfo;
enum tbp_connect_state { TBP_CONNECT_PENDING, TBP_CONNECT_DONE, TBP_CONNECT_FAILED };

struct tbp_connect {
    int fd; /* -1: none */
    const struct tbp_target *target;
    struct addrinfo *found, *next; /* what getaddrinfo found, and what is tried next of it */
    bool is_trying, tried_unix;
    char shown[64];  /* the address being tried */
    char text[1024]; /* "127.0.0.1: Connection refused; …" */
};

/* Resolves the name, which may take a while. */
void tbp_connect_begin(struct tbp_connect *c, const struct tbp_target *target);
/* To be called when poll sees something at fd. *give_up_ns: when to call again at the latest. */
enum tbp_connect_state tbp_connect_step(struct tbp_connect *c, int64_t now_ns, int64_t *give_up_ns,
                                        int64_t deadline_ns);
void tbp_connect_close(struct tbp_connect *c);

/* What stands in ":authority". */
void tbp_connect_authority(const struct tbp_target *target, char *to, size_t size);

#endif
