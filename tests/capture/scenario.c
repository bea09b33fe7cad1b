/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that is recorded, as seen from outside: tests/capture/test_runtime.py runs one scenario
 * of it and looks at what is there afterwards. Prints what calls return, one a line.
 *
 *     scenario NAME LOGDIR
 */
#include "capture/tbprof.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, SIGNALS = 1000, SCOPES_PER_SIGNAL = 4000 };

static const char *logdir;

static void say(const char *what, tbprof_status status) {
    printf("%s: %d %s\n", what, (int)status, status == TBPROF_OK ? "" : tbprof_last_error());
    fflush(stdout);
}

static void rest_ms(long ms) {
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&rest, NULL);
}

static void work_ms(long ms) {
    TBPROF_SCOPE("work");
    rest_ms(ms);
}

static void say_counts(void) {
    tbprof_counts c = {.struct_size = sizeof c};
    tbprof_stats(&c);
    printf("records %" PRIu64 " cap %" PRIu64 " ring %" PRIu64 " no_chunk %" PRIu64
           " reentrant %" PRIu64 " cut %" PRIu64 " depth %" PRIu64 " names_cut %" PRIu64
           " too_long %" PRIu64 "\n",
           c.records, c.dropped_cap, c.dropped_ring, c.dropped_no_chunk, c.dropped_reentrant,
           c.cut_by_stop, c.dropped_depth, c.names_cut, c.dropped_too_long);
}

static tbprof_options quiet_options(void) {
    tbprof_options options;
    tbprof_options_init(&options);
    options.rss_period_ms = 0;
    return options;
}

/* ---- scenarios ---- */

static void many_sessions(void) {
    tbprof_options options = quiet_options();
    for (int i = 0; i < 3; i++) {
        say("start", tbprof_start(logdir, &options));
        work_ms(10);
        say("stop", tbprof_stop(1));
    }
    say("start", tbprof_start(logdir, &options));
    say("stop of an empty one", tbprof_stop(1));
    say("start", tbprof_start(logdir, &options));
    say("start again", tbprof_start(logdir, &options));
    work_ms(10);
    say("stop", tbprof_stop(1));
    say("start", tbprof_start(logdir, &options));
    work_ms(10);
    pid_t child = fork();
    if (child == 0) {
        work_ms(1);
        say("stop in the child", tbprof_stop(1));
        _exit(0);
    }
    waitpid(child, NULL, 0);
    work_ms(10);
    say("stop", tbprof_stop(1));
    say("stop again", tbprof_stop(1));
}

static void fork_worker(void) {
    if (fork() != 0)
        return;
    work_ms(1);
    _exit(0);
}

static void children(void) {
    tbprof_options options = quiet_options();
    options.follow_fork = 1;
    say("start", tbprof_start(logdir, &options));
    for (int i = 0; i < 2; i++)
        fork_worker();
    work_ms(5);
    while (wait(NULL) > 0)
        ;
    say("stop", tbprof_stop(1));
}

static bool opens_no_spools; /* as without descriptors: the folder of the session's */
DIR *opendir(const char *name) {
    DIR *(*next)(const char *);
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "opendir");
    const char *spools = getenv("TBPROF_SPOOL_DIR");
    errno = EMFILE;
    return opens_no_spools && strncmp(name, spools, strlen(spools)) == 0 ? NULL : next(name);
}

static void children_unread(void) {
    tbprof_options options = quiet_options();
    options.follow_fork = 1;
    say("start", tbprof_start(logdir, &options));
    fork_worker();
    work_ms(5);
    wait(NULL);
    opens_no_spools = true;
    say("stop", tbprof_stop(1));
}

static void child_that_stops(void) {
    tbprof_options options = quiet_options();
    options.follow_fork = 1;
    say("start", tbprof_start(logdir, &options));
    if (fork() == 0) {
        work_ms(1);
        say("stop in the child", tbprof_stop(1));
        _exit(0);
    }
    wait(NULL);
    work_ms(1);
    say("stop", tbprof_stop(1));
}

static void tell(int fd) {
    while (write(fd, "", 1) < 0)
        continue;
}

static void hear(int fd) {
    char byte;
    while (read(fd, &byte, 1) < 0)
        continue;
}

/* A child that works before its parent's session ends and after it has been written. */
static void work_around_stop(void (*end)(void)) {
    tbprof_options options = quiet_options();
    options.follow_fork = 1;
    int ready[2], over[2];
    say("start", pipe(ready) || pipe(over) ? TBPROF_INTERNAL : tbprof_start(logdir, &options));
    if (fork() == 0) {
        work_ms(1);
        tell(ready[1]);
        hear(over[0]);
        work_ms(1);
        end();
        _exit(0);
    }
    hear(ready[0]);
    work_ms(1);
    say("stop", tbprof_stop(1));
    tell(over[1]);
    wait(NULL);
}

static void stop_in_child(void) {
    say("stop in the child", tbprof_stop(1));
}

static void child_goes_on(void) {
    work_around_stop(stop_in_child);
}

static void kill_myself(void) {
    kill(getpid(), SIGKILL);
}

static void child_killed_later(void) {
    work_around_stop(kill_myself);
}

/* A child and its parent, who stop at the same moment; false: something failed. */
static int stop_both(void) {
    enum { RECORDS = 2000 };
    tbprof_options options = quiet_options();
    int ends[2], child_status = 0;
    char byte = 0;
    options.follow_fork = 1;
    if (pipe(ends) != 0 || tbprof_start(logdir, &options) != TBPROF_OK)
        return 0;
    pid_t child = fork();
    for (int i = 0; i < RECORDS; i++) {
        TBPROF_SCOPE("work");
    }
    ssize_t n = child ? write(ends[1], &byte, 1) : read(ends[0], &byte, 1);
    tbprof_status status = n == 1 ? tbprof_stop(1) : TBPROF_INTERNAL;
    if (status)
        fprintf(stderr, "%s: %s\n", child ? "parent" : "child", tbprof_last_error());
    if (child == 0)
        _exit((int)status);
    wait(&child_status);
    close(ends[0]);
    close(ends[1]);
    return status == TBPROF_OK && child_status == 0;
}

/* Children that are forked while their parent rests, and while it records. */
static void forks_at_rest(void) {
    tbprof_options options = quiet_options();
    options.follow_fork = 1;
    options.start_paused = 1;
    say("start", tbprof_start(logdir, &options));
    for (int i = 0; i < 3; i++) {
        fork_worker();
        wait(NULL);
        say(i ? "pause" : "resume", i ? tbprof_pause() : tbprof_resume());
    }
    say("stop", tbprof_stop(1));
}

/* What nobody wants, of children neither. */
static void child_dropped(void) {
    tbprof_options options = quiet_options();
    options.follow_fork = 1;
    say("start", tbprof_start(logdir, &options));
    fork_worker();
    wait(NULL);
    say("stop", tbprof_stop(0));
}

static void stops_at_once(void) {
    int n_good = 0;
    for (int round = 0; round < 60; round++)
        n_good += stop_both();
    printf("good: %d\n", n_good);
}

static void everything(void) {
    tbprof_options options = quiet_options();
    options.memory_mode = 1;
    tbprof_thread_name("the main thread");
    say("start", tbprof_start(logdir, &options));
    say("metadata", tbprof_metadata_set("model", "a small one"));
    tbprof_warn("a warning of the program");
    for (int step = 0; step < 4; step++) {
        tbprof_step_begin("train", step);
        tbprof_annotation_push("layer", 5);
        tbprof_scope scope = tbprof_scope_begin_dyn("dynamic", 7, 2);
        tbprof_scope_arg_i64(scope, "number", step);
        tbprof_scope_arg_f64(scope, "share", 0.5);
        tbprof_scope_arg_str(scope, "text", "a text", 6);
        tbprof_flow_produce(2, (uint64_t)step);
        tbprof_scope_end(scope);
        tbprof_flow_consume(2, (uint64_t)step);
        tbprof_annotation_pop();
        uint64_t activity = tbprof_activity_start("activity", 8, 1);
        tbprof_allocation a = {"cpu", 4096u * (unsigned)step, 1000, 1024, "temp", 1, "[10,100]"};
        tbprof_memory_alloc(&a);
        tbprof_memory_free("cpu", a.address);
        tbprof_counter_i64("count", step);
        tbprof_counter_f64("loss", 1.0 / (step + 1));
        tbprof_instant("instant", TBPROF_INSTANT_PROCESS);
        tbprof_activity_end(activity);
        work_ms(1);
        tbprof_step_end();
    }
    tbprof_scope too_deep = tbprof_scope_begin_dyn("level 3", 7, 3);
    printf("level 3 is recorded: %d\n", too_deep != 0);
    say("stop", tbprof_stop(1));
    say_counts();
}

static void pause_and_resume(void) {
    tbprof_options options = quiet_options();
    options.start_paused = 1;
    say("start", tbprof_start(logdir, &options));
    work_ms(1);
    say("resume", tbprof_resume());
    work_ms(1);
    tbprof_scope open = tbprof_scope_begin_dyn("open", 4, 1);
    say("pause", tbprof_pause());
    printf("active: %d\n", tbprof_is_active(1));
    work_ms(1);
    tbprof_scope_end(open);
    say("resume", tbprof_resume());
    work_ms(1);
    say("stop", tbprof_stop(1));
    say_counts(); /* work, open, work: six, and three marks */
}

static void duration(void) {
    tbprof_options options = quiet_options();
    options.duration_ms = 2000;
    say("start", tbprof_start(logdir, &options));
    work_ms(1);
    for (int i = 0; i < PATIENCE_MS / 20 && tbprof_is_active(1); i++)
        rest_ms(20);
    printf("active: %d\n", tbprof_is_active(1));
    say("stop", tbprof_stop(1));
    say("stop again", tbprof_stop(1));
}

static void delay(void) {
    tbprof_options options = quiet_options();
    options.delay_ms = 2000;
    say("start", tbprof_start(logdir, &options));
    printf("active: %d\n", tbprof_is_active(1));
    work_ms(1);
    for (int i = 0; i < PATIENCE_MS / 10 && !tbprof_is_active(1); i++)
        rest_ms(10);
    work_ms(1);
    say("stop", tbprof_stop(1));
    say_counts();
}

static void full(int policy) {
    tbprof_options options = quiet_options();
    options.max_host_bytes = 1 << 20; /* 16 chunks */
    options.full_policy = policy;
    say("start", tbprof_start(logdir, &options));
    uint64_t begun = 0;
    TBPROF_SCOPE("around");
    for (int i = 0; i < 100000; i++) {
        tbprof_scope scope = tbprof_scope_begin_dyn("dynamic name", 12, 1);
        begun += scope != 0;
        tbprof_scope_end(scope);
    }
    say("stop", tbprof_stop(1));
    printf("begun %" PRIu64 "\n", begun);
    say_counts();
}

static void full_stop(void) {
    full(TBPROF_FULL_STOP);
}
static void full_ring(void) {
    full(TBPROF_FULL_RING);
}
static void full_grow(void) {
    full(TBPROF_FULL_GROW);
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number) {
    (void)number;
    TBPROF_SCOPE("in a handler");
    n_signals++;
}

static int record_one(void) {
    tbprof_scope scope = tbprof_scope_begin_dyn("a name of some length", 21, 1);
    tbprof_scope_end(scope);
    return 1;
}

static __thread int is_registering;

/* The runtime asks for the name of a thread when it registers: stands for a handler that comes at
 * that moment. */
int prctl(int option, ...) {
    va_list list;
    unsigned long at[4];
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        at[i] = va_arg(list, unsigned long);
    va_end(list);
    for (; is_registering > 0; is_registering--) {
        TBPROF_SCOPE("in a handler");
    }
    return (int)syscall(SYS_prctl, option, at[0], at[1], at[2], at[3]);
}

static void *register_now(void *n) {
    is_registering = *(int *)n;
    TBPROF_SCOPE("first of the thread");
    return NULL;
}

static void registering(void) {
    tbprof_options options = quiet_options();
    pthread_t thread;
    int n_handlers = 3;
    say("start", tbprof_start(logdir, &options));
    pthread_create(&thread, NULL, register_now, &n_handlers);
    pthread_join(thread, NULL);
    say("stop", tbprof_stop(1));
    say_counts();
}

/* Handlers interrupt records of the same thread; where signals are rare, they fit all the same. */
static void signals(void) {
    tbprof_options options = quiet_options();
    struct sigaction action = {.sa_handler = on_signal};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    say("start", tbprof_start(logdir, &options));
    work_ms(1);
    setitimer(ITIMER_REAL, &often, NULL);
    uint64_t n = 0;
    for (int wanted = 1; wanted <= SIGNALS; wanted++)
        for (int i = 0; n_signals < wanted; i++)
            n += i < SCOPES_PER_SIGNAL && record_one();
    setitimer(ITIMER_REAL, &never, NULL);
    say("stop", tbprof_stop(1));
    printf("scopes %" PRIu64 " signals %d\n", n + 1, (int)n_signals);
    say_counts();
}

static void *deep_thread(void *unused) {
    (void)unused;
    static tbprof_scope open[70000];
    for (int i = 0; i < 70000; i++)
        open[i] = tbprof_scope_begin_dyn("deep", 4, 1);
    tbprof_scope_end(open[0]); /* ends all */
    tbprof_scope_end(open[1]); /* is over */
    return NULL;
}

static void odd_uses(void) {
    static char name[5000];
    tbprof_options options = quiet_options();
    pthread_t thread;
    memset(name, 'n', sizeof name);
    say("start", tbprof_start(logdir, &options));
    pthread_create(&thread, NULL, deep_thread, NULL);
    pthread_join(thread, NULL);
    tbprof_scope scope = tbprof_scope_begin_dyn(name, sizeof name, 1);
    tbprof_scope_arg_str(scope, "long", name, sizeof name);
    tbprof_scope_end(scope);
    tbprof_scope_end(scope);
    tbprof_scope_end(12345);
    tbprof_step_end();
    tbprof_annotation_pop();
    tbprof_activity_end(1);
    tbprof_scope_begin_dyn("left open", 9, 1);
    tbprof_activity_start("left open", 9, 1);
    say("stop", tbprof_stop(1));
    say_counts();
}

static void in_memory(void) {
    tbprof_options options = quiet_options();
    say("option", tbprof_options_set(&options, "spool_dir", "memory"));
    say("start", tbprof_start(logdir, &options));
    work_ms(1);
    say("stop", tbprof_stop(1));
}

static void snapshots(void) {
    tbprof_options options = quiet_options();
    say("start", tbprof_start(logdir, &options));
    tbprof_scope open = tbprof_scope_begin_dyn("open", 4, 1);
    for (int i = 0; i < 3; i++) {
        work_ms(1);
        say("snapshot", tbprof_snapshot(NULL));
        printf("%s\n", tbprof_last_run());
    }
    uint8_t *bytes;
    size_t size;
    work_ms(1);
    say("collect", tbprof_collect(&bytes, &size));
    printf("collected: %d\n", size > 0);
    tbprof_bytes_free(bytes);
    tbprof_scope_end(open);
    say("stop", tbprof_stop(1));
}

static void crash(void) {
    tbprof_options options = quiet_options();
    say("start", tbprof_start(logdir, &options));
    work_ms(1);
    tbprof_scope_begin_dyn("open", 4, 1);
    kill(getpid(), SIGKILL);
}

/* Annotates only: whether it is recorded is up to the environment. */
static void plain(void) {
    for (int step = 0; step < 6; step++) {
        tbprof_step_begin("train", step);
        work_ms(1);
        tbprof_step_end();
    }
}

static void one_session(void) {
    say("start", tbprof_start(logdir, NULL));
    work_ms(1);
    say("stop", tbprof_stop(1));
}

static unsigned n_dlopens; /* of the whole process, the runtime's among them */
void *dlopen(const char *name, int flags) {
    void *(*next)(const char *, int);
    *(void **)(void *)&next = dlsym(RTLD_NEXT, "dlopen");
    __atomic_add_fetch(&n_dlopens, 1, __ATOMIC_RELAXED);
    return next(name, flags);
}

static void looks_for_cuda(void) {
    tbprof_options options = quiet_options();
    say("start", tbprof_start(logdir, &options));
    rest_ms(350); /* it looks every 100 ms */
    say("stop", tbprof_stop(1));
    printf("dlopens: %u\n", n_dlopens);
}

static void wrong_options(void) {
    tbprof_options options = quiet_options();
    say("unknown", tbprof_options_set(&options, "max_host_byte", "1"));
    say("no number", tbprof_options_set(&options, "delay_ms", "soon"));
    say("no word", tbprof_options_set(&options, "full_policy", "rings"));
    say("size", tbprof_options_set(&options, "max_host_bytes", "64MiB"));
    printf("max_host_bytes %" PRIu64 "\n", options.max_host_bytes);
    options.host_tracer_level = -1;
    say("start", tbprof_start(logdir, &options));
    options = quiet_options();
    options.session_id = "../out";
    say("start", tbprof_start(logdir, &options));
    say("stop", tbprof_stop(1));
    say("pause", tbprof_pause());
    say("snapshot", tbprof_snapshot(NULL));
    say("schedule", tbprof_schedule_check(&(tbprof_schedule){1, 1, 0, 0, 0, 0}));
}

static const struct {
    const char *name;
    void (*run)(void);
} scenarios[] = {
    {"many_sessions", many_sessions},
    {"children", children},
    {"children_unread", children_unread},
    {"child_that_stops", child_that_stops},
    {"child_goes_on", child_goes_on},
    {"stops_at_once", stops_at_once},
    {"forks_at_rest", forks_at_rest},
    {"child_dropped", child_dropped},
    {"child_killed_later", child_killed_later},
    {"everything", everything},
    {"pause_and_resume", pause_and_resume},
    {"duration", duration},
    {"delay", delay},
    {"full_stop", full_stop},
    {"full_ring", full_ring},
    {"full_grow", full_grow},
    {"signals", signals},
    {"registering", registering},
    {"odd_uses", odd_uses},
    {"in_memory", in_memory},
    {"snapshots", snapshots},
    {"crash", crash},
    {"plain", plain},
    {"one_session", one_session},
    {"looks_for_cuda", looks_for_cuda},
    {"wrong_options", wrong_options},
};

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    logdir = argv[2];
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (strcmp(scenarios[i].name, argv[1]) == 0) {
            scenarios[i].run();
            return 0;
        }
    return 2;
}
