/* SPDX-License-Identifier: Apache-2.0
 *
 * HTTP/2 through libnghttp2: one nghttp2 session with our limits, and its callbacks turned into
 * those of h2_session.h. No socket, no clock.
 */
#include "capture/h2_session.h"

#include "base/arena.h"
#include "capture/h2_acks.h"
#include "capture/h2_plain.h"

#include <inttypes.h>
#include <nghttp2/nghttp2.h>

enum { MAX_HEADERS = 16, MAX_PENDING_ACKS = 200, MAX_SETTINGS = 32 };

struct tbp_h2 {
    struct tbp_arena arena; /* holds this struct */
    nghttp2_session *session;
    const struct tbp_h2_handler *handler;
    void *ctx;
    bool is_server;
    uint64_t resets, body_bytes;
    struct tbp_h2_acks acks;         /* servers */
    uint8_t plain[TBP_H2_PLAIN_MAX]; /* servers: the header block that goes out */
};

static int stream_result(int status) {
    return status == TBP_OK ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

/* Headers that open an exchange or answer one; trailers of a response come as `header` alone. */
static int on_begin_headers(nghttp2_session *s, const nghttp2_frame *frame, void *ctx) {
    struct tbp_h2 *h = ctx;
    (void)s;
    bool is_first = frame->headers.cat == NGHTTP2_HCAT_REQUEST;
    if (frame->hd.type != NGHTTP2_HEADERS || !h->is_server || !is_first)
        return 0;
    return stream_result(h->handler->headers_begin(h->ctx, frame->hd.stream_id));
}

static int on_header(nghttp2_session *s, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_n, const uint8_t *value, size_t value_n, uint8_t flags,
                     void *ctx) {
    struct tbp_h2 *h = ctx;
    (void)s, (void)flags;
    if (frame->hd.type != NGHTTP2_HEADERS)
        return 0;
    struct tbp_str n = {(const char *)name, name_n}, v = {(const char *)value, value_n};
    return stream_result(h->handler->header(h->ctx, frame->hd.stream_id, n, v));
}

static int on_data(nghttp2_session *s, uint8_t flags, int32_t stream, const uint8_t *p, size_t n,
                   void *ctx) {
    struct tbp_h2 *h = ctx;
    (void)flags;
    h->body_bytes += n;
    /* nghttp2 knows no "reset this stream" as the answer of this callback */
    if (h->handler->data(h->ctx, stream, p, n) != TBP_OK)
        return nghttp2_submit_rst_stream(s, 0, stream, NGHTTP2_REFUSED_STREAM);
    return 0;
}

static int on_frame(nghttp2_session *s, const nghttp2_frame *frame, void *ctx) {
    struct tbp_h2 *h = ctx;
    uint8_t type = frame->hd.type;
    if (type == NGHTTP2_RST_STREAM)
        h->resets++;
    bool carries = type == NGHTTP2_HEADERS || type == NGHTTP2_DATA;
    if (!carries || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    if (h->handler->ended(h->ctx, frame->hd.stream_id) != TBP_OK)
        return nghttp2_submit_rst_stream(s, 0, frame->hd.stream_id, NGHTTP2_INTERNAL_ERROR);
    return 0;
}

static int on_close(nghttp2_session *s, int32_t stream, uint32_t error, void *ctx) {
    struct tbp_h2 *h = ctx;
    (void)s;
    h->handler->closed(h->ctx, stream, error);
    return 0;
}

static nghttp2_nv as_nv(const struct tbp_h2_header *header) {
    return (nghttp2_nv){
        .name = (uint8_t *)(uintptr_t)header->name.p,
        .namelen = header->name.n,
        .value = (uint8_t *)(uintptr_t)header->value.p,
        .valuelen = header->value.n,
        .flags = NGHTTP2_NV_FLAG_NO_INDEX,
    };
}

static size_t as_nvs(nghttp2_nv to[MAX_HEADERS], const struct tbp_h2_header *headers, size_t n) {
    TBP_BUG_IF(n > MAX_HEADERS);
    for (size_t i = 0; i < n; i++)
        to[i] = as_nv(&headers[i]);
    return n;
}

static ssize_t read_body(nghttp2_session *s, int32_t stream, uint8_t *to, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *ctx) {
    struct tbp_h2 *h = ctx;
    struct tbp_h2_header headers[MAX_HEADERS];
    nghttp2_nv trailers[MAX_HEADERS];
    bool is_last = false;
    (void)source;
    ssize_t n = h->handler->body(h->ctx, stream, to, size, &is_last);
    if (n < 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    h->body_bytes += (uint64_t)n;
    if (!is_last)
        return n;
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    if (!h->is_server)
        return n;
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    size_t n_trailers =
        as_nvs(trailers, headers, h->handler->trailers(h->ctx, stream, headers, MAX_HEADERS));
    if (nghttp2_submit_trailer(s, stream, trailers, n_trailers) != 0)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    return n;
}

static int nghttp2_failure(struct tbp_error *err, const char *what, int code) {
    int status = code == NGHTTP2_ERR_NOMEM ? TBP_E_MEMORY : TBP_E_FORMAT;
    return tbp_fail(err, status, "%s failed: %s", what, nghttp2_strerror(code));
}

static int make_session(struct tbp_h2 *h) {
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    int code = nghttp2_session_callbacks_new(&callbacks);
    if (code == 0)
        code = nghttp2_option_new(&option);
    if (code == 0) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
        nghttp2_option_set_max_outbound_ack(option, MAX_PENDING_ACKS);
        nghttp2_option_set_max_settings(option, MAX_SETTINGS);
        nghttp2_option_set_no_closed_streams(option, 1);
        code = h->is_server ? nghttp2_session_server_new2(&h->session, callbacks, h, option)
                            : nghttp2_session_client_new2(&h->session, callbacks, h, option);
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return code;
}

/* Clients take answers of hundreds of megabytes, servers small requests. */
static int first_settings(struct tbp_h2 *h) {
    const nghttp2_settings_entry server[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, TBP_H2_MAX_STREAMS},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, TBP_H2_MAX_HEADER_BYTES},
    };
    const nghttp2_settings_entry client[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 4 << 20},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, TBP_H2_MAX_HEADER_BYTES},
    };
    if (h->is_server)
        return nghttp2_submit_settings(h->session, 0, server, sizeof server / sizeof *server);
    int code = nghttp2_submit_settings(h->session, 0, client, sizeof client / sizeof *client);
    if (code != 0)
        return code;
    return nghttp2_session_set_local_window_size(h->session, 0, 0, 4 << 20);
}

int tbp_h2_new(struct tbp_h2 **out, bool is_server, const struct tbp_h2_handler *handler, void *ctx,
               struct tbp_error *err) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_h2 *h = TBP_NEW(&arena, struct tbp_h2);
    *h = (struct tbp_h2){.arena = arena, .handler = handler, .ctx = ctx, .is_server = is_server};
    h->acks = (struct tbp_h2_acks){.preface_left = NGHTTP2_CLIENT_MAGIC_LEN, .n_allowed = 1};
    int code = make_session(h);
    if (code == 0)
        code = first_settings(h);
    *out = h;
    if (code == 0)
        return TBP_OK;
    tbp_h2_free(h);
    *out = NULL;
    return nghttp2_failure(err, "beginning an HTTP/2 connection", code);
}

void tbp_h2_free(struct tbp_h2 *h) {
    if (!h)
        return;
    nghttp2_session_del(h->session); /* calls no callbacks */
    struct tbp_arena arena = h->arena;
    tbp_arena_release(&arena);
}

static int input(struct tbp_h2 *h, const uint8_t *p, size_t n, struct tbp_error *err) {
    ssize_t taken = nghttp2_session_mem_recv(h->session, p, n);
    if (taken == NGHTTP2_ERR_FLOODED)
        tbp_h2_goaway(h);
    return taken < 0 ? nghttp2_failure(err, "reading HTTP/2", (int)taken) : TBP_OK;
}

int tbp_h2_input(struct tbp_h2 *h, const uint8_t *p, size_t n, struct tbp_error *err) {
    const uint8_t *piece;
    size_t size;
    int status = TBP_OK;
    if (!h->is_server)
        return input(h, p, n, err);
    while (!status && (size = tbp_h2_acks_next(&h->acks, &p, &n, &piece)))
        status = input(h, piece, size, err);
    return status;
}

int tbp_h2_output(struct tbp_h2 *h, const uint8_t **p, size_t *n, struct tbp_error *err) {
    ssize_t size = nghttp2_session_mem_send(h->session, p);
    *n = size > 0 ? (size_t)size : 0;
    if (size < 0)
        return nghttp2_failure(err, "writing HTTP/2", (int)size);
    bool is_headers = *n > TBP_H2_FRAME_HEAD && (*p)[3] == NGHTTP2_HEADERS;
    size_t plain_n = h->is_server && is_headers ? tbp_h2_plain_headers(h->plain, *p, *n) : 0;
    if (plain_n) {
        *p = h->plain;
        *n = plain_n;
    }
    return TBP_OK;
}

bool tbp_h2_wants_output(const struct tbp_h2 *h) {
    return nghttp2_session_want_write(h->session) != 0;
}

bool tbp_h2_is_done(const struct tbp_h2 *h) {
    return !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session);
}

int32_t tbp_h2_request(struct tbp_h2 *h, const struct tbp_h2_header *headers, size_t n,
                       struct tbp_error *err) {
    nghttp2_nv nvs[MAX_HEADERS];
    nghttp2_data_provider body = {.read_callback = read_body};
    n = as_nvs(nvs, headers, n);
    int32_t stream = nghttp2_submit_request(h->session, NULL, nvs, n, &body, NULL);
    if (stream < 0)
        return nghttp2_failure(err, "sending a request", stream);
    return stream;
}

int tbp_h2_respond(struct tbp_h2 *h, int32_t stream, const struct tbp_h2_header *headers, size_t n,
                   bool has_body, struct tbp_error *err) {
    nghttp2_nv nvs[MAX_HEADERS];
    nghttp2_data_provider body = {.read_callback = read_body};
    n = as_nvs(nvs, headers, n);
    int code = nghttp2_submit_response(h->session, stream, nvs, n, has_body ? &body : NULL);
    return code == 0 ? TBP_OK : nghttp2_failure(err, "sending an answer", code);
}

void tbp_h2_reset(struct tbp_h2 *h, int32_t stream) {
    (void)nghttp2_submit_rst_stream(h->session, 0, stream, NGHTTP2_CANCEL);
}

void tbp_h2_goaway(struct tbp_h2 *h) {
    int32_t last = nghttp2_session_get_last_proc_stream_id(h->session);
    (void)nghttp2_submit_goaway(h->session, 0, last, NGHTTP2_ENHANCE_YOUR_CALM, NULL, 0);
}

struct tbp_h2_traffic tbp_h2_traffic(const struct tbp_h2 *h) {
    return (struct tbp_h2_traffic){h->resets, h->acks.n_frames, tbp_h2_acks_open_frame(&h->acks),
                                   h->body_bytes};
}
