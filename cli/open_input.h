/* SPDX-License-Identifier: Apache-2.0
 *
 * From what a person names (a file, a run folder, a logdir) to the hosts of one run.
 * Ownership: the arena holds every text. A session made with tbp_open_load and an input_files as context reads them.
 */
#ifndef TBP_CLI_OPEN_INPUT_H
#define TBP_CLI_OPEN_INPUT_H

#include "convert/analyze/session.h"

struct tbp_input_files {
    struct tbp_str *names, *paths; /* host name and file of each host, sorted by name */
    uint32_t n;
    const char *from; /* --from FORMAT, or NULL */
};

int tbp_open_input(struct tbp_input_files *out, const char *input, const char *from,
                   struct tbp_arena *a, struct tbp_error *err);
tbp_load_fn tbp_open_load; /* ctx: struct tbp_input_files */

#endif
