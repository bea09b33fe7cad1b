/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines out of order: put in order under repair, taken as they stand under the official rules.
 */
#include "convert/analyze/event_order.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>

/* Names of the events of the only line, in order, one letter each. */
static void check(enum tbp_semantics semantics, const char *names, uint64_t n_repaired) {
    struct tiny_host host = {0};
    struct tiny_run run;
    struct tbp_error err = {0};
    tiny_plane(&host, "/host:CPU");
    tiny_line(&host, 1);
    tiny_event(&host, "d", 30, 5);
    tiny_event(&host, "b", 10, 2);
    tiny_event(&host, "a", 10, 9);
    tiny_event(&host, "c", 10, 2);
    tiny_stat_i64(&host, "group_id", 77);
    struct tbp_session *s = tiny_open(&run, &host, 1, semantics);
    struct tbp_host *h = tbp_session_raw_host(s, 0, &err);
    cr_assert_not_null(h);
    const struct tbp_line *l = &h->planes[0].lines[0];
    cr_assert_eq(l->ev.n, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(tbp_event_name(l, i).p[0], names[i]);
        cr_expect_eq((l->ev.has[i] & TBP_HAS_GROUP) != 0, names[i] == 'c');
    }
    cr_expect_eq(h->ledger.count[TBP_LEDGER_REPAIR_ORDER], n_repaired);
    tiny_close(&run);
}

Test(event_order, begins_first_then_longer_then_as_written) {
    check(TBP_SEMANTICS_REPAIR, "abcd", 1);
}

Test(event_order, official_rules_take_the_file_as_it_is) {
    check(TBP_SEMANTICS_OFFICIAL, "dbac", 0);
}
