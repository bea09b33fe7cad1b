/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/local_time.h"

#include "capture/fork_gate.h"

struct tm tbp_local_time(time_t t) {
    struct tm local;
    tbp_fork_gate_enter();
    localtime_r(&t, &local);
    tbp_fork_gate_leave();
    return local;
}

void tbp_local_time_name(char to[TBP_RUNDIR_TIME_NAME], time_t t) {
    tbp_fork_gate_enter();
    tbp_rundir_time_name(to, t);
    tbp_fork_gate_leave();
}
