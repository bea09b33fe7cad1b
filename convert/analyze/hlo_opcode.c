/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of HLO opcodes with a cost rule of their own, and the measured flops per element. The
 * official analysis uses one built-in device profile, so these do not depend on the device.
 */
#include "convert/analyze/hlo_opcode.h"

/* Sorted by name; everything else has the default rule. */
static const struct tbp_hlo_opcode opcodes[] = {
    {TBP_STR_INIT("abs"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("acos"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("acosh"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("add"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("add-dependency"), TBP_HLO_FREE},
    {TBP_STR_INIT("after-all"), TBP_HLO_FREE},
    {TBP_STR_INIT("all-gather"), TBP_HLO_ALL_GATHER},
    {TBP_STR_INIT("all-gather-start"), TBP_HLO_ALL_GATHER},
    {TBP_STR_INIT("all-reduce"), TBP_HLO_ALL_REDUCE},
    {TBP_STR_INIT("all-reduce-start"), TBP_HLO_ALL_REDUCE_START},
    {TBP_STR_INIT("and"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("asin"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("asinh"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("async-start"), TBP_HLO_CALL},
    {TBP_STR_INIT("atan2"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("atanh"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("bitcast"), TBP_HLO_FREE},
    {TBP_STR_INIT("bitcast-convert"), TBP_HLO_BITCAST_CONVERT},
    {TBP_STR_INIT("call"), TBP_HLO_CALL},
    {TBP_STR_INIT("cbrt"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("ceil"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("cholesky"), TBP_HLO_CHOLESKY},
    {TBP_STR_INIT("clamp"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("compare"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("complex"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("concatenate"), TBP_HLO_CONCATENATE},
    {TBP_STR_INIT("conditional"), TBP_HLO_CONDITIONAL},
    {TBP_STR_INIT("constant"), TBP_HLO_CONSTANT},
    {TBP_STR_INIT("convert"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("convolution"), TBP_HLO_CONVOLUTION},
    {TBP_STR_INIT("copy"), TBP_HLO_COPY},
    {TBP_STR_INIT("cosh"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("cosine"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("count-leading-zeros"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("custom-call"), TBP_HLO_CUSTOM_CALL},
    {TBP_STR_INIT("divide"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("domain"), TBP_HLO_FREE},
    {TBP_STR_INIT("dot"), TBP_HLO_DOT},
    {TBP_STR_INIT("dynamic-slice"), TBP_HLO_DYNAMIC_SLICE},
    {TBP_STR_INIT("dynamic-update-slice"), TBP_HLO_DYNAMIC_UPDATE_SLICE},
    {TBP_STR_INIT("erf"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("exponential"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("exponential-minus-one"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("fft"), TBP_HLO_FFT},
    {TBP_STR_INIT("floor"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("fusion"), TBP_HLO_FUSION},
    {TBP_STR_INIT("gather"), TBP_HLO_GATHER},
    {TBP_STR_INIT("get-tuple-element"), TBP_HLO_GET_TUPLE_ELEMENT},
    {TBP_STR_INIT("imag"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("is-finite"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("log"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("log-plus-one"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("logistic"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("map"), TBP_HLO_MAP},
    {TBP_STR_INIT("maximum"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("minimum"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("multiply"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("negate"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("not"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("or"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("parameter"), TBP_HLO_PARAMETER},
    {TBP_STR_INIT("popcnt"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("power"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("real"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("reduce"), TBP_HLO_REDUCE},
    {TBP_STR_INIT("reduce-precision"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("reduce-scatter"), TBP_HLO_REDUCE_SCATTER},
    {TBP_STR_INIT("reduce-window"), TBP_HLO_REDUCE_WINDOW},
    {TBP_STR_INIT("remainder"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("round-nearest-afz"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("round-nearest-even"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("rsqrt"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("scatter"), TBP_HLO_SCATTER},
    {TBP_STR_INIT("select"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("select-and-scatter"), TBP_HLO_SELECT_AND_SCATTER},
    {TBP_STR_INIT("shift-left"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("shift-right-arithmetic"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("shift-right-logical"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("sign"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("sine"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("sinh"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("slice"), TBP_HLO_SLICE},
    {TBP_STR_INIT("sort"), TBP_HLO_SORT},
    {TBP_STR_INIT("sqrt"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("stochastic-convert"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("subtract"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("tan"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("tanh"), TBP_HLO_ARITHMETIC},
    {TBP_STR_INIT("transpose"), TBP_HLO_TRANSPOSE},
    {TBP_STR_INIT("triangular-solve"), TBP_HLO_TRIANGULAR_SOLVE},
    {TBP_STR_INIT("tuple"), TBP_HLO_TUPLE},
    {TBP_STR_INIT("while"), TBP_HLO_WHILE},
    {TBP_STR_INIT("xor"), TBP_HLO_ARITHMETIC},
};

static const struct tbp_hlo_opcode default_opcode = {TBP_STR_INIT(""), TBP_HLO_DEFAULT};

const struct tbp_hlo_opcode *tbp_hlo_opcode_of(struct tbp_str name) {
    size_t low = 0, high = sizeof opcodes / sizeof opcodes[0];
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = tbp_str_cmp(name, opcodes[mid].name);
        if (order == 0)
            return &opcodes[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return &default_opcode;
}

/* Columns of the table below; types without a column always cost DEFAULT_FLOPS. */
enum { F16, F32, F64, C64, C128, S8, S16, S32, S64, U8, U16, U32, U64, N_COLUMNS };
enum { DEFAULT_FLOPS = 3 };

static const struct {
    struct tbp_str opcode;
    int32_t flops[N_COLUMNS]; /* 0: default */
} profile[] = {
    {TBP_STR_INIT("add"), {[F64] = 97, [C128] = 97}},
    {TBP_STR_INIT("atan2"), {[F16] = 482, [F32] = 486, [F64] = 3747, [C64] = 5353, [C128] = 39027}},
    {TBP_STR_INIT("cbrt"), {[F16] = 925, [F32] = 867, [F64] = 6339}},
    {TBP_STR_INIT("cosine"), {[F16] = 691, [F32] = 662, [F64] = 1717, [C128] = 6613}},
    {TBP_STR_INIT("divide"),
     {[F64] = 2016,
      [C64] = 687,
      [C128] = 7941,
      [S8] = 370,
      [S16] = 367,
      [S32] = 306,
      [S64] = 918,
      [U8] = 306,
      [U16] = 302,
      [U32] = 115,
      [U64] = 838}},
    {TBP_STR_INIT("exponential"),
     {[F16] = 108, [F32] = 86, [F64] = 1652, [C64] = 1360, [C128] = 4028}},
    {TBP_STR_INIT("exponential-minus-one"),
     {[F16] = 396, [F32] = 381, [F64] = 1900, [C64] = 1400, [C128] = 4161}},
    {TBP_STR_INIT("log"), {[F16] = 266, [F32] = 244, [F64] = 608, [C64] = 950, [C128] = 7599}},
    {TBP_STR_INIT("log-plus-one"),
     {[F16] = 284, [F32] = 262, [F64] = 2073, [C64] = 842, [C128] = 6962}},
    {TBP_STR_INIT("logistic"), {[F16] = 226, [F32] = 176, [F64] = 2412}},
    {TBP_STR_INIT("multiply"), {[F64] = 97, [C128] = 270}},
    {TBP_STR_INIT("power"),
     {[F16] = 975,
      [F32] = 925,
      [F64] = 5511,
      [C64] = 3351,
      [C128] = 18205,
      [S8] = 392,
      [S16] = 396,
      [S64] = 601,
      [U8] = 388,
      [U16] = 399,
      [U64] = 604}},
    {TBP_STR_INIT("rsqrt"), {[F16] = 97, [F32] = 75, [F64] = 698, [C64] = 2383, [C128] = 11318}},
    {TBP_STR_INIT("sine"), {[F32] = 662, [F64] = 1789, [C128] = 5878}},
    {TBP_STR_INIT("sqrt"), {[F16] = 97, [F32] = 75, [F64] = 986, [C64] = 3193, [C128] = 15606}},
    {TBP_STR_INIT("subtract"), {[F64] = 97, [C128] = 97}},
    {TBP_STR_INIT("tanh"), {[F16] = 212, [F32] = 190, [F64] = 1609, [C128] = 9939}},
};

static int column_of(unsigned type) {
    static const int8_t columns[TBP_HLO_TYPES] = {
        [2] = S8 + 1,   [3] = S16 + 1,  [4] = S32 + 1,  [5] = S64 + 1,  [6] = U8 + 1,
        [7] = U16 + 1,  [8] = U32 + 1,  [9] = U64 + 1,  [10] = F16 + 1, [11] = F32 + 1,
        [12] = F64 + 1, [15] = C64 + 1, [18] = C128 + 1};
    return type < TBP_HLO_TYPES ? columns[type] - 1 : -1;
}

int64_t tbp_hlo_flops_per_element(struct tbp_str opcode, unsigned type) {
    int column = column_of(type);
    if (column < 0)
        return DEFAULT_FLOPS;
    for (size_t i = 0; i < sizeof profile / sizeof profile[0]; i++)
        if (tbp_str_eq(profile[i].opcode, opcode))
            return profile[i].flops[column] != 0 ? profile[i].flops[column] : DEFAULT_FLOPS;
    return DEFAULT_FLOPS;
}

unsigned tbp_hlo_type_bits(unsigned type) {
    /* PRED S8 S16 S32 S64 U8 U16 U32 U64 F16 F32 F64 tuple opaque C64 BF16 token C128 F8… S4 U4 …
     */
    static const uint8_t bits[TBP_HLO_TYPES] = {0,  1, 8, 16, 32, 64, 8,   16, 32, 64, 16, 32,
                                                64, 0, 0, 64, 16, 0,  128, 8,  8,  4,  4,  8,
                                                8,  8, 2, 2,  8,  8,  1,   1,  4,  8};
    return type < TBP_HLO_TYPES ? bits[type] : 0;
}
