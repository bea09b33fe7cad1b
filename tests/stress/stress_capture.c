/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that come, record and go while sessions start, pause, take snapshots and stop as fast as
 * they can; afterwards every record must be accounted for:
 *
 *     records written = 2 x scopes begun - scopes cut by a stop + marks of pauses (counted by who
 *                       records)
 *     records written = records in the runs + records that a ring forgot          (by who writes)
 *
 * Sessions that are not saved count for the first; they come and go faster.
 *
 *     stress_capture RECORDS [THREADS] [SECONDS]       ends after either; exit code 1 if lost
 *
 * To be run under the sanitizers, too. Writes runs under $TMPDIR and removes them.
 */
#include "tests/support/recording.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, SCOPES_OF_VISITOR = 200, DEPTH = 5 };

static struct {
    uint64_t begun;    /* scopes with a handle; atomic, as all that follows */
    uint64_t visitors; /* threads that came and went */
    bool must_end;
} work;

static struct {
    uint64_t written, cut, ring, in_runs;         /* records; from the counts after each stop */
    uint64_t unsaved;                             /* those of sessions that were not to be saved */
    uint64_t dropped, sessions, snapshots, marks; /* marks: of pause and resume */
} sums;

/* Longest rest between two calls of who starts and stops. */
enum { REST_US = 200 };

/* ---- who records ---- */

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static tbprof_scope begin_some(uint32_t *random) {
    static tbprof_site site = {.name = "site", .file = __FILE__, .line = __LINE__, .level = 1};
    char name[80];
    uint32_t kind = next_random(random) % 4;
    if (kind < 2)
        return tbprof_scope_begin(&site);
    int n = snprintf(name, sizeof name, "scope %" PRIu32 " of a thread, with a name of its own",
                     *random % 1000);
    return tbprof_scope_begin_dyn(name, (size_t)n % 60, 1);
}

/* Some scopes inside each other. */
static uint64_t record_some(uint32_t *random) {
    tbprof_scope open[DEPTH];
    uint64_t begun = 0;
    int depth = 1 + (int)(next_random(random) % DEPTH);
    for (int i = 0; i < depth; i++) {
        open[i] = begin_some(random);
        begun += open[i] != 0;
    }
    while (depth-- > 0)
        tbprof_scope_end(open[depth]);
    return begun;
}

static void rest_us(uint32_t us) {
    struct timespec rest = {0, (long)us * 1000};
    nanosleep(&rest, NULL);
}

static void *resident(void *seed) {
    uint32_t random = (uint32_t)(uintptr_t)seed;
    while (!__atomic_load_n(&work.must_end, __ATOMIC_RELAXED)) {
        uint64_t begun = 0;
        for (int i = 0; i < 64; i++)
            begun += record_some(&random);
        __atomic_fetch_add(&work.begun, begun, __ATOMIC_RELAXED);
        rest_us(next_random(&random) % 1024); /* else one session holds all that is wanted */
    }
    return NULL;
}

static void *visitor(void *seed) {
    uint32_t random = (uint32_t)(uintptr_t)seed * 31;
    uint64_t begun = 0;
    for (int i = 0; i < SCOPES_OF_VISITOR; i++)
        begun += record_some(&random);
    __atomic_fetch_add(&work.begun, begun, __ATOMIC_RELAXED);
    return NULL;
}

/* Makes threads that live for a moment. */
static void *host_of_visitors(void *unused) {
    (void)unused;
    for (uintptr_t i = 0; !__atomic_load_n(&work.must_end, __ATOMIC_RELAXED); i++) {
        pthread_t guests[3];
        int n = 0;
        while (n < 3 && pthread_create(&guests[n], NULL, visitor, (void *)(i * 3 + 7)) == 0)
            n++;
        for (int g = 0; g < n; g++)
            pthread_join(guests[g], NULL);
        __atomic_fetch_add(&work.visitors, (uint64_t)n, __ATOMIC_RELAXED);
        rest_us(100);
    }
    return NULL;
}

/* ---- who starts and stops ---- */

static void one_session(const char *logdir, uint32_t *random) {
    static const int policies[] = {TBPROF_FULL_STOP, TBPROF_FULL_RING, TBPROF_FULL_GROW};
    tbprof_options options;
    tbprof_options_init(&options);
    options.rss_period_ms = 0;
    options.max_host_bytes = (uint64_t)(1 + next_random(random) % 64) << 20;
    options.full_policy = policies[next_random(random) % 3];
    options.spool_dir = next_random(random) % 2 ? "memory" : NULL;
    options.start_paused = 1; /* so that this thread has its chunk for marks before all are taken */
    must(tbprof_start(logdir, &options));
    must(tbprof_resume());
    sums.marks++;
    int n = (int)(next_random(random) % 6);
    for (int i = 0; i < n; i++) {
        rest_us(next_random(random) % REST_US);
        switch (next_random(random) % 4) {
        case 0:
            must(tbprof_pause());
            must(tbprof_resume());
            sums.marks += 2;
            break;
        case 1:
            must(tbprof_snapshot(NULL));
            sums.snapshots++;
            break;
        default:
            break;
        }
    }
    bool is_saved = next_random(random) % 4 == 0; /* others come one after another at once */
    must(tbprof_stop(is_saved));
    sums.sessions++;
    tbprof_counts c = {.struct_size = sizeof c};
    must(tbprof_stats(&c));
    sums.written += c.records;
    sums.cut += c.cut_by_stop;
    sums.ring += c.dropped_ring;
    sums.in_runs += c.saved;
    sums.unsaved += is_saved ? 0 : c.records - c.dropped_ring - c.saved;
    sums.dropped += c.dropped_cap + c.dropped_no_chunk + c.dropped_depth + c.dropped_threads;
    remove_folder(logdir);
}

/* Where it may: starts and stops come when they want to, not when eight threads leave it a
 * processor. */
static const char *run_first(void) {
    struct sched_param first = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &first) == 0 ? ", ahead of the threads"
                                                                          : "";
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool check(const char *what, uint64_t have, uint64_t want) {
    if (have == want)
        return true;
    printf("LOST: %s: %" PRIu64 ", not %" PRIu64 "\n", what, have, want);
    return false;
}

int main(int argc, char **argv) {
    uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    int n_threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 8;
    double limit = argc > 3 ? strtod(argv[3], NULL) : 1e9, from = seconds();
    char logdir[4096];
    pthread_t threads[MAX_THREADS], host;
    const char *tmp = getenv("TMPDIR");
    snprintf(logdir, sizeof logdir, "%s/stress_capture-%d", tmp ? tmp : "/tmp", (int)getpid());
    n_threads = n_threads < 1 ? 1 : n_threads > MAX_THREADS ? MAX_THREADS : n_threads;
    for (int i = 0; i < n_threads; i++)
        pthread_create(&threads[i], NULL, resident, (void *)(uintptr_t)(i + 1));
    pthread_create(&host, NULL, host_of_visitors, NULL);
    const char *order = run_first();
    uint32_t random = 1;
    while (sums.written < wanted && seconds() - from < limit)
        one_session(logdir, &random);
    __atomic_store_n(&work.must_end, true, __ATOMIC_RELAXED);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    pthread_join(host, NULL);
    double took = seconds() - from;
    printf("%" PRIu64 " sessions, %" PRIu64 " snapshots, %" PRIu64 " short threads in %.1f s: %.0f "
           "starts, stops and snapshots a second%s\n"
           "%" PRIu64 " records, %" PRIu64 " of them in runs, %" PRIu64 " not to be saved, %" PRIu64
           " forgotten by rings; %" PRIu64 " scopes cut by stops, %" PRIu64 " dropped\n",
           sums.sessions, sums.snapshots, work.visitors, took,
           (double)(2 * sums.sessions + sums.snapshots) / took, order, sums.written, sums.in_runs,
           sums.unsaved, sums.ring, sums.cut, sums.dropped);
    bool is_good = check("records by scopes", sums.written, 2 * work.begun - sums.cut + sums.marks);
    is_good &= check("records in runs", sums.in_runs + sums.unsaved + sums.ring, sums.written);
    return is_good ? 0 : 1;
}
