/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of the JSON answers that several commands have in common. Texts are borrowed; failures stay
 * in the writer (plugin_data/json_out.h).
 */
#ifndef TBP_CLI_JSON_PARTS_H
#define TBP_CLI_JSON_PARTS_H

#include "plugin_data/json_out.h"

/* "key":"text", or "key":null without a text. */
void tbp_json_member(struct tbp_json *j, const char *key, const char *text);

/* The i-th text of a list: all but the first come after a comma. */
void tbp_json_item(struct tbp_json *j, size_t i, struct tbp_str text);

#endif
