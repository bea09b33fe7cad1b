/* SPDX-License-Identifier: Apache-2.0
 *
 * A server's connection against our own client's side, in memory and with a clock of the test's:
 * calls, answers, limits, and peers that do not behave.
 */
#include "capture/grpc_conn.h"
#include "capture/h2_session.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECOND = 1000000000 };

/* ---- the service: remembers, and answers as told ---- */

static struct {
    struct tbp_grpc_conn *conn;
    uint64_t last_id, dropped_id;
    unsigned n_calls, n_dropped, n_freed;
    char path[128], message[64];
    size_t message_n, big_n;
    int status; /* -1: later */
} service;

static void big_free(uint8_t *big) {
    service.n_freed++;
    free(big);
}

static void answer(uint64_t id) {
    struct tbp_grpc_reply reply = {0};
    if (service.status > 0)
        tbp_grpc_reply_fail(&reply, service.status, "no: %d%%", service.status);
    else {
        tbp_wire_put_raw(&reply.head, "head", 4);
        reply.big = calloc(1, service.big_n + 1);
        reply.big_n = service.big_n;
        reply.big_free = big_free;
        for (size_t i = 0; i < service.big_n; i++)
            reply.big[i] = (uint8_t)i;
    }
    tbp_grpc_conn_reply(service.conn, id, &reply);
}

static void on_call(void *ctx, struct tbp_grpc_conn *conn, const struct tbp_grpc_call *call) {
    (void)ctx, (void)conn;
    service.n_calls++;
    service.last_id = call->id;
    snprintf(service.path, sizeof service.path, "%.*s", (int)call->path.n, call->path.p);
    service.message_n = call->message.n;
    memcpy(service.message, call->message.p, call->message.n < 64 ? call->message.n : 64);
    if (service.status >= 0)
        answer(call->id);
}

static void on_dropped(void *ctx, uint64_t id) {
    (void)ctx;
    service.n_dropped++;
    service.dropped_id = id;
}

static struct tbp_grpc_service callbacks = {.call = on_call, .dropped = on_dropped};

/* ---- the client ---- */

static struct {
    struct tbp_h2 *h2;
    size_t to_send, sent, n_headers, n_data;
    bool is_closed, keeps_body_open, in_order;
    uint32_t h2_error;
    char status[8], grpc_status[8], grpc_message[64];
} client;

static int ignore_begin(void *ctx, int32_t stream) {
    (void)ctx, (void)stream;
    return TBP_OK;
}

static void keep(char *to, size_t size, struct tbp_str value) {
    snprintf(to, size, "%.*s", (int)value.n, value.p);
}

static int on_header(void *ctx, int32_t stream, struct tbp_str name, struct tbp_str value) {
    (void)ctx, (void)stream;
    client.n_headers++;
    if (tbp_str_is(name, ":status"))
        keep(client.status, sizeof client.status, value);
    if (tbp_str_is(name, "grpc-status"))
        keep(client.grpc_status, sizeof client.grpc_status, value);
    if (tbp_str_is(name, "grpc-message"))
        keep(client.grpc_message, sizeof client.grpc_message, value);
    return TBP_OK;
}

/* What comes is prefix, "head", then bytes that count up. */
static int on_data(void *ctx, int32_t stream, const uint8_t *p, size_t n) {
    (void)ctx, (void)stream;
    for (size_t i = 0; i < n; i++, client.n_data++) {
        if (client.n_data >= 9 && p[i] != (uint8_t)(client.n_data - 9))
            client.in_order = false;
    }
    return TBP_OK;
}

static void on_closed(void *ctx, int32_t stream, uint32_t error) {
    (void)ctx, (void)stream;
    client.is_closed = true;
    client.h2_error = error;
}

static ssize_t on_body(void *ctx, int32_t stream, uint8_t *to, size_t size, bool *is_last) {
    (void)ctx, (void)stream;
    size_t n = client.to_send - client.sent < size ? client.to_send - client.sent : size;
    uint8_t prefix[5];
    tbp_grpc_prefix(prefix, (uint32_t)client.to_send - 5);
    for (size_t i = 0; i < n; i++)
        to[i] = client.sent + i < 5 ? prefix[client.sent + i] : 'm';
    client.sent += n;
    *is_last = client.sent == client.to_send;
    return (ssize_t)n;
}

static const struct tbp_h2_handler client_handler = {.headers_begin = ignore_begin,
                                                     .header = on_header,
                                                     .data = on_data,
                                                     .ended = ignore_begin,
                                                     .closed = on_closed,
                                                     .body = on_body};

static int64_t now;
static struct tbp_grpc_conn *conn;

static void setup(void) {
    memset(&service, 0, sizeof service);
    memset(&client, 0, sizeof client);
    client.in_order = true;
    client.to_send = 8;
    now = 1000 * (int64_t)SECOND;
    callbacks.token = NULL;
    if (tbp_h2_new(&client.h2, false, &client_handler, NULL, NULL) == TBP_E_UNSUPPORTED)
        cr_skip_test("built without libnghttp2");
    cr_assert_eq(tbp_grpc_conn_new(&conn, &callbacks, 5, true, now, NULL), TBP_OK);
    service.conn = conn;
}

static void teardown(void) {
    tbp_grpc_conn_free(conn);
    tbp_h2_free(client.h2);
}

TestSuite(grpc_conn, .init = setup, .fini = teardown);

/* Carries bytes both ways until neither side has any; at most so many of the server's. */
static size_t carry(size_t most) {
    size_t total = 0;
    for (bool any = true; any && total < most;) {
        const uint8_t *p;
        size_t n, m;
        cr_assert_eq(tbp_h2_output(client.h2, &p, &n, NULL), TBP_OK);
        if (n && tbp_grpc_conn_input(conn, p, n, now, NULL) != TBP_OK)
            return total;
        cr_assert_eq(tbp_grpc_conn_output(conn, &p, &m, now, NULL), TBP_OK);
        if (m)
            cr_assert_eq(tbp_h2_input(client.h2, p, m, NULL), TBP_OK);
        any = n || m;
        total += m;
    }
    return total;
}

static void request(const char *path, const char *type, const char *token) {
    struct tbp_h2_header headers[] = {
        {TBP_STR(":method"), TBP_STR("POST")},
        {TBP_STR(":scheme"), TBP_STR("http")},
        {TBP_STR(":path"), tbp_str_c(path)},
        {TBP_STR(":authority"), TBP_STR("test:1")},
        {TBP_STR("content-type"), tbp_str_c(type)},
        {TBP_STR("grpc-timeout"), TBP_STR("20S")},
        {TBP_STR("authorization"), tbp_str_c(token ? token : "none")}};
    cr_assert_gt(tbp_h2_request(client.h2, headers, 7, NULL), 0);
}

static void call(void) {
    request("/tensorflow.ProfilerService/Monitor", "application/grpc", NULL);
}

Test(grpc_conn, answers_a_call) {
    service.big_n = 10;
    call();
    carry(SIZE_MAX);
    cr_assert_str_eq(service.path, "/tensorflow.ProfilerService/Monitor");
    cr_assert_eq(service.message_n, 3);
    cr_assert_eq(memcmp(service.message, "mmm", 3), 0);
    cr_assert_str_eq(client.status, "200");
    cr_assert_str_eq(client.grpc_status, "0");
    cr_assert_eq(client.n_data, 5 + 4 + 10);
    cr_assert(client.in_order && client.is_closed);
    cr_assert_eq(service.n_freed, 1);
    cr_assert_eq(service.n_dropped, 0);
}

Test(grpc_conn, answers_later) {
    service.status = -1;
    call();
    carry(SIZE_MAX);
    cr_assert_eq(service.n_calls, 1);
    cr_assert_not(client.is_closed);
    service.status = 0;
    answer(service.last_id);
    carry(SIZE_MAX);
    cr_assert_str_eq(client.grpc_status, "0");
}

Test(grpc_conn, a_failure_is_told_in_headers_alone) {
    service.status = 14;
    call();
    carry(SIZE_MAX);
    cr_assert_str_eq(client.grpc_status, "14");
    cr_assert_str_eq(client.grpc_message, "no: 14%25");
    cr_assert_eq(client.n_data, 0);
}

Test(grpc_conn, a_large_answer_waits_for_the_window) {
    service.big_n = 20 << 20; /* the client's windows are 4 MiB */
    call();
    carry(SIZE_MAX);
    cr_assert_eq(client.n_data, 9 + (20 << 20));
    cr_assert(client.in_order);
    cr_assert_eq(service.n_freed, 1);
}

Test(grpc_conn, a_call_whose_client_goes_is_dropped) {
    service.status = -1;
    call();
    carry(SIZE_MAX);
    tbp_h2_reset(client.h2, 1);
    carry(SIZE_MAX);
    cr_assert_eq(service.n_dropped, 1);
    cr_assert_eq(service.dropped_id, service.last_id);
    service.status = 0;
    answer(service.last_id); /* too late: taken and freed */
    cr_assert_eq(service.n_freed, 1);
}

Test(grpc_conn, an_answer_that_is_not_taken_is_freed_with_the_connection) {
    service.big_n = 20 << 20;
    call();
    carry(1 << 20);
    tbp_grpc_conn_free(conn);
    conn = NULL;
    cr_assert_eq(service.n_freed, 1);
}

Test(grpc_conn, the_clients_deadline_ends_a_call) {
    service.status = -1;
    call();
    carry(SIZE_MAX);
    cr_assert_eq(tbp_grpc_conn_due_ns(conn), now + 20 * (int64_t)SECOND);
    now += 20 * (int64_t)SECOND;
    cr_assert_eq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
    carry(SIZE_MAX);
    cr_assert_str_eq(client.grpc_status, "4");
    cr_assert_eq(service.n_dropped, 1);
}

Test(grpc_conn, a_peer_that_does_not_take_its_answer_is_left) {
    service.big_n = 20 << 20;
    call();
    carry(1 << 20);
    now += 59 * (int64_t)SECOND;
    cr_assert_eq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
    now += 2 * (int64_t)SECOND;
    cr_assert_neq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
}

Test(grpc_conn, a_request_larger_than_the_limit_is_refused_on_the_way) {
    client.to_send = TBP_GRPC_MAX_REQUEST_BYTES + 100000;
    call();
    carry(SIZE_MAX);
    cr_assert_str_eq(client.grpc_status, "8");
    cr_assert_eq(service.n_calls, 0);
}

Test(grpc_conn, many_requests_that_are_never_whole_hold_little) {
    client.to_send = (3 << 20);
    for (int i = 0; i < 32; i++) {
        client.sent = 0; /* all streams share one counter: only the last one is ever whole */
        call();
    }
    carry(SIZE_MAX);
    cr_assert_leq(service.n_calls, 3);
}

Test(grpc_conn, wants_the_token) {
    callbacks.token = "secret";
    call();
    carry(SIZE_MAX);
    cr_assert_str_eq(client.grpc_status, "16");
    cr_assert_eq(service.n_calls, 0);
    client.sent = 0;
    request("/x", "application/grpc", "Bearer secreT");
    carry(SIZE_MAX);
    cr_assert_eq(service.n_calls, 0);
    client.sent = 0;
    request("/x", "application/grpc", "Bearer secret");
    carry(SIZE_MAX);
    cr_assert_eq(service.n_calls, 1);
}

Test(grpc_conn, what_is_not_grpc_gets_an_http_status) {
    request("/x", "application/json", NULL);
    carry(SIZE_MAX);
    cr_assert_str_eq(client.status, "415");
    cr_assert_eq(service.n_calls, 0);
    client.sent = 0;
    request("/x", "application/grpc-web", NULL);
    carry(SIZE_MAX);
    cr_assert_eq(service.n_calls, 0);
    client.sent = 0;
    request("/x", "application/grpc+proto", NULL);
    carry(SIZE_MAX);
    cr_assert_eq(service.n_calls, 1);
}

Test(grpc_conn, http1_gets_one_line) {
    const uint8_t *p;
    size_t n;
    cr_assert_eq(tbp_grpc_conn_input(conn, (const uint8_t *)"GE", 2, now, NULL), TBP_OK);
    cr_assert_eq(tbp_grpc_conn_output(conn, &p, &n, now, NULL), TBP_OK);
    cr_assert_eq(n, 0);
    tbp_grpc_conn_input(conn, (const uint8_t *)"T / HTTP/1.1\r\n\r\n", 16, now, NULL);
    cr_assert_eq(tbp_grpc_conn_output(conn, &p, &n, now, NULL), TBP_OK);
    struct tbp_str text = {(const char *)p, n};
    cr_assert(tbp_str_starts(text, "HTTP/1.1 200 OK\r\n"));
    cr_assert(tbp_str_ends(text, "\r\n\r\ntbprof profiler server: use a gRPC client\n"));
    cr_assert(tbp_grpc_conn_is_done(conn));
}

Test(grpc_conn, noise_gets_nothing) {
    const uint8_t *p;
    size_t n;
    tbp_grpc_conn_input(conn, (const uint8_t *)"\x16\x03\x01\x02\x00", 5, now, NULL);
    cr_assert_eq(tbp_grpc_conn_output(conn, &p, &n, now, NULL), TBP_OK);
    cr_assert_eq(n, 0);
    cr_assert(tbp_grpc_conn_is_done(conn));
}

Test(grpc_conn, silence_ends_the_connection) {
    cr_assert_eq(tbp_grpc_conn_tick(conn, now + 9 * (int64_t)SECOND, NULL), TBP_OK);
    cr_assert_neq(tbp_grpc_conn_tick(conn, now + 11 * (int64_t)SECOND, NULL), TBP_OK);
}

Test(grpc_conn, idle_connections_live_for_five_minutes) {
    call();
    carry(SIZE_MAX);
    now += 299 * (int64_t)SECOND;
    cr_assert_eq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
    now += 2 * (int64_t)SECOND;
    cr_assert_neq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
}

Test(grpc_conn, resets_in_quick_succession_end_the_connection) {
    struct tbp_error err = {0};
    service.status = -1;
    int status = TBP_OK;
    for (int i = 0; i < 200 && !status; i++) {
        const uint8_t *p;
        size_t n;
        client.sent = 0;
        call();
        tbp_h2_output(client.h2, &p, &n, NULL);
        for (; n && !status; tbp_h2_output(client.h2, &p, &n, NULL))
            status = tbp_grpc_conn_input(conn, p, n, now, &err);
        tbp_h2_reset(client.h2, 2 * i + 1);
        tbp_h2_output(client.h2, &p, &n, NULL);
        if (n && !status)
            status = tbp_grpc_conn_input(conn, p, n, now, &err);
    }
    cr_assert_eq(status, TBP_E_LIMIT, "%s", err.message);
    cr_assert_eq(service.n_dropped + tbp_grpc_conn_open_calls(conn), service.n_calls);
}

/* ---- floods, byte by byte: our client would not send them ---- */

enum { HEAD = 9, CALM = 11, SETTINGS_TYPE = 4, PING_TYPE = 6, GOAWAY_TYPE = 7, UNKNOWN_TYPE = 190 };
enum { MOST_AT_ONCE = 300 };

static int give(const void *bytes, size_t n) {
    return tbp_grpc_conn_input(conn, bytes, n, now, NULL);
}

static void greet(void) {
    static const char hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
    cr_assert_eq(give(hello, sizeof hello - 1), TBP_OK);
}

/* The error that the connection's last GOAWAY tells, after all that is to be sent; -1: none. */
static int drain(void) {
    int code = -1;
    const uint8_t *p;
    size_t n;
    while (tbp_grpc_conn_output(conn, &p, &n, now, NULL) == TBP_OK && n)
        if (p[3] == GOAWAY_TYPE)
            code = p[HEAD + 7];
    return code;
}

/* Frames of a kind, `n_at_once` at a time, what the connection says being taken in between. Returns
 * how many it took. */
static size_t flood(uint8_t type, size_t size, size_t n_at_once, int64_t every_ns, int *code) {
    uint8_t bytes[MOST_AT_ONCE * (HEAD + 8)] = {0};
    size_t n = 0;
    for (size_t i = 0; i < n_at_once; i++) {
        bytes[i * (HEAD + size) + 2] = (uint8_t)size;
        bytes[i * (HEAD + size) + 3] = type;
    }
    for (*code = -1; n < 100000 && *code < 0; n += n_at_once, now += every_ns)
        if (give(bytes, n_at_once * (HEAD + size)) != TBP_OK)
            *code = drain();
        else
            drain();
    return n;
}

Test(grpc_conn, frames_in_quick_succession_end_the_connection) {
    static const struct {
        uint8_t type;
        size_t size;
    } kinds[] = {{SETTINGS_TYPE, 0}, {PING_TYPE, 8}, {UNKNOWN_TYPE, 0}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        int code;
        teardown();
        setup();
        greet();
        size_t n = flood(kinds[i].type, kinds[i].size, 100, 0, &code);
        cr_assert_eq(code, CALM, "%u: %d", kinds[i].type, code);
        cr_assert_eq(n, TBP_GRPC_MAX_FRAMES_PER_S, "the greeting has one, too");
    }
}

Test(grpc_conn, more_to_acknowledge_than_fits_ends_the_connection) {
    int code;
    greet();
    cr_assert_eq(flood(PING_TYPE, 8, MOST_AT_ONCE, 0, &code), MOST_AT_ONCE);
    cr_assert_eq(code, CALM);
}

Test(grpc_conn, frames_that_take_their_time_are_welcome) {
    int code;
    greet();
    size_t n = flood(PING_TYPE, 8, 1, 2 * SECOND / TBP_GRPC_MAX_FRAMES_PER_S, &code);
    cr_assert_eq(n, 100000);
    cr_assert_eq(code, -1);
}

/* ---- slow peers, byte by byte ---- */

Test(grpc_conn, a_frame_that_is_not_whole_in_ten_seconds_ends_the_connection) {
    static const uint8_t headers[HEAD + 1] = {[2] = 20, [3] = 1, [4] = 4, [8] = 1};
    int64_t begun = now;
    greet();
    for (size_t i = 0; i < sizeof headers; i++) { /* a second for each: the last one is payload */
        cr_assert_eq(give(headers + i, 1), TBP_OK);
        cr_assert_eq(tbp_grpc_conn_due_ns(conn), begun + 10 * (int64_t)SECOND, "byte %zu", i);
        cr_assert_eq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
        now += SECOND;
    }
    cr_assert_eq(now, begun + 10 * (int64_t)SECOND);
    cr_assert_neq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
}

Test(grpc_conn, each_frame_has_its_own_ten_seconds) {
    static const uint8_t ping[HEAD + 8] = {[2] = 8, [3] = PING_TYPE};
    greet();
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(give(ping, 4), TBP_OK);
        now += 9 * (int64_t)SECOND;
        cr_assert_eq(tbp_grpc_conn_tick(conn, now, NULL), TBP_OK);
        cr_assert_eq(give(ping + 4, sizeof ping - 4), TBP_OK);
    }
    cr_assert_eq(tbp_grpc_conn_due_ns(conn), now - 45 * (int64_t)SECOND + 300 * (int64_t)SECOND);
}
