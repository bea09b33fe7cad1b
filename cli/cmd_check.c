/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof check: whether a profile is fit to draw conclusions from.
 */
#include "cli/commands.h"
#include "cli/report_command.h"
#include "convert/report/findings.h"

#include <string.h>

struct check_values {
    struct tbp_report_values base;
    struct tbp_opt_list ignored;
    bool advice;
};

static const struct tbp_opt check_options[] = {
    {"ignore", 0, TBP_OPT_LIST, offsetof(struct check_values, ignored), "KEY",
     "a finding that does not matter here, as steps_unknown; may be repeated", tbp_finding_keys},
    {"advice", 0, TBP_OPT_FLAG, offsetof(struct check_values, advice), NULL,
     "also say what could be made faster, each with the figure it is based on", NULL},
    TBP_REPORT_CLOCK_OPTION("clocks as the profiles tell ('tbprof collectives' aligns them)"),
    TBP_REPORT_OPTIONS,
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};

static const char *const check_examples[] = {
    "tbprof check logdir",
    "what speaks against the figures of a run",
    "tbprof check trace.json --ignore steps_unknown && tbprof stats trace.json",
    "a table only of a profile that is fit for it",
    NULL,
};

static void warn_unknown(const struct tbp_cli *cli, const char *key) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, key);
    for (size_t i = 0; tbp_finding_keys[i]; i++) {
        if (strcmp(tbp_finding_keys[i], key) == 0)
            return;
        tbp_nearest_try(&nearest, tbp_finding_keys[i]);
    }
    if (nearest.best)
        tbp_cli_warn(cli, "'--ignore %s': no finding is called so; did you mean '%s'?", key,
                     nearest.best);
    else
        tbp_cli_warn(cli, "'--ignore %s': no finding is called so", key);
}

static int run_check(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                     struct tbp_error *err) {
    const struct check_values *v = values;
    struct tbp_report_request request = {
        .ignored = v->ignored.at, .n_ignored = v->ignored.n, .with_advice = v->advice};
    (void)n_args;
    for (size_t i = 0; i < v->ignored.n; i++)
        warn_unknown(cli, v->ignored.at[i]);
    return tbp_run_report(cli, &tbp_report_check, &v->base, args[0], &request, err);
}

const struct tbp_command tbp_command_check = {
    .name = "check",
    .args = "INPUT",
    .help = "whether a profile is fit to draw conclusions from",
    .about = "Looks for what spoils figures before anybody reads them: steps without device work, "
             "durations that cannot be, records lost or of another clock, ranks that are missing, "
             "and more. Each finding comes with its figure and with what to do. Exit code 0: fit; "
             "1: there is a serious finding (marked !!).",
    .examples = check_examples,
    .options = check_options,
    .values_size = sizeof(struct check_values),
    .min_args = 1,
    .max_args = 1,
    .run = run_check,
};
