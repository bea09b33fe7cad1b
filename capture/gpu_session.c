/* SPDX-License-Identifier: Apache-2.0
 *
 * See gpu_session.h. Everything that calls CUPTI runs on the worker; the others tell it what to do
 * and wait, though not for ever: a library that hangs must not take the program along.
 */
#include "capture/gpu_session.h"

#include "base/guard.h"
#include "base/log.h"
#include "base/quiet_thread.h"
#include "capture/clock.h"
#include "capture/cupti_buffers.h"
#include "capture/cupti_errors.h"
#include "capture/cupti_subscription.h"
#include "capture/gpu_kinds.h"
#include "capture/gpu_write.h"

#include <stdio.h>
#include <string.h>

enum {
    PATIENCE_S = 20, /* for the worker */
    FLUSH_FORCED = 1,
    INVALID_KIND = 21,
    BASE_BYTES = 24,     /* that every record has */
    FAILURE_BYTES = 800, /* a sentence and what to do */
};
enum state { OFF, WAITING, RUNNING, FAILED, STUCK };
enum task { NOTHING, FLUSH, PAUSE, RESUME, CLOSE };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t to_worker, from_worker;
    enum state state;
    enum task task; /* for the worker; NOTHING when done */
    bool is_urgent, is_paused;
    tbprof_options options;
    uint32_t kinds; /* mask of capture/gpu_kinds.h */
    int64_t start_ns;
    pthread_t thread;
    char failure[FAILURE_BYTES];
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .to_worker = PTHREAD_COND_INITIALIZER,
         .from_worker = PTHREAD_COND_INITIALIZER};

/* What only the worker touches. */
struct worker {
    struct tbp_cuda cuda;
    struct tbp_cupti cupti;
    struct tbp_gpu_writer writer;
    struct tbp_cupti_subscription subscription;
    uint32_t enabled; /* bit n: row n of the kinds */
    int flush_ms;
    bool is_paused;   /* what comes is thrown away */
    unsigned n_names; /* given by the program, and taken over */
};

static void wake_worker(void) {
    pthread_mutex_lock(&gpu.lock);
    gpu.is_urgent = true;
    pthread_cond_signal(&gpu.to_worker);
    pthread_mutex_unlock(&gpu.lock);
}

/* ---- what is odd about single releases of CUPTI ---- */

enum quirk { KEEP_ENABLED = 1 /* switching kinds off may hang */ };
static const struct {
    uint32_t from, to, quirks;
} quirks[] = {{TBP_CUPTI_13_0, TBP_CUPTI_13_0, KEEP_ENABLED}};

static bool has_quirk(const struct worker *w, enum quirk quirk) {
    for (size_t i = 0; i < sizeof quirks / sizeof *quirks; i++)
        if (w->cupti.version >= quirks[i].from && w->cupti.version <= quirks[i].to &&
            quirks[i].quirks & (uint32_t)quirk)
            return true;
    return false;
}

/* ---- reading buffers ---- */

static void note_clock(struct worker *w) {
    uint64_t ns = 0, best_ns = 0;
    int64_t narrowest = INT64_MAX, middle = 0;
    for (int i = 0; i < 10; i++) {
        int64_t before = tbp_clock_ns(CLOCK_MONOTONIC);
        if (tbp_cupti_timestamp(&w->subscription, &ns) != TBP_CUPTI_OK)
            return;
        int64_t after = tbp_clock_ns(CLOCK_MONOTONIC);
        if (after - before < narrowest) {
            narrowest = after - before;
            middle = before + narrowest / 2;
            best_ns = ns;
        }
    }
    tbp_gpu_clock_note(&w->writer.clock, (int64_t)best_ns, middle);
}

static void read_buffer(struct worker *w, const struct tbp_cupti_filled *b) {
    const uint8_t *record = NULL;
    struct tbp_cupti_record r;
    int rc;
    while ((rc = tbp_cupti_next_record(&w->subscription, b->data, b->valid_bytes, &record)) ==
           TBP_CUPTI_OK) {
        if (record < b->data || record + BASE_BYTES > b->data + b->valid_bytes)
            break;
        if (tbp_cupti_read(&r, record, w->cupti.version) && !w->is_paused)
            tbp_gpu_writer_take(&w->writer, &r);
    }
    w->writer.n_losses[TBP_GPU_LOSS_CUT] += rc != TBP_CUPTI_END;
}

static void count_dropped(struct worker *w, void *context, uint32_t stream) {
    w->writer.n_losses[TBP_GPU_LOSS_DROPPED] +=
        tbp_cupti_dropped(&w->subscription, context, stream);
}

static int drain_guarded(void *context, struct tbp_error *err) {
    struct worker *w = context;
    struct tbp_cupti_filled filled;
    struct tbp_gpu_name name;
    (void)err;
    while (tbp_gpu_names_get(w->n_names, &name)) {
        w->n_names++;
        tbp_gpu_writer_name(&w->writer, &name);
    }
    note_clock(w);
    while (tbp_cupti_buffers_take(&filled)) {
        note_clock(w); /* what is in the buffer happened before this reading */
        read_buffer(w, &filled);
        count_dropped(w, filled.context, filled.stream);
        tbp_cupti_buffers_give(filled.data);
    }
    w->writer.n_losses[TBP_GPU_LOSS_REFUSED_BYTES] += tbp_cupti_buffers_refused_bytes();
    tbp_gpu_writer_flush(&w->writer);
    return TBP_OK;
}

static void drain(struct worker *w) {
    struct tbp_error err = {0};
    if (tbp_guard_run(drain_guarded, w, &err) != TBP_OK)
        tbp_log(TBP_LOG_WARNING, "GPU records: %s", err.message);
}

static void flush(struct worker *w, uint32_t flag) {
    w->cupti.ActivityFlushAll(flag);
    drain(w);
}

/* ---- on and off ---- */

static void tell(const char *text) {
    char line[FAILURE_BYTES + 64];
    snprintf(line, sizeof line, "tbprof: %s", text);
    tbprof_warn(line);
    tbp_log(TBP_LOG_WARNING, "%s", text);
}

static void disable_all(struct worker *w) {
    for (int i = 31; i >= 0; i--)
        if (w->enabled >> i & 1)
            tbp_cupti_disable(&w->subscription, tbp_gpu_kind_rows[i].cupti_kind);
    w->enabled = 0;
}

static void tell_refusal(const char *word, int rc) {
    char text[FAILURE_BYTES], doing[64];
    snprintf(doing, sizeof doing, "switching on '%s'", word);
    tbp_cupti_explain(rc, doing, text, sizeof text);
    tell(text);
}

/* 0, or the error that makes recording impossible; *what: while doing what. */
static int enable_all(struct worker *w, const char **what) {
    *what = "switching on the recording of kernels";
    for (uint32_t i = 0; tbp_gpu_kind_rows[i].word; i++) {
        const struct tbp_gpu_kind_row *row = &tbp_gpu_kind_rows[i];
        bool is_wanted = gpu.kinds & tbp_gpu_kind_bit(row) && w->cupti.version >= row->since;
        if (!is_wanted || w->enabled >> i & 1)
            continue;
        int rc = tbp_cupti_enable(&w->subscription, row->cupti_kind);
        bool is_of_kind = tbp_cupti_is_of_kind(rc) || rc == INVALID_KIND;
        if (rc == TBP_CUPTI_OK)
            w->enabled |= UINT32_C(1) << i;
        else if (row->need == TBP_GPU_NEEDED || (row->need == TBP_GPU_WANTED && !is_of_kind))
            return rc;
        else if (row->need == TBP_GPU_WANTED)
            tell_refusal(row->word, rc);
    }
    return TBP_CUPTI_OK;
}

/* 0, or the error that makes recording impossible; `what`: while doing what. */
static int switch_on(struct worker *w, char *what, size_t size) {
    const char *doing = "registering buffers";
    int rc = tbp_cupti_subscribe(&w->subscription, &w->cupti, tbp_cuda_version(&w->cuda));
    tbp_cupti_subscribing(&w->subscription, what, size);
    if (rc != TBP_CUPTI_OK)
        return rc;
    tbp_cupti_configure(&w->subscription, tbp_gpu_kinds_have(gpu.kinds, TBP_CUPTI_GRAPH_TRACE));
    if (tbp_gpu_kinds_have(gpu.kinds, TBP_CUPTI_UNIFIED_MEMORY))
        tbp_cupti_configure_unified(&w->subscription, tbp_cuda_devices(&w->cuda));
    rc = tbp_cupti_register(&w->subscription);
    if (rc == TBP_CUPTI_OK)
        rc = enable_all(w, &doing);
    snprintf(what, size, "%s", doing);
    return rc;
}

/* Without a subscription CUPTI is another tool's, and left alone. */
static void switch_off(struct worker *w) {
    tbp_gpu_names_by(NULL, NULL);
    if (w->enabled)
        flush(w, FLUSH_FORCED);
    if (w->subscription.handle && !has_quirk(w, KEEP_ENABLED)) {
        disable_all(w);
        flush(w, FLUSH_FORCED);
    }
    if (w->subscription.handle) {
        count_dropped(w, NULL, 0);
        drain(w);
    }
    tbp_cupti_unsubscribe(&w->subscription);
    tbp_cupti_buffers_close();
}

/* False: `failure` says why. */
static bool begin(struct worker *w, char *failure, size_t size) {
    struct tbp_error err = {0};
    char what[128];
    w->flush_ms = gpu.options.gpu_flush_ms;
    tbp_cuda_find(&w->cuda, gpu.options.gpu >= TBPROF_GPU_ON);
    if (tbp_cupti_load(&w->cupti, tbp_cuda_version(&w->cuda), &err) != TBP_OK) {
        snprintf(failure, size, "%s", err.message);
        return false;
    }
    tbp_gpu_writer_init(&w->writer, &w->cupti, &w->cuda, gpu.start_ns);
    tbp_cupti_buffers_open(gpu.options.gpu_buffer_bytes, gpu.options.max_device_bytes,
                           w->cupti.version >= TBP_CUPTI_12_9, wake_worker);
    int rc = switch_on(w, what, sizeof what);
    if (rc == TBP_CUPTI_OK) {
        note_clock(w);
        tbp_gpu_names_by(&w->cupti, &w->cuda);
        return true;
    }
    tbp_cupti_explain(rc, what, failure, size);
    switch_off(w);
    tbp_gpu_writer_release(&w->writer);
    return false;
}

/* ---- the worker ---- */

static void perform(struct worker *w, enum task task) {
    const char *what;
    if (task == NOTHING) {
        flush(w, 0);
        return;
    }
    if (task == CLOSE)
        return; /* by the one who ends the worker */
    if (task == RESUME) {
        flush(w, FLUSH_FORCED); /* thrown away */
        w->is_paused = false;
        enable_all(w, &what);
        return;
    }
    flush(w, FLUSH_FORCED);
    if (task == FLUSH)
        tbp_gpu_writer_again(&w->writer);
    w->is_paused |= task == PAUSE;
    if (task == PAUSE && !has_quirk(w, KEEP_ENABLED))
        disable_all(w);
}

/* Waits for a task, a hurry, or the time to flush; under the lock. */
static enum task next_task(const struct worker *w) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += w->flush_ms / 1000;
    until.tv_nsec += w->flush_ms % 1000 * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (gpu.task == NOTHING && !gpu.is_urgent)
        if (pthread_cond_timedwait(&gpu.to_worker, &gpu.lock, &until) != 0)
            break;
    gpu.is_urgent = false;
    return gpu.task;
}

static void done(enum state state) {
    gpu.state = state;
    gpu.task = NOTHING;
    pthread_cond_broadcast(&gpu.from_worker);
}

static void work(struct worker *w) {
    enum task task;
    pthread_mutex_lock(&gpu.lock);
    done(RUNNING);
    while ((task = next_task(w)) != CLOSE) {
        pthread_mutex_unlock(&gpu.lock);
        perform(w, task);
        pthread_mutex_lock(&gpu.lock);
        if (task != NOTHING)
            done(RUNNING);
    }
    pthread_mutex_unlock(&gpu.lock);
    switch_off(w);
    tbp_gpu_writer_release(&w->writer);
}

static void *run(void *argument) {
    static struct worker w; /* large; there is one worker at a time */
    char failure[FAILURE_BYTES] = "", text[FAILURE_BYTES + 40];
    (void)argument;
    w = (struct worker){0};
    bool is_on = begin(&w, failure, sizeof failure);
    if (is_on) {
        work(&w);
    } else {
        snprintf(text, sizeof text, "GPU activity is not recorded: %s", failure);
        tell(text);
    }
    pthread_mutex_lock(&gpu.lock);
    memcpy(gpu.failure, failure, sizeof failure);
    done(is_on ? OFF : FAILED);
    pthread_mutex_unlock(&gpu.lock);
    return NULL;
}

/* ---- from outside ---- */

/* Waits until the task is done; under the lock. */
static void wait_for_worker(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    while (gpu.task != NOTHING)
        if (pthread_cond_timedwait(&gpu.from_worker, &gpu.lock, &until) != 0)
            break;
    if (gpu.task == NOTHING)
        return;
    gpu.state = STUCK;
    snprintf(gpu.failure, sizeof gpu.failure,
             "the GPU's profiling library does not answer; it is left alone");
    tbp_log(TBP_LOG_WARNING, "%s", gpu.failure);
}

static void give_task(enum task task) {
    gpu.task = task;
    pthread_cond_signal(&gpu.to_worker);
    wait_for_worker();
}

static void start_worker(bool waits) {
    struct tbp_error err = {0};
    gpu.task = RESUME; /* until the worker is ready */
    gpu.is_urgent = false;
    if (tbp_quiet_thread(&gpu.thread, "tbprof-gpu", run, NULL, &err) != TBP_OK) {
        done(FAILED);
        snprintf(gpu.failure, sizeof gpu.failure, "%s", err.message);
        return;
    }
    gpu.state = RUNNING;
    if (waits)
        wait_for_worker();
}

void tbp_gpu_open(const tbprof_options *options, int64_t start_monotonic_ns) {
    pthread_mutex_lock(&gpu.lock);
    bool is_wanted = options->device_tracer_level > 0 && options->gpu != TBPROF_GPU_OFF;
    if (gpu.state != STUCK) {
        gpu.options = *options;
        gpu.start_ns = start_monotonic_ns;
        gpu.is_paused = true;
        gpu.task = NOTHING;
        gpu.state = is_wanted ? WAITING : OFF;
        tbp_gpu_kinds_parse(options->gpu_kinds, &gpu.kinds, NULL);
        gpu.options.gpu_kinds = NULL; /* the caller's */
    }
    pthread_mutex_unlock(&gpu.lock);
}

const char *tbp_gpu_failure(void) {
    return gpu.failure;
}

bool tbp_gpu_resume(void) {
    pthread_mutex_lock(&gpu.lock);
    bool insists = gpu.options.gpu >= TBPROF_GPU_ON;
    gpu.is_paused = false;
    if (gpu.state == WAITING && (insists || tbp_cuda_is_mapped()))
        start_worker(true);
    else if (gpu.state == RUNNING)
        give_task(RESUME);
    bool is_well = gpu.state != FAILED && gpu.state != STUCK;
    pthread_mutex_unlock(&gpu.lock);
    return is_well;
}

bool tbp_gpu_poll(void) {
    if (pthread_mutex_trylock(&gpu.lock) != 0)
        return true;
    if (gpu.state == WAITING && !gpu.is_paused && tbp_cuda_is_mapped())
        start_worker(false);
    bool is_waiting = gpu.state == WAITING;
    pthread_mutex_unlock(&gpu.lock);
    return is_waiting;
}

/* The CUDA driver calls this of the library in $CUDA_INJECTION64_PATH when it is initialized: the
 * earliest moment. It must not be waited for here, since the driver is not ready yet. */
TBPROF_API int InitializeInjection(void);
int InitializeInjection(void) {
    tbp_gpu_poll();
    return 1;
}

static void give_if_running(enum task task) {
    pthread_mutex_lock(&gpu.lock);
    gpu.is_paused |= task == PAUSE;
    if (gpu.state == RUNNING) {
        wait_for_worker(); /* it may be about to begin */
        if (gpu.state == RUNNING)
            give_task(task);
    }
    pthread_mutex_unlock(&gpu.lock);
}

void tbp_gpu_pause(void) {
    give_if_running(PAUSE);
}

void tbp_gpu_flush(void) {
    give_if_running(FLUSH);
}

void tbp_gpu_close(void) {
    give_if_running(CLOSE);
    pthread_mutex_lock(&gpu.lock);
    bool has_ended = gpu.thread && (gpu.state == OFF || gpu.state == FAILED);
    pthread_t thread = gpu.thread;
    if (gpu.state != STUCK) {
        gpu.state = OFF;
        gpu.thread = 0;
    }
    pthread_mutex_unlock(&gpu.lock);
    if (has_ended)
        pthread_join(thread, NULL);
}

void tbp_gpu_after_fork(void) {
    pthread_mutex_init(&gpu.lock, NULL);
    pthread_cond_init(&gpu.to_worker, NULL);
    pthread_cond_init(&gpu.from_worker, NULL);
    gpu.state = OFF;
    gpu.task = NOTHING;
    gpu.thread = 0;
    tbp_cupti_buffers_after_fork();
    tbp_gpu_names_after_fork();
}
