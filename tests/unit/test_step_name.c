/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names of ranges are steps.
 */
#include "convert/read/step_name.h"

#include <criterion/criterion.h>

Test(step_name, whole_names_with_a_number) {
    static const struct {
        const char *name, *stem;
        int64_t number;
    } known[] = {{"step 12", "step", 12},
                 {"Step_3", "Step", 3},
                 {"train step 7", "train step", 7},
                 {"global_step=41", "global_step", 41},
                 {"iteration: 5", "iteration", 5},
                 {"iter9", "iter", 9},
                 {"ProfilerStep#77", "ProfilerStep", 77},
                 {"sample_0", "sample", 0},
                 {"batch-1", "batch", 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct tbp_step_name s;
        cr_expect(tbp_step_name_parse(&s, tbp_str_c(known[i].name)), "%s", known[i].name);
        cr_expect(s.has_number);
        cr_expect_eq(s.number, known[i].number);
        cr_expect(tbp_str_is(s.stem, known[i].stem), "%s", known[i].name);
    }
}

Test(step_name, some_words_stand_alone) {
    struct tbp_step_name s;
    cr_expect(tbp_step_name_parse(&s, TBP_STR("train_step")));
    cr_expect(!s.has_number);
    cr_expect(tbp_step_name_parse(&s, TBP_STR("iteration")));
    cr_expect_not(tbp_step_name_parse(&s, TBP_STR("sample")));
    cr_expect_not(tbp_step_name_parse(&s, TBP_STR("batch")));
}

Test(step_name, parts_of_a_step_are_none) {
    static const char *const names[] = {"",
                                        "sample_0/layer0/attn",
                                        "step 3 forward",
                                        "optimizer_step",
                                        "steps",
                                        "step_",
                                        "my step 4",
                                        "stepper 3",
                                        "train",
                                        "step 99999999999999999999",
                                        "iterationx",
                                        "step -"};
    struct tbp_step_name s;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        cr_expect_not(tbp_step_name_parse(&s, tbp_str_c(names[i])), "%s", names[i]);
}

Test(step_name, likelier_words_have_smaller_ranks) {
    struct tbp_step_name step, iteration, sample;
    cr_assert(tbp_step_name_parse(&step, TBP_STR("step 1")));
    cr_assert(tbp_step_name_parse(&iteration, TBP_STR("iteration 1")));
    cr_assert(tbp_step_name_parse(&sample, TBP_STR("sample 1")));
    cr_expect(step.rank < iteration.rank && iteration.rank < sample.rank);
}
