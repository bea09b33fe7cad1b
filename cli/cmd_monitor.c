/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof monitor: asks a running program how busy it is.
 */
#include "capture/capture_client.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/token_file.h"
#include "plugin_data/json_out.h"

#include <unistd.h>

struct monitor_values {
    struct tbp_common common;
    const char *service_addr, *token_file;
    uint32_t duration_ms, level;
};

#define AT(member) offsetof(struct monitor_values, member)
static const struct tbp_opt monitor_options[] = {
    {"service_addr", 0, TBP_OPT_TEXT, AT(service_addr), "HOST:PORT", "the server", NULL},
    {"duration_ms", 0, TBP_OPT_NUMBER, AT(duration_ms), "N>0", "how long to look; default: 1000",
     NULL},
    {"level", 0, TBP_OPT_NUMBER, AT(level), "1..2", "2: more; default: 1", NULL},
    {"token-file", 0, TBP_OPT_TEXT, AT(token_file), "FILE",
     "holds the token that the server wants; default: $TBPROF_SERVER_TOKEN", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const monitor_examples[] = {
    "tbprof monitor --service_addr localhost:6009",
    "steps per second, processor and memory of a running program",
    NULL,
};

static int tell_json(struct tbp_cli *cli, const char *address, const char *text,
                     struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(cli->arena, struct tbp_json);
    tbp_json_init(j, &cli->answer->base);
    tbp_json_lit(j, "{\"address\":");
    tbp_json_str(j, tbp_str_c(address), TBP_JSON_GVIZ);
    tbp_json_lit(j, ",\"text\":");
    tbp_json_str(j, tbp_str_c(text), TBP_JSON_GVIZ);
    tbp_json_lit(j, "}\n");
    return tbp_json_finish(j, err);
}

static int run_monitor(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                       struct tbp_error *err) {
    const struct monitor_values *v = values;
    struct tbp_target target;
    struct tbp_monitor_answer answer;
    const char *token = NULL;
    (void)args, (void)n_args;
    if (!v->service_addr)
        return tbp_fail(err, TBP_E_USAGE, "say whom to ask: --service_addr HOST:PORT");
    int status = tbp_target_parse(&target, cli->arena, tbp_str_c(v->service_addr), err);
    if (!status)
        status = tbp_token_read(cli, v->token_file, &token, err);
    if (!status)
        status = tbp_capture_monitor(&target, v->duration_ms ? v->duration_ms : 1000,
                                     v->level ? (int)v->level : 1, false, token, cli->arena,
                                     &answer, err);
    if (status)
        return status;
    if (answer.status != TBP_GRPC_OK)
        return tbp_fail(err, answer.was_reached ? TBP_E_FORMAT : TBP_E_IO, "%s: %s%s%s",
                        target.text,
                        answer.was_reached ? tbp_grpc_status_name(answer.status) : "not reachable",
                        *answer.text ? ": " : "", answer.text);
    if (v->common.json)
        return tell_json(cli, target.text, answer.text, err);
    fputs(answer.text, stdout);
    return TBP_OK;
}

const struct tbp_command tbp_command_monitor = {
    .name = "monitor",
    .args = "--service_addr HOST:PORT",
    .help = "ask a running program how busy it is",
    .about = "Asks a profiler server for the figures of its program: processor and memory, and of "
             "the steps that end while it looks. TensorFlow's server does not answer this on "
             "processors and GPUs.",
    .examples = monitor_examples,
    .options = monitor_options,
    .values_size = sizeof(struct monitor_values),
    .min_args = 0,
    .max_args = 0,
    .run = run_monitor,
};
