/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests of the client; see client_request.h. Field numbers: schemas/profiler_service.proto.
 */
#include "capture/client_request.h"

#include "schemas/profiler_service.pb-c.h"

#define MAX_EVENTS 1000000 /* what every official client sends */

static const char *const tools[] = {
    "trace_viewer",   "op_profile",    "input_pipeline", "kernel_stats",     "memory_viewer",
    "memory_profile", "overview_page", "pod_viewer",     "tensorflow_stats", "xplane.pb",
};

static char *text(struct tbp_arena *arena, const char *s) {
    return tbp_arena_printf(arena, "%s", s ? s : "");
}

/* The address, as a name of a file may be: sockets of the unix kind have a path. */
static char *host_name(struct tbp_arena *arena, const struct tbp_target *target) {
    char *name = text(arena, target->text);
    for (char *c = name; *c; c++)
        *c = *c == '/' ? '_' : *c;
    return name;
}

static void fill_options(Tbp__Rpc__ProfileOptions *o, const struct tbp_capture_plan *plan,
                         struct tbp_arena *arena, const char *run, int64_t start_realtime_ns) {
    tbp__rpc__profile_options__init(o);
    o->version = 1;
    o->include_dataset_ops = o->enable_hlo_proto = true;
    o->host_tracer_level = plan->host_level;
    o->device_tracer_level = plan->device_level;
    o->python_tracer_level = plan->python_level;
    o->duration_ms = plan->duration_ms;
    o->start_timestamp_ns = (uint64_t)start_realtime_ns;
    o->repository_path = text(arena, plan->logdir);
    o->session_id = text(arena, plan->session_id ? run : "");
    o->override_hostname = text(arena, plan->override_hostname);
}

static struct tbp_str packed(struct tbp_arena *arena, const ProtobufCMessage *message) {
    size_t n = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = tbp_arena_alloc(arena, 1, n + 1);
    protobuf_c_message_pack(message, bytes);
    return (struct tbp_str){(const char *)bytes, n};
}

struct tbp_str tbp_client_request(const struct tbp_capture_plan *plan, struct tbp_arena *arena,
                                  const char *root, const char *run,
                                  const struct tbp_target *target, int64_t start_realtime_ns) {
    Tbp__Rpc__ProfileOptions options;
    Tbp__Rpc__ProfileRequest request;
    Tbp__Rpc__NewProfileSessionRequest session;
    tbp__rpc__profile_request__init(&request);
    fill_options(&options, plan, arena, run, start_realtime_ns);
    request.duration_ms = plan->duration_ms;
    request.max_events = MAX_EVENTS;
    request.tools = (char **)(uintptr_t)tools;
    request.n_tools = sizeof tools / sizeof *tools;
    request.opts = &options;
    request.repository_root = text(arena, root);
    request.session_id = text(arena, run);
    request.host_name = host_name(arena, target);
    request.emit_xspace = plan->n_workers == 0;
    if (plan->n_workers == 0)
        return packed(arena, &request.base);
    tbp__rpc__new_profile_session_request__init(&session);
    session.request = &request;
    session.repository_root = request.repository_root;
    session.session_id = request.session_id;
    session.hosts = (char **)(uintptr_t)plan->workers;
    session.n_hosts = plan->n_workers;
    return packed(arena, &session.base);
}

struct tbp_str tbp_client_monitor_request(struct tbp_arena *arena, uint64_t duration_ms, int level,
                                          bool shows_time) {
    Tbp__Rpc__MonitorRequest request;
    tbp__rpc__monitor_request__init(&request);
    request.duration_ms = duration_ms;
    request.monitoring_level = level;
    request.timestamp = shows_time;
    return packed(arena, &request.base);
}
