/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of op names: every rule with a name that can be checked by reading, and the edges
 * (numbers at the 64-bit border, brackets, blanks, colons) as the official grammar answers them.
 */
#include "convert/analyze/op_name.h"

#include <criterion/criterion.h>

struct parse_case {
    const char *full;
    enum tbp_op_category category;
    const char *name, *type;
};

static void expect_text(struct tbp_str got, const char *want, const char *of) {
    cr_expect(tbp_str_is(got, want), "'%s': got '%.*s', want '%s'", of, (int)got.n, got.p, want);
}

static void expect_parses(const struct parse_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct tbp_op_name op = tbp_op_name_parse(tbp_str_c(cases[i].full));
        cr_expect_eq(op.category, cases[i].category, "category of '%s'", cases[i].full);
        expect_text(op.name, cases[i].name, cases[i].full);
        expect_text(op.type, cases[i].type, cases[i].full);
    }
}
#define EXPECT_PARSES(cases) expect_parses((cases), sizeof(cases) / sizeof(cases)[0])

Test(op_name, splits_at_the_first_colon_by_category) {
    static const struct parse_case cases[] = {
        {"model/dense/MatMul:MatMul", TBP_OP_TENSORFLOW, "model/dense/MatMul", "MatMul"},
        {"x/Max-Pool:Transpose", TBP_OP_TENSORFLOW, "x/Max-Pool", "Transpose"},
        {"a/b:_Send", TBP_OP_TENSORFLOW, "a/b", "_Send"},
        {"jit(f)/dot_general:dot_general[a=1]", TBP_OP_JAX, "jit(f)/dot_general", "dot_general"},
        {"x y:mul", TBP_OP_JAX, "x y", "mul"},
        {":add", TBP_OP_JAX, "", "add"},
        {"Iterator::Prefetch::Map", TBP_OP_TF_DATA, "Iterator::Prefetch::Map", "Dataset"},
        {"Iterator:", TBP_OP_TF_DATA, "Iterator:", "Dataset"},
        {"a:b:C", TBP_OP_UNKNOWN, "a:b:C", ""},
        {"-x:Add", TBP_OP_UNKNOWN, "-x:Add", ""},
        {"x:Add[1]", TBP_OP_UNKNOWN, "x:Add[1]", ""},
        {"", TBP_OP_UNKNOWN, "", ""},
    };
    EXPECT_PARSES(cases);
}

Test(op_name, knows_memcpy_in_any_case_only_without_a_colon) {
    static const struct parse_case cases[] = {
        {"memcpyhtod_1", TBP_OP_MEMCPY_H2D, "memcpyhtod_1", "MemcpyHToD"},
        {"MEMCPYDTOH", TBP_OP_MEMCPY_D2H, "MEMCPYDTOH", "MemcpyDToH"},
        {"MemcpyDToD", TBP_OP_MEMCPY_D2D, "MemcpyDToD", "MemcpyDToD"},
        {"MemcpyHToH", TBP_OP_MEMCPY_H2H, "MemcpyHToH", "MemcpyHToH"},
        {"MemcpyHToX", TBP_OP_UNKNOWN, "MemcpyHToX", ""},
        {"MemcpyHToH:", TBP_OP_TENSORFLOW, "MemcpyHToH", "MemcpyHToH"},
    };
    EXPECT_PARSES(cases);
}

Test(op_name, derives_a_missing_type_from_the_last_component) {
    static const struct parse_case cases[] = {
        {"Foo/Bar_3:", TBP_OP_TENSORFLOW, "Foo/Bar_3", "Bar"},
        {"jit(f)/add_12:", TBP_OP_JAX, "jit(f)/add_12", "add"},
        {"jit(f)/add_ 12\t:", TBP_OP_JAX, "jit(f)/add_ 12\t", "add"},
        {"a/b_-3:", TBP_OP_JAX, "a/b_-3", "b"},
        {"a/b_- 3:", TBP_OP_TENSORFLOW, "a/b_- 3", "b_- 3"},
        {"Foo/12:", TBP_OP_TENSORFLOW, "Foo/12", "12"},
        {"a/_7:", TBP_OP_TENSORFLOW, "a/_7", ""},
        {":", TBP_OP_TENSORFLOW, "", ""},
        {"A_+9223372036854775807:", TBP_OP_TENSORFLOW, "A_+9223372036854775807", "A"},
        {"A_9223372036854775808:", TBP_OP_TENSORFLOW, "A_9223372036854775808",
         "A_9223372036854775808"},
        {"A_-9223372036854775808:", TBP_OP_TENSORFLOW, "A_-9223372036854775808", "A"},
        {"A_0000000000000000000000000001:", TBP_OP_TENSORFLOW, "A_0000000000000000000000000001",
         "A"},
    };
    EXPECT_PARSES(cases);
}

Test(op_name, jax_types_end_with_one_bracket_on_one_line) {
    static const struct parse_case cases[] = {
        {"x:add[]", TBP_OP_JAX, "x", "add"},        {"x:add[]]", TBP_OP_JAX, "x", "add"},
        {"x:add[", TBP_OP_UNKNOWN, "x:add[", ""},   {"x:add]", TBP_OP_UNKNOWN, "x:add]", ""},
        {"x:a[\n]", TBP_OP_UNKNOWN, "x:a[\n]", ""},
    };
    EXPECT_PARSES(cases);
}

Test(op_name, older_tensorflow_has_no_dash_in_names) {
    struct tbp_str full = TBP_STR("x/Max-Pool:Transpose");
    cr_expect_eq(tbp_op_name_parse_for(full, TBP_SEMANTICS_TF).category, TBP_OP_UNKNOWN);
    cr_expect_eq(tbp_op_name_parse_for(full, TBP_SEMANTICS_OFFICIAL).category, TBP_OP_TENSORFLOW);
    struct tbp_str plain = TBP_STR("x/MaxPool:Transpose");
    cr_expect_eq(tbp_op_name_parse_for(plain, TBP_SEMANTICS_TF).category, TBP_OP_TENSORFLOW);
}

Test(op_name, gradient_evidence_needs_a_gradient_scope) {
    static const struct {
        const char *name, *type;
        bool expected;
    } cases[] = {
        {"gradient_tape/model/MatMul", "MatMul", true},
        {"x/gradients_1/MatMul", "MatMul", true},
        {"x/gradient_tape2/MatMul", "MatMul", false},
        {"x/gradients", "MatMul", false}, /* the last component is the op itself */
        {"jit(f)/transpose(jvp(g))/dot_general", "dot_general", true},
        {"transpose(a)", "", true},
        {"jit(f)/xtranspose(a)", "", false},
        {"jit(f)/transpose(g)/dot_general", "mul", false}, /* not the type of this op */
        {"", "mul", false},
        {"", "", false},
        {"gradients/(x)", "MatMul", false}, /* not the form of a TensorFlow name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        cr_expect_eq(
            tbp_op_has_gradient_evidence(tbp_str_c(cases[i].name), tbp_str_c(cases[i].type)),
            cases[i].expected, "'%s' '%s'", cases[i].name, cases[i].type);
}

Test(op_name, event_name_is_type_or_trimmed_name) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    static const char *const cases[][2] = {
        {"a/MatMul:MatMul", "MatMul"},
        {"jit(f)/mul:", "mul"},
        {"memcpyHtoD_1", "MemcpyHToD"},
        {"Iterator::Prefetch::Map", "Iterator::Map"},
        {"Iterator:::Map", "Iterator:::Map"},
        {"Iterator:x", "Iterator::Iterator:x"},
        {"  op \t\n", "  op"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_text(tbp_op_event_name(tbp_str_c(cases[i][0]), &a), cases[i][1], cases[i][0]);
    tbp_arena_release(&a);
}

Test(op_name, event_kind_is_exact_name_before_grammar) {
    struct tbp_meta op = {.name = TBP_STR_INIT("a/B:B"), .kind = TBP_EVENT_OTHER};
    struct tbp_meta data = {.name = TBP_STR_INIT("Iterator::Map"), .kind = TBP_EVENT_OTHER};
    struct tbp_meta jax = {.name = TBP_STR_INIT("a/b:b"), .kind = TBP_EVENT_OTHER};
    struct tbp_meta known = {.name = TBP_STR_INIT("Iterator::Prefetch::Generator"),
                             .kind = TBP_EVENT_SECOND_ITERATOR};
    cr_expect_eq(tbp_op_event_kind(&op), TBP_EVENT_TF_OP_RUN);
    cr_expect_eq(tbp_op_event_kind(&data), TBP_EVENT_ITERATOR);
    cr_expect_eq(tbp_op_event_kind(&jax), TBP_EVENT_OTHER);
    cr_expect_eq(tbp_op_event_kind(&known), TBP_EVENT_SECOND_ITERATOR);
}

Test(op_name, infeed_enqueue_is_a_prefix_of_the_type) {
    cr_expect(tbp_op_is_infeed_enqueue(TBP_STR("InfeedEnqueueTuple")));
    cr_expect_not(tbp_op_is_infeed_enqueue(TBP_STR("InfeedDequeue")));
}
