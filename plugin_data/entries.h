/* SPDX-License-Identifier: Apache-2.0
 *
 * New entries of folders (temporaries, run folders) and the end of the process exclude each other:
 * what a signal handler removes is all there is, whatever thread it runs on. Who makes an entry
 * notes it where the handler finds it, between begin and end.
 * Thread-safety: all functions, from any thread.
 */
#ifndef TBP_PLUGIN_DATA_ENTRIES_H
#define TBP_PLUGIN_DATA_ENTRIES_H

#include <signal.h>
#include <stdbool.h>

/* Holds the thread's signals back until end, which must follow. False: the process is being
 * stopped, and nothing may be made any more. */
bool tbp_entry_begin(sigset_t *before);
/* Keeps errno. */
void tbp_entry_end(const sigset_t *before);

/* From here on nothing is made; waits, a second at most, for those that have begun
 * (async-signal-safe). */
void tbp_entries_stop(void);
bool tbp_entries_are_stopped(void);

#endif
