/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target of all that a stranger can send to the sampling server: frames and header blocks
 * through a connection in pieces of any size with a clock that jumps, and requests through the
 * reader of every method. Invariants: every call is answered or dropped, every answer is freed.
 *
 * The first byte of the input chooses: bit 0 a connection (else a request message), bit 1 answers
 * come late, bits 2-3 the size of the pieces, bit 4 the preface is the input's own.
 */
#include "capture/capture_request.h"
#include "capture/capture_scan.h"
#include "capture/grpc_conn.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

struct state {
    bool is_late;
    uint64_t waiting[64];
    size_t n_waiting, n_calls, n_dropped, n_answered, n_made, n_freed;
};
static struct state *now_served; /* for big_free, which has no context */

static void options_init(tbprof_options *options) {
    *options = (tbprof_options){.struct_size = sizeof *options, .host_tracer_level = 2};
}

static tbprof_status options_set(tbprof_options *options, const char *key, const char *value) {
    (void)options, (void)key;
    return strlen(value) % 2 ? TBPROF_INVALID_ARGUMENT : TBPROF_OK;
}

static const char *last_error(void) {
    return "an error";
}

static void read_request(struct tbp_str message, struct tbp_grpc_reply *refusal) {
    static const struct tbp_session_ops ops = {
        .options_init = options_init, .options_set = options_set, .last_error = last_error};
    static const struct tbp_capture_policy policy = {600000, false};
    struct tbp_capture_request request;
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    ProtobufCAllocator allocator = tbp_capture_allocator(&arena);
    const Tbp__Rpc__ProfileRequest *m =
        tbp__rpc__profile_request__unpack(&allocator, message.n, (const uint8_t *)message.p);
    if (m && !tbp_capture_has_zero(message) &&
        tbp_capture_request_read(&request, &arena, m, &policy, &ops, true, refusal) &&
        (request.duration_ms == 0 || request.options.python_tracer_level != 0 ||
         !tbp_capture_is_name(tbp_str_c(request.session_id))))
        abort();
    tbp_arena_release(&arena);
}

static void big_free(uint8_t *big) {
    now_served->n_freed++;
    free(big);
}

static void answer(struct state *s, struct tbp_grpc_conn *conn, uint64_t id) {
    struct tbp_grpc_reply reply = {0};
    reply.big_n = 100000;
    reply.big = calloc(1, reply.big_n);
    reply.big_free = big_free;
    s->n_made++;
    tbp_grpc_conn_reply(conn, id, &reply);
}

static void on_call(void *ctx, struct tbp_grpc_conn *conn, const struct tbp_grpc_call *call) {
    struct state *s = ctx;
    struct tbp_grpc_reply refusal = {0};
    s->n_calls++;
    read_request(call->message, &refusal);
    tbp_grpc_reply_release(&refusal);
    if (s->is_late && s->n_waiting < 64)
        s->waiting[s->n_waiting++] = call->id;
    else
        answer(s, conn, call->id);
}

static void on_dropped(void *ctx, uint64_t id) {
    struct state *s = ctx;
    (void)id;
    s->n_dropped++;
}

/* False: the connection is over. */
static bool drain(struct tbp_grpc_conn *conn, int64_t now_ns) {
    const uint8_t *p;
    size_t n;
    do {
        if (tbp_grpc_conn_output(conn, &p, &n, now_ns, NULL) != TBP_OK)
            return false;
    } while (n);
    return !tbp_grpc_conn_is_done(conn);
}

static void fuzz_conn(const uint8_t *data, size_t size, unsigned how) {
    struct state s = {.is_late = how & 2};
    struct tbp_grpc_service service = {.call = on_call, .dropped = on_dropped, .ctx = &s};
    struct tbp_grpc_conn *conn;
    static const size_t pieces[] = {1, 9, 64, 65536};
    size_t piece = pieces[how >> 2 & 3];
    int64_t now = 1000000000;
    now_served = &s;
    if (tbp_grpc_conn_new(&conn, &service, 1, true, now, NULL) != TBP_OK)
        abort();
    if (!(how & 16))
        tbp_grpc_conn_input(conn, (const uint8_t *)preface, 24, now, NULL);
    bool goes_on = drain(conn, now);
    while (size && goes_on) {
        size_t n = piece < size ? piece : size;
        goes_on = tbp_grpc_conn_input(conn, data, n, now, NULL) == TBP_OK;
        now += (int64_t)(data[0] & 15) * 100000000;
        data += n;
        size -= n;
        goes_on = goes_on && tbp_grpc_conn_tick(conn, now, NULL) == TBP_OK;
        goes_on = drain(conn, now) && goes_on;
        if (s.n_waiting && (data[-1] & 1))
            answer(&s, conn, s.waiting[--s.n_waiting]);
    }
    tbp_grpc_conn_free(conn);
    if (s.n_made != s.n_freed || s.n_dropped > s.n_calls)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tbp_grpc_reply refusal = {0};
    struct tbp_capture_scan scan;
    if (size == 0)
        return 0;
    if (data[0] & 1) {
        fuzz_conn(data + 1, size - 1, data[0]);
        return 0;
    }
    read_request((struct tbp_str){(const char *)data + 1, size - 1}, &refusal);
    tbp_grpc_reply_release(&refusal);
    tbp_capture_scan(&scan, (struct tbp_str){(const char *)data + 1, size - 1});
    return 0;
}
