/* SPDX-License-Identifier: Apache-2.0
 *
 * How often a program can start and stop a session, or take a snapshot of one: with a handful of
 * records each, so that what is measured is the fixed cost; medians of N.
 *
 *     bench_sessions FOLDER [N] [THREADS]      FOLDER: where log directory and spools lie;
 *                                              emptied by you
 *
 * The folder's file system decides: a run that is saved is on the disk when stop returns. With
 * THREADS that record without a rest, so does the scheduler, behind whom the caller waits. Hence
 * the rate over all of the time, what the caller itself worked and how often it lost its processor,
 * and as a bound the calls of the system alone that a session cannot do without.
 */
#include "tests/support/recording.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SCOPES = 10, MOST = 10000, MOST_THREADS = 64, SPOOL_BYTES = 1 << 20, FIRST_BYTES = 3 << 17 };

/* Of one kind of call, in us. */
struct times {
    double at[MOST];
    int n;
};

static double clock_us(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double now_us(void) {
    return clock_us(CLOCK_MONOTONIC);
}

static void add(struct times *times, double from_us) {
    times->at[times->n++] = now_us() - from_us;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(struct times *times) {
    qsort(times->at, (size_t)times->n, sizeof *times->at, compare);
    double m = times->at[times->n / 2];
    times->n = 0;
    return m;
}

/* Of the calling thread since some moment. */
struct spent {
    double wall_us, cpu_us;
    long n_waits, n_preempted;
};

static struct spent spent_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return (struct spent){now_us(), clock_us(CLOCK_THREAD_CPUTIME_ID), usage.ru_nvcsw,
                          usage.ru_nivcsw};
}

/* Of n rounds since `from`. */
static void print_spent(const char *what, struct spent from, int n) {
    struct spent to = spent_now();
    printf("%-36s %7.0f per second in all: works %.0f us of %.0f, waits %.1f times, preempted %.2f "
           "times\n",
           what, n * 1e6 / (to.wall_us - from.wall_us), (to.cpu_us - from.cpu_us) / n,
           (to.wall_us - from.wall_us) / n, (double)(to.n_waits - from.n_waits) / n,
           (double)(to.n_preempted - from.n_preempted) / n);
}

static void record(void) {
    for (int i = 0; i < SCOPES; i++) {
        TBPROF_SCOPE("work");
    }
}

static tbprof_options options_with(const char *spool_dir) {
    tbprof_options options;
    tbprof_options_init(&options);
    options.spool_dir = spool_dir;
    return options;
}

static void sessions(const char *what, const char *logdir, const char *spool_dir, int n, int save) {
    static struct times starts, stops;
    tbprof_options options = options_with(spool_dir);
    struct spent from = spent_now();
    for (int i = 0; i < n; i++) {
        double from_us = now_us();
        must(tbprof_start(logdir, &options));
        add(&starts, from_us);
        record();
        from_us = now_us();
        must(tbprof_stop(save));
        add(&stops, from_us);
    }
    double start_us = median(&starts), stop_us = median(&stops);
    printf("%-36s %7.0f per second: start %6.0f us, stop %6.0f us\n", what,
           1e6 / (start_us + stop_us), start_us, stop_us);
    print_spent("", from, n);
}

static void snapshots(const char *logdir, const char *spool_dir, int n) {
    static struct times saved, collected;
    tbprof_options options = options_with(spool_dir);
    must(tbprof_start(logdir, &options));
    struct spent from = spent_now();
    for (int i = 0; i < n; i++) {
        uint8_t *bytes;
        size_t size;
        record();
        double from_us = now_us();
        must(tbprof_snapshot(NULL));
        add(&saved, from_us);
        record();
        from_us = now_us();
        must(tbprof_collect(&bytes, &size));
        add(&collected, from_us);
        tbprof_bytes_free(bytes);
    }
    print_spent("snapshots, one of each", from, n);
    must(tbprof_stop(0));
    double saved_us = median(&saved), collected_us = median(&collected);
    printf("%-36s %7.0f per second: %6.0f us\n", "snapshot, saved", 1e6 / saved_us, saved_us);
    printf("%-36s %7.0f per second: %6.0f us\n", "snapshot, collected", 1e6 / collected_us,
           collected_us);
}

/* ---- the bound ---- */

static void *nothing(void *unused) {
    return unused;
}

/* A thread of its own, and a file with its first pages present, that come and go. */
static bool bare_session(const char *folder) {
    char own[4096], path[4200];
    pthread_t thread;
    snprintf(own, sizeof own, "%s/bare-%d", folder, (int)getpid());
    snprintf(path, sizeof path, "%s/spool", own);
    int fd = mkdir(own, 0700) ? -1 : open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, SPOOL_BYTES))
        return false;
    char *at = mmap(NULL, SPOOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED || pthread_create(&thread, NULL, nothing, NULL))
        return false;
    for (int i = 0; i < FIRST_BYTES; i += 4096)
        ((volatile char *)at)[i] = 1;
    pthread_join(thread, NULL);
    munmap(at, SPOOL_BYTES);
    return close(fd) == 0 && unlink(path) == 0 && rmdir(own) == 0;
}

static bool bare_sessions(const char *folder, int n) {
    struct spent from = spent_now();
    for (int i = 0; i < n; i++)
        if (!bare_session(folder))
            return false;
    print_spent("calls of the system alone", from, n);
    return true;
}

static bool must_end; /* atomic */

static void *recorder(void *unused) {
    while (!__atomic_load_n(&must_end, __ATOMIC_RELAXED))
        record();
    return unused;
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "/tmp";
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    int n_threads = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 0;
    pthread_t threads[MOST_THREADS];
    if (n < 1 || n > MOST || n_threads < 0 || n_threads > MOST_THREADS)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    must(tbprof_start("", NULL)); /* the clock is chosen */
    must(tbprof_stop(0));
    for (int i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, recorder, NULL))
            return 2;
    bool is_measured = bare_sessions(folder, n);
    sessions("session, saved", folder, folder, n, 1);
    sessions("session, saved, spool in memory", folder, "memory", n, 1);
    sessions("session, dropped", folder, folder, n, 0);
    sessions("session, dropped, spool in memory", folder, "memory", n, 0);
    snapshots(folder, folder, n);
    __atomic_store_n(&must_end, true, __ATOMIC_RELAXED);
    for (int i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
    return is_measured ? 0 : 1;
}
