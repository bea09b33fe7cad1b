/* SPDX-License-Identifier: Apache-2.0
 *
 * Requests that a server answered, with the parts of their latency, from the host plane of each
 * host. Source: spec pages/RULES.md 8 and pages/inference.py L1-L4. Ownership: the session's arena.
 * Const after creation.
 */
#ifndef TBP_CONVERT_ANALYZE_REQUESTS_H
#define TBP_CONVERT_ANALYZE_REQUESTS_H

#include "convert/analyze/session.h"

/* Whose model answered. */
enum tbp_request_model {
    TBP_MODEL_NONE,    /* told by nobody, or several models */
    TBP_MODEL_UNKNOWN, /* no batch to ask: such requests are counted in any case */
    TBP_MODEL_KNOWN,
};

struct tbp_served_request {
    enum tbp_request_model model;
    double total_us, host_us, device_us, communication_us;
};

struct tbp_request_table {
    struct tbp_served_request *requests;
    size_t n_requests;
};

enum { TBP_LATENCY_ROWS = 6 };
struct tbp_latency {
    const char *label; /* "Avg", "50.0%" … "99.9%" */
    struct tbp_served_request request;
};

extern const struct tbp_analysis tbp_analysis_requests;
const struct tbp_request_table *tbp_requests(struct tbp_session *s, uint32_t host,
                                             struct tbp_error *err);

/* The rows of the latency table; returns their number: 0 without requests, else all. */
size_t tbp_latency_rows(const struct tbp_request_table *t, struct tbp_arena *a,
                        struct tbp_latency rows[TBP_LATENCY_ROWS]);

#endif
