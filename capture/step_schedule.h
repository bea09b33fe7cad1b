/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule (tbprof_schedule) carried out on the steps of a program that knows nothing of it:
 * TBPROF_SCHEDULE of a session begun by the environment. The steps are those that the first thread
 * to call tbprof_step_begin makes. Thread-safe.
 */
#ifndef TBP_CAPTURE_STEP_SCHEDULE_H
#define TBP_CAPTURE_STEP_SCHEDULE_H

#include "capture/tbprof.h"

#include <stdbool.h>

/* The running session follows the schedule from now on. */
void tbp_step_schedule_follow(const tbprof_schedule *schedule);
/* Whether something has been recorded that no snapshot has saved, or there is no schedule. */
bool tbp_step_schedule_has_rest(void);

/* Called by steps while TBP_STATE_STEPS is set. */
void tbp_step_schedule_begin(void);
void tbp_step_schedule_end(void);

#endif
