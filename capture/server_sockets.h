/* SPDX-License-Identifier: Apache-2.0
 *
 * The listening sockets of the server, and which peers come through them.
 */
#ifndef TBP_CAPTURE_SERVER_SOCKETS_H
#define TBP_CAPTURE_SERVER_SOCKETS_H

#include "capture/target_address.h"

enum { TBP_SERVER_MAX_SOCKETS = 2 };

struct tbp_server_sockets {
    int fd[TBP_SERVER_MAX_SOCKETS];
    size_t n;
    uint16_t port;
    char unix_path[108];              /* removed on close */
    uint64_t unix_device, unix_inode; /* if it is still ours */
};

/* bind NULL or "localhost": 127.0.0.1 and, where there is one, ::1, on the same port. port 0: a
 * free one. A unix socket which nobody serves any more is replaced. */
int tbp_server_listen(struct tbp_server_sockets *s, const char *bind, uint16_t port,
                      struct tbp_error *err);
void tbp_server_close(struct tbp_server_sockets *s);

/* An accepted socket that does not block, or -1 if there is none or its peer may not come in. */
int tbp_server_accept(int listener, const struct tbp_peer_ranges *allowed, bool anyone,
                      bool *is_local);

/* Could this be listened on? Looks at the text alone; TBP_E_USAGE says how to write it. */
int tbp_server_check_bind(const char *bind, struct tbp_error *err);
/* Can others than this machine reach what is bound there? */
bool tbp_server_is_open(const char *bind);

#endif
