/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls of the sampling server: options, start, stop, what a fork leaves behind. Joins
 * the server's socket side (grpc_server.h) with the service (capture_service.h) and the session.
 */
#include "capture/server_api.h"

#include "base/log.h"
#include "capture/capture_service.h"
#include "capture/grpc_server.h"
#include "capture/last_error.h"
#include "capture/server_sockets.h"
#include "capture/state.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SERVERS = 8, MAX_DURATION_MS = 600000, DAY_MS = 86400000, MAX_TOKEN = 200 };

struct tbprof_server {
    struct tbp_arena arena; /* holds this struct */
    struct tbp_grpc_server *grpc;
    struct tbp_capture_service *service;
};

/* Those of this process, for the child of a fork: it shares their sockets, but has no thread of
 * theirs. */
static struct {
    pthread_mutex_t lock;
    tbprof_server *at[MAX_SERVERS];
} servers = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the session ---- */

static uint32_t generation(void) {
    return tbp_state_generation(tbp_state_load());
}

static tbprof_python_tracer *python_tracer; /* atomic */

void tbprof_server_python_tracer(tbprof_python_tracer *tracer) {
    __atomic_store_n(&python_tracer, tracer, __ATOMIC_RELEASE);
}

static void trace_python(int level) {
    tbprof_python_tracer *tracer = __atomic_load_n(&python_tracer, __ATOMIC_ACQUIRE);
    if (tracer)
        tracer(level);
    else if (level)
        tbprof_warn(
            "Python calls were asked for but not recorded: the program is none of Python's");
}

static const struct tbp_session_ops session_ops = {
    .options_init = tbprof_options_init,
    .options_set = tbprof_options_set,
    .start = tbprof_start,
    .pause = tbprof_pause,
    .stop = tbprof_stop,
    .collect = tbprof_collect,
    .bytes_free = tbprof_bytes_free,
    .stats = tbprof_stats,
    .warn = tbprof_warn,
    .last_error = tbprof_last_error,
    .generation = generation,
    .trace_python = trace_python,
};

/* ---- fork ---- */

static void before_fork(void) {
    pthread_mutex_lock(&servers.lock);
}

static void after_fork_in_parent(void) {
    pthread_mutex_unlock(&servers.lock);
}

static void after_fork_in_child(void) {
    pthread_mutex_init(&servers.lock, NULL);
    for (size_t i = 0; i < MAX_SERVERS; i++) {
        if (servers.at[i])
            tbp_grpc_server_forget(servers.at[i]->grpc);
        servers.at[i] = NULL;
    }
}

/* Puts `to` in place of `from` (NULL: a free place); false: there is none. */
static bool replace_server(tbprof_server *from, tbprof_server *to) {
    bool found = false;
    pthread_mutex_lock(&servers.lock);
    for (size_t i = 0; i < MAX_SERVERS && !found; i++) {
        found = servers.at[i] == from;
        if (found)
            servers.at[i] = to;
    }
    pthread_mutex_unlock(&servers.lock);
    return found;
}

/* Of a program that ends and has not stopped its servers. Captures that run are answered; their
 * threads are not joined: an interpreter that has ended may have left them without theirs. */
static void at_exit(void) {
    for (size_t i = 0; i < MAX_SERVERS; i++) {
        tbprof_server *s = servers.at[i];
        if (s && replace_server(s, NULL))
            tbp_grpc_server_stop(s->grpc);
    }
}

static void set_handlers(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    atexit(at_exit);
}

/* ---- options ---- */

/* NULL: not set. */
static const char *env_text(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static uint64_t env_number(const char *name, uint64_t otherwise) {
    uint64_t n = otherwise;
    const char *value = env_text(name);
    if (value && !tbp_str_to_u64(tbp_str_c(value), &n))
        tbp_log(TBP_LOG_WARNING, "profiler server: %s='%.40s' is no number and is ignored", name,
                value);
    return n;
}

static int env_mode(void) {
    static const char *const modes[] = {"client", "server", "auto"}; /* by tbprof_server_mode */
    const char *value = env_text("TBPROF_SERVER_MODE");
    for (int i = 0; value && i < 3; i++)
        if (strcmp(value, modes[i]) == 0)
            return i;
    if (value)
        tbp_log(TBP_LOG_WARNING,
                "profiler server: TBPROF_SERVER_MODE='%.40s' is none of client, server, auto and "
                "is ignored",
                value);
    return TBPROF_SERVER_TO_CLIENT;
}

void tbprof_server_options_init(tbprof_server_options *o) {
    *o = (tbprof_server_options){
        .struct_size = sizeof *o,
        .bind = env_text("TBPROF_SERVER_BIND"),
        .mode = env_mode(),
        .allow_root = env_text("TBPROF_SERVER_ALLOW_ROOT"),
        .allow_peers = env_text("TBPROF_SERVER_ALLOW_PEERS"),
        .token = env_text("TBPROF_SERVER_TOKEN"),
        .max_duration_ms = env_number("TBPROF_SERVER_MAX_DURATION_MS", MAX_DURATION_MS),
        .allow_python_tracer = (int)env_number("TBPROF_SERVER_ALLOW_PYTHON_TRACER", 0),
        .allow_remote_workers = (int)env_number("TBPROF_SERVER_ALLOW_REMOTE_WORKERS", 0),
    };
}

static const char *kept(tbprof_server *s, const char *text) {
    return text && *text ? tbp_arena_printf(&s->arena, "%s", text) : NULL;
}

/* Each folder as it is called and as it is really called, so that both may be asked for. */
static const char *allowed_roots(tbprof_server *s, const char *list) {
    struct tbp_str all = tbp_str_c(list ? list : "");
    const char *roots = "";
    while (all.n) {
        char real[PATH_MAX];
        size_t colon = tbp_str_find(all, ':');
        const char *one = tbp_arena_str(&s->arena, tbp_str_sub(all, 0, colon)).p;
        all = tbp_str_sub(all, colon < all.n ? colon + 1 : colon, all.n);
        if (*one && !realpath(one, real))
            tbp_log(TBP_LOG_WARNING, "profiler server: nothing is written to '%.400s': %s", one,
                    strerror(errno));
        else if (*one)
            roots = tbp_arena_printf(&s->arena, "%s%s%s:%s", roots, *roots ? ":" : "", one, real);
    }
    return *roots ? roots : NULL;
}

/* What travels in a header, and is something to know. */
static bool is_token(const char *token) {
    size_t n = strlen(token);
    for (size_t i = 0; i < n; i++)
        if (token[i] <= ' ' || token[i] > '~')
            return false;
    return n > 0 && n <= MAX_TOKEN;
}

static int check_options(int port, const tbprof_server_options *o, struct tbp_error *err) {
    if (port < 0 || port > 65535)
        return tbp_fail(err, TBP_E_OPTION,
                        "starting the server failed: port %d is not within 0 (a free one) to 65535",
                        port);
    if (o->mode < TBPROF_SERVER_TO_CLIENT || o->mode > TBPROF_SERVER_AUTO)
        return tbp_fail(err, TBP_E_OPTION, "starting the server failed: there is no mode %d",
                        o->mode);
    if (o->max_duration_ms == 0 || o->max_duration_ms > DAY_MS)
        return tbp_fail(err, TBP_E_OPTION,
                        "starting the server failed: max_duration_ms is not within 1 to %d (a day)",
                        DAY_MS);
    if (o->token && !is_token(o->token)) /* an empty one would let everybody in */
        return tbp_fail(err, TBP_E_OPTION,
                        "starting the server failed: a token has 1 to %d visible ASCII characters",
                        MAX_TOKEN);
    return tbp_server_check_bind(o->bind, err);
}

/* ---- start and stop ---- */

static void wake(void *ctx) {
    tbprof_server *s = ctx;
    tbp_grpc_server_wake(s->grpc);
}

static void reply(void *ctx, uint64_t call_id, struct tbp_grpc_reply *message) {
    tbprof_server *s = ctx;
    tbp_grpc_server_reply(s->grpc, call_id, message);
}

static int check_peers(struct tbp_grpc_server_config *config, tbprof_server *s,
                       const tbprof_server_options *o, struct tbp_error *err) {
    int status = TBP_OK;
    if (o->allow_peers && *o->allow_peers)
        status = tbp_peer_ranges_parse(&config->allowed, &s->arena, tbp_str_c(o->allow_peers), err);
    if (status || !tbp_server_is_open(config->bind))
        return status;
    if (config->allowed.n == 0 && !config->service.token)
        return tbp_fail(err, TBP_E_USAGE,
                        "starting the server failed: other machines can reach '%s': say which may "
                        "(allow_peers), or set a token",
                        config->bind);
    tbp_log(TBP_LOG_WARNING, "profiler server: other machines can reach '%s', unencrypted",
            config->bind);
    return TBP_OK;
}

static int start_parts(tbprof_server *s, uint16_t port, const tbprof_server_options *o,
                       struct tbp_error *err) {
    struct tbp_capture_service_config service = {
        .ops = &session_ops,
        .policy = {o->max_duration_ms, o->allow_python_tracer != 0},
        .mode = (enum tbp_capture_mode)o->mode,
        .allowed = allowed_roots(s, o->allow_root),
        .allows_remote_workers = o->allow_remote_workers != 0,
        .wake = wake,
        .reply = reply,
        .ctx = s,
    };
    struct tbp_grpc_server_config grpc = {.bind = kept(s, o->bind),
                                          .port = port,
                                          .woken = tbp_capture_service_woken,
                                          .stopping = tbp_capture_service_end};
    grpc.service = (struct tbp_grpc_service){.call = tbp_capture_service_call,
                                             .dropped = tbp_capture_service_dropped,
                                             .token = kept(s, o->token)};
    int status = check_peers(&grpc, s, o, err);
    if (!status)
        status = tbp_capture_service_new(&s->service, &service, err);
    grpc.service.ctx = s->service;
    if (!status)
        status = tbp_grpc_server_new(&s->grpc, &grpc, err);
    return status ? status : tbp_grpc_server_run(s->grpc, err);
}

static void free_server(tbprof_server *s) {
    if (s->grpc)
        tbp_grpc_server_stop(s->grpc);
    tbp_capture_service_free(s->service); /* its worker may still wake the former */
    tbp_grpc_server_free(s->grpc);
    struct tbp_arena arena = s->arena;
    tbp_arena_release(&arena);
}

tbprof_status tbprof_server_start(int port, const tbprof_server_options *options,
                                  tbprof_server **server) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    tbprof_server_options o;
    struct tbp_error err = {0};
    struct tbp_arena arena;
    *server = NULL;
    tbprof_server_options_init(&o);
    size_t size = options ? options->struct_size : 0;
    if (options && (size < sizeof(size_t) || size > 4096))
        return tbp_last_error_set(TBPROF_INVALID_ARGUMENT,
                                  "options were not made by tbprof_server_options_init");
    if (options)
        memcpy(&o, options, size < sizeof o ? size : sizeof o);
    if (check_options(port, &o, &err) != TBP_OK)
        return tbp_last_error_from(&err);
    pthread_once(&once, set_handlers);
    tbp_arena_init(&arena);
    tbprof_server *s = TBP_NEW(&arena, tbprof_server);
    s->arena = arena;
    int status = start_parts(s, (uint16_t)port, &o, &err);
    if (!status && !replace_server(NULL, s))
        status = tbp_fail(&err, TBP_E_LIMIT, "starting the server failed: there are %d already",
                          MAX_SERVERS);
    if (status) {
        free_server(s);
        return tbp_last_error_from(&err);
    }
    *server = s;
    return TBPROF_OK;
}

int tbprof_server_port(const tbprof_server *server) {
    return tbp_grpc_server_port(server->grpc);
}

void tbprof_server_stop(tbprof_server *server) {
    if (server && replace_server(server, NULL)) /* not there: inherited by a fork */
        free_server(server);
}

void tbp_server_autostart(void) {
    tbprof_server *server;
    uint64_t port;
    const char *value = getenv("TBPROF_SERVER");
    if (!value || !*value)
        return;
    if (!tbp_str_to_u64(tbp_str_c(value), &port) || port > 65535)
        tbp_log(TBP_LOG_WARNING, "no profiler server: TBPROF_SERVER='%.40s' is no port", value);
    else if (tbprof_server_start((int)port, NULL, &server) != TBPROF_OK) /* as of a shell's child */
        tbp_log(TBP_LOG_WARNING, "no profiler server in process %ld ('%.40s'): %s", (long)getpid(),
                program_invocation_short_name, tbprof_last_error());
}
