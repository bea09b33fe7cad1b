/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of text as systems end them: LF, CR and LF, CR alone. A byte order mark may stand before
 * any of them, as where one file was put behind another.
 *
 *     for (struct tbp_str line; tbp_text_next_line(&rest, &line);) …
 */
#ifndef TBP_CONVERT_READ_TEXT_LINES_H
#define TBP_CONVERT_READ_TEXT_LINES_H

#include "base/str.h"

static inline bool tbp_text_is_line_end(char ch) {
    return ch == '\n' || ch == '\r';
}

static inline bool tbp_text_is_blank(char ch) {
    return ch == ' ' || ch == '\t';
}

struct tbp_str tbp_text_without_mark(struct tbp_str s);
/* Only marks, blanks and line ends: no line says anything. */
bool tbp_text_is_empty(struct tbp_str s);
/* Takes the next line off rest, without its mark and its end; false where nothing is left. */
bool tbp_text_next_line(struct tbp_str *rest, struct tbp_str *line);

#endif
