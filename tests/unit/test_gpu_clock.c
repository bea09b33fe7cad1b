/* SPDX-License-Identifier: Apache-2.0
 *
 * From CUPTI's clock to the session's: times in seconds, so that offsets can be seen.
 */
#include "capture/gpu_clock.h"

#include <criterion/criterion.h>

#define S INT64_C(1000000000)

/* The session began at 100 s of the monotonic clock, when CUPTI's showed 5,000 s. */
static struct tbp_gpu_clock fresh(void) {
    struct tbp_gpu_clock c = {.start_ns = 100 * S};
    tbp_gpu_clock_note(&c, 5000 * S, 100 * S);
    return c;
}

static void expect(const struct tbp_gpu_clock *c, int64_t cupti_s, int64_t monotonic_s) {
    int64_t ns = 0;
    bool is_placed = tbp_gpu_clock_map(c, (uint64_t)(cupti_s * S), &ns);
    cr_assert_eq(is_placed, monotonic_s > 0, "%lld s", (long long)cupti_s);
    if (is_placed)
        cr_assert_eq(ns, monotonic_s * S, "%lld s is %lld ns", (long long)cupti_s, (long long)ns);
}

Test(gpu_clock, one_offset) {
    struct tbp_gpu_clock c = fresh();
    tbp_gpu_clock_note(&c, 5010 * S, 110 * S);
    expect(&c, 5000, 100);
    expect(&c, 5010, 110);
    expect(&c, 4990, 90); /* under way when the session began */
    expect(&c, 5011, 0);  /* not yet */
    expect(&c, 4000, 0);  /* long ago */
    expect(&c, 105, 0);   /* of the monotonic clock itself */
    cr_assert_eq(c.n_steps, 0);
}

Test(gpu_clock, a_slow_drift_is_no_step) {
    struct tbp_gpu_clock c = fresh();
    for (int64_t i = 1; i <= 100; i++) /* a millisecond each second */
        tbp_gpu_clock_note(&c, (5000 + i) * S + i * 1000000, (100 + i) * S);
    cr_assert_eq(c.n_steps, 0);
    cr_assert_eq(c.n, 1);
}

Test(gpu_clock, set_forward_and_back) {
    struct tbp_gpu_clock c = fresh();
    tbp_gpu_clock_note(&c, 5010 * S, 110 * S);
    tbp_gpu_clock_note(&c, 8620 * S, 120 * S); /* an hour forward, between 110 and 120 */
    tbp_gpu_clock_note(&c, 8630 * S, 130 * S);
    tbp_gpu_clock_note(&c, 1440 * S, 140 * S); /* two hours back */
    tbp_gpu_clock_note(&c, 1450 * S, 150 * S);
    cr_assert_eq(c.n_steps, 2);
    expect(&c, 5005, 105);
    expect(&c, 5015, 115); /* before it was set */
    expect(&c, 8616, 116); /* after */
    expect(&c, 8635, 135);
    expect(&c, 1436, 136);
    expect(&c, 1450, 150);
    expect(&c, 2000, 0);
}

Test(gpu_clock, the_oldest_offsets_are_forgotten) {
    struct tbp_gpu_clock c = fresh();
    for (int64_t i = 1; i <= TBP_GPU_CLOCK_ERAS; i++)
        tbp_gpu_clock_note(&c, 5000 * S + i * 3600 * S, (100 + i) * S);
    cr_assert_eq(c.n, TBP_GPU_CLOCK_ERAS);
    cr_assert_eq(c.n_steps, TBP_GPU_CLOCK_ERAS);
    expect(&c, 5000 + TBP_GPU_CLOCK_ERAS * 3600, 100 + TBP_GPU_CLOCK_ERAS);
    expect(&c, 5000, 0);
}
