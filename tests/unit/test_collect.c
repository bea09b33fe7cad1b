/* SPDX-License-Identifier: Apache-2.0
 *
 * Spools made by hand and the profiles that come out of them, compared as text. A tick is a
 * nanosecond, so that times can be checked by looking at them.
 */
#include "plugin_data/collect.h"
#include "tests/support/spool_maker.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>

static struct spool_maker m;
static struct tbp_wire_out text;

static void begin(void) {
    spool_maker_init(&m);
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 0);
}

static void end(void) {
    spool_maker_release(&m);
    tbp_wire_out_release(&text);
}

TestSuite(collect, .init = begin, .fini = end);

static const char *profile(void) {
    spool_profile(&m, &text);
    return (const char *)text.at;
}

/* The lines of `expected` stand in the profile, in this order, each whole. */
static void expect_lines(const char *expected) {
    const char *all = profile(), *at = all;
    while (*expected) {
        size_t n = strcspn(expected, "\n");
        const char *found = at;
        for (;; found++) {
            found = strstr(found, "\n");
            cr_assert_not_null(found, "missing: '%.*s' in\n%s", (int)n, expected, all);
            const char *line = found + 1 + strspn(found + 1, " ");
            if (strncmp(line, expected, n) == 0 && (line[n] == '\n' || !line[n]))
                break;
        }
        at = found + 1;
        expected += n + (expected[n] == '\n');
    }
}

static void expect_none(const char *part) {
    cr_assert_null(strstr(profile(), part), "there is '%s' in\n%s", part, profile());
}

static struct tbp_spool_arg i64(uint32_t key, int64_t v) {
    return (struct tbp_spool_arg){key, TBP_ARG_I64, 0, 0, (uint64_t)v};
}

Test(collect, scopes_become_events_with_their_durations) {
    uint32_t outer = spool_string(&m, "outer"), inner = spool_string(&m, "inner");
    spool_begin(&m, 5000, outer);
    spool_begin(&m, 6000, inner);
    spool_end(&m, 7000, 1);
    spool_end(&m, 9000, 1);
    expect_lines("line 77 \"thread 77\"\n"
                 "5us +4us \"outer\"\n"
                 "6us +1us \"inner\"\n");
    expect_none("warning");
}

Test(collect, one_end_may_end_several_scopes) {
    uint32_t a = spool_string(&m, "a");
    spool_begin(&m, 10, a);
    spool_begin(&m, 20, a);
    spool_begin(&m, 30, a);
    spool_end(&m, 100, 2);
    spool_end(&m, 200, 1);
    expect_lines("10ns +190ns \"a\"\n20ns +80ns \"a\"\n30ns +70ns \"a\"\n");
}

Test(collect, a_step_has_step_num_and_root_as_signed_numbers) {
    uint32_t num = spool_string(&m, "step_num"), root = spool_string(&m, "_r");
    struct tbp_spool_slot *at =
        spool_record(&m, 100, TBP_REC_BEGIN, spool_string(&m, "train"), 1 << 16, 2);
    struct tbp_spool_arg args[] = {{num, TBP_ARG_U64, 0, 0, 7}, i64(root, 1)};
    memcpy(at + 1, args, sizeof args);
    spool_end(&m, 300, 1);
    expect_lines("100ns +200ns \"train\" step_num=7 _r=1\n");
}

Test(collect, arguments_in_a_name_become_stats) {
    spool_begin_text(&m, 100, "MatMul#m=3,shape=[1,2],who=me,rate=0.5,step_num=9#");
    spool_end(&m, 200, 1);
    expect_lines("100ns +100ns \"MatMul\" m=3 shape=\"[1,2]\" who=\"me\" rate=0.5 "
                 "step_num=9\n");
}

Test(collect, late_arguments_belong_to_their_scope_and_win) {
    uint32_t key = spool_string(&m, "key"), a = spool_string(&m, "a"), b = spool_string(&m, "b");
    spool_value(&m, 10, TBP_REC_BEGIN, a, 1 << 16, i64(key, 1));
    spool_begin(&m, 20, b);
    spool_value(&m, 30, TBP_REC_ARGS, 0, 1, i64(key, 2)); /* one level around the innermost */
    spool_value(&m, 30, TBP_REC_ARGS, 0, 0, i64(key, 3));
    spool_end(&m, 40, 1);
    spool_value(&m, 50, TBP_REC_END, 0, 1, i64(spool_string(&m, "end"), 4));
    expect_lines("10ns +40ns \"a\" key=2 end=4\n20ns +20ns \"b\" key=3\n");
}

Test(collect, flows_become_producer_and_consumer) {
    uint32_t a = spool_string(&m, "a");
    spool_begin(&m, 10, a);
    spool_value(&m, 11, TBP_REC_FLOW_OUT, 0, 2, i64(0, 900));
    spool_value(&m, 12, TBP_REC_FLOW_OUT, 0, 2, i64(0, 901));
    spool_end(&m, 20, 1);
    spool_begin(&m, 30, a);
    spool_value(&m, 31, TBP_REC_FLOW_IN, 0, 2, i64(0, 900));
    spool_end(&m, 40, 1);
    expect_lines("10ns +10ns \"a\" _pt=2 _p=900u\n"
                 "12ns +0 \"produce\" _pt=2 _p=901u\n"
                 "30ns +10ns \"a\" _ct=2 _c=900u\n");
}

Test(collect, scopes_that_cross_chunks_find_their_end) {
    uint32_t a = spool_string(&m, "a"), b = spool_string(&m, "b"), key = spool_string(&m, "key");
    spool_begin(&m, 10, a);
    spool_begin(&m, 20, b);
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 1);
    spool_value(&m, 25, TBP_REC_ARGS, 0, 1, i64(key, 5));
    spool_end(&m, 30, 1);
    spool_begin(&m, 40, b);
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 2);
    spool_end(&m, 50, 1);
    spool_end(&m, 60, 1);
    expect_lines("10ns +50ns \"a\" key=5\n20ns +10ns \"b\"\n40ns +10ns \"b\"\n");
    expect_none("warning");
}

Test(collect, open_scopes_end_with_the_recording_and_are_marked) {
    spool_begin(&m, 10, spool_string(&m, "a"));
    /* the process lived at least until the last anchor, 1 ms after the start */
    expect_lines("warning \"tbprof: 1 scopes were open when recording ended and are shown up to "
                 "there\"\n"
                 "10ns +999990ns \"a\" open_at_end=1\n");
}

Test(collect, ends_without_begin_are_told) {
    uint32_t a = spool_string(&m, "a");
    m.chunk->sequence = 5; /* the ring forgot chunks 0 … 4 */
    m.head->n_dropped[TBP_DROP_RING] = 1234;
    spool_end(&m, 100, 2);
    spool_begin(&m, 200, a);
    spool_end(&m, 300, 1);
    expect_lines("warning \"tbprof: the ring kept the last 0.001 s; 1234 older records were "
                 "forgotten: raise max_host_bytes to keep more\"\n"
                 "warning \"tbprof: 2 scopes are not shown because they began before the first "
                 "record that was kept\"\n"
                 "0 +0 \"tbprof: records dropped\" reason=\"forgotten by the ring\"\n"
                 "100ns +100ns \"a\"\n"); /* from the first record that is left */
}

Test(collect, a_ring_has_kept_all_since_the_last_thread_that_it_forgot_of) {
    const uint64_t s = 1000000000;
    uint32_t a = spool_string(&m, "a"), rss = spool_string(&m, "rss");
    m.head->n_dropped[TBP_DROP_RING] = 30;
    spool_value(&m, s, TBP_REC_COUNTER, rss, 0, i64(0, 5)); /* a sampler: its chunk is not full */
    spool_value(&m, 10 * s, TBP_REC_COUNTER, rss, 0, i64(0, 6));
    spool_chunk(&m, 2, 78, 3);
    spool_begin(&m, 4 * s, a);
    spool_end(&m, 5 * s, 1);
    spool_chunk(&m, 3, 79, 7);
    spool_begin(&m, 6 * s, a);
    spool_end(&m, 9 * s, 1);
    spool_chunk(&m, 4, 80, 0); /* began late and lost nothing */
    spool_begin(&m, 8 * s, a);
    spool_end(&m, 9 * s, 1);
    expect_lines("warning \"tbprof: the ring kept the last 4.000 s; 30 older records were "
                 "forgotten: raise max_host_bytes to keep more\"\n"
                 "0 +0 \"rss\" value=5\n" /* what is older stays */
                 "3s +0 \"tbprof: records dropped\" reason=\"forgotten by the ring\"\n"
                 "3000000000001ps +999999999999ps \"a\"\n"
                 "5s +0 \"tbprof: records dropped\" reason=\"forgotten by the ring\"\n"
                 "line 80 \"thread 80\"\n"
                 "7s +1s \"a\"\n");
}

Test(collect, lost_chunks_cut_what_was_open) {
    uint32_t a = spool_string(&m, "a");
    spool_begin(&m, 100, a);
    spool_begin(&m, 150, a);
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 2); /* 1 is lost */
    spool_end(&m, 300, 1);
    spool_begin(&m, 400, a);
    spool_end(&m, 500, 1);
    expect_lines("100ns +50ns \"a\" cut_by_lost_records=1\n"
                 "150ns +0 \"a\" cut_by_lost_records=1\n"
                 "400ns +100ns \"a\"\n");
}

Test(collect, dropped_records_are_told_at_their_place) {
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 1)->n_lost_before = 17;
    m.head->n_dropped[TBP_DROP_CAP] = 17;
    spool_begin(&m, 400, spool_string(&m, "a"));
    spool_end(&m, 500, 1);
    expect_lines("warning \"tbprof: 17 records were dropped because max_host_bytes was reached: "
                 "raise it, shorten the recording, or choose full_policy ring\"\n"
                 "400ns +0 \"tbprof: records dropped\" count=17u\n"
                 "400001ps +99999ps \"a\"\n"); /* the longer one must not stand behind */
}

Test(collect, activities_get_lines_on_which_they_do_not_overlap) {
    uint32_t a = spool_string(&m, "a"), b = spool_string(&m, "b");
    spool_value(&m, 100, TBP_REC_ASYNC_BEGIN, a, 0, i64(0, 1));
    spool_value(&m, 150, TBP_REC_ASYNC_BEGIN, b, 0, i64(0, 2));
    spool_value(&m, 300, TBP_REC_ASYNC_END, 0, 0, i64(0, 2));
    spool_chunk(&m, 2, 78, 0); /* another thread ends the first and begins a third */
    spool_value(&m, 200, TBP_REC_ASYNC_END, 0, 0, i64(0, 1));
    spool_value(&m, 250, TBP_REC_ASYNC_BEGIN, a, 0, i64(0, 3));
    spool_value(&m, 350, TBP_REC_ASYNC_END, 0, 0, i64(0, 3));
    expect_lines("line 2130706432 \"Activities 1\"\n"
                 "100ns +100ns \"a\" _a=1 activity=1u\n"
                 "250ns +100ns \"a\" _a=1 activity=3u\n"
                 "line 2130706433 \"Activities 2\"\n"
                 "150ns +150ns \"b\" _a=1 activity=2u\n");
}

Test(collect, counters_of_all_threads_are_one_line_in_order_of_time) {
    uint32_t c = spool_string(&m, "loss");
    spool_value(&m, 100, TBP_REC_COUNTER, c, 0, i64(0, 5));
    spool_value(&m, 300, TBP_REC_COUNTER, c, 0, i64(0, 3));
    spool_chunk(&m, 2, 78, 0);
    spool_value(&m, 200, TBP_REC_COUNTER, c, 0, i64(0, 4));
    expect_lines("line 2130706687 \"_counters_\"\n"
                 "100ns +0 \"loss\" value=5\n"
                 "200ns +0 \"loss\" value=4\n"
                 "300ns +0 \"loss\" value=3\n");
    expect_none("\"thread 77\"");
}

Test(collect, allocations_carry_the_running_totals_of_their_allocator) {
    uint32_t cpu = spool_string(&m, "cpu"), temp = spool_string(&m, "temp"),
             shape = spool_string(&m, "[2]"), layer = spool_string(&m, "dense");
    struct tbp_spool_memory *base =
        (void *)(spool_record(&m, 10, TBP_REC_MEMORY_BASE, cpu, 0, 4) + 1);
    *base = (struct tbp_spool_memory){.address = 10000, .requested_bytes = 1000};
    spool_record(&m, 50, TBP_REC_ANNOTATION, layer, 0, 0);
    spool_alloc(&m, 100, cpu,
                (struct tbp_spool_memory){0xa0, 200, 256, temp, shape, 1, 0, {0, 0, 0}});
    spool_record(&m, 150, TBP_REC_ANNOTATION_END, 0, 0, 0);
    spool_free(&m, 300, cpu, 0xa0);
    spool_free(&m, 400, cpu, 0xdead); /* from before the recording */
    spool_chunk(&m, 2, 78, 0);        /* another thread, between the two */
    spool_alloc(&m, 200, cpu, (struct tbp_spool_memory){0xb0, 500, 512, 0, 0, 0, 0, {0, 0, 0}});
    expect_lines(
        "line 77 \"thread 77\"\n"
        "100ns +0 \"MemoryAllocation\" allocator_name=@\"cpu\" bytes_reserved=0 "
        "bytes_allocated=1256 bytes_available=8744 peak_bytes_in_use=1256 requested_bytes=200 "
        "allocation_bytes=256 addr=160u tf_op=\"dense\" region_type=@\"temp\" shape=@\"[2]\" "
        "data_type=1\n"
        "300ns +0 \"MemoryDeallocation\" allocator_name=@\"cpu\" bytes_reserved=0 "
        "bytes_allocated=1512 bytes_available=8488 peak_bytes_in_use=1768 requested_bytes=200 "
        "allocation_bytes=256 addr=160u\n"
        "400ns +0 \"MemoryDeallocation\" allocator_name=@\"cpu\" bytes_reserved=0 "
        "bytes_allocated=1512 bytes_available=8488 peak_bytes_in_use=1768 requested_bytes=0 "
        "allocation_bytes=0 addr=57005u\n"
        "line 78 \"thread 78\"\n"
        "200ns +0 \"MemoryAllocation\" allocator_name=@\"cpu\" bytes_reserved=0 "
        "bytes_allocated=1768 bytes_available=8232 peak_bytes_in_use=1768 requested_bytes=500 "
        "allocation_bytes=512 addr=176u data_type=0\n");
}

static void span(uint64_t ticks, uint32_t name, int64_t start_ns, uint64_t dur_ns) {
    struct tbp_spool_slot *at = spool_record(&m, ticks, TBP_REC_SPAN, name, 0, 2);
    struct tbp_spool_arg arg = {0, TBP_ARG_SPAN, 1, 0, (uint64_t)(SPOOL_START_NS + start_ns)};
    memcpy(at + 1, &arg, sizeof arg);
    memcpy(at + 2, &dur_ns, sizeof dur_ns);
}

Test(collect, spans_timed_elsewhere_are_sorted_in) {
    uint32_t a = spool_string(&m, "a"), s = spool_string(&m, "s");
    spool_begin(&m, 1000, a);
    spool_end(&m, 2000, 1);
    span(2500, s, 1500, 100);
    span(2500, s, 500, 100);
    span(2500, s, 1000, 3000); /* as early as the scope, longer */
    span(2500, s, -100, 150);  /* begins before the profile */
    span(2500, s, -100, 50);   /* and ends before */
    expect_lines("warning \"tbprof: 1 spans ended before the profile begins\"\n"
                 "0 +50ns \"s\"\n"
                 "500ns +100ns \"s\"\n"
                 "1us +3us \"s\"\n"
                 "1us +1us \"a\"\n"
                 "1500ns +100ns \"s\"\n");
}

Test(collect, times_are_interpolated_between_anchors) {
    /* 2 ticks per ns in the first microsecond, 4 in the second */
    static const struct tbp_spool_anchor anchors[] = {
        {1000, SPOOL_START_NS, 500},
        {3000, SPOOL_START_NS + 1000, 1500},
        {7000, SPOOL_START_NS + 2000, 2500},
    };
    uint32_t a = spool_string(&m, "a");
    spool_anchors(&m, anchors, 3);
    spool_begin(&m, 1001, a); /* after 500.5 ns */
    spool_end(&m, 3001, 1);   /* 1000 + 250.25 */
    spool_begin(&m, 8000, a); /* after the last anchor: 2000 + 500 */
    spool_end(&m, 8004, 1);
    expect_lines("500500ps +749750ps \"a\"\n2500ns +1ns \"a\"\n");
}

Test(collect, a_set_wall_clock_is_told_and_does_no_harm) {
    static const struct tbp_spool_anchor anchors[] = {
        {1000, SPOOL_START_NS, 500},
        {3000, SPOOL_START_NS - INT64_C(5000000000), 2500},
    };
    spool_anchors(&m, anchors, 2);
    spool_begin(&m, 500, spool_string(&m, "a"));
    spool_end(&m, 600, 1);
    expect_lines("warning \"tbprof: the wall clock was set by -5.000 s during the recording; times "
                 "go on as if it had not been\"\n"
                 "500ns +100ns \"a\"\n");
}

Test(collect, lines_are_sorted_by_name_and_numbers_used_twice_stay_apart) {
    uint32_t a = spool_string(&m, "a");
    memcpy(m.chunk->thread_name, "zebra", 6);
    spool_begin(&m, 10, a);
    spool_end(&m, 20, 1);
    memcpy(spool_chunk(&m, 2, SPOOL_MAKER_TID, 0)->thread_name, "ape", 4);
    spool_begin(&m, 30, a);
    spool_end(&m, 40, 1);
    spool_record(&m, 50, TBP_REC_THREAD_NAME, spool_string(&m, "bear"), 0, 0);
    expect_lines("line 1073741825 \"bear\"\n30ns +10ns \"a\"\n"
                 "line 77 \"zebra\"\n10ns +10ns \"a\"\n");
}

Test(collect, the_environment_tells_times_options_and_metadata) {
    uint32_t model = spool_string(&m, "model");
    struct tbp_spool_arg value = {0, TBP_ARG_ID, 0, 0, spool_string(&m, "old")};
    spool_value(&m, 10, TBP_REC_METADATA, model, 0, value);
    value.value = spool_string(&m, "resnet");
    spool_value(&m, 20, TBP_REC_METADATA, model, 0, value);
    memcpy(m.head->options, "host_tracer_level=2\n", 21);
    expect_lines("plane 2 \"Task Environment\"\n"
                 "stat profile_start_time=1767225600000000000u\n"
                 "stat profile_stop_time=1767225600001000000u\n"
                 "stat profile_options=\"host_tracer_level=2\\n\"\n"
                 "stat model=\"resnet\"\n");
    expect_none("\"old\"");
}

/* 9223372036854775807 ns is the last moment that there is. */
Test(collect, a_start_beyond_all_times_ends_at_the_last_one) {
    m.head->start_realtime_ns = INT64_MAX - 1;
    spool_begin(&m, 10, spool_string(&m, "a"));
    spool_end(&m, 5000, 1);
    expect_lines("stat profile_stop_time=9223372036854775807u\n");
}

/* ---- snapshots ---- */

static const char *collected(struct tbp_collect_request request) {
    request.data = m.data;
    request.size_bytes = m.size_bytes;
    struct tbp_collect_result result;
    struct tbp_sink_memory sink;
    struct tbp_collect *c;
    tbp_sink_memory_init(&sink, 0);
    cr_assert_eq(tbp_collect_open(&c, &request, NULL), TBP_OK);
    cr_assert_eq(tbp_collect_write(c, &sink.base, &result, NULL), TBP_OK);
    tbp_collect_commit(c);
    tbp_collect_free(c);
    text.n = 0;
    tbp_xpt_print((struct tbp_str){(const char *)sink.data, sink.size}, &text, NULL);
    tbp_wire_put_raw(&text, "", 1);
    tbp_sink_memory_release(&sink);
    return (const char *)text.at;
}

static const char *snapshot(struct tbp_collect_carry *carry, int64_t until_ns) {
    return collected((struct tbp_collect_request){.carry = carry,
                                                  .until_realtime_ns = SPOOL_START_NS + until_ns});
}

static bool holds(const char *profile_text, const char *part) {
    return strstr(profile_text, part) != NULL;
}

/* Two scopes of each of the levels 1 to 4. */
Test(collect, beyond_max_events_only_the_highest_levels_go) {
    uint64_t ticks = 1000;
    char name[] = "level 1";
    for (m.level = 1; m.level <= 4; m.level++, name[6]++)
        for (int i = 0; i < 2; i++, ticks += 1000) {
            spool_begin(&m, ticks, spool_string(&m, name));
            spool_end(&m, ticks + 500, 1);
        }
    struct tbp_collect_request request = {.until_realtime_ns = INT64_MAX, .max_events = 8};
    cr_assert(holds(collected(request), "+500ns \"level 4\"") &&
              !holds((char *)text.at, "warning"));
    request.max_events = 7;
    cr_assert(holds(collected(request), "+500ns \"level 3\"") &&
              !holds((char *)text.at, "+500ns \"level 4\""));
    cr_assert(holds((char *)text.at, "2 scopes above level 3 were left out to keep the profile "
                                     "near max_events"));
    request.max_events = 1; /* what says most stays */
    cr_assert(holds(collected(request), "+500ns \"level 2\"") &&
              !holds((char *)text.at, "+500ns \"level 3\""));
    cr_assert(holds((char *)text.at, "holds 3 scopes more than max_events asks for"));
}

Test(collect, a_session_without_records_says_so) {
    cr_assert(holds(collected((struct tbp_collect_request){.until_realtime_ns = INT64_MAX}),
                    "nothing was recorded in this session"));
}

Test(collect, snapshots_split_what_is_open_and_repeat_nothing) {
    uint32_t a = spool_string(&m, "a"), b = spool_string(&m, "b"), cpu = spool_string(&m, "cpu");
    struct tbp_collect_carry *carry = tbp_collect_carry_new();
    m.head->state = TBP_SPOOL_RECORDING;
    spool_begin(&m, 100, a);
    spool_begin(&m, 110, b);
    spool_end(&m, 120, 1);
    spool_alloc(&m, 130, cpu, (struct tbp_spool_memory){1, 10, 16, 0, 0, 0, 0, {0, 0, 0}});
    spool_value(&m, 140, TBP_REC_ASYNC_BEGIN, b, 0, i64(0, 9));
    spool_begin(&m, 250, b); /* after the first border */
    const char *first = snapshot(carry, 200);
    cr_expect_not_null(strstr(first, "100ns +100ns \"a\" open_at_end=1\n"), "%s", first);
    cr_expect_not_null(strstr(first, "110ns +10ns \"b\"\n"), "%s", first);
    cr_expect_not_null(strstr(first, "140ns +60ns \"b\" _a=1"), "%s", first);
    cr_expect_null(strstr(first, "250ns"), "%s", first);
    cr_expect_eq(m.chunk->consumed, m.chunk->committed - 16); /* all but the last begin */
    spool_end(&m, 260, 1);
    spool_free(&m, 270, cpu, 1);
    spool_value(&m, 280, TBP_REC_ASYNC_END, 0, 0, i64(0, 9));
    spool_end(&m, 290, 1);
    const char *second = snapshot(carry, 1000);
    cr_expect_not_null(strstr(second, "0 +90ns \"a\" continued=1\n"), "%s", second);
    cr_expect_not_null(strstr(second, "50ns +10ns \"b\"\n"), "%s", second);
    cr_expect_not_null(strstr(second, "0 +80ns \"b\" _a=1"), "%s", second);
    cr_expect_not_null(strstr(second, "requested_bytes=10 allocation_bytes=16"), "%s", second);
    cr_expect_null(strstr(second, "warning"), "%s", second);
    cr_expect_not_null(strstr(second, "profile_start_time=1767225600000000200u"), "%s", second);
    tbp_collect_carry_free(carry);
}

/* Chunk 0 is taken by the snapshot, 1 and 2 are forgotten, and the end of "a" in one of them. */
Test(collect, what_a_ring_forgot_after_a_snapshot_may_have_ended_what_was_open) {
    uint32_t a = spool_string(&m, "a"), b = spool_string(&m, "b");
    struct tbp_collect_carry *carry = tbp_collect_carry_new();
    m.head->state = TBP_SPOOL_RECORDING;
    spool_begin(&m, 100, a);
    const char *first = snapshot(carry, 200);
    cr_expect_not_null(strstr(first, "100ns +100ns \"a\" open_at_end=1\n"), "%s", first);
    m.chunk->state = TBP_SPOOL_CHUNK_UNUSED;
    m.head->n_dropped[TBP_DROP_RING] = 7;
    spool_chunk(&m, 1, SPOOL_MAKER_TID, 3);
    spool_begin(&m, 400, b);
    spool_end(&m, 500, 1);
    const char *second = snapshot(carry, 600);
    cr_expect_not_null(strstr(second, "0 +0 \"a\" continued=1 cut_by_lost_records=1\n"), "%s",
                       second);
    cr_expect_not_null(strstr(second, "200ns +0 \"tbprof: records dropped\" reason=\"forgotten by "
                                      "the ring\"\n"),
                       "%s", second);
    cr_expect_null(strstr(second, "open_at_end=1"), "%s", second);
    const char *third = snapshot(carry, 1000);
    cr_expect_null(strstr(third, "\"a\" "), "%s", third);
    tbp_collect_carry_free(carry);
}

/* ---- damage ---- */

Test(collect, records_that_run_out_of_their_chunk_are_left_out) {
    uint32_t a = spool_string(&m, "a");
    spool_begin(&m, 10, a);
    spool_end(&m, 20, 1);
    spool_record(&m, 30, TBP_REC_BEGIN, a, 0, 0)->head = TBP_SPOOL_HEAD(30, TBP_REC_BEGIN, 40);
    expect_lines("warning \"tbprof: 1 places in the spool make no sense and were left out\"\n"
                 "10ns +10ns \"a\"\n");
    expect_none("30ns");
}

Test(collect, a_spool_may_end_anywhere) {
    uint32_t a = spool_string(&m, "a");
    for (int i = 0; i < 100; i++) {
        spool_begin(&m, 10 + 2 * (uint64_t)i, a);
        spool_end(&m, 11 + 2 * (uint64_t)i, 1);
    }
    uint64_t records = (uint64_t)((uint8_t *)(m.chunk + 1) - m.data);
    m.size_bytes = records + 3 * 2 * 16 + 5; /* inside the seventh record */
    expect_lines("10ns +1ns \"a\"\n12ns +1ns \"a\"\n14ns +1ns \"a\"\n");
    expect_none("16ns");
    m.size_bytes = 100;
    cr_expect_str_eq(profile(), "error: the spool ends inside its header");
    m.size_bytes = 4;
    cr_expect_str_eq(profile(), "error: not a spool of tbprof");
}

Test(collect, chunks_of_an_earlier_session_are_not_shown) {
    uint32_t a = spool_string(&m, "a");
    m.chunk->generation = 9;
    spool_begin(&m, 10, a);
    spool_end(&m, 20, 1);
    expect_none("10ns");
}

Test(collect, strings_over_several_records_are_put_together) {
    char name[1500];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    name[960] = '\0';
    uint32_t id = spool_string(&m, name);
    name[960] = 'y';
    m.n_strings--; /* the second part has the same id */
    cr_assert_eq(spool_string(&m, name + 960), id);
    spool_begin(&m, 10, id);
    spool_end(&m, 20, 1);
    name[960] = 'y';
    cr_assert_not_null(strstr(profile(), name));
}
