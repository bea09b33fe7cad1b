/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text; see text_lines.h.
 */
#include "convert/read/text_lines.h"

struct tbp_str tbp_text_without_mark(struct tbp_str s) {
    static const char mark[] = "\xef\xbb\xbf";
    return tbp_str_starts(s, mark) ? tbp_str_sub(s, sizeof mark - 1, s.n) : s;
}

bool tbp_text_next_line(struct tbp_str *rest, struct tbp_str *line) {
    size_t n = 0;
    if (rest->n == 0)
        return false;
    while (n < rest->n && !tbp_text_is_line_end(rest->p[n]))
        n++;
    *line = tbp_text_without_mark(tbp_str_sub(*rest, 0, n));
    if (n + 1 < rest->n && rest->p[n] == '\r' && rest->p[n + 1] == '\n')
        n++;
    *rest = tbp_str_sub(*rest, n < rest->n ? n + 1 : n, rest->n);
    return true;
}

bool tbp_text_is_empty(struct tbp_str s) {
    for (struct tbp_str line; tbp_text_next_line(&s, &line);)
        for (size_t i = 0; i < line.n; i++)
            if (!tbp_text_is_blank(line.p[i]))
                return false;
    return true;
}
