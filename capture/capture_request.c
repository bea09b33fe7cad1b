/* SPDX-License-Identifier: Apache-2.0
 *
 * From ProfileRequest to options; see capture_request.h.
 */
#include "capture/capture_request.h"

#include "base/quiet_thread.h"
#include "plugin_data/rundir.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_UNPACKED_BYTES = 64 << 20, MAX_LEVEL = 9 };

/* Of valid UTF-8. */
static uint32_t next_character(struct tbp_str *s) {
    unsigned char first = (unsigned char)*s->p;
    size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t c = n == 1 ? first : first & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s->p[i] & 0x3f);
    *s = tbp_str_sub(*s, n, s->n);
    return c;
}

/* Controls, blanks but ' ', and what changes the direction of a text or has no width. */
static bool is_invisible(uint32_t c) {
    static const struct {
        uint32_t from, to;
    } ranges[] = {{0, 0x1f},          {0x7f, 0xa0},     {0xad, 0xad},     {0x61c, 0x61c},
                  {0x115f, 0x1160},   {0x1680, 0x1680}, {0x180b, 0x180e}, {0x2000, 0x200f},
                  {0x2028, 0x202f},   {0x205f, 0x206f}, {0x3000, 0x3000}, {0x3164, 0x3164},
                  {0xfe00, 0xfe0f},   {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xffff},
                  {0xe0000, 0x10ffff}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i].from && c <= ranges[i].to)
            return true;
    return false;
}

bool tbp_capture_is_name(struct tbp_str name) {
    if (name.n == 0 || name.n > TBP_CAPTURE_NAME_MAX || strchr(".- ", name.p[0]) ||
        strchr(". ", name.p[name.n - 1]) || tbp_utf8_valid_prefix(name) != name.n ||
        tbp_str_is(name, TBP_RUNDIR_ALL_HOSTS))
        return false;
    while (name.n) {
        uint32_t c = next_character(&name);
        if (is_invisible(c) || (c < 0x80 && strchr("/\\<>\"'`|?*$&;!", (int)c)))
            return false;
    }
    return true;
}

bool tbp_capture_has_zero(struct tbp_str message) {
    enum { FIRST_NAME = 5, LAST_NAME = 7 }; /* repository_root, session_id, host_name */
    struct tbp_wire w = tbp_wire_of(message.p, message.n);
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) == 1) {
        struct tbp_str text = tbp_wire_str(f.bytes);
        if (f.type == TBP_WIRE_BYTES && f.number >= FIRST_NAME && f.number <= LAST_NAME &&
            tbp_str_find(text, '\0') < text.n)
            return true;
    }
    return false;
}

/* A small message can make protobuf-c allocate many times its size: there is an end to it. */
static void *arena_alloc(void *ctx, size_t size) {
    struct tbp_arena *arena = ctx;
    if (size > MAX_UNPACKED_BYTES || arena->used_bytes > MAX_UNPACKED_BYTES - size)
        return NULL;
    return tbp_arena_alloc(arena, 1, size);
}

static void arena_free(void *ctx, void *p) {
    (void)ctx, (void)p;
}

ProtobufCAllocator tbp_capture_allocator(struct tbp_arena *arena) {
    return (ProtobufCAllocator){arena_alloc, arena_free, arena};
}

struct reading {
    struct tbp_capture_request *out;
    struct tbp_arena *arena;
    const struct tbp_capture_policy *policy;
    const struct tbp_session_ops *ops;
    struct tbp_grpc_reply *refusal;
};

/* Clients that were ever seen send session_id and host_name always; without the former nobody could
 * end the capture, nor tell its run from others. */
static bool read_name(struct reading *r, const char **out, const char *text, const char *field) {
    *out = text;
    if (tbp_capture_is_name(tbp_str_c(text)))
        return true;
    tbp_grpc_reply_fail(r->refusal, TBP_GRPC_INVALID_ARGUMENT,
                        "%s must be one visible name of a file: " TBP_CAPTURE_NAME_RULE, field);
    return false;
}

static bool read_times(struct reading *r, const Tbp__Rpc__ProfileRequest *m, bool needs_duration) {
    const Tbp__Rpc__ProfileOptions *o = m->opts;
    uint64_t duration_ms = o && o->duration_ms ? o->duration_ms : m->duration_ms;
    uint64_t start_ns = o ? o->start_timestamp_ns : 0;
    int64_t latest_ns = tbp_realtime_ns() + (int64_t)TBP_CAPTURE_MAX_DELAY_S * 1000000000;
    r->out->duration_ms = duration_ms;
    r->out->start_realtime_ns = (int64_t)start_ns;
    if (needs_duration && duration_ms == 0) {
        tbp_grpc_reply_fail(r->refusal, TBP_GRPC_INVALID_ARGUMENT, "duration_ms must be > 0");
        return false;
    }
    if (duration_ms > r->policy->max_duration_ms) {
        tbp_grpc_reply_fail(r->refusal, TBP_GRPC_INVALID_ARGUMENT,
                            "duration_ms must be at most %" PRIu64 " on this server",
                            r->policy->max_duration_ms);
        return false;
    }
    if (start_ns > (uint64_t)latest_ns) {
        tbp_grpc_reply_fail(r->refusal, TBP_GRPC_INVALID_ARGUMENT,
                            "start_timestamp_ns lies more than %d s ahead of this host's clock",
                            TBP_CAPTURE_MAX_DELAY_S);
        return false;
    }
    return true;
}

static int level(uint32_t wanted, int most) {
    return wanted > (uint32_t)most ? most : (int)wanted;
}

/* version 0: a client that sets no levels. */
static void read_levels(struct reading *r, const Tbp__Rpc__ProfileOptions *o) {
    tbprof_options *to = &r->out->options;
    if (o->version >= 1) {
        to->host_tracer_level = level(o->host_tracer_level, MAX_LEVEL);
        to->device_tracer_level = level(o->device_tracer_level, MAX_LEVEL);
        to->python_tracer_level = level(o->python_tracer_level, 2);
    }
    if (o->trace_options && (uint32_t)o->trace_options->host_traceme_filter_mask)
        to->category_mask = (uint32_t)o->trace_options->host_traceme_filter_mask;
    to->raise_error_on_start_failure = o->raise_error_on_start_failure;
    if (to->python_tracer_level > 0 && !r->policy->allows_python_tracer) {
        to->python_tracer_level = 0;
        r->out->warning = "Python calls were asked for but not recorded: the server was started "
                          "without leave for the Python tracer";
    }
}

/* Keys that a client may set: what is recorded, not where and how much. */
static const char *const settable[] = {
    "host_tracer_level", "device_tracer_level", "rss_period_ms", "sync_gpu",
    "record_shapes",     "category_mask",       "memory_mode",
};
/* Keys of other producers' tracers, which mean nothing here. */
static const char *const foreign[] = {"tpu_",          "gpu_",    "tracemark_", "enable_",
                                      "override_host", "python_", "num_chips"};

static bool is_settable(const char *key) {
    for (size_t i = 0; i < sizeof settable / sizeof *settable; i++) {
        if (strcmp(settable[i], key) == 0)
            return true;
    }
    return false;
}

static bool is_foreign(const char *key) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (tbp_str_starts(tbp_str_c(key), foreign[i]))
            return true;
    }
    return false;
}

static const char *advanced_text(struct tbp_arena *arena, const Tbp__Rpc__AdvancedValue *v) {
    switch (v ? v->value_case : TBP__RPC__ADVANCED_VALUE__VALUE__NOT_SET) {
    case TBP__RPC__ADVANCED_VALUE__VALUE_STRING_VALUE:
        return v->string_value;
    case TBP__RPC__ADVANCED_VALUE__VALUE_BOOL_VALUE:
        return v->bool_value ? "1" : "0";
    case TBP__RPC__ADVANCED_VALUE__VALUE_INT64_VALUE:
        return tbp_arena_printf(arena, "%" PRId64, v->int64_value);
    default:
        return "";
    }
}

static bool read_advanced(struct reading *r, const Tbp__Rpc__ProfileOptions *o) {
    for (size_t i = 0; i < o->n_advanced_configuration; i++) {
        const char *key = o->advanced_configuration[i]->key;
        const char *value = advanced_text(r->arena, o->advanced_configuration[i]->value);
        if (is_settable(key)) {
            tbprof_status status = r->ops->options_set(&r->out->options, key, value);
            if (status == TBPROF_OK)
                continue;
            tbp_grpc_reply_fail(r->refusal, (int)status, "advanced_configuration: %s",
                                r->ops->last_error());
            return false;
        }
        if (!is_foreign(key)) {
            tbp_grpc_reply_fail(r->refusal, TBP_GRPC_INVALID_ARGUMENT,
                                "advanced_configuration: unknown key '%.100s'", key);
            return false;
        }
    }
    return true;
}

/* Times are kept by the server's worker, not by the session. */
static void first_options(tbprof_options *o, const struct tbp_session_ops *ops) {
    ops->options_init(o);
    o->delay_ms = o->start_paused = o->convert = 0;
    o->duration_ms = o->start_timestamp_ns = 0;
    o->session_id = NULL;
}

void tbp_capture_monitor_options(struct tbp_capture_request *request,
                                 const struct tbp_session_ops *ops, int monitoring_level) {
    first_options(&request->options, ops);
    request->options.device_tracer_level = monitoring_level >= 2;
    request->options.python_tracer_level = request->options.memory_mode = 0;
}

bool tbp_capture_request_read(struct tbp_capture_request *out, struct tbp_arena *arena,
                              const Tbp__Rpc__ProfileRequest *message,
                              const struct tbp_capture_policy *policy,
                              const struct tbp_session_ops *ops, bool needs_duration,
                              struct tbp_grpc_reply *refusal) {
    struct reading r = {out, arena, policy, ops, refusal};
    *out = (struct tbp_capture_request){.repository_root = message->repository_root,
                                        .emit_xspace = message->emit_xspace};
    first_options(&out->options, ops);
    if (message->max_events) /* else as the environment says */
        out->options.max_events = message->max_events;
    if (!read_times(&r, message, needs_duration) ||
        !read_name(&r, &out->session_id, message->session_id, "session_id") ||
        !read_name(&r, &out->host_name, message->host_name, "host_name"))
        return false;
    const Tbp__Rpc__ProfileOptions *o = message->opts;
    if (!o)
        return true;
    if (*o->override_hostname &&
        !read_name(&r, &out->options.override_hostname, o->override_hostname, "override_hostname"))
        return false;
    read_levels(&r, o);
    return read_advanced(&r, o);
}
