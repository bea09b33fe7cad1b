/* SPDX-License-Identifier: Apache-2.0
 *
 * The C library frees most of its locks in the child of a fork, but not those of the loader's list
 * and of the time zone: they stay taken there for ever if another thread had them. What takes them
 * in a session goes through this gate, and who forks closes it. Thread-safe.
 */
#ifndef TBP_CAPTURE_FORK_GATE_H
#define TBP_CAPTURE_FORK_GATE_H

#include <stdbool.h>

/* For microseconds. */
void tbp_fork_gate_enter(void);
void tbp_fork_gate_leave(void);

/* Before a fork, which then leaves, too: nobody is inside. False: somebody still was after a
 * second, and the gate stays open; a signal handler may fork in a thread that has the lock for
 * which who is inside waits. */
bool tbp_fork_gate_close(void);
void tbp_fork_gate_after_fork(void);

#endif
