/* SPDX-License-Identifier: Apache-2.0
 *
 * Which step does what, by PyTorch's rule: after skip_first steps come cycles of wait, warmup and
 * active steps; the last active step of a cycle saves. repeat 0: cycles without end. With
 * skip_first_wait the first cycle has no wait.
 */
#include "capture/schedule.h"

#include "base/str.h"
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

/* ---- as text ---- */

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

int tbp_schedule_parse(tbprof_schedule *s, const char *text, struct tbp_error *err) {
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
    return tbprof_schedule_check(s) == TBPROF_OK
               ? TBP_OK
               : tbp_fail(err, TBP_E_OPTION, "%s", tbprof_last_error());
}
