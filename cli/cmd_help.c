/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof help: what --help shows, and the manual page.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"

#include <unistd.h>

struct help_values {
    struct tbp_common common;
    bool man;
};

static const struct tbp_opt help_options[] = {
    {"man", 0, TBP_OPT_FLAG, offsetof(struct help_values, man), NULL,
     "write the manual page (roff)", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};

static const char *const help_examples[] = {
    "tbprof help convert",
    "options of 'convert' with examples",
    "tbprof help --json",
    "commands and options for programs",
    "tbprof help --man > tbprof.1",
    "the manual page",
    NULL,
};

static int run_help(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                    struct tbp_error *err) {
    const struct help_values *v = values;
    const struct tbp_command *c = NULL;
    if (v->man && v->common.json)
        return tbp_fail(err, TBP_E_OPTION, "the manual page is no JSON: '--man' or '--json'");
    if (v->man) {
        tbp_help_manual(stdout);
        return TBP_OK;
    }
    int status = n_args ? tbp_command_find_near(&c, args[0], err) : TBP_OK;
    if (status)
        return status;
    if (v->common.json)
        return tbp_help_json(&cli->answer->base, cli->arena, c, err);
    if (c)
        tbp_help_command(stdout, c, cli->color_out);
    else
        tbp_help_overview(stdout, cli->color_out);
    return TBP_OK;
}

const struct tbp_command tbp_command_help = {
    .name = "help",
    .args = "[COMMAND]",
    .help = "explain a command",
    .about = "Shows the commands, or one command's options with examples.",
    .examples = help_examples,
    .options = help_options,
    .values_size = sizeof(struct help_values),
    .max_args = 1,
    .run = run_help,
};
