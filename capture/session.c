/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions: start, stop, pause, snapshot. One mutex makes these calls come one after another; who
 * records never takes it. Start prepares everything and then stores the state word; stop stores the
 * word, waits until nobody is inside a record (capture/thread.h), writes the run and lets go.
 */
#include "capture/session.h"

#include "base/guard.h"
#include "base/log.h"
#include "capture/fork.h"
#include "capture/gpu_session.h"
#include "capture/janitor.h"
#include "capture/last_error.h"
#include "capture/record.h"
#include "capture/session_children.h"
#include "capture/session_setup.h"
#include "capture/string_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TICKS_EARLIER = 1 << 20 };

static struct {
    pthread_mutex_t lock;
    struct tbp_session *current;
    uint32_t generation;   /* of the last session */
    bool is_expired;       /* the last session ended by its duration, and nobody has stopped it */
    tbprof_status expired; /* how its save went, and the text */
    char expired_text[1024];
    char last_run[4096];
    tbprof_counts last_counts;
} sessions = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the state word ---- */

static void set_state(const struct tbp_session *s, uint32_t flags, int level) {
    uint64_t state =
        tbp_state_make(s->generation, (uint32_t)s->options.category_mask, flags, level);
    __atomic_store_n(&tbprof_g_state, state, __ATOMIC_RELEASE);
}

void tbp_session_begin_recording(struct tbp_session *s) {
    s->begin_at_ns = 0;
    set_state(s, s->flags, s->options.host_tracer_level);
    tbp_gpu_resume();
}

/* ---- clocks ---- */

/* Every second anchor goes. A process that dies in between leaves few anchors, but right ones. */
static void thin_anchors(struct tbp_spool_header *h, struct tbp_spool_anchor *anchors) {
    __atomic_store_n(&h->n_anchors, 1, __ATOMIC_RELEASE);
    for (uint32_t i = 1; i < TBP_SPOOL_ANCHORS / 2; i++)
        anchors[i] = anchors[2 * i];
    __atomic_store_n(&h->n_anchors, TBP_SPOOL_ANCHORS / 2, __ATOMIC_RELEASE);
}

static void add_anchor(struct tbp_session *s) {
    struct tbp_spool_header *h = s->spool->header;
    struct tbp_spool_anchor *anchors = (void *)(s->spool->base + h->anchors_offset);
    if (h->n_anchors == TBP_SPOOL_ANCHORS)
        thin_anchors(h, anchors);
    tbp_clock_anchor(s->is_tsc, &anchors[h->n_anchors]);
    __atomic_store_n(&h->n_anchors, h->n_anchors + 1, __ATOMIC_RELEASE);
}

void tbp_session_anchor(struct tbp_session *s) {
    if (pthread_mutex_trylock(&s->reading) != 0)
        return; /* a collector reads: the next one will do */
    add_anchor(s);
    pthread_mutex_unlock(&s->reading);
}

/* ---- start ---- */

static void free_session(struct tbp_session *s) {
    if (s->carry)
        tbp_run_carry_free(s->carry);
    pthread_mutex_destroy(&s->reading);
    free(s);
}

/* Everything is there: from here on threads record, unless the session rests at first. */
static void open_session(struct tbp_session *s, bool rests) {
    struct tbp_spool_header *h = s->spool->header;
    struct tbp_spool_anchor *first = (void *)(s->spool->base + h->anchors_offset);
    if (s->first_anchor.ticks) /* the parent's: far enough away to know the clock's rate */
        first[h->n_anchors++] = s->first_anchor;
    add_anchor(s);
    first = &first[h->n_anchors - 1];
    s->first_anchor = s->first_anchor.ticks ? s->first_anchor : *first;
    /* A processor whose counter is a little behind must not read less. */
    h->ticks_base = first->ticks - TICKS_EARLIER;
    h->start_realtime_ns = s->start_realtime_ns = first->realtime_ns;
    __atomic_store_n(&h->state, TBP_SPOOL_RECORDING, __ATOMIC_RELEASE);
    tbp_record_spool = s->spool;
    tbp_record_ticks_base = h->ticks_base;
    tbp_record_is_tsc = s->is_tsc;
    tbp_string_table_attach(s->spool);
    set_state(s, s->flags, rests ? 0 : s->options.host_tracer_level);
    sessions.current = s;
}

/* When it begins and ends by itself; true: not at once. */
static bool set_times(struct tbp_session *s) {
    int64_t now = tbp_clock_ns(CLOCK_MONOTONIC), wait_ns = tbp_session_wait_ns(s);
    s->begin_at_ns = wait_ns > 0 ? now + wait_ns : 0;
    s->end_at_ns = s->options.duration_ms
                       ? now + wait_ns + (int64_t)s->options.duration_ms * 1000000
                       : INT64_MAX;
    return wait_ns > 0 || s->options.start_paused;
}

static void next_generation(struct tbp_session *s) {
    if (++sessions.generation > UINT16_MAX)
        sessions.generation = 1; /* 0 is no session's */
    s->generation = sessions.generation;
}

/* False: the GPU has to be recorded and cannot. */
static bool begin_gpu(const struct tbp_session *s) {
    if (s->begin_at_ns || s->options.start_paused)
        return true;
    return tbp_gpu_resume() || s->options.gpu != TBPROF_GPU_REQUIRE;
}

static tbprof_status stop(bool is_wanted);

static tbprof_status start(const char *logdir, const tbprof_options *options) {
    struct tbp_error err = {0};
    char warning[512] = "";
    struct tbp_session *s = calloc(1, sizeof *s);
    if (!s)
        return tbp_last_error_set(TBPROF_RESOURCE_EXHAUSTED, "no memory for a session");
    pthread_mutex_init(&s->reading, NULL);
    next_generation(s);
    s->is_tsc = tbp_clock_is_tsc();
    if (tbp_session_set_up(s, logdir, options, warning, sizeof warning, &err) != TBP_OK) {
        free_session(s);
        return tbp_last_error_from(&err);
    }
    open_session(s, set_times(s));
    tbp_gpu_open(&s->options, s->first_anchor.monotonic_ns);
    if (tbp_janitor_start(s, &err) != TBP_OK)
        tbprof_warn("no helper thread could be started: times may drift");
    if (*warning) {
        tbprof_warn(warning);
        tbp_log(TBP_LOG_WARNING, "%s", warning);
    }
    if (!begin_gpu(s)) {
        stop(false);
        return tbp_last_error_set(TBPROF_FAILED_PRECONDITION, "the GPU cannot be recorded: %s",
                                  tbp_gpu_failure());
    }
    return TBPROF_OK;
}

static bool is_set(const char *name) {
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

tbprof_status tbprof_start(const char *logdir, const tbprof_options *options) {
    tbprof_status status;
    if (is_set("TBPROF_DISABLE") || is_set("TF_DISABLE_PROFILING"))
        return tbp_last_error_set(TBPROF_FAILED_PRECONDITION, "profiling is switched off by $%s",
                                  is_set("TBPROF_DISABLE") ? "TBPROF_DISABLE"
                                                           : "TF_DISABLE_PROFILING");
    tbp_fork_init();
    pthread_mutex_lock(&sessions.lock);
    if (sessions.current) {
        double age_s = (double)(tbp_clock_ns(CLOCK_REALTIME) - sessions.current->start_realtime_ns);
        status = tbp_last_error_set(TBPROF_ALREADY_EXISTS,
                                    "another profiler session is running: %s, %.1f s ago",
                                    sessions.current->holder, age_s / 1e9);
    } else {
        sessions.is_expired = false;
        tbp_janitor_reap();
        status = start(logdir ? logdir : "", options);
    }
    pthread_mutex_unlock(&sessions.lock);
    return status;
}

/* ---- writing ---- */

struct writing {
    struct tbp_run_request request;
    struct tbp_run_result result;
    struct tbp_sink *sink; /* NULL: a run folder */
};

static int write_guarded(void *context, struct tbp_error *err) {
    struct writing *w = context;
    return w->sink ? tbp_run_write_bytes(&w->request, w->sink, &w->result, err)
                   : tbp_run_write(&w->request, &w->result, err);
}

static struct tbp_run_request request_of(const struct tbp_session *s, const char *run) {
    return (struct tbp_run_request){
        .spool = {s->spool->base, tbp_spool_used_bytes(s->spool)},
        .carry = s->carry,
        .logdir = s->logdir,
        .run = run,
        .host_suffix = "",
        .until_realtime_ns = INT64_MAX,
        .max_events = s->options.max_events,
    };
}

/* ---- stop ---- */

/* Nobody records any more when this returns; false: somebody may, and the spool must stay. */
static bool close_session(struct tbp_session *s) {
    struct tbp_thread_sums sums;
    tbp_gpu_close();
    set_state(s, 0, 0);
    bool is_settled = tbp_threads_settle();
    tbp_threads_sum(&sums);
    tbp_spool_count(s->spool, TBP_DROP_CUT_BY_STOP, sums.n_open_scopes + sums.n_activities);
    tbp_session_counts(s, &sums, &sessions.last_counts);
    tbp_threads_detach();
    tbp_string_table_attach(NULL);
    tbp_janitor_stop();
    add_anchor(s);
    struct tbp_spool_header *h = s->spool->header;
    struct tbp_spool_anchor *anchors = (void *)(s->spool->base + h->anchors_offset);
    h->stop_realtime_ns = anchors[h->n_anchors - 1].realtime_ns;
    __atomic_store_n(&h->state, TBP_SPOOL_STOPPED, __ATOMIC_RELEASE);
    return is_settled;
}

static tbprof_status save(struct tbp_session *s) {
    struct tbp_error err = {0};
    struct writing w = {.request = request_of(s, NULL)};
    tbp_session_claim(s);
    w.request.header = s->spool->header;
    w.request.is_over = true;
    if (tbp_guard_run(write_guarded, &w, &err) == TBP_OK) {
        memcpy(sessions.last_run, w.result.path, sizeof sessions.last_run);
        sessions.last_counts.saved += w.result.n_records;
        tbp_session_harvest(s, w.result.path);
        return TBPROF_OK;
    }
    char text[512];
    tbp_error_text(&err, text, sizeof text);
    if (s->spool->fd < 0)
        return tbp_last_error_set(tbp_last_error_status(err.code), "%s", text);
    return tbp_last_error_set(tbp_last_error_status(err.code),
                              "%s; what was recorded is kept: run `tbprof recover %s`", text,
                              s->spool->path);
}

/* Under the lock. */
static tbprof_status stop(bool is_wanted) {
    struct tbp_session *s = sessions.current;
    bool is_settled = close_session(s);
    tbprof_status status = is_wanted && s->is_saved ? save(s) : TBPROF_OK;
    if (!is_wanted)
        tbp_session_harvest(s, NULL);
    sessions.current = NULL;
    if (is_settled)
        tbp_spool_close(s->spool, status == TBPROF_OK);
    else if (status == TBPROF_OK)
        unlink(s->spool->path); /* the memory stays for the thread that is stuck in it */
    free_session(s);
    return status;
}

tbprof_status tbprof_stop(int is_wanted) {
    tbprof_status status;
    pthread_mutex_lock(&sessions.lock);
    if (sessions.current) {
        status = stop(is_wanted != 0);
    } else if (sessions.is_expired) { /* it has been saved when its time was over */
        sessions.is_expired = false;
        tbp_janitor_reap();
        status = sessions.expired == TBPROF_OK
                     ? TBPROF_OK
                     : tbp_last_error_set(sessions.expired, "%s", sessions.expired_text);
    } else {
        status = tbp_last_error_set(TBPROF_UNAVAILABLE, "no profiler session is running");
    }
    pthread_mutex_unlock(&sessions.lock);
    return status;
}

bool tbp_session_expire(void) {
    if (pthread_mutex_trylock(&sessions.lock) != 0)
        return false;
    sessions.expired = stop(true);
    sessions.is_expired = true;
    if (sessions.expired != TBPROF_OK) {
        snprintf(sessions.expired_text, sizeof sessions.expired_text, "%s", tbprof_last_error());
        tbp_log(TBP_LOG_WARNING, "%s", sessions.expired_text);
    }
    pthread_mutex_unlock(&sessions.lock);
    return true;
}

/* ---- while it runs ---- */

/* Locks; NULL (and not locked): there is no session, *status says so. */
static struct tbp_session *lock_current(tbprof_status *status) {
    pthread_mutex_lock(&sessions.lock);
    *status = TBPROF_OK;
    if (sessions.current)
        return sessions.current;
    pthread_mutex_unlock(&sessions.lock);
    *status = tbp_last_error_set(TBPROF_UNAVAILABLE, "no profiler session is running");
    return NULL;
}

static int level_now(void) {
    return (uint8_t)tbp_state_load();
}

tbprof_status tbprof_pause(void) {
    tbprof_status status;
    struct tbp_session *s = lock_current(&status);
    if (!s)
        return status;
    if (level_now() > 0) {
        tbp_gpu_pause();
        tbp_record_mark(TBP_REC_PAUSE);
        set_state(s, s->flags & ~(uint32_t)TBP_STATE_MEMORY, 0);
    }
    pthread_mutex_unlock(&sessions.lock);
    return status;
}

tbprof_status tbprof_resume(void) {
    tbprof_status status;
    struct tbp_session *s = lock_current(&status);
    if (!s)
        return status;
    if (level_now() == 0) {
        set_state(s, s->flags, s->options.host_tracer_level);
        tbp_record_mark(TBP_REC_RESUME);
        tbp_gpu_resume();
    }
    pthread_mutex_unlock(&sessions.lock);
    return status;
}

void tbp_session_watch_steps(void) {
    tbprof_status status;
    struct tbp_session *s = lock_current(&status);
    if (!s)
        return;
    s->flags |= TBP_STATE_STEPS;
    __atomic_fetch_or(&tbprof_g_state, TBP_STATE_STEPS, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&sessions.lock);
}

/* The spool grows while it is read: names of records that are just seen may lie in chunks which
 * came into use meanwhile. Those beyond the last one that has are left alone by the reader. */
static uint64_t readable_bytes(const struct tbp_spool *spool) {
    const uint64_t meanwhile = UINT64_C(128) << 20; /* more than a stock of chunks */
    uint64_t bytes = tbp_spool_used_bytes(spool) + meanwhile;
    return bytes < spool->reserved_bytes ? bytes : spool->reserved_bytes;
}

/* What has been recorded since the last time, to a run or a sink; recording goes on. Under the
 * lock. */
static tbprof_status take_part(struct tbp_session *s, struct writing *w) {
    struct tbp_error err = {0};
    if (!s->carry)
        s->carry = tbp_run_carry_new();
    w->request.carry = s->carry;
    tbp_gpu_flush();
    pthread_mutex_lock(&s->reading);
    add_anchor(s);
    tbp_spool_detach(s->spool);
    w->request.spool.size_bytes = readable_bytes(s->spool);
    int rc = tbp_guard_run(write_guarded, w, &err);
    tbp_spool_attach(s->spool);
    pthread_mutex_unlock(&s->reading);
    if (rc != TBP_OK)
        return tbp_last_error_from(&err);
    s->n_snapshots++;
    s->n_saved += w->result.n_records;
    return TBPROF_OK;
}

tbprof_status tbprof_snapshot(const char *run) {
    tbprof_status status;
    struct tbp_session *s = lock_current(&status);
    if (!s)
        return status;
    struct writing w = {.request = request_of(s, run)};
    if (!s->is_saved)
        status = tbp_last_error_set(TBPROF_FAILED_PRECONDITION,
                                    "the session has no log directory to write a snapshot to");
    else
        status = take_part(s, &w);
    if (status == TBPROF_OK)
        memcpy(sessions.last_run, w.result.path, sizeof sessions.last_run);
    pthread_mutex_unlock(&sessions.lock);
    return status;
}

tbprof_status tbprof_collect(uint8_t **bytes, size_t *size) {
    tbprof_status status;
    struct tbp_sink_memory memory;
    struct tbp_session *s = lock_current(&status);
    if (!s)
        return status;
    tbp_sink_memory_init(&memory, 0);
    struct writing w = {.request = request_of(s, NULL), .sink = &memory.base};
    status = take_part(s, &w);
    pthread_mutex_unlock(&sessions.lock);
    if (status != TBPROF_OK) {
        tbp_sink_memory_release(&memory);
        return status;
    }
    *bytes = memory.data; /* the caller's now, from the heap */
    *size = memory.size;
    return TBPROF_OK;
}

void tbprof_bytes_free(uint8_t *bytes) {
    free(bytes);
}

int tbprof_is_active(int level) {
    int now = level_now();
    return now > 0 && level <= now;
}

const char *tbprof_last_run(void) {
    struct tbp_thread_texts *texts = tbp_thread_texts();
    pthread_mutex_lock(&sessions.lock);
    memcpy(texts->run, sessions.last_run, sizeof texts->run);
    pthread_mutex_unlock(&sessions.lock);
    return texts->run;
}

tbprof_status tbprof_stats(tbprof_counts *counts) {
    if (!counts || counts->struct_size < sizeof(size_t))
        return tbp_last_error_set(TBPROF_INVALID_ARGUMENT, "struct_size of the counts is not set");
    pthread_mutex_lock(&sessions.lock);
    tbprof_counts now = sessions.last_counts;
    if (sessions.current) {
        struct tbp_thread_sums sums;
        tbp_threads_sum(&sums);
        tbp_session_counts(sessions.current, &sums, &now);
    }
    pthread_mutex_unlock(&sessions.lock);
    size_t size = counts->struct_size < sizeof now ? counts->struct_size : sizeof now;
    now.struct_size = size;
    memcpy(counts, &now, size);
    return TBPROF_OK;
}

/* The child goes on in a session of its own, without a janitor (no thread is made in a fork): its
 * chunks come without their pages present, its clock has the parent's first anchor and its own. */
static void follow(struct tbp_session *s, bool was_recording) {
    struct tbp_error err = {0};
    pthread_mutex_init(&s->reading, NULL);
    s->carry = NULL; /* the parent's, as is all that it had in memory */
    s->n_snapshots = 0;
    next_generation(s);
    if (tbp_session_set_up_child(s, &err) != TBP_OK)
        tbp_log(TBP_LOG_WARNING, "a forked child is not recorded: %s", err.message);
    else
        open_session(s, !was_recording);
}

void tbp_session_after_fork(bool was_recording) {
    struct tbp_session *s = sessions.current;
    pthread_mutex_init(&sessions.lock, NULL);
    sessions.current = NULL; /* it is small, and may be in use by a thread that is not here */
    sessions.is_expired = false;
    if (s && s->options.follow_fork && s->is_saved && s->spool->fd >= 0)
        follow(s, was_recording);
    else if (s)
        tbp_spool_forget(s->spool);
}
