/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is recorded and ends in the way asked for, for tests/capture/test_survival.py. It
 * keeps a reference log in a shared file: for each thread how many scopes were about to begin, had
 * begun, and had ended. Whatever happens to the process, the number of scopes in the profile lies
 * between the first two, which differ by one at most.
 *
 *     recorded LOGDIR REFERENCE THREADS ENDING
 *
 * ENDING: forever (until killed), segv, abort, exit, stop, fork, snapshots (all the while, then
 * stop), memory and memory_abort (there is none left when it stops, or aborts).
 */
#include "capture/tbprof.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MAX_THREADS = 16,
    SHORT = 2000,
    LONG = 150000,
    SPIN = 1000,
    PARTS = 5, /* of LONG */
    SNAPSHOT_US = 1000
};

struct reference { /* one per thread, a cache line each */
    uint64_t asked, begun, ended;
    uint64_t padding[5];
};

struct work {
    struct reference *reference;
    int number;
    uint64_t n;                  /* scopes; 0: until the process ends */
    const unsigned *n_snapshots; /* NULL: there will be none */
};

static void spin(void) {
    for (volatile int i = 0; i < SPIN; i++)
        continue;
}

/* At the end of each part but the last: however fast this thread is, what it records in the first,
 * third and fifth part comes to lie in different snapshots, as each of them may have begun long ago
 * when it ends. */
static void await_snapshot(const struct work *w) {
    unsigned before = __atomic_load_n(w->n_snapshots, __ATOMIC_ACQUIRE);
    while (__atomic_load_n(w->n_snapshots, __ATOMIC_ACQUIRE) == before)
        usleep(SNAPSHOT_US);
}

static void *record(void *context) {
    struct work *w = context;
    struct reference *r = &w->reference[w->number];
    char name[64];
    snprintf(name, sizeof name, "thread-%d", w->number);
    tbprof_thread_name(name);
    for (uint64_t i = 0; w->n == 0 || i < w->n; i++) {
        if (w->n_snapshots && i && i % (LONG / PARTS) == 0)
            await_snapshot(w);
        int size = snprintf(name, sizeof name, "s%d#i=%llu#", w->number, (unsigned long long)i);
        __atomic_store_n(&r->asked, i + 1, __ATOMIC_RELEASE);
        tbprof_scope s = tbprof_scope_begin_dyn(name, (size_t)size, 1);
        __atomic_store_n(&r->begun, i + 1, __ATOMIC_RELEASE);
        spin();
        tbprof_scope_end(s);
        __atomic_store_n(&r->ended, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void start_threads(pthread_t *threads, struct work *works, int n) {
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, record, &works[i]);
}

static bool all_done(const struct work *works, int n) {
    for (int i = 0; i < n; i++)
        if (__atomic_load_n(&works[i].reference[i].ended, __ATOMIC_ACQUIRE) < works[i].n)
            return false;
    return true;
}

static void take_snapshots(const struct work *works, int n, unsigned *n_snapshots) {
    while (!all_done(works, n)) {
        usleep(SNAPSHOT_US);
        if (tbprof_snapshot(NULL) != TBPROF_OK)
            fprintf(stderr, "snapshot: %s\n", tbprof_last_error());
        __atomic_fetch_add(n_snapshots, 1, __ATOMIC_RELEASE);
    }
}

/* Until nothing can be had any more: neither from the heap nor from the system. */
static void use_up_memory(void) {
    struct rlimit none = {1, 1};
    setrlimit(RLIMIT_AS, &none);
    for (size_t size = 1 << 20; size >= 16; size /= 2)
        for (char *p; (p = malloc(size));)
            memset(p, 1, size);
}

static void end(const char *how) {
    if (strncmp(how, "memory", 6) == 0)
        use_up_memory();
    if (strcmp(how, "memory_abort") == 0)
        abort();
    if (strcmp(how, "segv") == 0)
        *(volatile int *)0 = 1;
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "exit") == 0)
        _exit(3);
    if (strcmp(how, "fork") == 0) { /* the child has nothing to do with the session */
        pid_t child = fork();
        if (child == 0) {
            TBPROF_SCOPE("in the child");
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (tbprof_stop(1) != TBPROF_OK) {
        fprintf(stderr, "stop: %s\n", tbprof_last_error());
        exit(4);
    }
    printf("%s\n", tbprof_last_run());
}

int main(int argc, char **argv) {
    pthread_t threads[MAX_THREADS];
    struct work works[MAX_THREADS];
    if (argc != 5)
        return 2;
    int n = atoi(argv[3]), fd = open(argv[2], O_RDWR | O_CREAT, 0600);
    bool forever = strcmp(argv[4], "forever") == 0;
    size_t size = MAX_THREADS * sizeof(struct reference);
    if (n < 1 || n > MAX_THREADS || fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return 2;
    struct reference *reference = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (reference == MAP_FAILED)
        return 2;
    if (tbprof_start(argv[1], NULL) != TBPROF_OK) {
        fprintf(stderr, "start: %s\n", tbprof_last_error());
        return 5;
    }
    bool snapshots = strcmp(argv[4], "snapshots") == 0;
    unsigned n_snapshots = 0; /* atomic */
    uint64_t n_scopes = forever ? 0 : snapshots ? LONG : SHORT;
    for (int i = 0; i < n; i++)
        works[i] = (struct work){reference, i, n_scopes, snapshots ? &n_snapshots : NULL};
    start_threads(threads, works, n);
    if (snapshots)
        take_snapshots(works, n, &n_snapshots);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    end(argv[4]);
    return 0;
}
