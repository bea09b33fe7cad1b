/* SPDX-License-Identifier: Apache-2.0
 *
 * TPU planes: ops nested by the device's clock, duty cycle per chip, steps of all cores, and the
 * numbers per step. Every session is small enough to be reckoned by hand.
 */
#include "convert/analyze/op_table.h"
#include "convert/analyze/step_table.h"
#include "convert/analyze/tpu_input.h"
#include "tests/support/tiny_run.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>

/* fusion 0-100 with a copy 20-50 inside, infeed 100-140, custom call of unknown cost 150-160 */
#define CORE                                                                                       \
    " stat device_type_string=\"TPU v4\"\n"                                                        \
    " name #1 \"%f = long\" display \"f\" hlo_category=\"loop fusion\" program_id=7u symbol_id=1u" \
    " flops=50u model_flops=40u bytes_accessed=8u tf_op=\"jit(f)/add:add\"\n"                      \
    " name #2 \"%c = long\" display \"c\" hlo_category=\"copy\" program_id=7u symbol_id=2u\n"      \
    " name #3 \"%i = long\" display \"i\" hlo_category=\"infeed\" program_id=7u symbol_id=3u\n"    \
    " name #4 \"%k = long\" display \"k\" hlo_category=\"custom-call\" program_id=7u "             \
    "symbol_id=4u\n"                                                                               \
    " line 1 \"Steps\"\n  0 +200 \"0\"\n"                                                          \
    " line 3 \"XLA Ops\"\n  0 +100 #1\n  20 +30 #2\n  100 +40 #3\n  150 +10 #4\n"
#define HOST "plane 9 \"/host:CPU\"\n line 1 \"main\"\n  0 +300 \"train\" step_num=0 _r=1\n"

static struct tbp_session *open_text(struct tiny_run *run, struct tiny_host *h, const char *text) {
    struct tbp_error err = {0};
    *h = (struct tiny_host){0};
    cr_assert_eq(tbp_xpt_parse(tbp_str_c(text), &h->bytes, &err), TBP_OK, "%s", err.message);
    return tiny_open(run, h, 1, TBP_SEMANTICS_OFFICIAL);
}

static const struct tbp_op *find(const struct tbp_op_table *t, const char *name) {
    for (size_t i = 0; i < t->n_ops; i++)
        if (tbp_str_is(t->ops[i].name, name))
            return &t->ops[i];
    cr_assert_fail("no op '%s'", name);
    return NULL;
}

Test(tpu_ops, self_time_leaves_out_children_and_metadata_tells_costs) {
    struct tiny_run run;
    struct tiny_host h;
    struct tbp_session *s = open_text(&run, &h, "plane 1 \"/device:TPU:0\"\n" CORE HOST);
    const struct tbp_op_table *t = tbp_device_ops(s, 0, NULL);
    const struct tbp_op *fusion = find(t, "f");
    cr_expect_eq(fusion->time_ps, 100);
    cr_expect_eq(fusion->self_ps, 70);
    cr_expect_eq(fusion->flops, 50);
    cr_expect_eq(fusion->model_flops, 40);
    cr_expect_eq(fusion->bytes, 8);
    cr_expect_eq(find(t, "c")->self_ps, 30);
    cr_expect_eq(t->total_op_ps, 150);
    cr_expect_eq(t->total_ps, 200, "the hull of steps and ops");
    cr_expect_eq(find(t, "IDLE")->self_ps, 50);
    tiny_close(&run);
}

Test(tpu_ops, the_device_clock_replaces_the_events_own_times) {
    struct tiny_run run;
    struct tiny_host h;
    struct tbp_session *s =
        open_text(&run, &h,
                  "plane 1 \"/device:TPU:0\"\n name #1 \"f\" program_id=7u symbol_id=1u\n"
                  " name #2 \"root\" program_id=7u symbol_id=0u\n line 3 \"XLA Ops\"\n"
                  "  0 +10 #1 device_offset_ps=1000u device_duration_ps=20u\n"
                  "  30 +10 #2 device_offset_ps=2000u device_duration_ps=20u\n");
    const struct tbp_op_table *t = tbp_device_ops(s, 0, NULL);
    cr_expect_eq(find(t, "f")->time_ps, 20);
    cr_expect_eq(t->n_ops, 2, "f and the idle record: symbol 0 is no op");
    cr_expect_eq(t->total_ps, 1020);
    tiny_close(&run);
}

Test(tpu_duty, counts_pieces_in_which_the_innermost_op_works) {
    struct tiny_run run;
    struct tiny_host h;
    struct tbp_session *s = open_text(&run, &h, "plane 1 \"/device:TPU:0\"\n" CORE HOST);
    const struct tbp_op_table *t = tbp_device_ops(s, 0, NULL);
    cr_expect_eq(t->busy_ps, 110, "all but the infeed");
    cr_expect_eq(t->idle_ps, 50, "of the 160 between first and last op");
    cr_expect_eq(t->sure_busy_ps, 100, "the custom call may be anything");
    cr_expect_eq(t->sure_idle_ps, 60);
    tiny_close(&run);
}

Test(tpu_duty, cores_of_one_chip_are_united_and_empty_ones_do_not_count) {
    /* core_details: field 4 (chip) = 1 */
    static const char text[] =
        "plane 1 \"/device:TPU:0\"\n stat core_details=b\"\\x20\\x01\"\n"
        " name #1 \"f\" program_id=7u symbol_id=1u\n line 3 \"XLA Ops\"\n  100 +50 #1\n"
        "plane 2 \"/device:TPU:1\"\n stat core_details=b\"\\x20\\x01\"\n"
        " name #1 \"f\" program_id=7u symbol_id=1u\n line 3 \"XLA Ops\"\n  120 +50 #1\n"
        "plane 3 \"/device:TPU:2\"\n stat core_details=b\"\\x20\\x01\"\n line 3 \"XLA Ops\"\n"
        "  0 +0 \"nothing\"\n";
    struct tiny_run run;
    struct tiny_host h;
    struct tbp_session *s = open_text(&run, &h, text);
    const struct tbp_op_table *t = tbp_device_ops(s, 0, NULL);
    cr_expect_eq(t->busy_ps, 70);
    cr_expect_eq(t->idle_ps, 0);
    tiny_close(&run);
}

Test(tpu_steps, time_goes_by_category_and_the_rest_is_idle) {
    struct tiny_run run;
    struct tiny_host h;
    struct tbp_session *s = open_text(&run, &h, "plane 1 \"/device:TPU:0\"\n" CORE HOST);
    const struct tbp_step_table *t = tbp_steps(s, 0, NULL);
    cr_assert_eq(t->n_steps, 1);
    cr_assert_eq(t->steps[0].n_cores, 1);
    const struct tbp_step_core *c = &t->steps[0].cores[0];
    cr_expect_eq(c->dur_ps, 200);
    static const struct {
        const char *name;
        uint64_t self_ps;
    } want[] = {
        {"loop fusion", 70}, {"copy", 30}, {"infeed", 40}, {"custom-call", 10}, {"IDLE", 50}};
    cr_assert_eq(c->n_categories, 5);
    for (size_t i = 0; i < 5; i++) {
        size_t k = 0;
        while (k < 5 && !tbp_str_is(c->categories[k].name, want[i].name))
            k++;
        cr_assert_lt(k, 5, "%s", want[i].name);
        cr_expect_eq(c->categories[k].self_ps, want[i].self_ps, "%s", want[i].name);
    }
    tiny_close(&run);
}

Test(tpu_steps, only_steps_of_all_cores_count) {
    static const char text[] =
        "plane 1 \"/device:TPU:0\"\n name #1 \"f\" program_id=7u symbol_id=1u\n"
        " line 1 \"Steps\"\n  0 +200 \"0\"\n  1000 +100 \"1\"\n"
        " line 3 \"XLA Ops\"\n  0 +100 #1\n  1000 +10 #1\n"
        "plane 2 \"/device:TPU:1\"\n name #1 \"f\" program_id=7u symbol_id=1u\n"
        " line 1 \"Steps\"\n  10 +100 \"0\"\n line 3 \"XLA Ops\"\n  10 +50 #1\n" HOST;
    struct tiny_run run;
    struct tiny_host h;
    struct tbp_session *s = open_text(&run, &h, text);
    const struct tbp_step_table *t = tbp_steps(s, 0, NULL);
    cr_assert_eq(t->n_steps, 1, "the second core has no second step");
    cr_assert_eq(t->steps[0].n_cores, 2);
    cr_expect_eq(t->steps[0].cores[0].dur_ps, 200);
    cr_expect_eq(t->steps[0].cores[1].dur_ps, 200, "the longest marker holds for both");
    tiny_close(&run);
}

Test(tpu_input, a_step_is_compute_input_output_and_idle_time) {
    struct tbp_step_category one[] = {{TBP_STR_INIT("fusion"), 500000000},
                                      {TBP_STR_INIT("infeed"), 300000000},
                                      {TBP_STR_INIT("outfeed"), 100000000},
                                      {TBP_STR_INIT("IDLE"), 100000000}};
    struct tbp_step_category two[] = {{TBP_STR_INIT("fusion"), 700000000},
                                      {TBP_STR_INIT("host send"), 200000000},
                                      {TBP_STR_INIT("IDLE"), 100000000}};
    struct tbp_step_collective first = {5, 0, 200000000}, second = {5, 0, 50000000};
    struct tbp_step_core cores[] = {{.core = 3,
                                     .dur_ps = 1000000000,
                                     .categories = one,
                                     .n_categories = 4,
                                     .collectives = &first,
                                     .n_collectives = 1},
                                    {.core = 4,
                                     .dur_ps = 1000000000,
                                     .categories = two,
                                     .n_categories = 3,
                                     .collectives = &second,
                                     .n_collectives = 1}};
    struct tbp_core_place place = {.core = 3, .host_name = TBP_STR_INIT("w"), .ordinal = 1};
    struct tbp_step step = {.number = 8, .cores = cores, .n_cores = 2};
    struct tbp_step_table t = {.steps = &step, .n_steps = 1, .places = &place, .n_places = 1};
    struct tbp_arena a;
    tbp_arena_init(&a);
    struct tbp_tpu_step n = tbp_tpu_step_of(&t, &step, &a);
    cr_expect_eq(n.number, 8);
    cr_expect_float_eq(n.ms[TBP_TPU_COMPUTE], 0.5, 1e-12);  /* the core that computed least */
    cr_expect_float_eq(n.ms[TBP_TPU_INFEED], 0.3, 1e-12);   /* the longest */
    cr_expect_float_eq(n.ms[TBP_TPU_OUTFEED], 0.05, 1e-12); /* the average */
    cr_expect_float_eq(n.ms[TBP_TPU_TRANSFER], 0.2, 1e-12);
    cr_expect_float_eq(n.ms[TBP_TPU_IDLE], 1.0 - 0.85, 1e-12);
    cr_expect_float_eq(n.ms[TBP_TPU_ACTIVE], 0.6, 1e-12);
    cr_expect_float_eq(n.reduce_ms, 0.2, 1e-12); /* 0.05 of work, 0.15 of waiting */
    cr_expect_float_eq(n.step_ms, 1.2, 1e-12);
    cr_expect_float_eq(n.infeed_percent_average, 15.0, 1e-12);
    cr_expect_float_eq(n.infeed_percent_maximum, 30.0, 1e-12);
    cr_expect_eq(n.place, &place);
    tbp_arena_release(&a);
}
