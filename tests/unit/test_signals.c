/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"
#include "plugin_data/rundir.h"
#include "plugin_data/sink.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

Test(signals, a_signal_waits_until_the_last_lets_go, .signal = SIGTERM) {
    tbp_signals_install();
    tbp_signals_hold();
    tbp_signals_hold();
    raise(SIGTERM);
    tbp_signals_let_go();
    raise(SIGTERM);
    tbp_signals_let_go();
    _exit(3); /* not reached */
}

Test(signals, nothing_waits_where_nobody_holds, .signal = SIGHUP) {
    tbp_signals_install();
    tbp_signals_hold();
    tbp_signals_let_go();
    raise(SIGHUP);
    _exit(3);
}

struct sections {
    _Atomic unsigned begun, ended;
};

static void take_time(void) {
    for (volatile int i = 0; i < 2000; i++)
        continue;
}

static void *work(void *p) {
    struct sections *s = p;
    for (;;) {
        take_time();
        tbp_signals_hold();
        s->begun++;
        take_time();
        s->ended++;
        tbp_signals_let_go();
    }
    return NULL;
}

/* Has so many temporaries that removing them takes a while. */
static void be_stopped(struct sections *s, const char *folder) {
    enum { TEMPORARIES = 200 };
    pthread_t thread;
    tbp_signals_install();
    for (int i = 0; i < TEMPORARIES; i++) {
        char path[64];
        struct tbp_sink_file *file;
        struct tbp_error err;
        snprintf(path, sizeof path, "%s/%d", folder, i);
        if (tbp_sink_file_new(&file, path, &err) != TBP_OK)
            _exit(3);
    }
    if (pthread_create(&thread, NULL, work, s) == 0)
        for (;;)
            pause();
}

/* Whatever thread the signal comes to, no section of another is cut in two. */
Test(signals, a_stop_and_a_section_exclude_each_other) {
    struct sections *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char folder[] = "/tmp/tbp_signals_XXXXXX";
    cr_assert_neq(s, MAP_FAILED);
    cr_assert(mkdtemp(folder));
    for (int i = 0; i < 20; i++) {
        unsigned before = s->begun;
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0)
            be_stopped(s, folder);
        while (s->begun < before + 3)
            sched_yield();
        kill(child, SIGTERM);
        int status;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        cr_assert_eq(s->begun, s->ended, "after %d stops", i + 1);
    }
    cr_assert_eq(rmdir(folder), 0, "no temporary is left");
    munmap(s, sizeof *s);
}

/* Makes folders and takes them away again, until nothing may be made any more. */
static void *make_folders(void *p) {
    char path[64];
    struct tbp_error err;
    snprintf(path, sizeof path, "%s/run", (const char *)p);
    while (tbp_rundir_make(path, &err) == TBP_OK)
        rmdir(path);
    return NULL;
}

static void be_stopped_making(char *folder) {
    pthread_t thread;
    tbp_signals_install();
    if (pthread_create(&thread, NULL, make_folders, folder) == 0 &&
        write(STDOUT_FILENO, "", 1) == 1)
        for (;;)
            pause();
    _exit(3);
}

/* Whatever thread the signal comes to, no folder appears behind its back. */
Test(signals, a_stop_leaves_no_folder_that_another_thread_was_making) {
    char folder[] = "/tmp/tbp_signals_XXXXXX";
    cr_assert(mkdtemp(folder));
    for (int i = 0; i < 200; i++) {
        int ready[2], status;
        char byte;
        cr_assert_eq(pipe(ready), 0);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            dup2(ready[1], STDOUT_FILENO);
            be_stopped_making(folder);
        }
        cr_assert_eq(read(ready[0], &byte, 1), 1);
        kill(child, SIGTERM);
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        close(ready[0]), close(ready[1]);
        char path[64];
        snprintf(path, sizeof path, "%s/run", folder);
        cr_assert_neq(access(path, F_OK), 0, "after %d stops", i + 1);
    }
    cr_assert_eq(rmdir(folder), 0);
}
