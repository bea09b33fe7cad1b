/* SPDX-License-Identifier: Apache-2.0
 *
 * The sweep over typed spans, on spans small enough to draw.
 */
#include "convert/analyze/sweep.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum {
    COMPUTE = TBP_PART_COMPUTE_32,
    COPY = TBP_PART_HOST_TO_DEVICE,
    HOST = TBP_PART_HOST_COMPUTE
};

static struct tbp_sweep_sums sums_of(const struct tbp_span *spans, size_t n, uint64_t begin,
                                     uint64_t end) {
    struct tbp_sweep s;
    struct tbp_sweep_sums sums;
    tbp_sweep_init(&s, spans, n, 1, NULL);
    tbp_sweep_group(&s, 0, begin, end, &sums);
    tbp_sweep_release(&s);
    return sums;
}

Test(sweep, gives_overlap_to_the_higher_type) {
    /* HOST 0-10, COPY 4-6, COMPUTE 5-8: host 0-4 and 8-10, copy 4-5, compute 5-8 */
    const struct tbp_span spans[] = {{0, 10, 0, HOST}, {4, 6, 0, COPY}, {5, 8, 0, COMPUTE}};
    struct tbp_sweep_sums s = sums_of(spans, 3, 0, 10);
    cr_assert_eq(s.clipped_ps[HOST], 6);
    cr_assert_eq(s.clipped_ps[COPY], 1);
    cr_assert_eq(s.clipped_ps[COMPUTE], 3);
    cr_assert_eq(s.clipped_ps[TBP_PART_UNKNOWN], 0);
}

Test(sweep, counts_gaps_as_unknown_and_clips) {
    const struct tbp_span spans[] = {{0, 4, 0, HOST}, {7, 9, 0, HOST}};
    struct tbp_sweep_sums s = sums_of(spans, 2, 2, 8);
    cr_assert_eq(s.clipped_ps[HOST], 3); /* 2-4 and 7-8 */
    cr_assert_eq(s.clipped_ps[TBP_PART_UNKNOWN], 3);
    cr_assert_eq(s.whole_ps[HOST], 6);
}

Test(sweep, shows_a_hidden_type_at_the_seam_of_its_cover) {
    /* COPY 0-5 and 5-9 cover HOST 0-9 but for a moment of no length at 5. */
    const struct tbp_span spans[] = {{0, 9, 0, HOST}, {0, 5, 0, COPY}, {5, 9, 0, COPY}};
    struct tbp_sweep_sums s = sums_of(spans, 3, 0, 9);
    cr_assert_eq(s.clipped_ps[HOST], 0);
    cr_assert(s.seen & 1u << HOST);
    const struct tbp_span covered[] = {{0, 9, 0, HOST}, {0, 9, 0, COPY}};
    s = sums_of(covered, 2, 0, 9);
    cr_assert(s.seen & 1u << HOST, "it ends after its cover: ends come higher types first");
}

Test(sweep, lets_a_span_of_no_length_rule_until_something_ends_it) {
    /* A COPY of no length at 3 stays in force over the gap until COMPUTE has come and gone. */
    const struct tbp_span spans[] = {{3, 3, 0, COPY}, {5, 6, 0, COMPUTE}, {8, 9, 0, HOST}};
    struct tbp_sweep_sums s = sums_of(spans, 3, 0, 9);
    cr_assert_eq(s.clipped_ps[COPY], 2);    /* 3-5 */
    cr_assert_eq(s.clipped_ps[COMPUTE], 1); /* 5-6 */
    cr_assert_eq(s.clipped_ps[TBP_PART_UNKNOWN], 2);
    cr_assert_eq(s.clipped_ps[HOST], 1);
}

Test(sweep, keeps_groups_apart) {
    const struct tbp_span spans[] = {{0, 4, 1, HOST}, {1, 3, 0, COMPUTE}, {2, 9, 1, HOST}};
    struct tbp_sweep s;
    struct tbp_sweep_sums a, b;
    tbp_sweep_init(&s, spans, 3, 3, NULL);
    tbp_sweep_group(&s, 0, 0, 100, &a);
    tbp_sweep_group(&s, 1, 0, 100, &b);
    cr_assert_eq(a.whole_ps[COMPUTE], 2);
    cr_assert_eq(a.whole_ps[HOST], 0);
    cr_assert_eq(b.whole_ps[HOST], 9);
    tbp_sweep_group(&s, 2, 0, 100, &a);
    cr_assert_eq(a.seen, 0);
    tbp_sweep_release(&s);
}

/* Group g: sixty spans of g + 1 ps, one every 2000 ps, the last one first. */
Test(sweep, sorts_many_groups_side_by_side) {
    enum { GROUPS = 1000, EACH = 60 };
    static struct tbp_span spans[GROUPS * EACH];
    struct tbp_pool *pool = tbp_pool_new(3);
    struct tbp_sweep s;
    size_t n = 0;
    for (uint32_t k = EACH; k-- > 0;)
        for (uint32_t g = 0; g < GROUPS; g++)
            spans[n++] =
                (struct tbp_span){1000 * g + 2000 * k, 1000 * g + 2000 * k + g + 1, g, HOST};
    tbp_sweep_init(&s, spans, n, GROUPS, pool);
    for (uint32_t g = 0; g < GROUPS; g++) {
        struct tbp_sweep_sums sums;
        tbp_sweep_group(&s, g, 0, UINT64_MAX, &sums);
        cr_assert_eq(sums.whole_ps[HOST], EACH * (g + 1), "group %u", g);
        cr_assert_eq(sums.whole_ps[TBP_PART_UNKNOWN], (EACH - 1) * (2000 - (g + 1)), "group %u", g);
    }
    tbp_sweep_release(&s);
    tbp_pool_free(pool);
}

Test(sweep, measures_spans_of_any_distance) {
    /* Beyond 2^59 ps the keys hold ranks of times. */
    const uint64_t far = UINT64_C(1) << 62;
    const struct tbp_span spans[] = {
        {10, 20, 0, HOST}, {far, far + 5, 0, COMPUTE}, {UINT64_MAX, UINT64_MAX, 1, COPY}};
    struct tbp_sweep s;
    struct tbp_sweep_sums sums;
    tbp_sweep_init(&s, spans, 3, 2, NULL);
    tbp_sweep_group(&s, 0, 0, UINT64_MAX, &sums);
    cr_assert_eq(sums.whole_ps[HOST], 10);
    cr_assert_eq(sums.whole_ps[COMPUTE], 5);
    cr_assert_eq(sums.whole_ps[TBP_PART_UNKNOWN], far - 20);
    tbp_sweep_group(&s, 1, 0, UINT64_MAX, &sums);
    cr_assert_eq(sums.seen, 1u << TBP_PART_UNKNOWN);
    tbp_sweep_release(&s);
}

Test(sweep, sums_to_the_hull_whatever_the_order_of_spans) {
    enum { N = 1000 };
    struct tbp_span *spans = malloc(N * sizeof *spans);
    cr_assert(spans);
    uint64_t state = 1, low = UINT64_MAX, high = 0;
    for (int i = 0; i < N; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t start = (state >> 33) % 100000, dur = 1 + (state >> 21) % 50;
        spans[i] = (struct tbp_span){start, start + dur, 0, 1 + (uint32_t)(state >> 60) % 11};
        low = start < low ? start : low;
        high = start + dur > high ? start + dur : high;
    }
    struct tbp_sweep_sums s = sums_of(spans, N, 0, UINT64_MAX);
    uint64_t total = 0;
    for (int p = 0; p < TBP_STEP_PARTS; p++)
        total += s.whole_ps[p];
    cr_assert_eq(total, high - low);
    free(spans);
}
