/* SPDX-License-Identifier: Apache-2.0
 *
 * One call for all workers; see capture_fan_out.h.
 */
#include "capture/capture_fan_out.h"

#include "base/guard.h"
#include "base/quiet_thread.h"
#include "capture/capture_client.h"
#include "capture/capture_request.h"
#include "capture/capture_save.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_WORKERS = 64, ATTEMPTS = 3 };

struct tbp_fan_out {
    struct tbp_arena arena; /* holds this struct */
    struct tbp_fan_out_config config;
    pthread_t thread;
    atomic_bool cancel, is_over;
    uint64_t call_id;
    struct tbp_capture_plan plan;
    struct tbp_save_target save; /* host is set for each file */
    struct tbp_grpc_reply reply;
};

static int store(void *ctx, const char *host, const char *suffix, struct tbp_str bytes,
                 struct tbp_error *err) {
    struct tbp_fan_out *f = ctx;
    struct tbp_save_target target = f->save;
    target.host = host;
    if (strcmp(suffix, "xplane.pb") != 0)
        return TBP_OK;
    return tbp_capture_save(&target, bytes.p, bytes.n, err);
}

/* error_message is one text for all workers that failed. */
static void answer(struct tbp_fan_out *f, const struct tbp_capture_outcome *outcome) {
    bool any_idle = false;
    const char *text = "";
    for (size_t i = 0; i < outcome->n_hosts; i++) {
        const struct tbp_capture_host *h = &outcome->hosts[i];
        any_idle = any_idle || h->result == TBP_CAPTURE_IDLE;
        if (h->result != TBP_CAPTURE_SAVED && h->result != TBP_CAPTURE_IDLE)
            text = tbp_arena_printf(&f->arena, "%s%s%s: %s", text, *text ? "; " : "",
                                    h->target.text, h->text);
    }
    if (*text)
        tbp_wire_put_str(&f->reply.head, 1, tbp_str_c(text));
    if (outcome->n_saved == 0 && any_idle)
        tbp_wire_put_u64(&f->reply.head, 2, 1);
}

static int trace(void *ctx, struct tbp_error *err) {
    struct tbp_fan_out *f = ctx;
    struct tbp_capture_outcome outcome;
    int status = tbp_capture_trace(&f->plan, &f->arena, &outcome, err);
    if (!status)
        answer(f, &outcome);
    return status;
}

static void *run(void *ctx) {
    struct tbp_fan_out *f = ctx;
    struct tbp_error err = {0};
    if (tbp_guard_run(trace, f, &err) != TBP_OK)
        tbp_grpc_reply_fail(&f->reply, TBP_GRPC_INTERNAL, "%s", err.message);
    atomic_store(&f->is_over, true);
    f->config.wake(f->config.ctx);
    return NULL;
}

/* ---- reading the request ---- */

static bool is_this_machine(const struct tbp_target *target) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (target->is_unix)
        return false;
    if (strcmp(target->host, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, target->host, &v4.sin_addr) == 1)
        return tbp_peer_is_loopback((struct sockaddr *)&v4);
    return inet_pton(AF_INET6, target->host, &v6.sin6_addr) == 1 &&
           tbp_peer_is_loopback((struct sockaddr *)&v6);
}

static bool read_hosts(struct tbp_fan_out *f, const Tbp__Rpc__NewProfileSessionRequest *m) {
    struct tbp_error err = {0};
    struct tbp_targets *targets = &f->plan.targets;
    if (m->n_hosts == 0 || m->n_hosts > MAX_WORKERS) {
        tbp_grpc_reply_fail(&f->reply, TBP_GRPC_INVALID_ARGUMENT, "give 1 to %d hosts",
                            MAX_WORKERS);
        return false;
    }
    targets->at = TBP_NEW_N(&f->arena, struct tbp_target, m->n_hosts);
    for (targets->n = 0; targets->n < m->n_hosts; targets->n++) {
        struct tbp_target *target = &targets->at[targets->n];
        if (tbp_target_parse(target, &f->arena, tbp_str_c(m->hosts[targets->n]), &err) != TBP_OK) {
            tbp_grpc_reply_fail(&f->reply, TBP_GRPC_INVALID_ARGUMENT, "%s", err.message);
            return false;
        }
        if (!f->config.allows_remote && !is_this_machine(target)) {
            tbp_grpc_reply_fail(&f->reply, TBP_GRPC_PERMISSION_DENIED,
                                "this server asks workers of its own machine only");
            return false;
        }
    }
    if (tbp_targets_check(targets, &err) == TBP_OK)
        return true;
    tbp_grpc_reply_fail(&f->reply, TBP_GRPC_INVALID_ARGUMENT, "%s", err.message);
    return false;
}

static bool read_plan(struct tbp_fan_out *f, const Tbp__Rpc__NewProfileSessionRequest *m) {
    const Tbp__Rpc__ProfileRequest *r = m->request;
    const Tbp__Rpc__ProfileOptions *o = r ? r->opts : NULL;
    struct tbp_error err = {0};
    uint64_t now_ns = (uint64_t)tbp_realtime_ns();
    f->plan.duration_ms = o && o->duration_ms ? o->duration_ms : r ? r->duration_ms : 0;
    if (f->plan.duration_ms == 0 || f->plan.duration_ms > f->config.max_duration_ms) {
        tbp_grpc_reply_fail(&f->reply, TBP_GRPC_INVALID_ARGUMENT, "duration_ms is 0 or too long");
        return false;
    }
    if (o && o->start_timestamp_ns > now_ns) {
        f->plan.delay_ms = (o->start_timestamp_ns - now_ns) / 1000000;
        f->plan.delay_ms = f->plan.delay_ms > 600000 ? 600000 : f->plan.delay_ms;
    }
    f->plan.host_level = o ? o->host_tracer_level : 2;
    f->plan.device_level = o ? o->device_tracer_level : 1;
    f->plan.python_level = o ? o->python_tracer_level : 0;
    f->plan.session_id = m->session_id;
    f->plan.logdir = m->repository_root;
    f->save = (struct tbp_save_target){f->config.allowed, m->repository_root, m->session_id, "x"};
    if (tbp_capture_save_check(&f->save, &err) == TBP_OK)
        return true;
    tbp_grpc_reply_fail(&f->reply, TBP_GRPC_PERMISSION_DENIED, "%s", err.message);
    return false;
}

static bool read_request(struct tbp_fan_out *f, struct tbp_str message) {
    ProtobufCAllocator allocator = tbp_capture_allocator(&f->arena);
    const Tbp__Rpc__NewProfileSessionRequest *m = tbp__rpc__new_profile_session_request__unpack(
        &allocator, message.n, (const uint8_t *)message.p);
    if (!m) {
        tbp_grpc_reply_fail(&f->reply, TBP_GRPC_INVALID_ARGUMENT,
                            "the request is no message of this method");
        return false;
    }
    return read_hosts(f, m) && read_plan(f, m);
}

bool tbp_fan_out_start(struct tbp_fan_out **slot, const struct tbp_fan_out_config *config,
                       const struct tbp_grpc_call *call, struct tbp_grpc_reply *reply) {
    struct tbp_arena arena;
    struct tbp_error err = {0};
    if (*slot) {
        tbp_grpc_reply_fail(reply, TBP_GRPC_ALREADY_EXISTS, "another NewSession is running");
        return false;
    }
    tbp_arena_init(&arena);
    struct tbp_fan_out *f = TBP_NEW(&arena, struct tbp_fan_out);
    f->arena = arena;
    f->config = *config;
    f->call_id = call->id;
    f->plan.attempts = ATTEMPTS;
    f->plan.store = store;
    f->plan.ctx = f;
    f->plan.cancel = &f->cancel;
    bool may = read_request(f, call->message);
    if (may && tbp_quiet_thread(&f->thread, "tbprof-fan-out", run, f, &err) != TBP_OK) {
        tbp_grpc_reply_fail(&f->reply, TBP_GRPC_RESOURCE_EXHAUSTED, "%s", err.message);
        may = false;
    }
    if (may) {
        *slot = f;
        return true;
    }
    *reply = f->reply;
    arena = f->arena;
    tbp_arena_release(&arena);
    return false;
}

bool tbp_fan_out_take(struct tbp_fan_out **slot, uint64_t *call_id, struct tbp_grpc_reply *reply) {
    struct tbp_fan_out *f = *slot;
    if (!f || !atomic_load(&f->is_over))
        return false;
    *call_id = f->call_id;
    *reply = f->reply;
    f->reply = (struct tbp_grpc_reply){0};
    *slot = NULL;
    tbp_fan_out_free(f);
    return true;
}

void tbp_fan_out_cancel(struct tbp_fan_out *f) {
    if (f)
        atomic_store(&f->cancel, true);
}

void tbp_fan_out_free(struct tbp_fan_out *f) {
    if (!f)
        return;
    tbp_fan_out_cancel(f);
    pthread_join(f->thread, NULL);
    tbp_grpc_reply_release(&f->reply);
    struct tbp_arena arena = f->arena;
    tbp_arena_release(&arena);
}
