/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of h2_session.c where libnghttp2 was missing at build time: says so.
 */
#include "capture/h2_session.h"

int tbp_h2_new(struct tbp_h2 **out, bool is_server, const struct tbp_h2_handler *handler, void *ctx,
               struct tbp_error *err) {
    (void)is_server, (void)handler, (void)ctx;
    *out = NULL;
    return tbp_fail(err, TBP_E_UNSUPPORTED,
                    "this build cannot capture over the network: "
                    "libnghttp2 was missing when it was made");
}

void tbp_h2_free(struct tbp_h2 *h) {
    (void)h;
}

int tbp_h2_input(struct tbp_h2 *h, const uint8_t *p, size_t n, struct tbp_error *err) {
    (void)h, (void)p, (void)n;
    return tbp_fail(err, TBP_E_UNSUPPORTED, "no HTTP/2");
}

int tbp_h2_output(struct tbp_h2 *h, const uint8_t **p, size_t *n, struct tbp_error *err) {
    (void)h, (void)p;
    *n = 0;
    return tbp_fail(err, TBP_E_UNSUPPORTED, "no HTTP/2");
}

bool tbp_h2_wants_output(const struct tbp_h2 *h) {
    (void)h;
    return false;
}

bool tbp_h2_is_done(const struct tbp_h2 *h) {
    (void)h;
    return true;
}

int32_t tbp_h2_request(struct tbp_h2 *h, const struct tbp_h2_header *headers, size_t n,
                       struct tbp_error *err) {
    (void)h, (void)headers, (void)n;
    return tbp_fail(err, TBP_E_UNSUPPORTED, "no HTTP/2");
}

int tbp_h2_respond(struct tbp_h2 *h, int32_t stream, const struct tbp_h2_header *headers, size_t n,
                   bool has_body, struct tbp_error *err) {
    (void)h, (void)stream, (void)headers, (void)n, (void)has_body;
    return tbp_fail(err, TBP_E_UNSUPPORTED, "no HTTP/2");
}

void tbp_h2_reset(struct tbp_h2 *h, int32_t stream) {
    (void)h, (void)stream;
}

void tbp_h2_goaway(struct tbp_h2 *h) {
    (void)h;
}

struct tbp_h2_traffic tbp_h2_traffic(const struct tbp_h2 *h) {
    (void)h;
    return (struct tbp_h2_traffic){0};
}
