/* SPDX-License-Identifier: Apache-2.0
 *
 * Data tables: the exact text, and that a table cannot contradict its columns.
 */
#include "plugin_data/gviz_out.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>

static struct tbp_json j;
static struct tbp_sink_memory m;
static struct tbp_gviz g;

static const struct tbp_column columns[] = {
    {"a", TBP_COLUMN_NUMBER, "A \"x\"", NULL},
    {"b", TBP_COLUMN_STRING, "B", "tooltip"},
    {"c", TBP_COLUMN_BOOLEAN, "C", NULL},
};

static void begin(void) {
    tbp_sink_memory_init(&m, 0);
    tbp_json_init(&j, &m.base);
    tbp_gviz_begin(&g, &j, columns, 3);
}

static void expect(const char *text) {
    tbp_gviz_end(&g);
    tbp_json_char(&j, '\0');
    cr_assert_eq(tbp_json_finish(&j, NULL), TBP_OK);
    cr_assert_str_eq((const char *)m.data, text);
}

#define COLS                                                                                       \
    "{\"cols\":[{\"id\":\"a\",\"label\":\"A \\\"x\\\"\",\"type\":\"number\"},"                     \
    "{\"id\":\"b\",\"label\":\"B\",\"p\":{\"role\":\"tooltip\"},\"type\":\"string\"},"             \
    "{\"id\":\"c\",\"label\":\"C\",\"type\":\"boolean\"}]"

TestSuite(gviz_out, .init = begin);

Test(gviz_out, writes_cells_of_every_type) {
    tbp_gviz_row(&g);
    tbp_gviz_num(&g, 1);
    tbp_gviz_str(&g, TBP_STR("x<y"));
    tbp_gviz_bool(&g, true);
    tbp_gviz_row(&g);
    tbp_gviz_num(&g, NAN);
    tbp_gviz_str(&g, TBP_STR(""));
    tbp_gviz_bool(&g, false);
    expect(COLS ",\"rows\":[{\"c\":[{\"v\":1.0},{\"v\":\"x<y\"},{\"v\":true}]},"
                "{\"c\":[{\"v\":null},{\"v\":\"\"},{\"v\":false}]}]}");
}

Test(gviz_out, properties_stand_before_the_rows) {
    tbp_gviz_prop_c(&g, "k", "v");
    tbp_gviz_prop_printf(&g, "l", "%.1f%%", 2.25);
    expect(COLS ",\"p\":{\"k\":\"v\",\"l\":\"2.2%\"},\"rows\":[]}");
}

Test(gviz_out, no_columns_make_an_empty_table) {
    begin();
    tbp_sink_memory_release(&m);
    tbp_json_init(&j, &m.base);
    tbp_gviz_begin(&g, &j, NULL, 0);
    expect("{\"cols\":[],\"rows\":[]}");
}

Test(gviz_out, wrong_type_is_a_bug, .signal = SIGABRT) {
    tbp_gviz_row(&g);
    tbp_gviz_str(&g, TBP_STR("1"));
}

Test(gviz_out, missing_cell_is_a_bug, .signal = SIGABRT) {
    tbp_gviz_row(&g);
    tbp_gviz_num(&g, 1);
    tbp_gviz_row(&g);
}

Test(gviz_out, descending_keys_are_a_bug, .signal = SIGABRT) {
    tbp_gviz_prop_c(&g, "b", "");
    tbp_gviz_prop_c(&g, "a", "");
}
