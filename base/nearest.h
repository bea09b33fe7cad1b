/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the known name that a mistyped one most likely meant, for "did you mean". Texts are
 * borrowed. Thread-safety: a struct belongs to one thread.
 */
#ifndef TBP_BASE_NEAREST_H
#define TBP_BASE_NEAREST_H

#include <stddef.h>

struct tbp_nearest {
    const char *word;
    const char *best; /* NULL while nothing is near enough */
    size_t distance;
};
void tbp_nearest_init(struct tbp_nearest *n, const char *word);
void tbp_nearest_try(struct tbp_nearest *n, const char *known);

#endif
