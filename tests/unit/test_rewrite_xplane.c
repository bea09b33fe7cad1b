/* SPDX-License-Identifier: Apache-2.0
 *
 * Profiles written again: what is repaired, what is left as it stands. Both sides are text
 * (tests/support/xpt.h).
 */
#include "convert/analyze/rewrite_xplane.h"
#include "tests/support/tiny_run.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>

/* The rewritten profile as text; the caller releases it. */
static struct tbp_wire_out rewritten(const char *text, enum tbp_semantics semantics,
                                     uint64_t max_bytes, bool needed, uint64_t n_left_out) {
    struct tiny_host host = {0};
    struct tiny_run run;
    struct tbp_error err = {0};
    cr_assert_eq(tbp_xpt_parse(tbp_str_c(text), &host.bytes, &err), TBP_OK, "%s", err.message);
    struct tbp_session *s = tiny_open(&run, &host, 1, semantics);
    struct tbp_host *h = tbp_session_host(s, 0, &err);
    cr_assert_not_null(h);
    cr_expect_eq(tbp_rewrite_xplane_is_needed(s, h), needed);
    struct tbp_sink_memory sink;
    tbp_sink_memory_init(&sink, 0);
    struct tbp_rewritten told;
    cr_assert_eq(tbp_rewrite_xplane(s, 0, max_bytes, &sink.base, &told, &err), TBP_OK, "%s",
                 err.message);
    cr_expect_eq(told.n_left_out, n_left_out);
    struct tbp_wire_out out = {0};
    cr_assert_eq(tbp_xpt_print((struct tbp_str){(const char *)sink.data, sink.size}, &out, &err),
                 TBP_OK);
    tbp_sink_memory_release(&sink);
    tiny_close(&run);
    return out;
}

static void check(const char *from, enum tbp_semantics semantics, bool needed, const char *to) {
    struct tbp_wire_out out = rewritten(from, semantics, 0, needed, 0);
    tbp_wire_put_raw(&out, "", 1);
    cr_expect_str_eq((const char *)out.at, to);
    tbp_wire_out_release(&out);
}

Test(rewrite_xplane, copies_what_needs_no_repair) {
    static const char text[] = "hostname \"worker\"\n"
                               "warning \"w\"\n"
                               "plane 3 \"/device:GPU:0\"\n"
                               "  statname #4 \"device_vendor\"\n"
                               "  statname #5 \"tf_op\"\n"
                               "  name #9 \"gemm\" display \"G\" tf_op=\"a\"\n"
                               "  stat device_vendor=\"AMD\"\n"
                               "  line 7 \"Stream #7\" at 5ns lasts 1us display 2 \"seven\"\n"
                               "    1us +2us \"gemm\" tf_op=@\"tf_op\"\n"
                               "    count 3 +5us \"gemm\"\n"
                               "plane 4 \"/host:CPU\"\n";
    check(text, TBP_SEMANTICS_REPAIR, false, text);
}

static const char old_gpu[] =
    "plane 1 \"/device:GPU:0\"\n"
    "  statname #1 \"level 0\"\n"
    "  statname #2 \"kernel_details\"\n"
    "  name #1 \"k\"\n"
    "  line 7 \"Stream #7\"\n"
    "    0 +2us \"k\" \"level 0\"=\"a:B\" kernel_details=\"regs:8 shm:16 grid:1,1,1\"\n"
    "plane 2 \"/host:CPU\"\n";

Test(rewrite_xplane, gives_old_kernels_the_names_of_today) {
    check(old_gpu, TBP_SEMANTICS_REPAIR, true,
          "plane 1 \"/device:GPU:0\"\n"
          "  statname #1 \"level 0\"\n"
          "  statname #2 \"kernel_details\"\n"
          "  statname #3 \"tf_op\"\n"
          "  statname #4 \"device_vendor\"\n"
          "  statname #5 \"tbprof_repair_level_0\"\n"
          "  statname #6 \"tbprof_repair_shm\"\n"
          "  statname #7 \"tbprof_repair_vendor\"\n"
          "  name #1 \"k\"\n"
          "  stat device_vendor=\"Nvidia\"\n"
          "  stat tbprof_repair_level_0=1\n"
          "  stat tbprof_repair_shm=1\n"
          "  stat tbprof_repair_vendor=1\n"
          "  line 7 \"Stream #7\"\n"
          "    0 +2us \"k\" tf_op=\"a:B\" "
          "kernel_details=\"regs:8 static_shared:16 dynamic_shared:0 grid:1,1,1\"\n"
          "plane 2 \"/host:CPU\"\n");
}

Test(rewrite_xplane, repairs_nothing_under_official_semantics) {
    check(old_gpu, TBP_SEMANTICS_OFFICIAL, false, old_gpu);
}

Test(rewrite_xplane, marks_steps_and_makes_their_numbers_signed) {
    check("plane 1 \"/host:CPU\"\n"
          "  line 1 \"main\"\n"
          "    0 +9us \"train\" step_num=1u\n"
          "    1us +1us \"a:A\"\n",
          TBP_SEMANTICS_REPAIR, true,
          "plane 1 \"/host:CPU\"\n"
          "  statname #1 \"step_num\"\n"
          "  statname #2 \"_r\"\n"
          "  statname #3 \"tbprof_repair_step_num\"\n"
          "  statname #4 \"tbprof_repair_unsigned\"\n"
          "  name #1 \"train\"\n"
          "  name #2 \"a:A\"\n"
          "  stat tbprof_repair_step_num=1\n"
          "  stat tbprof_repair_unsigned=1\n"
          "  line 1 \"main\"\n"
          "    0 +9us \"train\" step_num=1 _r=1\n"
          "    1us +1us \"a:A\"\n");
}

Test(rewrite_xplane, counts_epoch_times_from_the_first_line) {
    check("plane 1 \"/host:CPU\"\n"
          "  name #1 \"a\"\n"
          "  line 1 \"main\" at 1700000000000000000ns\n"
          "  line 2 \"late\" at 1700000000000000005ns\n"
          "    1us +1us \"a\"\n",
          TBP_SEMANTICS_REPAIR, true,
          "plane 1 \"/host:CPU\"\n"
          "  statname #1 \"tbprof_epoch_ns\"\n"
          "  statname #2 \"tbprof_repair_epoch\"\n"
          "  name #1 \"a\"\n"
          "  stat tbprof_epoch_ns=1700000000000000000\n"
          "  stat tbprof_repair_epoch=1\n"
          "  line 1 \"main\"\n"
          "  line 2 \"late\" at 5ns\n"
          "    1us +1us \"a\"\n");
}

Test(rewrite_xplane, puts_events_in_order_of_time) {
    check("plane 1 \"/host:CPU\"\n"
          "  name #1 \"late\"\n"
          "  name #2 \"early\"\n"
          "  line 1 \"main\"\n"
          "    5us +1us \"late\"\n"
          "    1us +1us \"early\"\n",
          TBP_SEMANTICS_REPAIR, true,
          "plane 1 \"/host:CPU\"\n"
          "  statname #1 \"tbprof_repair_order\"\n"
          "  name #1 \"late\"\n"
          "  name #2 \"early\"\n"
          "  stat tbprof_repair_order=1\n"
          "  line 1 \"main\"\n"
          "    1us +1us \"early\"\n"
          "    5us +1us \"late\"\n");
}

Test(rewrite_xplane, makes_bad_text_readable_and_adds_a_host_plane) {
    check("plane 1 \"/device:TPU:0\"\n"
          "  line 1 \"a\\xffb\"\n"
          "    1us +1us \"n\\xfe\" s=\"\\xff\"\n",
          TBP_SEMANTICS_OFFICIAL, true,
          "plane 1 \"/device:TPU:0\"\n"
          "  statname #1 \"s\"\n"
          "  name #1 \"n\xef\xbf\xbd\"\n"
          "  line 1 \"a\xef\xbf\xbd"
          "b\"\n"
          "    1us +1us \"n\xef\xbf\xbd\" s=\"\xef\xbf\xbd\"\n"
          "plane 2 \"/host:CPU\"\n");
}

/* Steps that were repaired once, and a line out of order that was not; the sum is told in the end.
 */
Test(rewrite_xplane, adds_to_what_was_repaired_before) {
    check("plane 1 \"/host:CPU\"\n"
          "  statname #1 \"tbprof_repair_step_num\"\n"
          "  statname #2 \"tbprof_repair_order\"\n"
          "  name #1 \"late\"\n"
          "  name #2 \"early\"\n"
          "  stat tbprof_repair_step_num=4\n"
          "  stat tbprof_repair_order=2\n"
          "  line 1 \"main\"\n"
          "    5us +1us \"late\"\n"
          "    1us +1us \"early\"\n",
          TBP_SEMANTICS_REPAIR, true,
          "plane 1 \"/host:CPU\"\n"
          "  statname #1 \"tbprof_repair_step_num\"\n"
          "  statname #2 \"tbprof_repair_order\"\n"
          "  name #1 \"late\"\n"
          "  name #2 \"early\"\n"
          "  stat tbprof_repair_step_num=4\n"
          "  stat tbprof_repair_order=3\n"
          "  line 1 \"main\"\n"
          "    1us +1us \"early\"\n"
          "    5us +1us \"late\"\n");
}

/* What an input lacked from which the file was converted stays with it, whatever is done to it. */
Test(rewrite_xplane, keeps_what_was_lost_before) {
    check("plane 1 \"/host:CPU\"\n"
          "  statname #1 \"tbprof_json_cut\"\n"
          "  statname #2 \"tbprof_events_dropped\"\n"
          "  statname #3 \"tbprof_event_dropped\"\n"
          "  name #1 \"late\"\n"
          "  name #2 \"early\"\n"
          "  stat tbprof_json_cut=1\n"
          "  stat tbprof_events_dropped=3\n"
          "  stat tbprof_event_dropped=3\n"
          "  line 1 \"main\"\n"
          "    5us +1us \"late\"\n"
          "    1us +1us \"early\"\n",
          TBP_SEMANTICS_REPAIR, true,
          "plane 1 \"/host:CPU\"\n"
          "  statname #1 \"tbprof_json_cut\"\n"
          "  statname #2 \"tbprof_events_dropped\"\n"
          "  statname #3 \"tbprof_event_dropped\"\n"
          "  statname #4 \"tbprof_repair_order\"\n"
          "  name #1 \"late\"\n"
          "  name #2 \"early\"\n"
          "  stat tbprof_repair_order=1\n"
          "  stat tbprof_event_dropped=3\n"
          "  stat tbprof_json_cut=1\n"
          "  stat tbprof_events_dropped=3\n"
          "  line 1 \"main\"\n"
          "    1us +1us \"early\"\n"
          "    5us +1us \"late\"\n");
}

/* The plane that was added for plugin 2.19.0 is no plane of the profile, and stays in the file. */
Test(rewrite_xplane, leaves_out_what_it_added_before) {
    static const char text[] = "plane 4 \"/device:GPU:0\"\n"
                               "  statname #1 \"device_vendor\"\n"
                               "  stat device_vendor=\"AMD\"\n"
                               "plane 5 \"/host:CPU\"\n"
                               "  statname #1 \"tbprof_added\"\n"
                               "  stat tbprof_added=1\n";
    check(text, TBP_SEMANTICS_REPAIR, false, text);
    check(text, TBP_SEMANTICS_OFFICIAL, false, text);
}

/* 1000 events of 1 us, 10 of 1 ms and one that a stat ties to others: the short ones go, the others
 * stay. */
Test(rewrite_xplane, leaves_short_host_events_out_of_a_file_that_is_too_large) {
    struct tbp_wire_out out = rewritten("plane 1 \"/host:CPU\"\n"
                                        "  line 1 \"main\"\n"
                                        "    0 +2us \"linked\" _pt=1 _p=2\n"
                                        "    repeat 1000 every 1us 0 +1us \"short\"\n"
                                        "    repeat 10 every 1ms 1ms +1ms \"long\"\n",
                                        TBP_SEMANTICS_REPAIR, 2000, false, 1000);
    struct tbp_str text = {(const char *)out.at, out.n};
    size_t n_long = 0;
    for (size_t i = 0; i + 10 < text.n; i++)
        n_long += memcmp(text.p + i, "+1ms \"long\"", 11) == 0;
    cr_expect_eq(n_long, 10);
    cr_expect(tbp_str_has(text, "+2us \"linked\" _pt=1 _p=2"));
    cr_expect(!tbp_str_has(text, "+1us \"short\""));
    tbp_wire_out_release(&out);
}
