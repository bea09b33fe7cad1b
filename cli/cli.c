/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the commands and the mapping of statuses to exit codes.
 */
#include "cli/cli.h"

#include "cli/json_parts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ERROR_LINE = 2048 };

int tbp_exit_code(int status) {
    switch (status) {
    case TBP_OK:
        return TBP_EXIT_DONE;
    case TBP_E_USAGE:
    case TBP_E_OPTION:
    case TBP_E_NOT_FOUND:
    case TBP_E_IO:
    case TBP_E_UNSUPPORTED:
        return TBP_EXIT_USAGE;
    default:
        return TBP_EXIT_DAMAGED;
    }
}

/* Bytes of the character at p as far as it may reach a terminal: 0 for control characters, C1 ones
 * too, and for bytes that are no UTF-8, which some terminals take for C1. */
static size_t shown_char(const char *p, const char *end) {
    unsigned char c = (unsigned char)*p;
    if (c < 0x80)
        return c >= 0x20 && c != 0x7F;
    size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2, left = (size_t)(end - p);
    bool is_c1 = c == 0xC2 && left > 1 && (unsigned char)p[1] < 0xA0;
    return is_c1 || n > left || tbp_utf8_valid_prefix((struct tbp_str){p, n}) < n ? 0 : n;
}

size_t tbp_cli_print(FILE *out, struct tbp_str text) {
    const char *end = text.p + text.n;
    size_t printed = 0;
    for (const char *p = text.p; p < end;) {
        size_t n = shown_char(p, end);
        printed +=
            n ? fwrite(p, 1, n, out) : (size_t)fprintf(out, "\\x%02x", (unsigned)(unsigned char)*p);
        p += n ? n : 1;
    }
    return printed;
}

const char *tbp_cli_printable(const struct tbp_cli *cli, const char *text) {
    const char *end = text + strlen(text);
    char *clean = TBP_NEW_N(cli->arena, char, 4 * (size_t)(end - text) + 1), *to = clean;
    for (const char *p = text; p < end;) {
        size_t n = shown_char(p, end);
        if (n)
            memcpy(to, p, n);
        else
            snprintf(to, 5, "\\x%02x", (unsigned)(unsigned char)*p);
        to += n ? n : 4;
        p += n ? n : 1;
    }
    return clean;
}

void tbp_cli_put(const char *text) {
    tbp_cli_print(stderr, tbp_str_c(text));
}

static void put_message(const char *fmt, va_list args) {
    char line[ERROR_LINE];
    if (vsnprintf(line, sizeof line, fmt, args) < 0)
        return;
    tbp_cli_put(line);
    fputc('\n', stderr);
}

void tbp_cli_error(const struct tbp_cli *cli, const struct tbp_error *err) {
    char line[ERROR_LINE];
    tbp_error_text(err, line, sizeof line);
    flockfile(stderr);
    fprintf(stderr, "%stbprof: error:%s ", cli->color_err ? "\033[1;31m" : "",
            cli->color_err ? "\033[0m" : "");
    tbp_cli_put(line);
    fputc('\n', stderr);
    funlockfile(stderr);
}

void tbp_cli_json_error(struct tbp_sink *out, const struct tbp_error *err) {
    struct tbp_json j;
    struct tbp_error ignored; /* whoever does not read it has the exit code */
    tbp_json_init(&j, out);
    tbp_json_lit(&j, "{\"error\":{");
    tbp_json_member(&j, "message", err->message);
    tbp_json_char(&j, ',');
    tbp_json_member(&j, "path", err->input[0] ? err->input : NULL);
    tbp_json_lit(&j, ",\"offset\":");
    if (err->offset != TBP_NO_OFFSET)
        tbp_json_u64(&j, err->offset);
    else
        tbp_json_lit(&j, "null");
    tbp_json_lit(&j, ",\"causes\":[");
    for (unsigned i = 0; i < err->n_causes; i++)
        tbp_json_item(&j, i, tbp_str_c(err->causes[i]));
    tbp_json_printf(&j, "],\"exit_code\":%d}}\n", tbp_exit_code(err->code));
    tbp_json_finish(&j, &ignored);
}

void tbp_cli_warn(const struct tbp_cli *cli, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    flockfile(stderr);
    fprintf(stderr, "%stbprof: warning:%s ", cli->color_err ? "\033[33m" : "",
            cli->color_err ? "\033[0m" : "");
    put_message(fmt, args);
    funlockfile(stderr);
    va_end(args);
}

void tbp_cli_note(const struct tbp_cli *cli, const char *fmt, ...) {
    if (cli->common->quiet)
        return;
    va_list args;
    va_start(args, fmt);
    flockfile(stderr);
    put_message(fmt, args);
    funlockfile(stderr);
    va_end(args);
}

enum tbp_progress_mode tbp_cli_progress_mode(const struct tbp_cli *cli) {
    if (cli->common->quiet)
        return TBP_PROGRESS_OFF;
    return isatty(STDERR_FILENO) ? TBP_PROGRESS_BAR : TBP_PROGRESS_LINES;
}
