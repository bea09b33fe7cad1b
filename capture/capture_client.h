/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks capture servers (ours, TensorFlow's, JAX's) for a profile: all hosts at once with one start
 * time, into one run. Says of each host what came of it, and of those that gave nothing whether
 * they were out of reach, idle, or in trouble.
 *
 * Ownership: results lie in the arena given. Thread-safety: none needed, no state.
 */
#ifndef TBP_CAPTURE_CAPTURE_CLIENT_H
#define TBP_CAPTURE_CAPTURE_CLIENT_H

#include "capture/grpc_client.h"

enum tbp_capture_result {
    TBP_CAPTURE_SAVED,       /* its file is in the run */
    TBP_CAPTURE_UNREACHABLE, /* nobody there who answers */
    TBP_CAPTURE_IDLE,        /* answers, but nothing happened that could be recorded */
    TBP_CAPTURE_REFUSED,     /* answers with an error, or its profiler reports one */
    TBP_CAPTURE_ELSEWHERE,   /* says that it wrote a file, which is not to be seen here */
    TBP_CAPTURE_ENDED,       /* went away while it was captured */
    TBP_CAPTURE_SAME,        /* not asked: the server of another target */
};
const char *tbp_capture_result_name(enum tbp_capture_result result); /* "saved", "unreachable" … */

/* What the authors of a profile say about it: what it lacks, and why. */
struct tbp_capture_texts {
    const char **at;
    size_t n;
};

struct tbp_capture_host {
    struct tbp_target target;
    enum tbp_capture_result result;
    int status;       /* enum tbp_grpc_status of the last attempt */
    const char *text; /* a sentence for people */
    const char *file; /* NULL: none */
    uint64_t size_bytes, n_events, n_steps;
    unsigned attempts;
    bool was_lost; /* at one of them the connection ended before the answer */
    bool has_clock_offset;
    int64_t clock_offset_ns;                   /* the host's clock minus ours */
    struct tbp_capture_texts errors, warnings; /* inside its profile */
};

struct tbp_capture_plan {
    struct tbp_targets targets;
    const char *const *workers; /* not NULL: one call to the first target for all of these */
    size_t n_workers;
    const char *logdir;     /* runs go to <logdir>/plugins/profile */
    const char *session_id; /* NULL: the time; one that exists gets "_1", "_2" … */
    uint64_t duration_ms, delay_ms;
    unsigned attempts;
    unsigned host_level, device_level, python_level;
    const char *override_hostname, *token;
    const atomic_bool *cancel;
    /* Both may be NULL. told: after each attempt. store: instead of a file in the run folder. */
    void (*told)(void *ctx, const struct tbp_capture_host *host, bool is_over);
    int (*store)(void *ctx, const char *host, const char *suffix, struct tbp_str bytes,
                 struct tbp_error *err);
    void *ctx;
};

struct tbp_capture_outcome {
    const char *run, *folder;
    struct tbp_capture_host *hosts;
    size_t n_hosts, n_saved;
    int64_t start_realtime_ns;
};

/* Fails when nothing could be tried at all; else look at the hosts. */
int tbp_capture_trace(const struct tbp_capture_plan *plan, struct tbp_arena *arena,
                      struct tbp_capture_outcome *out, struct tbp_error *err);

struct tbp_monitor_answer {
    int status;
    bool was_reached;
    const char *text;
};
int tbp_capture_monitor(const struct tbp_target *target, uint64_t duration_ms, int level,
                        bool shows_time, const char *token, struct tbp_arena *arena,
                        struct tbp_monitor_answer *out, struct tbp_error *err);

#endif
