/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures of the process; see capture_monitor.h.
 */
#include "capture/capture_monitor.h"

#include "base/quiet_thread.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* The number behind a key of a small file of /proc; 0 if there is none. */
static uint64_t proc_number(const char *path, const char *key) {
    char text[4096];
    uint64_t value = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strstr(text, key);
    for (at = at ? at + strlen(key) : ""; *at == ' ' || *at == '\t'; at++)
        ;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint64_t)(*at - '0');
    return value;
}

void tbp_process_sample(struct tbp_process_sample *s) {
    struct timespec cpu = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    *s = (struct tbp_process_sample){
        .monotonic_ns = tbp_monotonic_ns(),
        .realtime_ns = tbp_realtime_ns(),
        .cpu_ns = (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec,
        .resident_bytes = proc_number("/proc/self/status", "\nVmRSS:") * 1024,
        .n_threads = proc_number("/proc/self/status", "\nThreads:"),
    };
}

struct text {
    char *to;
    size_t n, size;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(t->to + t->n, t->size - t->n, fmt, args);
    va_end(args);
    if (n > 0)
        t->n = t->n + (size_t)n < t->size ? t->n + (size_t)n : t->size - 1;
}

uint64_t tbp_capture_lost(const tbprof_counts *c) {
    return c->dropped_cap + c->dropped_ring + c->dropped_no_chunk + c->dropped_too_long +
           c->dropped_reentrant + c->dropped_depth + c->dropped_threads;
}

/* A sum says that something is missing, the reasons what to do about it. */
static void put_losses(struct text *t, const tbprof_counts *c) {
    const struct {
        const char *why;
        uint64_t n;
    } losses[] = {
        {"max_host_bytes", c->dropped_cap},        {"forgotten by the ring", c->dropped_ring},
        {"no memory", c->dropped_no_chunk},        {"arguments too long", c->dropped_too_long},
        {"signal handlers", c->dropped_reentrant}, {"nested too deeply", c->dropped_depth},
        {"too many threads", c->dropped_threads},
    };
    size_t n_told = 0;
    put(t, "lost: %" PRIu64, tbp_capture_lost(c));
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++) {
        if (losses[i].n)
            put(t, "%s%s %" PRIu64, n_told++ ? ", " : ": ", losses[i].why, losses[i].n);
    }
    put(t, "\n");
}

static void put_steps(struct text *t, const struct tbp_monitor *m) {
    const struct tbp_capture_scan *s = m->scan;
    double seconds = (double)m->recorded_ms / 1e3;
    if (!s) {
        put(t, "steps: not looked at: %s\n", m->why_no_scan);
        return;
    }
    if (s->n_steps == 0)
        put(t, "steps: none ended within %.1f s\n", seconds);
    else
        put(t,
            "steps: %" PRIu64 " in %.1f s, %.2f per second; "
            "%.3f ms on average, %.3f to %.3f ms\n",
            s->n_steps, seconds, (double)s->n_steps / seconds,
            (double)s->sum_step_ps / 1e9 / (double)s->n_steps, (double)s->min_step_ps / 1e9,
            (double)s->max_step_ps / 1e9);
    if (s->device_busy_ps)
        put(t, "devices: the busiest line %.1f %% busy\n",
            (double)s->device_busy_ps / 1e9 / (double)m->recorded_ms * 100);
}

size_t tbp_monitor_text(const struct tbp_monitor *m, char *to, size_t size) {
    struct text t = {to, 0, size};
    double span_ns = (double)(m->after.monotonic_ns - m->before.monotonic_ns);
    double cpu_ns = (double)(m->after.cpu_ns - m->before.cpu_ns);
    if (m->shows_time)
        put(&t, "time: %.3f\n", (double)m->after.realtime_ns / 1e9);
    put(&t, "host: %.1f %% of one processor over %.1f s, %" PRIu64 " threads\n",
        span_ns > 0 ? cpu_ns / span_ns * 100 : 0.0, span_ns / 1e9, m->after.n_threads);
    put(&t, "memory: %.1f MiB resident\n", (double)m->after.resident_bytes / 1048576.0);
    put_steps(&t, m);
    if (m->level >= 2 && m->counts) {
        const tbprof_counts *c = m->counts;
        put(&t, "recorded: %" PRIu64 " records, %" PRIu64 " bytes, %" PRIu64 " threads\n",
            c->records, c->bytes, c->threads);
        put_losses(&t, c);
    }
    return t.n;
}
