/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling and printing of error values; see status.h. No allocation, no globals.
 */
#include "base/status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where less than the `n` bytes of a text fit: it says that it was cut, with the quote closed in
 * which that happened. */
static void mark_cut(char *text, size_t size, int n) {
    static const char mark[] = "…'";
    size_t end = size - sizeof mark;
    bool is_quoted = false;
    if (n < 0 || (size_t)n < size)
        return;
    while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) /* not inside a character */
        end--;
    for (size_t i = 0; i < end; i++)
        is_quoted ^= text[i] == '\'';
    memcpy(text + end, mark, sizeof mark);
    if (!is_quoted)
        text[end + sizeof mark - 2] = 0;
}

static int fill(struct tbp_error *err, int code, const char *fmt, va_list args) {
    if (!err)
        return code;
    err->code = code;
    err->offset = TBP_NO_OFFSET;
    err->input[0] = 0;
    err->n_causes = 0;
    int n = vsnprintf(err->message, sizeof err->message, fmt, args);
    mark_cut(err->message, sizeof err->message, n);
    return code;
}

int tbp_fail(struct tbp_error *err, int code, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fill(err, code, fmt, args);
    va_end(args);
    return code;
}

int tbp_fail_at(struct tbp_error *err, int code, const char *input, uint64_t offset,
                const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fill(err, code, fmt, args);
    va_end(args);
    if (err) {
        err->offset = offset;
        snprintf(err->input, sizeof err->input, "%s", input);
    }
    return code;
}

int tbp_fail_errno(struct tbp_error *err, int code, const char *fmt, ...) {
    int saved = errno;
    va_list args;
    va_start(args, fmt);
    fill(err, code, fmt, args);
    va_end(args);
    if (!err)
        return code;
    char text[96];
    const char *why = strerror_r(saved, text, sizeof text);
    size_t n = strlen(err->message), room = sizeof err->message - strlen(why) - 2;
    mark_cut(err->message, room, (int)n); /* the reason matters more than a long name */
    n = strlen(err->message);
    snprintf(err->message + n, sizeof err->message - n, ": %s", why);
    return code;
}

int tbp_cause(struct tbp_error *err, const char *fmt, ...) {
    if (!err)
        return TBP_E_INTERNAL;
    if (err->n_causes < TBP_ERROR_CAUSES) {
        va_list args;
        va_start(args, fmt);
        char *cause = err->causes[err->n_causes++];
        mark_cut(cause, TBP_ERROR_CAUSE_TEXT, vsnprintf(cause, TBP_ERROR_CAUSE_TEXT, fmt, args));
        va_end(args);
    }
    return err->code;
}

static size_t append(char *buf, size_t size, size_t n, const char *fmt, ...) {
    if (n >= size)
        return n;
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(buf + n, size - n, fmt, args);
    va_end(args);
    return more < 0 ? n : n + (size_t)more;
}

const char *tbp_error_text(const struct tbp_error *err, char *buf, size_t size) {
    size_t n = 0;
    if (size)
        buf[0] = 0;
    if (err->input[0])
        n = append(buf, size, n, "%s: ", err->input);
    n = append(buf, size, n, "%s", err->message);
    if (err->offset != TBP_NO_OFFSET)
        n = append(buf, size, n, " at byte %" PRIu64, err->offset);
    for (unsigned i = 0; i < err->n_causes; i++)
        n = append(buf, size, n, "%s%s%s", i ? ", " : " (", err->causes[i],
                   i + 1 == err->n_causes ? ")" : "");
    return buf;
}

void tbp_bug(const char *file, int line, const char *what) {
    fprintf(stderr, "tbprof: bug: %s:%d: %s\n", file, line, what);
    abort();
}
