/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tools are offered for a run: what the plugin asks for under the name "tool_names".
 */
#ifndef TBP_CONVERT_BACKEND_TOOL_NAMES_H
#define TBP_CONVERT_BACKEND_TOOL_NAMES_H

#include "convert/analyze/session.h"
#include "convert/backend/run_files.h"
#include "plugin_data/sink.h"

/* The list as the newest plugin gives it: comma-separated, by what stands in the first host.
 * *is_foreign: the official converter must be asked, since its answer depends on more, or since it
 * has to write the files of programs that other pages of its need (where it can: else it fails). */
int tbp_tool_names(struct tbp_session *s, const struct tbp_run_files *files, bool has_official,
                   struct tbp_sink *out, bool *is_foreign, struct tbp_error *err);

#endif
