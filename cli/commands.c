/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of subcommands, in the order in which --help shows them.
 */
#include "cli/commands.h"

/* clang-format off */
const struct tbp_command *const tbp_commands[] = {
    &tbp_command_convert,
    &tbp_command_tool,
    &tbp_command_info,
    &tbp_command_stats,
    &tbp_command_steps,
    &tbp_command_collectives,
    &tbp_command_stacks,
    &tbp_command_export,
    &tbp_command_check,
    &tbp_command_doctor,
    &tbp_command_view,
    &tbp_command_capture,
    &tbp_command_monitor,
    &tbp_command_run,
    &tbp_command_recover,
    &tbp_command_tools,
    &tbp_command_backend,
    &tbp_command_completion,
    &tbp_command_help,
    NULL,
};
