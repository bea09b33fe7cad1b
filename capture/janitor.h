/* SPDX-License-Identifier: Apache-2.0
 *
 * The helper thread of a session, "tbprof-janitor": keeps chunks in stock, reads the clocks every
 * second and the resident set as often as asked, begins a delayed session and ends one whose time
 * is over. All signals are blocked on it. Ownership: the session's.
 */
#ifndef TBP_CAPTURE_JANITOR_H
#define TBP_CAPTURE_JANITOR_H

#include "capture/session.h"

int tbp_janitor_start(struct tbp_session *session, struct tbp_error *err);
/* Ends the thread, unless it is the calling one: that one ends by itself, and reap waits for it. */
void tbp_janitor_stop(void);
/* Waits for a thread that ended its session itself, if there is one: it takes no lock any more. A
 * thread left to itself could still be there when the process ends. Under the session's lock. */
void tbp_janitor_reap(void);
/* Something is to be done: async-signal-safe. */
void tbp_janitor_wake(void);
/* In the child of a fork there is none. */
void tbp_janitor_after_fork(void);

#endif
