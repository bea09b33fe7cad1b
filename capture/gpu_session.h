/* SPDX-License-Identifier: Apache-2.0
 *
 * The GPU's part of a session: CUPTI is subscribed to, its activity kinds are switched on, and a
 * worker thread turns the buffers that come into records of the spool. A failure of any kind costs
 * the GPU's part and is told in the profile, with what to do; the program and the host's part go
 * on. No callbacks are used, so that an armed CUPTI costs nothing where nothing is launched, and
 * no thread exists before the process has mapped the CUDA driver.
 *
 * Thread-safety: open … close are called under the session's lock, poll by the janitor.
 */
#ifndef TBP_CAPTURE_GPU_SESSION_H
#define TBP_CAPTURE_GPU_SESSION_H

#include "capture/tbprof.h"

#include <stdbool.h>

/* A session begins; nothing is switched on yet. */
void tbp_gpu_open(const tbprof_options *options, int64_t start_monotonic_ns);
/* Switches on, if the process uses CUDA by now or the options insist. False: it was tried, in this
 * session, and went wrong; the profile tells why, and so does tbp_gpu_failure. */
bool tbp_gpu_resume(void);
const char *tbp_gpu_failure(void);
void tbp_gpu_pause(void);
/* The same as resume if the program has begun to use CUDA since; cheap. False: there is nothing to
 * wait for. */
bool tbp_gpu_poll(void);
/* Everything that has happened is in the spool when this returns, or seconds have passed. */
void tbp_gpu_flush(void);
/* The same, and switches off. Before the session stops to take records. */
void tbp_gpu_close(void);

void tbp_gpu_after_fork(void);

#endif
