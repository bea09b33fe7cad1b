/* SPDX-License-Identifier: Apache-2.0
 *
 * The one thread ("tbprof-capture") that runs what clients ask for: sessions of given length,
 * continuous ones with snapshots, monitoring. Jobs come from the server's thread, are done one
 * after another, and go back to it through `done` (which wakes it). While a job waits for its time
 * the thread sleeps; no thread of the program waits for it.
 *
 * Ownership: jobs lie in the worker; between take and release one belongs to the caller.
 * Thread-safety: all functions may be called from any thread.
 */
#ifndef TBP_CAPTURE_CAPTURE_WORKER_H
#define TBP_CAPTURE_CAPTURE_WORKER_H

#include "capture/capture_monitor.h"
#include "capture/capture_request.h"
#include "capture/capture_save.h"

#include <pthread.h>

enum { TBP_CAPTURE_MAX_JOBS = 24, TBP_CAPTURE_MAX_ALIKE = 4 };

enum tbp_capture_kind {
    TBP_CAPTURE_PROFILE,
    TBP_CAPTURE_MONITOR,
    TBP_CAPTURE_CONTINUOUS_START,
    TBP_CAPTURE_CONTINUOUS_STOP,
    TBP_CAPTURE_SNAPSHOT
};
enum tbp_capture_state {
    TBP_CAPTURE_FREE,
    TBP_CAPTURE_QUEUED,
    TBP_CAPTURE_RUNNING,
    TBP_CAPTURE_DONE,
};

struct tbp_capture_job {
    enum tbp_capture_state state;
    enum tbp_capture_kind kind;
    uint64_t call_id, order;
    struct tbp_arena arena; /* what the request's texts lie in */
    struct tbp_capture_request request;
    struct tbp_save_target save; /* root NULL: the profile goes back in the answer */
    int monitoring_level;
    bool shows_time;
    bool is_cancelled; /* nobody waits for the answer */
    bool is_ended;     /* Terminate: the time is over now */
    /* the result */
    int status;
    char text[TBP_GRPC_TEXT];
    uint8_t *bytes; /* from ops->collect */
    size_t size_bytes;
    bool is_empty, is_saved;
    char *monitor_text;
    struct tbp_capture_scan scan; /* its texts are not valid any more */
    uint64_t recorded_ms;
};

struct tbp_capture_worker;
/* done: called by the worker's thread when a job is done. */
int tbp_capture_worker_new(struct tbp_capture_worker **out, const struct tbp_session_ops *ops,
                           void (*done)(void *ctx), void *ctx, struct tbp_error *err);
/* Jobs that record end now, with what they have, and no other one begins to record. The thread ends
 * when all are done; none may be queued any more. */
void tbp_capture_worker_end(struct tbp_capture_worker *w);
/* Ends and joins, stops a continuous session. */
void tbp_capture_worker_free(struct tbp_capture_worker *w);

/* A free job with an empty arena, or NULL if all are in use. */
struct tbp_capture_job *tbp_capture_job_new(struct tbp_capture_worker *w);
/* Gives a job to the worker. False: it will not be done, *refusal says why, the job is free. */
bool tbp_capture_job_queue(struct tbp_capture_worker *w, struct tbp_capture_job *job,
                           struct tbp_grpc_reply *refusal);
/* The next job that is done, or NULL; to be given back. */
struct tbp_capture_job *tbp_capture_job_take(struct tbp_capture_worker *w);
void tbp_capture_job_release(struct tbp_capture_worker *w, struct tbp_capture_job *job);

/* Whether a capture that was to begin at begin_ns and began at started_ns is late, and why: before
 * rested_ns it was too early for another one. Times are monotonic. */
bool tbp_capture_late_text(char *to, size_t size, int64_t begin_ns, int64_t rested_ns,
                           int64_t started_ns);

void tbp_capture_cancel(struct tbp_capture_worker *w, uint64_t call_id);
/* Ends captures of this run; false: there is none (yet). */
bool tbp_capture_terminate(struct tbp_capture_worker *w, const char *session_id);

#endif
