/* SPDX-License-Identifier: Apache-2.0
 *
 * The token that a profiler server wants, from a file or the environment.
 */
#ifndef TBP_CLI_TOKEN_FILE_H
#define TBP_CLI_TOKEN_FILE_H

#include "cli/cli.h"

/* path NULL: $TBPROF_SERVER_TOKEN. *token is NULL if there is none. */
int tbp_token_read(struct tbp_cli *cli, const char *path, const char **token,
                   struct tbp_error *err);

#endif
