/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof stacks: folded stacks for flame graphs.
 */
#include "cli/commands.h"
#include "cli/report_command.h"
#include "convert/report/stacks.h"

struct stacks_values {
    struct tbp_report_values base;
    unsigned metric, frames;
};

#define AT(member) offsetof(struct stacks_values, member)
static const struct tbp_opt stacks_options[] = {
    {"metric", 0, TBP_OPT_CHOICE, AT(metric), NULL,
     "time of the thread itself, or of device work launched there", tbp_stacks_metric_choices},
    {"frames", 0, TBP_OPT_CHOICE, AT(frames), NULL,
     "Python functions as PyTorch's export_stacks has them, or every event; auto: Python if there "
     "is any",
     tbp_stacks_frame_choices},
    TBP_REPORT_CSV_OPTION,
    TBP_REPORT_OPTIONS,
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const stacks_examples[] = {
    "tbprof stacks trace.pt.trace.json | flamegraph.pl > cpu.svg",
    "a flame graph of the host",
    "tbprof stacks host.xplane.pb --metric self_cuda_time_total --frames all",
    "device time by what launched it",
    NULL,
};

static int run_stacks(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                      struct tbp_error *err) {
    const struct stacks_values *v = values;
    struct tbp_report_request request = {.sort_by = v->metric, .group_by = v->frames};
    (void)n_args;
    return tbp_run_report(cli, &tbp_report_stacks, &v->base, args[0], &request, err);
}

const struct tbp_command tbp_command_stacks = {
    .name = "stacks",
    .args = "INPUT",
    .help = "folded stacks for flame graphs",
    .about =
        "Prints one line per distinct stack: frames from the outermost, separated by ';', then "
        "the microseconds spent in it. This is what flamegraph.pl, speedscope and inferno "
        "read, and what PyTorch's export_stacks writes.",
    .examples = stacks_examples,
    .options = stacks_options,
    .values_size = sizeof(struct stacks_values),
    .min_args = 1,
    .max_args = 1,
    .run = run_stacks,
};
