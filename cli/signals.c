/* SPDX-License-Identifier: Apache-2.0
 *
 * Signal handlers; only async-signal-safe calls below, and the jump out of a lost input.
 */
#include "cli/signals.h"

#include "base/guard.h"
#include "cli/child.h"
#include "cli/cli.h"
#include "plugin_data/rundir.h"
#include "plugin_data/sink.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* How many hold signals back, or STOPPING, from which on nobody may begin to: the two exclude each
 * other, whatever threads they are on. */
enum { STOPPING = 1 << 30 };
static atomic_int state;
static atomic_int waiting_signal; /* 0: none */

/* False: who holds signals back raises it again. */
static bool may_stop(int sig) {
    for (;;) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&state, &nobody, STOPPING))
            return true;
        if (nobody >= STOPPING)
            return false; /* another thread is at it */
        atomic_store(&waiting_signal, sig);
        /* the last may have let go before it could see this */
        if (atomic_load(&state) > 0 || atomic_exchange(&waiting_signal, 0) == 0)
            return false;
    }
}

static void on_stop(int sig) {
    if (!may_stop(sig))
        return;
    tbp_child_kill_captured();
    tbp_sink_file_remove_temporaries();
    tbp_rundir_remove_empty();
    signal(sig, SIG_DFL);
    raise(sig);
}

void tbp_signals_hold(void) {
    if (atomic_fetch_add(&state, 1) >= STOPPING) {
        for (;;)
            pause(); /* the process is about to end */
    }
}

void tbp_signals_let_go(void) {
    int sig = atomic_fetch_sub(&state, 1) == 1 ? atomic_exchange(&waiting_signal, 0) : 0;
    if (sig)
        raise(sig);
}

/* An input that became shorter is an error of what was being done with it, if a guard is there. */
static void on_bus_error(int sig, siginfo_t *info, void *context) {
    static const char text[] = "tbprof: error: an input file became shorter while it was read\n";
    (void)sig, (void)context;
    tbp_guard_bus_error(info->si_addr);
    tbp_sink_file_remove_temporaries();
    tbp_rundir_remove_empty();
    ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(n < 0 ? TBP_EXIT_USAGE : TBP_EXIT_DAMAGED);
}

void tbp_signals_install(void) {
    /* a jump out of exhausted memory passes over the owners of temporaries */
    atexit(tbp_sink_file_remove_temporaries);
    signal(SIGXFSZ, SIG_IGN); /* a file over the limit is a failed write, told as such */
    static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGUSR1};
    struct sigaction action = {.sa_handler = on_stop, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct sigaction old;
        /* a signal that the parent has us ignore (nohup) stays ignored */
        if (sigaction(stops[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(stops[i], &action, NULL);
    }
    struct sigaction bus = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
}
