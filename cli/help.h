/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts made from the option tables: --help of a command, the overview of all commands, and the
 * manual page. Everything goes to a stream that the caller owns; write errors stay in the stream.
 * Lines are as wide as the terminal, 80 columns elsewhere.
 */
#ifndef TBP_CLI_HELP_H
#define TBP_CLI_HELP_H

#include "cli/options.h"
#include "plugin_data/json_out.h"

#include <stdio.h>

void tbp_help_overview(FILE *out, bool color);
void tbp_help_command(FILE *out, const struct tbp_command *c, bool color);
void tbp_help_manual(FILE *out); /* tbprof.1, man macros */

/* The same as JSON, of one command or (NULL) of all. */
int tbp_help_json(struct tbp_sink *out, struct tbp_arena *arena, const struct tbp_command *only,
                  struct tbp_error *err);

/* Writes text in lines of at most `width` columns, each after the first indented. */
void tbp_help_wrap(FILE *out, const char *text, size_t indent, size_t width);

#endif
