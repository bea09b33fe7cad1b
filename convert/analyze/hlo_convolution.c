/* SPDX-License-Identifier: Apache-2.0
 *
 * Flops of a convolution: only products with an input element that exists count, so per spatial
 * dimension the pairs (kernel point, output point) that hit the input are counted, in time
 * proportional to the shorter of the two extents.
 * Source: ../shared/spec/tables/RULES.md 5.1.
 */
#include "convert/analyze/hlo_walk.h"

/* Extents, strides and paddings beyond this are not of a real program; below it nothing overflows.
 */
#define MAX_EXTENT ((int64_t)1 << 30)

static int64_t floor_div(int64_t a, int64_t b) { /* b > 0 */
    return a / b - (a % b != 0 && a < 0);
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* x with a*x = 1 (mod m), for coprime 0 <= a < m. */
static int64_t inverse(int64_t a, int64_t m) {
    int64_t r0 = m, r1 = a, t0 = 0, t1 = 1;
    while (r1 != 0) {
        int64_t q = r0 / r1, r2 = r0 - q * r1, t2 = t0 - q * t1;
        r0 = r1;
        r1 = r2;
        t0 = t1;
        t1 = t2;
    }
    return t0 < 0 ? t0 + m : t0;
}

/* Points x in [0, count) with 0 <= x*step + offset <= last and x*step + offset divisible by
 * dilation; step >= 0, dilation >= 1. */
struct progression {
    int64_t count, step, dilation, last;
    int64_t divisor, period, inverse; /* of the congruence x*step = -offset (mod dilation) */
};

static struct progression progression_of(int64_t count, int64_t step, int64_t dilation,
                                         int64_t last) {
    struct progression p = {.count = count, .step = step, .dilation = dilation, .last = last};
    p.divisor = gcd(step % dilation, dilation);
    p.period = dilation / p.divisor;
    p.inverse = inverse((step % dilation) / p.divisor % p.period, p.period);
    return p;
}

static int64_t hits(const struct progression *p, int64_t offset) {
    if (p->last < 0)
        return 0;
    if (p->step == 0) {
        bool is_hit = offset >= 0 && offset <= p->last && offset % p->dilation == 0;
        return is_hit ? p->count : 0;
    }
    int64_t rest = -offset - floor_div(-offset, p->dilation) * p->dilation;
    if (rest % p->divisor != 0)
        return 0;
    int64_t first = rest / p->divisor % p->period * p->inverse % p->period;
    int64_t low = -floor_div(offset, p->step), high = floor_div(p->last - offset, p->step);
    low = low > 0 ? low : 0;
    high = high < p->count - 1 ? high : p->count - 1;
    if (high < low)
        return 0;
    /* x = first (mod period) within [low, high] */
    return floor_div(high - first, p->period) - floor_div(low - 1 - first, p->period);
}

/* Pairs (a in [0, kernel), b in [0, output)) whose input position b*stride - pad + a*dilation
 * exists in an input of `input` elements which are base_dilation apart. */
static bool valid_pairs(struct tbp_hlo_walk *w, const struct tbp_hlo_window *d, int64_t kernel,
                        int64_t output, int64_t input, int64_t *count) {
    int64_t base = d->base_dilation > 1 ? d->base_dilation : 1;
    const int64_t limited[] = {kernel, output, input, d->stride, d->window_dilation, base};
    for (size_t i = 0; i < sizeof limited / sizeof limited[0]; i++)
        if (limited[i] < 0 || limited[i] > MAX_EXTENT)
            return false;
    if (d->pad_low > MAX_EXTENT || d->pad_low < -MAX_EXTENT)
        return false;
    bool walks_kernel = kernel <= output;
    int64_t points = walks_kernel ? kernel : output;
    int64_t point_step = walks_kernel ? d->window_dilation : d->stride;
    if (!tbp_hlo_walk_spend(w, (uint64_t)points))
        return false;
    struct progression p =
        progression_of(walks_kernel ? output : kernel,
                       walks_kernel ? d->stride : d->window_dilation, base, (input - 1) * base);
    *count = 0;
    for (int64_t i = 0; i < points; i++)
        *count += hits(&p, i * point_step - d->pad_low);
    return true;
}

/* Extent of the shape's dimension that is the k-th of the list. */
static bool extent_of(const struct tbp_hlo_shape *s, const struct tbp_hlo_ints *dims, uint32_t k,
                      int64_t *extent) {
    int64_t dim = k < dims->n ? dims->at[k] : -1;
    if (dim < 0 || dim >= s->dims.n)
        return false;
    *extent = s->dims.at[dim];
    return true;
}

/* As extent_of for the single dimension of a role; not given means dimension 0. */
static bool role_extent(const struct tbp_hlo_shape *s, const struct tbp_hlo_ints *dims,
                        int64_t *extent) {
    int64_t zero = 0;
    struct tbp_hlo_ints first = {.at = &zero, .n = 1};
    return extent_of(s, dims->n > 0 ? dims : &first, 0, extent);
}

bool tbp_hlo_convolution_flops(struct tbp_hlo_walk *w, const struct tbp_hlo_node *n,
                               const struct tbp_hlo_shape *result, int64_t *flops) {
    const struct tbp_hlo_extra *e = tbp_hlo_extra_of(n);
    if (n->n_operands < 2 || e->groups < 1 || e->batch_groups < 1)
        return false;
    const struct tbp_hlo_shape *input = &tbp_hlo_operand(w, n, 0)->shape;
    const struct tbp_hlo_shape *kernel = &tbp_hlo_operand(w, n, 1)->shape;
    int64_t positions = 1;
    for (uint32_t k = 0; k < e->n_window; k++) {
        int64_t kernel_extent, output_extent, input_extent, pairs;
        if (!extent_of(kernel, &e->kernel_spatial, k, &kernel_extent) ||
            !extent_of(result, &e->output_spatial, k, &output_extent) ||
            !extent_of(input, &e->input_spatial, k, &input_extent) ||
            !valid_pairs(w, &e->window[k], kernel_extent, output_extent, input_extent, &pairs))
            return false;
        positions = tbp_hlo_mul(positions, pairs);
    }
    int64_t in_features, out_features, batch;
    if (!role_extent(input, &e->input_feature, &in_features) ||
        !role_extent(result, &e->output_feature, &out_features) ||
        !role_extent(input, &e->input_batch, &batch))
        return false;
    int64_t products = tbp_hlo_mul(in_features / e->groups, out_features);
    products = tbp_hlo_mul(tbp_hlo_mul(products, batch / e->batch_groups), positions);
    *flops = tbp_hlo_mul(2, products);
    return true;
}
