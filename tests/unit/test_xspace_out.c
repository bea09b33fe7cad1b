/* SPDX-License-Identifier: Apache-2.0
 *
 * The XSpace writer against protobuf-c, which reads what it wrote with the schema of xplane.proto.
 */
#include "plugin_data/xspace_out.h"
#include "schemas/xplane.pb-c.h"

#include <criterion/criterion.h>

static Tbp__XSpace *written(tbp_xspace_source *source, void *ctx) {
    struct tbp_sink_memory sink;
    struct tbp_error err = {0};
    uint64_t size_bytes = 0;
    tbp_sink_memory_init(&sink, 0);
    cr_assert_eq(tbp_xspace_write(&sink.base, source, ctx, 0, &size_bytes, &err), TBP_OK, "%s",
                 err.message);
    cr_assert_eq(sink.size, size_bytes);
    Tbp__XSpace *space = tbp__xspace__unpack(NULL, sink.size, sink.data);
    tbp_sink_memory_release(&sink);
    cr_assert_not_null(space);
    return space;
}

static int one_step(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    (void)ctx;
    (void)err;
    tbp_xspace_hostname(o, TBP_STR("worker.0"));
    tbp_xspace_plane(o, 3, TBP_STR("/device:GPU:0"));
    tbp_xspace_stat_i64(o, 9, -1);
    tbp_xspace_plane(o, 4, TBP_STR("/host:CPU"));
    tbp_xspace_line(
        o, &(struct tbp_xspace_line){.id = 7, .name = TBP_STR("main"), .timestamp_ns = 1000});
    tbp_xspace_event(o, 1, 0, 2000);
    tbp_xspace_stat_i64(o, 1, 3);
    tbp_xspace_stat_str(o, 2,
                        TBP_STR("a\xff"
                                "b"));
    tbp_xspace_event_count(o, 1, 12, 5);
    tbp_xspace_stat_name(o, 1, TBP_STR("step_num"));
    tbp_xspace_event_name(o, 1, TBP_STR("train"), TBP_STR_NONE);
    tbp_xspace_stat_double(o, 2, 0.5);
    return TBP_OK;
}

Test(xspace_out, writes_planes_lines_events_names_and_stats) {
    Tbp__XSpace *s = written(one_step, NULL);
    cr_assert_eq(s->n_planes, 2);
    cr_assert_str_eq(s->hostnames[0], "worker.0");
    cr_assert_eq(s->planes[0]->id, 3);
    cr_assert_eq(s->planes[0]->stats[0]->int64_value, -1);
    const Tbp__XPlane *p = s->planes[1];
    cr_assert_eq(p->n_lines, 1);
    cr_assert_eq(p->lines[0]->timestamp_ns, 1000);
    cr_assert_eq(p->lines[0]->n_events, 2);
    const Tbp__XEvent *e = p->lines[0]->events[0];
    cr_assert_eq(e->data_case, TBP__XEVENT__DATA_OFFSET_PS);
    cr_assert_eq(e->duration_ps, 2000);
    cr_assert_eq(e->stats[0]->int64_value, 3);
    cr_assert_str_eq(e->stats[1]->str_value, "a\xef\xbf\xbd"
                                             "b");
    cr_assert_eq(p->lines[0]->events[1]->num_occurrences, 12);
    cr_assert_str_eq(p->stat_metadata[0]->value->name, "step_num");
    cr_assert_str_eq(p->event_metadata[0]->value->name, "train");
    cr_assert_eq(p->event_metadata[0]->value->stats[0]->double_value, 0.5);
    tbp__xspace__free_unpacked(s, NULL);
}

static int copied_stats(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    /* two fields 4 of an event: {metadata_id 1, int64 5}, {metadata_id 2, ref 300} */
    static const char stats[] = "\x22\x04\x08\x01\x20\x05\x22\x05\x08\x02\x38\xac\x02";
    (void)ctx;
    (void)err;
    tbp_xspace_plane(o, 1, TBP_STR("/host:CPU"));
    tbp_xspace_line(o, &(struct tbp_xspace_line){.id = 1});
    tbp_xspace_event(o, 1, 10, 20);
    tbp_xspace_stats_raw(o, TBP_STR(stats));
    tbp_xspace_stat_i64(o, 3, 7);
    tbp_xspace_event(o, 1, 30, 0);
    tbp_xspace_stats_raw(o, TBP_STR_NONE);
    return TBP_OK;
}

Test(xspace_out, takes_stats_of_another_event_as_they_are) {
    Tbp__XSpace *s = written(copied_stats, NULL);
    const Tbp__XLine *l = s->planes[0]->lines[0];
    cr_assert_eq(l->n_events, 2);
    cr_assert_eq(l->events[0]->n_stats, 3);
    cr_expect_eq(l->events[0]->duration_ps, 20);
    cr_expect_eq(l->events[0]->stats[0]->int64_value, 5);
    cr_expect_eq(l->events[0]->stats[1]->metadata_id, 2);
    cr_expect_eq(l->events[0]->stats[1]->ref_value, 300);
    cr_expect_eq(l->events[0]->stats[2]->int64_value, 7);
    cr_expect_eq(l->events[1]->n_stats, 0);
    tbp__xspace__free_unpacked(s, NULL);
}

static int no_host(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    (void)ctx;
    (void)err;
    tbp_xspace_plane(o, 5, TBP_STR("/device:GPU:0"));
    return TBP_OK;
}

Test(xspace_out, adds_a_host_plane_where_there_is_none) {
    Tbp__XSpace *s = written(no_host, NULL);
    cr_assert_eq(s->n_planes, 2);
    cr_assert_str_eq(s->planes[1]->name, "/host:CPU");
    cr_assert_eq(s->planes[1]->id, 6);
    tbp__xspace__free_unpacked(s, NULL);
}

/* Lengths on both sides of one- and two-byte varints, and a name larger than the buffer. */
static int many_events(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    (void)err;
    static char large[200000];
    memset(large, 'x', sizeof large);
    tbp_xspace_plane(o, 1, TBP_STR("/host:CPU"));
    for (int64_t line = 0; line < 300; line++) {
        tbp_xspace_line(o, &(struct tbp_xspace_line){.id = line});
        for (int64_t i = 0; i < line; i++)
            tbp_xspace_event(o, 1, i, 1);
    }
    tbp_xspace_event_name(o, 1, (struct tbp_str){large, sizeof large}, TBP_STR_NONE);
    ++*(int *)ctx;
    return TBP_OK;
}

Test(xspace_out, asks_twice_and_gets_every_length_right) {
    int n_calls = 0;
    Tbp__XSpace *s = written(many_events, &n_calls);
    cr_assert_eq(n_calls, 2);
    cr_assert_eq(s->planes[0]->n_lines, 300);
    for (size_t i = 0; i < 300; i++)
        cr_assert_eq(s->planes[0]->lines[i]->n_events, i);
    cr_assert_eq(strlen(s->planes[0]->event_metadata[0]->value->name), 200000);
    tbp__xspace__free_unpacked(s, NULL);
}

static int fickle(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    (void)err;
    tbp_xspace_plane(o, 1, TBP_STR("/host:CPU"));
    tbp_xspace_stat_i64(o, 1, ++*(int *)ctx * 1000);
    return TBP_OK;
}

Test(xspace_out, refuses_a_source_that_changes) {
    int n_calls = 0;
    struct tbp_sink_memory sink;
    struct tbp_error err = {0};
    tbp_sink_memory_init(&sink, 0);
    n_calls = 16; /* 17000 and 18000 have equal lengths: fine */
    cr_assert_eq(tbp_xspace_write(&sink.base, fickle, &n_calls, 0, NULL, &err), TBP_OK);
    n_calls = 15; /* 16000 takes two bytes, 17000 three */
    cr_assert_eq(tbp_xspace_write(&sink.base, fickle, &n_calls, 0, NULL, &err), TBP_E_INTERNAL);
    tbp_sink_memory_release(&sink);
}

static int only_a_name(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
    (void)ctx;
    (void)err;
    tbp_xspace_plane(o, 0, TBP_STR("/host:CPU"));
    return TBP_OK;
}

Test(xspace_out, refuses_more_than_the_limit_and_tells_the_size) {
    struct tbp_sink_memory sink;
    struct tbp_error err = {0};
    uint64_t size_bytes = 0;
    tbp_sink_memory_init(&sink, 0);
    /* a plane of a name of 9 bytes: 2 for the plane's head, 2 for the name's */
    cr_assert_eq(tbp_xspace_write(&sink.base, only_a_name, NULL, 12, &size_bytes, &err),
                 TBP_E_LIMIT);
    cr_expect_eq(size_bytes, 13);
    cr_expect_eq(sink.size, 0);
    cr_expect_str_eq(err.message, "a profile of 13 bytes is more than readers accept");
    cr_assert_eq(tbp_xspace_write(&sink.base, only_a_name, NULL, 13, &size_bytes, &err), TBP_OK);
    cr_expect_eq(sink.size, 13);
    tbp_sink_memory_release(&sink);
}
