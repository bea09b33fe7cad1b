/* SPDX-License-Identifier: Apache-2.0
 *
 * Small questions to servers over TCP: does one answer at all, and what does one on this machine
 * say to an HTTP request. No TLS.
 */
#ifndef TBP_CLI_REACH_H
#define TBP_CLI_REACH_H

#include "base/arena.h"
#include "base/status.h"

/* Can a connection to "host" or "host:port" (default 443) be made within the time? Name look-up
 * counts. */
bool tbp_reach(struct tbp_arena *arena, const char *address, unsigned timeout_ms);

/* A TCP port of 127.0.0.1 that is free now. */
int tbp_free_port(uint16_t *port, struct tbp_error *err);

/* GET of 127.0.0.1: HTTP status, 0 if there was no answer in time. body: up to its first 64 KiB. */
unsigned tbp_http_get(struct tbp_arena *arena, uint16_t port, const char *path, unsigned timeout_ms,
                      struct tbp_str *body);

#endif
