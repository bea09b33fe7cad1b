/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof tool: one tool's answer on standard output, as the plugin's /data route gives it.
 */
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/run_session.h"
#include "cli/warn_input.h"
#include "convert/tool/tool.h"

#include <string.h>
#include <unistd.h>

enum { MAX_NAMES = 16 }; /* of hosts, in a message */

struct tool_values {
    struct tbp_common common;
    const char *host, *run, *from, *steps;
    unsigned semantics, dialect;
    uint32_t jobs;
    struct tbp_opt_list params;
    bool strict;
};

#define AT(member) offsetof(struct tool_values, member)
static const struct tbp_opt tool_options[] = {
    {"host", 0, TBP_OPT_TEXT, AT(host), "HOST",
     "one host of a run of several; without: all together", NULL},
    {"run", 0, TBP_OPT_TEXT, AT(run), "NAME", "which run of a log directory", NULL},
    TBP_SEMANTICS_OPTION(AT(semantics)),
    {"dialect", 0, TBP_OPT_CHOICE, AT(dialect), NULL,
     "answer as the newest plugin or as 2.19.0 and older", tbp_dialect_choices},
    TBP_STEPS_OPTION(AT(steps)),
    {"param", 'O', TBP_OPT_LIST, AT(params), "KEY=VALUE",
     "a query parameter of the page, as start_time_ms of trace_viewer@; may be repeated", NULL},
    TBP_FROM_OPTION(AT(from)),
    TBP_JOBS_OPTION(AT(jobs)),
    TBP_STRICT_OPTION(AT(strict)),
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const tool_examples[] = {
    "tbprof tool overview_page logdir/plugins/profile/run1",
    "the overview of a run",
    "tbprof tool kernel_stats host.xplane.pb --semantics official",
    "exactly the numbers of the official plugin",
    "tbprof tool trace_viewer@ host.xplane.pb -O start_time_ms=10 -O end_time_ms=20",
    "a window of the trace",
    NULL,
};

static int check_value(const struct tbp_tool_param *p, const char *value, struct tbp_error *err) {
    if (tbp_tool_param_takes(p, value))
        return TBP_OK;
    return tbp_fail(err, TBP_E_OPTION, "'%s' takes %s, not '%s'", p->key,
                    p->kind == TBP_PARAM_SWITCH ? "true or false" : "a number", value);
}

/* The plugin's pages send what they like; here a key that the tool does not know is a mistake. */
static int check_param(const struct tbp_tool *tool, const char *key, const char *value,
                       struct tbp_error *err) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, key);
    for (const struct tbp_tool_param *p = tool->params; p && p->key; p++) {
        if (strcmp(p->key, key) == 0)
            return check_value(p, value, err);
        tbp_nearest_try(&nearest, p->key);
    }
    if (!tool->params)
        return tbp_fail(err, TBP_E_OPTION, "'%s' takes no parameters, so no '%s'", tool->name, key);
    return tbp_fail(err, TBP_E_OPTION, "'%s' has no parameter '%s'; %s '%s'", tool->name, key,
                    nearest.best ? "did you mean" : "there is for instance",
                    nearest.best ? nearest.best : tool->params[0].key);
}

/* KEY=VALUE texts as the tool's options. */
static int split_params(struct tbp_request *r, const struct tbp_tool *tool,
                        const struct tbp_opt_list *params, struct tbp_arena *arena,
                        struct tbp_error *err) {
    struct tbp_tool_option *options = TBP_NEW_N(arena, struct tbp_tool_option, params->n + 1);
    r->options = options;
    for (size_t i = 0; i < params->n; i++) {
        const char *equals = strchr(params->at[i], '=');
        if (!equals || equals == params->at[i])
            return tbp_fail(err, TBP_E_OPTION, "'param' takes KEY=VALUE, not '%s'", params->at[i]);
        const char *key =
            tbp_arena_printf(arena, "%.*s", (int)(equals - params->at[i]), params->at[i]);
        int status = check_param(tool, key, equals + 1, err);
        if (status)
            return status;
        if (tbp_request_option(r, key, NULL))
            return tbp_fail(err, TBP_E_OPTION, "'%s' is given twice", key);
        options[r->n_options++] = (struct tbp_tool_option){key, equals + 1};
    }
    return TBP_OK;
}

static int find_tool(const struct tbp_tool **out, const char *name, struct tbp_error *err) {
    struct tbp_nearest nearest;
    *out = tbp_tool_find(tbp_str_c(name));
    if (*out)
        return TBP_OK;
    tbp_nearest_init(&nearest, name);
    for (size_t i = 0; tbp_tools[i]; i++)
        tbp_nearest_try(&nearest, tbp_tools[i]->name);
    if (nearest.best)
        return tbp_fail(err, TBP_E_USAGE, "unknown tool '%s'; did you mean '%s'?", name,
                        nearest.best);
    return tbp_fail(err, TBP_E_USAGE, "unknown tool '%s'; 'tbprof tools' lists them", name);
}

static int fail_several_hosts(const struct tbp_tool *tool, const struct tbp_session *s,
                              struct tbp_arena *arena, struct tbp_error *err) {
    const char *names = "";
    uint32_t n = tbp_session_n_hosts(s), shown = n < MAX_NAMES ? n : MAX_NAMES;
    for (uint32_t i = 0; i < shown; i++) {
        struct tbp_str name = tbp_session_host_name(s, i);
        names = tbp_arena_printf(arena, "%s%s%.*s", names, i ? ", " : "", (int)name.n, name.p);
    }
    return tbp_fail(err, TBP_E_UNSUPPORTED,
                    "'%s' shows one host: choose one with --host NAME; the run has %s%s",
                    tool->name, names, shown < n ? " …" : "");
}

static int choose_host(const struct tbp_tool *tool, struct tbp_session *s, const char *name,
                       uint32_t *host, struct tbp_error *err) {
    *host = tbp_session_n_hosts(s) == 1 ? 0 : TBP_ALL_HOSTS;
    int status = name ? tbp_find_host(s, name, host, err) : TBP_OK;
    if (!status && *host == TBP_ALL_HOSTS)
        status = tbp_tool_prepare_hosts(tool, s, err);
    return status;
}

static int answer(const struct tbp_cli *cli, const struct tbp_tool *tool, struct tbp_session *s,
                  const char *host_name, struct tbp_request *request, struct tbp_error *err) {
    int status = choose_host(tool, s, host_name, &request->host, err);
    if (status)
        return status;
    status = tool->write(s, request, &cli->answer->base, err);
    if (status && request->host == TBP_ALL_HOSTS && !(tool->scope & TBP_SCOPE_ALL_HOSTS))
        return fail_several_hosts(tool, s, cli->arena, err);
    return status;
}

/* Of the hosts that the answer is made of; they are loaded already. */
static int tell_losses(const struct tbp_cli *cli, struct tbp_session *s, const struct tbp_run *run,
                       uint32_t asked, bool has_loss, bool strict, struct tbp_error *err) {
    struct tbp_error ignored; /* of a host that the answer could do without */
    for (uint32_t i = 0; i < tbp_session_n_hosts(s); i++) {
        if (asked != TBP_ALL_HOSTS && asked != i)
            continue;
        const struct tbp_host *h = tbp_session_host(s, i, &ignored);
        if (!h)
            continue;
        if (tbp_check_unchanged(h, &run->hosts[i], err))
            return err->code;
        has_loss |= tbp_ledger_has_loss(&h->ledger) || h->size_bytes == 0;
        tbp_warn_input(cli, h->path, h->size_bytes, &h->ledger);
    }
    if (strict && has_loss)
        return tbp_fail(err, TBP_E_FORMAT, "parts of the input were lost (--strict)");
    return TBP_OK;
}

static int run_tool(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                    struct tbp_error *err) {
    const struct tool_values *v = values;
    const struct tbp_tool *tool;
    struct tbp_run run;
    struct tbp_request request = {.dialect = (enum tbp_dialect)v->dialect};
    struct tbp_step_source steps;
    bool has_loss = false;
    (void)n_args;
    int status = find_tool(&tool, args[0], err);
    if (!status)
        status = split_params(&request, tool, &v->params, cli->arena, err);
    if (!status)
        status = tbp_check_format(v->from, err);
    if (!status)
        status = tbp_step_source_parse(&steps, v->steps, err);
    if (!status)
        status = tbp_find_one_run(&run, cli, args[1], v->run, &has_loss, err);
    if (status)
        return status;
    /* losses that are to count, and steps, are looked for everywhere */
    bool wants_all = v->strict || steps.kind != TBP_STEPS_AUTO;
    struct tbp_run_loader loader = {&run, v->from, wants_all ? TBP_WANTED_ALL : tool->wanted, steps,
                                    NULL};
    struct tbp_pool *pool = tbp_pool_new(v->jobs);
    struct tbp_session *s =
        tbp_run_session(&loader, (enum tbp_semantics)v->semantics, cli->arena, pool);
    status = answer(cli, tool, s, v->host, &request, err);
    if (!status)
        status = tell_losses(cli, s, &run, request.host, has_loss, v->strict, err);
    tbp_session_free(s);
    tbp_pool_free(pool);
    return status;
}

const struct tbp_command tbp_command_tool = {
    .name = "tool",
    .args = "NAME INPUT",
    .help = "print one tool's answer",
    .about =
        "Prints the body of one tool of the Profile tab, exactly as the plugin's /data route "
        "answers it.\n"
        "INPUT is a file, a run folder, a log directory or '-'; 'tbprof tools' lists the tools.",
    .examples = tool_examples,
    .options = tool_options,
    .values_size = sizeof(struct tool_values),
    .min_args = 2,
    .max_args = 2,
    .run = run_tool,
};
