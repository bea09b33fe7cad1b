/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof export: events or averages in the format of another tool.
 */
#include "cli/commands.h"
#include "cli/report_command.h"

struct export_values {
    struct tbp_report_values base; /* --csv stands there */
    bool chrome, cntk, mxnet;
};

#define AT(member) offsetof(struct export_values, member)
static const struct tbp_opt export_options[] = {
    {"chrome", 0, TBP_OPT_FLAG, AT(chrome), NULL,
     "Chrome's trace format as PyTorch writes it: for Perfetto, chrome://tracing, PyTorch's tools",
     NULL},
    TBP_REPORT_CSV_OPTION,
    {"cntk", 0, TBP_OPT_FLAG, AT(cntk), NULL, "the detail log of CNTK", NULL},
    {"mxnet", 0, TBP_OPT_FLAG, AT(mxnet), NULL, "the aggregate statistics that MXNet prints", NULL},
    TBP_REPORT_OPTIONS,
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const export_examples[] = {
    "tbprof export host.xplane.pb --chrome > trace.json",
    "a profile of TensorFlow or JAX for tools that read PyTorch's",
    "tbprof export trace.pt.trace.json --mxnet",
    "what mx.profiler.dumps() would have printed",
    NULL,
};

static int run_export(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                      struct tbp_error *err) {
    const struct export_values *v = values;
    const bool chosen[] = {v->chrome, v->base.csv, v->cntk, v->mxnet};
    struct tbp_report_request request = {0};
    unsigned n = 0;
    (void)n_args;
    for (unsigned i = 0; i < sizeof chosen / sizeof *chosen; i++) {
        request.kind = chosen[i] ? i : request.kind;
        n += chosen[i];
    }
    if (n != 1)
        return tbp_fail(err, TBP_E_USAGE,
                        "export takes one of --chrome, --csv, --cntk and --mxnet");
    return tbp_run_report(cli, &tbp_report_export, &v->base, args[0], &request, err);
}

const struct tbp_command tbp_command_export = {
    .name = "export",
    .args = "INPUT",
    .help = "events or averages in the format of another tool",
    .about = "Writes to standard output what another tool reads: all events (--chrome, --csv), "
             "those of the host in order of their ends (--cntk), or averages (--mxnet).",
    .examples = export_examples,
    .options = export_options,
    .values_size = sizeof(struct export_values),
    .min_args = 1,
    .max_args = 1,
    .has_no_json = true,
    .run = run_export,
};
