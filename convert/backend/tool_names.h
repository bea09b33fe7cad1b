/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tools are offered for a run: what the plugin asks for under the name "tool_names".
 */
#ifndef TBP_CONVERT_BACKEND_TOOL_NAMES_H
#define TBP_CONVERT_BACKEND_TOOL_NAMES_H

#include "convert/analyze/session.h"
#include "convert/backend/run_files.h"
#include "plugin_data/sink.h"

enum tbp_official_use {
    TBP_OFFICIAL_NONE,   /* it is not there */
    TBP_OFFICIAL_ASKS,   /* it makes pages, and the list if need be */
    TBP_OFFICIAL_FAILED, /* it makes pages, but named none: one file that it cannot read is enough
                          */
};

/* The list as the newest plugin gives it: comma-separated, by what stands in the first host.
 * *is_foreign: the official converter must be asked, since its answer depends on more, or since it
 * has to write the files of programs that other pages of its need (where it can: else it fails). */
int tbp_tool_names(struct tbp_session *s, const struct tbp_run_files *files,
                   enum tbp_official_use official, struct tbp_sink *out, bool *is_foreign,
                   struct tbp_error *err);

#endif
