/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps pause, resume and save the session. A step that saves does so when it ends, or, in programs
 * that do not say when a step ends, when the next one begins.
 */
#include "capture/step_schedule.h"

#include "base/log.h"
#include "base/str.h"
#include "capture/session.h"
#include "capture/thread.h"

static struct {
    tbprof_schedule schedule;
    bool is_followed;
    struct tbp_thread *thread; /* whose steps count; atomic */
    int64_t n_begun;
    tbprof_action action; /* of the step that runs */
} steps;

static int set_part(tbprof_schedule *s, struct tbp_str key, int64_t value, struct tbp_error *err) {
    const struct {
        const char *key;
        int *place;
    } parts[] = {
        {"wait", &s->wait},
        {"warmup", &s->warmup},
        {"active", &s->active},
        {"repeat", &s->repeat},
        {"skip_first", &s->skip_first},
        {"skip_first_wait", &s->skip_first_wait},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tbp_str_is(key, parts[i].key)) {
            *parts[i].place = (int)value;
            return TBP_OK;
        }
    return tbp_fail(err, TBP_E_OPTION, "a schedule has no '%.*s'", (int)key.n, key.p);
}

int tbp_step_schedule_parse(tbprof_schedule *s, const char *text, struct tbp_error *err) {
    struct tbp_str rest = tbp_str_c(text);
    *s = (tbprof_schedule){.active = 1};
    while (rest.n) {
        size_t end = tbp_str_find(rest, ',');
        struct tbp_str part = tbp_str_sub(rest, 0, end);
        size_t equals = tbp_str_find(part, '=');
        int64_t value;
        if (equals == part.n || !tbp_str_to_i64(tbp_str_sub(part, equals + 1, part.n), &value) ||
            value < 0 || value > INT32_MAX)
            return tbp_fail(err, TBP_E_OPTION, "'%.*s' of a schedule is not key=number",
                            (int)part.n, part.p);
        if (set_part(s, tbp_str_sub(part, 0, equals), value, err) != TBP_OK)
            return err ? err->code : TBP_E_OPTION;
        rest = tbp_str_sub(rest, end < rest.n ? end + 1 : end, rest.n);
    }
    return TBP_OK;
}

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
