/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs of HLO instructions, each small enough to be worked out by hand beside the test, and
 * programs that must not be trusted: cycles, endless nesting, missing operands.
 */
#include "convert/analyze/gemm_config.h"
#include "convert/analyze/hlo_module.h"
#include "schemas/wire.h"

#include <criterion/criterion.h>

enum { S8 = 2, S32 = 4, F32 = 11, TUPLE = 13 };

/* A program under construction; ids count from 1. */
struct program {
    struct tbp_wire_out computation, module;
    uint64_t next_id, next_computation;
    struct tbp_arena out, scratch;
    struct tbp_hlo_module m;
};

static void setup(struct program *p) {
    *p = (struct program){.next_id = 1, .next_computation = 1};
    tbp_arena_init(&p->out);
    tbp_arena_init(&p->scratch);
}

static void teardown(struct program *p) {
    tbp_wire_out_release(&p->computation);
    tbp_wire_out_release(&p->module);
    tbp_arena_release(&p->out);
    tbp_arena_release(&p->scratch);
}

static void put_shape(struct tbp_wire_out *o, uint32_t field, unsigned type, const char *dims) {
    size_t shape = tbp_wire_begin(o, field);
    tbp_wire_put_u64(o, 2, type);
    tbp_wire_put_bytes(o, 3, dims, strlen(dims)); /* bytes below 128 are packed varints */
    tbp_wire_put_bytes(o, 5, "", 0);              /* a layout */
    tbp_wire_end(o, shape);
}

struct part { /* further fields of an instruction */
    uint32_t field;
    const char *bytes;
    size_t n;
};

/* Adds an instruction; dims, operands and called are lists of small numbers as bytes. */
static uint64_t add(struct program *p, const char *opcode, unsigned type, const char *dims,
                    const char *operands, const char *called, struct part part) {
    struct tbp_wire_out *o = &p->computation;
    size_t instruction = tbp_wire_begin(o, 2);
    tbp_wire_put_str(o, 1, tbp_str_c(opcode));
    tbp_wire_put_str(o, 2, tbp_str_c(opcode));
    put_shape(o, 3, type, dims);
    tbp_wire_put_u64(o, 35, p->next_id);
    tbp_wire_put_bytes(o, 36, operands, strlen(operands));
    tbp_wire_put_bytes(o, 38, called, strlen(called));
    if (part.field != 0)
        tbp_wire_put_bytes(o, part.field, part.bytes, part.n);
    tbp_wire_end(o, instruction);
    return p->next_id++;
}
static const struct part none = {0};

static void end_computation(struct program *p) {
    tbp_wire_put_u64(&p->computation, 5, p->next_computation++);
    tbp_wire_put_u64(&p->computation, 6, p->next_id - 1); /* the last one is the root */
    tbp_wire_put_bytes(&p->module, 3, p->computation.at, p->computation.n);
    p->computation.n = 0;
}

/* Parses and analyses; the last computation is the entry. Returns the last instruction. */
static const struct tbp_hlo_instruction *finish(struct program *p) {
    struct tbp_wire_out proto = {0};
    end_computation(p);
    tbp_wire_put_u64(&p->module, 6, p->next_computation - 1);
    tbp_wire_put_bytes(&proto, 1, p->module.at, p->module.n);
    struct tbp_str bytes =
        tbp_arena_str(&p->out, (struct tbp_str){(const char *)proto.at, proto.n});
    tbp_wire_out_release(&proto);
    cr_assert(tbp_hlo_module_parse(&p->m, bytes, true, &p->out, &p->scratch));
    tbp_hlo_module_cost(&p->m, &p->scratch);
    return &p->m.instructions[p->m.n - 1];
}

static void expect_cost(const struct tbp_hlo_instruction *i, int64_t flops, int64_t bytes) {
    cr_expect_eq(i->flops, flops, "flops of '%.*s': %lld, not %lld", (int)i->name.n, i->name.p,
                 (long long)i->flops, (long long)flops);
    cr_expect_eq(i->bytes_accessed, bytes, "bytes of '%.*s': %lld, not %lld", (int)i->name.n,
                 i->name.p, (long long)i->bytes_accessed, (long long)bytes);
}

Test(hlo_cost, element_wise_ops_cost_by_opcode_and_type) {
    struct program p;
    setup(&p);
    add(&p, "parameter", F32, "\x40\x20", "", "", none);
    add(&p, "add", F32, "\x40\x20", "\1\1", "", none);
    add(&p, "exponential", F32, "\x40\x20", "\2", "", none);
    const struct tbp_hlo_instruction *last = finish(&p);
    expect_cost(&last[-2], 0, 0);
    expect_cost(&last[-1], 3 * 64 * 32, 3 * 64 * 32 * 4); /* reads its operand twice */
    expect_cost(&last[0], 86 * 64 * 32, 2 * 64 * 32 * 4);
    teardown(&p);
}

Test(hlo_cost, dot_counts_products_and_narrow_types_run_faster) {
    struct program p;
    setup(&p);
    struct part contracting_1 = {30, "\x0a\1\1", 3};
    add(&p, "parameter", S8, "\x40\x20", "", "", none);
    add(&p, "parameter", S8, "\x20\x10", "", "", none);
    add(&p, "dot", S32, "\x40\x10", "\1\2", "", contracting_1);
    const struct tbp_hlo_instruction *dot = finish(&p);
    expect_cost(dot, 2 * 64 * 16 * 32, 64 * 16 * 4 + 64 * 32 + 32 * 16);
    cr_expect_eq(dot->device_flops, 64 * 16 * 32, "8 bits: twice the rate");
    teardown(&p);
}

Test(hlo_cost, convolution_counts_only_pairs_that_hit_the_input) {
    struct program p;
    setup(&p);
    add(&p, "parameter", F32, "\1\x20\4", "", "", none); /* batch 1, 32 points, 4 features */
    add(&p, "parameter", F32, "\3\4\x8", "", "", none);  /* 3 points, 4 -> 8 features */
    struct tbp_wire_out *o = &p.computation;
    size_t instruction = tbp_wire_begin(o, 2), window, dimension, numbers;
    tbp_wire_put_str(o, 1, TBP_STR("convolution"));
    tbp_wire_put_str(o, 2, TBP_STR("convolution"));
    put_shape(o, 3, F32, "\1\x20\x8");
    tbp_wire_put_bytes(o, 36, "\1\2", 2);
    window = tbp_wire_begin(o, 15);
    dimension = tbp_wire_begin(o, 1);
    for (uint32_t field = 1; field <= 6; field++) /* size 3, all else 1: padded on both sides */
        tbp_wire_put_u64(o, field, field == 1 ? 3 : 1);
    tbp_wire_end(o, dimension);
    tbp_wire_end(o, window);
    numbers = tbp_wire_begin(o, 16);
    tbp_wire_put_u64(o, 8, 2);
    tbp_wire_put_u64(o, 10, 2);
    tbp_wire_put_bytes(o, 6, "\0", 1);
    tbp_wire_put_bytes(o, 11, "\1", 1);
    tbp_wire_put_bytes(o, 12, "\1", 1);
    tbp_wire_end(o, numbers);
    tbp_wire_put_u64(o, 35, p.next_id++);
    tbp_wire_end(o, instruction);
    const struct tbp_hlo_instruction *conv = finish(&p);
    expect_cost(conv, 2 * 4 * 8 * (3 * 32 - 2), (32 * 8 + 32 * 4 + 3 * 4 * 8) * 4);
    teardown(&p);
}

Test(hlo_cost, fusion_reads_parameters_as_often_as_they_are_used) {
    struct program p;
    setup(&p);
    add(&p, "parameter", F32, "\x40\x20", "", "", none); /* 1: all of it is used */
    add(&p, "parameter", F32, "\x40\x20", "", "", none); /* 2: only a slice is */
    add(&p, "slice", F32, "\x10\x20", "\2", "", none);
    add(&p, "exponential", F32, "\x40\x20", "\1", "", none);
    add(&p, "concatenate", F32, "\x50\x20", "\4\3", "", none);
    end_computation(&p);
    add(&p, "parameter", F32, "\x40\x20", "", "", none); /* 6, 7 */
    add(&p, "parameter", F32, "\x40\x20", "", "", none);
    add(&p, "fusion", F32, "\x50\x20", "\6\7", "\1", none);
    const struct tbp_hlo_instruction *fusion = finish(&p);
    /* the concatenation of 80*32 elements reads each operand as if wholly for its own elements:
     * its utilisation is 1 */
    expect_cost(fusion, 86 * 64 * 32 + 6 * 80 * 32, 80 * 32 * 4 + 64 * 32 * 4 + 64 * 32 * 4 / 4);
    teardown(&p);
}

Test(hlo_cost, instructions_never_called_have_no_costs) {
    struct program p;
    setup(&p);
    add(&p, "parameter", F32, "\x40", "", "", none);
    add(&p, "add", F32, "\x40", "\1\1", "", none);
    end_computation(&p);
    add(&p, "parameter", F32, "\x40", "", "", none);
    add(&p, "sort", F32, "\x40", "\3", "\1", none); /* the comparison is not part of the costs */
    const struct tbp_hlo_instruction *sort = finish(&p);
    expect_cost(sort, 64 * 6, 2 * 64 * 4);
    expect_cost(&p.m.instructions[1], 0, 0);
    teardown(&p);
}

Test(hlo_cost, a_program_with_one_broken_instruction_has_no_costs) {
    static const struct {
        const char *opcode, *operands, *called;
    } broken[] = {
        {"dynamic-update-slice", "\1", ""}, /* operands are missing */
        {"gather", "\1", ""},
        {"fusion", "\1", ""}, /* calls nothing */
        {"call", "\1", "\1"}, /* calls itself */
        {"call", "\1", "\7"}, /* no such computation */
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct program p;
        setup(&p);
        add(&p, "parameter", F32, "\x40", "", "", none);
        add(&p, "add", F32, "\x40", "\1\1", "", none);
        add(&p, broken[i].opcode, F32, "\x40", broken[i].operands, broken[i].called, none);
        const struct tbp_hlo_instruction *last = finish(&p);
        expect_cost(&last[-1], 0, 0);
        expect_cost(last, 0, 0);
        teardown(&p);
    }
}

Test(hlo_cost, operands_in_a_cycle_do_not_hang) {
    struct program p;
    setup(&p);
    add(&p, "add", F32, "\x40", "\2\2", "", none);
    add(&p, "add", F32, "\x40", "\1\1", "", none);
    add(&p, "negate", F32, "\x40", "\2", "", none);
    expect_cost(finish(&p), 3 * 64, 2 * 64 * 4);
    teardown(&p);
}

Test(hlo_cost, gemm_call_takes_contracting_dimensions_from_its_text) {
    static const struct {
        const char *config;
        int64_t flops;
    } cases[] = {
        {"", 2 * 64 * 16},
        {"{}", 2 * 64 * 16},
        {"{\"gemm_backend_config\":{\"beta\":-1.5e3,\"dot_dimension_numbers\":"
         "{\"lhs_contracting_dimensions\":[\"1\"]}}}",
         2 * 64 * 16 * 32},
        {"{\"wait_on_operation_queues\" : [ ] , \"operation_queue_id\":\"0\"}", 2 * 64 * 16},
        {"{\"wait_on_operation_queues\":[]}", 0}, /* no comma: not taken out, hence unknown */
        {"{\"foo\":1}", 0},
        {"{\"gemm_backend_config\":{\"foo\":1}}", 0},
        {"{\"gemm_backend_config\":{}", 0},
        {"[]", 0},
        {"{} {}", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct program p;
        setup(&p);
        add(&p, "parameter", F32, "\x40\x20", "", "", none);
        add(&p, "parameter", F32, "\x20\x10", "", "", none);
        struct tbp_wire_out *o = &p.computation;
        size_t instruction = tbp_wire_begin(o, 2);
        tbp_wire_put_str(o, 2, TBP_STR("custom-call"));
        put_shape(o, 3, F32, "\x40\x10");
        tbp_wire_put_str(o, 28, TBP_STR("__cublas$lt$matmul"));
        tbp_wire_put_bytes(o, 36, "\1\2", 2);
        tbp_wire_put_str(o, 43, tbp_str_c(cases[i].config));
        tbp_wire_put_u64(o, 35, p.next_id++);
        tbp_wire_end(o, instruction);
        cr_expect_eq(finish(&p)->flops, cases[i].flops, "'%s'", cases[i].config);
        teardown(&p);
    }
}

Test(hlo_cost, gemm_text_nested_without_end_is_refused) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    struct tbp_hlo_ints dims;
    static char text[200000];
    memset(text, '[', sizeof text);
    memcpy(text, "{\"device_type\":", 15);
    cr_expect_not(tbp_gemm_config_read((struct tbp_str){text, sizeof text}, &dims, &a));
    tbp_arena_release(&a);
}

Test(hlo_module, shapes_nested_beyond_the_limit_are_refused) {
    struct program p;
    setup(&p);
    struct tbp_wire_out inner = {0}, outer = {0};
    for (int i = 0; i < 200; i++) {
        outer.n = 0;
        tbp_wire_put_u64(&outer, 2, TUPLE);
        tbp_wire_put_bytes(&outer, 4, inner.at, inner.n);
        struct tbp_wire_out swap = inner;
        inner = outer;
        outer = swap;
    }
    tbp_wire_out_release(&outer);
    size_t proto = tbp_wire_begin(&outer, 1), computation = tbp_wire_begin(&outer, 3);
    size_t instruction = tbp_wire_begin(&outer, 2);
    tbp_wire_put_bytes(&outer, 3, inner.at, inner.n);
    tbp_wire_end(&outer, instruction);
    tbp_wire_end(&outer, computation);
    tbp_wire_end(&outer, proto);
    struct tbp_str bytes = {(const char *)outer.at, outer.n};
    cr_expect_not(tbp_hlo_module_parse(&p.m, bytes, true, &p.out, &p.scratch));
    cr_expect(tbp_hlo_module_parse(&p.m, bytes, false, &p.out, &p.scratch),
              "names alone do not need shapes");
    tbp_wire_out_release(&inner);
    tbp_wire_out_release(&outer);
    teardown(&p);
}

Test(hlo_module, cut_bytes_are_refused) {
    struct program p;
    setup(&p);
    static const char cut[] = {0x0a, 0x7f, 0x0a}; /* says 127 bytes, has one */
    cr_expect_not(
        tbp_hlo_module_parse(&p.m, (struct tbp_str){cut, sizeof cut}, true, &p.out, &p.scratch));
    teardown(&p);
}
