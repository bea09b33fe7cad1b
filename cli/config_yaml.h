/* SPDX-License-Identifier: Apache-2.0
 *
 * Options from a YAML file. Keys are the long option names; at the top level they serve every
 * command that knows them, below a command's name they serve that command and win:
 *
 *     quiet: true
 *     convert:
 *       jobs: 4
 *       for: all
 *       tools: overview_page,kernel_stats
 *
 * A section is a mapping, an option never is: that tells the command "tools" from the option. A key
 * that no command knows, that stands twice, or whose value is not of the option's kind, is an error
 * with file and line, and with the nearest known key. What the command line gave is left alone.
 * Texts are copied into the arena.
 */
#ifndef TBP_CLI_CONFIG_YAML_H
#define TBP_CLI_CONFIG_YAML_H

#include "cli/options.h"

/* The bits of what the file gives are added to `given`. */
int tbp_config_load(const char *path, const struct tbp_command *c, struct tbp_arena *arena,
                    uint64_t *given, void *values, struct tbp_error *err);
/* Several files: what a later one says wins. */
int tbp_config_load_all(const struct tbp_opt_list *paths, const struct tbp_command *c,
                        struct tbp_arena *arena, uint64_t given, void *values,
                        struct tbp_error *err);

/* The same from text; name is for messages. */
int tbp_config_parse(struct tbp_str text, const char *name, const struct tbp_command *c,
                     struct tbp_arena *arena, uint64_t *given, void *values, struct tbp_error *err);

#endif
