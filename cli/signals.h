/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of the process. SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU and SIGUSR1 remove the
 * temporaries of unfinished outputs and then end the process as the signal does by default. SIGBUS
 * (a mapped input was cut while being read) ends it with a message and exit code 1.
 */
#ifndef TBP_CLI_SIGNALS_H
#define TBP_CLI_SIGNALS_H

void tbp_signals_install(void);

#endif
