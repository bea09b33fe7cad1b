/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <criterion/criterion.h>
#include <signal.h>
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
