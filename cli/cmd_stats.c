/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof stats: averages per op, from any input.
 */
#include "cli/commands.h"
#include "cli/report_command.h"
#include "convert/report/stats.h"

struct stats_values {
    struct tbp_report_values base;
    unsigned sort_by, group_by;
    uint32_t stack_depth;
    bool ascending;
};

#define AT(member) offsetof(struct stats_values, member)
static const struct tbp_opt stats_options[] = {
    {"sort-by", 0, TBP_OPT_CHOICE, AT(sort_by), NULL,
     "largest first by this; auto: self-device if a device did anything, else self-cpu",
     tbp_stats_sort_choices},
    {"ascending", 0, TBP_OPT_FLAG, AT(ascending), NULL, "smallest first", NULL},
    TBP_REPORT_LIMIT_OPTION,
    {"group-by", 0, TBP_OPT_CHOICE, AT(group_by), NULL,
     "rows of one name apart by input shapes, Python stack, thread, device, module or host; or one "
     "row per type of op",
     tbp_stats_group_choices},
    {"stack-depth", 0, TBP_OPT_NUMBER, AT(stack_depth), "N",
     "innermost frames that tell stacks apart; 0: 5", NULL},
    TBP_REPORT_CSV_OPTION,
    TBP_REPORT_OPTIONS,
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const stats_examples[] = {
    "tbprof stats worker0.pt.trace.json",
    "the 20 ops with most self time",
    "tbprof stats logdir --group-by shape --sort-by cpu --limit 0",
    "all ops by input shapes, largest total first",
    "tbprof stats host.xplane.pb --json",
    "every row for a program (docs/reports.md)",
    NULL,
};

static int run_stats(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                     struct tbp_error *err) {
    enum { DEFAULT_DEPTH = 5 };
    const struct stats_values *v = values;
    struct tbp_report_request request = {.sort_by = v->sort_by,
                                         .group_by = v->group_by,
                                         .depth = v->stack_depth ? v->stack_depth : DEFAULT_DEPTH,
                                         .limit = tbp_report_limit(&v->base),
                                         .is_ascending = v->ascending};
    (void)n_args;
    return tbp_run_report(cli, &tbp_report_stats, &v->base, args[0], &request, err);
}

const struct tbp_command tbp_command_stats = {
    .name = "stats",
    .args = "INPUT",
    .help = "averages per op, as a table",
    .about = "Prints one row per op (and kernel): times on host and device, own and with what is "
             "nested in it, memory, count, average, smallest, largest and standard deviation.\n"
             "INPUT is a profile of any format, a run folder, a log directory or '-'. With "
             "several hosts the rows are of all together.",
    .examples = stats_examples,
    .options = stats_options,
    .values_size = sizeof(struct stats_values),
    .min_args = 1,
    .max_args = 1,
    .run = run_stats,
};
