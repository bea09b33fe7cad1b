/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof run: starts a program with the capture runtime loaded into it and its children, hands on
 * signals and the exit code, and makes runs of what those of them left behind that died.
 */
#include "capture/capture_options.h"
#include "capture/run_report.h"
#include "cli/capture_library.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/recover.h"
#include "plugin_data/rundir.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct run_values {
    struct tbp_common common;
    const char *logdir, *run, *server;
    struct tbp_opt_list options;
    bool convert, keep;
};

#define AT(member) offsetof(struct run_values, member)
static const struct tbp_opt run_options[] = {
    {"logdir", 'o', TBP_OPT_FOLDER, AT(logdir), "DIR", "where the run is written; default: logdir",
     NULL},
    {"run", 0, TBP_OPT_TEXT, AT(run), "NAME",
     "name of the run (" TBP_RUNDIR_NAME_RULE "); default: the time", NULL},
    {"set", 's', TBP_OPT_LIST, AT(options), "KEY=VALUE",
     "an option of the recording (host_tracer_level, max_host_bytes, full_policy …; "
     "docs/recording.md has all); may be repeated",
     NULL},
    {"server", 0, TBP_OPT_TEXT, AT(server), "PORT",
     "record nothing until 'tbprof capture' asks at this port; default: $TBPROF_SERVER, if set",
     NULL},
    {"convert", 0, TBP_OPT_FLAG, AT(convert), NULL, "also write the pages as JSON", NULL},
    {"keep", 0, TBP_OPT_FLAG, AT(keep), NULL, "keep the spools of processes that died", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const run_examples[] = {
    "tbprof run -- python train.py --epochs 3",
    "records it and all processes that it starts into logdir",
    "tbprof run -s host_tracer_level=3 -s full_policy=ring -- ./train",
    "more detail, but only the last of it",
    "tbprof run --server 6009 -- ./train",
    "records when 'tbprof capture --service_addr localhost:6009' asks for it",
    NULL,
};

struct run {
    struct tbp_cli *cli;
    const struct run_values *v;
    const char *logdir; /* absolute */
    const char *server; /* port of captures on demand; NULL: all is recorded */
    const char *spools; /* folder of this run's spools */
    const char *report; /* in it: capture/run_report.h */
};

/* ---- what the program sees ---- */

static int set(const char *key, const char *value, struct tbp_error *err) {
    return setenv(key, value, 1) == 0
               ? TBP_OK
               : tbp_fail_errno(err, TBP_E_USAGE, "setting %s for the program", key);
}

/* KEY=VALUE as TBPROF_KEY, if a program's runtime will understand it. */
static int set_option(struct tbp_arena *arena, const char *text, struct tbp_error *err) {
    size_t n = strcspn(text, "=");
    if (n == 0 || !text[n])
        return tbp_fail(err, TBP_E_USAGE, "'--set %s' is not KEY=VALUE", text);
    const char *value = text + n + 1;
    char *key = tbp_arena_printf(arena, "%.*s", (int)n, text);
    for (char *p = key; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    if (tbp_capture_setting_check(key, value, err) != TBP_OK)
        return tbp_cause(err, "reading '--set %s'", text);
    for (char *p = key; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return set(tbp_arena_printf(arena, "TBPROF_%s", key), value, err);
}

/* Whoever collects ITT's annotations already goes on to do so: a program has one collector. */
static int set_itt(const char *library, struct tbp_error *err) {
    const char *itt = getenv("INTEL_LIBITTNOTIFY64"), *groups = getenv("INTEL_ITTNOTIFY_GROUPS");
    if (itt && *itt)
        return TBP_OK;
    int status = set("INTEL_LIBITTNOTIFY64", library, err);
    return status || (groups && *groups) ? status : set("INTEL_ITTNOTIFY_GROUPS", "all", err);
}

static int set_library(struct run *r, struct tbp_error *err) {
    struct tbp_arena *arena = r->cli->arena;
    const char *library, *before = getenv("LD_PRELOAD");
    int status = tbp_capture_library_find(&library, arena, err);
    if (status)
        return status;
    const char *preload = library;
    if (before && *before)
        preload = tbp_arena_printf(arena, "%s:%s", library, before);
    status = set("LD_PRELOAD", preload, err);
    const char *nvtx = getenv("NVTX_INJECTION64_PATH");
    if (nvtx && *nvtx)
        tbp_cli_warn(r->cli,
                     "NVTX_INJECTION64_PATH is set already: annotations go to '%s', not into "
                     "this recording",
                     nvtx);
    else if (!status)
        status = set("NVTX_INJECTION64_PATH", library, err);
    return status ? status : set_itt(library, err);
}

/* The folder for spools that is asked for, "memory", or "". */
static const char *wished_spools(const struct run_values *v) {
    static const char key[] = "spool_dir=";
    const char *wish = getenv("TBPROF_SPOOL_DIR");
    for (size_t i = 0; i < v->options.n; i++)
        if (strncmp(v->options.at[i], key, strlen(key)) == 0)
            wish = v->options.at[i] + strlen(key);
    return wish ? wish : "";
}

static int find_logdir(struct run *r, struct tbp_error *err) {
    char here[4096] = "";
    const char *logdir = r->v->logdir ? r->v->logdir : "logdir";
    if (*logdir != '/' && !getcwd(here, sizeof here))
        return tbp_fail_errno(err, TBP_E_IO, "finding the current folder failed");
    r->logdir = *logdir == '/' ? logdir : tbp_arena_printf(r->cli->arena, "%s/%s", here, logdir);
    return TBP_OK;
}

/* All is recorded, or what clients ask for: a process has one session at a time. Looks at what
 * options have set. */
static int set_occasion(struct run *r, struct tbp_error *err) {
    uint64_t port;
    const char *server = r->v->server ? r->v->server : getenv("TBPROF_SERVER");
    if (!server || !*server)
        return set("TBPROF_AUTOSTART", "1", err);
    if (!tbp_str_to_u64(tbp_str_c(server), &port) || port < 1 || port > 65535)
        return tbp_fail(err, TBP_E_OPTION, "'%s' is no port for 'server': it is from 1 to 65535",
                        server);
    r->server = server;
    tbp_cli_note(r->cli, "recorded is what 'tbprof capture --service_addr localhost:%s' asks for%s",
                 server, r->v->server ? "" : ", as TBPROF_SERVER is set");
    return set("TBPROF_SERVER", server, err);
}

static int set_environment(struct run *r, struct tbp_error *err) {
    const struct run_values *v = r->v;
    char name[TBP_RUNDIR_TIME_NAME];
    tbp_rundir_time_name(name, time(NULL));
    if (v->run && !tbp_rundir_is_typed_name(tbp_str_c(v->run)))
        return tbp_fail(err, TBP_E_OPTION,
                        "'%s' is no name for 'run': names have " TBP_RUNDIR_NAME_RULE, v->run);
    int status = find_logdir(r, err);
    if (!status)
        status = set("TBPROF_LOGDIR", r->logdir, err);
    if (!status)
        status = set("TBPROF_SESSION_ID", v->run ? v->run : name, err);
    if (!status)
        status = set("TBPROF_RUN_SHARED", "1", err);
    if (!status && v->convert)
        status = set("TBPROF_CONVERT", "1", err);
    if (!status)
        status = set(TBP_RUN_REPORT_VARIABLE, r->report, err);
    for (size_t i = 0; i < v->options.n && !status; i++)
        status = set_option(r->cli->arena, v->options.at[i], err);
    if (!status)
        status = set_occasion(r, err);
    if (!status && strcmp(wished_spools(v), "memory") != 0)
        status = set("TBPROF_SPOOL_DIR", r->spools, err);
    return status ? status : set_library(r, err);
}

static int make_spools(struct run *r, struct tbp_error *err) {
    const char *places[] = {wished_spools(r->v), getenv("TMPDIR"), "/tmp"};
    size_t i = strcmp(places[0], "memory") == 0;
    while (i < 2 && (!places[i] || !*places[i]))
        i++;
    char *folder = tbp_arena_printf(r->cli->arena, "%s/tbprof-run-XXXXXX", places[i]);
    if (!mkdtemp(folder))
        return tbp_fail_errno(err, TBP_E_IO, "making a folder like '%s' failed", folder);
    r->spools = folder;
    r->report = tbp_arena_printf(r->cli->arena, "%s/report", folder);
    return TBP_OK;
}

/* ---- the program ---- */

static volatile sig_atomic_t child; /* who gets the signals */

/* What the terminal sends reaches the program by itself. */
static void pass_on(int sig, siginfo_t *info, void *context) {
    (void)context;
    int code = errno;
    if (info->si_code != SI_KERNEL && child > 0)
        kill((pid_t)child, sig);
    errno = code;
}

static void catch_signals(void) {
    static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT};
    struct sigaction action = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        struct sigaction old;
        if (sigaction(passed[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(passed[i], &action, NULL);
    }
}

static int spawn(char **argv, struct tbp_error *err) {
    posix_spawnattr_t attributes;
    sigset_t none, defaults;
    pid_t pid;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawnp(&pid, argv[0], NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    child = code == 0 ? pid : 0;
    errno = code;
    return code == 0 ? TBP_OK
                     : tbp_fail_errno(err, code == ENOENT ? TBP_E_NOT_FOUND : TBP_E_IO,
                                      "starting '%s' failed", argv[0]);
}

static int wait_for_child(void) {
    int state = 0;
    while (waitpid((pid_t)child, &state, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    return state;
}

/* ---- afterwards ---- */

/* True if something was recovered, or may yet be. */
static bool recover_left(struct run *r) {
    struct tbp_spool_paths paths = {0};
    struct tbp_recover_request request = {.is_kept = r->v->keep, .otherwise = r->logdir};
    size_t n_alive = 0, n_recovered = 0;
    tbp_recover_find(&paths, r->cli->arena, r->spools, NULL);
    for (size_t i = 0; i < paths.list.n; i++) {
        struct tbp_recover_result got;
        char text[1024];
        tbp_recover_spool(&got, r->cli->arena, paths.list.at[i], &request);
        n_alive += got.what == TBP_RECOVERED_ALIVE;
        n_recovered += got.what == TBP_RECOVERED || got.what == TBP_RECOVERED_FAILED;
        if (got.what == TBP_RECOVERED)
            tbp_cli_note(r->cli, "a process died: what it had recorded is in '%s'", got.run);
        else if (got.what == TBP_RECOVERED_FAILED)
            tbp_cli_warn(r->cli, "'%s' was not recovered: %s", paths.list.at[i],
                         tbp_error_text(&got.err, text, sizeof text));
    }
    if (n_alive)
        tbp_cli_note(r->cli, "%zu process%s still recorded; should one die: tbprof recover %s",
                     n_alive, n_alive == 1 ? " is" : "es are", r->spools);
    tbp_spool_paths_release(&paths);
    return n_alive + n_recovered > 0;
}

struct report {
    bool is_there;   /* some process loaded the runtime */
    bool has_failed; /* one could not record, and said why */
    bool has_more;   /* further runs than the first */
    char *run;       /* the run that was written first, or NULL */
};

static void read_report(struct report *out, const struct run *r) {
    FILE *f = fopen(r->report, "re");
    char line[PATH_MAX];
    *out = (struct report){.is_there = f != NULL};
    while (f && !out->has_more && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (!*line)
            out->has_failed = true;
        else if (!out->run)
            out->run = tbp_arena_printf(r->cli->arena, "%s", line);
        else
            out->has_more = strcmp(out->run, line) != 0;
    }
    if (f)
        fclose(f);
}

/* Where the recording is, or why there is none. */
static void tell(const struct run *r, const char *program, bool is_recovered) {
    struct report report;
    read_report(&report, r);
    if (report.run)
        tbp_cli_note(r->cli, "recorded into '%s'%s", report.run,
                     report.has_more ? " and further runs" : "");
    else if (!report.is_there)
        tbp_cli_warn(r->cli,
                     "nothing was recorded: '%s' did not load libtbprof, as no program does that "
                     "is linked statically or runs with rights of its own (setuid); link it "
                     "dynamically (docs/recording.md)",
                     program);
    else if (!is_recovered && !report.has_failed && !r->server)
        tbp_cli_warn(r->cli,
                     "nothing was recorded: '%s' and what it started made no annotations of "
                     "tbprof, NVTX or ITT while they ran; annotate steps and functions, for "
                     "Python with the package tbprof (docs/recording.md)",
                     program);
}

/* Ends as the program did. */
static void end_like(int state) {
    if (WIFSIGNALED(state)) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none); /* one core is enough */
        signal(WTERMSIG(state), SIG_DFL);
        raise(WTERMSIG(state));
    }
    exit(WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state));
}

static int run_run(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                   struct tbp_error *err) {
    struct run r = {.cli = cli, .v = values};
    char **argv = TBP_NEW_N(cli->arena, char *, n_args + 1);
    memcpy(argv, args, n_args * sizeof *argv);
    int status = make_spools(&r, err);
    if (status)
        return status;
    status = set_environment(&r, err);
    if (!status) {
        catch_signals();
        status = spawn(argv, err);
    }
    if (status) {
        rmdir(r.spools);
        return status;
    }
    int state = wait_for_child();
    tell(&r, argv[0], recover_left(&r));
    unlink(r.report);
    rmdir(r.spools); /* if it is empty */
    end_like(state);
    return TBP_OK;
}

const struct tbp_command tbp_command_run = {
    .name = "run",
    .args = "-- PROGRAM [ARGUMENT...]",
    .help = "run a program and record it",
    .about =
        "Runs PROGRAM with the capture runtime loaded, so that annotations of tbprof, NVTX and ITT "
        "in it and in the processes that it starts are recorded without a change to its "
        "code. Signals and the exit code are handed on. What a process had recorded that "
        "was killed or crashed is recovered when PROGRAM has ended. With --server (or "
        "TBPROF_SERVER) they are recorded only when a client asks. Of several processes the first "
        "one that loads the runtime has the port, others say that they have not: scripts that wrap "
        "a program should 'exec' it.",
    .examples = run_examples,
    .options = run_options,
    .values_size = sizeof(struct run_values),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .has_no_json = true,
    .run = run_run,
};
