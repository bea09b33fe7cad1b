/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of one host, from planes made by hand (times in picoseconds, as in the comments).
 */
#include "convert/analyze/step_events.h"
#include "convert/analyze/step_table.h"
#include "convert/model/builder.h"

#include <criterion/criterion.h>

static struct tbp_host host;
static struct tbp_arena arena;

static struct tbp_plane *begin_host(const char *plane_name) {
    tbp_arena_init(&arena);
    tbp_host_init(&host);
    host.planes = TBP_NEW(&host.arena, struct tbp_plane);
    host.n_planes = 1;
    struct tbp_plane *p = &host.planes[0];
    p->name = tbp_str_c(plane_name);
    p->host = &host;
    p->is_first_of_name = true;
    p->metas = TBP_NEW(&host.arena, struct tbp_meta);
    p->stat_metas = TBP_NEW(&host.arena, struct tbp_stat_meta);
    p->n_metas = p->cap_metas = p->n_stat_metas = p->cap_stat_metas = 1;
    return p;
}

static void end_host(void) {
    tbp_host_release(&host);
    tbp_arena_release(&arena);
}

struct event {
    const char *name;
    uint64_t begin, end;
    int group;
};

/* Adds a line; correlated: its events carry a correlation id. */
static void add_line(struct tbp_plane *p, int64_t id, const struct event *events, size_t n,
                     bool correlated) {
    struct tbp_line_builder b;
    uint32_t correlation = tbp_plane_ensure_stat(p, TBP_STR("correlation_id"));
    tbp_line_builder_init(&b, p);
    for (size_t i = 0; i < n; i++) {
        uint32_t meta = tbp_plane_ensure_meta(p, tbp_str_c(events[i].name));
        struct tbp_event_row *row =
            tbp_line_builder_event(&b, events[i].begin, events[i].end - events[i].begin, meta);
        row->has |= TBP_HAS_GROUP;
        row->group = events[i].group;
        if (correlated)
            tbp_line_builder_stat_i64(&b, correlation, 7);
    }
    tbp_line_builder_finish(&b, tbp_plane_add_line(p, id, TBP_STR("line"), 0));
}

static struct tbp_step_table table(void) {
    struct tbp_step_table t;
    tbp_step_table_make(&host, TBP_SEMANTICS_OFFICIAL, NULL, &arena, &t);
    return t;
}

Test(step_events, types_kernels_by_name_and_shape) {
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("sgemm"), TBP_STR_NONE), TBP_PART_COMPUTE_32);
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("volta_fp16_gemm"), TBP_STR_NONE), TBP_PART_COMPUTE_16);
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("sgemm"), TBP_STR("(half[1])")), TBP_PART_COMPUTE_16);
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("half_add"), TBP_STR("(float[1])")),
                 TBP_PART_COMPUTE_32);
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("NcclAllReduce"), TBP_STR("(half)")),
                 TBP_PART_COLLECTIVES);
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("MemcpyHtoD x"), TBP_STR_NONE),
                 TBP_PART_HOST_TO_DEVICE);
    cr_assert_eq(tbp_gpu_event_part(TBP_STR("MemcpyDtoH"), TBP_STR_NONE), TBP_PART_DEVICE_TO_HOST);
}

Test(step_events, splits_a_step_of_the_host) {
    /* wait 0-30, compute 30-80, rest of 0-100 unknown; the wrapper shows no work of its own */
    const struct event events[] = {{"train", 0, 100, 3},
                                   {"EagerExecute", 0, 90, 3},
                                   {"IteratorGetNext:IteratorGetNext", 0, 30, 3},
                                   {"dense/MatMul:MatMul", 30, 80, 3}};
    add_line(begin_host("/host:CPU"), 1, events, 4, false);
    struct tbp_step_table t = table();
    cr_assert_eq(t.n_steps, 1);
    const struct tbp_step_core *c = &t.steps[0].cores[0];
    cr_assert_eq(t.steps[0].number, 3);
    cr_assert_eq(c->dur_ps, 100);
    cr_assert_eq(c->part_ps[TBP_PART_HOST_WAIT_INPUT], 30);
    cr_assert_eq(c->part_ps[TBP_PART_HOST_COMPUTE], 50);
    cr_assert_eq(c->part_ps[TBP_PART_UNKNOWN], 20);
    end_host();
}

Test(step_events, drops_steps_without_work_or_time) {
    const struct event events[] = {
        {"train", 0, 10, 0},                                             /* no work */
        {"work", 20, 30, 1},                                             /* no marker */
        {"train", 40, 50, 2}, {"work", 41, 42, 2}, {"work", 60, 70, -1}, /* no step */
    };
    add_line(begin_host("/host:CPU"), 1, events, 5, false);
    struct tbp_step_table t = table();
    cr_assert_eq(t.n_steps, 1);
    cr_assert_eq(t.steps[0].number, 2);
    cr_assert(tbp_host_has_steps(&host, TBP_SEMANTICS_OFFICIAL));
    end_host();
}

Test(step_events, takes_device_time_from_the_steps_line) {
    const struct event kernels[] = {{"sgemm", 10, 14, 0},
                                    {"MemcpyHtoD", 12, 20, 0},
                                    {"half_add", 30, 35, 1},
                                    {"sgemm", 50, 60, 2}};
    const struct event markers[] = {{"0", 10, 20, 0}, {"1", 30, 40, 1}};
    struct tbp_plane *p = begin_host("/device:GPU:0");
    add_line(p, 13, kernels, 4, true);
    add_line(p, (int32_t)TBP_DERIVED_FIRST, markers, 2, false);
    struct tbp_step_table t = table();
    cr_assert_eq(t.n_steps, 2); /* group 2 has no marker */
    const struct tbp_step_core *first = &t.steps[0].cores[0], *second = &t.steps[1].cores[0];
    cr_assert_eq(first->part_ps[TBP_PART_COMPUTE_32], 4);
    cr_assert_eq(first->part_ps[TBP_PART_HOST_TO_DEVICE], 6);
    cr_assert_eq(second->part_ps[TBP_PART_COMPUTE_16], 5);
    cr_assert_eq(second->part_ps[TBP_PART_UNKNOWN], 5);
    cr_assert_eq(t.compute_32_ps, 4);
    cr_assert_eq(t.compute_16_ps, 5);
    end_host();
}

Test(step_events, ignores_device_events_without_correlation) {
    const struct event kernels[] = {{"sgemm", 10, 14, 0}}, markers[] = {{"0", 10, 20, 0}};
    struct tbp_plane *p = begin_host("/device:GPU:0");
    add_line(p, 13, kernels, 1, false);
    add_line(p, (int32_t)TBP_DERIVED_FIRST, markers, 1, false);
    cr_assert_eq(table().n_steps, 0);
    end_host();
}

Test(step_events, has_no_steps_on_an_empty_host) {
    begin_host("/host:metadata");
    struct tbp_step_table t = table();
    cr_assert_eq(t.n_steps, 0);
    cr_assert_eq(t.n_places, 1);
    cr_assert(tbp_str_is(t.places[0].host_name, "localhost"));
    end_host();
}
