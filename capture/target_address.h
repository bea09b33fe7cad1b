/* SPDX-License-Identifier: Apache-2.0
 *
 * Addresses of capture servers as people write them: "host:port", "10.1.2.3:6009", "[::1]:6009",
 * "[fe80::1%eth0]:6009", "grpc://host:port", "unix:/path", several with commas. A bare IPv6 address
 * is refused, since its port cannot be told from it. Nothing is resolved here. Pure, thread-safe.
 * Ownership: texts lie in the arena given.
 */
#ifndef TBP_CAPTURE_TARGET_ADDRESS_H
#define TBP_CAPTURE_TARGET_ADDRESS_H

#include "base/arena.h"
#include "base/status.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { TBP_TARGETS_MAX = 1024 };

struct tbp_target {
    const char *text; /* as written, without blanks and "grpc://": what names the host's file */
    const char *host; /* without brackets; the path of a unix socket */
    uint16_t port;    /* 0: unix socket */
    bool is_unix;
};

struct tbp_targets {
    struct tbp_target *at;
    size_t n;
};

/* Fails with TBP_E_USAGE and a text that says how to write it, or which of several is there twice:
 * their files would have one name. */
int tbp_target_parse(struct tbp_target *target, struct tbp_arena *arena, struct tbp_str text,
                     struct tbp_error *err);
int tbp_targets_parse(struct tbp_targets *targets, struct tbp_arena *arena, struct tbp_str text,
                      struct tbp_error *err);

int tbp_targets_check(const struct tbp_targets *targets, struct tbp_error *err); /* the latter */

/* Ranges of addresses, "10.0.0.0/8,::1,192.168.1.7": who may speak to a server. */
struct tbp_peer_range {
    uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
    unsigned bits;
};
struct tbp_peer_ranges {
    struct tbp_peer_range *at;
    size_t n;
};
int tbp_peer_ranges_parse(struct tbp_peer_ranges *ranges, struct tbp_arena *arena,
                          struct tbp_str text, struct tbp_error *err);
bool tbp_peer_is_in(const struct tbp_peer_ranges *ranges, const struct sockaddr *peer);
bool tbp_peer_is_loopback(const struct sockaddr *peer); /* unix sockets too */

#endif
