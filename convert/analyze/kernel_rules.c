/* SPDX-License-Identifier: Apache-2.0
 *
 * What follows from the texts of a kernel: its launch geometry, whether it runs on tensor cores,
 * and whether its op could. Source: spec tables/RULES.md 9 and 16 (b); the patterns are facts about
 * the names that vendor libraries give their kernels.
 */
#include "convert/analyze/kernel_table.h"

static const char *const nvidia_parts[] = {"16816",
                                           "c1688",
                                           "conv1x1",
                                           "conv2d_c1_k1",
                                           "dgrad_1x1_stride_2x2",
                                           "direct_group",
                                           "first_layer_wgrad_kernel",
                                           "h1688",
                                           "h884",
                                           "hmma",
                                           "i16832",
                                           "i8816",
                                           "s884",
                                           "s1688",
                                           "xmma_gemm",
                                           "xmma_implicit_gemm",
                                           "xmma_sparse_conv",
                                           "xmma_sparse_gemm",
                                           "xmma_warp_specialized_implicit_gemm",
                                           NULL};
static const char *const amd_parts[] = {"gemm_fusion",
                                        "mfma",
                                        "wmma",
                                        "Custom_Cijk_",
                                        "_xdl",
                                        "aiter",
                                        "attn_fwd",
                                        "bwd_kernel_",
                                        "FMHA_FWD",
                                        "gtcx",
                                        "moe_gemm",
                                        "moe_mxgemm",
                                        "miopenSp3AsmConvRage",
                                        "TileGemmShape<",
                                        "TileFlatmmShape<",
                                        "TileFmhaShape<",
                                        "TileFmhaBwdShape<",
                                        NULL};
static const char *const eligible_ends[] = {"Conv2D",
                                            "Conv2DBackpropFilter",
                                            "Conv2DBackpropInput",
                                            "Conv3D",
                                            "DepthwiseConv2dNative",
                                            "DepthwiseConv2dNativeBackpropFilter",
                                            "DepthwiseConv2dNativeBackpropInput",
                                            "/MatMul",
                                            "FusedMatMul",
                                            "/CudnnRNN",
                                            "XlaDot",
                                            "XlaDotV2",
                                            NULL};
static const char *const eligible_parts[] = {
    "BatchMatMul",          "CudnnRNNV", "CudnnRNNForward", "CudnnRNNBackprop", "dot_general",
    "conv_general_dilated", NULL};

static bool has_any(struct tbp_str s, const char *const *parts) {
    for (; *parts; parts++) {
        if (tbp_str_has(s, *parts)) {
            return true;
        }
    }
    return false;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Position after a run of digits from `at`, or 0 if there is none. */
static size_t after_digits(struct tbp_str s, size_t at) {
    size_t end = at;
    while (end < s.n && is_digit(s.p[end])) {
        end++;
    }
    return end > at ? end : 0;
}

/* A matrix instruction in the name of a Tensile kernel: "_MI16x16x4". */
static bool has_matrix_instruction(struct tbp_str s) {
    for (size_t i = 0; i + 3 <= s.n; i++) {
        if (s.p[i] != '_' || s.p[i + 1] != 'M' || s.p[i + 2] != 'I') {
            continue;
        }
        size_t at = after_digits(s, i + 3);
        at = at && at < s.n && s.p[at] == 'x' ? after_digits(s, at + 1) : 0;
        if (at && at + 1 < s.n && s.p[at] == 'x' && is_digit(s.p[at + 1])) {
            return true;
        }
    }
    return false;
}

bool tbp_kernel_name_uses_tensor_core(struct tbp_str name, enum tbp_gpu_vendor vendor) {
    switch (vendor) {
    case TBP_VENDOR_NVIDIA:
        return has_any(name, nvidia_parts);
    case TBP_VENDOR_AMD:
        return has_any(name, amd_parts) || has_matrix_instruction(name);
    default:
        return false;
    }
}

bool tbp_op_is_tensor_core_eligible(struct tbp_str op_name) {
    for (const char *const *end = eligible_ends; *end; end++) {
        if (tbp_str_ends(op_name, *end)) {
            return true;
        }
    }
    return has_any(op_name, eligible_parts);
}

bool tbp_equation_is_tensor_core_eligible(struct tbp_str equation) {
    size_t n_arrows = 0, n_commas = 0;
    for (size_t i = 0; i < equation.n; i++) {
        if (equation.p[i] == '-' && i + 1 < equation.n && equation.p[i + 1] == '>') {
            n_arrows++;
            i++;
        } else if (equation.p[i] == ',' && n_arrows == 0) {
            n_commas++;
        }
    }
    return n_arrows == 1 && n_commas == 1;
}

static struct tbp_str trimmed(struct tbp_str s) {
    static const char blanks[] = " \t\n\v\f\r";
    while (s.n > 0 && memchr(blanks, s.p[0], sizeof blanks - 1)) {
        s = tbp_str_sub(s, 1, s.n);
    }
    while (s.n > 0 && memchr(blanks, s.p[s.n - 1], sizeof blanks - 1)) {
        s.n--;
    }
    return s;
}

static bool read_u32(struct tbp_str text, uint32_t *out) {
    struct tbp_str s = trimmed(text);
    uint64_t v;
    if (s.n > 1 && s.p[0] == '+' && is_digit(s.p[1])) {
        s = tbp_str_sub(s, 1, s.n);
    }
    if (!tbp_str_to_u64(s, &v) || v > UINT32_MAX) {
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

static void read_dim(uint32_t dim[3], struct tbp_str s) {
    uint32_t d[3];
    for (int i = 0; i < 3; i++) {
        size_t comma = tbp_str_find(s, ',');
        bool is_last = comma == s.n;
        if (is_last != (i == 2) || !read_u32(tbp_str_sub(s, 0, comma), &d[i])) {
            return;
        }
        s = is_last ? TBP_STR_NONE : tbp_str_sub(s, comma + 1, s.n);
    }
    memcpy(dim, d, sizeof d);
}

static void read_occupancy(struct tbp_kernel_launch *out, struct tbp_str text) {
    struct tbp_str s = trimmed(text);
    double v;
    bool is_decimal = !tbp_str_has(s, "x") && !tbp_str_has(s, "X") && !tbp_str_has(s, "(");
    if (is_decimal && tbp_str_to_double(s, &v)) {
        out->occupancy_pct = (float)v;
    }
}

static void read_token(struct tbp_kernel_launch *out, struct tbp_str key, struct tbp_str value,
                       bool repair) {
    if (tbp_str_is(key, "regs")) {
        read_u32(value, &out->registers);
    } else if (tbp_str_is(key, "static_shared")) {
        read_u32(value, &out->static_shmem_bytes);
    } else if (repair && tbp_str_is(key, "shm")) {
        out->has_shm |= read_u32(value, &out->static_shmem_bytes);
    } else if (tbp_str_is(key, "dynamic_shared")) {
        read_u32(value, &out->dynamic_shmem_bytes);
    } else if (tbp_str_is(key, "grid")) {
        read_dim(out->grid, value);
    } else if (tbp_str_is(key, "block")) {
        read_dim(out->block, value);
    } else if (tbp_str_is(key, "occ_pct")) {
        read_occupancy(out, value);
    }
}

void tbp_kernel_launch_parse(struct tbp_kernel_launch *out, struct tbp_str details, bool repair) {
    *out = (struct tbp_kernel_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}};
    size_t from = 0;
    while (from < details.n) {
        size_t to = from;
        while (to < details.n && details.p[to] != ' ' && details.p[to] != '\n') {
            to++;
        }
        struct tbp_str token = tbp_str_sub(details, from, to);
        size_t colon = tbp_str_find(token, ':');
        if (colon < token.n && tbp_str_rfind(token, ':') == colon) {
            read_token(out, tbp_str_sub(token, 0, colon), tbp_str_sub(token, colon + 1, token.n),
                       repair);
        }
        from = to + 1;
    }
}
