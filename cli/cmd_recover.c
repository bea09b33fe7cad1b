/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof recover: runs of what processes recorded that were killed, crashed or ran out of disk.
 */
#include "cli/child.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/recover.h"
#include "plugin_data/json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { WATCH_MS = 1000 };

struct recover_values {
    struct tbp_common common;
    const char *logdir;
    bool keep, dry_run, watch;
};

#define AT(member) offsetof(struct recover_values, member)
static const struct tbp_opt recover_options[] = {
    {"logdir", 'o', TBP_OPT_FOLDER, AT(logdir), "DIR",
     "where runs are written; default: the log directory of the process", NULL},
    {"keep", 0, TBP_OPT_FLAG, AT(keep), NULL, "leave the spools where they are", NULL},
    {"dry-run", 'n', TBP_OPT_FLAG, AT(dry_run), NULL,
     "only list what would be recovered, from which process and where to", NULL},
    {"watch", 0, TBP_OPT_FLAG, AT(watch), NULL,
     "go on and recover what is left behind from now on; Ctrl-C ends it", NULL},
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const recover_examples[] = {
    "tbprof recover --dry-run",
    "lists what processes of yours that are gone left behind",
    "tbprof recover",
    "makes runs of it: of the spools in $TBPROF_SPOOL_DIR, $TMPDIR and /tmp that are yours",
    "tbprof recover /tmp/tbprof-2026_08_21_14_05_09-77-1 --logdir logdir",
    "the spools of a folder, to another log directory",
    "tbprof recover --watch --json",
    "beside jobs that may be killed, for scripts",
    NULL,
};

struct recovering {
    struct tbp_cli *cli;
    const struct recover_values *v;
    char **places;
    size_t n_places;
    struct tbp_json *json; /* NULL: for people */
    size_t n_told, n_failed, n_foreign, n_unread;
};

static void tell_json(struct recovering *r, const char *spool,
                      const struct tbp_recover_result *got) {
    struct tbp_json *j = r->json;
    char text[1024];
    tbp_json_lit(j, r->n_told && !r->v->watch ? ",{\"spool\":" : "{\"spool\":");
    tbp_json_str(j, tbp_str_c(spool), TBP_JSON_GVIZ);
    tbp_json_printf(j, ",\"state\":\"%s\"", tbp_recovered_words[got->what]);
    if (got->pid) {
        tbp_json_printf(j, ",\"pid\":%d,\"command\":", got->pid);
        tbp_json_str(j, tbp_str_c(got->command), TBP_JSON_GVIZ);
        tbp_json_lit(j, ",\"logdir\":");
        tbp_json_str(j, tbp_str_c(got->logdir), TBP_JSON_GVIZ);
    }
    if (got->what == TBP_RECOVERED) {
        tbp_json_lit(j, ",\"run\":");
        tbp_json_str(j, tbp_str_c(got->run), TBP_JSON_GVIZ);
        tbp_json_printf(j, ",\"records\":%" PRIu64 ",\"events\":%" PRIu64 ",\"bytes\":%" PRIu64,
                        got->n_records, got->n_events, got->size_bytes);
    }
    if (got->what == TBP_RECOVERED_FAILED) {
        tbp_json_lit(j, ",\"message\":");
        tbp_json_str(j, tbp_str_c(tbp_error_text(&got->err, text, sizeof text)), TBP_JSON_GVIZ);
    }
    tbp_json_char(j, '}');
    if (r->v->watch) { /* a line each */
        tbp_json_char(j, '\n');
        tbp_json_flush(j);
    }
}

static void tell_people(const struct recovering *r, const char *spool,
                        const struct tbp_recover_result *got) {
    const struct tbp_cli *cli = r->cli;
    if (got->what == TBP_RECOVERED)
        printf("%s: %" PRIu64 " events of %" PRIu64 " records of process %d (%s)\n",
               tbp_cli_printable(cli, got->run), got->n_events, got->n_records, got->pid,
               tbp_cli_printable(cli, got->command));
    else if (got->what == TBP_RECOVERED_LATER)
        printf("%s: of process %d (%s), to %s\n", tbp_cli_printable(cli, spool), got->pid,
               tbp_cli_printable(cli, got->command), tbp_cli_printable(cli, got->logdir));
    else if (got->what != TBP_RECOVERED_FAILED && got->what != TBP_RECOVERED_FOREIGN)
        tbp_cli_note(r->cli, "'%s': %s", spool, tbp_recovered_words[got->what]);
}

static void tell(struct recovering *r, const char *spool, const struct tbp_recover_result *got) {
    char text[1024];
    if (got->what == TBP_RECOVERED_FAILED)
        tbp_cli_warn(r->cli, "'%s' %s recovered: %s", spool,
                     r->v->dry_run ? "cannot be" : "was not",
                     tbp_error_text(&got->err, text, sizeof text));
    if (r->json)
        tell_json(r, spool, got);
    else
        tell_people(r, spool, got);
    r->n_told++;
}

static int find(struct recovering *r, struct tbp_spool_paths *paths, struct tbp_arena *arena,
                struct tbp_error *err) {
    int status = TBP_OK;
    for (size_t i = 0; i < r->n_places && !status; i++)
        status = tbp_recover_find(paths, arena, r->places[i], err);
    if (r->n_places == 0)
        tbp_recover_find_default(paths, arena);
    return status;
}

/* Of places that were named: in /tmp there are folders of others. */
static void tell_unread(struct recovering *r, const struct tbp_spool_paths *paths) {
    r->n_unread = r->n_places ? paths->unread.n : 0;
    for (size_t i = 0; i < r->n_unread && !r->v->watch; i++)
        tbp_cli_warn(r->cli, "'%s' cannot be read: there may be spools in it", paths->unread.at[i]);
}

/* One round over all places. A watch tells of runs only: what fails would fail in each round. */
static int recover_all(struct recovering *r, struct tbp_error *err) {
    struct tbp_spool_paths paths = {0};
    struct tbp_arena arena;
    struct tbp_recover_request request = {.logdir = r->v->logdir,
                                          .is_kept = r->v->keep,
                                          .is_dry = r->v->dry_run,
                                          .is_own_only = r->n_places == 0};
    tbp_arena_init(&arena);
    int status = find(r, &paths, &arena, err);
    r->n_failed = r->n_foreign = 0;
    tell_unread(r, &paths);
    for (size_t i = 0; i < paths.list.n && !status; i++) {
        struct tbp_recover_result got;
        tbp_recover_spool(&got, &arena, paths.list.at[i], &request);
        r->n_failed += got.what == TBP_RECOVERED_FAILED;
        r->n_foreign += got.what == TBP_RECOVERED_FOREIGN;
        if (!r->v->watch || got.what == TBP_RECOVERED)
            tell(r, paths.list.at[i], &got);
    }
    fflush(stdout);
    tbp_spool_paths_release(&paths);
    tbp_arena_release(&arena);
    return status;
}

static int finish(struct recovering *r, struct tbp_error *err) {
    if (r->json) {
        tbp_json_lit(r->json, "]}\n");
        int status = tbp_json_finish(r->json, err);
        if (status)
            return status;
    } else if (r->n_told == 0) {
        tbp_cli_note(r->cli, "no spools found%s",
                     r->n_places ? "" : " in $TBPROF_SPOOL_DIR, $TMPDIR and /tmp");
    }
    if (r->n_foreign)
        tbp_cli_note(r->cli, "%zu spool%s of other users left alone: name what is to be recovered",
                     r->n_foreign, r->n_foreign == 1 ? "" : "s");
    if (r->n_failed)
        return tbp_fail(err, TBP_E_FORMAT, "%zu spool%s %s recovered", r->n_failed,
                        r->n_failed == 1 ? "" : "s", r->v->dry_run ? "cannot be" : "not");
    if (r->n_unread)
        return tbp_fail(err, TBP_E_IO, "%zu folder%s could not be looked through", r->n_unread,
                        r->n_unread == 1 ? "" : "s");
    return TBP_OK;
}

static int run_recover(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                       struct tbp_error *err) {
    const struct recover_values *v = values;
    struct recovering r = {.cli = cli, .v = v, .places = args, .n_places = n_args};
    if (v->watch && (v->keep || v->dry_run))
        return tbp_fail(err, TBP_E_USAGE, "--watch with %s would tell of the same spools for ever",
                        v->keep ? "--keep" : "--dry-run");
    if (v->common.json) {
        r.json = TBP_NEW(cli->arena, struct tbp_json);
        tbp_json_init(r.json, &cli->answer->base);
        if (!v->watch)
            tbp_json_lit(r.json, "{\"spools\":[");
    }
    int status = recover_all(&r, err);
    while (!status && v->watch) {
        tbp_sleep_ms(WATCH_MS);
        status = recover_all(&r, err);
    }
    return status ? status : finish(&r, err);
}

const struct tbp_command tbp_command_recover = {
    .name = "recover",
    .args = "[SPOOL|DIR...]",
    .help = "make runs of what processes recorded that were killed",
    .about = "A process that records writes into a spool, a file which outlives it. When it stops "
             "as it should, the run is written and the spool is gone; when it is killed, crashes "
             "or finds no disk space, the spool stays, and this command makes the run of it. "
             "Spools of processes that live are left alone, and so are those of other users "
             "unless they are named. Runs go to the log directory that the process named; the "
             "answer tells each.",
    .examples = recover_examples,
    .options = recover_options,
    .values_size = sizeof(struct recover_values),
    .min_args = 0,
    .max_args = SIZE_MAX,
    .run = run_recover,
};
