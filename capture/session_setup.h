/* SPDX-License-Identifier: Apache-2.0
 *
 * What a session needs before it can run: its options, where it will be saved, its spool with a
 * complete header. Ownership: all of it is the session's.
 */
#ifndef TBP_CAPTURE_SESSION_SETUP_H
#define TBP_CAPTURE_SESSION_SETUP_H

#include "capture/session.h"
#include "capture/thread.h"

/* Fills the session; `warning` is for the reader of the profile, "" if there is nothing to say. */
int tbp_session_set_up(struct tbp_session *session, const char *logdir,
                       const tbprof_options *options, char *warning, size_t warning_size,
                       struct tbp_error *err);

/* A spool for the child of a fork, in the folder of its parent's. */
int tbp_session_set_up_child(struct tbp_session *session, struct tbp_error *err);

/* How long the session waits before it records. */
int64_t tbp_session_wait_ns(const struct tbp_session *session);

/* The session's counts, for tbprof_stats. */
void tbp_session_counts(const struct tbp_session *session, const struct tbp_thread_sums *sums,
                        tbprof_counts *counts);

#endif
