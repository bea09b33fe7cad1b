/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the commands and the mapping of statuses to exit codes.
 */
#include "cli/cli.h"

#include <stdio.h>
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

/* Names of files may hold anything: control characters, C1 ones too, never reach the terminal. */
void tbp_cli_put(const char *text) {
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        bool is_c1 = *p == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0;
        if (*p >= 0x20 && *p != 0x7F && !is_c1) {
            fputc(*p, stderr);
            continue;
        }
        fprintf(stderr, "\\x%02x", *p);
        if (is_c1)
            fprintf(stderr, "\\x%02x", *++p);
    }
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
