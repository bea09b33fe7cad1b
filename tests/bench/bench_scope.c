/* SPDX-License-Identifier: Apache-2.0
 *
 * What an annotation costs, beside what it must cost (two readings of the clock) and beside
 * replicas of what other profilers do, all in one process in one run: only the ratios mean
 * anything. Each figure is the fastest of several interleaved rounds, in ns of one thread.
 *
 *     bench_scope [ROUNDS] [--gate]        --gate: exit code 1 if a bound is broken
 *
 * Replicas: TensorFlow's TraceMe (a std::string-like name, two readings of the real-time clock, one
 * record into a block of the thread) and CNTK's profiler (one buffer for all threads behind a
 * recursive mutex, two readings of the steady clock, the thread's number from the kernel, the name
 * copied; also shown without the call to the kernel). Their memory is there beforehand, which is
 * kinder than the originals are.
 */
#include "tests/support/recording.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { N = 1000000, MAX_THREADS = 8, NAME = 32 };

/* ---- allocations, counted in the whole process ---- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
static long n_allocations;

void *malloc(size_t size) {
    __atomic_fetch_add(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
    __atomic_fetch_add(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_calloc(n, size);
}
void *realloc(void *p, size_t size) {
    __atomic_fetch_add(&n_allocations, 1, __ATOMIC_RELAXED);
    return __libc_realloc(p, size);
}

/* ---- clocks ---- */

static inline uint64_t ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

static inline int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- replica of TraceMe ---- */

struct string { /* as std::string: up to 15 bytes inside, longer ones on the heap */
    char *p;
    size_t n;
    char inside[16];
};
struct traceme {
    struct string name;
    int64_t start_ns, end_ns;
};
enum { TRACEME_PER_BLOCK = 65536 / sizeof(struct traceme) };
struct traceme_block {
    struct traceme at[TRACEME_PER_BLOCK];
};
static struct traceme_block *traceme_blocks;
enum { TRACEME_BLOCKS = 1024 };
static __thread struct {
    struct traceme_block *block;
    size_t n, next;
} traceme_queue;
static int traceme_level;

static inline void string_set(struct string *s, const char *text, size_t n) {
    s->n = n;
    s->p = n < sizeof s->inside ? s->inside : __libc_malloc(n + 1);
    memcpy(s->p, text, n);
    s->p[n] = 0;
}

static inline void string_move(struct string *to, const struct string *from) {
    *to = *from;
    if (from->p == from->inside)
        to->p = to->inside;
}

static void __attribute__((noinline)) traceme_record(struct traceme *event) {
    if (traceme_queue.n == TRACEME_PER_BLOCK || !traceme_queue.block) {
        traceme_queue.block = &traceme_blocks[traceme_queue.next++ % TRACEME_BLOCKS];
        traceme_queue.n = 0;
    }
    struct traceme *to = &traceme_queue.block->at[traceme_queue.n++];
    if (to->name.p && to->name.p != to->name.inside)
        free(to->name.p); /* of an earlier round: the original frees when it has collected */
    string_move(&to->name, &event->name);
    to->start_ns = event->start_ns;
    to->end_ns = event->end_ns;
}

static inline void traceme(const char *name, size_t n) {
    struct traceme event;
    if (__atomic_load_n(&traceme_level, __ATOMIC_RELAXED) < 1)
        return;
    string_set(&event.name, name, n);
    event.start_ns = clock_ns(CLOCK_REALTIME);
    __asm__ volatile("" ::: "memory"); /* the scope's body */
    event.end_ns = clock_ns(CLOCK_REALTIME);
    traceme_record(&event);
}

/* ---- replica of CNTK's profiler ---- */

static struct {
    pthread_mutex_t lock;
    char *at, *begin, *end;
} locked;

static inline void locked_event(const char *name, bool asks_kernel) {
    int64_t from = clock_ns(CLOCK_MONOTONIC);
    __asm__ volatile("" ::: "memory");
    int64_t to = clock_ns(CLOCK_MONOTONIC);
    uint64_t thread = asks_kernel ? (uint64_t)syscall(SYS_gettid) : (uint64_t)pthread_self();
    pthread_mutex_lock(&locked.lock);
    size_t n = strlen(name) + 1;
    if ((size_t)(locked.end - locked.at) < n + 24)
        locked.at = locked.begin;
    memcpy(locked.at, name, n);
    uint64_t rest[3] = {(uint64_t)from, (uint64_t)to, thread};
    memcpy(locked.at + n, rest, sizeof rest);
    locked.at += n + sizeof rest;
    pthread_mutex_unlock(&locked.lock);
}

/* ---- what is measured ---- */

static char dynamic_name[NAME + 1] = "layer_0123/attention/query_key__";
static volatile uint64_t sink[2];

static void run_empty(long n) {
    for (long i = 0; i < n; i++)
        __asm__ volatile("" ::: "memory");
}
static void run_clock(long n) {
    for (long i = 0; i < n; i++) {
        sink[0] = ticks();
        __asm__ volatile("" ::: "memory");
        sink[1] = ticks();
    }
}
static void run_static(long n) {
    for (long i = 0; i < n; i++) {
        TBPROF_SCOPE("forward");
        __asm__ volatile("" ::: "memory");
    }
}
static void run_dynamic(long n) {
    for (long i = 0; i < n; i++) {
        tbprof_scope scope = tbprof_scope_begin_dyn(dynamic_name, NAME, 1);
        __asm__ volatile("" ::: "memory");
        tbprof_scope_end(scope);
    }
}
static void run_traceme_short(long n) {
    for (long i = 0; i < n; i++)
        traceme("forward", 7);
}
static void run_traceme_long(long n) {
    for (long i = 0; i < n; i++)
        traceme(dynamic_name, NAME);
}
static void run_locked(long n) {
    for (long i = 0; i < n; i++)
        locked_event("forward", true);
}
static void run_locked_light(long n) {
    for (long i = 0; i < n; i++)
        locked_event("forward", false);
}

enum {
    EMPTY,
    CLOCK,
    OFF,
    OFF_DYNAMIC,
    ON,
    ON_DYNAMIC,
    TRACEME,
    TRACEME_LONG,
    LOCKED,
    LOCKED_LIGHT,
    CASES
};
static const struct {
    const char *name;
    void (*run)(long n);
    bool needs_session;
} cases[CASES] = {
    {"empty loop", run_empty, false},
    {"two clock reads", run_clock, false},
    {"scope, off", run_static, false},
    {"scope, off, dynamic name", run_dynamic, false},
    {"scope, on", run_static, true},
    {"scope, on, dynamic name of 32 bytes", run_dynamic, true},
    {"replica of TraceMe", run_traceme_short, false},
    {"replica of TraceMe, name of 32 bytes", run_traceme_long, false},
    {"replica of CNTK's locked buffer", run_locked, false},
    {"the same without gettid", run_locked_light, false},
};

static double time_of(int which) {
    int64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    cases[which].run(N);
    return (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / N;
}

static void start(void) {
    tbprof_options options;
    tbprof_options_init(&options);
    options.full_policy = TBPROF_FULL_RING;
    options.max_host_bytes = 64 << 20;
    options.rss_period_ms = 0;
    must(tbprof_start("", &options));
}

/* ---- threads ---- */

static pthread_barrier_t barrier;

static void *one_thread(void *result) {
    run_static(N / 10); /* first chunks, registration */
    pthread_barrier_wait(&barrier);
    int64_t from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    run_static(N);
    *(double *)result = (double)(clock_ns(CLOCK_THREAD_CPUTIME_ID) - from) / N;
    return NULL;
}

/* Mean cost in n threads at a time. */
static double time_threads(int n) {
    pthread_t threads[MAX_THREADS];
    double costs[MAX_THREADS], sum = 0;
    pthread_barrier_init(&barrier, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, one_thread, &costs[i]);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += costs[i];
    }
    pthread_barrier_destroy(&barrier);
    return sum / n;
}

static double least(double a, double b) {
    return a < b ? a : b;
}

/* ---- gates ---- */

static bool is_broken;

static void bound(const char *what, double have, double want, bool at_least) {
    bool is_good = at_least ? have >= want : have <= want;
    printf("  %-58s %8.2f  %s %.2f  %s\n", what, have, at_least ? ">=" : "<=", want,
           is_good ? "ok" : "BROKEN");
    is_broken |= !is_good;
}

static void print_costs(const double *ns) {
    printf("%-44s %8s %s\n", "", "ns", "of two clock reads");
    for (int i = 0; i < CASES; i++)
        printf("%-44s %8.2f %6.2f\n", cases[i].name, ns[i], ns[i] / ns[CLOCK]);
}

/* Faults of this thread and allocations of the process while a million records are written. */
static void check_quiet(void) {
    struct rusage before, after;
    long allocations = __atomic_load_n(&n_allocations, __ATOMIC_RELAXED);
    getrusage(RUSAGE_THREAD, &before);
    run_static(N / 4);
    run_dynamic(N / 4);
    getrusage(RUSAGE_THREAD, &after);
    allocations = __atomic_load_n(&n_allocations, __ATOMIC_RELAXED) - allocations;
    bound("page faults in a million records", (double)(after.ru_minflt - before.ru_minflt), 0,
          false);
    bound("allocations in a million records", (double)allocations, 0, false);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 && argv[1][0] != '-' ? (int)strtol(argv[1], NULL, 10) : 9;
    double ns[CASES], single = 1e9, two = 1e9, eight = 1e9;
    traceme_level = 1;
    traceme_blocks = calloc(TRACEME_BLOCKS, sizeof *traceme_blocks);
    memset(traceme_blocks, 0, TRACEME_BLOCKS * sizeof *traceme_blocks);
    locked.begin = locked.at = malloc(32 << 20);
    locked.end = locked.begin + (32 << 20);
    memset(locked.begin, 0, 32 << 20);
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&locked.lock, &recursive);
    for (int i = 0; i < CASES; i++)
        ns[i] = 1e9;
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < CASES; i++)
            if (!cases[i].needs_session)
                ns[i] = least(ns[i], time_of(i));
        start();
        run_dynamic(2 * N); /* the ring is full: all its pages are there */
        for (int i = 0; i < CASES; i++)
            if (cases[i].needs_session)
                ns[i] = least(ns[i], time_of(i));
        single = least(single, time_threads(1));
        two = least(two, time_threads(2));
        eight = least(eight, time_threads(MAX_THREADS));
        if (round == rounds - 1) {
            print_costs(ns);
            check_quiet();
        }
        must(tbprof_stop(0));
    }
    bound("off: ns over an empty loop", ns[OFF] - ns[EMPTY], 1, false);
    bound("on: clock reads", ns[ON] / ns[CLOCK], 1.3, false);
    bound("dynamic name: ns over a static one", ns[ON_DYNAMIC] - ns[ON], 5, false);
    bound("TraceMe / ours", ns[TRACEME] / ns[ON], 1.5, true);
    bound("TraceMe / ours, names of 32 bytes", ns[TRACEME_LONG] / ns[ON_DYNAMIC], 1.5, true);
    bound("locked buffer / ours", ns[LOCKED] / ns[ON], 3, true);
    printf("  one thread %.2f ns, each of two %.2f (%.2f), each of eight %.2f (%.2f)\n", single,
           two, two / single, eight, eight / single);
    return is_broken && argc > 1 && strcmp(argv[argc - 1], "--gate") == 0;
}
