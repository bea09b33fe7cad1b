/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof capture: asks running programs for a profile, all at the same time, into one run. Speaks
 * to the servers of tbprof, TensorFlow and JAX.
 */
#include "capture/capture_client.h"
#include "capture/capture_request.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/json_parts.h"
#include "cli/recover.h"
#include "cli/token_file.h"
#include "plugin_data/rundir.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

struct capture_values {
    struct tbp_common common;
    const char *service_addr, *logdir, *worker_list, *run, *host, *token_file;
    struct tbp_given host_level, device_level;
    uint32_t duration_ms, delay_ms, attempts, python_level;
};

#define AT(member) offsetof(struct capture_values, member)
static const struct tbp_opt capture_options[] = {
    {"service_addr", 0, TBP_OPT_TEXT, AT(service_addr), "HOST:PORT,...",
     "the servers; also [IPv6]:port and unix:/path", NULL},
    {"logdir", 0, TBP_OPT_FOLDER, AT(logdir), "DIR",
     "where the run goes: DIR/plugins/profile/RUN; default: ./logdir", NULL},
    {"duration_ms", 0, TBP_OPT_NUMBER, AT(duration_ms), "N>0", "how long to record; default: 1000",
     NULL},
    {"delay_ms", 0, TBP_OPT_NUMBER, AT(delay_ms), "N",
     "begin so much later, on all hosts at the same time", NULL},
    {"num_tracing_attempts", 0, TBP_OPT_NUMBER, AT(attempts), "N>0",
     "tries for each host that is busy, idle or away; default: 3", NULL},
    {"worker_list", 0, TBP_OPT_TEXT, AT(worker_list), "HOST:PORT,...",
     "have the first server ask these and write all files on its own disk", NULL},
    {"session_id", 0, TBP_OPT_TEXT, AT(run), "NAME",
     "name of the run (" TBP_CAPTURE_NAME_RULE "); default: the local time", NULL},
    {"override_hostname", 0, TBP_OPT_TEXT, AT(host), "NAME",
     "what the profiles say as their host name", NULL},
    {"host_tracer_level", 0, TBP_OPT_GIVEN, AT(host_level), "0..9",
     "what a host records: 0 nothing, 1 the user's scopes, 2 frameworks', 3 verbose; default: 2",
     NULL},
    {"device_tracer_level", 0, TBP_OPT_GIVEN, AT(device_level), "0..9", "0: no devices; default: 1",
     NULL},
    {"python_tracer_level", 0, TBP_OPT_NUMBER, AT(python_level), "0..2", "1: Python calls, too",
     NULL},
    {"token-file", 0, TBP_OPT_TEXT, AT(token_file), "FILE",
     "holds the token that the servers want; default: $TBPROF_SERVER_TOKEN", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const capture_examples[] = {
    "tbprof capture --service_addr localhost:6009 --logdir logdir",
    "one second of a program that runs a profiler server",
    "tbprof capture --service_addr a:6009,b:6009 --logdir logdir --duration_ms 5000",
    "five seconds of two workers, in one run",
    NULL,
};

struct capture {
    struct tbp_cli *cli;
    const struct capture_values *v;
    struct tbp_capture_plan plan;
    struct tbp_capture_outcome out;
};

/* ---- telling ---- */

static size_t count(const struct tbp_capture_outcome *out, enum tbp_capture_result result) {
    size_t n = 0;
    for (size_t i = 0; i < out->n_hosts; i++)
        n += out->hosts[i].result == result;
    return n;
}

static void told(void *ctx, const struct tbp_capture_host *host, bool is_over) {
    const struct capture *c = ctx;
    if (!is_over)
        tbp_cli_note(c->cli, "%s: %s; trying again", host->target.text, host->text);
    else if (host->result != TBP_CAPTURE_SAVED)
        tbp_cli_warn(c->cli, "%s: %s", host->target.text, host->text);
    else
        tbp_cli_note(c->cli, "%s: %s, %" PRIu64 " bytes, %" PRIu64 " events, %" PRIu64 " steps",
                     host->target.text, host->text, host->size_bytes, host->n_events,
                     host->n_steps);
    for (size_t i = 0; i < host->errors.n && host->result == TBP_CAPTURE_SAVED; i++)
        tbp_cli_warn(c->cli, "%s: saved, but its profiler reports: %s", host->target.text,
                     host->errors.at[i]);
    for (size_t i = 0; i < host->warnings.n && is_over; i++)
        tbp_cli_warn(c->cli, "%s: its profile says: %s", host->target.text, host->warnings.at[i]);
}

static void json_texts(struct tbp_json *j, const char *key, const struct tbp_capture_texts *texts) {
    tbp_json_printf(j, "\"%s\":[", key);
    for (size_t i = 0; i < texts->n; i++)
        tbp_json_item(j, i, tbp_str_c(texts->at[i]));
    tbp_json_lit(j, "],");
}

static void json_host(struct tbp_json *j, const struct tbp_capture_host *h) {
    tbp_json_char(j, '{');
    tbp_json_member(j, "address", h->target.text);
    tbp_json_printf(j, ",\"result\":\"%s\",\"status\":\"%s\",\"attempts\":%u,",
                    tbp_capture_result_name(h->result), tbp_grpc_status_name(h->status),
                    h->attempts);
    tbp_json_member(j, "text", h->text);
    tbp_json_char(j, ',');
    tbp_json_member(j, "file", h->file);
    tbp_json_printf(j, ",\"bytes\":%" PRIu64 ",\"events\":%" PRIu64 ",\"steps\":%" PRIu64 ",",
                    h->size_bytes, h->n_events, h->n_steps);
    tbp_json_member(j, "device_error", h->errors.n ? h->errors.at[0] : NULL);
    tbp_json_char(j, ',');
    json_texts(j, "errors", &h->errors);
    json_texts(j, "warnings", &h->warnings);
    if (h->has_clock_offset)
        tbp_json_printf(j, "\"clock_offset_ns\":%" PRId64 "}", h->clock_offset_ns);
    else
        tbp_json_lit(j, "\"clock_offset_ns\":null}");
}

static int tell_json(struct capture *c, struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(c->cli->arena, struct tbp_json);
    tbp_json_init(j, &c->cli->answer->base);
    tbp_json_char(j, '{');
    tbp_json_member(j, "run", c->out.run);
    tbp_json_char(j, ',');
    tbp_json_member(j, "folder", c->out.n_saved ? c->out.folder : NULL);
    tbp_json_printf(j, ",\"start_ns\":%" PRId64 ",\"duration_ms\":%" PRIu64 ",\"saved\":%zu",
                    c->out.start_realtime_ns, c->plan.duration_ms, c->out.n_saved);
    tbp_json_lit(j, ",\"hosts\":[");
    for (size_t i = 0; i < c->out.n_hosts; i++) {
        if (i)
            tbp_json_char(j, ',');
        json_host(j, &c->out.hosts[i]);
    }
    tbp_json_lit(j, "]}\n");
    return tbp_json_finish(j, err);
}

/* ---- what programs left behind that ended ---- */

enum {
    LAST_BREATH_MS = 50,
    LAST_BREATHS = 40
}; /* a process that dies holds its spool until then */

/* Programs of this machine: of others we know no spools. */
static void find_left(struct capture *c, struct tbp_spool_paths *paths) {
    int64_t since_ns = c->out.start_realtime_ns - (int64_t)c->plan.delay_ms * 1000000;
    size_t n_alive;
    for (int i = 0; i < LAST_BREATHS; i++) {
        tbp_recover_find_captures(paths, c->cli->arena, since_ns, &n_alive);
        if (paths->list.n || n_alive == 0)
            return;
        nanosleep(&(struct timespec){0, LAST_BREATH_MS * 1000000}, NULL);
    }
}

static void tell_left(struct capture *c) {
    struct tbp_spool_paths paths = {0};
    if (count(&c->out, TBP_CAPTURE_ENDED) == 0)
        return;
    find_left(c, &paths);
    for (size_t i = 0; i < paths.list.n; i++)
        tbp_cli_warn(c->cli,
                     "what a program of this machine had recorded until it ended lies in '%s': "
                     "'tbprof recover %s --logdir %s' makes a run of it",
                     paths.list.at[i], paths.list.at[i], c->plan.logdir);
    if (paths.list.n == 0)
        tbp_cli_warn(c->cli,
                     "what programs with tbprof's server had recorded until they ended may lie in "
                     "spools on their machines: 'tbprof recover --logdir %s' there makes runs of "
                     "them",
                     c->plan.logdir);
    tbp_spool_paths_release(&paths);
}

/* ---- the plan ---- */

static int read_workers(struct capture *c, struct tbp_error *err) {
    struct tbp_targets workers;
    if (!c->v->worker_list)
        return TBP_OK;
    int status = tbp_targets_parse(&workers, c->cli->arena, tbp_str_c(c->v->worker_list), err);
    if (status)
        return status;
    const char **texts = TBP_NEW_N(c->cli->arena, const char *, workers.n);
    for (size_t i = 0; i < workers.n; i++)
        texts[i] = workers.at[i].text;
    c->plan.workers = texts;
    c->plan.n_workers = workers.n;
    return TBP_OK;
}

static int make_plan(struct capture *c, struct tbp_error *err) {
    const struct capture_values *v = c->v;
    struct tbp_capture_plan *p = &c->plan;
    if (!v->service_addr)
        return tbp_fail(err, TBP_E_USAGE, "say whom to ask: --service_addr HOST:PORT");
    *p = (struct tbp_capture_plan){
        .logdir = v->logdir ? v->logdir : "logdir",
        .session_id = v->run,
        .duration_ms = v->duration_ms ? v->duration_ms : 1000,
        .delay_ms = v->delay_ms,
        .attempts = v->attempts ? v->attempts : 3,
        .host_level = v->host_level.is_given ? v->host_level.n : 2,
        .device_level = v->device_level.is_given ? v->device_level.n : 1,
        .python_level = v->python_level,
        .override_hostname = v->host,
        .told = told,
        .ctx = c,
    };
    int status = tbp_targets_parse(&p->targets, c->cli->arena, tbp_str_c(v->service_addr), err);
    if (!status)
        status = read_workers(c, err);
    return status ? status : tbp_token_read(c->cli, v->token_file, &p->token, err);
}

/* None delivered: the exit code of a target that is away is another one than that of one that is
 * there. */
static int verdict(const struct tbp_capture_outcome *out, struct tbp_error *err) {
    if (out->n_saved)
        return TBP_OK;
    size_t n_away = count(out, TBP_CAPTURE_UNREACHABLE);
    return tbp_fail(err, n_away == out->n_hosts ? TBP_E_IO : TBP_E_FORMAT,
                    "no profile was captured: of %zu server%s %zu not reachable, %zu ended, %zu "
                    "idle, %zu with errors",
                    out->n_hosts, out->n_hosts == 1 ? "" : "s", n_away,
                    count(out, TBP_CAPTURE_ENDED), count(out, TBP_CAPTURE_IDLE),
                    count(out, TBP_CAPTURE_REFUSED) + count(out, TBP_CAPTURE_ELSEWHERE));
}

static int run_capture(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                       struct tbp_error *err) {
    struct capture c = {.cli = cli, .v = values};
    (void)args, (void)n_args;
    int status = make_plan(&c, err);
    if (status)
        return status;
    tbp_cli_note(cli, "capturing %" PRIu64 " ms of %zu server%s", c.plan.duration_ms,
                 c.plan.targets.n, c.plan.targets.n == 1 ? "" : "s");
    status = tbp_capture_trace(&c.plan, cli->arena, &c.out, err);
    if (status)
        return status;
    if (c.v->run && strcmp(c.v->run, c.out.run) != 0)
        tbp_cli_note(cli, "run '%s' was there already: this one is '%s'", c.v->run, c.out.run);
    if (c.out.n_saved == 0)
        tbp_rundir_remove_empty(); /* what a save that failed had made */
    tell_left(&c);
    if (c.v->common.json)
        status = tell_json(&c, err);
    else if (c.out.n_saved)
        printf("%s\n", c.out.folder);
    return status ? status : verdict(&c.out, err);
}

const struct tbp_command tbp_command_capture = {
    .name = "capture",
    .args = "--service_addr HOST:PORT,...",
    .help = "ask running programs for a profile",
    .about = "Asks profiler servers for a profile of the next moments and saves it as a run of "
             "LOGDIR. A server runs in a program that called tbprof's start_server, "
             "tf.profiler.experimental.server.start or jax.profiler.start_server, or that was "
             "started with TBPROF_SERVER=PORT.\nSeveral servers record at the same time, into one "
             "run; those that do not deliver are warnings as long as one does. What is told of "
             "them: not reachable (nobody answers there), idle (nothing happened that could be "
             "recorded), or the error with which they answer. Proxies are never used.",
    .examples = capture_examples,
    .options = capture_options,
    .values_size = sizeof(struct capture_values),
    .min_args = 0,
    .max_args = 0,
    .run = run_capture,
};
