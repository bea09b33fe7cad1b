/* SPDX-License-Identifier: Apache-2.0
 *
 * Unary calls in parallel; see grpc_client.h. Each call is a small machine: connect to one address
 * after another, talk, be over, perhaps begin again.
 */
#include "capture/grpc_client.h"

#include "base/quiet_thread.h"
#include "base/vec.h"
#include "capture/client_connect.h"
#include "capture/h2_session.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024, CANCEL_POLL_MS = 100, MAX_ROUND_BYTES = 4 << 20 };

enum phase { PHASE_WAITING, PHASE_CONNECTING, PHASE_TALKING, PHASE_OVER };

struct talk {
    struct tbp_grpc_client_call *call;
    const struct talk *all; /* of this run */
    size_t n_all;
    enum phase phase;
    int64_t due_ns; /* WAITING: when to begin; CONNECTING: when to give this address up */
    struct tbp_connect connect;
    struct sockaddr_in peer; /* of the last connection, if it is of this machine */
    struct tbp_h2 *h2;
    int32_t stream;
    size_t request_sent;
    const uint8_t *out;
    size_t out_n;
    bool is_closed, has_status, is_grpc;
    int http_status;
    char authority[300], bearer[300], timeout[32];
};

/* ---- what the server says ---- */

static int on_headers_begin(void *ctx, int32_t stream) {
    (void)ctx, (void)stream;
    return TBP_OK;
}

/* Times are taken from each other: what is none, or lies a century ahead, would overflow. */
static void keep_time(struct talk *t, int64_t *to, struct tbp_str value) {
    int64_t ns;
    *to = tbp_str_to_i64(value, &ns) && ns > 0 && ns < INT64_MAX / 2 ? ns : 0;
    t->call->has_server_times = t->call->server_received_ns && t->call->server_sent_ns;
}

static int on_header(void *ctx, int32_t stream, struct tbp_str name, struct tbp_str value) {
    struct talk *t = ctx;
    int64_t n = 0;
    (void)stream;
    if (tbp_str_is(name, ":status") && tbp_str_to_i64(value, &n))
        t->http_status = (int)n;
    else if (tbp_str_is(name, "content-type"))
        t->is_grpc = tbp_str_starts(value, "application/grpc");
    else if (tbp_str_is(name, "grpc-status") && tbp_str_to_i64(value, &n)) {
        t->call->status = n >= 0 && n <= 255 ? (int)n : TBP_GRPC_UNKNOWN;
        t->has_status = true;
    } else if (tbp_str_is(name, "grpc-message"))
        tbp_grpc_text_decode(t->call->text, sizeof t->call->text, value);
    else if (tbp_str_is(name, "tbprof-received-ns"))
        keep_time(t, &t->call->server_received_ns, value);
    else if (tbp_str_is(name, "tbprof-sent-ns"))
        keep_time(t, &t->call->server_sent_ns, value);
    return TBP_OK;
}

static int on_data(void *ctx, int32_t stream, const uint8_t *p, size_t n) {
    struct talk *t = ctx;
    (void)stream;
    if (n > INT32_MAX + (size_t)TBP_GRPC_PREFIX - t->call->body.n)
        return TBP_E_LIMIT;
    tbp_vec_reserve(&t->call->body, t->call->body.n + n);
    memcpy(t->call->body.at + t->call->body.n, p, n);
    t->call->body.n += n;
    return TBP_OK;
}

static int on_ended(void *ctx, int32_t stream) {
    (void)ctx, (void)stream;
    return TBP_OK;
}

static void on_closed(void *ctx, int32_t stream, uint32_t h2_error) {
    struct talk *t = ctx;
    (void)stream;
    t->is_closed = true;
    if (!t->has_status && h2_error)
        snprintf(t->call->text, sizeof t->call->text,
                 "the server reset the call (HTTP/2 error %" PRIu32 ")", h2_error);
}

static ssize_t on_body(void *ctx, int32_t stream, uint8_t *to, size_t size, bool *is_last) {
    struct talk *t = ctx;
    uint8_t prefix[TBP_GRPC_PREFIX];
    struct tbp_str message = t->call->request;
    size_t n = 0;
    (void)stream;
    tbp_grpc_prefix(prefix, (uint32_t)message.n);
    for (; n < size && t->request_sent < sizeof prefix; n++)
        to[n] = prefix[t->request_sent++];
    size_t from = t->request_sent - sizeof prefix;
    size_t take = message.n - from < size - n ? message.n - from : size - n;
    if (t->request_sent >= sizeof prefix && take) {
        memcpy(to + n, message.p + from, take);
        t->request_sent += take;
        n += take;
    }
    *is_last = t->request_sent == sizeof prefix + message.n;
    return (ssize_t)n;
}

static const struct tbp_h2_handler handler = {
    .headers_begin = on_headers_begin,
    .header = on_header,
    .data = on_data,
    .ended = on_ended,
    .closed = on_closed,
    .body = on_body,
};

/* ---- one attempt ---- */

static void fail(struct talk *t, int status, const char *text) {
    t->call->status = status;
    if (text)
        snprintf(t->call->text, sizeof t->call->text, "%s", text);
}

static void end_attempt(struct talk *t) {
    tbp_connect_close(&t->connect);
    tbp_h2_free(t->h2);
    t->h2 = NULL;
    t->phase = PHASE_OVER;
    t->call->received_ns = tbp_realtime_ns();
}

static struct tbp_h2_header header_c(const char *name, const char *value) {
    return (struct tbp_h2_header){tbp_str_c(name), tbp_str_c(value)};
}

static int send_request(struct talk *t, struct tbp_error *err) {
    const struct tbp_grpc_client_call *call = t->call;
    struct tbp_h2_header headers[10] = {
        header_c(":method", "POST"),
        header_c(":scheme", "http"),
        header_c(":path", call->path),
        header_c(":authority", t->authority),
        header_c("content-type", "application/grpc"),
        header_c("te", "trailers"),
        header_c("user-agent", "tbprof/" TBP_VERSION),
        header_c("grpc-timeout", t->timeout),
    };
    size_t n = 8;
    tbp_grpc_timeout_write(t->timeout, sizeof t->timeout, call->deadline_ns - tbp_monotonic_ns());
    headers[7] = header_c("grpc-timeout", t->timeout);
    if (call->token) {
        snprintf(t->bearer, sizeof t->bearer, "Bearer %s", call->token);
        headers[n++] = header_c("authorization", t->bearer);
    }
    t->stream = tbp_h2_request(t->h2, headers, n, err);
    return t->stream < 0 ? t->stream : TBP_OK;
}

static int begin_talk(struct talk *t, struct tbp_error *err) {
    t->phase = PHASE_TALKING;
    t->is_closed = t->has_status = t->is_grpc = false;
    t->http_status = 0;
    t->request_sent = t->out_n = 0;
    tbp_connect_authority(t->call->target, t->authority, sizeof t->authority);
    int status = tbp_h2_new(&t->h2, false, &handler, t, err);
    if (!status)
        status = send_request(t, err);
    t->call->sent_ns = tbp_realtime_ns();
    return status;
}

/* What a server that answered, and closed the call, has made of it. */
static void judge(struct talk *t) {
    struct tbp_grpc_client_call *call = t->call;
    char text[160];
    if (t->has_status) {
        size_t n = call->body.n;
        const uint8_t *p = call->body.at;
        if (call->status != TBP_GRPC_OK)
            return;
        bool is_whole = n >= TBP_GRPC_PREFIX && p[0] == 0 &&
                        ((uint32_t)p[1] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 8 |
                         p[4]) == n - TBP_GRPC_PREFIX;
        if (!is_whole)
            fail(t, TBP_GRPC_INTERNAL, "the answer is not exactly one message");
        return;
    }
    if (t->http_status && !t->is_grpc) {
        snprintf(text, sizeof text, "no profiler server: it answers HTTP status %d without gRPC",
                 t->http_status);
        fail(t, TBP_GRPC_UNKNOWN, text);
        return;
    }
    fail(t, TBP_GRPC_UNAVAILABLE, call->text[0] ? NULL : "the call ended without an answer");
}

static void lost(struct talk *t) {
    if (t->has_status) {
        judge(t);
    } else if (t->call->was_reached) {
        fail(t, TBP_GRPC_UNAVAILABLE, "the connection was closed before the answer came");
        t->call->was_lost = true;
    } else {
        fail(t, TBP_GRPC_UNAVAILABLE,
             "somebody accepted the connection, but it is no profiler server");
    }
    end_attempt(t);
}

/* ---- sockets ---- */

static bool flush(struct talk *t) {
    for (;;) {
        if (t->out_n == 0 && tbp_h2_output(t->h2, &t->out, &t->out_n, NULL) != TBP_OK)
            return false;
        if (t->out_n == 0)
            return true;
        ssize_t n = send(t->connect.fd, t->out, t->out_n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        t->out += n;
        t->out_n -= (size_t)n;
    }
}

/* False: the connection is over. */
static bool read_some(struct talk *t, uint8_t *buffer) {
    for (size_t got = 0; got < MAX_ROUND_BYTES && !t->is_closed;) {
        ssize_t n = recv(t->connect.fd, buffer, READ_BYTES, MSG_DONTWAIT);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        if (n == 0 || tbp_h2_input(t->h2, buffer, (size_t)n, NULL) != TBP_OK)
            return false;
        t->call->was_reached = true;
        got += (size_t)n;
        if (!flush(t)) /* windows and acknowledgements */
            return false;
    }
    return true;
}

static void talk_on(struct talk *t, uint8_t *buffer, short events) {
    bool goes_on = true;
    if (events & (POLLIN | POLLHUP | POLLERR))
        goes_on = read_some(t, buffer);
    if (t->is_closed) {
        judge(t);
        end_attempt(t);
    } else if (!goes_on || !flush(t)) {
        lost(t);
    }
}

/* Who is connected to, if it is of this machine; else nobody. "localhost" has two addresses, on
 * both of which a server listens mostly: they count as one. */
static struct sockaddr_in loopback_peer(int fd) {
    struct sockaddr_in6 v6 = {0};
    struct sockaddr_in v4 = {0};
    socklen_t size = sizeof v6;
    if (getpeername(fd, (struct sockaddr *)&v6, &size) != 0 || v6.sin6_family == AF_UNIX ||
        !tbp_peer_is_loopback((struct sockaddr *)&v6))
        return v4;
    memcpy(&v4, &v6, sizeof v4);
    if (v6.sin6_family != AF_INET6)
        return v4;
    v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = v6.sin6_port};
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        memcpy(&v4.sin_addr, v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr);
    else
        v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return v4;
}

/* Who else has reached the server that this one has reached; NULL: nobody. */
static const struct tbp_target *find_same(struct talk *t) {
    t->peer = loopback_peer(t->connect.fd);
    for (size_t i = 0; i < t->n_all && t->peer.sin_family; i++) {
        const struct talk *other = &t->all[i];
        if (other != t && !other->call->same_as &&
            memcmp(&other->peer, &t->peer, sizeof t->peer) == 0)
            return other->call->target;
    }
    return NULL;
}

static void connect_on(struct talk *t, int64_t now) {
    struct tbp_error err = {0};
    enum tbp_connect_state state =
        tbp_connect_step(&t->connect, now, &t->due_ns, t->call->deadline_ns);
    if (state == TBP_CONNECT_PENDING)
        return;
    if (state == TBP_CONNECT_FAILED) {
        fail(t, TBP_GRPC_UNAVAILABLE, t->connect.text);
        end_attempt(t);
        return;
    }
    t->call->same_as = find_same(t);
    if (t->call->same_as) {
        fail(t, TBP_GRPC_CANCELLED, NULL);
        end_attempt(t);
        return;
    }
    if (begin_talk(t, &err) != TBP_OK) {
        fail(t, TBP_GRPC_INTERNAL, err.message);
        end_attempt(t);
        return;
    }
    talk_on(t, NULL, 0);
}

static void begin_attempt(struct talk *t, int64_t now) {
    struct tbp_grpc_client_call *call = t->call;
    call->attempts++;
    call->text[0] = '\0';
    call->body.n = 0;
    call->was_reached = call->was_lost = call->has_server_times = false;
    call->server_received_ns = call->server_sent_ns = 0;
    call->status = TBP_GRPC_UNKNOWN;
    t->phase = PHASE_CONNECTING;
    tbp_connect_begin(&t->connect, call->target);
    connect_on(t, now);
}

/* ---- the loop ---- */

static void step(struct talk *t, short events, uint8_t *buffer, int64_t now) {
    bool is_late = now >= t->call->deadline_ns;
    if (t->phase != PHASE_OVER && is_late) {
        fail(t, TBP_GRPC_DEADLINE_EXCEEDED,
             t->call->was_reached ? "no answer came in time" : "it could not be reached in time");
        end_attempt(t);
    } else if (t->phase == PHASE_WAITING && now >= t->due_ns) {
        begin_attempt(t, now);
    } else if (t->phase == PHASE_CONNECTING) {
        connect_on(t, now);
    } else if (t->phase == PHASE_TALKING) {
        talk_on(t, buffer, events);
    }
}

static int64_t due_of(const struct talk *t) {
    if (t->phase == PHASE_TALKING || t->call->deadline_ns < t->due_ns)
        return t->call->deadline_ns;
    return t->due_ns;
}

static int fill(struct talk *talks, struct pollfd *fds, size_t n, bool can_cancel) {
    int64_t due = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        struct talk *t = &talks[i];
        short events = t->phase == PHASE_CONNECTING ? POLLOUT : POLLIN;
        if (t->phase == PHASE_TALKING && (t->out_n || tbp_h2_wants_output(t->h2)))
            events |= POLLOUT;
        bool has_socket = t->phase == PHASE_CONNECTING || t->phase == PHASE_TALKING;
        fds[i] = (struct pollfd){has_socket ? t->connect.fd : -1, events, 0};
        if (t->phase != PHASE_OVER && due_of(t) < due)
            due = due_of(t);
    }
    int64_t ms = due == INT64_MAX ? CANCEL_POLL_MS : (due - tbp_monotonic_ns()) / 1000000 + 1;
    ms = ms < 0 ? 0 : ms;
    return (int)(can_cancel && ms > CANCEL_POLL_MS ? CANCEL_POLL_MS : ms > 60000 ? 60000 : ms);
}

/* Tells of attempts that are over; true while any call goes on. */
static bool settle(const struct tbp_grpc_client *client, struct talk *talks, bool *told) {
    bool goes_on = false;
    for (size_t i = 0; i < client->n; i++) {
        struct talk *t = &talks[i];
        if (t->phase == PHASE_OVER && !told[i]) {
            t->due_ns = tbp_monotonic_ns();
            bool again = client->over && client->over(client->ctx, t->call, &t->due_ns);
            if (again)
                t->phase = PHASE_WAITING;
            else
                told[i] = true;
        }
        goes_on = goes_on || !told[i];
    }
    return goes_on;
}

static bool is_cancelled(const struct tbp_grpc_client *client) {
    return client->cancel && atomic_load(client->cancel);
}

static void cancel_all(struct talk *talks, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (talks[i].phase == PHASE_OVER)
            continue;
        fail(&talks[i], TBP_GRPC_CANCELLED, "cancelled");
        end_attempt(&talks[i]);
    }
}

int tbp_grpc_client_run(const struct tbp_grpc_client *client, struct tbp_error *err) {
    struct tbp_arena arena;
    struct tbp_h2 *probe;
    int status = tbp_h2_new(&probe, false, &handler, NULL, err);
    if (status)
        return status;
    tbp_h2_free(probe);
    tbp_arena_init(&arena);
    struct talk *talks = TBP_NEW_N(&arena, struct talk, client->n);
    struct pollfd *fds = TBP_NEW_N(&arena, struct pollfd, client->n);
    bool *told = TBP_NEW_N(&arena, bool, client->n);
    uint8_t *buffer = tbp_arena_alloc(&arena, 1, READ_BYTES);
    for (size_t i = 0; i < client->n; i++)
        talks[i] = (struct talk){
            .call = &client->calls[i], .all = talks, .n_all = client->n, .connect = {.fd = -1}};
    do {
        int ready = poll(fds, client->n, fill(talks, fds, client->n, client->cancel != NULL));
        int64_t now = tbp_monotonic_ns();
        for (size_t i = 0; i < client->n; i++)
            step(&talks[i], ready > 0 ? fds[i].revents : 0, buffer, now);
        if (is_cancelled(client))
            cancel_all(talks, client->n);
    } while (settle(client, talks, told));
    tbp_arena_release(&arena);
    return TBP_OK;
}

struct tbp_str tbp_grpc_client_message(const struct tbp_grpc_client_call *call) {
    if (call->status != TBP_GRPC_OK || call->body.n < TBP_GRPC_PREFIX)
        return TBP_STR_NONE;
    return (struct tbp_str){(const char *)call->body.at + TBP_GRPC_PREFIX,
                            call->body.n - TBP_GRPC_PREFIX};
}

void tbp_grpc_client_release(struct tbp_grpc_client_call *call) {
    tbp_vec_release(&call->body);
}
