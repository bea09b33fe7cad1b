/* SPDX-License-Identifier: Apache-2.0
 *
 * What the server does: the methods of tensorflow.ProfilerService and tensorflow.ProfileAnalysis.
 * THE TABLE of methods is in capture_service.c. Requests are read and refused on the server's
 * thread; what takes time is the worker's (capture_worker.h).
 *
 * Ownership: borrows the configuration's texts. Thread-safety: the server's thread, but for new and
 * free.
 */
#ifndef TBP_CAPTURE_CAPTURE_SERVICE_H
#define TBP_CAPTURE_CAPTURE_SERVICE_H

#include "capture/capture_worker.h"

/* Where a profile goes: back in the answer, to the client's folder on this machine, or the latter
 * where client and folder are of this machine. */
enum tbp_capture_mode { TBP_CAPTURE_TO_CLIENT, TBP_CAPTURE_TO_DISK, TBP_CAPTURE_TO_EITHER };

struct tbp_capture_service_config {
    const struct tbp_session_ops *ops;
    struct tbp_capture_policy policy;
    enum tbp_capture_mode mode;
    const char *allowed; /* folders that may be written to, with ':' between them; NULL: none */
    bool allows_remote_workers; /* NewSession may connect to other machines */
    void (*wake)(void *ctx);    /* asks for a call of tbp_capture_service_woken */
    void (*reply)(void *ctx, uint64_t call_id, struct tbp_grpc_reply *reply);
    void *ctx;
};

struct tbp_capture_service;
int tbp_capture_service_new(struct tbp_capture_service **out,
                            const struct tbp_capture_service_config *config, struct tbp_error *err);
void tbp_capture_service_free(struct tbp_capture_service *s);

/* Those of struct tbp_grpc_service; ctx is the service. */
void tbp_capture_service_call(void *ctx, struct tbp_grpc_conn *conn,
                              const struct tbp_grpc_call *call);
void tbp_capture_service_dropped(void *ctx, uint64_t call_id);
/* Answers what is done by now. */
void tbp_capture_service_woken(void *ctx);
/* The server stops: captures that run are answered soon, with what they have, others refused. */
void tbp_capture_service_end(void *ctx);

#endif
