/* SPDX-License-Identifier: Apache-2.0
 *
 * Shell completion scripts, written from the option tables.
 */
#ifndef TBP_CLI_COMPLETION_H
#define TBP_CLI_COMPLETION_H

#include "cli/options.h"

#include <stdio.h>

/* shell: "bash", "zsh" or "fish"; another one fails with TBP_E_USAGE. */
int tbp_completion(FILE *out, const char *shell, struct tbp_error *err);

#endif
