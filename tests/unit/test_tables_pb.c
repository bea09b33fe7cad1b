/* SPDX-License-Identifier: Apache-2.0
 *
 * The .pb twins of the op and kernel tables, read back with protobuf-c and held against the JSON of
 * the same tables. Needs the recorded runs beside the source tree (../shared); skipped without
 * them.
 */
#include "cli/run_session.h"
#include "convert/tool/tool.h"
#include "schemas/tables.pb-c.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#define RUN                                                                                        \
    TBP_SOURCE_DIR                                                                                 \
    "/../shared/corpus/tfrun-full/e4040-hd-01/train/plugins/profile/2023_11_07_18_18_59"

static struct tbp_arena arena;
static struct tbp_run run;
static struct tbp_run_loader loader;
static struct tbp_session *session;

static void open_run(void) {
    tbp_arena_init(&arena);
    if (access(RUN, R_OK) != 0)
        return;
    static const struct tbp_common common;
    struct tbp_cli cli = {.arena = &arena, .common = &common};
    bool has_loss;
    cr_assert_eq(tbp_find_one_run(&run, &cli, RUN, NULL, &has_loss, NULL), TBP_OK);
    cr_assert_not(has_loss);
    loader = (struct tbp_run_loader){.run = &run, .wanted = TBP_WANTED_ALL};
    session = tbp_run_session(&loader, TBP_SEMANTICS_REPAIR, &arena, NULL);
}

static void close_run(void) {
    if (session)
        tbp_session_free(session);
    tbp_arena_release(&arena);
}

TestSuite(tables_pb, .init = open_run, .fini = close_run);

typedef int write_fn(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                     struct tbp_error *err);

static struct tbp_sink_memory answer(write_fn *write) {
    struct tbp_request request = {.host = 0, .dialect = TBP_DIALECT_LEGACY};
    struct tbp_sink_memory m;
    tbp_sink_memory_init(&m, 0);
    cr_assert_eq(write(session, &request, &m.base, NULL), TBP_OK);
    return m;
}

static json_t *json_answer(write_fn *write) {
    struct tbp_sink_memory m = answer(write);
    json_t *root = json_loadb((const char *)m.data, m.size, 0, NULL);
    cr_assert_not_null(root);
    tbp_sink_memory_release(&m);
    return root;
}

static const json_t *cell(const json_t *table, size_t row, size_t column) {
    const json_t *cells = json_object_get(json_array_get(json_object_get(table, "rows"), row), "c");
    return json_object_get(json_array_get(cells, column), "v");
}

static void expect_number(const json_t *table, size_t row, size_t column, double v) {
    cr_assert_eq(json_number_value(cell(table, row, column)), v, "row %zu column %zu", row, column);
}

static void expect_text(const json_t *table, size_t row, size_t column, const char *v) {
    cr_assert_str_eq(json_string_value(cell(table, row, column)), v);
}

static void expect_ops(const json_t *table, const Tbp__TfStatsTable *t) {
    cr_assert_gt(t->n_tf_stats_record, 100);
    cr_assert_eq(json_array_size(json_object_get(table, "rows")), t->n_tf_stats_record);
    for (size_t i = 0; i < t->n_tf_stats_record; i++) {
        const Tbp__TfStatsRecord *r = t->tf_stats_record[i];
        expect_number(table, i, 0, (double)r->rank);
        expect_text(table, i, 1, r->host_or_device);
        expect_text(table, i, 2, r->op_type);
        expect_text(table, i, 3, r->op_name);
        expect_number(table, i, 4, (double)r->occurrences);
        expect_number(table, i, 5, r->total_time_in_us);
        expect_number(table, i, 6, r->avg_time_in_us);
        expect_number(table, i, 7, r->total_self_time_in_us);
        expect_number(table, i, 8, r->avg_self_time_in_us);
        expect_number(table, i, 9, r->device_total_self_time_as_fraction);
        expect_number(table, i, 10, r->device_cumulative_total_self_time_as_fraction);
        expect_number(table, i, 11, r->host_total_self_time_as_fraction);
        expect_number(table, i, 12, r->host_cumulative_total_self_time_as_fraction);
        expect_number(table, i, 13, r->gpu_tensorcore_utilization);
    }
}

Test(tables_pb, ops_equal_the_json_tables) {
    if (!session)
        cr_skip_test("no recorded runs beside the source tree");
    struct tbp_sink_memory m = answer(tbp_tool_framework_op_stats.write_pb);
    json_t *root = json_answer(tbp_tool_framework_op_stats.write);
    Tbp__TfStatsDatabase *db = tbp__tf_stats_database__unpack(NULL, m.size, m.data);
    cr_assert_not_null(db);
    cr_assert_str_eq(db->device_type, "GPU"); /* the only text for which the column is shown */
    cr_assert_eq(db->base.n_unknown_fields, 0);
    expect_ops(json_array_get(root, 0), db->with_idle);
    expect_ops(json_array_get(root, 1), db->without_idle);
    tbp__tf_stats_database__free_unpacked(db, NULL);
    json_decref(root);
    tbp_sink_memory_release(&m);
}

Test(tables_pb, kernels_equal_the_json_table) {
    if (!session)
        cr_skip_test("no recorded runs beside the source tree");
    struct tbp_sink_memory m = answer(tbp_tool_kernel_stats.write_pb);
    json_t *root = json_answer(tbp_tool_kernel_stats.write);
    const json_t *table = json_array_get(root, 0);
    Tbp__KernelStatsDb *db = tbp__kernel_stats_db__unpack(NULL, m.size, m.data);
    cr_assert_not_null(db);
    cr_assert_gt(db->n_reports, 100);
    cr_assert_eq(json_array_size(json_object_get(table, "rows")), db->n_reports);
    for (size_t i = 0; i < db->n_reports; i++) {
        const Tbp__KernelReport *k = db->reports[i];
        expect_text(table, i, 1, k->name);
        expect_number(table, i, 2, k->registers_per_thread);
        expect_number(table, i, 3, k->static_shmem_bytes + k->dynamic_shmem_bytes);
        expect_number(table, i, 6, (double)k->occupancy_pct);
        cr_assert_eq(json_is_true(cell(table, i, 7)), k->is_op_tensor_core_eligible);
        cr_assert_eq(json_is_true(cell(table, i, 8)), k->is_kernel_using_tensor_core);
        expect_text(table, i, 9, k->op_name);
        expect_number(table, i, 10, k->occurrences);
        expect_number(table, i, 11, (double)k->total_duration_ns / 1000);
        expect_number(table, i, 13, (double)k->min_duration_ns / 1000);
        expect_number(table, i, 14, (double)k->max_duration_ns / 1000);
        cr_assert_eq(k->n_block_dim, 3);
        cr_assert_eq(k->n_grid_dim, 3);
    }
    tbp__kernel_stats_db__free_unpacked(db, NULL);
    json_decref(root);
    tbp_sink_memory_release(&m);
}
