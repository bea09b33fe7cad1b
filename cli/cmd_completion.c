/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof completion: the script that makes a shell complete tbprof's commands and options.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/completion.h"

static const char *const completion_examples[] = {
    "source <(tbprof completion bash)",
    "for the running bash; zsh after compinit does the same",
    "tbprof completion fish > ~/.config/fish/completions/tbprof.fish",
    "for every fish from now on",
    NULL,
};

static int run_completion(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                          struct tbp_error *err) {
    (void)cli, (void)values, (void)n_args;
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
    .has_no_json = true,
    .run = run_completion,
};
