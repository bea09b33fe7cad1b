/* SPDX-License-Identifier: Apache-2.0
 *
 * Sessions over the files of a run, and the choice of run and host by name.
 */
#include "cli/run_session.h"

#include "cli/options.h"
#include "cli/warn_input.h"
#include "cli/worker_files.h"
#include "convert/read/reader.h"
#include "plugin_data/rundir.h"

#include <stdio.h>
#include <string.h>

const char *const tbp_semantics_choices[] = {"repair", "official", "tf", NULL};
const char tbp_steps_help[] =
    "where steps come from: auto (what the profile marks), markers (step numbers alone), none, "
    "whole (one step), every=10ms (" TBP_TIME_UNITS
    "), name=PATTERN (each such range is a step), from=PATTERN (each "
    "such event begins one)";
const char *const tbp_steps_words[] = {"auto",   "markers", "none",  "whole",
                                       "every=", "name=",   "from=", NULL};
const char *const tbp_dialect_choices[] = {"newest", "legacy", NULL};

struct reading {
    struct tbp_progress *progress;
    uint64_t size_bytes, told_bytes;
};

static void tell(void *ctx, double part) {
    struct reading *r = ctx;
    uint64_t bytes = (uint64_t)(part * (double)r->size_bytes);
    if (bytes <= r->told_bytes)
        return; /* some formats are read twice */
    tbp_progress_add(r->progress, bytes - r->told_bytes);
    r->told_bytes = bytes;
}

/* A file without a byte that is all there is to tell of. In a run folder it is a host without
 * events, as the plugin has it, and beside others it does not keep them from being told. */
static int refuse_empty(const struct tbp_run *run, struct tbp_host *host, struct tbp_error *err) {
    if (host->size_bytes || run->n_hosts > 1 || run->is_folder)
        return TBP_OK;
    tbp_host_release(host);
    return tbp_fail_at(err, TBP_E_TRUNCATED, run->hosts[0].path, TBP_NO_OFFSET,
                       "has 0 bytes, nothing was saved: copy it again, or record again");
}

static int load(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                struct tbp_error *err) {
    const struct tbp_run_loader *l = ctx;
    const struct tbp_run_file *f = &l->run->hosts[host];
    /* the steps of a run's other hosts decide how a host is grouped, and are made of other events
     */
    bool is_alone = l->run->n_hosts == 1;
    enum tbp_wanted wanted =
        l->wanted == TBP_WANTED_MEMORY && !is_alone ? TBP_WANTED_NO_GPU : l->wanted;
    struct reading reading = {l->progress, f->size_bytes, 0};
    const struct tbp_watch watch = {tell, &reading};
    const struct tbp_read_how how = {l->from, wanted, l->progress ? &watch : NULL};
    int status = tbp_read_host(out, f->path, f->host, &how, pool, err);
    if (!status)
        status = refuse_empty(l->run, out, err);
    if (!status)
        out->has_file_rank = tbp_worker_rank(f->label, &out->file_rank);
    if (l->progress)
        tell(&reading, 1);
    if (status && err && strcmp(err->input, f->path) == 0)
        snprintf(err->input, sizeof err->input, "%s", f->given);
    return status;
}

struct tbp_session *tbp_run_session(struct tbp_run_loader *loader, enum tbp_semantics semantics,
                                    struct tbp_arena *arena, struct tbp_pool *pool) {
    size_t n = loader->run->n_hosts;
    struct tbp_str *names = TBP_NEW_N(arena, struct tbp_str, n);
    for (size_t i = 0; i < n; i++)
        names[i] = loader->run->hosts[i].host;
    struct tbp_session *s = tbp_session_new(names, (uint32_t)n, semantics, load, loader, pool);
    tbp_session_set_steps(s, &loader->steps);
    return s;
}

int tbp_check_unchanged(const struct tbp_host *h, const struct tbp_run_file *file,
                        struct tbp_error *err) {
    if (!tbp_input_is_torn(&h->input, file->path))
        return TBP_OK;
    return tbp_fail(err, TBP_E_TRUNCATED,
                    "'%s' was written to while it was read: try again when it is complete",
                    file->given);
}

static int choose_run(struct tbp_run *out, const struct tbp_runs *runs, const char *run_name,
                      const char *input, struct tbp_error *err) {
    const struct tbp_run *found = NULL;
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, run_name ? run_name : "");
    for (size_t i = 0; i < runs->list.n; i++) {
        const struct tbp_run *r = &runs->list.at[i];
        if (run_name && strcmp(r->name, run_name) != 0 && strcmp(r->full_name, run_name) != 0) {
            tbp_nearest_try(&nearest, r->full_name);
            continue;
        }
        if (found)
            return tbp_fail(err, TBP_E_USAGE,
                            "'%s' holds several runs ('%s', '%s' …): choose with --run NAME", input,
                            found->full_name, r->full_name);
        found = r;
    }
    if (!found)
        return tbp_fail(err, TBP_E_NOT_FOUND, "no run '%s' in '%s'; nearest is '%s'", run_name,
                        input, nearest.best ? nearest.best : runs->list.at[0].full_name);
    *out = *found;
    return TBP_OK;
}

int tbp_check_format(const char *from, struct tbp_error *err) {
    struct tbp_nearest nearest;
    tbp_nearest_init(&nearest, from ? from : "");
    for (size_t i = 0; from && tbp_readers[i]; i++) {
        if (strcmp(tbp_readers[i]->name, from) == 0)
            return TBP_OK;
        tbp_nearest_try(&nearest, tbp_readers[i]->name);
    }
    if (!from)
        return TBP_OK;
    if (nearest.best)
        return tbp_fail(err, TBP_E_OPTION, "unknown format '%s' in 'from'; did you mean '%s'?",
                        from, nearest.best);
    return tbp_fail(err, TBP_E_OPTION, "unknown format '%s' in 'from'; 'tbprof tools' lists them",
                    from);
}

int tbp_find_one_run(struct tbp_run *out, const struct tbp_cli *cli, const char *input,
                     const char *run_name, bool *has_loss, struct tbp_error *err) {
    struct tbp_runs runs = {0};
    char *inputs[] = {(char *)(uintptr_t)input};
    int status = tbp_find_all_runs(&runs, cli->arena, inputs, 1, err);
    *has_loss = !status && tbp_warn_skipped(cli, &runs);
    if (!status)
        status = choose_run(out, &runs, run_name, input, err);
    tbp_runs_release(&runs);
    return status;
}

int tbp_find_host(const struct tbp_session *s, const char *name, uint32_t *host,
                  struct tbp_error *err) {
    uint32_t n = tbp_session_n_hosts(s);
    for (uint32_t i = 0; i < n; i++) {
        if (tbp_str_is(tbp_session_host_name(s, i), name)) {
            *host = i;
            return TBP_OK;
        }
    }
    if (strcmp(name, TBP_RUNDIR_ALL_HOSTS) == 0)
        return tbp_fail(err, TBP_E_NOT_FOUND,
                        "'%s' is no host: without --host the answer is of all hosts together",
                        name);
    struct tbp_str first = tbp_session_host_name(s, 0);
    return tbp_fail(err, TBP_E_NOT_FOUND, "no host '%s'; the run has %u, the first is '%.*s'", name,
                    n, (int)first.n, first.p);
}
