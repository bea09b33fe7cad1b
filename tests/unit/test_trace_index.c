/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks, serials and windows of small hosts.
 */
#include "convert/analyze/trace_window.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>

struct indexed {
    struct tiny_run run;
    struct tbp_arena arena;
    struct tbp_trace trace;
    struct tbp_trace_index index;
    struct tbp_trace_levels levels;
    struct tbp_level_lists lists;
    struct tbp_trace_names names;
};

static void make(struct indexed *x, struct tiny_host *h, bool keeps_all) {
    struct tbp_session *s = tiny_open(&x->run, h, 1, TBP_SEMANTICS_OFFICIAL);
    tbp_arena_init(&x->arena);
    cr_assert_eq(tbp_trace_build(s, 0, TBP_TRACE_STREAM, &x->arena, &x->trace, NULL), TBP_OK);
    cr_assert_eq(tbp_trace_index_make(&x->index, &x->trace, keeps_all, &x->arena, NULL, NULL),
                 TBP_OK);
    cr_assert_eq(tbp_trace_levels_make(&x->levels, &x->index, &x->arena, NULL, NULL), TBP_OK);
    cr_assert_eq(tbp_level_lists_make(&x->lists, &x->levels, &x->arena, NULL, NULL), TBP_OK);
    cr_assert_eq(tbp_trace_names_make(&x->names, &x->index, &x->arena, NULL, NULL), TBP_OK);
}

static void drop(struct indexed *x) {
    tbp_arena_release(&x->arena);
    tiny_close(&x->run);
}

static void window(struct indexed *x, const struct tbp_trace_window *w,
                   struct tbp_trace_picks *picks) {
    cr_assert_eq(
        tbp_trace_pick_window(&x->index, &x->levels, &x->lists, w, NULL, &x->arena, picks, NULL),
        TBP_OK);
}

static void threads(struct tiny_host *h) {
    tiny_plane(h, "/host:CPU");
    tiny_line(h, 2);
    tiny_event(h, "long", 1000, 50);
    tiny_event(h, "later", 2000, 5);
    tiny_line(h, 1);
    tiny_event(h, "short", 1000, 10);
    tiny_event(h, "last", 3000, 5);
}

Test(trace_index, numbers_events_of_equal_begin_longest_first) {
    struct tiny_host h = {0};
    threads(&h);
    struct indexed x;
    make(&x, &h, false);
    cr_assert_eq(x.index.n_tracks, 2);
    const struct tbp_track *one = &x.index.tracks[0], *two = &x.index.tracks[1];
    cr_expect_eq(one->tid, 1, "tracks are in order of thread ids");
    cr_expect_eq(two->serial[0], 0, "the longer one");
    cr_expect_eq(one->serial[0], 1);
    cr_expect_eq(one->serial[1], 0);
    cr_expect_null(one->refs, "a line in order is its own track");
    cr_expect_eq(x.index.low_ps, 1000);
    cr_expect_eq(x.index.high_ps, 3005);
    drop(&x);
}

Test(trace_index, sorts_lines_that_are_out_of_order) {
    struct tiny_host h = {0};
    tiny_plane(&h, "/host:CPU");
    tiny_line(&h, 1);
    tiny_event(&h, "b", 2000, 5);
    tiny_event(&h, "a", 1000, 5);
    tiny_event(&h, "MemoryAllocation", 500, 5); /* never shown */
    struct indexed x;
    make(&x, &h, false);
    cr_assert_eq(x.index.tracks[0].n, 2);
    cr_expect_eq(tbp_track_at(&x.index.tracks[0], 0).event, 1);
    cr_expect_eq(x.index.n_events, 2);
    drop(&x);
}

Test(trace_index, serials_beyond_a_byte_are_lost_unless_kept) {
    enum { MANY = 300 };
    for (int keep = 0; keep < 2; keep++) {
        struct tiny_host h = {0};
        tiny_plane(&h, "/host:CPU");
        tiny_line(&h, 1);
        for (int i = 0; i < MANY; i++)
            tiny_event(&h, "tiny", 1000, 1);
        struct indexed x;
        make(&x, &h, keep);
        struct tbp_trace_window all = {.end_ms = 0};
        struct tbp_trace_picks picks;
        window(&x, &all, &picks);
        cr_expect_eq(picks.n, keep ? MANY : 256);
        drop(&x);
    }
}

Test(trace_index, a_window_holds_what_touches_it) {
    struct tiny_host h = {0};
    threads(&h);
    struct indexed x;
    make(&x, &h, false);
    struct tbp_trace_window w = {.start_ms = 1050e-9, .end_ms = 2000e-9};
    struct tbp_trace_picks picks;
    window(&x, &w, &picks);
    cr_expect_eq(picks.n, 2, "the long event ends at 1050 ps, the later one begins at 2000 ps");
    drop(&x);
}

Test(trace_index, finds_one_event_by_begin_length_and_serial) {
    struct tiny_host h = {0};
    threads(&h);
    struct indexed x;
    make(&x, &h, false);
    struct tbp_trace_picks picks;
    tbp_trace_pick_event(&x.index, TBP_STR("short"), 1000e-9, 10e-9, 1, &x.arena, &picks);
    cr_expect_eq(picks.n, 1);
    tbp_trace_pick_event(&x.index, TBP_STR("short"), 1000e-9, 10e-9, 0, &x.arena, &picks);
    cr_expect_eq(picks.n, 0, "serial 0 is the long event");
    drop(&x);
}

Test(trace_index, search_goes_by_the_beginning_of_names) {
    struct tiny_host h = {0};
    threads(&h);
    struct indexed x;
    make(&x, &h, false);
    struct tbp_trace_picks picks;
    tbp_trace_pick_prefix(&x.levels, &x.names, TBP_STR("la"), &x.arena, &picks);
    cr_expect_eq(picks.n, 2, "later and last");
    drop(&x);
}

Test(trace_index, shm_of_older_kernel_details_is_static_shared_memory) {
    char out[128];
    struct tbp_str in = TBP_STR("regs:32 shm:512 grid:1,1,1");
    size_t n = tbp_trace_repaired_details(in, out);
    struct tbp_str got = {out, n};
    cr_expect(tbp_str_is(got, "regs:32 static_shared:512 dynamic_shared:0 grid:1,1,1"));
    n = tbp_trace_repaired_details(TBP_STR("shm:0"), out);
    got = (struct tbp_str){out, n};
    cr_expect(tbp_str_is(got, "static_shared:0 dynamic_shared:0"));
    n = tbp_trace_repaired_details(TBP_STR("smashm:0"), out);
    cr_expect_eq(n, 8, "only whole words");
}
