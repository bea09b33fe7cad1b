/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof collectives: waiting and transfer per collective of several ranks.
 */
#include "cli/commands.h"
#include "cli/report_command.h"

static const struct tbp_opt collectives_options[] = {
    TBP_REPORT_LIMIT_OPTION,
    TBP_REPORT_CSV_OPTION,
    TBP_REPORT_CLOCK_OPTION("clocks are aligned by collectives where these agree"),
    TBP_REPORT_OPTIONS,
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};

static const char *const collectives_examples[] = {
    "tbprof collectives traces/",
    "the folder with the traces of all ranks: who waited how long, and for whom",
    "tbprof collectives traces/ --clock-offset 1=2.5ms --csv",
    "every call as a line; the clock of rank 1 is 2.5 ms ahead",
    NULL,
};

static int run_collectives(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                           struct tbp_error *err) {
    const struct tbp_report_values *v = values;
    struct tbp_report_request request = {.limit = tbp_report_limit(v)};
    (void)n_args;
    return tbp_run_report(cli, &tbp_report_collectives, v, args[0], &request, err);
}

const struct tbp_command tbp_command_collectives = {
    .name = "collectives",
    .args = "INPUT",
    .help = "who waited for whom in all-reduces and their kin",
    .about =
        "One row per call of a collective and rank, the longest wait first; before them, as text, "
        "one per host. A collective ends for all at once: the shortest call is the transfer, what "
        "others took longer they waited for the last one. Calls are matched by their place in the "
        "step; without steps, in the profile. Clocks of ranks are aligned by the ends of "
        "collectives where these agree, which is told; --clock-offset states it.",
    .examples = collectives_examples,
    .options = collectives_options,
    .values_size = sizeof(struct tbp_report_values),
    .min_args = 1,
    .max_args = 1,
    .run = run_collectives,
};
