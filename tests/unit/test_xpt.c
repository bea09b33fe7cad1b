/* SPDX-License-Identifier: Apache-2.0
 *
 * The text form of fixtures: what a text means is checked with protobuf-c; printing and parsing
 * give the same again.
 */
#include "schemas/xplane.pb-c.h"
#include "tests/support/xpt.h"

#include <criterion/criterion.h>

static Tbp__XSpace *parsed(const char *text) {
    struct tbp_wire_out out = {0};
    struct tbp_error err = {0};
    cr_assert_eq(tbp_xpt_parse(tbp_str_c(text), &out, &err), TBP_OK, "%s", err.message);
    Tbp__XSpace *s = tbp__xspace__unpack(NULL, out.n, out.at);
    tbp_wire_out_release(&out);
    cr_assert_not_null(s);
    return s;
}

static const char sample[] =
    "hostname \"h\" # a comment\n"
    "plane 2 \"/host:CPU\"\n"
    "  stat process_id=77 \"level 0\"=\"x y\"\n"
    "  name #5 \"train\" display \"T\"\n"
    "  line 7 \"main\" at 1.5us display 3 \"shown\"\n"
    "    1ns +2.5ns \"train\" a=-1 b=2u c=0.5 d=\"q\\\"\\x01\" e=b\"\\x00\" f=@\"text\"\n"
    "    count 4 +1us #99\n"
    "    repeat 3 every 1us 10us +1 \"tick\" n=1++\n";

Test(xpt, means_what_it_says) {
    Tbp__XSpace *s = parsed(sample);
    const Tbp__XPlane *p = s->planes[0];
    cr_assert_str_eq(s->hostnames[0], "h");
    cr_assert_eq(p->id, 2);
    cr_assert_eq(p->n_stats, 2);
    cr_assert_eq(p->stats[0]->int64_value, 77);
    const Tbp__XLine *l = p->lines[0];
    cr_assert_eq(l->timestamp_ns, 1500);
    cr_assert_eq(l->display_id, 3);
    cr_assert_eq(l->n_events, 5);
    const Tbp__XEvent *e = l->events[0];
    cr_assert_eq(e->offset_ps, 1000);
    cr_assert_eq(e->duration_ps, 2500);
    cr_assert_eq(e->metadata_id, 5);
    cr_assert_eq(e->stats[0]->int64_value, -1);
    cr_assert_eq(e->stats[1]->uint64_value, 2);
    cr_assert_eq(e->stats[2]->double_value, 0.5);
    cr_assert_str_eq(e->stats[3]->str_value, "q\"\x01");
    cr_assert_eq(e->stats[4]->bytes_value.len, 1);
    cr_assert_eq(e->stats[5]->value_case, TBP__XSTAT__VALUE_REF_VALUE);
    cr_assert_eq(l->events[1]->num_occurrences, 4);
    cr_assert_eq(l->events[1]->metadata_id, 99);
    cr_assert_eq(l->events[4]->offset_ps, 12000000);
    cr_assert_eq(l->events[4]->stats[0]->int64_value, 3);
    tbp__xspace__free_unpacked(s, NULL);
}

Test(xpt, prints_what_it_parses) {
    struct tbp_wire_out bytes = {0}, text = {0}, again = {0}, text_again = {0};
    cr_assert_eq(tbp_xpt_parse(tbp_str_c(sample), &bytes, NULL), TBP_OK);
    cr_assert_eq(tbp_xpt_print((struct tbp_str){(const char *)bytes.at, bytes.n}, &text, NULL),
                 TBP_OK);
    struct tbp_error err = {0};
    struct tbp_str printed = {(const char *)text.at, text.n};
    cr_assert_eq(tbp_xpt_parse(printed, &again, &err), TBP_OK, "%s", err.message);
    cr_assert_eq(
        tbp_xpt_print((struct tbp_str){(const char *)again.at, again.n}, &text_again, NULL),
        TBP_OK);
    cr_assert(tbp_str_eq(printed, (struct tbp_str){(const char *)text_again.at, text_again.n}));
    cr_assert(tbp_str_has(printed, "1ns +2500ps \"train\" a=-1 b=2u c=0.5"));
    tbp_wire_out_release(&bytes);
    tbp_wire_out_release(&text);
    tbp_wire_out_release(&again);
    tbp_wire_out_release(&text_again);
}

static void check_refused(const char *text, const char *message) {
    struct tbp_wire_out out = {0};
    struct tbp_error err = {0};
    cr_expect_eq(tbp_xpt_parse(tbp_str_c(text), &out, &err), TBP_E_FORMAT);
    cr_expect_str_eq(err.message, message);
    tbp_wire_out_release(&out);
}

Test(xpt, tells_the_line_of_a_fault) {
    check_refused("plane 1 \"a\"\n  0 +1 \"x\"\n", "line 2: an event outside a line");
    check_refused("line 1 \"a\"\n", "line 1: plane expected");
    check_refused("plane 1 \"a\"\n line 1 \"l\"\n 0.5ps +1 \"x\"\n",
                  "line 3: time expected, in whole picoseconds");
    check_refused("plane 1 \"a\n", "line 1: text without end");
    check_refused("plane 1 \"a\" b\n", "line 1: more than expected");
}
