/* SPDX-License-Identifier: Apache-2.0
 *
 * hot_path [RECORDS | captures]: a thread that records waits for nothing, whatever the machine has
 * to do.
 * After its first scope the thread may not call the system any more: a filter of the kernel's turns
 * each call into a signal, which counts it; only the clock, waking a sleeper, and what ends the
 * thread are let through, none of which waits. Meanwhile others take snapshots and the janitor
 * makes chunks. The thread records no faster than the stock lasts, as a program does. With the
 * spool in memory ($TBPROF_SPOOL_DIR=memory) no page may be missing either.
 *
 * With "captures" there is a server, and a client that asks it for one capture after another: also
 * from their begin to their end, and while the server is idle, the threads call nothing.
 *
 * Whatever else is armed (a server, a GPU), annotations look at one word alone: it must be that of
 * a session without. Exit code 1 if it is not, or a thread called or faulted; 77 where filters are
 * not to be had.
 */
#include "capture/record.h"
#include "capture/state.h"
#include "tests/support/recording.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED = 77, THREADS = 8, RESERVE = 2 * THREADS /* chunks */, CALLS = 512 };
enum { CAPTURES = 3, CAPTURE_MS = 100, PACE_NS = 20000 /* slower than any disk */ };
enum { SCOPES_AT_ONCE = 256 /* twice, not half a chunk */, WARM_UP = 100000 };

static struct {
    uint64_t n_records;      /* of each thread */
    uint64_t n_calls[CALLS]; /* by number; atomic, as all that follows */
    long n_faults;
    int n_filters, n_over; /* threads */
    int n_warm;            /* threads that a capture has met, */
    int n_captures;        /* and captures since all were */
    bool is_other_word;    /* that annotations look at */
} seen;

/* Threads that end at the same moment may wait for one another, and then no longer record. */
static __thread volatile bool is_over;

static void count_call(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    if (is_over)
        return;
    unsigned n = (unsigned)info->si_syscall;
    __atomic_fetch_add(&seen.n_calls[n < CALLS ? n : CALLS - 1], 1, __ATOMIC_RELAXED);
}

#define LET(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), ALLOWED
#define ALLOWED   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(member)                                                                               \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))

/* For this thread alone; false: the system has none. */
static bool forbid_calls(void) {
    struct sock_filter filter[] = {
        LOAD(nr),
        LET(clock_gettime),
        LET(getrusage),
        LET(rt_sigreturn),
        LET(rt_sigprocmask),
        LET(madvise), /* a thread that ends gives its stack back */
        LET(exit),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 0, 3),
        LOAD(args[1]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 0, 1),
        ALLOWED,
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

static long faults(void) {
    struct rusage r;
    getrusage(RUSAGE_THREAD, &r);
    return r.ru_minflt + r.ru_majflt;
}

/* Is there enough in stock for all threads? A ring keeps an eighth for collectors. */
static bool may_record(void) {
    const struct tbp_spool *s = tbp_record_spool;
    uint32_t n_free = __atomic_load_n(&s->n_free, __ATOMIC_RELAXED);
    uint32_t max = __atomic_load_n(&s->max_chunks, __ATOMIC_RELAXED);
    uint32_t n_begun = __atomic_load_n(&s->n_begun, __ATOMIC_RELAXED);
    uint32_t left = n_free + (max > n_begun ? max - n_begun : 0);
    return n_free >= RESERVE && (!s->is_ring || left > max / 8 + RESERVE);
}

static void record_some(void) {
    while (!may_record())
        continue; /* the disk, or the ring, gives no more for now */
    for (int i = 0; i < SCOPES_AT_ONCE; i++) {
        TBPROF_SCOPE("forward");
        TBPROF_SCOPE("matmul");
    }
}

static void *train(void *unused) {
    (void)unused;
    for (int i = 0; i < WARM_UP / SCOPES_AT_ONCE; i++)
        record_some();
    faults();
    __atomic_fetch_add(&seen.n_filters, forbid_calls(), __ATOMIC_RELAXED);
    long before = faults();
    for (uint64_t n = 0; n < seen.n_records; n += 4 * SCOPES_AT_ONCE)
        record_some();
    __atomic_fetch_add(&seen.n_faults, faults() - before, __ATOMIC_RELAXED);
    is_over = true;
    __atomic_fetch_add(&seen.n_over, 1, __ATOMIC_RELEASE);
    return NULL;
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* At a program's pace. True: a capture was under way, so the scopes are in it. */
static bool record_paced(void) {
    int64_t next_ns = now_ns() + PACE_NS;
    bool is_recorded = tbprof_is_active(1);
    {
        TBPROF_SCOPE("forward");
        TBPROF_SCOPE("matmul");
    }
    is_recorded = is_recorded && tbprof_is_active(1);
    while (now_ns() < next_ns)
        continue;
    return is_recorded;
}

static void *train_while_captured(void *unused) {
    (void)unused;
    while (!record_paced()) /* what is touched for the first time does not count */
        continue;
    __atomic_fetch_add(&seen.n_filters, forbid_calls(), __ATOMIC_RELAXED);
    __atomic_fetch_add(&seen.n_warm, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&seen.n_captures, __ATOMIC_ACQUIRE) < CAPTURES)
        record_paced();
    is_over = true;
    __atomic_fetch_add(&seen.n_over, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void take_captures(const char *logdir) {
    tbprof_server *server;
    char address[32];
    must(tbprof_server_start(0, NULL, &server));
    snprintf(address, sizeof address, "127.0.0.1:%d", tbprof_server_port(server));
    seen.is_other_word = tbp_state_load() != 0; /* a server that nobody asks */
    while (seen.n_captures < CAPTURES) {
        bool counts = __atomic_load_n(&seen.n_warm, __ATOMIC_ACQUIRE) == THREADS;
        must(tbprof_client_trace(address, logdir, CAPTURE_MS, NULL, NULL, 0));
        __atomic_fetch_add(&seen.n_captures, counts, __ATOMIC_RELEASE);
    }
    tbprof_server_stop(server);
}

static void rest(void) {
    struct timespec t = {0, 20000000};
    nanosleep(&t, NULL);
}

static int judge(void) {
    const char *folder = getenv("TBPROF_SPOOL_DIR");
    bool is_memory = folder && strcmp(folder, "memory") == 0;
    int n_wrong = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        if (seen.n_calls[i])
            printf("system call %u: %llu times\n", i, (unsigned long long)seen.n_calls[i]);
        n_wrong += seen.n_calls[i] > 0;
    }
    printf("%d threads: %d calls, %ld page faults\n", THREADS, n_wrong, seen.n_faults);
    if (seen.is_other_word)
        puts("annotations go another way than without what is armed");
    return n_wrong > 0 || seen.is_other_word || (is_memory && seen.n_faults > 0);
}

static void begin_session(const char *logdir) {
    tbprof_options options;
    tbprof_options_init(&options);
    options.full_policy =
        getenv("TBPROF_FULL_POLICY") ? options.full_policy : (int)TBPROF_FULL_GROW;
    must(tbprof_start(logdir, &options));
    uint64_t word = tbp_state_load();
    seen.is_other_word =
        word != tbp_state_make(tbp_state_generation(word), UINT32_MAX, TBP_STATE_OPEN, 2);
}

static void take_snapshots(void) {
    while (__atomic_load_n(&seen.n_over, __ATOMIC_ACQUIRE) < THREADS) {
        rest();
        must(tbprof_snapshot(NULL));
    }
}

int main(int argc, char **argv) {
    struct sigaction action = {.sa_sigaction = count_call, .sa_flags = SA_SIGINFO};
    bool is_captured = argc > 1 && strcmp(argv[1], "captures") == 0;
    char logdir[4096];
    const char *tmp = getenv("TMPDIR");
    pthread_t threads[THREADS];
    seen.n_records = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    sigaction(SIGSYS, &action, NULL);
    snprintf(logdir, sizeof logdir, "%s/hot_path-%d", tmp ? tmp : "/tmp", (int)getpid());
    if (!is_captured)
        begin_session(logdir);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, is_captured ? train_while_captured : train, NULL);
    if (is_captured)
        take_captures(logdir);
    else
        take_snapshots();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (!is_captured)
        must(tbprof_stop(0));
    remove_folder(logdir);
    if (seen.n_filters < THREADS) {
        puts("skipped: this system has no filters of system calls");
        return SKIPPED;
    }
    return judge();
}
