/* SPDX-License-Identifier: Apache-2.0
 *
 * The sampling server over a made-up session, for tests of what no real session does at will:
 *
 *     stand_in_server PORT [key=value …]
 *
 * bytes=N   size of each profile (default 1000; 0: a profile without events)
 * start=N   status with which a session refuses to start
 * mode=client|server|auto, root=DIR, token=TEXT, bind=ADDRESS, peers=RANGES, python=1
 * error=TEXT, warning=TEXT  inside the profile
 * Prints the port when it serves, and "recording" whenever a session starts; ends when standard
 * input does.
 */
#include "capture/capture_service.h"
#include "capture/grpc_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    size_t bytes;
    int start;
    const char *error, *warning;
    uint32_t generation;
    bool is_running;
} session = {.bytes = 1000};

struct stand_in {
    struct tbp_grpc_server *grpc;
};

static void options_init(tbprof_options *options) {
    *options = (tbprof_options){.struct_size = sizeof *options, .host_tracer_level = 2};
}

static tbprof_status options_set(tbprof_options *options, const char *key, const char *value) {
    (void)options, (void)key, (void)value;
    return TBPROF_OK;
}

static tbprof_status start(const char *logdir, const tbprof_options *options) {
    (void)logdir, (void)options;
    if (session.start)
        return (tbprof_status)session.start;
    session.generation++;
    session.is_running = true;
    puts("recording");
    fflush(stdout);
    return TBPROF_OK;
}

static tbprof_status pause_session(void) {
    return session.is_running ? TBPROF_OK : TBPROF_UNAVAILABLE;
}

static tbprof_status stop(int save) {
    (void)save;
    session.is_running = false;
    return TBPROF_OK;
}

/* One step of 1 ms, and a name that is as long as the profile shall be large. */
static tbprof_status collect(uint8_t **bytes, size_t *size_bytes) {
    struct tbp_wire_out o = {0};
    size_t mark = tbp_wire_begin(&o, 1), line;
    tbp_wire_put_str(&o, 2, TBP_STR("/host:CPU"));
    size_t stat = tbp_wire_begin(&o, 5), value;
    tbp_wire_put_u64(&o, 1, 7);
    value = tbp_wire_begin(&o, 2);
    tbp_wire_put_u64(&o, 1, 7);
    tbp_wire_put_str(&o, 2, TBP_STR("step_num"));
    tbp_wire_end(&o, value);
    tbp_wire_end(&o, stat);
    line = tbp_wire_begin(&o, 3);
    for (int i = 0; i < 1 && session.bytes; i++) {
        size_t event = tbp_wire_begin(&o, 4);
        tbp_wire_put_u64(&o, 1, 1);
        tbp_wire_put_u64(&o, 3, 1000000000);
        value = tbp_wire_begin(&o, 4);
        tbp_wire_put_u64(&o, 1, 7);
        tbp_wire_put_u64(&o, 4, 3);
        tbp_wire_end(&o, value);
        tbp_wire_end(&o, event);
    }
    tbp_wire_end(&o, line);
    tbp_wire_end(&o, mark);
    if (session.error)
        tbp_wire_put_str(&o, 2, tbp_str_c(session.error));
    if (session.warning)
        tbp_wire_put_str(&o, 3, tbp_str_c(session.warning));
    if (session.bytes > o.n + 16) {
        char *name = calloc(1, session.bytes);
        memset(name, 'x', session.bytes - o.n - 6);
        tbp_wire_put_bytes(&o, 4, name, session.bytes - o.n - 6);
        free(name);
    }
    *bytes = o.at;
    *size_bytes = o.n;
    return TBPROF_OK;
}

static void bytes_free(uint8_t *bytes) {
    free(bytes);
}

static tbprof_status stats(tbprof_counts *counts) {
    *counts = (tbprof_counts){.struct_size = sizeof *counts, .records = 2};
    return TBPROF_OK;
}

static void warn(const char *text) {
    fprintf(stderr, "warning: %s\n", text);
}

static const char *last_error(void) {
    return "as the test wants it";
}

static uint32_t generation(void) {
    return session.generation;
}

static const struct tbp_session_ops ops = {options_init, options_set, start,      pause_session,
                                           stop,         collect,     bytes_free, stats,
                                           warn,         last_error,  generation, NULL};

static void wake(void *ctx) {
    struct stand_in *s = ctx;
    tbp_grpc_server_wake(s->grpc);
}

static void reply(void *ctx, uint64_t call_id, struct tbp_grpc_reply *message) {
    struct stand_in *s = ctx;
    tbp_grpc_server_reply(s->grpc, call_id, message);
}

/* The value of key=value, or NULL. */
static const char *option(char **args, int n, const char *key) {
    size_t size = strlen(key);
    for (int i = 2; i < n; i++) {
        if (strncmp(args[i], key, size) == 0 && args[i][size] == '=')
            return args[i] + size + 1;
    }
    return NULL;
}

static int serve(struct stand_in *s, struct tbp_arena *arena, char **argv, int argc,
                 struct tbp_error *err) {
    const char *mode = option(argv, argc, "mode"), *peers = option(argv, argc, "peers");
    struct tbp_capture_service *service;
    struct tbp_capture_service_config config = {
        .ops = &ops,
        .policy = {600000, option(argv, argc, "python") != NULL},
        .mode = mode && strcmp(mode, "server") == 0 ? TBP_CAPTURE_TO_DISK
                : mode && strcmp(mode, "auto") == 0 ? TBP_CAPTURE_TO_EITHER
                                                    : TBP_CAPTURE_TO_CLIENT,
        .allowed = option(argv, argc, "root"),
        .wake = wake,
        .reply = reply,
        .ctx = s,
    };
    int status = tbp_capture_service_new(&service, &config, err);
    struct tbp_grpc_server_config grpc = {.bind = option(argv, argc, "bind"),
                                          .port = (uint16_t)strtoul(argv[1], NULL, 10),
                                          .service = {tbp_capture_service_call,
                                                      tbp_capture_service_dropped, service,
                                                      option(argv, argc, "token")},
                                          .woken = tbp_capture_service_woken,
                                          .stopping = tbp_capture_service_end};
    if (!status && peers)
        status = tbp_peer_ranges_parse(&grpc.allowed, arena, tbp_str_c(peers), err);
    if (!status)
        status = tbp_grpc_server_new(&s->grpc, &grpc, err);
    if (!status)
        status = tbp_grpc_server_run(s->grpc, err);
    if (status)
        return status;
    printf("%u\n", tbp_grpc_server_port(s->grpc));
    fflush(stdout);
    while (getchar() != EOF)
        ;
    tbp_grpc_server_stop(s->grpc);
    tbp_capture_service_free(service);
    tbp_grpc_server_free(s->grpc);
    return TBP_OK;
}

int main(int argc, char **argv) {
    struct tbp_error err = {0};
    struct tbp_arena arena;
    struct stand_in s = {0};
    char text[512];
    tbp_arena_init(&arena);
    if (argc < 2)
        return 2;
    const char *bytes = option(argv, argc, "bytes"), *refuse = option(argv, argc, "start");
    session.bytes = bytes ? strtoull(bytes, NULL, 10) : session.bytes;
    session.start = refuse ? (int)strtol(refuse, NULL, 10) : 0;
    session.error = option(argv, argc, "error");
    session.warning = option(argv, argc, "warning");
    int status = serve(&s, &arena, argv, argc, &err);
    if (status)
        fprintf(stderr, "%s\n", tbp_error_text(&err, text, sizeof text));
    tbp_arena_release(&arena);
    return status != 0;
}
