/* SPDX-License-Identifier: Apache-2.0
 *
 * Self times of host ops on lines that can be followed by hand.
 */
#include "convert/analyze/op_table.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>

static const struct tbp_op *find(const struct tbp_op_table *t, const char *name) {
    for (size_t i = 0; i < t->n_ops; i++) {
        if (tbp_str_is(t->ops[i].name, name)) {
            return &t->ops[i];
        }
    }
    return NULL;
}

static void assert_op(const struct tbp_op_table *t, const char *name, uint64_t n, uint64_t time_ps,
                      uint64_t self_ps) {
    const struct tbp_op *op = find(t, name);
    cr_assert(op, "no op '%s'", name);
    cr_assert_eq(op->occurrences, n, "occurrences of '%s'", name);
    cr_assert_eq(op->time_ps, time_ps, "time of '%s'", name);
    cr_assert_eq(op->self_ps, self_ps, "self time of '%s'", name);
}

static void host_line(struct tiny_host *h) {
    tiny_plane(h, "/host:CPU");
    tiny_line(h, 1);
}

/* A[0,10] holds B[2,5], which holds C[3,4]; D[12,20] follows: 18 of 20 ps are ops. */
static void put_nest(struct tiny_host *h) {
    tiny_event(h, "a:A", 0, 10);
    tiny_event(h, "b:B", 2, 3);
    tiny_event(h, "c:C", 3, 1);
    tiny_event(h, "d:D", 12, 8);
}

Test(host_ops, children_do_not_count_for_their_parents) {
    struct tiny_host h = {0};
    struct tiny_run run;
    host_line(&h);
    put_nest(&h);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
    assert_op(t, "a", 1, 10, 7);
    assert_op(t, "b", 1, 3, 2);
    assert_op(t, "c", 1, 1, 1);
    assert_op(t, "d", 1, 8, 8);
    assert_op(t, TBP_IDLE, 0, 2, 2);
    cr_assert_eq(t->total_ps, 20);
    cr_assert_eq(t->total_op_ps, 18);
    cr_assert_eq(tbp_op_table_occurrences(t), 4);
    cr_assert_eq(tbp_op_table_busy_ps(t), 18);
    tiny_close(&run);
}

Test(host_ops, order_in_the_file_does_not_matter_without_ties) {
    struct tiny_host h = {0};
    struct tiny_run run;
    host_line(&h);
    tiny_event(&h, "d:D", 12, 8);
    tiny_event(&h, "c:C", 3, 1);
    tiny_event(&h, "b:B", 2, 3);
    tiny_event(&h, "a:A", 0, 10);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
    assert_op(t, "a", 1, 10, 7);
    assert_op(t, "b", 1, 3, 2);
    assert_op(t, "c", 1, 1, 1);
    tiny_close(&run);
}

/* As the official converter does it: the end of A discards what is still open above A. */
Test(host_ops, an_op_that_outlives_its_parent_is_lost) {
    for (int end = 10; end <= 15; end += 5) { /* at the same time, or later */
        struct tiny_host h = {0};
        struct tiny_run run;
        host_line(&h);
        tiny_event(&h, "a:A", 0, 10);
        tiny_event(&h, "b:B", 5, end - 5);
        struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
        const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
        assert_op(t, "a", 1, 10, 10);
        cr_assert_null(find(t, "b"));
        assert_op(t, TBP_IDLE, 0, (uint64_t)end - 10, (uint64_t)end - 10);
        tiny_close(&run);
    }
}

Test(host_ops, an_event_that_ends_before_it_begins_is_lost) {
    struct tiny_host h = {0};
    struct tiny_run run;
    host_line(&h);
    tiny_event(&h, "a:A", 100, 10);
    tiny_event(&h, "b:B", 120, -5);
    tiny_event(&h, "c:C", 130, 10);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
    assert_op(t, "a", 1, 10, 10);
    cr_assert_null(find(t, "b"));
    assert_op(t, "c", 1, 10, 10);
    tiny_close(&run);
}

Test(host_ops, names_that_are_no_ops_do_not_count) {
    struct tiny_host h = {0};
    struct tiny_run run;
    host_line(&h);
    tiny_event(&h, "just a name", 0, 10);
    tiny_event(&h, "Iterator::Batch", 20, 10);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
    cr_assert_null(find(t, "just a name"));
    assert_op(t, "Iterator::Batch", 1, 10, 10);
    cr_assert(tbp_str_is(find(t, "Iterator::Batch")->category, "Dataset"));
    cr_assert_eq(t->total_ps, 10, "the window begins at the first op");
    tiny_close(&run);
}

Test(host_ops, a_tf_op_stat_counts_beside_the_event) {
    for (int old = 0; old < 2; old++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        host_line(&h);
        tiny_event(&h, "MemoryAllocation", 5, 0);
        tiny_stat_str(&h, "tf_op", "x/MatMul:MatMul");
        struct tbp_session *s =
            tiny_open(&run, &h, 1, old ? TBP_SEMANTICS_TF : TBP_SEMANTICS_OFFICIAL);
        const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
        cr_assert_eq(find(t, "x/MatMul") == NULL, old == 1);
        tiny_close(&run);
    }
}

Test(host_ops, stages_are_ops_by_their_id) {
    struct tiny_host h = {0};
    struct tiny_run run;
    host_line(&h);
    for (int i = 0; i < 2; i++) {
        tiny_event(&h, "stage", 10 * i, 4);
        tiny_stat_i64(&h, "_ipl_stage_id", 77);
        tiny_stat_str(&h, "_ipl_stage_cat", "read");
    }
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
    assert_op(t, "stage", 2, 8, 8);
    cr_assert_eq(find(t, "stage")->module, 77);
    cr_assert(tbp_str_is(find(t, "stage")->category, "read"));
    tiny_close(&run);
}

Test(host_ops, infeed_is_measured_from_the_second_enqueue_on) {
    struct tiny_host h = {0};
    struct tiny_run run;
    host_line(&h);
    tiny_event(&h, "q:InfeedEnqueueTuple", 10, 3);
    tiny_event(&h, "q:InfeedEnqueueTuple", 30, 5);
    tiny_event(&h, "q:InfeedEnqueueTuple", 70, 9);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_OFFICIAL);
    const struct tbp_op_table *t = tbp_host_ops(s, 0, NULL);
    cr_assert_eq(t->infeed_duration_ps, 3 + 5);
    cr_assert_eq(t->infeed_diff_ps, 20 + 40);
    tiny_close(&run);
}

Test(host_ops, hosts_and_lines_add_up) {
    struct tiny_host hosts[2];
    memset(hosts, 0, sizeof hosts);
    struct tiny_run run;
    for (int i = 0; i < 2; i++) {
        host_line(&hosts[i]);
        put_nest(&hosts[i]);
        tiny_line(&hosts[i], 2);
        put_nest(&hosts[i]);
        tiny_line(&hosts[i], 0xdeadbeef); /* derived: not read */
        put_nest(&hosts[i]);
    }
    struct tbp_session *s = tiny_open(&run, hosts, 2, TBP_SEMANTICS_OFFICIAL);
    assert_op(tbp_host_ops(s, 1, NULL), "a", 2, 20, 14);
    const struct tbp_op_table *t = tbp_host_ops(s, TBP_ALL_HOSTS, NULL);
    assert_op(t, "a", 4, 40, 28);
    assert_op(t, TBP_IDLE, 0, 8, 8);
    cr_assert_eq(t->total_ps, 80);
    tiny_close(&run);
}

Test(host_ops, planes_of_subprocesses_count_as_a_repair) {
    for (int official = 0; official < 2; official++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        host_line(&h);
        put_nest(&h);
        tiny_plane(&h, "/host:CPU [100]");
        tiny_line(&h, 1);
        put_nest(&h);
        struct tbp_session *s =
            tiny_open(&run, &h, 1, official ? TBP_SEMANTICS_OFFICIAL : TBP_SEMANTICS_REPAIR);
        assert_op(tbp_host_ops(s, 0, NULL), "a", official ? 1 : 2, official ? 10 : 20,
                  official ? 7 : 14);
        const struct tbp_ledger *l = &tbp_session_host(s, 0, NULL)->ledger;
        cr_assert_eq(l->count[TBP_LEDGER_REPAIR_SUBPROCESS] == 0, official == 1);
        tiny_close(&run);
    }
}
