/* SPDX-License-Identifier: Apache-2.0
 *
 * Schedules against sequences written down by hand: . none, w warm-up, r record, S record and save.
 */
#include "capture/tbprof.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(tbprof_schedule schedule, const char *want) {
    static const char letters[] = ".wrS";
    char have[64] = "";
    cr_assert_eq(tbprof_schedule_check(&schedule), TBPROF_OK);
    for (size_t i = 0; i < strlen(want); i++)
        have[i] = letters[tbprof_schedule_action(&schedule, (int64_t)i)];
    cr_assert_str_eq(have, want);
}

Test(schedule, cycles) {
    expect((tbprof_schedule){.wait = 1, .warmup = 1, .active = 3}, ".wrrS.wrrS.wrrS");
    expect((tbprof_schedule){.wait = 1, .warmup = 1, .active = 3, .repeat = 2}, ".wrrS.wrrS.....");
    expect((tbprof_schedule){.active = 1}, "SSSS");
    expect((tbprof_schedule){.wait = 2, .active = 1, .repeat = 1}, "..S...");
    expect((tbprof_schedule){.warmup = 2, .active = 2}, "wwrSwwrS");
}

Test(schedule, first_steps_are_skipped) {
    expect((tbprof_schedule){.wait = 1, .active = 2, .repeat = 1, .skip_first = 3}, "....rS...");
    expect((tbprof_schedule){.wait = 2, .active = 2, .skip_first = 1, .skip_first_wait = 1},
           ".rS..rS..rS");
}

Test(schedule, what_cannot_be) {
    tbprof_schedule wrong[] = {
        {.active = 0}, {.active = 1, .wait = -1}, {.active = 1, .repeat = -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        cr_assert_eq(tbprof_schedule_check(&wrong[i]), TBPROF_INVALID_ARGUMENT);
}
