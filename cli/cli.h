/* SPDX-License-Identifier: Apache-2.0
 *
 * What a running command may use, and how statuses become exit codes.
 *
 * Standard output carries the answer and nothing else; everything for people goes to standard
 * error.
 */
#ifndef TBP_CLI_CLI_H
#define TBP_CLI_CLI_H

#include "cli/options.h"
#include "cli/progress.h"
#include "plugin_data/sink.h"

struct tbp_cli {
    struct tbp_arena *arena; /* lives as long as the command runs */
    const struct tbp_common *common;
    struct tbp_sink_fd *answer; /* standard output, for all that is JSON */
    bool color_out, color_err;
};

enum tbp_exit {
    TBP_EXIT_DONE = 0,
    TBP_EXIT_DAMAGED = 1, /* input damaged beyond use, or --strict violated */
    TBP_EXIT_USAGE = 2,   /* usage or path error */
};

int tbp_exit_code(int status); /* of an enum tbp_code */

/* "s", or nothing after a 1: for counted things. */
static inline const char *tbp_plural(uint64_t n) {
    return n == 1 ? "" : "s";
}

/* Names of files and those in files may hold anything: control characters, and bytes that are no
 * UTF-8, are printed as \x1b. Returns how many bytes it printed. */
size_t tbp_cli_print(FILE *out, struct tbp_str text);
const char *tbp_cli_printable(const struct tbp_cli *cli, const char *text); /* the same, kept */
void tbp_cli_put(const char *text); /* the same to standard error */

/* {"error":{…}}: what a program gets in place of an answer; see docs/exit_codes.md. */
void tbp_cli_json_error(struct tbp_sink *out, const struct tbp_error *err);

/* Lines to standard error, coloured on a terminal. note is silent under --quiet. */
void tbp_cli_error(const struct tbp_cli *cli, const struct tbp_error *err);
void tbp_cli_warn(const struct tbp_cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void tbp_cli_note(const struct tbp_cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

enum tbp_progress_mode tbp_cli_progress_mode(const struct tbp_cli *cli);

#endif
