/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the collector that stand for themselves: clock, names with arguments, the map of
 * what is alive.
 */
#include "plugin_data/rec_clock.h"
#include "plugin_data/rec_live.h"
#include "plugin_data/rec_text.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* ---- clock ---- */

static struct tbp_arena arena;
static struct tbp_rec_clock clock_made;

static void begin(void) {
    tbp_arena_init(&arena);
}
static void end(void) {
    tbp_arena_release(&arena);
}
TestSuite(rec_clock, .init = begin, .fini = end);

static int64_t ps(uint64_t ticks) {
    uint32_t hint = 0;
    return tbp_rec_clock_ps(&clock_made, ticks, &hint);
}

Test(rec_clock, hours_of_ticks_stay_exact_to_a_picosecond_or_two) {
    /* 3 GHz for ten hours, in one piece */
    int64_t hours_ns = INT64_C(36000) * 1000000000;
    struct tbp_spool_anchor a[] = {{0, 0, 0}, {(uint64_t)hours_ns * 3, hours_ns, hours_ns}};
    tbp_rec_clock_init(&clock_made, &arena, a, 2, 0, true, 0);
    cr_expect(ps(3) >= 998 && ps(3) <= 1000, "%lld", (long long)ps(3));
    int64_t late = ps((uint64_t)hours_ns * 3 - 3), exact = (hours_ns - 1) * 1000;
    cr_expect(late <= exact && late > exact - 200, "%lld", (long long)(exact - late));
}

Test(rec_clock, times_never_step_back_where_pieces_meet) {
    struct tbp_spool_anchor a[] = {{0, 0, 0}, {1000, 333, 333}, {2000, 1333, 1333}};
    tbp_rec_clock_init(&clock_made, &arena, a, 3, 0, true, 0);
    for (uint64_t t = 1; t < 3000; t++)
        cr_assert(ps(t) >= ps(t - 1), "at %llu", (unsigned long long)t);
    cr_expect_eq(ps(1000), 333000);
    cr_expect_eq(tbp_rec_clock_ticks(&clock_made, 333000), 1000);
}

Test(rec_clock, useless_anchors_are_left_out) {
    struct tbp_spool_anchor a[] = {
        {100, 0, 0}, {50, 10, 10}, {200, 5, -5}, {UINT64_MAX, 20, 20}, {1100, 1000, 1000}};
    tbp_rec_clock_init(&clock_made, &arena, a, 5, 100, true, 0);
    cr_expect_eq(clock_made.n, 2);
    cr_expect_eq(ps(500), 500000);
}

Test(rec_clock, one_anchor_is_enough_for_a_clock_of_nanoseconds_only) {
    struct tbp_spool_anchor a = {77, 5000, 5000};
    tbp_rec_clock_init(&clock_made, &arena, &a, 1, 77, false, 5000);
    cr_expect_not(clock_made.is_guessed);
    cr_expect_eq(ps(9), 9000);
    tbp_rec_clock_init(&clock_made, &arena, &a, 1, 77, true, 5000);
    cr_expect(clock_made.is_guessed);
    tbp_rec_clock_init(&clock_made, &arena, &a, 0, 77, true, 5000);
    cr_expect_eq(ps(9), 9000);
}

Test(rec_clock, the_wall_clock_is_mapped_at_the_nearest_anchor) {
    struct tbp_spool_anchor a[] = {{0, 1000, 0}, {1000, 2000, 1000}, {2000, 9000, 2000}};
    tbp_rec_clock_init(&clock_made, &arena, a, 3, 0, true, 1000);
    cr_expect_eq(tbp_rec_clock_realtime_ps(&clock_made, 1500), 500000);
    cr_expect_eq(tbp_rec_clock_realtime_ps(&clock_made, 9001), 2001000);
    cr_expect_eq(tbp_rec_clock_realtime_ps(&clock_made, 900), -100000);
    cr_expect_eq(clock_made.largest_step_ns, 6000);
}

/* ---- texts ---- */

/* All pairs as "key:value|…". */
static void expect_pairs(const char *text, const char *name, const char *pairs) {
    struct tbp_str got_name, rest = TBP_STR_NONE, key, value;
    char all[256] = "";
    size_t n = 0;
    tbp_rec_text_split(tbp_str_c(text), &got_name, &rest);
    while (tbp_rec_text_next(&rest, &key, &value))
        n += (size_t)snprintf(all + n, sizeof all - n, "%.*s:%.*s|", (int)key.n, key.p,
                              (int)value.n, value.p);
    cr_expect(tbp_str_is(got_name, name), "%s: %.*s", text, (int)got_name.n, got_name.p);
    cr_expect_str_eq(all, pairs, "%s: %s", text, all);
}

Test(rec_text, pairs_stand_between_hashes_at_the_end) {
    expect_pairs("train#step_num=5,_r=1#", "train", "step_num:5|_r:1|");
    expect_pairs("train", "train", "");
    expect_pairs("a#b", "a#b", "");
    expect_pairs("a#", "a#", "");
    expect_pairs("##", "", "");
    expect_pairs("a##", "a", "");
    expect_pairs("a#k=1#l=2#", "a", "k:1|l:2|"); /* arguments added later */
}

Test(rec_text, commas_in_brackets_and_quotes_belong_to_values) {
    expect_pairs("a#shape=[1,2],f=g(x,{y,z}),t=\"u,v#\",end=1#", "a",
                 "shape:[1,2]|f:g(x,{y,z})|t:\"u,v#\"|end:1|");
    expect_pairs("a#open=[1,2,k=3#", "a", "open:[1,2,k=3|");
    expect_pairs("a# k = v , no_equals,=none,x==y#", "a", "k:v|x:=y|");
}

/* ---- the map ---- */

Test(rec_live, holds_what_was_put_and_not_taken) {
    enum { KEYS = 5000 };
    struct tbp_rec_live m = {0}, copy = {0};
    uint64_t a, b, random = 1;
    static uint64_t expected[KEYS]; /* 0: not there */
    for (int i = 0; i < 200000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t key = (random >> 33) % KEYS;
        if (random >> 63) {
            expected[key] = (uint64_t)i + 1;
            tbp_rec_live_put(&m, 1, key * 4096, expected[key], key);
        } else {
            bool is_there = tbp_rec_live_take(&m, 1, key * 4096, &a, &b);
            cr_assert_eq(is_there, expected[key] != 0);
            cr_assert(!is_there || (a == expected[key] && b == key));
            expected[key] = 0;
        }
    }
    cr_expect_not(tbp_rec_live_take(&m, 2, 4096, &a, &b)); /* of another owner */
    tbp_rec_live_copy(&copy, &m);
    size_t n = 0;
    for (uint64_t key = 0; key < KEYS; key++) {
        n += expected[key] != 0;
        cr_assert_eq(tbp_rec_live_take(&copy, 1, key * 4096, &a, &b), expected[key] != 0);
    }
    cr_expect_eq(m.n_used, n);
    cr_expect_eq(copy.n_used, 0);
    tbp_rec_live_release(&m);
    tbp_rec_live_release(&copy);
}
