/* SPDX-License-Identifier: Apache-2.0
 *
 * tbprof convert: profiles in, run folders for TensorBoard out. This file chooses runs, folders and
 * tools and tells what was done; convert_run.c does it.
 */
#include "base/sort.h"
#include "cli/commands.h"
#include "cli/convert_run.h"
#include "cli/host_names.h"
#include "cli/json_parts.h"
#include "cli/receipt.h"
#include "cli/warn_input.h"
#include "plugin_data/rundir.h"
#include "plugin_data/xspace_out.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum for_whom { FOR_NEWEST, FOR_LEGACY, FOR_ALL };
static const char *const for_choices[] = {"newest", "legacy", "all", NULL};

struct convert_values {
    struct tbp_common common;
    const char *output, *run, *host, *from, *steps;
    unsigned semantics, for_whom;
    struct tbp_opt_list tools;
    uint32_t jobs;
    bool strict;
};

#define AT(member) offsetof(struct convert_values, member)
static const struct tbp_opt convert_options[] = {
    {"output", 'o', TBP_OPT_FOLDER, AT(output), "DIR",
     "log directory to write to; default: in place for run folders with xplanes, else ./logdir",
     NULL},
    {"run", 0, TBP_OPT_TEXT, AT(run), "NAME",
     "name of the run to write (" TBP_RUNDIR_NAME_RULE "); several files become its hosts", NULL},
    {"host", 0, TBP_OPT_TEXT, AT(host), "NAME",
     "name of the host of a single file, unless it is converted in place; as that of a run, but "
     "leave room for '.overview_page.json' and the like",
     NULL},
    {"tools", 0, TBP_OPT_LIST, AT(tools), "LIST",
     "which pages to write, separated by commas; default: all", NULL},
    {"for", 0, TBP_OPT_CHOICE, AT(for_whom), NULL,
     "which plugins: newest: xplane and pages; legacy (2.2 to 2.19.0): the pages alone, shown as "
     "written; all: two "
     "runs, RUN and RUN_pages",
     for_choices},
    TBP_SEMANTICS_OPTION(AT(semantics)),
    TBP_STEPS_OPTION(AT(steps)),
    TBP_FROM_OPTION(AT(from)),
    TBP_JOBS_OPTION(AT(jobs)),
    TBP_STRICT_OPTION(AT(strict)),
    {NULL, 0, TBP_OPT_FLAG, 0, NULL, NULL, NULL},
};
#undef AT

static const char *const convert_examples[] = {
    "tbprof convert host.xplane.pb -o logdir",
    "a file; then: tensorboard --logdir logdir",
    "tbprof convert logdir",
    "every run of a log directory, in place",
    "tbprof convert mindspore/profiler -o logdir",
    "the folder of another profiler",
    "tbprof convert a.xplane.pb b.xplane.pb --run both --for all",
    "two hosts of one run, for old and new plugins",
    "tbprof convert decode.sqlite -o logdir --steps 'name=decode_step*'",
    "each range of that name is a step, whatever the profile marks",
    NULL,
};

struct convert {
    struct tbp_cli *cli;
    const struct convert_values *v;
    struct tbp_runs runs;
    struct tbp_step_source steps;
    bool *is_tool_wanted;
    struct tbp_pool *pool;
    struct tbp_progress progress;
    struct tbp_json *json; /* NULL without --json */
    bool has_loss;
    const char *shown; /* folder of the run that was written last; NULL: none */
};

static int want_tool(struct convert *c, struct tbp_str name, struct tbp_error *err) {
    const struct tbp_tool *tool = tbp_tool_find(name);
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, tbp_arena_str(c->cli->arena, name).p);
    for (size_t i = 0; tbp_tools[i]; i++) {
        tbp_nearest_try(&nearest, tbp_tools[i]->name);
        if (tbp_tools[i] == tool)
            c->is_tool_wanted[i] = true;
    }
    if (tool)
        return TBP_OK;
    return tbp_fail(err, TBP_E_OPTION, "unknown tool '%s' in 'tools'; %s '%s'", nearest.word,
                    nearest.best ? "did you mean" : "for instance",
                    nearest.best ? nearest.best : "overview_page");
}

static int choose_tools(struct convert *c, struct tbp_error *err) {
    size_t n = 0;
    if (c->v->tools.n && !*c->v->tools.at[0])
        return tbp_fail(err, TBP_E_OPTION, "'tools' needs names of tools, not ''");
    while (tbp_tools[n])
        n++;
    c->is_tool_wanted = TBP_NEW_N(c->cli->arena, bool, n + 1);
    for (size_t i = 0; i < n && !c->v->tools.n; i++)
        c->is_tool_wanted[i] = true;
    for (size_t i = 0; i < c->v->tools.n; i++) {
        struct tbp_str rest = tbp_str_c(c->v->tools.at[i]);
        while (rest.n) {
            size_t comma = tbp_str_find(rest, ',');
            int status = want_tool(c, tbp_str_sub(rest, 0, comma), err);
            if (status)
                return status;
            rest = tbp_str_sub(rest, comma < rest.n ? comma + 1 : comma, rest.n);
        }
    }
    return TBP_OK;
}

/* Empty and hidden names, '.' and '..' among them, and paths are none. */
static bool is_name(const char *name) {
    return *name && *name != '.' && !strchr(name, '/');
}

/* How long the longest ending is that a host's name gets, with its dot. */
static size_t longest_ending(void) {
    size_t longest = strlen(".tbprof.json");
    for (size_t i = 0; tbp_tools[i]; i++) {
        const char *const names[] = {tbp_tools[i]->file, tbp_tools[i]->pb_file};
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            if (names[k] && strlen(names[k]) + 1 > longest)
                longest = strlen(names[k]) + 1;
        }
    }
    return longest;
}

/* File systems take NAME_MAX bytes for a name; `ending` of them are not the user's. */
static int check_length(const char *option, const char *name, size_t ending,
                        struct tbp_error *err) {
    enum { SHOWN = 40 };
    size_t most = NAME_MAX - ending, shown = SHOWN;
    if (strlen(name) <= most)
        return TBP_OK;
    while (shown && ((unsigned char)name[shown] & 0xC0) == 0x80)
        shown--; /* no character is cut */
    return tbp_fail(
        err, TBP_E_USAGE,
        "the name '%.*s…' for '%s' has %zu bytes, and file systems leave it %zu: choose "
        "a shorter one with --%s NAME",
        (int)shown, name, option, strlen(name), most, option);
}

static int check_host(const char *name, struct tbp_error *err) {
    if (strcmp(name, TBP_RUNDIR_ALL_HOSTS) == 0)
        return tbp_fail(err, TBP_E_USAGE,
                        "'%s' stands for all hosts together and is no name of one: choose another "
                        "with --host NAME",
                        name);
    return check_length("host", name, longest_ending(), err);
}

/* "_pages" is appended where the pages go apart. */
static int check_run(const struct convert *c, const char *name, struct tbp_error *err) {
    return check_length("run", name, c->v->for_whom == FOR_NEWEST ? 0 : strlen("_pages"), err);
}

static int check_typed(const char *option, const char *name, struct tbp_error *err) {
    if (!name || tbp_rundir_is_typed_name(tbp_str_c(name)))
        return TBP_OK;
    return tbp_fail(err, TBP_E_OPTION, "'%s' is no name for '%s': names have " TBP_RUNDIR_NAME_RULE,
                    name, option);
}

static int check_given(const struct convert *c, struct tbp_error *err) {
    const struct convert_values *v = c->v;
    int status = v->run ? check_run(c, v->run, err) : TBP_OK;
    if (!status)
        status = check_typed("run", v->run, err);
    if (!status && v->host)
        status = check_host(v->host, err);
    return status ? status : check_typed("host", v->host, err);
}

/* Names taken from files and folders obey the rules of --run and --host: they become paths too. */
static int check_derived(const struct convert *c, const struct tbp_run *r, struct tbp_error *err) {
    int status = TBP_OK;
    if (!c->v->run && !is_name(r->name))
        return tbp_fail(err, TBP_E_USAGE,
                        "'%s' gives no name for a run ('%s'): choose one with --run NAME",
                        r->hosts[0].path, r->name);
    if (!c->v->run)
        status = check_run(c, r->name, err);
    for (size_t k = 0; k < r->n_hosts && !status; k++) {
        if (!is_name(r->hosts[k].host.p))
            return tbp_fail(err, TBP_E_USAGE,
                            "'%s' gives no name for a host ('%s'): choose one with --host NAME",
                            r->hosts[k].path, r->hosts[k].host.p);
        status = check_host(r->hosts[k].host.p, err);
    }
    return status;
}

/* All hosts of `from` become hosts of `into`. */
static int merge_hosts(const struct convert *c, struct tbp_run *into, const struct tbp_run *from,
                       struct tbp_error *err) {
    struct tbp_arena *arena = c->cli->arena;
    struct tbp_run_file *hosts =
        TBP_NEW_N(arena, struct tbp_run_file, into->n_hosts + from->n_hosts);
    memcpy(hosts, into->hosts, into->n_hosts * sizeof *hosts);
    for (size_t i = 0; i < from->n_hosts; i++) {
        for (size_t k = 0; k < into->n_hosts; k++) {
            if (tbp_str_eq(hosts[k].host, from->hosts[i].host))
                return tbp_fail(err, TBP_E_USAGE,
                                "two files of host '%s' in run '%s': '%s' and '%s'; convert "
                                "them apart, with %s",
                                hosts[k].host.p, c->v->run ? c->v->run : into->name, hosts[k].path,
                                from->hosts[i].path,
                                c->v->run ? "another --host NAME for each" : "--run or --host");
        }
        hosts[into->n_hosts + i] = from->hosts[i];
    }
    into->hosts = hosts;
    into->n_hosts = into->cap_hosts = into->n_hosts + from->n_hosts;
    return TBP_OK;
}

/* Whether an input lies in the folder that is written to. */
static bool lies_in(const struct tbp_run *run, const char *folder, struct tbp_arena *arena) {
    struct stat a, b;
    for (size_t i = 0; i < run->n_hosts && stat(folder, &a) == 0; i++) {
        const char *slash = strrchr(run->hosts[i].path, '/');
        size_t n = slash ? (size_t)(slash - run->hosts[i].path) + 1 : 0;
        const char *above = tbp_arena_printf(arena, "%.*s.", (int)n, run->hosts[i].path);
        if (stat(above, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return true;
    }
    return false;
}

/* Where the run goes, and which folders it gets. */
static void place_run(const struct convert *c, const struct tbp_run *run,
                      struct tbp_convert_job *job) {
    struct tbp_arena *arena = c->cli->arena;
    const struct convert_values *v = c->v;
    bool is_in_place = !v->output && run->is_folder && run->logdir && !v->run;
    const char *root = v->output ? v->output : "logdir";
    if (is_in_place)
        job->logdir = run->logdir;
    else
        job->logdir = *run->below ? tbp_arena_printf(arena, "%s/%s", root, run->below) : root;
    const char *name = v->run ? v->run : run->name;
    job->folder = tbp_arena_printf(arena, "%s/plugins/profile/%s", job->logdir, name);
    const char *pages = tbp_arena_printf(arena, "%s_pages", job->folder);
    job->has_xplane = v->for_whom != FOR_LEGACY && !is_in_place;
    job->is_pages_only = v->for_whom == FOR_LEGACY;
    if (v->for_whom == FOR_ALL)
        job->pages_folder = pages;
    /* in place the xplane is there already and would hide the pages from 2.11.2 to 2.19.0 */
    if (v->for_whom == FOR_LEGACY && (is_in_place || lies_in(run, job->folder, arena)))
        job->folder = pages;
}

/* Runs that would be written to one folder are one run. */
static bool is_same_run(const struct convert *c, const struct tbp_run *a, const struct tbp_run *b) {
    if (c->v->run)
        return true;
    if (strcmp(a->name, b->name) != 0)
        return false;
    if (a->logdir && b->logdir && strcmp(a->logdir, b->logdir) == 0)
        return true;
    struct tbp_convert_job x = {0}, y = {0};
    place_run(c, a, &x);
    place_run(c, b, &y);
    return strcmp(x.folder, y.folder) == 0;
}

static int by_host(const void *a, const void *b, void *ctx) {
    const struct tbp_run_file *x = a, *y = b;
    (void)ctx;
    return tbp_str_cmp(x->host, y->host);
}

/* With --run everything is one run; files of one run folder are hosts of one run in any case. Hosts
 * are in order of their names, as they are in the folder that is written. */
static int unite_runs(struct convert *c, struct tbp_error *err) {
    size_t n = 0;
    int status = TBP_OK;
    for (size_t i = 0; i < c->runs.list.n && !status; i++) {
        struct tbp_run *r = &c->runs.list.at[i];
        size_t same = 0;
        while (same < n && !is_same_run(c, &c->runs.list.at[same], r))
            same++;
        if (same < n)
            status = merge_hosts(c, &c->runs.list.at[same], r, err);
        else
            c->runs.list.at[n++] = *r;
    }
    c->runs.list.n = n;
    for (size_t i = 0; i < n; i++)
        tbp_sort(c->runs.list.at[i].hosts, c->runs.list.at[i].n_hosts, sizeof(struct tbp_run_file),
                 by_host, NULL);
    return status;
}

/* In place the xplane keeps its name: pages of another one would be of a host that no file has. */
static int name_host(struct convert *c, struct tbp_error *err) {
    struct tbp_run *run = &c->runs.list.at[0];
    struct tbp_convert_job job = {0};
    if (c->runs.list.n != 1 || run->n_hosts != 1)
        return tbp_fail(err, TBP_E_USAGE,
                        "'host' names the host of a single file, and there are several");
    struct tbp_run_file *file = &run->hosts[0];
    place_run(c, run, &job);
    if (!tbp_str_is(file->host, c->v->host) && !job.has_xplane &&
        lies_in(run, job.folder, c->cli->arena))
        return tbp_fail(err, TBP_E_USAGE,
                        "'host' cannot be '%s' in place: '%s' stays the xplane of host '%s'; write "
                        "elsewhere with -o DIR",
                        c->v->host, file->given, file->host.p);
    file->host = tbp_str_c(c->v->host);
    return TBP_OK;
}

static int name_runs(struct convert *c, struct tbp_error *err) {
    int status = check_given(c, err);
    if (!status && c->v->host)
        status = name_host(c, err);
    else if (!status && c->v->run)
        tbp_name_ranks_apart(&c->runs, c->cli->arena);
    for (size_t i = 0; i < c->runs.list.n && !status; i++)
        status = check_derived(c, &c->runs.list.at[i], err);
    return status ? status : unite_runs(c, err);
}

static const char *run_name(const struct tbp_convert_job *job) {
    return strrchr(job->folder, '/') + 1;
}

/* A conversion that fails takes back the folder that it made. */
static bool is_there(const struct tbp_convert_job *job) {
    return access(job->folder, F_OK) == 0;
}

static void tell_counters(const struct convert *c, const struct tbp_ledger *l) {
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        if (l->count[k])
            tbp_cli_note(c->cli, "  %s %" PRIu64 ": %s", tbp_ledger_name((enum tbp_ledger_key)k),
                         l->count[k], tbp_ledger_help((enum tbp_ledger_key)k));
    }
}

/* The ledger as one line; under --quiet only if something was lost or odd, which a repair is not
 * (it is what the semantics asked for do), nor what no page shows. */
static void tell_run(const struct convert *c, const struct tbp_convert_job *job,
                     const struct tbp_convert_result *result) {
    struct tbp_ledger sum;
    size_t n_files = 0, n_kept = 0, n_removed = 0, n_caches = 0;
    tbp_ledger_init(&sum);
    for (size_t i = 0; i < result->n_hosts; i++) {
        tbp_ledger_add(&sum, &result->hosts[i].ledger);
        n_files += result->hosts[i].n_files;
        n_kept += result->hosts[i].n_kept;
        n_removed += result->hosts[i].n_removed;
        n_caches += result->hosts[i].caches.list.n;
    }
    if (c->v->common.quiet && tbp_ledger_is_as_expected(&sum))
        return;
    size_t n_hosts = job->run->n_hosts;
    if (is_there(job)) {
        tbp_cli_put(job->folder);
        if (job->pages_folder)
            tbp_cli_put(tbp_arena_printf(c->cli->arena, " and %s", job->pages_folder));
    } else
        tbp_cli_put(tbp_arena_printf(c->cli->arena, "run '%s' not written", run_name(job)));
    fprintf(stderr,
            ": %zu host%s, events read %" PRIu64 " = emitted %" PRIu64 " + merged %" PRIu64
            " + quarantined %" PRIu64 " + dropped %" PRIu64 "; %zu file%s written, %zu kept",
            n_hosts, tbp_plural(n_hosts), sum.events_read, sum.events_emitted, sum.events_merged,
            sum.events_quarantined, sum.events_dropped, n_files, tbp_plural(n_files), n_kept);
    if (n_removed)
        fprintf(stderr, ", %zu of before removed", n_removed);
    if (n_caches)
        fprintf(stderr, ", %zu cache%s of the plugin removed", n_caches, tbp_plural(n_caches));
    for (int k = 0; k < TBP_LEDGER_KEYS; k++) {
        if (sum.count[k])
            fprintf(stderr, "; %s %" PRIu64, tbp_ledger_name((enum tbp_ledger_key)k), sum.count[k]);
    }
    fputc('\n', stderr);
    if (c->v->common.verbose)
        tell_counters(c, &sum);
}

/* Any xplane in a folder hides the pages of all its hosts from the plugins that convert. */
static void warn_hidden(const struct convert *c, const struct tbp_convert_job *job) {
    struct tbp_runs there = {0};
    if (tbp_find_runs(&there, c->cli->arena, job->folder, NULL) == TBP_OK)
        tbp_cli_warn(c->cli,
                     "'%s' is there, was not written by tbprof or is of another host, and hides "
                     "the pages from some plugins: choose another --run, or remove it",
                     there.list.at[0].hosts[0].path);
    tbp_runs_release(&there);
}

static void warn_size(const struct convert *c, const struct tbp_convert_host *h, const char *path) {
    if (h->lacks_xplane)
        tbp_cli_warn(c->cli,
                     "'%s': no xplane of it, which would have %" PRIu64
                     " bytes: the plugin reads no more than 2 GiB; the pages tell of all",
                     path, h->too_large_bytes);
    else if (h->too_large_bytes && h->input_bytes <= TBP_XSPACE_MAX_BYTES)
        tbp_cli_warn(c->cli,
                     "'%s': its xplane stays without repairs, with which it would have %" PRIu64
                     " bytes: the plugin reads no more than 2 GiB; the pages have them",
                     path, h->too_large_bytes);
    else if (h->too_large_bytes)
        tbp_cli_warn(c->cli,
                     "'%s': an xplane of %" PRIu64
                     " bytes stays as it is, without repairs: the plugin reads no more than 2 GiB, "
                     "tbprof as its backend does; the pages tell of all",
                     path, h->input_bytes);
}

static void warn_host(const struct convert *c, const struct tbp_convert_host *h, const char *path) {
    tbp_warn_input(c->cli, tbp_str_c(path), h->input_bytes, &h->ledger);
    warn_size(c, h, path);
    if (h->replaced.input[0])
        tbp_cli_note(c->cli, "host '%s': replaces what was converted from '%s' (%s, tbprof %s)",
                     h->name.p, h->replaced.input, h->replaced.reading, h->replaced.version);
    if (h->caches.list.n)
        tbp_cli_note(
            c->cli,
            "host '%s': removed %zu cache%s that the plugin had made of the former xplane; "
            "reload the page",
            h->name.p, h->caches.list.n, tbp_plural(h->caches.list.n));
}

/* Repairs that the pages tell and the xplane beside them does not have. */
static bool lacks_repairs(const struct tbp_convert_host *h) {
    bool is_repaired = false;
    for (int k = 0; k < TBP_LEDGER_KEYS; k++)
        is_repaired |= h->ledger.count[k] && tbp_ledger_is_repair((enum tbp_ledger_key)k);
    return is_repaired && h->has_old_xplane;
}

/* What the user should know of a run although it was written. */
static void warn_run(const struct convert *c, const struct tbp_convert_job *job,
                     const struct tbp_convert_result *result, int status) {
    size_t n_pages = 0;
    bool any_lacks = false;
    for (size_t i = 0; i < result->n_hosts; i++) {
        const struct tbp_convert_host *h = &result->hosts[i];
        bool is_host = i < job->run->n_hosts;
        n_pages += h->n_files + h->n_kept;
        if (!is_host || h->status)
            continue;
        n_pages -= job->has_xplane && !h->lacks_xplane && n_pages > 0;
        any_lacks |= lacks_repairs(h);
        warn_host(c, h, job->run->hosts[i].path);
    }
    if (result->left_out)
        tbp_cli_warn(c->cli,
                     "'%s' has host '%s', too, which is not converted now: no pages of all hosts "
                     "together; convert its hosts in one go",
                     job->folder, result->left_out);
    else if (result->n_dropped)
        tbp_cli_note(c->cli, "'%s': removed %zu file%s of all hosts together: it has one host",
                     job->folder, result->n_dropped, tbp_plural(result->n_dropped));
    if (!status && c->v->for_whom == FOR_LEGACY)
        warn_hidden(c, job);
    else if (!status && any_lacks)
        tbp_cli_note(c->cli,
                     "'%s': repairs are on the pages alone; plugins that read the xplane "
                     "themselves show them in a run written with -o DIR",
                     job->folder);
    if (!status && c->v->tools.n && n_pages == 0 && !c->v->common.quiet)
        tbp_cli_warn(c->cli, "none of the pages asked for with --tools was written for '%s'",
                     job->folder);
}

static void json_error(struct tbp_json *j, const struct tbp_error *err) {
    char text[1024];
    if (!err)
        return;
    tbp_json_lit(j, ",\"error\":");
    tbp_json_str(j, tbp_str_c(tbp_error_text(err, text, sizeof text)), TBP_JSON_GVIZ);
}

static void json_text(struct tbp_json *j, const char *key, const char *text) {
    tbp_json_lit(j, key);
    tbp_json_str(j, tbp_str_c(text), TBP_JSON_GVIZ);
}

static void json_host(struct tbp_json *j, const struct tbp_convert_host *h) {
    tbp_json_lit(j, "{\"host\":");
    tbp_json_str(j, h->name, TBP_JSON_GVIZ);
    tbp_json_printf(j, ",\"files\":%zu,\"kept\":%u,\"removed\":%u,\"bytes\":", h->n_files,
                    h->n_kept, h->n_removed);
    tbp_json_u64(j, h->size_bytes);
    tbp_json_printf(j, ",\"caches_removed\":%zu,\"caches\":[", h->caches.list.n);
    for (size_t i = 0; i < h->caches.list.n; i++)
        tbp_json_item(j, i, tbp_str_c(h->caches.list.at[i].text));
    tbp_json_char(j, ']');
    if (h->replaced.input[0]) {
        json_text(j, ",\"replaced\":", h->replaced.input);
        json_text(j, ",\"replaced_reading\":", h->replaced.reading);
        json_text(j, ",\"replaced_version\":", h->replaced.version);
    }
    if (h->too_large_bytes)
        tbp_json_printf(j, ",\"xplane_too_large\":%" PRIu64 ",\"xplane_left_out\":%s",
                        h->too_large_bytes, h->lacks_xplane ? "true" : "false");
    json_error(j, h->status ? &h->err : NULL);
    tbp_json_lit(j, ",\"ledger\":");
    tbp_receipt_write_ledger(j, &h->ledger);
    tbp_json_char(j, '}');
}

/* err: why nothing could be done, or NULL */
static void json_run(struct tbp_json *j, const struct tbp_convert_job *job,
                     const struct tbp_convert_result *result, const struct tbp_error *err) {
    tbp_json_char(j, '{');
    tbp_json_member(j, "run", run_name(job));
    tbp_json_char(j, ',');
    tbp_json_member(j, "folder", is_there(job) ? job->folder : NULL);
    if (job->pages_folder) {
        tbp_json_char(j, ',');
        tbp_json_member(j, "pages_folder", is_there(job) ? job->pages_folder : NULL);
    }
    json_error(j, err);
    tbp_json_lit(j, ",\"hosts\":[");
    for (size_t i = 0; i < result->n_hosts; i++) {
        if (i)
            tbp_json_char(j, ',');
        json_host(j, &result->hosts[i]);
    }
    tbp_json_printf(j, "],\"all_hosts_removed\":%zu}", result->n_dropped);
}

static int convert_one(struct convert *c, const struct tbp_run *run, struct tbp_error *err) {
    struct tbp_convert_job job = {.cli = c->cli,
                                  .run = run,
                                  .semantics = (enum tbp_semantics)c->v->semantics,
                                  .steps = c->steps,
                                  .from = c->v->from,
                                  .is_tool_wanted = c->is_tool_wanted,
                                  .pool = c->pool,
                                  .progress = &c->progress};
    struct tbp_convert_result result;
    place_run(c, run, &job);
    int status = tbp_convert_run(&job, c->cli->arena, &result, err);
    if (status && c->json)
        json_run(c->json, &job, &result, err);
    if (status) {
        tbp_convert_result_release(&result);
        return status;
    }
    bool has_written = false;
    for (size_t i = 0; i < result.n_hosts; i++) {
        const struct tbp_convert_host *h = &result.hosts[i];
        bool is_empty = i < run->n_hosts && !h->status && h->input_bytes == 0;
        c->has_loss |= tbp_ledger_has_loss(&h->ledger) || h->lacks_xplane || is_empty;
        has_written |= !h->status;
        if (h->status)
            tbp_cli_error(c->cli, &h->err);
        if (h->status && !status)
            status = h->status;
    }
    if (status)
        tbp_fail(err, status, "run '%s' %s", run_name(&job),
                 has_written ? "is incomplete" : "was not written");
    tell_run(c, &job, &result);
    warn_run(c, &job, &result, status);
    if (c->json)
        json_run(c->json, &job, &result, NULL);
    tbp_convert_result_release(&result);
    if (!status)
        c->shown = job.folder;
    return status;
}

/* For people: how to look at what was written last. */
static void tell_how_to_look(const struct convert *c) {
    const char *end = NULL;
    for (const char *p = c->shown; p && (p = strstr(p, "/plugins/profile/")); p++)
        end = p;
    if (end && isatty(STDERR_FILENO))
        tbp_cli_note(c->cli, "to see it: tensorboard --logdir '%.*s'", (int)(end - c->shown),
                     c->shown);
}

static int convert_all(struct convert *c, struct tbp_error *err) {
    uint64_t work = 0;
    int worst = TBP_OK;
    size_t n_failed = 0;
    for (size_t i = 0; i < c->runs.list.n; i++)
        work += tbp_convert_work(&c->runs.list.at[i]);
    tbp_progress_begin(&c->progress, tbp_cli_progress_mode(c->cli), stderr, work);
    for (size_t i = 0; i < c->runs.list.n; i++) {
        if (c->json && i)
            tbp_json_char(c->json, ',');
        int status = convert_one(c, &c->runs.list.at[i], err);
        if (!status)
            continue;
        n_failed++;
        if (i + 1 < c->runs.list.n)
            tbp_cli_error(c->cli, err);
        worst = status;
    }
    tbp_progress_end(&c->progress);
    tell_how_to_look(c);
    if (worst && c->runs.list.n > 1)
        return tbp_fail(err, worst, "%zu of %zu runs failed", n_failed, c->runs.list.n);
    if (!worst && c->v->strict && c->has_loss)
        return tbp_fail(err, TBP_E_FORMAT, "parts of the input were lost (--strict)");
    return worst;
}

static int convert_with_json(struct convert *c, struct tbp_error *err) {
    struct tbp_error ignored;
    c->json = TBP_NEW(c->cli->arena, struct tbp_json);
    tbp_json_init(c->json, &c->cli->answer->base);
    tbp_json_lit(c->json, "{\"runs\":[");
    int status = convert_all(c, err);
    tbp_json_char(c->json, ']');
    tbp_json_skipped(c->json, &c->runs);
    tbp_json_lit(c->json, "}\n");
    int written = tbp_json_finish(c->json, status ? &ignored : err);
    return status ? status : written;
}

static int skip_output(struct convert *c, struct tbp_error *err) {
    tbp_runs_skip_below(&c->runs, c->v->output);
    if (c->runs.list.n)
        return TBP_OK;
    return tbp_fail(err, TBP_E_NOT_FOUND,
                    "there are no profiles but those in '%s', where this conversion writes",
                    c->v->output);
}

static int run_convert(struct tbp_cli *cli, const void *values, char **args, size_t n_args,
                       struct tbp_error *err) {
    struct convert c = {.cli = cli, .v = values};
    int status = choose_tools(&c, err);
    if (!status && c.v->output && !*c.v->output)
        status = tbp_fail(err, TBP_E_OPTION, "'output' needs the name of a folder, not ''");
    if (!status)
        status = tbp_check_format(c.v->from, err);
    if (!status)
        status = tbp_step_source_parse(&c.steps, c.v->steps, err);
    if (!status)
        status = tbp_find_all_runs(&c.runs, cli->arena, args, n_args, err);
    if (!status && c.v->output)
        status = skip_output(&c, err);
    if (!status)
        c.has_loss = tbp_warn_skipped(cli, &c.runs);
    if (!status)
        status = name_runs(&c, err);
    if (!status) {
        c.pool = tbp_pool_new(c.v->jobs);
        status = c.v->common.json ? convert_with_json(&c, err) : convert_all(&c, err);
        tbp_pool_free(c.pool);
    }
    tbp_runs_release(&c.runs);
    return status;
}

const struct tbp_command tbp_command_convert = {
    .name = "convert",
    .args = "INPUT...",
    .help = "write run folders for TensorBoard",
    .about =
        "Converts profiles: each INPUT (a file, a run folder, a log directory, an output folder "
        "of MindSpore's or Ascend's profiler or of rocprofv3, or '-') becomes a run "
        "in DIR/plugins/profile that TensorBoard's Profile tab shows, with the pages as JSON for "
        "scripts beside it.\n"
        "Converting again gives the same bytes; inputs and files that tbprof did not write are "
        "never replaced. The files of a host appear together or not at all. Conversions into one "
        "run take turns: the last one wins, and says what it replaced. Hosts may be converted one "
        "by one; ALL_HOSTS tells of all that the run has.\n"
        "Beside the outputs of each host lies HOST.tbprof.json: what was written, and what became "
        "of each event.",
    .examples = convert_examples,
    .options = convert_options,
    .values_size = sizeof(struct convert_values),
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run_convert,
};
