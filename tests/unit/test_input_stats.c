/* SPDX-License-Identifier: Apache-2.0
 *
 * Categories of input ops and the verdict on what bounds a program.
 */
#include "convert/analyze/input_stats.h"

#include <criterion/criterion.h>

static enum tbp_input_category category(const char *type, const char *name) {
    struct tbp_op op = {.category = tbp_str_c(type), .name = tbp_str_c(name)};
    return tbp_input_category_of(&op);
}

Test(input_stats, knows_the_categories_of_stages_in_any_case) {
    cr_assert_eq(category("ENQUEUE", "x"), TBP_INPUT_ENQUEUE);
    cr_assert_eq(category("Read", "x"), TBP_INPUT_DEMANDED_READ);
    cr_assert_eq(category("preprocessing", "x"), TBP_INPUT_PREPROCESSING);
    cr_assert_eq(category("Unknown", "x"), TBP_INPUT_UNKNOWN);
    cr_assert_eq(category("reads", "x"), TBP_INPUT_NONE);
}

Test(input_stats, tells_reads_in_advance_from_reads_on_demand) {
    cr_assert_eq(category("Dataset", "Iterator::Model::TFRecord"), TBP_INPUT_DEMANDED_READ);
    cr_assert_eq(category("Dataset", "Iterator::Prefetch::TFRecord"), TBP_INPUT_ADVANCED_READ);
    cr_assert_eq(category("Dataset", "Iterator::ParallelMapV2::TextLine"), TBP_INPUT_ADVANCED_READ);
    cr_assert_eq(category("Dataset", "Iterator::Prefetch"), TBP_INPUT_PREPROCESSING);
    cr_assert_eq(category("Dataset", "Iterator::TFRecord::Batch"), TBP_INPUT_PREPROCESSING);
}

Test(input_stats, counts_copies_to_the_device_as_enqueueing) {
    cr_assert_eq(category("MemcpyHToD", "MemcpyHToD"), TBP_INPUT_ENQUEUE);
    cr_assert_eq(category("InfeedEnqueueTuple", "x"), TBP_INPUT_ENQUEUE);
    cr_assert_eq(category("MemcpyDToH", "MemcpyDToH"), TBP_INPUT_NONE);
    cr_assert_eq(category("MatMul", "x"), TBP_INPUT_NONE);
}

Test(input_stats, judges_by_the_share_of_input_then_by_unexplained_time) {
    static const struct {
        double input, others;
        enum tbp_input_class bound;
        enum tbp_input_finding finding;
        double percent;
    } cases[] = {
        {20, 0, TBP_BOUND_HOST, TBP_FINDING_HIGHLY, 20},
        {19.9, 50, TBP_BOUND_BOTH, TBP_FINDING_MODERATELY, 19.9},
        {5, 0, TBP_BOUND_BOTH, TBP_FINDING_MODERATELY, 5},
        {4.9, 3, TBP_BOUND_BOTH, TBP_FINDING_POTENTIALLY, 3},
        {4.9, 2.9, TBP_BOUND_DEVICE, TBP_FINDING_NOT, 4.9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tbp_input_verdict v = {0};
        tbp_input_verdict_find(&v, cases[i].input, cases[i].others);
        cr_assert_eq(v.bound, cases[i].bound, "case %zu", i);
        cr_assert_eq(v.finding, cases[i].finding, "case %zu", i);
        cr_assert_eq(v.percent, cases[i].percent, "case %zu", i);
    }
}
