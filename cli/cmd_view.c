/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof view: profiles straight into the Profile tab. The conversion and TensorBoard are children;
 * this process waits for them, for signals and for its parent's end, so that the temporary folder
 * goes in every case but SIGKILL; the children end even then.
 */
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/reach.h"
#include "cli/run_session.h"
#include "plugin_data/json_out.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_TIMEOUT_MS = 120000, POLL_MS = 100, HTTP_TIMEOUT_MS = 10000, LOG_TAIL = 2000 };

struct view_values {
    struct tbp_common common;
    const char *python, *run, *from;
    uint32_t port;
    bool keep;
};

#define AT(member) offsetof(struct view_values, member)
static const struct tbp_opt view_options[] = {
    {"run", 0, TBP_OPT_TEXT, AT(run), "NAME", "one run of this name; several files are its hosts",
     NULL},
    TBP_FROM_OPTION(AT(from)),
    {"python", 0, TBP_OPT_TEXT, AT(python), "PROGRAM",
     "the Python that runs TensorBoard; default: the 'tensorboard' beside tbprof or on PATH, else "
     "python3",
     NULL},
    {"port", 0, TBP_OPT_NUMBER, AT(port), "0..65535", "port of 127.0.0.1; default: a free one",
     NULL},
    {"keep", 0, TBP_OPT_FLAG, AT(keep), NULL, "keep the temporary log directory", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const view_examples[] = {
    "tbprof view host.xplane.pb",
    "converts it, starts TensorBoard and prints the address; Ctrl-C ends it",
    "tbprof view --run both a.xplane.pb b.xplane.pb",
    "two hosts of one run",
    "tbprof view --python venv/bin/python --port 6006 --keep logdir",
    "with a certain TensorBoard and port, and keeps what was converted",
    NULL,
};

struct view {
    struct tbp_cli *cli;
    const struct view_values *v;
    const char *folder, *logdir, *log; /* temporary; logdir and log are in folder */
    struct tbp_python python;
    uint16_t port;
    sigset_t stops; /* signals that end the view; blocked from the beginning */
    pid_t parent;   /* its end ends the view, too; 0: it does not matter */
};

static const int stops[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT, SIGXCPU, SIGUSR1};
enum { N_STOPS = sizeof stops / sizeof *stops };

/* What the doctor says of the installed packages, its first problem as error. */
static int check_installed(struct view *w, struct tbp_error *err) {
    struct tbp_doctor d = {.arena = w->cli->arena};
    int status = TBP_OK;
    tbp_python_ask(&d.python, d.arena, w->v->python);
    d.has_python = !d.python.failure;
    tbp_doctor_run(&d, TBP_CHECK_PYTHON);
    for (size_t i = 0; i < d.findings.n && !status; i++) {
        const struct tbp_finding *f = &d.findings.at[i];
        if (f->level == TBP_PROBLEM)
            status =
                tbp_fail(err, TBP_E_UNSUPPORTED, "%s %s; to do: %s", f->where, f->what, f->advice);
    }
    w->python = d.python;
    w->python.profile = NULL; /* pointed into d */
    tbp_doctor_release(&d);
    return status;
}

static bool has_signal(const struct view *w) {
    sigset_t pending;
    sigpending(&pending);
    for (size_t i = 0; i < N_STOPS; i++) {
        if (sigismember(&w->stops, stops[i]) && sigismember(&pending, stops[i]))
            return true;
    }
    return false;
}

static bool must_stop(const struct view *w) {
    return has_signal(w) || (w->parent && getppid() != w->parent);
}

/* From here on these signals wait until they are asked for. Those which the parent has us ignore
 * (nohup) stay ignored. */
static void block_stops(struct view *w, sigset_t *old) {
    sigemptyset(&w->stops);
    for (size_t i = 0; i < N_STOPS; i++) {
        struct sigaction action;
        if (sigaction(stops[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&w->stops, stops[i]);
    }
    sigprocmask(SIG_BLOCK, &w->stops, old);
    if (!sigismember(&w->stops, SIGHUP))
        w->parent = 0; /* meant to outlive it */
}

/* Takes the signals that came, so that unblocking does not end the process. */
static void take_stops(const struct view *w, const sigset_t *old) {
    int sig;
    while (has_signal(w)) {
        if (sigwait(&w->stops, &sig) != 0)
            break;
    }
    sigprocmask(SIG_SETMASK, old, NULL);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    remove(path);
    return 0;
}

static int make_folder(struct view *w, struct tbp_error *err) {
    const char *base = getenv("TMPDIR");
    char *folder =
        tbp_arena_printf(w->cli->arena, "%s/tbprof-view-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder))
        return tbp_fail_errno(err, TBP_E_IO, "making a folder like '%s' failed", folder);
    w->folder = folder;
    w->logdir = tbp_arena_printf(w->cli->arena, "%s/logdir", folder);
    w->log = tbp_arena_printf(w->cli->arena, "%s/tensorboard.log", folder);
    return TBP_OK;
}

static int convert(struct view *w, char **files, size_t n_files, struct tbp_error *err) {
    const struct tbp_command *c = &tbp_command_convert;
    const struct view_values *v = w->v;
    char **argv = TBP_NEW_N(w->cli->arena, char *, n_files + 10);
    struct tbp_parsed parsed;
    void *values = tbp_arena_alloc(w->cli->arena, 1, c->values_size);
    int argc = 0;
    const char *const words[] = {"convert",
                                 "--output",
                                 w->logdir,
                                 v->common.verbose ? NULL : "--quiet",
                                 v->run ? "--run" : NULL,
                                 v->run,
                                 v->from ? "--from" : NULL,
                                 v->from,
                                 "--"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (words[i])
            argv[argc++] = tbp_arena_printf(w->cli->arena, "%s", words[i]);
    }
    for (size_t i = 0; i < n_files; i++)
        argv[argc++] = files[i];
    int status = tbp_options_parse(c, w->cli->arena, values, argc, argv, &parsed, err);
    if (status)
        return status;
    w->cli->common = values;
    return c->run(w->cli, values, parsed.args, parsed.n_args, err);
}

/* The child reports on its own, as the command would. */
_Noreturn static void convert_in_child(struct view *w, const sigset_t *old, char **files,
                                       size_t n_files, pid_t parent) {
    struct tbp_error err = {0};
    tbp_child_end_with(parent);
    sigprocmask(SIG_SETMASK, old, NULL);
    int status = convert(w, files, n_files, &err);
    if (status)
        tbp_cli_error(w->cli, &err);
    fflush(NULL);
    _exit(tbp_exit_code(status));
}

/* Converting in a child lets signals end it at once, with its own cleaning up, while this process
 * still removes the folder. */
static int convert_files(struct view *w, const sigset_t *old, char **files, size_t n_files,
                         struct tbp_error *err) {
    int exit_code = 0;
    pid_t self = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        return tbp_fail_errno(err, TBP_E_IO, "starting the conversion failed");
    if (pid == 0)
        convert_in_child(w, old, files, n_files, self);
    while (!tbp_child_ended(pid, &exit_code)) {
        if (must_stop(w)) {
            tbp_child_stop(pid);
            return TBP_OK;
        }
        tbp_sleep_ms(POLL_MS / 10);
    }
    if (exit_code == TBP_EXIT_DONE)
        return TBP_OK;
    return tbp_fail(err, exit_code == TBP_EXIT_USAGE ? TBP_E_USAGE : TBP_E_FORMAT,
                    "nothing to show: the conversion failed");
}

/* What TensorBoard said last, for the message that it did not start. */
static void tell_log(const struct view *w) {
    char tail[LOG_TAIL + 1];
    FILE *f = fopen(w->log, "rb");
    if (!f)
        return;
    if (fseek(f, -LOG_TAIL, SEEK_END) != 0)
        rewind(f);
    size_t n = fread(tail, 1, LOG_TAIL, f);
    fclose(f);
    fwrite(tail, 1, n, stderr);
}

static int start_tensorboard(struct view *w, pid_t *pid, struct tbp_error *err) {
    const char *words[4], *argv[16];
    size_t n = 0;
    tbp_python_tensorboard_command(&w->python, words);
    for (size_t i = 0; words[i]; i++)
        argv[n++] = words[i];
    const char *const rest[] = {
        "--logdir",  w->logdir, "--host",
        "127.0.0.1", "--port",  tbp_arena_printf(w->cli->arena, "%u", (unsigned)w->port),
        NULL};
    memcpy(argv + n, rest, sizeof rest);
    return tbp_child_start(pid, argv, w->log, err);
}

static int fail_start(const struct view *w, int exit_code, struct tbp_error *err) {
    tell_log(w);
    return tbp_fail(err, TBP_E_IO, "TensorBoard ended with exit code %d", exit_code);
}

/* Waits until the page is served. */
static int await_answer(struct view *w, pid_t pid, bool *is_running, struct tbp_error *err) {
    uint64_t end_ms = tbp_clock_ms() + START_TIMEOUT_MS;
    struct tbp_str body;
    int exit_code;
    *is_running = true;
    for (;;) {
        if (tbp_child_ended(pid, &exit_code)) {
            *is_running = false;
            return fail_start(w, exit_code, err);
        }
        if (must_stop(w))
            return TBP_OK;
        if (tbp_http_get(w->cli->arena, w->port, "/", HTTP_TIMEOUT_MS, &body) == 200)
            return TBP_OK;
        if (tbp_clock_ms() > end_ms)
            return tbp_fail(err, TBP_E_LIMIT, "TensorBoard gave no answer within %u s",
                            START_TIMEOUT_MS / 1000u);
        tbp_sleep_ms(POLL_MS);
    }
}

static void tell_address(const struct view *w) {
    struct tbp_str list;
    unsigned status =
        tbp_http_get(w->cli->arena, w->port, "/data/plugins_listing", HTTP_TIMEOUT_MS, &list);
    if (status == 200 && !tbp_str_has(list, "\"profile\""))
        tbp_cli_warn(w->cli,
                     "TensorBoard started without the Profile tab; 'tbprof doctor %s' may "
                     "know why",
                     w->logdir);
    const char *address =
        tbp_arena_printf(w->cli->arena, "http://127.0.0.1:%u/#profile", (unsigned)w->port);
    if (w->v->common.json) {
        struct tbp_json *j = TBP_NEW(w->cli->arena, struct tbp_json);
        struct tbp_error ignored; /* whoever does not read it still has TensorBoard */
        tbp_json_init(j, &w->cli->answer->base);
        tbp_json_printf(j, "{\"address\":\"%s\"}\n", address);
        tbp_json_finish(j, &ignored);
    } else {
        puts(address);
        fflush(stdout);
    }
    tbp_cli_note(w->cli, "Ctrl-C ends TensorBoard%s",
                 w->v->keep ? "" : " and removes the converted files");
}

static int serve(struct view *w, struct tbp_error *err) {
    pid_t pid;
    bool is_running = false;
    int exit_code, status = TBP_OK;
    w->port = (uint16_t)w->v->port;
    if (!w->port)
        status = tbp_free_port(&w->port, err);
    if (!status)
        status = start_tensorboard(w, &pid, err);
    if (status)
        return status;
    status = await_answer(w, pid, &is_running, err);
    if (!status && !must_stop(w))
        tell_address(w);
    while (!status && is_running && !must_stop(w)) {
        tbp_sleep_ms(POLL_MS);
        if (!tbp_child_ended(pid, &exit_code))
            continue;
        is_running = false;
        status = fail_start(w, exit_code, err);
    }
    if (is_running)
        tbp_child_stop(pid);
    return status;
}

static int run_view(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                    struct tbp_error *err) {
    struct view w = {.cli = cli, .v = values, .parent = getppid()};
    sigset_t old;
    int status = tbp_check_format(w.v->from, err);
    if (!status)
        status = check_installed(&w, err);
    if (status)
        return status;
    block_stops(&w, &old);
    status = make_folder(&w, err);
    if (!status)
        status = convert_files(&w, &old, args, n_args, err);
    if (!status && !must_stop(&w))
        status = serve(&w, err);
    if (w.folder && w.v->keep)
        tbp_cli_note(cli, "kept: %s", w.logdir);
    else if (w.folder)
        nftw(w.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    take_stops(&w, &old);
    return status;
}

const struct tbp_command tbp_command_view = {
    .name = "view",
    .args = "INPUT...",
    .help = "show profiles in TensorBoard",
    .about =
        "Converts each INPUT (as 'tbprof convert' does) into a temporary log directory, starts "
        "TensorBoard on it for this machine only (127.0.0.1) and prints the address once it "
        "answers. Ctrl-C ends it and removes the folder; so does the end of the program that "
        "started it, unless nohup is before the command. TensorBoard and the profile plugin "
        "must be installed: python3 -m pip install tensorboard xprof.",
    .examples = view_examples,
    .options = view_options,
    .values_size = sizeof(struct view_values),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run_view,
};
