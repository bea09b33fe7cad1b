/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures by request; see capture_client.h. Requests are built in client_request.c; here is what
 * becomes of answers: what is saved, what is tried again, what is told.
 */
#include "capture/capture_client.h"

#include "base/file.h"
#include "base/quiet_thread.h"
#include "capture/capture_request.h"
#include "capture/capture_scan.h"
#include "capture/client_request.h"
#include "capture/local_time.h"
#include "plugin_data/marker.h"
#include "plugin_data/rundir.h"
#include "plugin_data/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOOL_DATA = 6, EMPTY_TRACE = 7, XSPACE = 8, TOOL_NAME = 1, TOOL_BYTES = 2 };
enum { SESSION_ERROR = 1, SESSION_EMPTY = 2 };        /* of NewProfileSessionResponse */
#define LEAST_WAIT_NS 60000000000                     /* a server is given at least so long */
#define PAUSE_NS      300000000                       /* before another attempt */
enum { MAX_TEXT_BYTES = 400, LONGEST_MS = 86400000 }; /* of a sentence inside a profile */

struct trace {
    const struct tbp_capture_plan *plan;
    struct tbp_arena *arena;
    struct tbp_capture_outcome *out;
    struct tbp_grpc_client_call *calls;
    size_t n_calls;
    const char *root; /* absolute <logdir>/plugins/profile */
};

const char *tbp_capture_result_name(enum tbp_capture_result result) {
    static const char *const names[] = {"saved",     "unreachable", "idle", "refused",
                                        "elsewhere", "ended",       "same"};
    return names[result];
}

/* ---- storing ---- */

/* What a server calls a file, with the host in front; NULL: not a name. */
static const char *path_of(struct trace *t, const struct tbp_capture_host *host,
                           struct tbp_str suffix) {
    if (!tbp_capture_is_name(suffix))
        return NULL;
    const char *clean = tbp_arena_str(t->arena, suffix).p;
    return tbp_rundir_file(t->arena, t->out->folder, tbp_str_c(host->target.text), clean);
}

static int store_file(struct trace *t, const char *path, struct tbp_str bytes,
                      struct tbp_error *err) {
    struct tbp_sink_file *file = NULL;
    if (access(path, F_OK) == 0) /* of somebody who began at the same time */
        return tbp_fail(err, TBP_E_USAGE, "'%s' is there already and is not overwritten", path);
    int status = tbp_rundir_make(t->out->folder, err);
    if (!status)
        status = tbp_sink_file_new(&file, path, err);
    if (!status)
        status = tbp_sink_write(tbp_sink_file_base(file), bytes.p, bytes.n, err);
    if (!status)
        status = tbp_sink_finish(tbp_sink_file_base(file), err);
    tbp_sink_file_free(file);
    if (status)
        rmdir(t->out->folder); /* if it is empty: it would show as a run */
    return status;
}

static bool store(struct trace *t, struct tbp_capture_host *host, struct tbp_str suffix,
                  struct tbp_str bytes) {
    struct tbp_error err = {0};
    const char *path = path_of(t, host, suffix);
    if (!path)
        return false;
    int status = t->plan->store ? t->plan->store(t->plan->ctx, host->target.text,
                                                 tbp_arena_str(t->arena, suffix).p, bytes, &err)
                                : store_file(t, path, bytes, &err);
    if (status) {
        char text[2 * TBP_ERROR_TEXT];
        host->text = tbp_arena_printf(t->arena, "%s", tbp_error_text(&err, text, sizeof text));
        return false;
    }
    if (tbp_str_is(suffix, TBP_RUNDIR_XPLANE) || !host->file) {
        host->file = path;
        host->size_bytes = bytes.n;
    }
    return true;
}

/* ---- judging ---- */

struct answer {
    struct tbp_str xspace;
    bool is_empty, has_xspace, was_stored;
};

static void take_tool(struct trace *t, struct tbp_capture_host *host, struct tbp_wire tool,
                      struct answer *a) {
    struct tbp_wire_field f;
    struct tbp_str name = {0}, bytes = {0};
    while (tbp_wire_next(&tool, &f) == 1) {
        if (f.number == TOOL_NAME && f.type == TBP_WIRE_BYTES)
            name = tbp_wire_str(f.bytes);
        else if (f.number == TOOL_BYTES && f.type == TBP_WIRE_BYTES)
            bytes = tbp_wire_str(f.bytes);
    }
    if (tbp_str_is(name, TBP_RUNDIR_XPLANE)) {
        a->has_xspace = true;
        a->xspace = bytes;
    } else if (bytes.n && !tbp_str_ends(name, "tf_stats_helper_result")) {
        a->was_stored = store(t, host, name, bytes) || a->was_stored;
    }
}

static void read_answer(struct trace *t, struct tbp_capture_host *host, struct tbp_str message,
                        struct answer *a) {
    struct tbp_wire w = tbp_wire_of(message.p, message.n);
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) == 1) {
        if (f.number == EMPTY_TRACE && f.type == TBP_WIRE_VARINT) {
            a->is_empty = f.value != 0;
        } else if (f.number == XSPACE && f.type == TBP_WIRE_BYTES) {
            a->has_xspace = f.bytes.at != f.bytes.end;
            a->xspace = tbp_wire_str(f.bytes);
        } else if (f.number == TOOL_DATA && f.type == TBP_WIRE_BYTES) {
            take_tool(t, host, f.bytes, a);
        }
    }
}

static void set(struct tbp_capture_host *host, enum tbp_capture_result result, const char *text) {
    host->result = result;
    host->text = text;
}

/* Copies, since the answer goes; the last one says how many there are besides. */
static struct tbp_capture_texts keep_texts(struct trace *t, const struct tbp_scan_texts *texts) {
    struct tbp_capture_texts to = {0};
    size_t n = texts->n < TBP_SCAN_MAX_TEXTS ? (size_t)texts->n : TBP_SCAN_MAX_TEXTS;
    to.at = TBP_NEW_N(t->arena, const char *, n + 1);
    for (; to.n < n; to.n++) {
        struct tbp_str text = texts->at[to.n];
        text.n = text.n < MAX_TEXT_BYTES ? text.n : MAX_TEXT_BYTES;
        text.n = tbp_utf8_valid_prefix(text);
        to.at[to.n] = tbp_arena_str(t->arena, text).p;
    }
    if (texts->n > n)
        to.at[to.n++] = tbp_arena_printf(t->arena, "%" PRIu64 " more like these", texts->n - n);
    return to;
}

static void look_into(struct trace *t, struct tbp_capture_host *host, struct tbp_str xspace) {
    struct tbp_capture_scan scan;
    tbp_capture_scan(&scan, xspace);
    host->n_events = scan.n_events;
    host->n_steps = scan.n_steps;
    host->errors = keep_texts(t, &scan.errors);
    host->warnings = keep_texts(t, &scan.warnings);
}

static void judge_xspace(struct trace *t, struct tbp_capture_host *host, const struct answer *a) {
    look_into(t, host, a->xspace);
    if (host->n_events == 0 && host->errors.n) {
        set(host, TBP_CAPTURE_REFUSED,
            tbp_arena_printf(t->arena, "reachable, but its profiler reports: %s",
                             host->errors.at[0]));
    } else if (host->n_events == 0) {
        set(host, TBP_CAPTURE_IDLE,
            "reachable, but nothing happened that could be recorded in this time");
    } else if (store(t, host, TBP_STR(TBP_RUNDIR_XPLANE), a->xspace)) {
        bool is_apart = host->attempts > 1 && t->n_calls > 1;
        set(host, TBP_CAPTURE_SAVED,
            is_apart
                ? tbp_arena_printf(t->arena, "saved at attempt %u, so of a later time than others",
                                   host->attempts)
                : "saved");
    } else {
        set(host, TBP_CAPTURE_REFUSED, host->text); /* our own disk */
        host->status = TBP_GRPC_INTERNAL;
    }
}

/* For what the server has written to a disk that this machine sees, too. */
static void look_into_file(struct trace *t, struct tbp_capture_host *host) {
    struct tbp_input in;
    struct tbp_file_stamp stamp;
    bool is_torn;
    if (tbp_input_open_copy(&in, host->file, NULL, &stamp, &is_torn, NULL, NULL) != TBP_OK)
        return;
    look_into(t, host, (struct tbp_str){(const char *)in.data, in.size});
    tbp_input_release(&in);
}

/* A server of the official kind may have written the file itself, on its own disk. */
static void judge_elsewhere(struct trace *t, struct tbp_capture_host *host) {
    struct stat st;
    const char *path = path_of(t, host, TBP_STR(TBP_RUNDIR_XPLANE));
    if (stat(path, &st) == 0 && st.st_size > 0) {
        host->file = path;
        host->size_bytes = (uint64_t)st.st_size;
        set(host, TBP_CAPTURE_SAVED, "saved by the server");
        look_into_file(t, host);
        return;
    }
    set(host, TBP_CAPTURE_ELSEWHERE,
        tbp_arena_printf(t->arena,
                         "captured, but the server kept the profile: it wrote '%s' on its own "
                         "file system, which this machine does not see; give a --logdir that both "
                         "share",
                         path));
}

static void judge_failure(struct trace *t, struct tbp_capture_host *host,
                          const struct tbp_grpc_client_call *call) {
    bool is_away = !call->was_reached;
    if (call->same_as) {
        set(host, TBP_CAPTURE_SAME,
            tbp_arena_printf(t->arena, "not asked: it is the server of '%s'", call->same_as->text));
        return;
    }
    host->was_lost = host->was_lost || call->was_lost;
    if (host->was_lost && (call->was_lost || is_away)) {
        set(host, TBP_CAPTURE_ENDED,
            is_away ? "the program ended while it was captured: it was there, and is not any more"
                    : "the program ended while it was captured, or closed its server: the "
                      "connection was closed before the answer came");
        return;
    }
    set(host, is_away ? TBP_CAPTURE_UNREACHABLE : TBP_CAPTURE_REFUSED,
        tbp_arena_printf(t->arena, "%s: %s%s%s",
                         is_away ? "not reachable" : "reachable, but answers",
                         is_away ? "" : tbp_grpc_status_name(call->status),
                         is_away || !call->text[0] ? "" : ": ", call->text));
}

static void judge_workers(struct trace *t, struct tbp_capture_host *host, struct tbp_str message) {
    struct tbp_wire w = tbp_wire_of(message.p, message.n);
    struct tbp_wire_field f;
    set(host, TBP_CAPTURE_SAVED, "saved by the server, with all workers");
    while (tbp_wire_next(&w, &f) == 1) {
        if (f.number == SESSION_ERROR && f.type == TBP_WIRE_BYTES && f.bytes.at != f.bytes.end)
            set(host, TBP_CAPTURE_REFUSED,
                tbp_arena_printf(t->arena, "reachable, but answers: %.*s",
                                 (int)(f.bytes.end - f.bytes.at), (const char *)f.bytes.at));
        else if (f.number == SESSION_EMPTY && f.type == TBP_WIRE_VARINT && f.value)
            set(host, TBP_CAPTURE_IDLE, "reachable, but no worker recorded anything");
    }
}

static void judge(struct trace *t, struct tbp_capture_host *host,
                  const struct tbp_grpc_client_call *call) {
    struct answer a = {0};
    host->status = call->status;
    host->attempts = call->attempts;
    host->has_clock_offset = call->has_server_times;
    host->clock_offset_ns =
        ((call->server_received_ns - call->sent_ns) + (call->server_sent_ns - call->received_ns)) /
        2;
    if (call->status != TBP_GRPC_OK) {
        judge_failure(t, host, call);
        return;
    }
    if (t->plan->n_workers) {
        judge_workers(t, host, tbp_grpc_client_message(call));
        return;
    }
    read_answer(t, host, tbp_grpc_client_message(call), &a);
    if (a.is_empty)
        set(host, TBP_CAPTURE_IDLE,
            "reachable, but nothing happened that could be recorded in this time");
    else if (a.has_xspace)
        judge_xspace(t, host, &a);
    else if (a.was_stored)
        set(host, TBP_CAPTURE_SAVED, "saved");
    else
        judge_elsewhere(t, host);
}

/* ---- trying again ---- */

static bool is_worth_another(const struct tbp_capture_host *host,
                             const struct tbp_grpc_client_call *call) {
    if (host->result == TBP_CAPTURE_IDLE)
        return true;
    return call->status == TBP_GRPC_UNAVAILABLE || call->status == TBP_GRPC_ALREADY_EXISTS ||
           (call->status == TBP_GRPC_UNKNOWN && strstr(call->text, "Stream removed"));
}

static bool attempt_over(void *ctx, struct tbp_grpc_client_call *call, int64_t *not_before_ns) {
    struct trace *t = ctx;
    struct tbp_capture_host *host = &t->out->hosts[call - t->calls];
    judge(t, host, call);
    bool again = is_worth_another(host, call) && call->attempts < t->plan->attempts &&
                 tbp_monotonic_ns() < call->deadline_ns;
    *not_before_ns += PAUSE_NS * (int64_t)call->attempts;
    if (t->plan->told)
        t->plan->told(t->plan->ctx, host, !again);
    tbp_grpc_client_release(call);
    return again;
}

/* ---- the run ---- */

static int absolute_root(struct trace *t, struct tbp_error *err) {
    char here[PATH_MAX];
    const char *logdir = t->plan->logdir;
    if (logdir[0] != '/') {
        if (!getcwd(here, sizeof here))
            return tbp_fail_errno(err, TBP_E_IO, "finding the current folder failed");
        logdir = tbp_arena_printf(t->arena, "%s/%s", here, logdir);
    }
    size_t n = strlen(logdir);
    while (n > 1 && logdir[n - 1] == '/')
        n--;
    t->root = tbp_arena_printf(t->arena, "%.*s/%s", (int)n, logdir, TBP_RUNDIR_MIDDLE);
    return TBP_OK;
}

static int name_run(struct trace *t, struct tbp_error *err) {
    char name[TBP_RUNDIR_TIME_NAME];
    const char *wish = t->plan->session_id;
    if (wish && !tbp_capture_is_name(tbp_str_c(wish)))
        return tbp_fail(err, TBP_E_USAGE, "'%s' is no name of a run: " TBP_CAPTURE_NAME_RULE, wish);
    tbp_local_time_name(name, (time_t)(tbp_realtime_ns() / 1000000000));
    wish = wish ? wish : name;
    const char *run = tbp_arena_printf(t->arena, "%s", wish);
    for (unsigned i = 1;
         access(tbp_arena_printf(t->arena, "%s/%s", t->root, run), F_OK) == 0 && i < 1000; i++)
        run = tbp_rundir_numbered(t->arena, wish, i);
    t->out->run = run;
    t->out->folder = tbp_arena_printf(t->arena, "%s/%s", t->root, run);
    return TBP_OK;
}

/* A time to begin is asked for where it matters: later, or by several hosts at once. One host
 * begins when it can, and its profile need not say that this was later than now. */
static int64_t start_to_ask_for_ns(const struct trace *t) {
    const struct tbp_capture_plan *p = t->plan;
    bool matters = p->delay_ms > 0 || (p->n_workers ? p->n_workers : p->targets.n) > 1;
    return matters ? t->out->start_realtime_ns : 0;
}

static void make_calls(struct trace *t) {
    const struct tbp_capture_plan *p = t->plan;
    int64_t wait_ns = (int64_t)p->duration_ms * 2000000;
    wait_ns = (wait_ns > LEAST_WAIT_NS ? wait_ns : LEAST_WAIT_NS) + (int64_t)p->delay_ms * 1000000;
    int64_t deadline_ns = tbp_monotonic_ns() + wait_ns;
    t->out->start_realtime_ns = tbp_realtime_ns() + (int64_t)p->delay_ms * 1000000;
    t->n_calls = p->n_workers ? 1 : p->targets.n;
    t->calls = TBP_NEW_N(t->arena, struct tbp_grpc_client_call, t->n_calls);
    t->out->hosts = TBP_NEW_N(t->arena, struct tbp_capture_host, t->n_calls);
    t->out->n_hosts = t->n_calls;
    for (size_t i = 0; i < t->n_calls; i++) {
        t->out->hosts[i].target = p->targets.at[i];
        t->calls[i] = (struct tbp_grpc_client_call){
            .target = &p->targets.at[i],
            .path = p->n_workers ? "/tensorflow.ProfileAnalysis/NewSession"
                                 : "/tensorflow.ProfilerService/Profile",
            .request = tbp_client_request(p, t->arena, t->root, t->out->run, &p->targets.at[i],
                                          start_to_ask_for_ns(t)),
            .deadline_ns = deadline_ns,
            .token = p->token,
        };
    }
}

/* Makes the folder a run of older TensorBoards, too. Only once there is something in it. */
static void mark(struct trace *t) {
    char host[256] = "localhost";
    if (t->plan->store || access(t->out->folder, F_OK) != 0)
        return;
    gethostname(host, sizeof host - 1);
    (void)tbp_marker_write(t->plan->logdir, host, tbp_realtime_ns() / 1000000000, NULL);
}

int tbp_capture_trace(const struct tbp_capture_plan *plan, struct tbp_arena *arena,
                      struct tbp_capture_outcome *out, struct tbp_error *err) {
    struct trace t = {.plan = plan, .arena = arena, .out = out};
    *out = (struct tbp_capture_outcome){0};
    if (plan->duration_ms == 0)
        return tbp_fail(err, TBP_E_USAGE, "the duration must be more than 0 ms");
    if (plan->duration_ms > LONGEST_MS || plan->delay_ms > LONGEST_MS)
        return tbp_fail(err, TBP_E_USAGE, "duration and delay must be at most a day (%d ms)",
                        LONGEST_MS);
    int status = absolute_root(&t, err);
    if (!status)
        status = name_run(&t, err);
    if (status)
        return status;
    make_calls(&t);
    struct tbp_grpc_client client = {
        .calls = t.calls, .n = t.n_calls, .over = attempt_over, .ctx = &t, .cancel = plan->cancel};
    status = tbp_grpc_client_run(&client, err);
    for (size_t i = 0; i < t.n_calls; i++)
        out->n_saved += !status && out->hosts[i].result == TBP_CAPTURE_SAVED;
    if (out->n_saved)
        mark(&t);
    return status;
}

int tbp_capture_monitor(const struct tbp_target *target, uint64_t duration_ms, int level,
                        bool shows_time, const char *token, struct tbp_arena *arena,
                        struct tbp_monitor_answer *out, struct tbp_error *err) {
    if (duration_ms == 0 || duration_ms > LONGEST_MS)
        return tbp_fail(err, TBP_E_USAGE, "the duration must be within 1 to %d ms (a day)",
                        LONGEST_MS);
    int64_t wait_ns = (int64_t)duration_ms * 1000000 + LEAST_WAIT_NS;
    struct tbp_grpc_client_call call = {
        .target = target,
        .path = "/tensorflow.ProfilerService/Monitor",
        .request = tbp_client_monitor_request(arena, duration_ms, level, shows_time),
        .deadline_ns = tbp_monotonic_ns() + wait_ns,
        .token = token,
    };
    struct tbp_grpc_client client = {.calls = &call, .n = 1};
    int status = tbp_grpc_client_run(&client, err);
    if (status)
        return status;
    struct tbp_str message = tbp_grpc_client_message(&call);
    struct tbp_wire w = tbp_wire_of(message.p, message.n);
    struct tbp_wire_field f;
    *out = (struct tbp_monitor_answer){call.status, call.was_reached,
                                       tbp_arena_printf(arena, "%s", call.text)};
    if (call.status == TBP_GRPC_UNIMPLEMENTED)
        out->text =
            "this server tells no figures, as TensorFlow's and JAX's for processors and GPUs; "
            "'tbprof capture' takes a profile of its program";
    while (call.status == TBP_GRPC_OK && tbp_wire_next(&w, &f) == 1) {
        if (f.number == 1 && f.type == TBP_WIRE_BYTES)
            out->text = tbp_arena_str(arena, tbp_wire_str(f.bytes)).p;
    }
    tbp_grpc_client_release(&call);
    return TBP_OK;
}
