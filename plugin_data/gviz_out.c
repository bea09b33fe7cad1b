/* SPDX-License-Identifier: Apache-2.0
 *
 * Data tables, streamed row by row. The columns decide what each cell may be, so that a table and
 * its column list cannot drift apart unnoticed.
 */
#include "plugin_data/gviz_out.h"

static const char *const type_names[] = {
    [TBP_COLUMN_NUMBER] = "number",
    [TBP_COLUMN_STRING] = "string",
    [TBP_COLUMN_BOOLEAN] = "boolean",
};

static void text(struct tbp_gviz *g, const char *c) {
    tbp_json_str(g->j, tbp_str_c(c), TBP_JSON_GVIZ);
}

static void column(struct tbp_gviz *g, const struct tbp_column *c) {
    tbp_json_lit(g->j, "{\"id\":");
    text(g, c->id);
    tbp_json_lit(g->j, ",\"label\":");
    text(g, c->label);
    if (c->role) {
        tbp_json_lit(g->j, ",\"p\":{\"role\":");
        text(g, c->role);
        tbp_json_char(g->j, '}');
    }
    tbp_json_lit(g->j, ",\"type\":");
    text(g, type_names[c->type]);
    tbp_json_char(g->j, '}');
}

void tbp_gviz_begin(struct tbp_gviz *g, struct tbp_json *j, const struct tbp_column *cols,
                    size_t n_cols) {
    *g = (struct tbp_gviz){.j = j, .cols = cols, .n_cols = n_cols};
    tbp_json_lit(j, "{\"cols\":[");
    for (size_t i = 0; i < n_cols; ++i) {
        if (i > 0)
            tbp_json_char(j, ',');
        column(g, &cols[i]);
    }
    tbp_json_char(j, ']');
}

/* ---- properties ---- */

void tbp_gviz_prop_str(struct tbp_gviz *g, const char *key, struct tbp_str v) {
    TBP_BUG_IF(g->in_rows || (g->last_prop && strcmp(g->last_prop, key) >= 0));
    tbp_json_lit(g->j, g->n_props++ == 0 ? ",\"p\":{" : ",");
    text(g, key);
    tbp_json_char(g->j, ':');
    tbp_json_str(g->j, v, TBP_JSON_GVIZ);
    g->last_prop = key;
}

void tbp_gviz_prop_c(struct tbp_gviz *g, const char *key, const char *v) {
    tbp_gviz_prop_str(g, key, tbp_str_c(v));
}

void tbp_gviz_prop_printf(struct tbp_gviz *g, const char *key, const char *fmt, ...) {
    char buf[1024];
    va_list args;
    va_start(args, fmt);
    int n = tbp_number_vprintf(buf, sizeof buf, fmt, args);
    va_end(args);
    TBP_BUG_IF(n < 0 || (size_t)n >= sizeof buf);
    tbp_gviz_prop_str(g, key, (struct tbp_str){buf, (size_t)n});
}

/* ---- rows ---- */

static void begin_rows(struct tbp_gviz *g) {
    if (g->in_rows)
        return;
    tbp_json_lit(g->j, g->n_props > 0 ? "},\"rows\":[" : ",\"rows\":[");
    g->in_rows = true;
}

static void end_row(struct tbp_gviz *g) {
    if (!g->in_row)
        return;
    TBP_BUG_IF(g->cell != g->n_cols);
    tbp_json_lit(g->j, "]}");
    g->in_row = false;
}

void tbp_gviz_row(struct tbp_gviz *g) {
    begin_rows(g);
    end_row(g);
    tbp_json_lit(g->j, g->n_rows++ == 0 ? "{\"c\":[" : ",{\"c\":[");
    g->in_row = true;
    g->cell = 0;
}

static void begin_cell(struct tbp_gviz *g, enum tbp_column_type type) {
    TBP_BUG_IF(!g->in_row || g->cell >= g->n_cols || g->cols[g->cell].type != type);
    tbp_json_lit(g->j, g->cell++ == 0 ? "{\"v\":" : ",{\"v\":");
}

void tbp_gviz_num(struct tbp_gviz *g, double v) {
    begin_cell(g, TBP_COLUMN_NUMBER);
    tbp_json_gviz_number(g->j, v);
    tbp_json_char(g->j, '}');
}

void tbp_gviz_str(struct tbp_gviz *g, struct tbp_str v) {
    begin_cell(g, TBP_COLUMN_STRING);
    tbp_json_str(g->j, v, TBP_JSON_GVIZ);
    tbp_json_char(g->j, '}');
}

void tbp_gviz_str_shown(struct tbp_gviz *g, struct tbp_str v, struct tbp_str shown) {
    begin_cell(g, TBP_COLUMN_STRING);
    tbp_json_str(g->j, v, TBP_JSON_GVIZ);
    tbp_json_lit(g->j, ",\"f\":");
    tbp_json_str(g->j, shown, TBP_JSON_GVIZ);
    tbp_json_char(g->j, '}');
}

void tbp_gviz_bool(struct tbp_gviz *g, bool v) {
    begin_cell(g, TBP_COLUMN_BOOLEAN);
    tbp_json_lit(g->j, v ? "true}" : "false}");
}

void tbp_gviz_end(struct tbp_gviz *g) {
    begin_rows(g);
    end_row(g);
    tbp_json_lit(g->j, "]}");
}
