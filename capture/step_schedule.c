/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps pause, resume and save the session. A step that saves does so when it ends, or, in programs
 * that do not say when a step ends, when the next one begins.
 */
#include "capture/step_schedule.h"

#include "base/log.h"
#include "capture/session.h"
#include "capture/thread.h"

static struct {
    tbprof_schedule schedule;
    bool is_followed;
    struct tbp_thread *thread; /* whose steps count; atomic */
    int64_t n_begun;
    tbprof_action action; /* of the step that runs */
} steps;

void tbp_step_schedule_follow(const tbprof_schedule *schedule) {
    steps.schedule = *schedule;
    steps.is_followed = true;
    tbprof_pause(); /* until the first step */
    tbp_session_watch_steps();
}

bool tbp_step_schedule_has_rest(void) {
    return !steps.is_followed || steps.action >= TBPROF_ACTION_RECORD;
}

/* Only one thread's steps count. */
static bool is_mine(void) {
    struct tbp_thread *self = tbp_thread_self ? tbp_thread_self : tbp_thread_register();
    struct tbp_thread *none = NULL;
    __atomic_compare_exchange_n(&steps.thread, &none, self, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return self && __atomic_load_n(&steps.thread, __ATOMIC_RELAXED) == self;
}

static void save_if_due(void) {
    if (steps.action != TBPROF_ACTION_RECORD_AND_SAVE)
        return;
    steps.action = TBPROF_ACTION_NONE;
    if (tbprof_snapshot(NULL) != TBPROF_OK)
        tbp_log(TBP_LOG_WARNING, "a profile could not be saved: %s", tbprof_last_error());
}

void tbp_step_schedule_begin(void) {
    if (!is_mine())
        return;
    save_if_due();
    steps.action = tbprof_schedule_action(&steps.schedule, steps.n_begun++);
    if (steps.action >= TBPROF_ACTION_RECORD)
        tbprof_resume();
    else
        tbprof_pause();
}

void tbp_step_schedule_end(void) {
    if (is_mine())
        save_if_due();
}
