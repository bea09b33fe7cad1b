/* SPDX-License-Identifier: Apache-2.0
 *
 * How often a program can start and stop a session, or take a snapshot of one: with a handful of
 * records each, so that what is measured is the fixed cost; medians of N.
 *
 *     bench_sessions FOLDER [N]        FOLDER: where log directory and spools lie; emptied by you
 *
 * The folder's file system decides: a run that is saved is on the disk when stop returns.
 */
#include "tests/support/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SCOPES = 10 };

enum { MOST = 10000 };

/* Of one kind of call, in us. */
struct times {
    double at[MOST];
    int n;
};

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
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
}

static void snapshots(const char *logdir, const char *spool_dir, int n) {
    static struct times saved, collected;
    tbprof_options options = options_with(spool_dir);
    must(tbprof_start(logdir, &options));
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
    must(tbprof_stop(0));
    double saved_us = median(&saved), collected_us = median(&collected);
    printf("%-36s %7.0f per second: %6.0f us\n", "snapshot, saved", 1e6 / saved_us, saved_us);
    printf("%-36s %7.0f per second: %6.0f us\n", "snapshot, collected", 1e6 / collected_us,
           collected_us);
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : "/tmp";
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 200;
    if (n < 1 || n > MOST)
        return 2;
    must(tbprof_start("", NULL)); /* the clock is chosen */
    must(tbprof_stop(0));
    sessions("session, saved", folder, folder, n, 1);
    sessions("session, saved, spool in memory", folder, "memory", n, 1);
    sessions("session, dropped", folder, folder, n, 0);
    sessions("session, dropped, spool in memory", folder, "memory", n, 0);
    snapshots(folder, folder, n);
    return 0;
}
