/* SPDX-License-Identifier: Apache-2.0
 *
 * The one session of the process, for the files that serve it: the janitor, fork, autostart.
 * Thread-safe.
 */
#ifndef TBP_CAPTURE_SESSION_H
#define TBP_CAPTURE_SESSION_H

#include "capture/run_job.h"
#include "capture/run_out.h"
#include "capture/spool.h"
#include "capture/tbprof.h"

/* Made by start before the janitor runs, gone when the janitor is. */
struct tbp_session {
    struct tbp_spool *spool;
    struct tbp_run_carry *carry; /* from snapshot to snapshot */
    tbprof_options options;      /* its texts are those below */
    char session_id[256], host[256], spool_dir[2048], logdir[2048], gpu_kinds[128];
    struct tbp_run_job job; /* which other processes put their profiles into the same run */
    bool is_tsc, is_saved;  /* saved: has a logdir */
    bool is_child;          /* of a fork: a part of the session that another process started */
    uint32_t generation, flags;
    int64_t begin_at_ns, end_at_ns; /* monotonic: delayed start, 0: none; end, INT64_MAX: none */
    int64_t start_realtime_ns;
    struct tbp_spool_anchor first_anchor;
    pthread_mutex_t reading; /* held while a collector reads the spool: anchors stay as they are */
    char holder[192];        /* who started it */
    uint64_t n_snapshots, n_saved; /* saved: records */
};

/* Called by the janitor when the duration is over: as tbprof_stop(1). False: somebody else is about
 * to do something with the session; to be tried again. */
bool tbp_session_expire(void);
/* Called by the janitor when a delayed session is to begin. */
void tbp_session_begin_recording(struct tbp_session *session);
/* From now on steps call capture/step_schedule.h. */
void tbp_session_watch_steps(void);
/* One more reading of the clocks. */
void tbp_session_anchor(struct tbp_session *session);
/* In the child of a fork: the session is the parent's. With follow_fork the child gets one of its
 * own, whose spool lies beside the parent's, and which records if the parent's did. */
void tbp_session_after_fork(bool was_recording);

#endif
