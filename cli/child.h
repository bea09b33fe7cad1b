/* SPDX-License-Identifier: Apache-2.0
 *
 * Other programs as children: one whose output is wanted, and one that runs beside us. Children
 * start with default signals and an empty signal mask, read nothing from standard input, and get
 * SIGTERM when this process ends, however it does (Linux).
 * Thread-safety: as fork and waitpid; one thread per child, which
 * outlives it.
 */
#ifndef TBP_CLI_CHILD_H
#define TBP_CLI_CHILD_H

#include "base/arena.h"
#include "base/status.h"

#include <sys/types.h>

/* Runs argv[0] (looked for on PATH) and collects what it writes to standard output and standard
 * error. Ends it when it has not ended after timeout_ms, and in any case what it started and left
 * behind: it leads a process group of its own. Fails if it cannot be started, takes too
 * long, or writes too much; its exit code is no failure. The text lies in the arena. */
int tbp_child_capture(struct tbp_arena *arena, const char *const *argv, unsigned timeout_ms,
                      struct tbp_str *text, int *exit_code, struct tbp_error *err);

/* Kills what is captured from right now, with all that it started: a group of its own gets no
 * signal of the terminal. For signal handlers (async-signal-safe). */
void tbp_child_kill_captured(void);

/* Starts argv[0]; both its outputs go to the file log_path, which is made. */
int tbp_child_start(pid_t *pid, const char *const *argv, const char *log_path,
                    struct tbp_error *err);
/* Called in a forked child: from now on it gets SIGTERM when its parent ends. */
void tbp_child_end_with(pid_t parent);
/* Has it ended? Then its exit code, 128 + signal if one ended it. */
bool tbp_child_ended(pid_t pid, int *exit_code);
/* Asks it to end, waits, and kills it if it does not. */
void tbp_child_stop(pid_t pid);

void tbp_sleep_ms(unsigned ms);
uint64_t tbp_clock_ms(void); /* steady, from an arbitrary start */

#endif
