/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens; see token_file.h.
 */
#include "cli/token_file.h"

#include "base/file.h"

#include <stdlib.h>

/* The first line of a file: options and process lists are seen by others. */
int tbp_token_read(struct tbp_cli *cli, const char *path, const char **token,
                   struct tbp_error *err) {
    struct tbp_input in;
    *token = path ? NULL : getenv("TBPROF_SERVER_TOKEN");
    if (!path)
        return TBP_OK;
    int status = tbp_input_open(&in, path, err);
    if (status)
        return status;
    struct tbp_str all = {(const char *)in.data, in.size};
    *token = tbp_arena_str(cli->arena, tbp_str_sub(all, 0, tbp_str_find(all, '\n'))).p;
    tbp_input_release(&in);
    return TBP_OK;
}
