/* SPDX-License-Identifier: Apache-2.0
 *
 * What a client asks for, checked: the one place where bytes from the network become options of a
 * session and names of files. Everything that the client may not ask for is refused or ignored
 * here. Texts lie in the arena given. Pure, thread-safe.
 */
#ifndef TBP_CAPTURE_CAPTURE_REQUEST_H
#define TBP_CAPTURE_CAPTURE_REQUEST_H

#include "capture/grpc_conn.h"
#include "capture/session_ops.h"
#include "schemas/profiler_service.pb-c.h"

#define TBP_CAPTURE_NAME_RULE                                                                      \
    "1 to 128 bytes of visible UTF-8 without slashes, quotes and what means something to shells "  \
    "or "                                                                                          \
    "HTML, not beginning with '.', '-' or a blank, nor ending in '.' or a blank"
enum { TBP_CAPTURE_NAME_MAX = 128, TBP_CAPTURE_MAX_DELAY_S = 3600 };

struct tbp_capture_policy {
    uint64_t max_duration_ms;
    bool allows_python_tracer;
};

struct tbp_capture_request {
    uint64_t duration_ms;
    int64_t start_realtime_ns; /* 0: now */
    tbprof_options options;
    const char *repository_root;        /* "" if not given */
    const char *session_id, *host_name; /* names, always given */
    bool emit_xspace;
    const char *warning; /* for the reader of the profile; NULL: none */
};

/* One visible path component that means nothing to shells, pages and other systems either: by
 * TBP_CAPTURE_NAME_RULE. "ALL_HOSTS" is none, since the plugin takes it for all hosts of a run. */
bool tbp_capture_is_name(struct tbp_str name);

/* Texts of a message end at a zero byte for protobuf-c; those that do not end there are no texts
 * that we want. Looks at the fields of the message itself. */
bool tbp_capture_has_zero(struct tbp_str message);

/* protobuf-c's allocator over an arena; every message of a request is unpacked with it. */
ProtobufCAllocator tbp_capture_allocator(struct tbp_arena *arena);

/* False: refused, and *refusal says why. needs_duration: Profile does, continuous profiling not. */
bool tbp_capture_request_read(struct tbp_capture_request *out, struct tbp_arena *arena,
                              const Tbp__Rpc__ProfileRequest *message,
                              const struct tbp_capture_policy *policy,
                              const struct tbp_session_ops *ops, bool needs_duration,
                              struct tbp_grpc_reply *refusal);
/* Options of the short session behind Monitor: little, and devices from level 2 on. */
void tbp_capture_monitor_options(struct tbp_capture_request *request,
                                 const struct tbp_session_ops *ops, int monitoring_level);

#endif
