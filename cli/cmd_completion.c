/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof completion: the script that makes a shell complete tbprof's commands and options.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/completion.h"

static const char *const completion_examples[] = {
    "source <(tbprof completion bash)",
    "for the running bash",
    "tbprof completion fish > ~/.config/fish/completions/tbprof.fish",
    "for every fish from now on",
    NULL,
};

static int run_completion(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                          struct tbp_error *err) {
    (void)values, (void)n_args;
    if (cli->common->json)
        return tbp_fail(err, TBP_E_OPTION, "a completion script is no JSON: leave '--json' out");
    return tbp_completion(stdout, args[0], err);
}

const struct tbp_command tbp_command_completion = {
    .name = "completion",
    .args = "bash|zsh|fish",
    .help = "write a shell completion script",
    .about = "Writes the completion script of a shell to standard output. An installed tbprof has "
             "them in place already.",
    .examples = completion_examples,
    .values_size = sizeof(struct tbp_common),
    .min_args = 1,
    .max_args = 1,
    .run = run_completion,
};
