/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the usual shape read quickly, and everything else left to the careful reader.
 */
#include "convert/read/quick_event.h"
#include "schemas/xplane_fields.h"

#include <criterion/criterion.h>

enum { GROUP = 3, LONG_ID = 300, STAT_UNKNOWN = 9 };

struct fixture {
    struct tbp_arena arena;
    struct tbp_plane plane;
    struct tbp_stat_meta metas[3]; /* nameless, group_id, correlation_id */
    struct tbp_wire_out out;
    struct tbp_event_values got;
};

static void set_up(struct fixture *f) {
    *f = (struct fixture){.metas = {[1] = {.id = GROUP, .has = TBP_HAS_GROUP},
                                    [2] = {.id = LONG_ID, .has = TBP_HAS_CORRELATION}}};
    tbp_arena_init(&f->arena);
    f->plane.stat_metas = f->metas;
    tbp_id_index_init(&f->plane.stat_meta_by_id, LONG_ID, &f->arena);
    tbp_id_index_put(&f->plane.stat_meta_by_id, GROUP, 1);
    tbp_id_index_put(&f->plane.stat_meta_by_id, LONG_ID, 2);
}

static void tear_down(struct fixture *f) {
    tbp_wire_out_release(&f->out);
    tbp_arena_release(&f->arena);
}

static size_t begin_stat(struct fixture *f, uint64_t id) {
    size_t mark = tbp_wire_begin(&f->out, TBP_XEVENT_STATS);
    tbp_wire_put_u64(&f->out, TBP_XSTAT_METADATA_ID, id);
    return mark;
}

static void put_u64_stat(struct fixture *f, uint64_t id, uint32_t field, uint64_t value) {
    size_t mark = begin_stat(f, id);
    tbp_wire_put_u64(&f->out, field, value);
    tbp_wire_end(&f->out, mark);
}

static void put_text_stat(struct fixture *f, struct tbp_str text) {
    size_t mark = begin_stat(f, LONG_ID);
    tbp_wire_put_str(&f->out, TBP_XSTAT_STR, text);
    tbp_wire_end(&f->out, mark);
}

static void put_times(struct fixture *f) {
    tbp_wire_put_u64(&f->out, TBP_XEVENT_METADATA_ID, 5);
    tbp_wire_put_u64(&f->out, TBP_XEVENT_OFFSET_PS, 1000000);
    tbp_wire_put_u64(&f->out, TBP_XEVENT_DURATION_PS, 70);
}

/* The first n bytes written, as an event. */
static bool is_quick(struct fixture *f, size_t n) {
    uint8_t bytes[512] = {0};
    cr_assert_leq(n + TBP_WIRE_SLACK, sizeof bytes);
    memcpy(bytes, f->out.at, n);
    return tbp_quick_event(&f->plane, tbp_wire_of(bytes, n), &f->got);
}

Test(read, quick_event_has_times_presence_and_group) {
    struct fixture f;
    set_up(&f);
    put_times(&f);
    put_u64_stat(&f, LONG_ID, TBP_XSTAT_UINT64, UINT64_MAX); /* ten bytes */
    put_u64_stat(&f, GROUP, TBP_XSTAT_INT64, (uint64_t)-2);
    put_u64_stat(&f, GROUP, TBP_XSTAT_INT64, 8); /* the first counts */
    put_u64_stat(&f, LONG_ID, TBP_XSTAT_REF, GROUP);
    put_text_stat(&f, TBP_STR("gr\xc3\xbc\xc3\x9f"));
    size_t mark = begin_stat(&f, LONG_ID);
    tbp_wire_put_double(&f.out, TBP_XSTAT_DOUBLE, 0.5);
    tbp_wire_end(&f.out, mark);
    cr_assert(is_quick(&f, f.out.n));
    cr_assert_eq(f.got.id, 5);
    cr_assert_eq(f.got.offset_ps, 1000000);
    cr_assert_eq(f.got.dur_ps, 70);
    cr_assert_eq(f.got.group, -2);
    cr_assert_eq(f.got.has, TBP_HAS_STATS | TBP_HAS_GROUP | TBP_HAS_CORRELATION);
    tear_down(&f);
}

Test(read, quick_event_takes_groups_of_signed_numbers_only) {
    struct fixture f;
    set_up(&f);
    put_u64_stat(&f, GROUP, TBP_XSTAT_UINT64, 8);
    cr_assert(is_quick(&f, f.out.n));
    cr_assert_eq(f.got.group, 0);
    cr_assert_eq(f.got.has, TBP_HAS_STATS | TBP_HAS_GROUP);
    tear_down(&f);
}

Test(read, quick_event_tells_a_launch_by_its_one_correlation_id) {
    const struct {
        int64_t id;
        int times;
        bool is_launch;
    } cases[] = {{0, 1, true}, {77, 1, true}, {-1, 1, false}, {77, 2, false}, {77, 3, false}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct fixture f;
        set_up(&f);
        for (int i = 0; i < cases[k].times; i++)
            put_u64_stat(&f, LONG_ID, TBP_XSTAT_INT64, (uint64_t)cases[k].id);
        cr_assert(is_quick(&f, f.out.n));
        cr_assert(f.got.has & TBP_HAS_CORRELATION);
        cr_assert_eq((f.got.has & TBP_HAS_LAUNCH) != 0, cases[k].is_launch, "case %zu", k);
        tear_down(&f);
    }
}

/* Wherever an event is cut, what is left is read quickly only if it ends between two fields. */
Test(read, quick_event_never_reads_a_part_of_a_field) {
    struct fixture f;
    set_up(&f);
    put_times(&f);
    put_u64_stat(&f, LONG_ID, TBP_XSTAT_UINT64, 123456789);
    put_text_stat(&f, TBP_STR("a text of the event"));
    for (size_t n = 0; n <= f.out.n; n++) {
        struct tbp_wire w = tbp_wire_of(f.out.at, n);
        struct tbp_wire_field field;
        int got;
        while ((got = tbp_wire_next(&w, &field)) > 0)
            ;
        cr_assert_eq(is_quick(&f, n), got == 0, "cut to %zu bytes", n);
    }
    tear_down(&f);
}

/* As files have it: lengths and ids of one byte, the offset first. Cut anywhere, what is left is
 * read only if it ends between two fields. */
Test(read, quick_event_reads_short_stats) {
    static const char bytes[] = "\x10\x05\x08\x06"         /* offset 5, id 6 */
                                "\x22\x04\x08\x03\x20\x07" /* group 7 */
                                "\x22\x03\x08\x03\x2a";    /* a text without length */
    const size_t ends[] = {0, 2, 4, 10};
    struct fixture f;
    size_t k = 0;
    set_up(&f);
    tbp_wire_put_raw(&f.out, bytes, sizeof bytes - 1);
    for (size_t n = 0; n < sizeof bytes; n++) {
        bool is_end = k < sizeof ends / sizeof *ends && ends[k] == n;
        k += is_end;
        cr_assert_eq(is_quick(&f, n), is_end, "cut to %zu bytes", n);
        if (n == 10)
            cr_assert(f.got.offset_ps == 5 && f.got.id == 6 && f.got.group == 7);
    }
    tear_down(&f);
}

Test(read, quick_event_id_stands_first_or_behind_the_offset) {
    static const uint8_t first[32] = "\x08\x85\x01\x10\x02", behind[32] = "\x10\x82\x01\x08\x07";
    int64_t id = 0;
    cr_assert(tbp_quick_event_id(tbp_wire_of(first, 5), &id));
    cr_assert_eq(id, 133);
    cr_assert(tbp_quick_event_id(tbp_wire_of(behind, 5), &id));
    cr_assert_eq(id, 7);
    cr_assert_not(tbp_quick_event_id(tbp_wire_of(behind, 4), &id));
    cr_assert_not(tbp_quick_event_id(tbp_wire_of(behind, 3), &id));
    cr_assert_not(tbp_quick_event_id(tbp_wire_of(behind, 0), &id));
}

static void expect_careful(struct fixture *f, const char *what) {
    cr_assert_not(is_quick(f, f->out.n), "%s", what);
    tear_down(f);
}

Test(read, quick_event_leaves_what_must_be_counted) {
    struct fixture f;
    set_up(&f);
    put_u64_stat(&f, STAT_UNKNOWN, TBP_XSTAT_INT64, 1);
    expect_careful(&f, "stat without metadata");
    set_up(&f);
    put_u64_stat(&f, GROUP, TBP_XSTAT_REF, STAT_UNKNOWN);
    expect_careful(&f, "reference to nothing");
    set_up(&f);
    put_text_stat(&f, TBP_STR("\xff"));
    expect_careful(&f, "invalid UTF-8");
    set_up(&f);
    tbp_wire_put_u64(&f.out, 7, 1);
    expect_careful(&f, "unknown field of the event");
    set_up(&f);
    put_u64_stat(&f, GROUP, TBP_XSTAT_REF + 1, 1);
    expect_careful(&f, "unknown field of a stat");
    set_up(&f);
    tbp_wire_end(&f.out, begin_stat(&f, GROUP));
    expect_careful(&f, "stat without a value");
    set_up(&f);
    size_t mark = begin_stat(&f, GROUP);
    tbp_wire_put_u64(&f.out, TBP_XSTAT_INT64, 1);
    tbp_wire_put_u64(&f.out, TBP_XSTAT_INT64, 2);
    tbp_wire_end(&f.out, mark);
    expect_careful(&f, "two values");
    set_up(&f);
    tbp_wire_put_u64(&f.out, TBP_XEVENT_NUM_OCCURRENCES, 4);
    expect_careful(&f, "aggregated event");
}
