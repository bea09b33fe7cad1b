/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands, one file each; only THE TABLE in commands.c needs this.
 */
#ifndef TBP_CLI_COMMANDS_H
#define TBP_CLI_COMMANDS_H

#include "cli/options.h"

extern const struct tbp_command tbp_command_convert;
extern const struct tbp_command tbp_command_tool;
extern const struct tbp_command tbp_command_info;
extern const struct tbp_command tbp_command_stats;
extern const struct tbp_command tbp_command_steps;
extern const struct tbp_command tbp_command_stacks;
extern const struct tbp_command tbp_command_export;
extern const struct tbp_command tbp_command_check;
extern const struct tbp_command tbp_command_collectives;
extern const struct tbp_command tbp_command_doctor;
extern const struct tbp_command tbp_command_view;
extern const struct tbp_command tbp_command_capture;
extern const struct tbp_command tbp_command_monitor;
extern const struct tbp_command tbp_command_run;
extern const struct tbp_command tbp_command_recover;
extern const struct tbp_command tbp_command_tools;
extern const struct tbp_command tbp_command_backend;
extern const struct tbp_command tbp_command_completion;
extern const struct tbp_command tbp_command_help;

#endif
