/* SPDX-License-Identifier: Apache-2.0
 *
 * Kept sessions: a short list under one lock, newest use first. Reading never happens under it: a
 * session is entered before anything of it is read, and whoever asks it first reads.
 */
#include "convert/backend/session_cache.h"

#include "base/guard.h"
#include "convert/analyze/host_notes.h"
#include "convert/model/builder.h"
#include "convert/read/reader.h"

#include <pthread.h>
#include <stdatomic.h>

struct tbp_held {
    struct tbp_held *next;
    struct tbp_arena arena; /* holds this, too */
    struct tbp_session_cache *cache;
    struct tbp_session *session;
    struct tbp_bodies bodies;
    struct tbp_run_files files;
    enum tbp_wanted wanted; /* the events that are read */
    pthread_rwlock_t events;
    _Atomic bool is_stale;
    bool is_listed;
    bool is_hasty; /* made within the clock's grain of a file's time */
    uint32_t n_users;
    uint64_t memory_bytes;
};

struct tbp_session_cache {
    struct tbp_arena arena; /* holds this, too */
    pthread_mutex_t lock;   /* everything below but n_files_read; taken with no other lock held */
    struct tbp_held *list;
    struct tbp_session_cache_stats stats;
    enum tbp_semantics semantics;
    struct tbp_pool *pool;
    _Atomic uint64_t n_files_read;
};

struct tbp_session_cache *tbp_session_cache_new(uint64_t budget_bytes, enum tbp_semantics semantics,
                                                struct tbp_pool *pool) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_session_cache *c = TBP_NEW(&arena, struct tbp_session_cache);
    c->arena = arena;
    c->semantics = semantics;
    c->pool = pool;
    c->stats.budget_bytes = budget_bytes;
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

static void free_held(struct tbp_held *h) {
    tbp_session_free(h->session);
    tbp_bodies_release(&h->bodies);
    pthread_rwlock_destroy(&h->events);
    struct tbp_arena arena = h->arena;
    tbp_arena_release(&arena);
}

static void free_list(struct tbp_held *list) {
    for (struct tbp_held *h = list, *next; h; h = next) {
        next = h->next;
        free_held(h);
    }
}

void tbp_session_cache_free(struct tbp_session_cache *c) {
    if (!c)
        return;
    free_list(c->list);
    pthread_mutex_destroy(&c->lock);
    struct tbp_arena arena = c->arena;
    tbp_arena_release(&arena);
}

/* ---- reading ---- */

static void tell_left_out(struct tbp_host *h, const char *names) {
    const char *text = tbp_arena_printf(
        &h->arena, TBP_NOTE_OF_FILES "that cannot be read as profiles are left out: %s.", names);
    tbp_host_add_text(h, &h->warnings, &h->n_warnings, tbp_str_c(text));
}

static int load(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                struct tbp_error *err) {
    struct tbp_held *h = ctx;
    const struct tbp_run_member *m = &h->files.at[host];
    struct tbp_file_stamp stamp;
    struct tbp_input input;
    bool is_torn = false;
    int status = tbp_input_open_copy(&input, m->path, tbp_file_parts(h->wanted), &stamp, &is_torn,
                                     pool, err);
    if (status || is_torn || !tbp_file_stamp_eq(&stamp, &m->stamp))
        h->is_stale = true;
    if (status)
        return status;
    atomic_fetch_add(&h->cache->n_files_read, 1);
    status = tbp_read_host_input(out, m->path, m->host, &input, h->wanted, pool, err);
    if (status == TBP_OK && host == 0 && h->files.left_out) /* once per run */
        tell_left_out(out, h->files.left_out);
    return status;
}

static bool is_hasty(const struct tbp_run_files *f) {
    for (uint32_t i = 0; i < f->n; i++)
        if (tbp_file_stamp_is_hasty(&f->at[i].stamp))
            return true;
    return false;
}

struct making {
    struct tbp_session_cache *cache;
    const struct tbp_run_files *files;
    enum tbp_wanted wanted;
    struct tbp_arena arena;
    struct tbp_held *held;
};

static int make_guarded(void *ctx, struct tbp_error *err) {
    struct making *m = ctx;
    const struct tbp_run_files *f = m->files;
    struct tbp_held *h = TBP_NEW(&m->arena, struct tbp_held);
    struct tbp_str *names = TBP_NEW_N(&m->arena, struct tbp_str, f->n);
    (void)err;
    h->cache = m->cache;
    h->wanted = m->wanted;
    h->files = *f;
    h->files.at = TBP_NEW_N(&m->arena, struct tbp_run_member, f->n);
    if (f->left_out)
        h->files.left_out = tbp_arena_str(&m->arena, tbp_str_c(f->left_out)).p;
    h->is_hasty = is_hasty(f);
    h->memory_bytes =
        f->size_bytes; /* until it is measured: room is made before anything is read */
    for (uint32_t i = 0; i < f->n; i++) {
        struct tbp_run_member *to = &h->files.at[i];
        *to = f->at[i];
        to->path = tbp_arena_str(&m->arena, tbp_str_c(f->at[i].path)).p;
        to->name = to->path + (f->at[i].name - f->at[i].path);
        names[i] = to->host = tbp_arena_str(&m->arena, f->at[i].host);
    }
    h->session = tbp_session_new(names, f->n, m->cache->semantics, load, h, m->cache->pool);
    m->held = h;
    return TBP_OK;
}

static struct tbp_held *make(struct tbp_session_cache *c, const struct tbp_run_files *files,
                             enum tbp_wanted wanted, struct tbp_error *err) {
    struct making m = {.cache = c, .files = files, .wanted = wanted};
    tbp_arena_init(&m.arena);
    if (tbp_guard_run(make_guarded, &m, err)) {
        tbp_arena_release(&m.arena);
        return NULL;
    }
    pthread_rwlock_init(&m.held->events, NULL);
    tbp_bodies_init(&m.held->bodies);
    m.held->arena = m.arena;
    return m.held;
}

/* ---- the list; its lock is held ---- */

static const char *text_of(const char *or_null) {
    return or_null ? or_null : "";
}

static bool is_same_run(const struct tbp_run_files *a, const struct tbp_run_files *b) {
    if (a->n != b->n || strcmp(text_of(a->left_out), text_of(b->left_out)) != 0)
        return false;
    for (uint32_t i = 0; i < a->n; i++)
        if (strcmp(a->at[i].path, b->at[i].path) != 0)
            return false;
    return true;
}

static bool is_unchanged(const struct tbp_held *h, const struct tbp_run_files *f) {
    for (uint32_t i = 0; i < f->n; i++)
        if (!tbp_file_stamp_eq(&h->files.at[i].stamp, &f->at[i].stamp))
            return false;
    return !h->is_stale && !h->is_hasty;
}

static void take_out(struct tbp_session_cache *c, struct tbp_held *h) {
    struct tbp_held **at = &c->list;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    h->next = NULL;
    h->is_listed = false;
    c->stats.n_sessions--;
}

static void put_first(struct tbp_session_cache *c, struct tbp_held *h) {
    h->next = c->list;
    c->list = h;
    h->is_listed = true;
    c->stats.n_sessions++;
}

/* The kept session of the run, first in the list now, or NULL. One that has become old, or has too
 * few events, goes out of the list, and to `old` if nobody holds it; the next one has all events.
 */
static struct tbp_held *find(struct tbp_session_cache *c, const struct tbp_run_files *f,
                             enum tbp_wanted *wanted, struct tbp_held **old) {
    struct tbp_held *h = c->list;
    while (h && !is_same_run(&h->files, f))
        h = h->next;
    if (!h)
        return NULL;
    take_out(c, h);
    bool suffices = h->wanted == TBP_WANTED_ALL || h->wanted == *wanted;
    if (suffices && is_unchanged(h, f)) {
        put_first(c, h);
        return h;
    }
    c->stats.n_changed += suffices;
    *wanted = suffices ? *wanted : TBP_WANTED_ALL;
    if (h->n_users == 0) {
        c->stats.memory_bytes -= h->memory_bytes;
        h->next = *old;
        *old = h;
    }
    return NULL;
}

/* Least recently used and held by nobody. */
static struct tbp_held *last_idle(const struct tbp_session_cache *c) {
    struct tbp_held *found = NULL;
    for (struct tbp_held *h = c->list; h; h = h->next)
        if (h->n_users == 0)
            found = h;
    return found;
}

static struct tbp_held *evict(struct tbp_session_cache *c) {
    struct tbp_held *gone = NULL, *h;
    while (c->stats.memory_bytes > c->stats.budget_bytes && (h = last_idle(c))) {
        take_out(c, h);
        c->stats.memory_bytes -= h->memory_bytes;
        c->stats.n_evicted++;
        h->next = gone;
        gone = h;
    }
    return gone;
}

/* ---- use ---- */

int tbp_session_cache_acquire(struct tbp_session_cache *c, const struct tbp_run_files *files,
                              enum tbp_wanted wanted, struct tbp_held **out,
                              struct tbp_error *err) {
    struct tbp_held *old = NULL, *spare = NULL, *gone = NULL;
    pthread_mutex_lock(&c->lock);
    struct tbp_held *h = find(c, files, &wanted, &old);
    if (!h) {
        pthread_mutex_unlock(&c->lock);
        spare = make(c, files, wanted, err);
        if (!spare) {
            free_list(old);
            return TBP_E_MEMORY;
        }
        pthread_mutex_lock(&c->lock);
        h = find(c, files, &wanted, &old); /* another thread may have been faster */
    }
    c->stats.n_hits += h != NULL;
    c->stats.n_misses += h == NULL;
    if (!h) {
        h = spare;
        spare = NULL;
        put_first(c, h);
        c->stats.memory_bytes += h->memory_bytes;
    }
    h->n_users++;
    gone = evict(c);
    pthread_mutex_unlock(&c->lock);
    free_list(old);
    free_list(spare);
    free_list(gone);
    *out = h;
    return TBP_OK;
}

bool tbp_session_cache_put_back(struct tbp_session_cache *c, struct tbp_held *h) {
    uint64_t memory_bytes =
        tbp_session_memory(h->session) + h->arena.reserved_bytes + tbp_bodies_size(&h->bodies);
    bool is_stale = h->is_stale;
    pthread_mutex_lock(&c->lock);
    c->stats.memory_bytes += memory_bytes - h->memory_bytes;
    h->memory_bytes = memory_bytes;
    if (is_stale && h->is_listed)
        take_out(c, h);
    bool is_last = --h->n_users == 0 && !h->is_listed;
    if (is_last)
        c->stats.memory_bytes -= h->memory_bytes;
    struct tbp_held *gone = evict(c);
    pthread_mutex_unlock(&c->lock);
    if (is_last)
        free_held(h);
    free_list(gone);
    return is_stale;
}

void tbp_session_cache_set_budget(struct tbp_session_cache *c, uint64_t budget_bytes) {
    pthread_mutex_lock(&c->lock);
    c->stats.budget_bytes = budget_bytes;
    struct tbp_held *gone = evict(c);
    pthread_mutex_unlock(&c->lock);
    free_list(gone);
}

struct tbp_session *tbp_held_session(struct tbp_held *held) {
    return held->session;
}

struct tbp_bodies *tbp_held_bodies(struct tbp_held *held) {
    return &held->bodies;
}

void tbp_held_begin(struct tbp_held *held, bool alone) {
    if (alone)
        pthread_rwlock_wrlock(&held->events);
    else
        pthread_rwlock_rdlock(&held->events);
}

void tbp_held_end(struct tbp_held *held) {
    pthread_rwlock_unlock(&held->events);
}

void tbp_session_cache_stats(struct tbp_session_cache *c, struct tbp_session_cache_stats *out) {
    pthread_mutex_lock(&c->lock);
    *out = c->stats;
    pthread_mutex_unlock(&c->lock);
    out->n_files_read = c->n_files_read;
}
