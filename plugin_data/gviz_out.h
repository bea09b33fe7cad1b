/* SPDX-License-Identifier: Apache-2.0
 *
 * Writer of one Google-Charts DataTable as JSON: {"cols":[…],"p":{…},"rows":[…]}, keys ascending,
 * no blanks; "p" only if there are properties.
 *
 *     tbp_gviz_begin(&g, j, cols, n);
 *     tbp_gviz_prop_str(&g, "a", v); …        ascending keys
 *     tbp_gviz_row(&g);
 *     tbp_gviz_num(&g, 1.5); tbp_gviz_str(&g, s); …   as many and of the types of the columns
 *     tbp_gviz_end(&g);
 *
 * Wrong order, type or number of cells are programming errors (TBP_BUG_IF).
 * Ownership: borrows the writer, the columns and the keys of properties until the end.
 */
#ifndef TBP_PLUGIN_DATA_GVIZ_OUT_H
#define TBP_PLUGIN_DATA_GVIZ_OUT_H

#include "plugin_data/json_out.h"
#include "schemas/columns.h"

struct tbp_gviz {
    struct tbp_json *j;
    const struct tbp_column *cols;
    size_t n_cols, cell;
    unsigned n_props, n_rows;
    const char *last_prop;
    bool in_rows, in_row;
};

void tbp_gviz_begin(struct tbp_gviz *g, struct tbp_json *j, const struct tbp_column *cols,
                    size_t n_cols);
void tbp_gviz_prop_str(struct tbp_gviz *g, const char *key, struct tbp_str v);
void tbp_gviz_prop_c(struct tbp_gviz *g, const char *key, const char *v);
/* C locale; longer texts than 1023 bytes are a bug. */
void tbp_gviz_prop_printf(struct tbp_gviz *g, const char *key, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void tbp_gviz_row(struct tbp_gviz *g);
void tbp_gviz_num(struct tbp_gviz *g, double v);
void tbp_gviz_str(struct tbp_gviz *g, struct tbp_str v);
/* A cell with a value to sort by and another text to show. */
void tbp_gviz_str_shown(struct tbp_gviz *g, struct tbp_str v, struct tbp_str shown);
void tbp_gviz_bool(struct tbp_gviz *g, bool v);
void tbp_gviz_end(struct tbp_gviz *g);

#endif
