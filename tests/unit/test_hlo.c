/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding programs and instructions of a host, and what they tell of training.
 */
#include "convert/analyze/hlo.h"
#include "tests/support/tiny_run.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>

/* One program with one instruction, "add.1" of the op "gradient_tape/MatMul", type MatMul. */
#define PROTO                                                                                      \
    "b\"\\x0a\\x2b\\x1a\\x29\\x12\\x27\\x0a\\x05add.1\\x3a\\x1e\\x0a\\x06MatMul"                   \
    "\\x12\\x14gradient_tape/MatMul\""

static const struct tbp_hlo_table *open_text(struct tiny_run *run, struct tiny_host *h,
                                             const char *text) {
    struct tbp_error err = {0};
    *h = (struct tiny_host){0};
    cr_assert_eq(tbp_xpt_parse(tbp_str_c(text), &h->bytes, &err), TBP_OK, "%s", err.message);
    return tbp_hlo(tiny_open(run, h, 1, TBP_SEMANTICS_OFFICIAL), 0, NULL);
}

Test(hlo, instructions_are_found_by_program_and_name) {
    struct tiny_run run;
    struct tiny_host h;
    const struct tbp_hlo_table *t =
        open_text(&run, &h, "plane 1 \"/host:metadata\"\n name #5 \"m\" \"Hlo Proto\"=" PROTO "\n");
    const struct tbp_hlo_instruction *i = tbp_hlo_find(t, 5, TBP_STR("add.1"));
    cr_assert_not_null(i);
    cr_expect(tbp_str_is(i->framework_name, "gradient_tape/MatMul:MatMul"));
    cr_expect_null(tbp_hlo_find(t, 5, TBP_STR("add.2")));
    cr_expect_null(tbp_hlo_find(t, 6, TBP_STR("add.1")));
    cr_expect(tbp_hlo_is_training(t));
    tiny_close(&run);
}

Test(hlo, the_program_id_is_a_stat_or_ends_the_name_or_is_the_metadata_id) {
    static const struct {
        const char *text;
        uint64_t id;
    } cases[] = {
        {"plane 1 \"/host:metadata\"\n name #5 \"m(77)\" \"Hlo Proto\"=" PROTO "\n", 77},
        {"plane 1 \"/host:metadata\"\n name #5 \"m(x)\" \"HLO Proto\"=" PROTO "\n", 5},
        {"plane 1 \"/host:metadata\"\n name #5 \"m(77)\" program_id=8u \"Hlo Proto\"=" PROTO "\n",
         8},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct tiny_run run;
        struct tiny_host h;
        const struct tbp_hlo_table *t = open_text(&run, &h, cases[k].text);
        cr_assert_eq(tbp_hlo_n_programs(t), 1);
        cr_expect_eq(tbp_hlo_program_at(t, 0)->id, cases[k].id, "case %zu", k);
        tiny_close(&run);
    }
}

Test(hlo, a_program_that_cannot_be_read_does_not_exist) {
    struct tiny_run run;
    struct tiny_host h;
    const struct tbp_hlo_table *t = open_text(
        &run, &h, "plane 1 \"/host:metadata\"\n name #5 \"m\" \"Hlo Proto\"=b\"\\x0a\\x7f\"\n");
    cr_expect_eq(tbp_hlo_n_programs(t), 0);
    cr_expect_not(tbp_hlo_is_training(t));
    const struct tbp_ledger *l = &tbp_session_host(run.session, 0, NULL)->ledger;
    cr_expect_eq(l->count[TBP_LEDGER_HLO_DAMAGED], 1);
    const char *bytes = tiny_bytes(&h).p;
    uint64_t at = l->first_offset[TBP_LEDGER_HLO_DAMAGED];
    cr_expect_eq(memcmp(bytes + at, "\x0a\x7f", 2), 0); /* where the program begins */
    cr_expect(tbp_ledger_has_loss(l));
    tiny_close(&run);
}
