/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls of the capture client; see capture_client.h for what they do.
 */
#include "base/guard.h"
#include "capture/capture_client.h"
#include "capture/last_error.h"
#include "plugin_data/rundir.h"

#include <stdio.h>

void tbprof_client_options_init(tbprof_client_options *o) {
    *o = (tbprof_client_options){
        .struct_size = sizeof *o, .attempts = 3, .host_tracer_level = 2, .device_tracer_level = 1};
}

struct tracing {
    const char *service_addrs, *logdir;
    uint64_t duration_ms;
    tbprof_client_options o;
    char *folder;
    size_t folder_size;
    struct tbp_arena arena;
    tbprof_status status;
};

static int read_workers(struct tracing *t, struct tbp_capture_plan *plan, struct tbp_error *err) {
    struct tbp_targets workers;
    if (!t->o.worker_list || !*t->o.worker_list)
        return TBP_OK;
    int status = tbp_targets_parse(&workers, &t->arena, tbp_str_c(t->o.worker_list), err);
    if (status)
        return status;
    const char **texts = TBP_NEW_N(&t->arena, const char *, workers.n);
    for (size_t i = 0; i < workers.n; i++)
        texts[i] = workers.at[i].text;
    plan->workers = texts;
    plan->n_workers = workers.n;
    return TBP_OK;
}

static const char *with(struct tracing *t, const char *text, const struct tbp_capture_host *h,
                        const char *what) {
    return tbp_arena_printf(&t->arena, "%s%s%s: %s", text, *text ? "; " : "", h->target.text, what);
}

/* What went wrong, host by host, and what their profiles lack. */
static void tell(struct tracing *t, const struct tbp_capture_outcome *out) {
    const char *text = "";
    t->status = out->n_saved ? TBPROF_OK : TBPROF_UNAVAILABLE;
    for (size_t i = 0; i < out->n_hosts; i++) {
        const struct tbp_capture_host *h = &out->hosts[i];
        if (h->result != TBP_CAPTURE_SAVED)
            text = with(t, text, h, h->text);
        for (size_t k = 0; k < h->errors.n && h->result == TBP_CAPTURE_SAVED; k++)
            text = with(t, text, h, h->errors.at[k]);
        for (size_t k = 0; k < h->warnings.n; k++)
            text = with(t, text, h, h->warnings.at[k]);
    }
    (void)tbp_last_error_set(t->status, "%s", text);
}

static int trace(void *ctx, struct tbp_error *err) {
    struct tracing *t = ctx;
    struct tbp_capture_outcome out;
    struct tbp_capture_plan plan = {
        .logdir = t->logdir,
        .session_id = t->o.session_id,
        .duration_ms = t->duration_ms,
        .delay_ms = t->o.delay_ms,
        .attempts = t->o.attempts > 0 ? (unsigned)t->o.attempts : 1,
        .host_level = (unsigned)t->o.host_tracer_level,
        .device_level = (unsigned)t->o.device_tracer_level,
        .python_level = (unsigned)t->o.python_tracer_level,
        .override_hostname = t->o.override_hostname,
        .token = t->o.token,
    };
    if (t->o.host_tracer_level < 0 || t->o.device_tracer_level < 0 || t->o.python_tracer_level < 0)
        return tbp_fail(err, TBP_E_OPTION, "levels of tracers must not be negative");
    int status = tbp_rundir_local(&plan.logdir, err);
    if (!status)
        status = tbp_targets_parse(&plan.targets, &t->arena, tbp_str_c(t->service_addrs), err);
    if (!status)
        status = read_workers(t, &plan, err);
    if (!status)
        status = tbp_capture_trace(&plan, &t->arena, &out, err);
    if (status)
        return status;
    tell(t, &out);
    if (t->folder)
        snprintf(t->folder, t->folder_size, "%s", out.n_saved ? out.folder : "");
    return TBP_OK;
}

tbprof_status tbprof_client_trace(const char *service_addrs, const char *logdir,
                                  uint64_t duration_ms, const tbprof_client_options *options,
                                  char *folder, size_t folder_size) {
    struct tbp_error err = {0};
    struct tracing t = {.service_addrs = service_addrs,
                        .logdir = logdir,
                        .duration_ms = duration_ms,
                        .folder = folder,
                        .folder_size = folder_size};
    tbprof_client_options_init(&t.o);
    if (options)
        memcpy(&t.o, options,
               options->struct_size < sizeof t.o ? options->struct_size : sizeof t.o);
    tbp_arena_init(&t.arena);
    if (tbp_guard_run(trace, &t, &err) != TBP_OK)
        t.status = tbp_last_error_from(&err);
    tbp_arena_release(&t.arena);
    return t.status;
}

struct monitoring {
    const char *service_addr;
    uint64_t duration_ms;
    int level;
    struct tbp_arena arena;
    struct tbp_monitor_answer answer;
};

static int monitor(void *ctx, struct tbp_error *err) {
    struct monitoring *m = ctx;
    struct tbp_target target;
    int status = tbp_target_parse(&target, &m->arena, tbp_str_c(m->service_addr), err);
    return status ? status
                  : tbp_capture_monitor(&target, m->duration_ms, m->level, false, NULL, &m->arena,
                                        &m->answer, err);
}

tbprof_status tbprof_client_monitor(const char *service_addr, uint64_t duration_ms, int level,
                                    char *text, size_t size) {
    struct tbp_error err = {0};
    struct monitoring m = {service_addr, duration_ms, level, {0}, {0}};
    tbprof_status status;
    tbp_arena_init(&m.arena);
    if (tbp_guard_run(monitor, &m, &err) != TBP_OK) {
        status = tbp_last_error_from(&err);
    } else if (m.answer.status != 0) {
        status = tbp_last_error_set(
            (tbprof_status)m.answer.status, "%s: %s",
            m.answer.was_reached ? "reachable, but answers" : "not reachable", m.answer.text);
    } else {
        snprintf(text, size, "%s", m.answer.text);
        status = TBPROF_OK;
    }
    tbp_arena_release(&m.arena);
    return status;
}
