/* SPDX-License-Identifier: Apache-2.0
 *
 * Column lists: consistent in themselves, and, where the recorded answers of the official plugin
 * lie beside the source tree (../shared), equal to them to the byte.
 */
#include "schemas/columns.h"

#include "base/file.h"
#include "plugin_data/gviz_out.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

Test(columns, names_of_tables_and_ids_within_a_table_are_unique) {
    for (size_t t = 0; tbp_column_tables[t]; ++t) {
        const struct tbp_columns *c = tbp_column_tables[t];
        cr_assert_gt(c->n, 0);
        for (size_t u = 0; u < t; ++u)
            cr_assert_str_neq(c->name, tbp_column_tables[u]->name);
        for (size_t i = 0; i < c->n; ++i)
            for (size_t k = 0; k < i; ++k)
                cr_assert_str_neq(c->at[i].id, c->at[k].id);
    }
}

Test(columns, have_the_size_that_the_pages_count_on) {
    cr_assert_eq(tbp_columns_framework_op_stats.n, 19);
    cr_assert_eq(tbp_columns_framework_op_stats_gpu.n, 20);
    cr_assert_eq(tbp_columns_tensorflow_stats_legacy.n, 13);
    cr_assert_eq(tbp_columns_tensorflow_stats_legacy_gpu.n, 14);
    cr_assert_eq(tbp_columns_kernel_stats.n, 15);
    cr_assert_eq(tbp_columns_steps.n, 12);
}

static const struct recorded {
    const struct tbp_columns *columns;
    const char *answer;
} recorded[] = {
    {&tbp_columns_framework_op_stats, "newest/custom-loop/framework_op_stats"},
    {&tbp_columns_framework_op_stats_gpu, "newest/e4040-hd-01/framework_op_stats"},
    {&tbp_columns_tensorflow_stats_legacy, "plugin-2.19/e4040-yg-05/framework_op_stats"},
    {&tbp_columns_tensorflow_stats_legacy_gpu, "plugin-2.19/e4040-hd-01/framework_op_stats"},
    {&tbp_columns_kernel_stats, "newest/custom-loop/kernel_stats"},
    {&tbp_columns_kernel_stats_legacy, "plugin-2.19/e4040-hd-01/kernel_stats"},
    {&tbp_columns_overview_ops, "newest/custom-loop/overview_page"},
    {&tbp_columns_overview_ops_gpu, "newest/e4040-hd-01/overview_page"},
    {&tbp_columns_overview_latency, "newest/custom-loop/overview_page"},
    {&tbp_columns_overview_latency_legacy, "plugin-2.19/e4040-hd-01/overview_page"},
    {&tbp_columns_run_environment, "newest/custom-loop/overview_page"},
    {&tbp_columns_recommendation, "newest/custom-loop/overview_page"},
    {&tbp_columns_recommendation_legacy, "plugin-2.19/e4040-hd-01/overview_page"},
    {&tbp_columns_diagnostics, "newest/custom-loop/overview_page"},
    {&tbp_columns_diagnostics_legacy, "plugin-2.19/e4040-hd-01/input_pipeline_analyzer"},
    {&tbp_columns_steps, "newest/custom-loop/input_pipeline_analyzer"},
    {&tbp_columns_input_ops, "newest/custom-loop/input_pipeline_analyzer"},
    {&tbp_columns_input_advice, "newest/custom-loop/input_pipeline_analyzer"},
    {&tbp_columns_tf_data_graph, "plugin-2.19/e4040-hd-01/tf_data_bottleneck_analysis"},
    {&tbp_columns_tf_data_latency, "plugin-2.19/e4040-hd-01/tf_data_bottleneck_analysis"},
    {&tbp_columns_tf_data_bottleneck, "plugin-2.19/e4040-hd-01/tf_data_bottleneck_analysis"},
};

#define ORACLE TBP_SOURCE_DIR "/../shared/oracle/"

Test(columns, equal_the_recorded_answers) {
    if (access(ORACLE, R_OK) != 0)
        cr_skip_test("no recorded answers beside the source tree");
    static struct tbp_json j;
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; ++i) {
        char path[1024];
        snprintf(path, sizeof path, ORACLE "%s.json.gz", recorded[i].answer);
        struct tbp_input in;
        cr_assert_eq(tbp_input_open(&in, path, NULL), TBP_OK);
        struct tbp_sink_memory m;
        struct tbp_gviz g;
        tbp_sink_memory_init(&m, 0);
        tbp_json_init(&j, &m.base);
        tbp_gviz_begin(&g, &j, recorded[i].columns->at, recorded[i].columns->n);
        cr_assert_eq(tbp_json_finish(&j, NULL), TBP_OK);
        cr_assert_not_null(memmem(in.data, in.size, m.data, m.size), "%s in %s",
                           recorded[i].columns->name, path);
        tbp_sink_memory_release(&m);
        tbp_input_release(&in);
    }
}
