/* SPDX-License-Identifier: Apache-2.0
 *
 * The xplane reader on small spaces built field by field, whole and damaged.
 */
#include "convert/model/stats.h"
#include "convert/read/reader.h"
#include "schemas/xplane_fields.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- building ---- */
static void put_map_entry(struct tbp_wire_out *o, uint32_t field, uint64_t id, const char *name) {
    size_t entry = tbp_wire_begin(o, field);
    tbp_wire_put_u64(o, TBP_MAP_KEY, id);
    size_t value = tbp_wire_begin(o, TBP_MAP_VALUE);
    tbp_wire_put_u64(o, 1, id);
    tbp_wire_put_str(o, 2, tbp_str_c(name));
    tbp_wire_end(o, value);
    tbp_wire_end(o, entry);
}

static void put_event(struct tbp_wire_out *o, uint64_t id, uint64_t offset_ps, uint64_t dur_ps,
                      uint64_t stat, int64_t value) {
    size_t ev = tbp_wire_begin(o, TBP_XLINE_EVENTS);
    tbp_wire_put_u64(o, TBP_XEVENT_METADATA_ID, id);
    tbp_wire_put_u64(o, TBP_XEVENT_OFFSET_PS, offset_ps);
    tbp_wire_put_u64(o, TBP_XEVENT_DURATION_PS, dur_ps);
    if (stat) {
        size_t st = tbp_wire_begin(o, TBP_XEVENT_STATS);
        tbp_wire_put_u64(o, TBP_XSTAT_METADATA_ID, stat);
        tbp_wire_put_u64(o, TBP_XSTAT_INT64, (uint64_t)value);
        tbp_wire_end(o, st);
    }
    tbp_wire_end(o, ev);
}

/* A plane with one line of n events (1 ns each, every 10 ns, stat group_id = index), metadata
 * behind the line. */
static void put_plane(struct tbp_wire_out *o, const char *name, unsigned n) {
    size_t plane = tbp_wire_begin(o, TBP_XSPACE_PLANES);
    tbp_wire_put_str(o, TBP_XPLANE_NAME, tbp_str_c(name));
    size_t line = tbp_wire_begin(o, TBP_XPLANE_LINES);
    tbp_wire_put_u64(o, TBP_XLINE_ID, 7);
    for (unsigned i = 0; i < n; i++)
        put_event(o, 1, i * 10000u, 1000, 1, i);
    tbp_wire_put_u64(o, TBP_XLINE_TIMESTAMP_NS, 5); /* behind the events: legal */
    tbp_wire_end(o, line);
    put_map_entry(o, TBP_XPLANE_EVENT_METADATA, 1, "work");
    put_map_entry(o, TBP_XPLANE_STAT_METADATA, 1, "group_id");
    tbp_wire_end(o, plane);
}

static int read_planes(struct tbp_host *h, const void *p, size_t n, enum tbp_wanted wanted,
                       struct tbp_error *err) {
    char path[] = "/tmp/tbprof_xplane_XXXXXX";
    int fd = mkstemp(path);
    cr_assert_eq(write(fd, p, n), (ssize_t)n);
    close(fd);
    const struct tbp_read_how how = {.wanted = wanted};
    struct tbp_pool *pool = tbp_pool_new(3);
    int status = tbp_read_host(h, path, TBP_STR("h"), &how, pool, err);
    tbp_pool_free(pool);
    unlink(path);
    return status;
}

static int read_bytes(struct tbp_host *h, const void *p, size_t n, struct tbp_error *err) {
    return read_planes(h, p, n, TBP_WANTED_ALL, err);
}

static void assert_ledger_adds_up(const struct tbp_host *h) {
    const struct tbp_ledger *l = &h->ledger;
    cr_assert_eq(l->events_read,
                 l->events_emitted + l->events_merged + l->events_quarantined + l->events_dropped);
}

/* ---- whole files ---- */
Test(read_xplane, metadata_and_timestamp_may_stand_behind_the_events) {
    struct tbp_wire_out o = {0};
    struct tbp_host h;
    put_plane(&o, "/host:CPU", 3);
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    const struct tbp_line *l = &h.planes[0].lines[0];
    cr_assert_eq(l->ev.n, 3);
    cr_assert_eq(l->ev.start_ps[2], 5000 + 20000);
    cr_assert_eq(l->ev.dur_ps[2], 1000);
    cr_assert(tbp_str_is(tbp_event_name(l, 2), "work"));
    int64_t group;
    cr_assert(tbp_event_group(l, 2, &group));
    cr_assert_eq(group, 2);
    cr_assert(tbp_ledger_is_clean(&h.ledger));
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* A host's plane that is told apart only at its end. */
static void put_plane_named_last(struct tbp_wire_out *o) {
    size_t plane = tbp_wire_begin(o, TBP_XSPACE_PLANES);
    put_map_entry(o, TBP_XPLANE_EVENT_METADATA, 1, "work");
    tbp_wire_put_str(o, TBP_XPLANE_NAME, TBP_STR("/host:CPU"));
    tbp_wire_end(o, plane);
}

Test(read_xplane, of_the_host_names_alone_are_read_if_devices_are_asked_for) {
    struct tbp_wire_out o = {0};
    struct tbp_host h;
    put_plane(&o, "/host:CPU", 3);
    put_plane(&o, "/device:GPU:0", 2);
    put_plane(&o, "/host:metadata", 0); /* of which kernels may need the programs */
    put_plane_named_last(&o);
    cr_assert_eq(read_planes(&h, o.at, o.n, TBP_WANTED_KERNELS, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, 4);
    cr_assert(tbp_str_is(h.planes[0].name, "/host:CPU"));
    cr_assert_eq(h.planes[0].n_lines, 0);
    cr_assert_eq(h.planes[0].n_metas, 1);
    cr_assert_eq(h.planes[1].lines[0].ev.n, 2);
    cr_assert(tbp_str_is(h.planes[2].metas[1].name, "work"));
    cr_assert(tbp_str_is(h.planes[3].metas[1].name, "work"));
    cr_assert_eq(h.ledger.events_read, 2);
    cr_assert(tbp_str_is(tbp_event_name(&h.planes[1].lines[0], 0), "work"));
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

Test(read_xplane, gpu_planes_alone_are_left_alone_if_asked_for) {
    struct tbp_wire_out o = {0};
    struct tbp_host h;
    put_plane(&o, "/host:CPU", 3);
    put_plane(&o, "/device:GPU:0", 2);
    put_plane(&o, "/device:TPU:0", 4);
    cr_assert_eq(read_planes(&h, o.at, o.n, TBP_WANTED_NO_GPU, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, 3);
    cr_assert_eq(h.planes[0].lines[0].ev.n, 3);
    cr_assert_eq(h.planes[1].lines[0].ev.n, 0);
    cr_assert_eq(h.planes[2].lines[0].ev.n, 4);
    cr_assert_eq(h.ledger.events_read, 7);
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* Two allocations among four events, in a plane with group ids or without. */
static void put_allocations(struct tbp_wire_out *o, const char *stat) {
    size_t plane = tbp_wire_begin(o, TBP_XSPACE_PLANES);
    tbp_wire_put_str(o, TBP_XPLANE_NAME, TBP_STR("/host:CPU"));
    size_t line = tbp_wire_begin(o, TBP_XPLANE_LINES);
    for (unsigned i = 0; i < 4; i++)
        put_event(o, 1 + i % 2, i * 10000u, 1000, 1, i);
    tbp_wire_end(o, line);
    put_map_entry(o, TBP_XPLANE_EVENT_METADATA, 1, "work");
    put_map_entry(o, TBP_XPLANE_EVENT_METADATA, 2, "MemoryAllocation");
    put_map_entry(o, TBP_XPLANE_STAT_METADATA, 1, stat);
    tbp_wire_end(o, plane);
}

Test(read_xplane, allocations_alone_are_read_if_asked_for_and_groups_are_there) {
    struct tbp_wire_out o = {0};
    struct tbp_host h;
    int64_t group;
    put_allocations(&o, "group_id");
    cr_assert_eq(read_planes(&h, o.at, o.n, TBP_WANTED_MEMORY, NULL), TBP_OK);
    const struct tbp_line *l = &h.planes[0].lines[0];
    cr_assert_eq(l->ev.n, 2);
    cr_assert(tbp_str_is(tbp_event_name(l, 0), "MemoryAllocation"));
    cr_assert_eq(l->ev.start_ps[0], 10000);
    cr_assert_eq(l->ev.start_ps[1], 30000);
    struct tbp_stat st; /* found where the event lies */
    cr_assert(tbp_event_stat(l, 1, TBP_STAT_GROUP_ID, &st));
    cr_assert_eq(tbp_stat_i(&st), 3);
    cr_assert(tbp_event_group(l, 1, &group));
    cr_assert_eq(group, 3);
    cr_assert_eq(h.ledger.events_read, 2);
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

Test(read_xplane, all_is_read_of_a_host_that_has_to_be_grouped) {
    struct tbp_wire_out o = {0};
    struct tbp_host h;
    put_allocations(&o, "step_num");
    cr_assert_eq(read_planes(&h, o.at, o.n, TBP_WANTED_MEMORY, NULL), TBP_OK);
    cr_assert_eq(h.planes[0].lines[0].ev.n, 4);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

Test(read_xplane, nothing_is_a_valid_empty_profile) {
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, "", 0, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, 0);
    tbp_host_release(&h);
}

Test(read_xplane, dangling_ids_keep_the_event_without_name) {
    struct tbp_wire_out o = {0};
    size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
    size_t line = tbp_wire_begin(&o, TBP_XPLANE_LINES);
    put_event(&o, 99, 0, 1, 42, 7);
    tbp_wire_end(&o, line);
    tbp_wire_end(&o, plane);
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    const struct tbp_line *l = &h.planes[0].lines[0];
    cr_assert_eq(l->ev.n, 1);
    cr_assert_eq(tbp_event_name(l, 0).n, 0);
    struct tbp_stat_iter it = tbp_stat_iter_event(l, 0);
    struct tbp_stat st;
    cr_assert(tbp_stat_next(&it, &st));
    cr_assert_eq(st.meta->name.n, 0);
    cr_assert_eq(tbp_stat_i(&st), 7);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_DANGLING_EVENT_ID], 1);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_DANGLING_STAT_ID], 1);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

Test(read_xplane, wide_groups_are_decoded_from_the_stat) {
    struct tbp_wire_out o = {0};
    size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
    size_t line = tbp_wire_begin(&o, TBP_XPLANE_LINES);
    put_event(&o, 1, 0, 1, 1, INT64_C(1) << 40);
    put_event(&o, 1, 0, 1, 1, INT32_MIN);
    tbp_wire_end(&o, line);
    put_map_entry(&o, TBP_XPLANE_STAT_METADATA, 1, "group_id");
    tbp_wire_end(&o, plane);
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    int64_t group;
    cr_assert(tbp_event_group(&h.planes[0].lines[0], 0, &group));
    cr_assert_eq(group, INT64_C(1) << 40);
    cr_assert(tbp_event_group(&h.planes[0].lines[0], 1, &group));
    cr_assert_eq(group, INT32_MIN);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

Test(read_xplane, negative_times_and_ids_are_kept_and_counted) {
    struct tbp_wire_out o = {0};
    size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
    size_t line = tbp_wire_begin(&o, TBP_XPLANE_LINES);
    put_event(&o, UINT64_MAX, (uint64_t)-1000, 10, 0, 0);
    tbp_wire_end(&o, line);
    put_map_entry(&o, TBP_XPLANE_EVENT_METADATA, UINT64_MAX, "minus one");
    tbp_wire_end(&o, plane);
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    cr_assert_eq(tbp_event_offset(&h.planes[0].lines[0], 0), -1000);
    cr_assert(tbp_str_is(tbp_event_name(&h.planes[0].lines[0], 0), "minus one"));
    cr_assert_eq(h.ledger.count[TBP_LEDGER_NEGATIVE_TIME], 1);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* ---- damage ---- */
Test(read_xplane, every_cut_keeps_the_planes_before_it) {
    struct tbp_wire_out o = {0};
    put_plane(&o, "first", 20);
    size_t first_end = o.n;
    put_plane(&o, "second", 20);
    for (size_t n = first_end; n < o.n; n++) {
        struct tbp_host h;
        cr_assert_eq(read_bytes(&h, o.at, n, NULL), TBP_OK, "cut at %zu", n);
        cr_assert_geq(h.n_planes, 1);
        cr_assert(tbp_str_is(h.planes[0].name, "first"));
        cr_assert_eq(h.planes[0].lines[0].ev.n, 20);
        cr_assert(n == first_end || tbp_ledger_has_loss(&h.ledger), "cut at %zu is told", n);
        assert_ledger_adds_up(&h);
        tbp_host_release(&h);
    }
    tbp_wire_out_release(&o);
}

/* Before the first plane's name nothing can be read of a cut file; the error tells where it is. */
Test(read_xplane, a_cut_before_any_plane_is_an_error_with_its_place) {
    struct tbp_wire_out o = {0};
    tbp_wire_put_str(&o, TBP_XSPACE_HOSTNAMES, TBP_STR("h"));
    size_t plane = o.n;
    put_plane(&o, "first", 5);
    struct tbp_host h;
    struct tbp_error err;
    cr_assert_eq(read_bytes(&h, o.at, plane + 8, &err), TBP_E_FORMAT);
    cr_assert_eq(err.offset, plane);
    tbp_wire_out_release(&o);
}

/* A line of two events: one whose stats have an id and an unsigned number, as an event has an id
 * and a duration, and one that says how often instead of when. at: where they begin, and the end.
 */
static void put_line_of_two(struct tbp_wire_out *o, size_t at[3]) {
    size_t plane = tbp_wire_begin(o, TBP_XSPACE_PLANES);
    tbp_wire_put_str(o, TBP_XPLANE_NAME, TBP_STR("p"));
    size_t line = tbp_wire_begin(o, TBP_XPLANE_LINES);
    at[0] = o->n;
    size_t event = tbp_wire_begin(o, TBP_XLINE_EVENTS);
    tbp_wire_put_u64(o, TBP_XEVENT_METADATA_ID, 1);
    tbp_wire_put_u64(o, TBP_XEVENT_OFFSET_PS, 8);
    for (uint64_t i = 0; i < 3; i++) {
        size_t stat = tbp_wire_begin(o, TBP_XEVENT_STATS);
        tbp_wire_put_u64(o, TBP_XSTAT_METADATA_ID, i);
        tbp_wire_put_u64(o, TBP_XSTAT_UINT64, 5);
        tbp_wire_end(o, stat);
    }
    tbp_wire_end(o, event);
    at[1] = o->n;
    event = tbp_wire_begin(o, TBP_XLINE_EVENTS);
    tbp_wire_put_u64(o, TBP_XEVENT_METADATA_ID, 1);
    tbp_wire_put_u64(o, TBP_XEVENT_DURATION_PS, 70);
    tbp_wire_put_u64(o, TBP_XEVENT_NUM_OCCURRENCES, 4);
    tbp_wire_end(o, event);
    at[2] = o->n;
    tbp_wire_end(o, line);
    tbp_wire_end(o, plane);
}

Test(read_xplane, stats_of_a_cut_event_are_no_events) {
    struct tbp_wire_out o = {0};
    size_t at[3];
    put_line_of_two(&o, at);
    for (size_t n = at[0]; n <= at[2]; n++) {
        struct tbp_host h;
        cr_assert_eq(read_bytes(&h, o.at, n, NULL), TBP_OK);
        cr_assert_eq(tbp_host_count_events(&h), (n >= at[1]) + (n >= at[2]), "cut at %zu", n);
        assert_ledger_adds_up(&h);
        tbp_host_release(&h);
    }
    tbp_wire_out_release(&o);
}

/* Nor are those of an event with a wrong length; the one behind it is still found. */
Test(read_xplane, stats_of_a_broken_event_are_no_events) {
    struct tbp_wire_out o = {0};
    size_t at[3];
    struct tbp_host h;
    put_line_of_two(&o, at);
    o.at[at[0] + 3] |= 0x7f; /* runs past the line */
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    cr_assert_eq(h.planes[0].lines[0].ev.n, 1);
    cr_assert_eq(h.planes[0].lines[0].ev.dur_ps[0], 70);
    cr_assert_eq(h.ledger.events_dropped, 1);
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* The length of the middle plane says more than the file has: the plane behind it is still found.
 */
Test(read_xplane, planes_behind_a_wrong_length_are_found) {
    struct tbp_wire_out o = {0};
    put_plane(&o, "first", 5);
    size_t second = o.n;
    put_plane(&o, "second", 5);
    put_plane(&o, "third", 5);
    o.at[second + 3] |= 0x70; /* third byte of the padded length: + about 1.8 million */
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, 3);
    cr_assert(tbp_str_is(h.planes[2].name, "third"));
    cr_assert_eq(h.planes[1].lines[0].ev.n, 5,
                 "the plane with the wrong length is read up to the next one");
    cr_assert_eq(h.planes[2].lines[0].ev.n, 5);
    cr_assert(tbp_ledger_has_loss(&h.ledger));
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* Its length says that it ends inside the third plane or the fourth, or behind garbage: those which
 * it reaches over or into are still planes of their own. */
Test(read_xplane, planes_that_a_wrong_length_reaches_into_are_found) {
    struct tbp_wire_out o = {0};
    size_t at[6];
    for (unsigned i = 0; i < 5; i++) {
        at[i] = o.n;
        put_plane(&o, (const char *[]){"first", "second", "third", "fourth", "fifth"}[i], 5 + i);
    }
    at[5] = o.n;
    for (size_t end = at[2] + 1; end < at[5]; end++) {
        size_t length = end - at[1] - 6; /* key and padded length */
        for (unsigned i = 0; i < 5; i++)
            o.at[at[1] + 1 + i] = (uint8_t)(length >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0);
        struct tbp_host h;
        cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
        if (end != at[3] && end != at[4]) { /* there a plane begins: nothing tells */
            cr_assert_eq(h.n_planes, 5, "end %zu", end);
            for (unsigned i = 0; i < 5; i++)
                cr_assert_eq(h.planes[i].lines[0].ev.n, 5 + i, "end %zu, plane %u", end, i);
            cr_assert_eq(h.ledger.first_offset[TBP_LEDGER_BAD_WIRE], at[2]);
        }
        assert_ledger_adds_up(&h);
        tbp_host_release(&h);
    }
    tbp_wire_out_release(&o);
}

/* A file of planes with 5, 6, 7 … events; at: where they begin, and the end. */
static void put_planes(struct tbp_wire_out *o, size_t *at, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        at[i] = o->n;
        put_plane(o, (const char *[]){"first", "second", "third", "fourth"}[i], 5 + i);
    }
    at[n] = o->n;
}

static void set_length(uint8_t *plane, size_t length) {
    for (unsigned i = 0; i < 5; i++) /* padded */
        plane[1 + i] = (uint8_t)(length >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0);
}

/* All planes but those of these numbers (bits) are as they were written. */
static void assert_others_are_whole(const uint8_t *p, size_t size, unsigned damaged) {
    struct tbp_host h;
    struct tbp_error err;
    cr_assert_eq(read_bytes(&h, p, size, &err), TBP_OK, "%s", err.message);
    for (unsigned i = 0; i < 4; i++) {
        const char *name = (const char *[]){"first", "second", "third", "fourth"}[i];
        size_t k = 0;
        while (k < h.n_planes && !tbp_str_is(h.planes[k].name, name))
            k++;
        if (damaged & 1u << i)
            continue;
        cr_assert_lt(k, h.n_planes, "no plane '%s'", name);
        cr_assert_eq(h.planes[k].n_lines, 1);
        cr_assert_eq(h.planes[k].lines[0].ev.n, 5 + i);
        cr_assert_eq(h.planes[k].n_stat_metas, 2);
    }
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
}

/* A plane says that it ends before it does: neither what is left of it nor what that looks like
 * takes planes along; and if it ends amid a field, it is read whole, too. */
Test(read_xplane, planes_behind_a_length_that_is_too_short_are_found) {
    enum { DAMAGED = 1, HEAD = 6 /* key and padded length */, LINE_HEAD = 8 + HEAD };
    struct tbp_wire_out o = {0};
    size_t at[5];
    put_planes(&o, at, 4);
    size_t length = at[DAMAGED + 1] - at[DAMAGED] - HEAD;
    for (size_t n = 0; n < length; n++) {
        set_length(o.at + at[DAMAGED], n);
        assert_others_are_whole(o.at, o.n, 1u << DAMAGED);
    }
    set_length(o.at + at[DAMAGED], LINE_HEAD + 1);
    assert_others_are_whole(o.at, o.n, 0);
    tbp_wire_out_release(&o);
}

/* One that says it is as long as itself and the next, or all that follow. */
Test(read_xplane, planes_that_a_length_takes_along_whole_are_found) {
    enum { DAMAGED = 1, HEAD = 6 };
    struct tbp_wire_out o = {0};
    size_t at[5];
    put_planes(&o, at, 4);
    for (unsigned end = DAMAGED + 2; end <= 4; end++) {
        set_length(o.at + at[DAMAGED], at[end] - at[DAMAGED] - HEAD);
        assert_others_are_whole(o.at, o.n, 0);
    }
    tbp_wire_out_release(&o);
}

/* The first plane says that it reaches into the second, and the last is damaged, too, so that none
 * leads to the end: the first ends where its own fields do. */
Test(read_xplane, a_length_that_is_too_long_takes_no_plane_along_if_the_last_is_damaged) {
    enum { PLANES = 4, HEAD = 6, GROUP_END = 3 << 3 | 4 };
    struct tbp_wire_out o = {0};
    size_t at[PLANES + 1];
    put_planes(&o, at, PLANES);
    set_length(o.at, at[1] - at[0] - HEAD + 1);
    o.at[at[PLANES - 1]] = GROUP_END;
    assert_others_are_whole(o.at, o.n, 1u << (PLANES - 1));
    tbp_wire_out_release(&o);
}

/* Whatever one byte of the key or length of a plane is: of the first, it tells the format, too. */
Test(read_xplane, a_wrong_byte_before_a_plane_takes_no_other_along) {
    enum { HEAD = 6, BYTES = 256 };
    struct tbp_wire_out o = {0};
    size_t at[5];
    put_planes(&o, at, 4);
    for (unsigned i = 0; i < 4; i++) {
        for (size_t k = at[i]; k < at[i] + HEAD; k++) {
            uint8_t right = o.at[k];
            for (unsigned byte = 0; byte < BYTES; byte++) {
                o.at[k] = (uint8_t)byte;
                assert_others_are_whole(o.at, o.n, 1u << i);
            }
            o.at[k] = right;
        }
    }
    tbp_wire_out_release(&o);
}

/* Every i counts up to its limit, the last one slowest; false: all have been through. */
static bool count_up(size_t *i, const size_t *limit, size_t n) {
    for (size_t k = 0; k < n; k++) {
        if (++i[k] < limit[k])
            return true;
        i[k] = 0;
    }
    return false;
}

/* Two bytes of the keys or lengths of two planes: none that stands between them leads to the end.
 */
Test(read_xplane, two_wrong_bytes_before_planes_take_no_other_along) {
    enum { HEAD = 6, PLANES = 4, GROUP_END = 3 << 3 | 4, ERRORS = TBP_XSPACE_ERRORS << 3 | 2 };
    static const uint8_t wrong[] = {GROUP_END, 0x7f, 0xff, 0, ERRORS};
    enum { FIRST, SECOND, OF_FIRST, OF_SECOND, BYTE, OTHER, N };
    static const size_t limit[N] = {PLANES, PLANES, HEAD, HEAD, sizeof wrong, sizeof wrong};
    struct tbp_wire_out o = {0};
    size_t at[PLANES + 1], i[N] = {0};
    put_planes(&o, at, PLANES);
    uint8_t *bytes = malloc(o.n);
    while (count_up(i, limit, N)) {
        if (i[FIRST] >= i[SECOND])
            continue;
        memcpy(bytes, o.at, o.n);
        bytes[at[i[FIRST]] + i[OF_FIRST]] = wrong[i[BYTE]];
        bytes[at[i[SECOND]] + i[OF_SECOND]] = wrong[i[OTHER]];
        assert_others_are_whole(bytes, o.n, 1u << i[FIRST] | 1u << i[SECOND]);
    }
    free(bytes);
    tbp_wire_out_release(&o);
}

/* Nor if nothing but events tells that they are planes. */
Test(read_xplane, planes_without_metadata_between_two_wrong_keys_are_found) {
    enum { PLANES = 4, GROUP_END = 3 << 3 | 4 };
    struct tbp_wire_out o = {0};
    size_t at[PLANES];
    for (unsigned i = 0; i < PLANES; i++) {
        at[i] = o.n;
        size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
        tbp_wire_put_str(&o, TBP_XPLANE_NAME, TBP_STR("plane"));
        size_t line = tbp_wire_begin(&o, TBP_XPLANE_LINES);
        put_event(&o, i, 0, 1000, 0, 0);
        tbp_wire_end(&o, line);
        tbp_wire_end(&o, plane);
    }
    o.at[at[0]] = o.at[at[PLANES - 1]] = GROUP_END;
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, PLANES - 2);
    cr_assert_eq(tbp_host_count_events(&h), PLANES - 2);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* A compiled program in a plane has messages that look like planes: none is taken for one, when a
 * wrong length makes the search for the next plane begin in front of them; even if the last plane
 * is damaged, too, so that nothing leads to the end. */
Test(read_xplane, bytes_in_a_plane_that_look_like_planes_are_none) {
    enum { GROUP_END = 3 << 3 | 4 };
    static const char program[] = "\x0a\x05\x12\x03one\x0a\x05\x12\x03two\x07";
    struct tbp_wire_out o = {0};
    size_t at[3];
    for (unsigned i = 0; i < 3; i++) {
        at[i] = o.n;
        if (i == 1) {
            put_plane(&o, "second", 6);
            continue;
        }
        size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
        tbp_wire_put_str(&o, TBP_XPLANE_NAME, TBP_STR("/host:metadata"));
        tbp_wire_put_str(&o, TBP_XPLANE_STATS, TBP_STR(program));
        tbp_wire_end(&o, plane);
    }
    o.at[5] = 0x80; /* last byte of the padded length: the name's key becomes part of it */
    o.at[at[2]] = GROUP_END;
    for (unsigned n_planes = 2; n_planes <= 3; n_planes++) {
        struct tbp_host h;
        cr_assert_eq(read_bytes(&h, o.at, n_planes == 2 ? at[2] : o.n, NULL), TBP_OK);
        for (size_t i = 0; i < h.n_planes; i++)
            cr_assert(h.planes[i].name.n != 3, "plane %zu", i);
        cr_assert(tbp_str_is(h.planes[h.n_planes - 1].name, "second"));
        cr_assert_eq(h.planes[h.n_planes - 1].lines[0].ev.n, 6);
        tbp_host_release(&h);
    }
    tbp_wire_out_release(&o);
}

/* Each of these planes ends amid a field which, read on, leads through all the others. */
Test(read_xplane, lengths_that_are_all_wrong_take_no_longer_than_their_file, .timeout = 20) {
    enum { PLANES = 400000 };
    static const uint8_t plane[] = {0x0a, 1, 0x12};
    struct tbp_wire_out o = {0};
    for (unsigned i = 0; i < PLANES; i++)
        for (unsigned k = 0; k < sizeof plane; k++)
            tbp_wire_put_varint(&o, plane[k]);
    struct tbp_host h;
    cr_assert_neq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    tbp_wire_out_release(&o);
}

/* Behind the first wrong key every plane leads to the last one, which is wrong, too: that it does
 * is found out once, not once per plane. All others are read. */
Test(read_xplane, two_wrong_keys_among_many_planes_take_no_time, .timeout = 20) {
    enum { PLANES = 30000, FIRST = 100, GROUP_END = 3 << 3 | 4 };
    struct tbp_wire_out o = {0};
    size_t first = 0, last = 0;
    for (unsigned i = 0; i < PLANES; i++) {
        last = o.n;
        if (i == FIRST)
            first = o.n;
        put_plane(&o, "plane", 1);
    }
    o.at[first] = o.at[last] = GROUP_END;
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, PLANES - 2);
    cr_assert_eq(h.ledger.count[TBP_LEDGER_BAD_WIRE], 2);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* Behind each small plane with metadata stands a byte that is no field, and behind all of them
 * bytes in which no plane begins: they are looked through once, not once per plane. */
Test(read_xplane, bytes_without_planes_behind_many_wrong_ones_take_no_time, .timeout = 20) {
    enum { PLANES = 4000, BYTES = 50000000 };
    static const char plane[] = "\x0a\x0e\x12\x02of\x2a\x08\x08\x01\x12\x04\x08\x01\x12\x00\x07";
    enum { SIZE = sizeof plane - 1 };
    uint8_t *p = malloc(PLANES * SIZE + BYTES);
    for (size_t i = 0; i < PLANES; i++)
        memcpy(p + i * SIZE, plane, SIZE);
    memset(p + PLANES * SIZE, -1, BYTES);
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, p, PLANES * SIZE + BYTES, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, PLANES);
    tbp_host_release(&h);
    free(p);
}

/* The key of the second plane says that it is a number. */
Test(read_xplane, planes_behind_a_wrong_key_are_found) {
    struct tbp_wire_out o = {0};
    put_plane(&o, "first", 5);
    size_t second = o.n;
    put_plane(&o, "second", 5);
    put_plane(&o, "third", 6);
    for (uint8_t type = 0; type < 8; type++) {
        if (type == TBP_WIRE_BYTES)
            continue;
        o.at[second] = (uint8_t)(TBP_XSPACE_PLANES << 3 | type);
        struct tbp_host h;
        cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
        cr_assert(tbp_str_is(h.planes[0].name, "first"));
        cr_assert(tbp_str_is(h.planes[h.n_planes - 1].name, "third"), "type %u", type);
        cr_assert_eq(h.planes[h.n_planes - 1].lines[0].ev.n, 6);
        cr_assert(tbp_ledger_has_loss(&h.ledger));
        tbp_host_release(&h);
    }
    tbp_wire_out_release(&o);
}

/* Whatever became of a key in a plane, as that of a packet's time or event: the file is no trace of
 * Perfetto for that, and the other plane is read. */
Test(read_xplane, a_wrong_key_in_a_plane_makes_it_no_other_format) {
    enum { BYTES = 256, FIELDS = 4 };
    struct tbp_wire_out o = {0};
    struct tbp_wire_field f;
    put_plane(&o, "first", 5);
    struct tbp_wire w = tbp_wire_of(o.at, o.n);
    cr_assert_eq(tbp_wire_next(&w, &f), 1);
    size_t keys[FIELDS + 1] = {(size_t)(f.bytes.at - o.at)};
    struct tbp_wire inside = f.bytes;
    for (unsigned i = 0; tbp_wire_next(&inside, &f) > 0; i++)
        keys[i + 1] = (size_t)(inside.at - o.at);
    put_plane(&o, "second", 6);
    for (unsigned i = 0; i < FIELDS; i++) {
        uint8_t right = o.at[keys[i]];
        for (unsigned byte = 0; byte < BYTES; byte++) {
            struct tbp_host h;
            o.at[keys[i]] = (uint8_t)byte;
            cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
            const struct tbp_plane *last = &h.planes[h.n_planes - 1];
            cr_assert(tbp_str_is(last->name, "second"), "field %u, key %u", i, byte);
            cr_assert_eq(last->lines[0].ev.n, 6);
            tbp_host_release(&h);
        }
        o.at[keys[i]] = right;
    }
    tbp_wire_out_release(&o);
}

/* Garbage between two planes. */
Test(read_xplane, planes_behind_garbage_are_found) {
    struct tbp_wire_out o = {0};
    put_plane(&o, "first", 5);
    for (int i = 0; i < 50; i++)
        tbp_wire_put_varint(&o, 0x07);
    put_plane(&o, "second", 5);
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    cr_assert_eq(h.n_planes, 2);
    cr_assert_eq(h.planes[1].lines[0].ev.n, 5);
    cr_assert_gt(h.ledger.count[TBP_LEDGER_BAD_WIRE], 0);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* One event whose length is wrong loses itself, not its neighbours. */
Test(read_xplane, one_broken_event_does_not_take_its_line_along) {
    struct tbp_wire_out o = {0};
    size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
    tbp_wire_put_str(&o, TBP_XPLANE_NAME, TBP_STR("p"));
    size_t line = tbp_wire_begin(&o, TBP_XPLANE_LINES);
    for (unsigned i = 0; i < 3; i++)
        put_event(&o, 1, i, 1, 0, 0);
    size_t broken = o.n;
    for (unsigned i = 3; i < 10; i++)
        put_event(&o, 1, i, 1, 0, 0);
    tbp_wire_end(&o, line);
    tbp_wire_end(&o, plane);
    o.at[broken + 3] |= 0x7f; /* its length now runs past the line */
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    const struct tbp_line *l = &h.planes[0].lines[0];
    cr_assert_geq(l->ev.n, 9);
    cr_assert_eq(l->ev.start_ps[l->ev.n - 1], 9);
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

/* A long line is read in pieces side by side; events of pieces that lost some move up. Only the
 * bytes inside the two events are wrong, so that counting does not find it. */
Test(read_xplane, long_lines_keep_their_order_around_broken_events) {
    enum { EVENTS = 100000, FIRST = 40000, SECOND = 70001 };
    struct tbp_wire_out o = {0};
    size_t plane = tbp_wire_begin(&o, TBP_XSPACE_PLANES);
    tbp_wire_put_str(&o, TBP_XPLANE_NAME, TBP_STR("p"));
    size_t line = tbp_wire_begin(&o, TBP_XPLANE_LINES);
    for (unsigned i = 0; i < EVENTS; i++) {
        put_event(&o, 1, i, 1, 0, 0);
        if (i == FIRST || i == SECOND)
            o.at[o.n - 1] = 0xff; /* the duration's varint has no end */
    }
    tbp_wire_end(&o, line);
    tbp_wire_end(&o, plane);
    struct tbp_host h;
    cr_assert_eq(read_bytes(&h, o.at, o.n, NULL), TBP_OK);
    const struct tbp_line *l = &h.planes[0].lines[0];
    cr_assert_eq(l->ev.n, EVENTS - 2);
    for (uint64_t i = 0; i < l->ev.n; i++)
        cr_assert_eq(l->ev.start_ps[i], i + (i >= FIRST) + (i + 1 >= SECOND), "event %zu",
                     (size_t)i);
    cr_assert_eq(h.ledger.events_read, EVENTS);
    cr_assert_eq(h.ledger.events_dropped, 2);
    assert_ledger_adds_up(&h);
    tbp_host_release(&h);
    tbp_wire_out_release(&o);
}

Test(read_xplane, text_is_refused_with_the_path) {
    struct tbp_host h;
    struct tbp_error err = {0};
    cr_assert_eq(read_bytes(&h, "hello, this is text\n", 20, &err), TBP_E_FORMAT);
    cr_assert(strstr(err.input, "/tmp/tbprof_xplane_") != NULL);
}

/* A newline is the key of a plane: text and JSON that begin with one are still no profile. */
Test(read_xplane, text_behind_newlines_is_refused) {
    static const char *const texts[] = {"\n\n\nhello this is text, long enough for a length\n",
                                        "\n{\n  \"schemaVersion\": 1,\n  \"shared\": []\n}\n",
                                        "\n  [1, 2, 3]", "\n\"a\": 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct tbp_host h;
        cr_assert_eq(read_bytes(&h, texts[i], strlen(texts[i]), NULL), TBP_E_FORMAT, "%zu", i);
    }
}
