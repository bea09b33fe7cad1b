/* SPDX-License-Identifier: Apache-2.0
 *
 * Forked children that record beside their parent (follow_fork): each has a spool in the folder of
 * its parent's and a file in the same run. A child that stops by itself writes its file; what the
 * others have recorded until then is written when the session of the first process stops, and if
 * such a child goes on and stops later, its own file takes the place of that one. So each record is
 * in the run once, whoever comes first. Thread-safety: under the session's lock.
 */
#ifndef TBP_CAPTURE_SESSION_CHILDREN_H
#define TBP_CAPTURE_SESSION_CHILDREN_H

#include "capture/session.h"

/* Before the session writes its run: of a child's spool its parent may just be making one. */
void tbp_session_claim(const struct tbp_session *session);

/* Writes what children recorded into the run that has just been written, or, if run_path is NULL,
 * drops it; who is a child itself leaves that to who started the session, whose spool lies beside
 * theirs and is still in use. */
void tbp_session_harvest(const struct tbp_session *session, const char *run_path);

#endif
