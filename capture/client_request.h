/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of requests: what the official clients send, field by field, so that every server takes
 * them. Ownership: the arena given.
 */
#ifndef TBP_CAPTURE_CLIENT_REQUEST_H
#define TBP_CAPTURE_CLIENT_REQUEST_H

#include "capture/capture_client.h"

/* ProfileRequest to one target, or NewProfileSessionRequest if the plan has workers. */
struct tbp_str tbp_client_request(const struct tbp_capture_plan *plan, struct tbp_arena *arena,
                                  const char *root, const char *run,
                                  const struct tbp_target *target, int64_t start_realtime_ns);
struct tbp_str tbp_client_monitor_request(struct tbp_arena *arena, uint64_t duration_ms, int level,
                                          bool shows_time);

#endif
