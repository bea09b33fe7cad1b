/* SPDX-License-Identifier: Apache-2.0
 *
 * The janitor sleeps on a word (futex), which threads change when the stock of chunks gets low;
 * otherwise it wakes for what is due next. Who changes the word calls the system only if it sleeps.
 */
#include "capture/janitor.h"

#include "base/quiet_thread.h"
#include "capture/clock.h"
#include "capture/gpu_session.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STOCK_STEP = 4 }; /* chunks made present between looks at what else there is to do */
#define SECOND_NS      INT64_C(1000000000)
#define MILLISECOND_NS INT64_C(1000000)

static struct {
    pthread_t thread;
    bool is_running;
    bool is_leaving; /* it ended its session itself and is still to be joined */
    struct tbp_session *session;
    uint32_t word;  /* atomic: changes when there is something to do */
    bool is_asleep; /* atomic: or about to be, and looks at the word again */
    bool must_end;  /* atomic */
} janitor;

static void futex(int operation, uint32_t value, const struct timespec *timeout) {
    syscall(SYS_futex, &janitor.word, operation | FUTEX_PRIVATE_FLAG, value, timeout, NULL, 0);
}

void tbp_janitor_wake(void) {
    __atomic_fetch_add(&janitor.word, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&janitor.is_asleep, false, __ATOMIC_SEQ_CST))
        futex(FUTEX_WAKE, 1, NULL);
}

/* Until the word is another one, or for that long. */
static void sleep_on(uint32_t word, int64_t rest_ns) {
    struct timespec timeout = {rest_ns / SECOND_NS, rest_ns % SECOND_NS};
    __atomic_store_n(&janitor.is_asleep, true, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&janitor.word, __ATOMIC_SEQ_CST) == word)
        futex(FUTEX_WAIT, word, &timeout);
    __atomic_store_n(&janitor.is_asleep, false, __ATOMIC_RELAXED);
}

/* Resident set in bytes: second field of statm, in pages. */
static int64_t resident_bytes(int fd) {
    char text[128];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
    if (n <= 0)
        return -1;
    text[n] = 0;
    long long pages;
    if (sscanf(text, "%*s %lld", &pages) != 1)
        return -1;
    return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* When each thing is due, monotonic ns. */
struct agenda {
    int64_t anchor, resident, gpu;
    int64_t anchor_step;
    int statm;
};

static int64_t earlier(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Does what is due; returns when the next is. */
static int64_t work(struct tbp_session *session, struct agenda *a, int64_t now) {
    if (now >= a->anchor) {
        tbp_session_anchor(session);
        a->anchor_step = earlier(a->anchor_step * 10, SECOND_NS);
        a->anchor = now + a->anchor_step;
    }
    int64_t period = (int64_t)session->options.rss_period_ms * MILLISECOND_NS;
    if (period > 0 && now >= a->resident) {
        int64_t bytes = resident_bytes(a->statm);
        if (bytes >= 0)
            tbprof_counter_i64("process_resident_bytes", bytes);
        a->resident = now + period;
    }
    if (session->begin_at_ns && now >= session->begin_at_ns)
        tbp_session_begin_recording(session);
    if (now >= a->gpu)
        a->gpu = tbp_gpu_poll() ? now + 100 * MILLISECOND_NS : INT64_MAX;
    int64_t next = earlier(earlier(a->anchor, a->gpu), session->end_at_ns);
    next = period > 0 ? earlier(next, a->resident) : next;
    return session->begin_at_ns ? earlier(next, session->begin_at_ns) : next;
}

static void *run(void *argument) {
    struct tbp_session *session = argument;
    int64_t now = tbp_clock_ns(CLOCK_MONOTONIC);
    struct agenda agenda = {.anchor = now + 10 * MILLISECOND_NS,
                            .gpu = now + 100 * MILLISECOND_NS,
                            .anchor_step = 10 * MILLISECOND_NS,
                            .statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)};
    while (!__atomic_load_n(&janitor.must_end, __ATOMIC_ACQUIRE)) {
        uint32_t word = __atomic_load_n(&janitor.word, __ATOMIC_ACQUIRE);
        while (!__atomic_load_n(&janitor.must_end, __ATOMIC_ACQUIRE) &&
               tbp_spool_stock(session->spool, STOCK_STEP))
            continue;
        now = tbp_clock_ns(CLOCK_MONOTONIC);
        int64_t next = work(session, &agenda, now);
        if (now >= session->end_at_ns && tbp_session_expire())
            break; /* the session is gone */
        sleep_on(word, next > now ? next - now : MILLISECOND_NS);
    }
    close(agenda.statm);
    return NULL;
}

int tbp_janitor_start(struct tbp_session *session, struct tbp_error *err) {
    janitor.session = session;
    __atomic_store_n(&janitor.must_end, false, __ATOMIC_RELAXED);
    int rc = tbp_quiet_thread(&janitor.thread, "tbprof-janitor", run, session, err);
    janitor.is_running = rc == TBP_OK;
    return rc;
}

void tbp_janitor_stop(void) {
    if (!janitor.is_running)
        return;
    janitor.is_running = false;
    if (pthread_equal(janitor.thread, pthread_self())) {
        janitor.is_leaving = true;
        return;
    }
    __atomic_store_n(&janitor.must_end, true, __ATOMIC_RELEASE);
    tbp_janitor_wake();
    pthread_join(janitor.thread, NULL);
}

void tbp_janitor_reap(void) {
    if (!janitor.is_leaving)
        return;
    janitor.is_leaving = false;
    pthread_join(janitor.thread, NULL);
}

void tbp_janitor_after_fork(void) {
    janitor.is_running = false;
    janitor.is_leaving = false;
}
