/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens when the library is loaded: hooks for threads and forks, and, if the environment
 * asks for it, a session from here to the end of the process:
 *
 *     TBPROF_AUTOSTART=1 (or MXNET_PROFILER_AUTOSTART=1) TBPROF_LOGDIR=logdir program …
 *
 * with all options as TBPROF_<OPTION> (capture/capture_options.c), or a server that waits to be
 * asked for profiles:
 *
 *     TBPROF_SERVER=6009 program …
 */
#include "base/log.h"
#include "capture/fork.h"
#include "capture/last_error.h"
#include "capture/run_report.h"
#include "capture/schedule.h"
#include "capture/server_api.h"
#include "capture/step_schedule.h"
#include "capture/thread.h"

#include <stdlib.h>
#include <string.h>

static bool is_on(const char *name) {
    const char *value = getenv(name);
    return value && *value && strcmp(value, "0") != 0;
}

static void stop_at_exit(void) {
    tbprof_status status = tbprof_stop(tbp_step_schedule_has_rest());
    if (status != TBPROF_OK && status != TBPROF_UNAVAILABLE) /* the program may have stopped it */
        tbp_log(TBP_LOG_WARNING, "%s", tbprof_last_error());
}

static void follow_schedule(void) {
    const char *text = getenv("TBPROF_SCHEDULE");
    tbprof_schedule schedule;
    struct tbp_error err = {0};
    if (!text || !*text)
        return;
    if (tbp_schedule_parse(&schedule, text, &err) != TBP_OK)
        tbp_log(TBP_LOG_WARNING, "$TBPROF_SCHEDULE: %s; all is recorded", err.message);
    else
        tbp_step_schedule_follow(&schedule);
}

static void autostart(void) {
    const char *logdir = getenv("TBPROF_LOGDIR");
    if (tbprof_start(logdir && *logdir ? logdir : "logdir", NULL) != TBPROF_OK) {
        tbp_log(TBP_LOG_WARNING, "no profile is recorded: %s", tbprof_last_error());
        tbp_run_report_failed();
        return;
    }
    atexit(stop_at_exit);
    follow_schedule();
}

__attribute__((constructor)) static void library_is_loaded(void) {
    tbp_threads_init();
    tbp_fork_init();
    tbp_run_report_loaded();
    if (is_on("TBPROF_AUTOSTART") || is_on("MXNET_PROFILER_AUTOSTART"))
        autostart();
    tbp_server_autostart();
}
