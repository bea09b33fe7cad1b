/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of the service; see capture_service.h.
 */
#include "capture/capture_service.h"

#include "base/quiet_thread.h"
#include "capture/capture_fan_out.h"
#include "capture/capture_reply.h"

#include <stdio.h>

enum { MAX_EARLY = 16, MONITOR_MS = 1000 };
#define EARLY_NS 60000000000 /* for how long a Terminate waits for its Profile */

struct early { /* a Terminate that came before its Profile */
    char session_id[TBP_CAPTURE_NAME_MAX + 1];
    int64_t until_ns;
};

struct tbp_capture_service {
    struct tbp_arena arena; /* holds this struct */
    struct tbp_capture_service_config config;
    struct tbp_capture_worker *worker;
    struct tbp_fan_out *fan_out;
    struct early early[MAX_EARLY];
    size_t next_early;
    bool is_ending;
};

/* A call being read: refused, answered at once, or given away (is_later). */
struct call {
    struct tbp_capture_service *service;
    const struct tbp_grpc_call *grpc;
    struct tbp_grpc_reply *reply;
    bool is_later;
};

static void refuse_message(struct call *c) {
    tbp_grpc_reply_fail(c->reply, TBP_GRPC_INVALID_ARGUMENT,
                        "the request is no message of this method");
}

/* A job for this call, or NULL: refused. */
static struct tbp_capture_job *new_job(struct call *c, enum tbp_capture_kind kind) {
    struct tbp_capture_job *job = tbp_capture_job_new(c->service->worker);
    if (!job) {
        tbp_grpc_reply_fail(c->reply, TBP_GRPC_RESOURCE_EXHAUSTED, "too many requests at a time");
        return NULL;
    }
    job->kind = kind;
    job->call_id = c->grpc->id;
    return job;
}

static void queue(struct call *c, struct tbp_capture_job *job) {
    c->is_later = tbp_capture_job_queue(c->service->worker, job, c->reply);
}

static void drop_job(struct call *c, struct tbp_capture_job *job) {
    tbp_capture_job_release(c->service->worker, job);
}

/* ---- Profile ---- */

/* Where the profile goes; false: refused. */
static bool choose_place(struct call *c, struct tbp_capture_job *job) {
    const struct tbp_capture_service_config *config = &c->service->config;
    struct tbp_save_target target = {config->allowed, job->request.repository_root,
                                     job->request.session_id, job->request.host_name};
    struct tbp_error err = {0};
    if (job->request.emit_xspace || config->mode == TBP_CAPTURE_TO_CLIENT)
        return true;
    if (config->mode == TBP_CAPTURE_TO_EITHER) {
        if (c->grpc->is_local && tbp_capture_save_exists(&target) &&
            !tbp_capture_save_is_taken(&target))
            job->save = target;
        return true;
    }
    job->save = target;
    if (tbp_capture_save_check(&target, &err) != TBP_OK)
        tbp_grpc_reply_fail(c->reply, TBP_GRPC_PERMISSION_DENIED, "%s", err.message);
    else if (tbp_capture_save_is_taken(&target))
        tbp_grpc_reply_fail(c->reply, TBP_GRPC_FAILED_PRECONDITION,
                            "run '%s' has a profile of '%s' already, which is not overwritten: "
                            "ask with another session_id",
                            target.run, target.host);
    else
        return true;
    return false;
}

/* Was this run terminated before it began? */
static bool was_terminated(struct tbp_capture_service *s, const char *session_id) {
    int64_t now = tbp_monotonic_ns();
    bool was = false;
    for (size_t i = 0; i < MAX_EARLY; i++) {
        if (s->early[i].until_ns < now || strcmp(s->early[i].session_id, session_id) != 0)
            continue;
        s->early[i].until_ns = 0;
        was = true;
    }
    return was;
}

static bool read_profile(struct call *c, struct tbp_capture_job *job, bool needs_duration) {
    ProtobufCAllocator allocator = tbp_capture_allocator(&job->arena);
    struct tbp_str m = c->grpc->message;
    const Tbp__Rpc__ProfileRequest *request =
        tbp__rpc__profile_request__unpack(&allocator, m.n, (const uint8_t *)m.p);
    if (!request || tbp_capture_has_zero(m)) {
        refuse_message(c);
        return false;
    }
    return tbp_capture_request_read(&job->request, &job->arena, request, &c->service->config.policy,
                                    c->service->config.ops, needs_duration, c->reply);
}

static void profile(struct call *c) {
    struct tbp_capture_job *job = new_job(c, TBP_CAPTURE_PROFILE);
    if (!job)
        return;
    if (!read_profile(c, job, true) || !choose_place(c, job)) {
        drop_job(c, job);
        return;
    }
    job->is_ended = was_terminated(c->service, job->request.session_id);
    queue(c, job);
}

static void terminate(struct call *c) {
    struct tbp_capture_service *s = c->service;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    ProtobufCAllocator allocator = tbp_capture_allocator(&arena);
    struct tbp_str m = c->grpc->message;
    const Tbp__Rpc__TerminateRequest *request =
        tbp__rpc__terminate_request__unpack(&allocator, m.n, (const uint8_t *)m.p);
    if (!request) {
        refuse_message(c);
    } else if (!tbp_capture_is_name(tbp_str_c(request->session_id))) {
        tbp_grpc_reply_fail(c->reply, TBP_GRPC_INVALID_ARGUMENT, "session_id is no name of a run");
    } else if (!tbp_capture_terminate(s->worker, request->session_id)) {
        struct early *e = &s->early[s->next_early++ % MAX_EARLY];
        snprintf(e->session_id, sizeof e->session_id, "%s", request->session_id);
        e->until_ns = tbp_monotonic_ns() + EARLY_NS;
    }
    tbp_arena_release(&arena);
}

/* ---- the rest ---- */

static void monitor(struct call *c) {
    struct tbp_capture_job *job = new_job(c, TBP_CAPTURE_MONITOR);
    if (!job)
        return;
    const struct tbp_capture_policy *policy = &c->service->config.policy;
    ProtobufCAllocator allocator = tbp_capture_allocator(&job->arena);
    struct tbp_str m = c->grpc->message;
    const Tbp__Rpc__MonitorRequest *request =
        tbp__rpc__monitor_request__unpack(&allocator, m.n, (const uint8_t *)m.p);
    if (!request) {
        refuse_message(c);
    } else if (request->duration_ms > policy->max_duration_ms) {
        tbp_grpc_reply_fail(c->reply, TBP_GRPC_INVALID_ARGUMENT, "duration_ms is too long");
    } else {
        job->request.duration_ms = request->duration_ms ? request->duration_ms : MONITOR_MS;
        job->monitoring_level = request->monitoring_level;
        job->shows_time = request->timestamp;
        tbp_capture_monitor_options(&job->request, c->service->config.ops, job->monitoring_level);
        queue(c, job);
        return;
    }
    drop_job(c, job);
}

static void start_continuous(struct call *c) {
    struct tbp_capture_job *job = new_job(c, TBP_CAPTURE_CONTINUOUS_START);
    if (!job)
        return;
    if (read_profile(c, job, false))
        queue(c, job);
    else
        drop_job(c, job);
}

static void stop_continuous(struct call *c) {
    struct tbp_capture_job *job = new_job(c, TBP_CAPTURE_CONTINUOUS_STOP);
    if (job)
        queue(c, job);
}

static void snapshot(struct call *c) {
    struct tbp_capture_job *job = new_job(c, TBP_CAPTURE_SNAPSHOT);
    if (job)
        queue(c, job);
}

/* All the workers of a list, by one call to one of them. */
static void new_session(struct call *c) {
    const struct tbp_capture_service_config *config = &c->service->config;
    struct tbp_fan_out_config fan_out = {.allowed = config->allowed,
                                         .max_duration_ms = config->policy.max_duration_ms,
                                         .allows_remote = config->allows_remote_workers,
                                         .wake = config->wake,
                                         .ctx = config->ctx};
    c->is_later = tbp_fan_out_start(&c->service->fan_out, &fan_out, c->grpc, c->reply);
}

/* THE TABLE of methods. */
static const struct {
    const char *path;
    void (*run)(struct call *c);
} methods[] = {
    {"/tensorflow.ProfilerService/Profile", profile},
    {"/tensorflow.ProfilerService/Terminate", terminate},
    {"/tensorflow.ProfilerService/Monitor", monitor},
    {"/tensorflow.ProfilerService/StartContinuousProfiling", start_continuous},
    {"/tensorflow.ProfilerService/ContinuousProfiling", start_continuous}, /* early 2026 */
    {"/tensorflow.ProfilerService/StopContinuousProfiling", stop_continuous},
    {"/tensorflow.ProfilerService/GetSnapshot", snapshot},
    {"/tensorflow.ProfilerService/GetSnapShot", snapshot}, /* early 2026 */
    {"/tensorflow.ProfileAnalysis/NewSession", new_session},
};

void tbp_capture_service_call(void *ctx, struct tbp_grpc_conn *conn,
                              const struct tbp_grpc_call *grpc) {
    struct tbp_grpc_reply reply = {0};
    struct call c = {ctx, grpc, &reply, false};
    size_t i = 0, n = sizeof methods / sizeof *methods;
    while (i < n && !tbp_str_is(grpc->path, methods[i].path))
        i++;
    if (c.service->is_ending)
        tbp_grpc_reply_fail(&reply, TBP_GRPC_UNAVAILABLE, "the program stops this server");
    else if (i < n)
        methods[i].run(&c);
    else
        tbp_grpc_reply_fail(&reply, TBP_GRPC_UNIMPLEMENTED, "this server has no such method");
    if (!c.is_later)
        tbp_grpc_conn_reply(conn, grpc->id, &reply);
}

void tbp_capture_service_dropped(void *ctx, uint64_t call_id) {
    struct tbp_capture_service *s = ctx;
    tbp_capture_cancel(s->worker, call_id);
}

void tbp_capture_service_woken(void *ctx) {
    struct tbp_capture_service *s = ctx;
    struct tbp_capture_job *job;
    struct tbp_grpc_reply reply;
    uint64_t call_id;
    while ((job = tbp_capture_job_take(s->worker))) {
        tbp_capture_reply_of(&reply, job, s->config.ops->bytes_free);
        call_id = job->call_id;
        tbp_capture_job_release(s->worker, job);
        s->config.reply(s->config.ctx, call_id, &reply);
    }
    if (tbp_fan_out_take(&s->fan_out, &call_id, &reply))
        s->config.reply(s->config.ctx, call_id, &reply);
}

void tbp_capture_service_end(void *ctx) {
    struct tbp_capture_service *s = ctx;
    s->is_ending = true;
    tbp_capture_worker_end(s->worker);
    tbp_fan_out_cancel(s->fan_out);
}

int tbp_capture_service_new(struct tbp_capture_service **out,
                            const struct tbp_capture_service_config *config,
                            struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_capture_service *s = TBP_NEW(&arena, struct tbp_capture_service);
    s->arena = arena;
    s->config = *config;
    int status = tbp_capture_worker_new(&s->worker, config->ops, config->wake, config->ctx, err);
    *out = s;
    if (status) {
        tbp_capture_service_free(s);
        *out = NULL;
    }
    return status;
}

void tbp_capture_service_free(struct tbp_capture_service *s) {
    if (!s)
        return;
    tbp_capture_worker_free(s->worker);
    tbp_fan_out_free(s->fan_out);
    struct tbp_arena arena = s->arena;
    tbp_arena_release(&arena);
}
