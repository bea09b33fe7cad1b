/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the JSON answers that several commands have in common; see json_parts.h.
 */
#include "cli/json_parts.h"

void tbp_json_member(struct tbp_json *j, const char *key, const char *text) {
    tbp_json_printf(j, "\"%s\":", key);
    if (text)
        tbp_json_str(j, tbp_str_c(text), TBP_JSON_GVIZ);
    else
        tbp_json_lit(j, "null");
}

void tbp_json_item(struct tbp_json *j, size_t i, struct tbp_str text) {
    if (i)
        tbp_json_char(j, ',');
    tbp_json_str(j, text, TBP_JSON_GVIZ);
}
