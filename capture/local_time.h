/* SPDX-License-Identifier: Apache-2.0
 *
 * Local time in a process that may fork meanwhile; see fork_gate.h. Thread-safe.
 */
#ifndef TBP_CAPTURE_LOCAL_TIME_H
#define TBP_CAPTURE_LOCAL_TIME_H

#include "plugin_data/rundir.h"

#include <time.h>

struct tm tbp_local_time(time_t t);
/* As tbp_rundir_time_name. */
void tbp_local_time_name(char to[TBP_RUNDIR_TIME_NAME], time_t t);

#endif
