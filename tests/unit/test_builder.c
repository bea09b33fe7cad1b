/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of events: where the bytes of an event stand, in lines of any size.
 */
#include "convert/model/builder.h"

#include <criterion/criterion.h>

Test(builder, a_fresh_column_has_no_bodies) {
    struct tbp_host h;
    struct tbp_events ev;
    tbp_host_init(&h);
    tbp_events_alloc(&h, &ev, 2);
    cr_assert_eq(tbp_event_body(&ev, 1), TBP_NO_BODY);
    tbp_event_set_body(&ev, 1, 0);
    cr_assert_eq(tbp_event_body(&ev, 1), 0);
    tbp_event_set_body(&ev, 1, TBP_NO_BODY);
    cr_assert_eq(tbp_event_body(&ev, 1), TBP_NO_BODY);
    tbp_host_release(&h);
}

Test(builder, bodies_of_a_line_under_4_gib_take_32_bits) {
    struct tbp_host h;
    struct tbp_events ev;
    tbp_host_init(&h);
    tbp_events_alloc(&h, &ev, 1);
    tbp_events_reach(&h, &ev, UINT32_MAX - 1u); /* the last body is at 2^32 - 3 at most */
    cr_assert_null(ev.body_high);
    tbp_event_set_body(&ev, 0, UINT32_MAX - 2u);
    cr_assert_eq(tbp_event_body(&ev, 0), UINT32_MAX - 2u);
    tbp_host_release(&h);
}

Test(builder, a_line_that_grows_beyond_4_gib_keeps_its_bodies) {
    struct tbp_host h;
    struct tbp_events ev;
    const uint64_t far = 0x123456789abull;
    tbp_host_init(&h);
    tbp_events_alloc(&h, &ev, 3);
    tbp_event_set_body(&ev, 0, 7);
    tbp_events_reach(&h, &ev, far + 10);
    tbp_event_set_body(&ev, 1, far);
    tbp_event_set_body(&ev, 2, UINT32_MAX);
    cr_assert_eq(tbp_event_body(&ev, 0), 7);
    cr_assert_eq(tbp_event_body(&ev, 1), far);
    cr_assert_eq(tbp_event_body(&ev, 2), UINT32_MAX);
    tbp_host_release(&h);
}

Test(builder, a_plane_that_is_added_has_a_free_id_and_leaves_the_others_whole) {
    struct tbp_host h;
    tbp_host_init(&h);
    tbp_host_add_plane(&h, TBP_STR("a"))->id = 7;
    tbp_plane_add_line(&h.planes[0], 1, TBP_STR("l"), 5);
    tbp_host_add_plane(&h, TBP_STR("b"))->id = INT64_MAX; /* after which there is none */
    struct tbp_plane *c = tbp_host_add_plane(&h, TBP_STR("c"));
    cr_assert_eq(h.n_planes, 3);
    cr_expect_eq(c, &h.planes[2]);
    cr_expect_eq(c->id, 8);
    cr_expect_eq(c->index, 2);
    cr_expect_eq(h.planes[0].lines[0].plane, &h.planes[0]);
    cr_expect(tbp_str_is(h.planes[1].name, "b"));
    cr_expect_eq(tbp_plane_ensure_meta(c, TBP_STR("event")), 1); /* 0 is the nameless one */
    tbp_host_release(&h);
}

Test(builder, many_texts_take_room_in_proportion) {
    struct tbp_host h;
    tbp_host_init(&h);
    size_t before = h.arena.used_bytes;
    for (size_t i = 0; i < 10000; i++)
        tbp_host_add_text(&h, &h.errors, &h.n_errors, i % 2 ? TBP_STR("odd") : TBP_STR("even"));
    cr_assert_eq(h.n_errors, 10000);
    for (size_t i = 0; i < 10000; i++)
        cr_assert(tbp_str_is(h.errors[i], i % 2 ? "odd" : "even"));
    /* arrays of 1, 2, 4 … 16384 texts */
    cr_assert_eq(h.arena.used_bytes - before, 32767 * sizeof(struct tbp_str));
    tbp_host_release(&h);
}

Test(builder, many_lines_take_room_in_proportion) {
    struct tbp_host h;
    struct tbp_plane p = {.host = &h, .name = TBP_STR_NONE};
    tbp_host_init(&h);
    for (int64_t i = 0; i < 10000; i++)
        tbp_plane_add_line(&p, i, TBP_STR("l"), 0);
    for (int64_t i = 0; i < 10000; i++)
        cr_assert_eq(p.lines[i].id, i);
    cr_assert_lt(h.arena.used_bytes, 4 * 10000 * sizeof(struct tbp_line));
    tbp_host_release(&h);
}
