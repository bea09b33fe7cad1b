/* SPDX-License-Identifier: Apache-2.0
 *
 * Which of several known names a mistyped one most likely meant.
 */
#include "base/nearest.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_WORD = 64 }; /* longer ones are far from everything */

/* Levenshtein distance of short words, one row of the table at a time. */
static size_t edit_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b), row[MAX_WORD + 1];
    if (n > MAX_WORD || m > MAX_WORD)
        return MAX_WORD;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j], change = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = above < row[j - 1] ? above + 1 : row[j - 1] + 1;
            if (change < row[j])
                row[j] = change;
            diagonal = above;
        }
    }
    return row[m];
}

void tbp_nearest_init(struct tbp_nearest *n, const char *word) {
    size_t length = strlen(word), third = length / 3, bound = third < 2 ? 3 : third + 2;
    if (bound >= length) /* two letters must stay: of one or two nobody can tell what was meant */
        bound = length ? length - 1 : 0;
    *n = (struct tbp_nearest){word, NULL, bound}; /* nothing so far away */
}

void tbp_nearest_try(struct tbp_nearest *n, const char *known) {
    size_t length = strlen(n->word);
    bool is_prefix = length > 1 && strncmp(n->word, known, length) == 0;
    size_t d = is_prefix ? 1 : edit_distance(n->word, known);
    if (d < n->distance) {
        n->distance = d;
        n->best = known;
    }
}
