/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread that runs captures; see capture_worker.h. One mutex guards the jobs' states and the
 * wishes of others (cancel, end); a running job's other fields are the worker's alone.
 */
#include "capture/capture_worker.h"

#include "base/guard.h"
#include "base/quiet_thread.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum {
    REST_NS = 1000000000, /* from the end of one capture to the start of the next */
    LATE_NS = 100000000   /* a start that comes later is told */
};

struct tbp_capture_worker {
    struct tbp_arena arena; /* holds this struct */
    const struct tbp_session_ops *ops;
    void (*done)(void *ctx);
    void *ctx;
    pthread_t thread;
    bool is_running, stops, is_continuous;
    bool traces_python; /* the session that runs; of the worker alone */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t last_order;
    int64_t rested_ns; /* monotonic: when the next capture may begin */
    uint32_t generation;
    struct tbp_capture_job jobs[TBP_CAPTURE_MAX_JOBS];
};

/* ---- waiting ---- */

static struct timespec timespec_of(int64_t ns) {
    return (struct timespec){ns / 1000000000, ns % 1000000000};
}

/* Until then, or until somebody wants the job to end. */
static void wait_until(struct tbp_capture_worker *w, const struct tbp_capture_job *job,
                       int64_t monotonic_ns) {
    struct timespec until = timespec_of(monotonic_ns);
    pthread_mutex_lock(&w->lock);
    while (!w->stops && !job->is_cancelled && !job->is_ended && tbp_monotonic_ns() < monotonic_ns)
        pthread_cond_timedwait(&w->wake, &w->lock, &until);
    pthread_mutex_unlock(&w->lock);
}

static bool is_unwanted(struct tbp_capture_worker *w, const struct tbp_capture_job *job) {
    pthread_mutex_lock(&w->lock);
    bool is = job->is_cancelled;
    pthread_mutex_unlock(&w->lock);
    return is;
}

static bool is_stopping(struct tbp_capture_worker *w) {
    pthread_mutex_lock(&w->lock);
    bool is = w->stops;
    pthread_mutex_unlock(&w->lock);
    return is;
}

/* ---- sessions ---- */

static void fail(struct tbp_capture_job *job, int status, const char *text) {
    job->status = status;
    snprintf(job->text, sizeof job->text, "%s", text);
}

static void fail_from_session(struct tbp_capture_worker *w, struct tbp_capture_job *job,
                              tbprof_status status) {
    fail(job, (int)status, w->ops->last_error());
}

static bool start_session(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    tbprof_status status = w->ops->start("", &job->request.options);
    if (status != TBPROF_OK) {
        fail_from_session(w, job, status);
        return false;
    }
    w->generation = w->ops->generation();
    if (job->request.warning)
        w->ops->warn(job->request.warning);
    w->traces_python = job->request.options.python_tracer_level > 0 && w->ops->trace_python;
    if (w->traces_python)
        w->ops->trace_python(job->request.options.python_tracer_level);
    return true;
}

/* Before records are taken: what the tracer has to say goes to the profile. */
static void stop_python(struct tbp_capture_worker *w) {
    if (w->traces_python)
        w->ops->trace_python(0);
    w->traces_python = false;
}

/* A profile that lost all that happened is not empty: it says so. */
static void look_into(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    tbprof_counts counts = {.struct_size = sizeof counts};
    bool has_lost = w->ops->stats(&counts) == TBPROF_OK && tbp_capture_lost(&counts) > 0;
    tbp_capture_scan(&job->scan, (struct tbp_str){(const char *)job->bytes, job->size_bytes});
    job->is_empty = job->scan.n_events == 0 && job->scan.errors.n == 0 && !has_lost;
}

/* The program may have ended our session itself, and begun another one: that is not ours to take.
 */
static bool collect(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    if (w->ops->generation() != w->generation) {
        fail(job, TBP_GRPC_UNAVAILABLE, "the program itself stopped the session");
        return false;
    }
    tbprof_status status = w->ops->collect(&job->bytes, &job->size_bytes);
    if (status != TBPROF_OK) {
        fail_from_session(w, job, status);
        return false;
    }
    look_into(w, job);
    return true;
}

static void stop_session(struct tbp_capture_worker *w) {
    stop_python(w);
    if (w->ops->generation() == w->generation)
        w->ops->stop(0);
}

bool tbp_capture_late_text(char *to, size_t size, int64_t begin_ns, int64_t rested_ns,
                           int64_t started_ns) {
    int64_t late_ns = started_ns - begin_ns;
    if (late_ns <= LATE_NS)
        return false;
    snprintf(
        to, size, "recording began %.3f s later than it was asked for: %s", (double)late_ns / 1e9,
        rested_ns - begin_ns > late_ns / 2 ? "captures of a process are at least a second apart"
                                           : "the process was slow to start it");
    return true;
}

/* The server stops: what was recorded by now is delivered, and says so. */
static void tell_early(struct tbp_capture_worker *w, const struct tbp_capture_job *job) {
    char text[160];
    if (!is_stopping(w) || job->recorded_ms >= job->request.duration_ms)
        return;
    snprintf(text, sizeof text,
             "recording ended after %.3f s instead of %.3f s: the program ended, or stopped its "
             "server",
             (double)job->recorded_ms / 1e3, (double)job->request.duration_ms / 1e3);
    w->ops->warn(text);
}

/* Starts when it is time, waits, stops recording. False: there is nothing to collect. */
static bool record(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    int64_t begin_ns = tbp_monotonic_ns();
    int64_t ahead_ns = job->request.start_realtime_ns - tbp_realtime_ns();
    if (job->request.start_realtime_ns && ahead_ns > 0)
        begin_ns += ahead_ns;
    wait_until(w, job, begin_ns > w->rested_ns ? begin_ns : w->rested_ns);
    if (is_stopping(w))
        fail(job, TBP_GRPC_UNAVAILABLE, "the server was stopped before recording began");
    if (job->status || is_unwanted(w, job) || !start_session(w, job))
        return false;
    int64_t started_ns = tbp_monotonic_ns();
    char late[160];
    if (job->request.start_realtime_ns &&
        tbp_capture_late_text(late, sizeof late, begin_ns, w->rested_ns, started_ns))
        w->ops->warn(late);
    wait_until(w, job, started_ns + (int64_t)job->request.duration_ms * 1000000);
    stop_python(w);
    if (w->ops->generation() == w->generation)
        w->ops->pause();
    job->recorded_ms = (uint64_t)(tbp_monotonic_ns() - started_ns) / 1000000;
    tell_early(w, job);
    return true;
}

static void save(struct tbp_capture_job *job) {
    struct tbp_error err = {0};
    if (tbp_capture_save(&job->save, job->bytes, job->size_bytes, &err) == TBP_OK) {
        job->is_saved = true;
        return;
    }
    fail(job, err.code == TBP_E_USAGE ? TBP_GRPC_PERMISSION_DENIED : TBP_GRPC_INTERNAL,
         err.message);
}

static void run_profile(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    if (!record(w, job))
        return;
    bool is_unwanted_now = is_unwanted(w, job);
    bool has_profile = !is_unwanted_now && collect(w, job);
    stop_session(w);
    w->rested_ns = tbp_monotonic_ns() + REST_NS;
    if (has_profile && !job->is_empty && job->save.root)
        save(job);
}

/* ---- the other kinds ---- */

/* A short session of its own, where there is none yet: the steps in it are what is told. */
static void record_for_monitor(struct tbp_capture_worker *w, struct tbp_capture_job *job,
                               struct tbp_monitor *m) {
    m->why_no_scan = "a continuous session is running";
    if (w->is_continuous)
        return;
    m->why_no_scan = job->text;
    if (!record(w, job))
        return;
    if (collect(w, job))
        m->scan = &job->scan;
    m->recorded_ms = job->recorded_ms ? job->recorded_ms : 1;
    stop_session(w);
}

static void run_monitor(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    enum { TEXT_BYTES = 2048 };
    tbprof_counts counts = {.struct_size = sizeof counts};
    struct tbp_monitor m = {.level = job->monitoring_level, .shows_time = job->shows_time};
    tbp_process_sample(&m.before);
    record_for_monitor(w, job, &m);
    wait_until(w, job, m.before.monotonic_ns + (int64_t)job->request.duration_ms * 1000000);
    tbp_process_sample(&m.after);
    if (w->ops->stats(&counts) == TBPROF_OK)
        m.counts = &counts;
    job->monitor_text = tbp_arena_alloc(&job->arena, 1, TEXT_BYTES);
    tbp_monitor_text(&m, job->monitor_text, TEXT_BYTES);
    job->status = TBP_GRPC_OK;
}

static void set_continuous(struct tbp_capture_worker *w, bool is_continuous) {
    pthread_mutex_lock(&w->lock);
    w->is_continuous = is_continuous;
    pthread_mutex_unlock(&w->lock);
}

static void run_continuous_start(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    job->request.options.full_policy = TBPROF_FULL_RING;
    set_continuous(w, start_session(w, job));
}

static void run_snapshot(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    if (w->is_continuous)
        collect(w, job);
    else
        fail(job, TBP_GRPC_NOT_FOUND, "no continuous session is running");
}

static void run_continuous_stop(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    if (!w->is_continuous)
        fail(job, TBP_GRPC_NOT_FOUND, "no continuous session is running");
    else
        stop_session(w);
    set_continuous(w, false);
}

static int run_job(void *ctx, struct tbp_error *err) {
    static void (*const runs[])(struct tbp_capture_worker *, struct tbp_capture_job *) = {
        [TBP_CAPTURE_PROFILE] = run_profile,
        [TBP_CAPTURE_MONITOR] = run_monitor,
        [TBP_CAPTURE_CONTINUOUS_START] = run_continuous_start,
        [TBP_CAPTURE_CONTINUOUS_STOP] = run_continuous_stop,
        [TBP_CAPTURE_SNAPSHOT] = run_snapshot,
    };
    void **pair = ctx;
    struct tbp_capture_job *job = pair[1];
    (void)err;
    runs[job->kind](pair[0], job);
    return TBP_OK;
}

/* ---- the queue ---- */

static struct tbp_capture_job *next_in(struct tbp_capture_worker *w, enum tbp_capture_state state) {
    struct tbp_capture_job *first = NULL;
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS; i++) {
        struct tbp_capture_job *job = &w->jobs[i];
        if (job->state == state && (!first || job->order < first->order))
            first = job;
    }
    return first;
}

static struct tbp_capture_job *wait_for_job(struct tbp_capture_worker *w) {
    struct tbp_capture_job *job;
    pthread_mutex_lock(&w->lock);
    while (!(job = next_in(w, TBP_CAPTURE_QUEUED)) && !w->stops)
        pthread_cond_wait(&w->wake, &w->lock);
    if (job)
        job->state = TBP_CAPTURE_RUNNING;
    pthread_mutex_unlock(&w->lock);
    return job;
}

static void *work(void *ctx) {
    struct tbp_capture_worker *w = ctx;
    struct tbp_capture_job *job;
    while ((job = wait_for_job(w))) {
        void *pair[2] = {w, job};
        if (tbp_guard_run(run_job, pair, NULL) != TBP_OK) {
            stop_session(w);
            fail(job, TBP_GRPC_RESOURCE_EXHAUSTED, "no memory for this profile");
        }
        pthread_mutex_lock(&w->lock);
        job->state = TBP_CAPTURE_DONE;
        pthread_mutex_unlock(&w->lock);
        w->done(w->ctx);
    }
    if (w->is_continuous)
        stop_session(w);
    return NULL;
}

int tbp_capture_worker_new(struct tbp_capture_worker **out, const struct tbp_session_ops *ops,
                           void (*done)(void *ctx), void *ctx, struct tbp_error *err) {
    struct tbp_arena arena;
    pthread_condattr_t attributes;
    tbp_arena_init(&arena);
    struct tbp_capture_worker *w = TBP_NEW(&arena, struct tbp_capture_worker);
    *w = (struct tbp_capture_worker){.arena = arena, .ops = ops, .done = done, .ctx = ctx};
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&w->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    int status = tbp_quiet_thread(&w->thread, "tbprof-capture", work, w, err);
    w->is_running = status == TBP_OK;
    *out = w;
    if (status) {
        tbp_capture_worker_free(w);
        *out = NULL;
    }
    return status;
}

void tbp_capture_worker_end(struct tbp_capture_worker *w) {
    pthread_mutex_lock(&w->lock);
    w->stops = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

void tbp_capture_worker_free(struct tbp_capture_worker *w) {
    if (!w)
        return;
    tbp_capture_worker_end(w);
    if (w->is_running)
        pthread_join(w->thread, NULL);
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS; i++)
        tbp_capture_job_release(w, &w->jobs[i]);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    struct tbp_arena arena = w->arena;
    tbp_arena_release(&arena);
}

struct tbp_capture_job *tbp_capture_job_new(struct tbp_capture_worker *w) {
    struct tbp_capture_job *job = NULL;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS && !job; i++) {
        if (w->jobs[i].state == TBP_CAPTURE_FREE)
            job = &w->jobs[i];
    }
    if (job) {
        *job = (struct tbp_capture_job){0}; /* its state, which the worker looks at, included */
        tbp_arena_init(&job->arena);
    }
    pthread_mutex_unlock(&w->lock);
    return job;
}

static bool begins_session(const struct tbp_capture_job *job) {
    return job->kind == TBP_CAPTURE_PROFILE || job->kind == TBP_CAPTURE_CONTINUOUS_START;
}

static bool is_pending(const struct tbp_capture_job *job) {
    return job->state == TBP_CAPTURE_QUEUED || job->state == TBP_CAPTURE_RUNNING;
}

/* One capture at a time, and none beside a continuous session; the rest may queue up, but not so
 * far that no capture gets a place. Under the lock. */
static bool is_taken(const struct tbp_capture_worker *w, const struct tbp_capture_job *job) {
    bool taken = begins_session(job) && w->is_continuous;
    size_t n_alike = 0;
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS; i++) {
        const struct tbp_capture_job *other = &w->jobs[i];
        taken = taken || (is_pending(other) && begins_session(other) && begins_session(job));
        n_alike += is_pending(other) && other->kind == job->kind;
    }
    return taken || n_alike == TBP_CAPTURE_MAX_ALIKE;
}

/* A capture does not wait for monitoring. Under the lock. */
static void end_monitors(struct tbp_capture_worker *w) {
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS; i++) {
        if (w->jobs[i].kind == TBP_CAPTURE_MONITOR)
            w->jobs[i].is_ended = true;
    }
}

bool tbp_capture_job_queue(struct tbp_capture_worker *w, struct tbp_capture_job *job,
                           struct tbp_grpc_reply *refusal) {
    pthread_mutex_lock(&w->lock);
    bool taken = is_taken(w, job);
    if (!taken) {
        job->state = TBP_CAPTURE_QUEUED;
        job->order = ++w->last_order;
        if (job->kind != TBP_CAPTURE_MONITOR)
            end_monitors(w);
        pthread_cond_broadcast(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    if (!taken)
        return true;
    tbp_arena_release(&job->arena);
    tbp_grpc_reply_fail(refusal, TBP_GRPC_ALREADY_EXISTS,
                        begins_session(job) ? "another capture of this process is running"
                                            : "too many requests of this kind are waiting");
    return false;
}

struct tbp_capture_job *tbp_capture_job_take(struct tbp_capture_worker *w) {
    pthread_mutex_lock(&w->lock);
    struct tbp_capture_job *job = next_in(w, TBP_CAPTURE_DONE);
    pthread_mutex_unlock(&w->lock);
    return job;
}

void tbp_capture_job_release(struct tbp_capture_worker *w, struct tbp_capture_job *job) {
    if (job->bytes)
        w->ops->bytes_free(job->bytes);
    job->bytes = NULL;
    tbp_arena_release(&job->arena);
    pthread_mutex_lock(&w->lock);
    job->state = TBP_CAPTURE_FREE;
    pthread_mutex_unlock(&w->lock);
}

void tbp_capture_cancel(struct tbp_capture_worker *w, uint64_t call_id) {
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS; i++) {
        if (w->jobs[i].state != TBP_CAPTURE_FREE && w->jobs[i].call_id == call_id)
            w->jobs[i].is_cancelled = true;
    }
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

bool tbp_capture_terminate(struct tbp_capture_worker *w, const char *session_id) {
    bool found = false;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < TBP_CAPTURE_MAX_JOBS; i++) {
        struct tbp_capture_job *job = &w->jobs[i];
        if (is_pending(job) && job->kind == TBP_CAPTURE_PROFILE &&
            strcmp(job->request.session_id, session_id) == 0)
            found = job->is_ended = true;
    }
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    return found;
}
