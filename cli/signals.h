/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of the process. SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU and SIGUSR1 remove the
 * temporaries of unfinished outputs and then end the process as the signal does by default. SIGBUS
 * (a mapped input was cut while being read) ends it with a message and exit code 1.
 *
 * Thread-safety: hold and let_go from any thread, in pairs.
 */
#ifndef TBP_CLI_SIGNALS_H
#define TBP_CLI_SIGNALS_H

void tbp_signals_install(void);

/* Between the two a signal that would end the process waits: files that belong together take their
 * places. Nothing long may happen meanwhile. */
void tbp_signals_hold(void);
void tbp_signals_let_go(void);

#endif
