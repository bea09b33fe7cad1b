/* SPDX-License-Identifier: Apache-2.0
 *
 * Which step does what, by PyTorch's rule: after skip_first steps come cycles of wait, warmup and
 * active steps; the last active step of a cycle saves. repeat 0: cycles without end. With
 * skip_first_wait the first cycle has no wait.
 */
#include "capture/last_error.h"

tbprof_status tbprof_schedule_check(const tbprof_schedule *s) {
    if (s->wait < 0 || s->warmup < 0 || s->active <= 0 || s->repeat < 0 || s->skip_first < 0)
        return tbp_last_error_set(
            TBPROF_INVALID_ARGUMENT,
            "a schedule needs active > 0 and no negative number, not wait %d, "
            "warmup %d, active %d, repeat %d, skip_first %d",
            s->wait, s->warmup, s->active, s->repeat, s->skip_first);
    return TBPROF_OK;
}

tbprof_action tbprof_schedule_action(const tbprof_schedule *s, int64_t step) {
    int64_t length = (int64_t)s->wait + s->warmup + s->active;
    if (step < s->skip_first || length <= 0)
        return TBPROF_ACTION_NONE;
    step -= s->skip_first;
    if (s->skip_first_wait)
        step += s->wait;
    if (s->repeat > 0 && step / length >= s->repeat)
        return TBPROF_ACTION_NONE;
    int64_t at = step % length;
    if (at < s->wait)
        return TBPROF_ACTION_NONE;
    if (at < (int64_t)s->wait + s->warmup)
        return TBPROF_ACTION_WARMUP;
    return at < length - 1 ? TBPROF_ACTION_RECORD : TBPROF_ACTION_RECORD_AND_SAVE;
}
