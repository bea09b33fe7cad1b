/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_text.h.
 */
#include "plugin_data/rec_text.h"

bool tbp_rec_text_split(struct tbp_str text, struct tbp_str *name, struct tbp_str *pairs) {
    *name = text;
    if (!tbp_rec_text_has_pairs(text))
        return false;
    size_t hash = tbp_str_find(text, '#');
    if (hash + 1 >= text.n)
        return false; /* the one at the end is the only one */
    *name = tbp_str_sub(text, 0, hash);
    *pairs = tbp_str_sub(text, hash + 1, text.n - 1);
    return true;
}

/* End of the part that begins the text. */
static size_t part_end(struct tbp_str s) {
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (c == '(' || c == '[' || c == '{')
            depth++;
        else if (depth > 0 && (c == ')' || c == ']' || c == '}'))
            depth--;
        else if (depth == 0 && (c == ',' || c == '#'))
            return i;
    }
    return s.n;
}

static struct tbp_str trim(struct tbp_str s) {
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = tbp_str_sub(s, 1, s.n);
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

bool tbp_rec_text_next(struct tbp_str *pairs, struct tbp_str *key, struct tbp_str *value) {
    while (pairs->n > 0) {
        size_t end = part_end(*pairs);
        struct tbp_str part = tbp_str_sub(*pairs, 0, end);
        *pairs = tbp_str_sub(*pairs, end < pairs->n ? end + 1 : end, pairs->n);
        size_t equals = tbp_str_find(part, '=');
        *key = trim(tbp_str_sub(part, 0, equals));
        if (equals == part.n || key->n == 0)
            continue;
        *value = trim(tbp_str_sub(part, equals + 1, part.n));
        return true;
    }
    return false;
}
