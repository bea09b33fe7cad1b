/* SPDX-License-Identifier: Apache-2.0
 *
 * How long an annotation may hold a thread up: threads record at a given rate while another takes
 * snapshots; every scope that took long is looked into. A thread that the system only took off the
 * processor (which happens to any program) is told apart from one that waited for us: waiting is a
 * voluntary switch, and work of ours is processor time of the thread.
 *
 *     bench_stall [SECONDS [THREADS [NS_BETWEEN_SCOPES [SNAPSHOT_MS]]]]      5, 2, 1000, 250
 *
 * NS_BETWEEN_SCOPES 0: as fast as it goes, which is faster than any disk. SNAPSHOT_MS 0: none.
 * The spool grows as needed ($TBPROF_FULL_POLICY=ring|stop for the others). Runs go to $TMPDIR.
 */
#include "tests/support/recording.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, BOUNDS = 4, PER_DOUBLING = 16, BINS = 40 * PER_DOUBLING };
static const double bounds_ns[BOUNDS] = {5e4, 1e5, 1e6, 1e7};

static struct { double end_ns, between_ns; } plan;

struct worker {
    pthread_t thread;
    uint64_t n_scopes;
    uint64_t n_held[BOUNDS]; /* scopes that were held up longer than bounds_ns */
    double longest_ns;
    uint64_t n_off; /* scopes during which the system ran something else */
    double longest_off_ns, first_ns;
    uint64_t
        n_took[BINS]; /* scopes by their time, whoever is to blame: PER_DOUBLING to a power of 2 */
};

static double clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What is looked at once in a while, and after each long scope. */
struct account {
    double cpu_ns;
    long n_waits, n_off;
};

static struct account account_now(void) {
    struct rusage r;
    getrusage(RUSAGE_THREAD, &r);
    return (struct account){clock_ns(CLOCK_THREAD_CPUTIME_ID), r.ru_nvcsw, r.ru_nivcsw};
}

static void look_into(struct worker *w, double took_ns, const struct account *before) {
    struct account now = account_now();
    double cpu_ns = now.cpu_ns - before->cpu_ns;
    bool has_waited = now.n_waits > before->n_waits;
    double held_ns = has_waited || cpu_ns > took_ns ? took_ns : cpu_ns;
    if (now.n_off > before->n_off) {
        w->n_off++;
        w->longest_off_ns = took_ns > w->longest_off_ns ? took_ns : w->longest_off_ns;
    }
    for (int i = 0; i < BOUNDS; i++)
        w->n_held[i] += held_ns > bounds_ns[i];
    w->longest_ns = held_ns > w->longest_ns ? held_ns : w->longest_ns;
}

static int bin_of(double ns) {
    int bin = ns < 1 ? 0 : (int)(log2(ns) * PER_DOUBLING);
    return bin < BINS ? bin : BINS - 1;
}

/* The time that the share of all scopes does not exceed. */
static double quantile_ns(const struct worker *sum, double share) {
    double left = share * (double)sum->n_scopes;
    int bin = 0;
    while (bin < BINS - 1 && (left -= (double)sum->n_took[bin]) > 0)
        bin++;
    return exp2((bin + 1.0) / PER_DOUBLING);
}

/* What is touched for the first time must not count: the memory of the bench and of the thread. */
static double warm_up(struct worker *w) {
    memset(w->n_took, 1, sizeof w->n_took);
    memset(w->n_took, 0, sizeof w->n_took);
    bin_of(1000);
    double from_ns = clock_ns(CLOCK_MONOTONIC);
    { TBPROF_SCOPE("work"); }
    w->first_ns = clock_ns(CLOCK_MONOTONIC) - from_ns;
    account_now();
    return clock_ns(CLOCK_MONOTONIC);
}

static void *record(void *context) {
    struct worker *w = context;
    double now_ns = warm_up(w);
    int n_per_account = plan.between_ns > 0 ? 1 : 64; /* it takes half a microsecond */
    while (now_ns < plan.end_ns) {
        struct account before = account_now();
        for (int i = 0; i < n_per_account && now_ns < plan.end_ns; i++) {
            double from_ns = clock_ns(CLOCK_MONOTONIC);
            { TBPROF_SCOPE("work"); }
            now_ns = clock_ns(CLOCK_MONOTONIC);
            w->n_scopes++;
            w->n_took[bin_of(now_ns - from_ns)]++;
            if (now_ns - from_ns > bounds_ns[0]) {
                look_into(w, now_ns - from_ns, &before);
                before = account_now();
            }
            double next_ns = from_ns + plan.between_ns;
            while (now_ns < next_ns)
                now_ns = clock_ns(CLOCK_MONOTONIC);
        }
    }
    return NULL;
}

static void take_snapshots(long every_ms) {
    while (clock_ns(CLOCK_MONOTONIC) < plan.end_ns) {
        struct timespec rest = {every_ms / 1000, every_ms % 1000 * 1000000};
        nanosleep(&rest, NULL);
        must(tbprof_snapshot(NULL));
    }
}

static long argument(int argc, char **argv, int i, long otherwise) {
    return argc > i ? strtol(argv[i], NULL, 10) : otherwise;
}

static void print_sums(const struct worker *workers, long n) {
    static struct worker sum;
    for (long i = 0; i < n; i++) {
        const struct worker *w = &workers[i];
        sum.n_scopes += w->n_scopes;
        sum.n_off += w->n_off;
        for (int b = 0; b < BOUNDS; b++)
            sum.n_held[b] += w->n_held[b];
        for (int b = 0; b < BINS; b++)
            sum.n_took[b] += w->n_took[b];
        sum.first_ns = w->first_ns > sum.first_ns ? w->first_ns : sum.first_ns;
        sum.longest_ns = w->longest_ns > sum.longest_ns ? w->longest_ns : sum.longest_ns;
        sum.longest_off_ns =
            w->longest_off_ns > sum.longest_off_ns ? w->longest_off_ns : sum.longest_off_ns;
    }
    printf("%.1f million scopes; held up by us: %llu over 50 us, %llu over 0.1 ms, %llu over 1 ms, "
           "%llu over 10 ms, longest %.3f ms; taken off the processor: %llu, longest %.3f ms\n",
           (double)sum.n_scopes / 1e6, (unsigned long long)sum.n_held[0],
           (unsigned long long)sum.n_held[1], (unsigned long long)sum.n_held[2],
           (unsigned long long)sum.n_held[3], sum.longest_ns / 1e6, (unsigned long long)sum.n_off,
           sum.longest_off_ns / 1e6);
    printf(
        "a scope between two readings of the clock takes: median %.2f us, 99 %% %.2f us, 99.9 %% "
        "%.2f us, 99.999 %% %.1f us, longest %.3f ms; the first of a thread at most %.3f ms\n",
        quantile_ns(&sum, 0.5) / 1e3, quantile_ns(&sum, 0.99) / 1e3, quantile_ns(&sum, 0.999) / 1e3,
        quantile_ns(&sum, 0.99999) / 1e3, quantile_ns(&sum, 1) / 1e6, sum.first_ns / 1e6);
}

int main(int argc, char **argv) {
    static struct worker workers[MAX_THREADS];
    long seconds = argument(argc, argv, 1, 5), n = argument(argc, argv, 2, 2);
    long every_ms = argument(argc, argv, 4, 250);
    char logdir[4096];
    const char *tmp = getenv("TMPDIR");
    tbprof_options options;
    n = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
    plan.between_ns = (double)argument(argc, argv, 3, 1000);
    snprintf(logdir, sizeof logdir, "%s/bench_stall-%d", tmp ? tmp : "/tmp", (int)getpid());
    tbprof_options_init(&options);
    options.full_policy =
        getenv("TBPROF_FULL_POLICY") ? options.full_policy : (int)TBPROF_FULL_GROW;
    must(tbprof_start(logdir, &options));
    plan.end_ns = clock_ns(CLOCK_MONOTONIC) + (double)seconds * 1e9;
    for (long i = 0; i < n; i++)
        pthread_create(&workers[i].thread, NULL, record, &workers[i]);
    if (every_ms > 0)
        take_snapshots(every_ms);
    for (long i = 0; i < n; i++)
        pthread_join(workers[i].thread, NULL);
    must(tbprof_stop(0));
    remove_folder(logdir);
    print_sums(workers, n);
    return 0;
}
