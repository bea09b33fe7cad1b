/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost analysis of an HLO program: flops and bytes of one execution of each instruction, by rules
 * per opcode. Computations are visited from the entry, callees first; what is never called has no
 * costs, and one instruction that breaks its rule leaves the whole program without.
 * Source: ../shared/spec/tables/RULES.md 5.1 (verified against the newest official converter).
 */
#include "convert/analyze/gemm_config.h"
#include "convert/analyze/hlo_walk.h"

#include <math.h>

enum { UNVISITED, OPEN, DONE };

static const struct tbp_hlo_shape *operand_shape(const struct tbp_hlo_walk *w,
                                                 const struct tbp_hlo_node *n, uint32_t k) {
    return &tbp_hlo_operand(w, n, k)->shape;
}

static bool is_tuple(const struct tbp_hlo_shape *s) {
    return s->type == TBP_HLO_TUPLE_TYPE;
}

/* The real result of an instruction whose further tuple elements are scratch space. */
static const struct tbp_hlo_shape *first_part(const struct tbp_hlo_shape *s) {
    return is_tuple(s) && s->n_parts > 0 ? &s->parts[0] : s;
}

static int64_t operand_bytes(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n) {
    int64_t bytes = 0;
    for (uint32_t k = 0; k < n->n_operands; k++)
        bytes = tbp_hlo_add(bytes, operand_shape(w, n, k)->size_bytes);
    return bytes;
}

static float share(int64_t part, int64_t whole) {
    return whole != 0 ? (float)((double)part / (double)whole) : 0.0f;
}

static double elementwise_flops(const struct tbp_hlo_node *n, struct tbp_str opcode) {
    int64_t each = tbp_hlo_flops_per_element(opcode, n->shape.type);
    return (double)tbp_hlo_mul(each, n->shape.elements_deep);
}

/* Flops of the k-th called function, 0 without one. */
static double function_flops(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                             uint32_t k) {
    return k < n->n_called ? (double)w->visits[n->called[k]].flops : 0.0;
}

/* Narrow inputs run faster: 8-bit at twice, 4-bit at four times the 16-bit rate. */
static double narrow_saving(double flops, unsigned bits) {
    return flops - flops / (bits == 8 ? 2 : bits == 4 ? 4 : 1);
}

/* ---- rules ---- */

static bool slice_cost(const struct tbp_hlo_walk *w, struct tbp_hlo_node *n,
                       struct tbp_hlo_cost *c) {
    if (n->n_operands < 1)
        return false;
    int64_t bytes = tbp_hlo_mul(2, n->shape.size_bytes);
    if (n->opcode->rule == TBP_HLO_GATHER && n->n_operands < 2)
        return false;
    if (n->opcode->rule != TBP_HLO_SLICE && n->n_operands > 1) /* indices */
        bytes = tbp_hlo_add(bytes, operand_shape(w, n, 1)->size_bytes);
    c->bytes = (double)bytes;
    n->use_of_operand[0] = share(n->shape.elements, operand_shape(w, n, 0)->elements);
    return true;
}

static bool update_slice_cost(const struct tbp_hlo_walk *w, struct tbp_hlo_node *n,
                              struct tbp_hlo_cost *c) {
    if (n->n_operands < 3)
        return false;
    const struct tbp_hlo_shape *update = operand_shape(w, n, 1);
    c->bytes =
        (double)tbp_hlo_add(tbp_hlo_mul(2, update->size_bytes), operand_shape(w, n, 2)->size_bytes);
    n->use_of_operand[0] =
        share(tbp_hlo_add(n->shape.elements, -update->elements), n->shape.elements);
    return true;
}

/* The permutation only renames dimensions: the order in memory stays, so nothing is moved. */
static bool transpose_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                           struct tbp_hlo_cost *c) {
    if (n->n_operands < 1)
        return false;
    const struct tbp_hlo_ints *out = &n->shape.order, *in = &operand_shape(w, n, 0)->order;
    bool keeps_order = out->n == in->n;
    for (uint32_t i = 0; i < out->n; i++) {
        if (out->at[i] < 0 || out->at[i] >= n->dims.n)
            return false;
        keeps_order = keeps_order && n->dims.at[out->at[i]] == in->at[i];
    }
    if (keeps_order)
        c->bytes = 0;
    return true;
}

static bool dot_flops(const struct tbp_hlo_shape *lhs, const struct tbp_hlo_shape *out,
                      const struct tbp_hlo_ints *contracting, double *flops) {
    int64_t width = 1;
    for (uint32_t i = 0; i < contracting->n; i++) {
        if (contracting->at[i] < 0 || contracting->at[i] >= lhs->dims.n)
            return false;
        width = tbp_hlo_mul(width, lhs->dims.at[contracting->at[i]]);
    }
    *flops = (double)tbp_hlo_mul(tbp_hlo_mul(2, out->elements), width);
    return true;
}

static bool product_cost(struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                         struct tbp_hlo_cost *c) {
    int64_t flops;
    if (n->opcode->rule == TBP_HLO_DOT)
        return n->n_operands >= 1 && dot_flops(operand_shape(w, n, 0), &n->shape,
                                               &tbp_hlo_extra_of(n)->contracting, &c->flops);
    if (!tbp_hlo_convolution_flops(w, n, &n->shape, &flops))
        return false;
    c->flops = (double)flops;
    return true;
}

static bool reduce_cost(const struct tbp_hlo_walk *w, struct tbp_hlo_node *n,
                        struct tbp_hlo_cost *c) {
    if (n->n_operands < 1 || (is_tuple(&n->shape) && n->shape.n_parts == 0))
        return false;
    int64_t results = first_part(&n->shape)->elements;
    int64_t applications = tbp_hlo_add(operand_shape(w, n, 0)->elements, -results);
    c->flops = function_flops(w, n, 0) * (double)applications;
    for (uint32_t k = n->n_operands / 2; k < n->n_operands; k++) {
        /* an initial value is read once per result element */
        c->bytes += (double)tbp_hlo_mul(operand_shape(w, n, k)->size_bytes, results - 1);
        n->use_of_operand[k] = (float)(double)results;
    }
    return true;
}

static int64_t window_elements(const struct tbp_hlo_extra *e) {
    int64_t elements = 1;
    for (uint32_t i = 0; i < e->n_window; i++)
        elements = tbp_hlo_mul(elements, e->window[i].size);
    return elements;
}

/* Applications of the function of a reduce-window. A window that reduces a whole dimension for
 * every position (one dimension padded by its extent minus one on both sides) counts as one
 * reduction and a broadcast. */
static bool reduce_window_applications(const struct tbp_hlo_node *n,
                                       const struct tbp_hlo_shape *out, int64_t *count) {
    const struct tbp_hlo_extra *e = tbp_hlo_extra_of(n);
    uint32_t n_wide = 0, n_padded = 0, wide = 0;
    for (uint32_t i = 0; i < e->n_window; i++) {
        const struct tbp_hlo_window *d = &e->window[i];
        n_padded += d->pad_low != 0 || d->pad_high != 0;
        if (d->size == 1)
            continue;
        if (n_wide++ == 0)
            wide = i;
    }
    *count = tbp_hlo_mul(tbp_hlo_add(window_elements(e), -1), out->elements);
    if (n_wide != 1 || n_padded != 1 || is_tuple(&n->shape))
        return true;
    if (wide >= out->dims.n)
        return false;
    const struct tbp_hlo_window *d = &e->window[wide];
    int64_t extent = out->dims.at[wide], pad = d->pad_low;
    if (pad > 0 && extent > 0 && pad == d->pad_high && pad == extent - 1 &&
        d->size == tbp_hlo_mul(2, pad) + 1)
        *count = out->elements / extent + extent - 1;
    return true;
}

static bool window_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                        struct tbp_hlo_cost *c) {
    if (n->n_operands < 1 || (is_tuple(&n->shape) && n->shape.n_parts == 0))
        return false;
    const struct tbp_hlo_shape *out = first_part(&n->shape);
    int64_t applications;
    if (n->opcode->rule == TBP_HLO_MAP) {
        c->flops = function_flops(w, n, 0) * (double)out->elements;
        return true;
    }
    if (n->opcode->rule == TBP_HLO_REDUCE_WINDOW) {
        if (!reduce_window_applications(n, out, &applications))
            return false;
        c->flops = function_flops(w, n, 0) * (double)applications;
        return true;
    }
    if (n->n_operands < 2) /* select-and-scatter */
        return false;
    double source = (double)operand_shape(w, n, 1)->elements;
    double others = (double)tbp_hlo_add(window_elements(tbp_hlo_extra_of(n)), -1);
    c->flops = function_flops(w, n, 0) * source * others + function_flops(w, n, 1) * source;
    return true;
}

static bool scatter_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                         struct tbp_hlo_cost *c) {
    uint32_t indices = n->n_operands > 0 ? (n->n_operands - 1) / 2 : 0;
    if (indices + 1 >= n->n_operands)
        return false;
    int64_t bytes = 0;
    for (uint32_t k = indices + 1; k < n->n_operands; k++)
        bytes = tbp_hlo_add(bytes, operand_shape(w, n, k)->size_bytes);
    c->bytes = (double)tbp_hlo_add(tbp_hlo_mul(3, bytes), operand_shape(w, n, indices)->size_bytes);
    c->flops = function_flops(w, n, 0) * (double)operand_shape(w, n, indices + 1)->elements;
    return true;
}

/* Pieces that do not begin at a multiple of 32 in an inner dimension are costly to put together. */
static bool concatenate_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                             struct tbp_hlo_cost *c) {
    int64_t dimension = n->dims.n > 0 ? n->dims.at[0] : 0, each = 6;
    if (dimension > 0) {
        if (n->n_operands < 1 || dimension >= operand_shape(w, n, 0)->dims.n)
            return false;
        if ((operand_shape(w, n, 0)->dims.at[dimension] & 31) != 0)
            each = 400;
    }
    c->flops = (double)tbp_hlo_mul(each, n->shape.elements_deep);
    return true;
}

static int64_t bit_length(int64_t v) {
    return v > 0 ? 64 - __builtin_clzll((unsigned long long)v) : 0;
}

static bool sort_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                      struct tbp_hlo_cost *c) {
    if (n->n_operands < 1)
        return false;
    int64_t elements = operand_shape(w, n, 0)->elements;
    c->flops = (double)tbp_hlo_mul(elements, bit_length(elements - 1)); /* ceil(log2) */
    return true;
}

static bool fft_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                     struct tbp_hlo_cost *c) {
    if (n->n_operands < 1)
        return false;
    const struct tbp_hlo_ints *lengths = &tbp_hlo_extra_of(n)->fft_length;
    int64_t flops = tbp_hlo_mul(8, operand_shape(w, n, 0)->elements);
    for (uint32_t i = 0; i < lengths->n; i++) {
        int64_t bits = bit_length(lengths->at[i]); /* floor(log2) + 1 */
        flops = tbp_hlo_mul(flops, bits > 0 ? bits - 1 : 0);
    }
    c->flops = (double)flops;
    return true;
}

static bool matrix_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                        struct tbp_hlo_cost *c) {
    bool is_solve = n->opcode->rule == TBP_HLO_TRIANGULAR_SOLVE;
    if (n->n_operands < (is_solve ? 2u : 1u) || operand_shape(w, n, 0)->dims.n == 0)
        return false;
    const struct tbp_hlo_shape *a = operand_shape(w, n, 0);
    int64_t last = a->dims.at[a->dims.n - 1];
    if (!is_solve) { /* cholesky */
        c->bytes = (double)a->size_bytes;
        c->flops = (double)(tbp_hlo_mul(last, a->elements) / 3);
        return true;
    }
    const struct tbp_hlo_shape *b = operand_shape(w, n, 1);
    c->bytes = (double)n->shape.size_bytes + (double)a->size_bytes / 2 + (double)b->size_bytes;
    c->flops = (double)tbp_hlo_mul(tbp_hlo_mul(2, last), b->elements);
    return true;
}

/* ---- collectives ---- */

static bool all_gather_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                            struct tbp_hlo_cost *c) {
    const struct tbp_hlo_shape *out = &n->shape;
    if (is_tuple(out)) {
        if (out->n_parts == 0)
            return false;
        out = &out->parts[out->n_parts - 1];
    }
    int64_t others = tbp_hlo_extra_of(n)->ranks - 1;
    c->bytes = (double)tbp_hlo_add(tbp_hlo_mul(2, out->deep_bytes),
                                   tbp_hlo_mul(others, operand_bytes(w, n)));
    return true;
}

/* What a collective does per element: the operation at the root of its function. */
static double collective_flops(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n) {
    uint32_t root = n->n_called > 0 ? w->m->computations[n->called[0]].root : TBP_HLO_NONE;
    struct tbp_str opcode = root != TBP_HLO_NONE ? w->m->instructions[root].opcode : TBP_STR("add");
    return elementwise_flops(n, opcode);
}

static bool reduction_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                           struct tbp_hlo_cost *c) {
    int64_t others = tbp_hlo_extra_of(n)->ranks - 1;
    if (n->opcode->rule == TBP_HLO_REDUCE_SCATTER)
        c->bytes = (double)tbp_hlo_add(tbp_hlo_mul(2, operand_bytes(w, n)),
                                       tbp_hlo_mul(others, n->shape.deep_bytes));
    else if (n->opcode->rule == TBP_HLO_ALL_REDUCE_START) /* counted without its operands */
        c->bytes = (double)n->shape.deep_bytes;
    c->flops = collective_flops(w, n);
    return true;
}

/* ---- calls ---- */

static bool call_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                      struct tbp_hlo_cost *c) {
    if (n->n_called < 1 && n->opcode->rule != TBP_HLO_WHILE)
        return false;
    uint32_t n_called = n->opcode->rule == TBP_HLO_CALL ? 1 : n->n_called;
    bool is_sum = n->opcode->rule != TBP_HLO_CONDITIONAL;
    c->flops = c->bytes = is_sum ? 0 : -INFINITY;
    for (uint32_t k = 0; k < n_called; k++) {
        const struct tbp_hlo_visit *v = &w->visits[n->called[k]];
        c->flops = is_sum ? c->flops + v->flops : fmax(c->flops, v->flops);
        c->bytes = is_sum ? c->bytes + v->bytes : fmax(c->bytes, v->bytes);
    }
    return true;
}

static bool is_one_of(struct tbp_str s, const char *const *texts) {
    for (; *texts != NULL; texts++)
        if (tbp_str_is(s, *texts))
            return true;
    return false;
}

static bool gemm_cost(const struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                      struct tbp_hlo_cost *c) {
    struct tbp_hlo_ints contracting;
    if (!tbp_gemm_config_read(tbp_hlo_extra_of(n)->config, &contracting, w->scratch) ||
        n->n_operands < 1 ||
        !dot_flops(operand_shape(w, n, 0), first_part(&n->shape), &contracting, &c->flops))
        return false;
    c->adjust = narrow_saving(c->flops, operand_shape(w, n, 0)->bits);
    return true;
}

static bool custom_call_cost(struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                             struct tbp_hlo_cost *c) {
    /* the older __cublas$gemm is not known to the official analysis */
    static const char *const gemm[] = {"__cublas$lt$matmul", "__cublas$lt$matmul$f8",
                                       "__cublas$lt$groupedMatmul", NULL};
    static const char *const convolution[] = {
        "__cudnn$convForward",        "__cudnn$convBackwardInput",
        "__cudnn$convBackwardFilter", "__cudnn$convBiasActivationForward",
        "__cudnn$convForwardGraph",   NULL};
    const struct tbp_hlo_shape *out = first_part(&n->shape);
    struct tbp_str target = tbp_hlo_extra_of(n)->target;
    if (is_one_of(target, gemm)) {
        if (!gemm_cost(w, n, c))
            return false;
    } else if (is_one_of(target, convolution)) {
        int64_t flops;
        if (!tbp_hlo_convolution_flops(w, n, out, &flops))
            return false;
        c->flops = (double)flops;
    } else {
        c->flops = c->bytes = -1; /* unknown */
        return true;
    }
    if (is_tuple(&n->shape)) { /* only the real result, not the scratch space */
        float operands = (float)(c->bytes - (double)n->shape.deep_bytes);
        c->bytes = (double)operands + (double)out->size_bytes;
    }
    return true;
}

/* Applies the rule of the opcode. False if the instruction does not fit its rule. */
static bool apply_rule(struct tbp_hlo_walk *w, struct tbp_hlo_node *n, struct tbp_hlo_cost *c) {
    switch (n->opcode->rule) {
    case TBP_HLO_FREE:
    case TBP_HLO_PARAMETER:
    case TBP_HLO_CONSTANT:
    case TBP_HLO_GET_TUPLE_ELEMENT:
    case TBP_HLO_TUPLE: /* writes its table of pointers */
        c->bytes = n->opcode->rule == TBP_HLO_TUPLE ? (double)n->shape.size_bytes : 0;
        return true;
    case TBP_HLO_ARITHMETIC:
    case TBP_HLO_BITCAST_CONVERT:
        c->flops = elementwise_flops(n, n->opcode->name);
        return true;
    case TBP_HLO_SLICE:
    case TBP_HLO_DYNAMIC_SLICE:
    case TBP_HLO_GATHER:
        return slice_cost(w, n, c);
    case TBP_HLO_DYNAMIC_UPDATE_SLICE:
        return update_slice_cost(w, n, c);
    case TBP_HLO_TRANSPOSE:
        return transpose_cost(w, n, c);
    case TBP_HLO_DOT:
    case TBP_HLO_CONVOLUTION:
        return product_cost(w, n, c);
    case TBP_HLO_REDUCE:
        return reduce_cost(w, n, c);
    case TBP_HLO_REDUCE_WINDOW:
    case TBP_HLO_MAP:
    case TBP_HLO_SELECT_AND_SCATTER:
        return window_cost(w, n, c);
    case TBP_HLO_SCATTER:
        return scatter_cost(w, n, c);
    case TBP_HLO_CONCATENATE:
        return concatenate_cost(w, n, c);
    case TBP_HLO_SORT:
        return sort_cost(w, n, c);
    case TBP_HLO_FFT:
        return fft_cost(w, n, c);
    case TBP_HLO_CHOLESKY:
    case TBP_HLO_TRIANGULAR_SOLVE:
        return matrix_cost(w, n, c);
    case TBP_HLO_ALL_GATHER:
        return all_gather_cost(w, n, c);
    case TBP_HLO_REDUCE_SCATTER:
    case TBP_HLO_ALL_REDUCE:
    case TBP_HLO_ALL_REDUCE_START:
        return reduction_cost(w, n, c);
    case TBP_HLO_FUSION:
        return tbp_hlo_fusion_cost(w, n, c);
    case TBP_HLO_CALL:
    case TBP_HLO_WHILE:
    case TBP_HLO_CONDITIONAL:
        return call_cost(w, n, c);
    case TBP_HLO_CUSTOM_CALL:
        return custom_call_cost(w, n, c);
    default:
        return true;
    }
}

static bool visit_node(struct tbp_hlo_walk *w, struct tbp_hlo_node *n) {
    if (n->n_operands > 0)
        n->use_of_operand = TBP_NEW_N(w->scratch, float, n->n_operands);
    unsigned widest = 0;
    for (uint32_t k = 0; k < n->n_operands; k++) {
        n->use_of_operand[k] = 1.0f;
        if (operand_shape(w, n, k)->bits > widest)
            widest = operand_shape(w, n, k)->bits;
    }
    float bytes = (float)(double)tbp_hlo_add(n->shape.deep_bytes, operand_bytes(w, n));
    struct tbp_hlo_cost c = {.bytes = bytes};
    if (!apply_rule(w, n, &c))
        return false;
    n->flops = (float)c.flops;
    n->bytes = (float)c.bytes;
    n->adjust = (float)c.adjust;
    if (n->opcode->rule != TBP_HLO_CUSTOM_CALL)
        n->adjust = (float)narrow_saving(n->flops, widest);
    return true;
}

/* ---- the walk over computations ---- */

struct position {
    uint32_t node, operand;
};

/* Appends the nodes below `start` that are not seen yet, operands first. */
static void order_from(const struct tbp_hlo_walk *w, uint32_t first, uint32_t start, uint8_t *seen,
                       struct position *stack, struct tbp_hlo_visit *v) {
    uint32_t depth = 0;
    seen[start - first] = 1;
    stack[depth++] = (struct position){start, 0};
    while (depth > 0) {
        struct position *top = &stack[depth - 1];
        const struct tbp_hlo_node *n = &w->m->nodes[top->node];
        if (top->operand == n->n_operands) {
            v->order[v->n++] = top->node;
            depth--;
            continue;
        }
        uint32_t operand = n->operands[top->operand++];
        if (seen[operand - first] == 0) {
            seen[operand - first] = 1;
            stack[depth++] = (struct position){operand, 0};
        }
    }
}

/* Operands before users; nodes without users start, in the order of the listing. */
static void order_computation(struct tbp_hlo_walk *w, uint32_t computation) {
    const struct tbp_hlo_computation *c = &w->m->computations[computation];
    struct tbp_hlo_visit *v = &w->visits[computation];
    uint8_t *used = tbp_arena_alloc(w->scratch, (size_t)c->n + 1, 1);
    uint8_t *seen = tbp_arena_alloc(w->scratch, (size_t)c->n + 1, 1);
    struct position *stack = TBP_NEW_N(w->scratch, struct position, (size_t)c->n + 1);
    v->order = TBP_NEW_N(w->scratch, uint32_t, (size_t)c->n + 1);
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        for (uint32_t k = 0; k < w->m->nodes[i].n_operands; k++)
            used[w->m->nodes[i].operands[k] - c->first] = 1;
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (used[i - c->first] == 0)
            order_from(w, c->first, i, seen, stack, v);
}

static bool cost_computation(struct tbp_hlo_walk *w, struct tbp_hlo_visit *v) {
    for (uint32_t i = 0; i < v->n; i++) {
        struct tbp_hlo_node *n = &w->m->nodes[v->order[i]];
        if (!visit_node(w, n))
            return false;
        v->flops += n->flops;
        v->bytes += n->bytes;
    }
    return true;
}

/* How many of its called computations the costs of an instruction depend on. */
static uint32_t n_callees(const struct tbp_hlo_node *n) {
    uint32_t limit;
    switch (n->opcode->rule) {
    case TBP_HLO_REDUCE:
    case TBP_HLO_REDUCE_WINDOW:
    case TBP_HLO_MAP:
    case TBP_HLO_SCATTER:
    case TBP_HLO_FUSION:
    case TBP_HLO_CALL:
        limit = 1;
        break;
    case TBP_HLO_SELECT_AND_SCATTER:
        limit = 2;
        break;
    case TBP_HLO_WHILE:
    case TBP_HLO_CONDITIONAL:
        limit = UINT32_MAX;
        break;
    default:
        return 0;
    }
    return n->n_called < limit ? n->n_called : limit;
}

struct frame {
    uint32_t computation, node, callee;
};

/* Advances the frame to its next unvisited callee; TBP_HLO_NONE if there is none left. False on a
 * computation that calls itself. */
static bool next_callee(struct tbp_hlo_walk *w, struct frame *f, uint32_t *callee) {
    const struct tbp_hlo_visit *v = &w->visits[f->computation];
    *callee = TBP_HLO_NONE;
    for (; f->node < v->n; f->node++, f->callee = 0) {
        const struct tbp_hlo_node *n = &w->m->nodes[v->order[f->node]];
        while (f->callee < n_callees(n)) {
            uint32_t called = n->called[f->callee++];
            if (w->visits[called].state == OPEN)
                return false;
            if (w->visits[called].state == DONE)
                continue;
            *callee = called;
            return true;
        }
    }
    return true;
}

static void open_computation(struct tbp_hlo_walk *w, struct frame *f, uint32_t computation) {
    *f = (struct frame){.computation = computation};
    w->visits[computation].state = OPEN;
    order_computation(w, computation);
}

static bool walk_from(struct tbp_hlo_walk *w, uint32_t entry) {
    struct frame *stack = TBP_NEW_N(w->scratch, struct frame, (size_t)w->m->n_computations + 1);
    uint32_t depth = 0;
    open_computation(w, &stack[depth++], entry);
    while (depth > 0) {
        uint32_t callee, computation = stack[depth - 1].computation;
        if (!next_callee(w, &stack[depth - 1], &callee))
            return false;
        if (callee != TBP_HLO_NONE) {
            open_computation(w, &stack[depth++], callee);
            continue;
        }
        if (!cost_computation(w, &w->visits[computation]))
            return false;
        w->visits[computation].state = DONE;
        depth--;
    }
    return true;
}

static int64_t to_int64(float x) {
    if (x >= 9.2e18f)
        return INT64_MAX;
    return x > -9.2e18f ? (int64_t)x : 0; /* NaN: 0 */
}

static int64_t known(int64_t x) {
    return x == -1 ? 0 : x;
}

void tbp_hlo_module_cost(struct tbp_hlo_module *m, struct tbp_arena *scratch) {
    struct tbp_hlo_walk w = {.m = m, .scratch = scratch};
    if (m->entry == TBP_HLO_NONE)
        return;
    w.visits = TBP_NEW_N(scratch, struct tbp_hlo_visit, (size_t)m->n_computations + 1);
    if (!walk_from(&w, m->entry))
        return;
    for (uint32_t i = 0; i < m->n; i++) {
        const struct tbp_hlo_node *n = &m->nodes[i];
        struct tbp_hlo_instruction *out = &m->instructions[i];
        out->flops = known(to_int64(n->flops));
        out->device_flops = known(to_int64(n->flops) - to_int64(n->adjust));
        out->bytes_accessed = known(to_int64(n->bytes));
    }
}
