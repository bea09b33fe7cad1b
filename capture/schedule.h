/* SPDX-License-Identifier: Apache-2.0
 *
 * A schedule (tbprof_schedule) as text: TBPROF_SCHEDULE. No state, thread-safe.
 */
#ifndef TBP_CAPTURE_SCHEDULE_H
#define TBP_CAPTURE_SCHEDULE_H

#include "base/status.h"
#include "capture/tbprof.h"

/* "wait=1,warmup=1,active=3,repeat=1,skip_first=10": what is left out is 0, active 1. Fails with
 * TBP_E_OPTION. */
int tbp_schedule_parse(tbprof_schedule *schedule, const char *text, struct tbp_error *err);

#endif
