/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof steps: time per step and its parts.
 */
#include "cli/commands.h"
#include "cli/report_command.h"

struct steps_values {
    struct tbp_report_values base;
    const char *fp_point, *bp_point;
};

#define AT(member) offsetof(struct steps_values, member)
static const struct tbp_opt steps_options[] = {
    {"fp-point", 0, TBP_OPT_TEXT, AT(fp_point), "OP",
     "op with which the forward pass begins; without: the first op of the step", NULL},
    {"bp-point", 0, TBP_OPT_TEXT, AT(bp_point), "OP",
     "op with which the backward pass ends; without: the last that computes gradients", NULL},
    TBP_REPORT_LIMIT_OPTION,
    TBP_REPORT_CSV_OPTION,
    TBP_REPORT_CLOCK_OPTION("clocks as the profiles tell ('tbprof collectives' aligns them)"),
    TBP_REPORT_OPTIONS,
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const steps_examples[] = {
    "tbprof steps logdir",
    "marker, period and gap of every step, and what is in them",
    "tbprof steps trace.json --fp-point Conv2D-op1 --bp-point ApplyMomentum-op9",
    "forward and backward pass between these ops",
    NULL,
};

static int run_steps(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                     struct tbp_error *err) {
    const struct steps_values *v = values;
    struct tbp_report_request request = {
        .fp_point = v->fp_point, .bp_point = v->bp_point, .limit = tbp_report_limit(&v->base)};
    (void)n_args;
    return tbp_run_report(cli, &tbp_report_steps, &v->base, args[0], &request, err);
}

const struct tbp_command tbp_command_steps = {
    .name = "steps",
    .args = "INPUT",
    .help = "time per step and its parts",
    .about =
        "One row per step and host. Marker: from its begin to its end; period: to the begin of "
        "the next one; gap: what no marker covers. Parts are unions of time: overlap counts "
        "once. Device: from the first work launched in the step to the end of the last; busy: "
        "any work; exposed: collectives beside which nothing is computed.\nWhat the profile "
        "does not tell is shown as --, never as 0.",
    .examples = steps_examples,
    .options = steps_options,
    .values_size = sizeof(struct steps_values),
    .min_args = 1,
    .max_args = 1,
    .run = run_steps,
};
