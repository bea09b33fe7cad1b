/* SPDX-License-Identifier: Apache-2.0
 *
 * The tbprof executable: finds the command in THE TABLE (commands.c), parses its options and the
 * configuration file, runs it and turns its status into the exit code.
 */
#include "base/guard.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/config_yaml.h"
#include "cli/help.h"
#include "cli/signals.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool wants_color(unsigned when, int fd) {
    if (when == TBP_WHEN_AUTO)
        return isatty(fd) != 0;
    return when == TBP_WHEN_ALWAYS;
}

struct call {
    struct tbp_cli *cli;
    int argc;
    char **argv;
    bool is_understood; /* its options are known */
};

static int run_command(const struct tbp_command *c, struct call *call, struct tbp_error *err) {
    struct tbp_cli *cli = call->cli;
    struct tbp_parsed parsed;
    void *values = tbp_arena_alloc(cli->arena, 1, c->values_size);
    struct tbp_common *common = values;
    cli->common = common;
    int status =
        tbp_options_parse(c, cli->arena, values, call->argc - 1, call->argv + 1, &parsed, err);
    if (!status && !common->help)
        status = tbp_config_load_all(&common->configs, c, cli->arena, parsed.given, values, err);
    cli->color_out = wants_color(common->color, STDOUT_FILENO);
    cli->color_err = wants_color(common->color, STDERR_FILENO);
    if (status)
        return status;
    call->is_understood = true;
    if (common->help && common->json)
        return tbp_help_json(&cli->answer->base, cli->arena, c, err);
    if (common->help) {
        tbp_help_command(stdout, c, cli->color_out);
        return TBP_OK;
    }
    if (common->verbose)
        tbp_log_set_level(TBP_LOG_INFO);
    if (common->quiet)
        tbp_log_set_level(TBP_LOG_ERROR);
    return c->run(cli, values, parsed.args, parsed.n_args, err);
}

static int dispatch(struct call *call, struct tbp_error *err) {
    char **argv = call->argv;
    if (call->argc < 2) {
        tbp_help_overview(stderr, call->cli->color_err);
        return tbp_fail(err, TBP_E_USAGE, "no command given");
    }
    if (strcmp(argv[1], "--version") == 0) {
        if (call->argc > 2)
            return tbp_fail(err, TBP_E_USAGE, "'--version' takes no arguments, not '%s'", argv[2]);
        puts("tbprof " TBP_VERSION);
        return TBP_OK;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        tbp_help_overview(stdout, call->cli->color_out);
        return TBP_OK;
    }
    const struct tbp_command *c;
    int status = tbp_command_find_near(&c, argv[1], err);
    return status ? status : run_command(c, call, err);
}

static int dispatch_guarded(void *ctx, struct tbp_error *err) {
    return dispatch(ctx, err);
}

/* Was an answer in JSON asked for? Of a call that is not understood, as far as one can see. */
static bool wants_json(const struct call *call) {
    bool is_there = call->cli->common->json;
    for (int i = 1; i < call->argc && !call->is_understood && !is_there; i++) {
        if (strcmp(call->argv[i], "--") == 0)
            break;
        is_there = strcmp(call->argv[i], "--json") == 0;
    }
    return is_there;
}

/* An answer that did not reach its reader is no answer, whatever it said. */
static int check_answer(const struct tbp_cli *cli, int status, struct tbp_error *err) {
    bool is_cut = fflush(stdout) != 0;
    if ((!is_cut && !ferror(stdout)) || (status && tbp_exit_code(status) == TBP_EXIT_USAGE))
        return status;
    int saved = errno;
    if (status)
        tbp_cli_error(cli, err);
    errno = saved;
    return is_cut ? tbp_fail_errno(err, TBP_E_IO, "writing to standard output failed")
                  : tbp_fail(err, TBP_E_IO, "writing to standard output failed");
}

/* Large blocks go back to the system when they are freed. glibc would keep more and more of them:
 * as much as the largest so far. */
static void keep_little(void) {
#ifdef M_MMAP_THRESHOLD
    enum { LARGE_BYTES = 1 << 20, KEPT_BYTES = 4 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
#endif
}

int main(int argc, char **argv) {
    static const struct tbp_common defaults;
    struct tbp_arena arena;
    struct tbp_error err = {0};
    keep_little();
    tbp_signals_install();
    tbp_arena_init(&arena);
    struct tbp_sink_fd answer;
    tbp_sink_fd_init(&answer, STDOUT_FILENO);
    struct tbp_cli cli = {&arena, &defaults, &answer, isatty(STDOUT_FILENO) != 0,
                          isatty(STDERR_FILENO) != 0};
    struct call call = {.cli = &cli, .argc = argc, .argv = argv};
    int status = tbp_guard_run(dispatch_guarded, &call, &err);
    status = check_answer(&cli, status, &err);
    if (status)
        tbp_cli_error(&cli, &err);
    if (status && !answer.has_written && wants_json(&call))
        tbp_cli_json_error(&answer.base, &err);
    tbp_arena_release(&arena);
    return tbp_exit_code(status);
}
