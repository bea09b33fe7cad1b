/* SPDX-License-Identifier: Apache-2.0
 *
 * The server's side of one connection; see grpc_conn.h. A stream slot lives from the first header
 * to the close of the stream; slots are as many as streams are allowed.
 */
#include "capture/grpc_conn.h"

#include "base/quiet_thread.h"
#include "base/vec.h"
#include "capture/h2_session.h"

#include <inttypes.h>
#include <stdio.h>

enum { PREFACE = 24, HTTP1_MAX = 8192, PATH_MAX_BYTES = 128, TOKEN_MAX = 256, NUMBER_TEXT = 24 };
enum { MAX_BUFFERED_BYTES = 8 << 20 }; /* requests of one connection that are not whole yet */
static const int64_t SECOND_NS = 1000000000;
static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum front { FRONT_SNIFF, FRONT_H2, FRONT_HTTP1, FRONT_CLOSE };

struct stream {
    int32_t id; /* 0: the slot is free */
    bool is_post, is_grpc, has_body, is_whole, is_answered, is_refused;
    char path[PATH_MAX_BYTES], token[TOKEN_MAX];
    size_t path_n, token_n, header_bytes;
    enum tbp_grpc_encoding encoding;
    int64_t begun_ns, timeout_ns, deadline_ns, received_realtime_ns, answered_ns, progress_ns;
    TBP_VEC(uint8_t) request;
    struct tbp_grpc_reply reply;
    uint8_t prefix[TBP_GRPC_PREFIX];
    size_t sent; /* of prefix, head and big */
    char status_text[NUMBER_TEXT], received_text[NUMBER_TEXT], sent_text[NUMBER_TEXT];
    char message_text[TBP_GRPC_ENCODED_TEXT];
};

struct tbp_grpc_conn {
    struct tbp_arena arena, scratch; /* the first holds this struct */
    const struct tbp_grpc_service *service;
    struct tbp_h2 *h2;
    enum front front;
    uint32_t serial;
    bool is_local;
    int64_t now_ns, begun_ns, idle_ns, second_ns;
    struct tbp_h2_traffic before; /* this second */
    uint64_t open_frame;          /* 0: none */
    int64_t frame_ns;             /* when it began */
    size_t buffered_bytes, sniffed;
    uint8_t sniff[PREFACE];
    const char *http1_text; /* what is left to send */
    struct stream streams[TBP_H2_MAX_STREAMS];
};

void tbp_grpc_reply_release(struct tbp_grpc_reply *reply) {
    tbp_wire_out_release(&reply->head);
    if (reply->big && reply->big_free)
        reply->big_free(reply->big);
    *reply = (struct tbp_grpc_reply){0};
}

void tbp_grpc_reply_fail(struct tbp_grpc_reply *reply, int status, const char *fmt, ...) {
    va_list args;
    tbp_grpc_reply_release(reply);
    reply->status = status;
    va_start(args, fmt);
    vsnprintf(reply->text, sizeof reply->text, fmt, args);
    va_end(args);
}

/* ---- slots ---- */

static struct stream *stream_find(struct tbp_grpc_conn *c, int32_t id) {
    for (size_t i = 0; i < TBP_H2_MAX_STREAMS; i++) {
        if (c->streams[i].id == id)
            return &c->streams[i];
    }
    return NULL;
}

static uint64_t call_id(const struct tbp_grpc_conn *c, const struct stream *s) {
    return (uint64_t)c->serial << 32 | (uint32_t)s->id;
}

static void release_request(struct tbp_grpc_conn *c, struct stream *s) {
    c->buffered_bytes -= s->request.n;
    tbp_vec_release(&s->request);
}

static void stream_release(struct tbp_grpc_conn *c, struct stream *s) {
    bool is_waiting = s->is_whole && !s->is_answered;
    uint64_t id = call_id(c, s);
    release_request(c, s);
    tbp_grpc_reply_release(&s->reply);
    s->id = 0;
    if (is_waiting)
        c->service->dropped(c->service->ctx, id);
}

/* ---- what comes in ---- */

static int on_headers_begin(void *ctx, int32_t id) {
    struct tbp_grpc_conn *c = ctx;
    struct stream *s = stream_find(c, 0);
    if (!s)
        return TBP_E_LIMIT;
    memset(s, 0, sizeof *s);
    s->id = id;
    s->begun_ns = c->now_ns;
    s->timeout_ns = s->deadline_ns = TBP_GRPC_FOREVER;
    return TBP_OK;
}

/* Copies what fits; a text that does not fit matches nothing known. */
static size_t keep(char *to, size_t size, struct tbp_str value) {
    size_t n = value.n < size ? value.n : 0;
    memcpy(to, value.p, n);
    return n;
}

static int on_header(void *ctx, int32_t id, struct tbp_str name, struct tbp_str value) {
    struct stream *s = stream_find(ctx, id);
    if (!s)
        return TBP_OK;
    s->header_bytes += name.n + value.n + 32; /* as HTTP/2 counts them */
    if (s->header_bytes > TBP_H2_MAX_HEADER_BYTES)
        return TBP_E_LIMIT;
    if (tbp_str_is(name, ":method"))
        s->is_post = tbp_str_is(value, "POST");
    else if (tbp_str_is(name, ":path"))
        s->path_n = keep(s->path, sizeof s->path, value);
    else if (tbp_str_is(name, "content-type"))
        s->is_grpc = tbp_str_starts(value, "application/grpc") &&
                     (value.n == 16 || tbp_str_is(tbp_str_sub(value, 16, value.n), "+proto"));
    else if (tbp_str_is(name, "authorization"))
        s->token_n = keep(s->token, sizeof s->token, value);
    else if (tbp_str_is(name, "grpc-encoding"))
        s->encoding = tbp_grpc_encoding_of(value);
    else if (tbp_str_is(name, "grpc-timeout") && !tbp_grpc_timeout_parse(value, &s->timeout_ns))
        s->timeout_ns = TBP_GRPC_FOREVER;
    return TBP_OK;
}

static void fail(struct tbp_grpc_conn *c, struct stream *s, int status, const char *text) {
    struct tbp_grpc_reply reply = {0};
    tbp_grpc_reply_fail(&reply, status, "%s", text);
    tbp_grpc_conn_reply(c, call_id(c, s), &reply);
}

static int on_data(void *ctx, int32_t id, const uint8_t *p, size_t n) {
    struct tbp_grpc_conn *c = ctx;
    struct stream *s = stream_find(c, id);
    if (!s || s->is_refused)
        return TBP_OK;
    s->has_body = true;
    if (s->request.n + n > TBP_GRPC_MAX_REQUEST_BYTES + TBP_GRPC_PREFIX ||
        c->buffered_bytes + n > MAX_BUFFERED_BYTES) {
        s->is_refused = true;
        release_request(c, s);
        fail(c, s, TBP_GRPC_RESOURCE_EXHAUSTED, "the request is larger than 4 MiB");
        return TBP_OK;
    }
    tbp_vec_reserve(&s->request, s->request.n + n);
    memcpy(s->request.at + s->request.n, p, n);
    s->request.n += n;
    c->buffered_bytes += n;
    return TBP_OK;
}

/* Takes as long for every wrong token of a length. */
static bool token_is_right(const struct tbp_grpc_conn *c, const struct stream *s) {
    static const char bearer[] = "Bearer ";
    const char *want = c->service->token;
    size_t skip = sizeof bearer - 1, n = want ? strlen(want) : 0;
    unsigned char differs = 0;
    if (!want)
        return true;
    if (s->token_n != skip + n || memcmp(s->token, bearer, skip) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        differs |= (unsigned char)(s->token[skip + i] ^ want[i]);
    return differs == 0;
}

static int message_status(int code) {
    if (code == TBP_E_UNSUPPORTED)
        return TBP_GRPC_UNIMPLEMENTED;
    return code == TBP_E_LIMIT ? TBP_GRPC_RESOURCE_EXHAUSTED : TBP_GRPC_INTERNAL;
}

static int refuse_http(struct tbp_grpc_conn *c, struct stream *s) {
    const struct tbp_h2_header headers[] = {
        {TBP_STR(":status"), s->is_post ? TBP_STR("415") : TBP_STR("405")},
        {TBP_STR("content-type"), TBP_STR("text/plain")},
    };
    s->is_answered = true;
    return tbp_h2_respond(c->h2, s->id, headers, 2, false, NULL);
}

static void hand_over(struct tbp_grpc_conn *c, struct stream *s) {
    struct tbp_error err = {0};
    struct tbp_str body = {(const char *)s->request.at, s->request.n};
    struct tbp_grpc_call call = {.id = call_id(c, s),
                                 .path = {s->path, s->path_n},
                                 .deadline_ns = s->deadline_ns,
                                 .is_local = c->is_local};
    int status = tbp_grpc_message(&call.message, &c->scratch, body, s->encoding,
                                  TBP_GRPC_MAX_REQUEST_BYTES, &err);
    if (status)
        fail(c, s, message_status(status), err.message);
    else
        c->service->call(c->service->ctx, c, &call);
    release_request(c, s);
    tbp_arena_release(&c->scratch);
}

static int on_ended(void *ctx, int32_t id) {
    struct tbp_grpc_conn *c = ctx;
    struct stream *s = stream_find(c, id);
    if (!s || s->is_refused || s->is_whole)
        return TBP_OK;
    s->is_whole = true;
    s->received_realtime_ns = tbp_realtime_ns();
    if (__builtin_add_overflow(c->now_ns, s->timeout_ns, &s->deadline_ns))
        s->deadline_ns = TBP_GRPC_FOREVER;
    if (!s->is_post || !s->is_grpc)
        return refuse_http(c, s);
    if (!token_is_right(c, s))
        fail(c, s, TBP_GRPC_UNAUTHENTICATED, "the server wants its token, and this is not it");
    else
        hand_over(c, s);
    return TBP_OK;
}

static void on_closed(void *ctx, int32_t id, uint32_t h2_error) {
    struct tbp_grpc_conn *c = ctx;
    struct stream *s = stream_find(c, id);
    (void)h2_error;
    if (!s)
        return;
    c->idle_ns = c->now_ns;
    stream_release(c, s);
}

/* ---- what goes out ---- */

/* Copies from one of the parts that follow each other; true if `to` has room for more. */
static bool copy_part(const uint8_t *part, size_t part_n, size_t *from, uint8_t *to, size_t size,
                      size_t *n) {
    if (*from >= part_n) {
        *from -= part_n;
        return true;
    }
    size_t take = part_n - *from < size - *n ? part_n - *from : size - *n;
    memcpy(to + *n, part + *from, take);
    *n += take;
    *from = 0;
    return *n < size;
}

static ssize_t on_body(void *ctx, int32_t id, uint8_t *to, size_t size, bool *is_last) {
    struct tbp_grpc_conn *c = ctx;
    struct stream *s = stream_find(c, id);
    size_t n = 0;
    if (!s)
        return TBP_E_INTERNAL;
    size_t from = s->sent;
    if (copy_part(s->prefix, sizeof s->prefix, &from, to, size, &n) &&
        copy_part(s->reply.head.at, s->reply.head.n, &from, to, size, &n))
        copy_part(s->reply.big, s->reply.big_n, &from, to, size, &n);
    s->sent += n;
    s->progress_ns = c->now_ns;
    *is_last = s->sent == sizeof s->prefix + s->reply.head.n + s->reply.big_n;
    return (ssize_t)n;
}

static struct tbp_str number_text(char to[NUMBER_TEXT], int64_t v) {
    return (struct tbp_str){to, (size_t)snprintf(to, NUMBER_TEXT, "%" PRId64, v)};
}

static size_t status_headers(struct stream *s, struct tbp_h2_header *to) {
    size_t n = 0;
    to[n++] = (struct tbp_h2_header){TBP_STR("grpc-status"),
                                     number_text(s->status_text, s->reply.status)};
    if (s->reply.text[0]) {
        size_t size = tbp_grpc_text_encode(s->message_text, tbp_str_c(s->reply.text));
        to[n++] = (struct tbp_h2_header){TBP_STR("grpc-message"), {s->message_text, size}};
    }
    return n;
}

/* Both times let the client tell how far its clock is from ours. */
static size_t on_trailers(void *ctx, int32_t id, struct tbp_h2_header *to, size_t n_max) {
    struct stream *s = stream_find(ctx, id);
    (void)n_max;
    if (!s)
        return 0;
    size_t n = status_headers(s, to);
    to[n++] = (struct tbp_h2_header){TBP_STR("tbprof-received-ns"),
                                     number_text(s->received_text, s->received_realtime_ns)};
    to[n++] = (struct tbp_h2_header){TBP_STR("tbprof-sent-ns"),
                                     number_text(s->sent_text, tbp_realtime_ns())};
    return n;
}

void tbp_grpc_conn_reply(struct tbp_grpc_conn *c, uint64_t id, struct tbp_grpc_reply *reply) {
    struct stream *s = (uint32_t)(id >> 32) == c->serial ? stream_find(c, (int32_t)id) : NULL;
    struct tbp_h2_header headers[8] = {
        {TBP_STR(":status"), TBP_STR("200")},
        {TBP_STR("content-type"), TBP_STR("application/grpc")},
        {TBP_STR("grpc-accept-encoding"), TBP_STR("identity, deflate, gzip")},
    };
    if (!s || s->is_answered) {
        tbp_grpc_reply_release(reply);
        return;
    }
    size_t size = reply->head.n + reply->big_n;
    if (size > INT32_MAX)
        tbp_grpc_reply_fail(reply, TBP_GRPC_RESOURCE_EXHAUSTED,
                            "the profile of %zu bytes is too large for an answer", size);
    s->reply = *reply;
    *reply = (struct tbp_grpc_reply){0};
    s->is_answered = true;
    s->answered_ns = s->progress_ns = c->now_ns;
    bool has_body = s->reply.status == TBP_GRPC_OK;
    size_t n = 3;
    if (has_body)
        tbp_grpc_prefix(s->prefix, (uint32_t)size);
    else
        n += status_headers(s, headers + n);
    if (tbp_h2_respond(c->h2, s->id, headers, n, has_body, NULL) != TBP_OK)
        tbp_h2_reset(c->h2, s->id);
}

/* ---- the connection ---- */

static const struct tbp_h2_handler handler = {
    .headers_begin = on_headers_begin,
    .header = on_header,
    .data = on_data,
    .ended = on_ended,
    .closed = on_closed,
    .body = on_body,
    .trailers = on_trailers,
};

int tbp_grpc_conn_new(struct tbp_grpc_conn **out, const struct tbp_grpc_service *service,
                      uint32_t serial, bool is_local, int64_t now_ns, struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_grpc_conn *c = TBP_NEW(&arena, struct tbp_grpc_conn);
    c->arena = arena;
    tbp_arena_init(&c->scratch);
    c->service = service;
    c->serial = serial;
    c->is_local = is_local;
    c->now_ns = c->begun_ns = c->idle_ns = c->second_ns = now_ns;
    int status = tbp_h2_new(&c->h2, true, &handler, c, err);
    *out = c;
    if (status) {
        tbp_grpc_conn_free(c);
        *out = NULL;
    }
    return status;
}

void tbp_grpc_conn_free(struct tbp_grpc_conn *c) {
    if (!c)
        return;
    for (size_t i = 0; i < TBP_H2_MAX_STREAMS; i++) {
        if (c->streams[i].id)
            stream_release(c, &c->streams[i]);
    }
    tbp_h2_free(c->h2);
    tbp_arena_release(&c->scratch);
    struct tbp_arena arena = c->arena;
    tbp_arena_release(&arena);
}

uint32_t tbp_grpc_conn_serial(const struct tbp_grpc_conn *c) {
    return c->serial;
}

/* Frames cost this process time and their sender nothing. Who reads an answer needs some for its
 * windows: so many as there are bytes to acknowledge. */
static int check_traffic(struct tbp_grpc_conn *c, struct tbp_error *err) {
    struct tbp_h2_traffic now = tbp_h2_traffic(c->h2);
    uint64_t frames = now.frames - c->before.frames;
    uint64_t body_kib = (now.body_bytes - c->before.body_bytes) / 1024;
    bool resets_many = now.resets - c->before.resets > TBP_GRPC_MAX_RESETS_PER_S;
    if (!resets_many && frames <= TBP_GRPC_MAX_FRAMES_PER_S + body_kib)
        return TBP_OK;
    tbp_h2_goaway(c->h2);
    return resets_many ? tbp_fail(err, TBP_E_LIMIT, "more than %d streams were reset in a second",
                                  TBP_GRPC_MAX_RESETS_PER_S)
                       : tbp_fail(err, TBP_E_LIMIT, "%" PRIu64 " frames came in a second", frames);
}

/* Headers are known as such once the head of their frame is there, which a peer may never send. */
static void watch_frame(struct tbp_grpc_conn *c) {
    uint64_t frame = tbp_h2_traffic(c->h2).open_frame;
    if (frame != c->open_frame)
        c->frame_ns = c->now_ns;
    c->open_frame = frame;
}

static int input_h2(struct tbp_grpc_conn *c, const uint8_t *p, size_t n, struct tbp_error *err) {
    if (c->now_ns - c->second_ns >= SECOND_NS) {
        c->second_ns = c->now_ns;
        c->before = tbp_h2_traffic(c->h2);
    }
    int status = tbp_h2_input(c->h2, p, n, err);
    watch_frame(c);
    return status ? status : check_traffic(c, err);
}

/* A browser or curl: one line, whatever was asked for. Others (TLS, noise) get nothing. */
static int input_http1(struct tbp_grpc_conn *c) {
    static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                               "Content-Length: 42\r\nConnection: close\r\n\r\n"
                               "tbprof profiler server: use a gRPC client\n";
    static const char *const methods[] = {"GET ", "HEAD ", "POST ", "PUT ", "OPTIONS "};
    c->front = FRONT_CLOSE;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        size_t n = strlen(methods[i]);
        if (c->sniffed < n || memcmp(c->sniff, methods[i], n) != 0)
            continue;
        c->front = FRONT_HTTP1;
        c->http1_text = text;
    }
    return TBP_OK;
}

/* The first 24 bytes tell HTTP/2 from anything else. */
static int input_sniff(struct tbp_grpc_conn *c, const uint8_t *p, size_t n, struct tbp_error *err) {
    size_t take = n < PREFACE - c->sniffed ? n : PREFACE - c->sniffed;
    memcpy(c->sniff + c->sniffed, p, take);
    c->sniffed += take;
    if (memcmp(c->sniff, preface, c->sniffed) != 0) {
        /* wait for a whole method */
        return c->sniffed < 8 && take == n && c->sniff[0] >= 'A' && c->sniff[0] <= 'Z'
                   ? TBP_OK
                   : input_http1(c);
    }
    if (c->sniffed < PREFACE)
        return TBP_OK;
    c->front = FRONT_H2;
    int status = input_h2(c, c->sniff, PREFACE, err);
    return status ? status : input_h2(c, p + take, n - take, err);
}

int tbp_grpc_conn_input(struct tbp_grpc_conn *c, const uint8_t *p, size_t n, int64_t now_ns,
                        struct tbp_error *err) {
    c->now_ns = now_ns;
    if (c->front == FRONT_SNIFF)
        return input_sniff(c, p, n, err);
    return c->front == FRONT_H2 ? input_h2(c, p, n, err) : TBP_OK;
}

int tbp_grpc_conn_output(struct tbp_grpc_conn *c, const uint8_t **p, size_t *n, int64_t now_ns,
                         struct tbp_error *err) {
    c->now_ns = now_ns;
    *n = 0;
    if (c->front == FRONT_HTTP1 && c->http1_text) {
        *p = (const uint8_t *)c->http1_text;
        *n = strlen(c->http1_text);
        c->http1_text = NULL;
        return TBP_OK;
    }
    if (c->front != FRONT_H2) /* an HTTP/1 client must not see our SETTINGS */
        return TBP_OK;
    return tbp_h2_output(c->h2, p, n, err);
}

bool tbp_grpc_conn_wants_output(const struct tbp_grpc_conn *c) {
    return c->front == FRONT_HTTP1 ? c->http1_text != NULL
                                   : c->front == FRONT_H2 && tbp_h2_wants_output(c->h2);
}

bool tbp_grpc_conn_is_done(const struct tbp_grpc_conn *c) {
    if (c->front == FRONT_HTTP1)
        return !c->http1_text;
    return c->front == FRONT_CLOSE || tbp_h2_is_done(c->h2);
}

size_t tbp_grpc_conn_open_calls(const struct tbp_grpc_conn *c) {
    size_t n = 0;
    for (size_t i = 0; i < TBP_H2_MAX_STREAMS; i++)
        n += c->streams[i].id != 0;
    return n;
}

struct tbp_grpc_owed tbp_grpc_conn_owed(const struct tbp_grpc_conn *c) {
    struct tbp_grpc_owed owed = {0};
    for (size_t i = 0; i < TBP_H2_MAX_STREAMS; i++) {
        const struct stream *s = &c->streams[i];
        owed.waiting += s->id && s->is_whole && !s->is_answered;
        owed.taking += s->id && s->is_answered;
    }
    return owed;
}

/* ---- times ---- */

/* When the peer must have gone on with this stream. */
static int64_t stream_due_ns(const struct stream *s) {
    if (s->is_answered) {
        int64_t n_bytes = (int64_t)(s->reply.head.n + s->reply.big_n);
        int64_t whole = s->answered_ns +
                        (TBP_GRPC_STALL_S + n_bytes / TBP_GRPC_SLOWEST_BYTES_PER_S) * SECOND_NS;
        int64_t next = s->progress_ns + TBP_GRPC_STALL_S * SECOND_NS;
        return next < whole ? next : whole;
    }
    if (s->is_whole)
        return s->deadline_ns;
    return s->begun_ns + (s->has_body ? TBP_GRPC_REQUEST_S : TBP_GRPC_HEADERS_S) * SECOND_NS;
}

static int64_t frame_due_ns(const struct tbp_grpc_conn *c) {
    return c->open_frame ? c->frame_ns + TBP_GRPC_FRAME_S * SECOND_NS : TBP_GRPC_FOREVER;
}

int64_t tbp_grpc_conn_due_ns(const struct tbp_grpc_conn *c) {
    int64_t due = frame_due_ns(c);
    if (c->front != FRONT_H2)
        return c->begun_ns + TBP_GRPC_PREFACE_S * SECOND_NS;
    if (tbp_grpc_conn_open_calls(c) == 0) {
        int64_t idle_due = c->idle_ns + TBP_GRPC_IDLE_S * SECOND_NS;
        return idle_due < due ? idle_due : due;
    }
    for (size_t i = 0; i < TBP_H2_MAX_STREAMS; i++) {
        const struct stream *s = &c->streams[i];
        int64_t at = s->id ? stream_due_ns(s) : TBP_GRPC_FOREVER;
        due = at < due ? at : due;
    }
    return due;
}

int tbp_grpc_conn_tick(struct tbp_grpc_conn *c, int64_t now_ns, struct tbp_error *err) {
    c->now_ns = now_ns;
    if (now_ns < tbp_grpc_conn_due_ns(c))
        return TBP_OK;
    if (c->front != FRONT_H2 || tbp_grpc_conn_open_calls(c) == 0 || now_ns >= frame_due_ns(c))
        return tbp_fail(err, TBP_E_LIMIT, "the peer was silent for too long");
    for (size_t i = 0; i < TBP_H2_MAX_STREAMS; i++) {
        struct stream *s = &c->streams[i];
        if (!s->id || now_ns < stream_due_ns(s))
            continue;
        if (s->is_answered || !s->is_whole)
            return tbp_fail(err, TBP_E_LIMIT, "the peer was too slow");
        uint64_t id = call_id(c, s);
        fail(c, s, TBP_GRPC_DEADLINE_EXCEEDED, "the deadline that the client set has passed");
        c->service->dropped(c->service->ctx, id);
    }
    return TBP_OK;
}
