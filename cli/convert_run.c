/* SPDX-License-Identifier: Apache-2.0
 *
 * The jobs of one run; see convert_run.h.
 */
#include "cli/convert_run.h"

#include "base/guard.h"
#include "cli/convert_hosts.h"
#include "cli/convert_output.h"
#include "cli/run_lock.h"
#include "cli/signals.h"
#include "convert/analyze/rewrite_xplane.h"
#include "plugin_data/marker.h"
#include "plugin_data/rundir.h"
#include "plugin_data/xspace_out.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TOOLS = 64 };

/* Files of a host that are written, and wait until those of the whole run are. */
struct waiting {
    struct tbp_outputs outputs;
    bool is_there;
};

struct run_state {
    const struct tbp_convert_job *job;
    const struct tbp_run *run; /* what the session loads */
    struct tbp_session *session;
    struct tbp_convert_host *results; /* of the hosts converted */
    struct waiting *waiting;          /* as the results, then one for all hosts */
    struct tbp_output_where where;
};

/* One file of a host: a tool's answer as JSON or as .pb. */
struct page {
    size_t output; /* index in outputs */
    const struct tbp_tool *tool;
    bool is_pb;
};

struct host_state {
    const struct run_state *run;
    uint32_t host; /* or TBP_ALL_HOSTS */
    struct tbp_outputs *outputs;
    struct page pages[2 * MAX_TOOLS];
    size_t n_pages;
    const struct tbp_host *opened; /* and its file, for the xplane; NULL: no xplane is written */
    const char *path;
    size_t xplane; /* index in outputs */
    struct tbp_rewritten rewritten;
    uint64_t work_bytes; /* progress made by each page */
};

uint64_t tbp_convert_work(const struct tbp_run *run) {
    uint64_t n = 0;
    for (size_t i = 0; i < run->n_hosts; i++)
        n += run->hosts[i].size_bytes;
    return 2 * n; /* reading, and all pages together */
}

static void plan_page(struct host_state *h, const struct tbp_tool *t) {
    if (t->file)
        h->pages[h->n_pages++] =
            (struct page){tbp_outputs_plan(h->outputs, t->file, false), t, false};
    if (t->pb_file)
        h->pages[h->n_pages++] =
            (struct page){tbp_outputs_plan(h->outputs, t->pb_file, false), t, true};
}

/* Files that are packed are the longest by far: they begin first, beside what the others have to
 * wait for. */
static void plan_pages(struct host_state *h, unsigned scope) {
    for (int is_packed = 1; is_packed >= 0; is_packed--) {
        for (size_t i = 0; tbp_tools[i]; i++) {
            const struct tbp_tool *t = tbp_tools[i];
            TBP_BUG_IF(i >= MAX_TOOLS);
            if (h->run->job->is_tool_wanted[i] && (t->scope & scope) && t->file_gzip == is_packed)
                plan_page(h, t);
        }
    }
}

struct page_call {
    const struct host_state *h;
    const struct page *page;
};

static int call_tool(void *ctx, struct tbp_sink *sink, struct tbp_error *err) {
    const struct page_call *c = ctx;
    const struct tbp_tool *tool = c->page->tool;
    /* one set of files serves every plugin that reads files, 2.2 to 2.19.0: the older dialect */
    struct tbp_request request = {.host = c->h->host, .dialect = TBP_DIALECT_LEGACY};
    return (c->page->is_pb ? tool->write_pb : tool->write)(c->h->run->session, &request, sink, err);
}

static int write_page(struct host_state *h, size_t i, struct tbp_error *err) {
    const struct page *page = &h->pages[i];
    struct page_call call = {h, page};
    int status = TBP_OK;
    if (tbp_outputs_wants(h->outputs, page->output)) {
        bool gzip = page->tool->file_gzip && !page->is_pb;
        status = tbp_outputs_write(h->outputs, page->output, gzip, h->run->job->pool, call_tool,
                                   &call, err);
        if (status)
            tbp_cause(err, "while writing %s", page->tool->name);
    }
    tbp_progress_add(h->run->job->progress, h->work_bytes);
    /* a page that this input does not have is left out */
    return status == TBP_E_UNSUPPORTED ? TBP_OK : status;
}

/* The reading that outputs depend on: the semantics, and steps that were given. */
static struct tbp_str reading_of(const struct tbp_convert_job *job, struct tbp_arena *arena) {
    struct tbp_str semantics = tbp_str_c(tbp_semantics_choices[job->semantics]);
    if (job->steps.kind == TBP_STEPS_AUTO)
        return semantics;
    return tbp_arena_cat(arena, tbp_arena_cat(arena, semantics, TBP_STR(" steps ")),
                         job->steps.text);
}

static int find_facts(struct tbp_receipt_facts *facts, const struct run_state *run,
                      struct tbp_host *host, const struct tbp_run_file *file,
                      struct tbp_error *err) {
    *facts = (struct tbp_receipt_facts){
        .version = TBP_STR(TBP_VERSION),
        .input = tbp_str_c(file->label),
        .format = tbp_str_c(host->format),
        .semantics = reading_of(run->job, &host->arena),
        .input_bytes = host->input.size,
    };
    return tbp_input_sum(&host->input, run->job->pool, &facts->input_crc32, err);
}

static int rewrite_xplane(void *ctx, struct tbp_sink *sink, struct tbp_error *err) {
    struct host_state *h = ctx;
    return tbp_rewrite_xplane(h->run->session, h->host, h->run->job->max_xplane_bytes, sink,
                              &h->rewritten, err);
}

/* Beyond what readers of protobuf take an xplane is copied as it is, for tbprof reads it; nothing
 * is made that nobody but tbprof could read. The pages tell of all of it in any case. */
static int write_xplane(struct host_state *h, struct tbp_error *err) {
    if (!h->outputs->files.at[h->xplane].path[0])
        return TBP_OK;
    if (tbp_rewrite_xplane_is_needed(h->run->session, h->opened)) {
        int status = tbp_outputs_write(h->outputs, h->xplane, false, h->run->job->pool,
                                       rewrite_xplane, h, err);
        if (!h->rewritten.too_large_bytes)
            return status ? tbp_cause(err, "while writing the xplane") : TBP_OK;
        if (h->opened->is_foreign)
            return TBP_OK;
    }
    return tbp_outputs_copy(h->outputs, h->xplane, h->path, &h->opened->input, err);
}

/* Pool job: a page, or behind them the xplane. */
static int write_file(void *ctx, size_t i, struct tbp_error *err) {
    struct host_state *h = ctx;
    return i < h->n_pages ? write_page(h, i, err) : write_xplane(h, err);
}

/* Takes over *outputs, which are not going to be seen after a failure. */
static void wait_or_drop(struct waiting *w, struct tbp_outputs *outputs, int status) {
    if (status)
        tbp_outputs_release(outputs);
    else
        *w = (struct waiting){*outputs, true};
}

static int write_files(struct host_state *h, uint64_t work_bytes, struct tbp_error *err) {
    h->work_bytes = h->n_pages ? work_bytes / h->n_pages : 0;
    return tbp_pool_for(h->run->job->pool, h->n_pages + (h->opened != NULL), write_file, h, err);
}

/* Repairs on pages that plugins make themselves, of the xplane, are told as well. */
static int count_repairs(const struct run_state *run, uint32_t host, struct tbp_error *err) {
    bool wants_all = true;
    for (size_t i = 0; tbp_tools[i]; i++)
        wants_all &= run->job->is_tool_wanted[i];
    return wants_all ? tbp_session_count_all(run->session, host, err) : TBP_OK;
}

/* Seconds of the first line that knows its time. */
static int64_t start_of(const struct tbp_host *host) {
    int64_t first_ns = host->epoch_ns;
    for (size_t i = 0; i < host->n_planes && !host->epoch_ns; i++) {
        int64_t start_ns = tbp_plane_start_ns(&host->planes[i]);
        if (start_ns > 0 && (first_ns == 0 || start_ns < first_ns))
            first_ns = start_ns;
    }
    return first_ns / 1000000000;
}

/* An xplane beyond what the plugin reads, written or left out. */
static void note_size(const struct host_state *h, const struct tbp_host *host,
                      struct tbp_convert_host *result) {
    const struct tbp_convert_job *job = h->run->job;
    uint64_t max_bytes = job->max_xplane_bytes ? job->max_xplane_bytes : TBP_XSPACE_MAX_BYTES;
    result->lacks_xplane = h->rewritten.too_large_bytes && host->is_foreign;
    result->too_large_bytes = h->rewritten.too_large_bytes;
    bool is_large = host->input.size > max_bytes && !host->is_foreign && !job->is_pages_only;
    /* copied, or in its place already */
    if (is_large && (!job->has_xplane || !tbp_rewrite_xplane_is_needed(h->run->session, host)))
        result->too_large_bytes = host->input.size;
}

static int convert_opened(struct host_state *h, struct tbp_host *host,
                          struct tbp_convert_host *result, struct tbp_error *err) {
    const struct tbp_convert_job *job = h->run->job;
    const struct tbp_run_file *file = &job->run->hosts[h->host];
    if (job->has_xplane) {
        h->xplane = tbp_outputs_plan(h->outputs, "xplane.pb", true);
        h->opened = host;
        h->path = file->path;
    }
    plan_pages(h, TBP_SCOPE_HOST);
    int status = write_files(h, file->size_bytes, err);
    if (!status)
        status = count_repairs(h->run, h->host, err);
    if (h->rewritten.n_left_out)
        tbp_ledger_count(&host->ledger, TBP_LEDGER_WRITE_CAP, h->rewritten.n_left_out,
                         TBP_NO_OFFSET);
    note_size(h, host, result);
    result->has_old_xplane =
        !job->has_xplane && tbp_rewrite_xplane_is_needed(h->run->session, host);
    result->ledger = host->ledger;
    result->input_bytes = host->size_bytes;
    result->start_s = start_of(host);
    if (!status)
        status = tbp_check_unchanged(host, file, err);
    return status ? status : tbp_outputs_prepare(h->outputs, &host->ledger, err);
}

static int convert_host(const struct run_state *run, uint32_t i, struct tbp_convert_host *result,
                        struct tbp_error *err) {
    const struct tbp_convert_job *job = run->job;
    struct tbp_host *host = tbp_session_host(run->session, i, err);
    if (!host)
        return err->code;
    struct tbp_receipt_facts facts;
    int status = find_facts(&facts, run, host, &job->run->hosts[i], err);
    if (status)
        return status;
    struct tbp_outputs outputs;
    struct host_state h = {.run = run, .host = i, .outputs = &outputs};
    status = tbp_outputs_init(&outputs, job->run->hosts[i].host.p, &run->where, &facts, err);
    result->input_crc32 = facts.input_crc32;
    if (!status)
        status = convert_opened(&h, host, result, err);
    result->cannot_write = status == TBP_E_IO;
    wait_or_drop(&run->waiting[i], &outputs, status);
    tbp_session_release_events(run->session, i);
    return status;
}

struct host_task {
    const struct run_state *run;
    uint32_t host;
};

static int convert_guarded(void *ctx, struct tbp_error *err) {
    const struct host_task *t = ctx;
    return convert_host(t->run, t->host, &t->run->results[t->host], err);
}

/* Pool job; a failing host does not keep the others from being converted. */
static int host_job(void *ctx, size_t i, struct tbp_error *err) {
    const struct run_state *run = ctx;
    struct tbp_convert_host *r = &run->results[i];
    struct host_task task = {run, (uint32_t)i};
    (void)err;
    tbp_ledger_init(&r->ledger);
    r->name = run->job->run->hosts[i].host;
    r->status = tbp_guard_run(convert_guarded, &task, &r->err);
    return TBP_OK;
}

/* What the pages of all hosts are made of: the sums of the hosts' bytes, summed. */
static struct tbp_receipt_facts facts_of_all(const struct run_state *run, struct tbp_arena *arena) {
    struct tbp_receipt_facts facts = {.version = TBP_STR(TBP_VERSION),
                                      .semantics = reading_of(run->job, arena)};
    const char *names = "";
    for (size_t i = 0; i < run->run->n_hosts; i++) {
        const struct tbp_run_file *file = &run->run->hosts[i];
        uint64_t size_bytes = 0;
        uint32_t crc32 = 0;
        if (run->results) {
            size_bytes = run->results[i].input_bytes;
            crc32 = run->results[i].input_crc32;
        } else {
            tbp_file_sum(file->path, &size_bytes, &crc32);
        }
        names = tbp_arena_printf(arena, "%s%s%s", names, i ? ", " : "", file->host.p);
        facts.input_crc32 = tbp_sum_bytes(facts.input_crc32, &crc32, sizeof crc32);
        facts.input_bytes += size_bytes;
    }
    facts.input = tbp_str_c(names);
    return facts;
}

static int convert_all_hosts(const struct run_state *run, struct tbp_arena *arena,
                             struct tbp_convert_host *result, struct tbp_error *err) {
    struct tbp_outputs outputs;
    struct tbp_receipt_facts facts = facts_of_all(run, arena);
    struct host_state h = {.run = run, .host = TBP_ALL_HOSTS, .outputs = &outputs};
    int status = tbp_outputs_init(&outputs, TBP_RUNDIR_ALL_HOSTS, &run->where, &facts, err);
    if (!status)
        plan_pages(&h, TBP_SCOPE_ALL_HOSTS);
    for (size_t i = 0; i < h.n_pages && !status; i++)
        status = tbp_tool_prepare_hosts(h.pages[i].tool, run->session, err);
    if (!status)
        status = write_files(&h, 0, err);
    if (!status && (h.n_pages || outputs.targets[0].before.files.n))
        status = tbp_outputs_prepare(&outputs, NULL, err);
    result->cannot_write = status == TBP_E_IO;
    wait_or_drop(&run->waiting[run->job->run->n_hosts], &outputs, status);
    return status;
}

/* There is no "all hosts" (any more), or it is not known what they are. */
static size_t drop_all_hosts(const struct run_state *run) {
    struct tbp_outputs outputs;
    struct tbp_receipt_facts facts = {0};
    size_t n_dropped = 0;
    if (tbp_outputs_init(&outputs, TBP_RUNDIR_ALL_HOSTS, &run->where, &facts, NULL) == TBP_OK)
        tbp_outputs_drop(&outputs);
    n_dropped = outputs.n_removed;
    tbp_outputs_release(&outputs);
    return n_dropped;
}

static void add_all_hosts(const struct run_state *run, struct tbp_arena *arena,
                          struct tbp_convert_result *result) {
    struct tbp_convert_host *all = &result->hosts[result->n_hosts++];
    result->has_all_hosts = true;
    tbp_ledger_init(&all->ledger);
    all->name = TBP_STR(TBP_RUNDIR_ALL_HOSTS);
    all->status = convert_all_hosts(run, arena, all, &all->err);
}

/* With hosts in the folder that are not converted now: all of them as they lie there, which is what
 * a plugin makes of the folder, too. */
static void convert_folder_hosts(const struct run_state *converted, const struct tbp_run *folder,
                                 struct tbp_arena *arena, struct tbp_convert_result *result) {
    struct tbp_run_loader loader = {folder, NULL, TBP_WANTED_ALL, {0}, NULL};
    struct run_state run = *converted;
    run.results = NULL;
    run.run = folder;
    run.session = tbp_run_session(&loader, run.job->semantics, arena, run.job->pool);
    add_all_hosts(&run, arena, result);
    tbp_session_free(run.session);
}

static void keep_text(char *to, size_t size, struct tbp_str text) {
    snprintf(to, size, "%.*s", (int)text.n, text.p);
}

static void note_replaced(struct tbp_replaced *r, const struct tbp_receipt_facts *former) {
    if (!former)
        return;
    keep_text(r->input, sizeof r->input, former->input);
    keep_text(r->reading, sizeof r->reading, former->semantics);
    keep_text(r->version, sizeof r->version, former->version);
}

static void summarize(struct tbp_convert_host *r, struct tbp_outputs *o) {
    note_replaced(&r->replaced, tbp_outputs_former(o));
    r->caches = o->caches;
    o->caches = (struct tbp_cache_names){0};
    r->n_kept = o->n_kept;
    r->n_removed = o->n_removed;
    for (size_t i = 0; i < o->files.n; i++) {
        if (!o->files.at[i].is_written)
            continue;
        r->n_files++;
        r->size_bytes += o->files.at[i].entry.size_bytes;
    }
}

/* The host whose files could not be written, or NULL. */
static const struct tbp_convert_host *find_unwritten(const struct tbp_convert_result *result) {
    for (size_t i = 0; i < result->n_hosts; i++) {
        if (result->hosts[i].cannot_write)
            return &result->hosts[i];
    }
    return NULL;
}

/* Lets all that waits be seen, as one: a failure to write leaves what was there before, of every
 * host. A host that could not be read does not keep the others from being seen. */
static void settle(const struct run_state *run, const struct tbp_convert_result *result) {
    const struct tbp_convert_host *unwritten = find_unwritten(result);
    tbp_signals_hold();
    for (size_t i = 0; i < result->n_hosts; i++) {
        struct waiting *w = &run->waiting[i];
        struct tbp_convert_host *r = &result->hosts[i];
        if (!w->is_there)
            continue;
        if (unwritten)
            r->status = tbp_fail(&r->err, TBP_E_IO,
                                 "nothing of the run was replaced: '%s' could not be written",
                                 unwritten->name.p);
        else
            r->status = tbp_outputs_commit(&w->outputs, &r->err);
        if (!r->status)
            summarize(r, &w->outputs);
        else if (!unwritten)
            unwritten = r;
        tbp_outputs_release(&w->outputs);
        w->is_there = false;
    }
    tbp_signals_let_go();
}

/* The pages of all hosts tell of every host that the folder has, or are not there. */
static void combine_and_settle(const struct run_state *run, struct tbp_arena *arena,
                               struct tbp_convert_result *result) {
    const struct tbp_convert_job *job = run->job;
    struct tbp_folder_hosts there;
    tbp_folder_hosts_find(&there, arena, job->folder, job->run);
    bool is_alone = !there.other && !there.unread;
    if (is_alone && job->run->n_hosts > 1)
        add_all_hosts(run, arena, result);
    settle(run, result);
    if (is_alone && job->run->n_hosts > 1)
        return;
    if (there.other && job->has_xplane && !there.unread) {
        tbp_folder_hosts_find(&there, arena, job->folder, job->run); /* with those of just now */
        convert_folder_hosts(run, &there.run, arena, result);
        settle(run, result);
        return;
    }
    result->n_dropped = drop_all_hosts(run);
    result->left_out = there.unread ? there.unread : there.other;
}

static void convert_hosts(const struct run_state *run, struct tbp_arena *arena,
                          struct tbp_convert_result *result) {
    size_t n = run->job->run->n_hosts;
    struct tbp_error ignored;
    bool is_whole = true;
    tbp_pool_for(run->job->pool, n, host_job, (void *)run, &ignored);
    for (size_t i = 0; i < n; i++)
        is_whole &= !result->hosts[i].status;
    if (is_whole)
        combine_and_settle(run, arena, result);
    else
        settle(run, result); /* without all hosts there is nothing to say about all of them */
}

/* What lets older plugins see the log directory at all; once, and only if there is something to
 * see. Its time is that of the profile, so that the same input gives the same file. */
static int write_marker(const struct tbp_convert_job *job, const struct tbp_convert_host *host,
                        struct tbp_error *err) {
    return tbp_marker_write(job->logdir, host->name.p, host->start_s, err);
}

/* Length of the longest part of the path, cut at slashes, that is there already. */
static size_t length_there(const char *path, struct tbp_arena *arena) {
    size_t n = strlen(path);
    while (n > 0 && access(tbp_arena_printf(arena, "%.*s", (int)n, path), F_OK) != 0) {
        n--;
        while (n > 0 && path[n] != '/')
            n--;
    }
    return n;
}

/* Takes back the folders of the path beyond its first n bytes, as far as they are empty. */
static void remove_empty(const char *path, size_t n, struct tbp_arena *arena) {
    for (size_t end = strlen(path); end > n; end--) {
        if (path[end] != '/' && path[end] != '\0')
            continue;
        if (rmdir(tbp_arena_printf(arena, "%.*s", (int)end, path)) != 0)
            return;
    }
}

/* Where the inputs lie, so that none of them is taken for an output. */
static const char *const *real_inputs(const struct tbp_run *run, struct tbp_arena *arena) {
    const char **paths = TBP_NEW_N(arena, const char *, run->n_hosts + 1);
    size_t n = 0;
    for (size_t i = 0; i < run->n_hosts; i++) {
        char real[PATH_MAX];
        if (realpath(run->hosts[i].path, real))
            paths[n++] = tbp_arena_printf(arena, "%s", real);
    }
    return paths;
}

static int convert_locked(const struct tbp_convert_job *job, struct tbp_arena *arena,
                          struct tbp_convert_result *result, struct tbp_error *err) {
    size_t n = job->run->n_hosts;
    tbp_sink_file_remove_stale(job->folder);
    if (job->pages_folder)
        tbp_sink_file_remove_stale(job->pages_folder);
    *result = (struct tbp_convert_result){.hosts = TBP_NEW_N(arena, struct tbp_convert_host, n + 1),
                                          .n_hosts = n};
    struct tbp_run_loader loader = {job->run, job->from, TBP_WANTED_ALL, job->steps, job->progress};
    struct run_state run = {.job = job,
                            .run = job->run,
                            .session = tbp_run_session(&loader, job->semantics, arena, job->pool),
                            .results = result->hosts,
                            .waiting = TBP_NEW_N(arena, struct waiting, n + 1),
                            .where = {job->folder, job->pages_folder, job->is_pages_only,
                                      real_inputs(job->run, arena)}};
    convert_hosts(&run, arena, result);
    tbp_session_free(run.session);
    for (size_t i = 0; i < n; i++) {
        if (!result->hosts[i].status)
            return write_marker(job, &result->hosts[i], err);
    }
    return TBP_OK;
}

struct locks {
    struct tbp_run_lock run, pages;
};

/* The shorter path first, everywhere, so that no two conversions wait for each other. */
static int take_locks(struct locks *l, const struct tbp_convert_job *job, struct tbp_error *err) {
    *l = (struct locks){{-1}, {-1}};
    int status = tbp_run_lock_take(&l->run, job->folder, job->cli, err);
    if (!status && job->pages_folder)
        status = tbp_run_lock_take(&l->pages, job->pages_folder, job->cli, err);
    return status;
}

/* Takes back what a failed conversion made; still under the locks. */
static void undo(const struct tbp_convert_job *job, struct tbp_arena *arena, size_t there,
                 size_t pages_there) {
    tbp_sink_file_remove_abandoned();
    if (job->pages_folder)
        remove_empty(job->pages_folder, pages_there, arena);
    remove_empty(job->folder, there, arena);
}

int tbp_convert_run(const struct tbp_convert_job *job, struct tbp_arena *arena,
                    struct tbp_convert_result *result, struct tbp_error *err) {
    struct locks locks;
    size_t there = length_there(job->folder, arena);
    size_t pages_there = job->pages_folder ? length_there(job->pages_folder, arena) : 0;
    *result = (struct tbp_convert_result){0};
    int status = take_locks(&locks, job, err);
    if (!status)
        status = convert_locked(job, arena, result, err);
    bool has_failed = status != TBP_OK;
    for (size_t i = 0; i < result->n_hosts; i++)
        has_failed |= result->hosts[i].status != TBP_OK;
    if (has_failed)
        undo(job, arena, there, pages_there);
    tbp_run_lock_release(&locks.pages);
    tbp_run_lock_release(&locks.run);
    return status;
}

void tbp_convert_result_release(struct tbp_convert_result *result) {
    for (size_t i = 0; i < result->n_hosts; i++)
        tbp_vec_release(&result->hosts[i].caches.list);
}
