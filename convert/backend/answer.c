/* SPDX-License-Identifier: Apache-2.0
 *
 * Answering: the session of the run is taken from the cache, the tool writes into memory, the
 * session goes back. If the files changed meanwhile, all of it is done again.
 */
#include "convert/backend/answer.h"

#include "base/guard.h"
#include "convert/backend/tool_names.h"
#include "convert/read/reader.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { MOST_TRIES = 5 };

struct tbp_backend {
    struct tbp_arena arena; /* holds this, too */
    struct tbp_session_cache *cache;
    struct tbp_looks looks;
    struct tbp_pool *pool;
    enum tbp_semantics semantics;
};

struct tbp_backend *tbp_backend_new(const struct tbp_backend_options *o) {
    struct tbp_arena arena;
    sigset_t all, before;
    tbp_arena_init(&arena);
    struct tbp_backend *b = TBP_NEW(&arena, struct tbp_backend);
    b->arena = arena;
    b->semantics = o->semantics;
    /* Signals are for the threads of the program: ours are born with all of them blocked. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b->pool = tbp_pool_new(o->n_threads);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    tbp_looks_init(&b->looks);
    b->cache = tbp_session_cache_new(o->budget_bytes, o->semantics, b->pool);
    return b;
}

void tbp_backend_free(struct tbp_backend *b) {
    if (!b)
        return;
    tbp_session_cache_free(b->cache);
    tbp_looks_release(&b->looks);
    tbp_pool_free(b->pool);
    struct tbp_arena arena = b->arena;
    tbp_arena_release(&arena);
}

struct tbp_session_cache *tbp_backend_cache(struct tbp_backend *b) {
    return b->cache;
}

/* ---- what is ours ---- */

static const char *option(const struct tbp_question *q, const char *key) {
    struct tbp_request r = {.options = q->options, .n_options = q->n_options};
    return tbp_request_option(&r, key, "");
}

static bool is_second_try(const struct tbp_question *q) {
    return strcmp(q->tool, TBP_TOOL_NAMES_ANYWAY) == 0;
}

static bool is_names(const struct tbp_question *q) {
    return strcmp(q->tool, TBP_TOOL_NAMES) == 0 || is_second_try(q);
}

static enum tbp_official_use official_of(const struct tbp_question *q) {
    if (!q->has_official)
        return TBP_OFFICIAL_NONE;
    return is_second_try(q) ? TBP_OFFICIAL_FAILED : TBP_OFFICIAL_ASKS;
}

bool tbp_question_is_ours(const struct tbp_question *q) {
    if (!q->tool || !tbp_run_files_are_ours(q->paths, q->n_paths))
        return false;
    return is_names(q) ||
           (tbp_tool_find(tbp_str_c(q->tool)) && strcmp(option(q, "format"), "pb") != 0);
}

/* ---- one answer ---- */

struct answering {
    struct tbp_backend *backend;
    const struct tbp_question *q;
    struct tbp_session *session;
    const struct tbp_run_files *files;
    struct tbp_sink_memory *out;
    bool *is_foreign;
    struct tbp_sink_gzip *gzip; /* between the tool and out, or NULL */
};

static int write_tool(const struct answering *a, struct tbp_sink *to, struct tbp_error *err) {
    const uint32_t n = tbp_session_n_hosts(a->session);
    struct tbp_request r = {.host = n == 1 ? 0 : a->files->picked,
                            .dialect = a->q->dialect,
                            .options = a->q->options,
                            .n_options = a->q->n_options};
    const struct tbp_tool *tool = tbp_tool_find(tbp_str_c(a->q->tool));
    return tool->write(a->session, &r, to, err);
}

/* Packed while it is written, so that large bodies are never there as a whole. */
static int write_packed(struct answering *a, struct tbp_error *err) {
    int status = tbp_sink_gzip_new(&a->gzip, &a->out->base, a->backend->pool, err);
    if (!status)
        status = write_tool(a, tbp_sink_gzip_base(a->gzip), err);
    return status ? status : tbp_sink_finish(tbp_sink_gzip_base(a->gzip), err);
}

static int write_guarded(void *ctx, struct tbp_error *err) {
    struct answering *a = ctx;
    if (is_names(a->q))
        return tbp_tool_names(a->session, a->files, official_of(a->q), &a->out->base, a->is_foreign,
                              err);
    return a->q->is_packed ? write_packed(a, err) : write_tool(a, &a->out->base, err);
}

static int prepare_guarded(void *ctx, struct tbp_error *err) {
    const struct answering *a = ctx;
    const struct tbp_tool *tool = tbp_tool_find(tbp_str_c(a->q->tool));
    return tbp_tool_prepare_hosts(tool, a->session, err);
}

/* Hosts which together do not fit are read, one after another, for their tables only. */
static bool needs_preparation(const struct answering *a) {
    struct tbp_session_cache_stats stats;
    tbp_session_cache_stats(a->backend->cache, &stats);
    return a->files->picked == TBP_ALL_HOSTS && !is_names(a->q) &&
           a->files->size_bytes > stats.budget_bytes / 2;
}

static int answer_held(struct answering *a, struct tbp_held *held, struct tbp_error *err) {
    a->session = tbp_held_session(held);
    int status = TBP_OK;
    if (needs_preparation(a)) {
        tbp_held_begin(held, true);
        status = tbp_guard_run(prepare_guarded, a, err);
        tbp_held_end(held);
    }
    if (status)
        return status;
    tbp_held_begin(held, false);
    status = tbp_guard_run(write_guarded, a, err);
    tbp_held_end(held);
    tbp_sink_gzip_free(a->gzip);
    return status;
}

/* Bodies that are packed are small enough to be kept. */
static bool is_kept(const struct tbp_question *q) {
    return q->is_packed && !is_names(q);
}

static int answer_or_repeat(struct answering *a, struct tbp_held *held, struct tbp_str question,
                            struct tbp_error *err) {
    struct tbp_bodies *bodies = tbp_held_bodies(held);
    const size_t before = a->out->size;
    if (is_kept(a->q) && tbp_bodies_get(bodies, question, &a->out->base))
        return TBP_OK;
    int status = answer_held(a, held, err);
    if (!status && is_kept(a->q))
        tbp_bodies_put(bodies, question, a->out->data + before, a->out->size - before);
    return status;
}

struct finding {
    struct tbp_arena arena;
    const struct tbp_question *q;
    struct tbp_looks *looks;
    struct tbp_run_files files;
    struct tbp_str text; /* all that the answer depends on, besides the run */
};

static struct tbp_str text_of(struct finding *f) {
    const struct tbp_question *q = f->q;
    const char *text =
        tbp_arena_printf(&f->arena, "%s %d %" PRIu32, q->tool, (int)q->dialect, f->files.picked);
    for (size_t i = 0; i < q->n_options; i++)
        text = tbp_arena_printf(&f->arena, "%s\n%zu %s=%s", text, strlen(q->options[i].key),
                                q->options[i].key, q->options[i].value);
    return tbp_str_c(text);
}

static int find_guarded(void *ctx, struct tbp_error *err) {
    struct finding *f = ctx;
    int status =
        tbp_run_files_find(&f->files, &f->arena, f->looks, f->q->paths, f->q->n_paths, err);
    f->text = text_of(f);
    return status;
}

static enum tbp_wanted wanted_by(const struct tbp_question *q) {
    return is_names(q) ? TBP_WANTED_ALL : tbp_tool_find(tbp_str_c(q->tool))->wanted;
}

static int try_once(struct answering *a, bool *is_stale, struct tbp_error *err) {
    struct finding f = {.q = a->q, .looks = &a->backend->looks};
    struct tbp_held *held = NULL;
    tbp_arena_init(&f.arena);
    int status = tbp_guard_run(find_guarded, &f, err);
    if (!status)
        status =
            tbp_session_cache_acquire(a->backend->cache, &f.files, wanted_by(a->q), &held, err);
    if (!status) {
        a->files = &f.files;
        status = answer_or_repeat(a, held, f.text, err);
        *is_stale = tbp_session_cache_put_back(a->backend->cache, held);
    }
    tbp_arena_release(&f.arena);
    return status;
}

static void pause_before(int try) {
    struct timespec t = {0, 2000000L << try};
    nanosleep(&t, NULL);
}

int tbp_backend_answer(struct tbp_backend *b, const struct tbp_question *q,
                       struct tbp_sink_memory *out, bool *is_foreign, struct tbp_error *err) {
    const size_t before = out->size;
    int status = TBP_OK;
    for (int try = 0; try < MOST_TRIES; try++) {
        struct answering a = {.backend = b, .q = q, .out = out, .is_foreign = is_foreign};
        bool is_stale = false;
        if (try > 1)
            pause_before(try);
        out->size = before;
        *is_foreign = false;
        status = try_once(&a, &is_stale, err);
        if (!is_stale)
            break; /* else a file is being written: what is there of it, in the end */
    }
    return status;
}

/* ---- bytes instead of files ---- */

struct byte_source {
    const struct tbp_run_files *files;
    const struct tbp_bytes *const *bytes; /* by host */
};

static int load_bytes(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                      struct tbp_error *err) {
    const struct byte_source *source = ctx;
    const struct tbp_bytes *bytes = source->bytes[host];
    struct tbp_input input = {.data = bytes->data, .size = bytes->size_bytes, .is_borrowed = true};
    return tbp_read_host_input(out, source->files->at[host].path, source->files->at[host].host,
                               &input, TBP_WANTED_ALL, pool, err);
}

struct byte_answering {
    struct answering a;
    struct tbp_arena arena;
    const struct tbp_bytes *bytes;
};

static int bytes_guarded(void *ctx, struct tbp_error *err) {
    struct byte_answering *x = ctx;
    const struct tbp_question *q = x->a.q;
    struct tbp_run_files *files = TBP_NEW(&x->arena, struct tbp_run_files);
    const struct tbp_bytes **bytes = TBP_NEW_N(&x->arena, const struct tbp_bytes *, q->n_paths);
    struct tbp_str *names = TBP_NEW_N(&x->arena, struct tbp_str, q->n_paths);
    tbp_run_files_named(files, &x->arena, q->paths, q->n_paths);
    for (uint32_t i = 0; i < files->n; i++) {
        names[i] = files->at[i].host;
        for (size_t k = 0; k < q->n_paths; k++)
            if (strcmp(q->paths[k], files->at[i].path) == 0)
                bytes[i] = &x->bytes[k];
    }
    struct byte_source *source = TBP_NEW(&x->arena, struct byte_source);
    *source = (struct byte_source){files, bytes};
    x->a.files = files;
    x->a.session = tbp_session_new(names, files->n, x->a.backend->semantics, load_bytes, source,
                                   x->a.backend->pool);
    return tbp_guard_run(write_guarded, &x->a, err);
}

int tbp_backend_answer_bytes(struct tbp_backend *b, const struct tbp_question *q,
                             const struct tbp_bytes *bytes, struct tbp_sink_memory *out,
                             struct tbp_error *err) {
    bool is_foreign = false;
    struct byte_answering x = {.a = {.backend = b, .q = q, .out = out, .is_foreign = &is_foreign},
                               .bytes = bytes};
    tbp_arena_init(&x.arena);
    int status = tbp_guard_run(bytes_guarded, &x, err);
    tbp_sink_gzip_free(x.a.gzip);
    tbp_session_free(x.a.session);
    tbp_arena_release(&x.arena);
    if (!status && is_foreign)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' needs the official converter", q->tool);
    return status;
}
