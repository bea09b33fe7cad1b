/* SPDX-License-Identifier: Apache-2.0
 *
 * The text form of annotations with arguments, "name#key=value,key=value#", as TensorFlow, JAX and
 * others write it. Commas inside brackets or double quotes belong to a value. Pure.
 */
#ifndef TBP_PLUGIN_DATA_REC_TEXT_H
#define TBP_PLUGIN_DATA_REC_TEXT_H

#include "base/str.h"

/* Splits off the pairs; false (name = text) if it has none. */
static inline bool tbp_rec_text_has_pairs(struct tbp_str text) {
    return text.n > 1 && text.p[text.n - 1] == '#';
}
bool tbp_rec_text_split(struct tbp_str text, struct tbp_str *name, struct tbp_str *pairs);
/* Takes the next "key=value" off the pairs; parts without '=' are skipped. */
bool tbp_rec_text_next(struct tbp_str *pairs, struct tbp_str *key, struct tbp_str *value);

#endif
