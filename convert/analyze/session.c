/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts on demand and memoised tables; see session.h. Every host has a recursive lock, and so has the place of the
 * tables of all hosts; the latter is always taken first, so that locks have one order.
 */
#include "convert/analyze/session.h"

#include "convert/analyze/grouping.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_ANALYSES = 64 };

struct place { /* of one host, or of all hosts */
    pthread_mutex_t lock;
    struct tbp_arena tables;
    void *memo[MAX_ANALYSES];
    struct tbp_str name;
    struct tbp_host host;
    bool is_loaded, is_grouped;
};

struct tbp_session {
    struct tbp_arena arena;
    struct place *hosts;
    uint32_t n_hosts;
    struct place all;
    enum tbp_semantics semantics;
    tbp_load_fn *load;
    void *load_ctx;
    struct tbp_pool *pool;
};

static void place_init(struct place *p, struct tbp_str name) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&p->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    tbp_arena_init(&p->tables);
    p->name = name;
}

static void place_release(struct place *p) {
    tbp_arena_release(&p->tables);
    if (p->is_loaded)
        tbp_host_release(&p->host);
    pthread_mutex_destroy(&p->lock);
}

struct tbp_session *tbp_session_new(const struct tbp_str *names, uint32_t n_hosts, enum tbp_semantics semantics,
                                    tbp_load_fn *load, void *load_ctx, struct tbp_pool *pool) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_session *s = TBP_NEW(&arena, struct tbp_session);
    s->n_hosts = n_hosts;
    s->semantics = semantics;
    s->load = load;
    s->load_ctx = load_ctx;
    s->pool = pool;
    s->hosts = TBP_NEW_N(&arena, struct place, n_hosts);
    for (uint32_t i = 0; i < n_hosts; i++)
        place_init(&s->hosts[i], tbp_arena_str(&arena, names[i]));
    place_init(&s->all, TBP_STR("ALL_HOSTS"));
    s->arena = arena;
    return s;
}

void tbp_session_free(struct tbp_session *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_hosts; i++)
        place_release(&s->hosts[i]);
    place_release(&s->all);
    struct tbp_arena arena = s->arena; /* s lies in it */
    tbp_arena_release(&arena);
}

uint32_t tbp_session_n_hosts(const struct tbp_session *s) {
    return s->n_hosts;
}

struct tbp_str tbp_session_host_name(const struct tbp_session *s, uint32_t host) {
    return host == TBP_ALL_HOSTS ? s->all.name : s->hosts[host].name;
}

enum tbp_semantics tbp_session_semantics(const struct tbp_session *s) {
    return s->semantics;
}

struct tbp_pool *tbp_session_pool(const struct tbp_session *s) {
    return s->pool;
}

static struct place *host_place(struct tbp_session *s, uint32_t host) {
    TBP_BUG_IF(host >= s->n_hosts);
    return &s->hosts[host];
}

/* The host's bytes and columns; its lock is held. */
static int load_host(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = &s->hosts[host];
    if (p->is_loaded)
        return TBP_OK;
    int status = s->load(s->load_ctx, host, &p->host, s->pool, err);
    p->is_loaded = status == TBP_OK;
    p->is_grouped = false;
    return status;
}

struct tbp_host *tbp_session_raw_host(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    int status = load_host(s, host, err);
    pthread_mutex_unlock(&p->lock);
    return status == TBP_OK ? &p->host : NULL;
}

struct tbp_host *tbp_session_host(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    int status = load_host(s, host, err);
    if (status == TBP_OK && !p->is_grouped) {
        tbp_group_host(&p->host, &(struct tbp_grouping_options){0});
        p->is_grouped = true;
    }
    pthread_mutex_unlock(&p->lock);
    return status == TBP_OK ? &p->host : NULL;
}

void tbp_session_release_events(struct tbp_session *s, uint32_t host) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    if (p->is_loaded)
        tbp_host_release_events(&p->host);
    pthread_mutex_unlock(&p->lock);
}

static size_t slot_of(const struct tbp_analysis *a) {
    for (size_t i = 0; tbp_analyses[i]; i++) {
        TBP_BUG_IF(i >= MAX_ANALYSES);
        if (tbp_analyses[i] == a)
            return i;
    }
    tbp_bug(__FILE__, __LINE__, a->name); /* not in the table */
}

static int compute(struct tbp_session *s, const struct tbp_analysis *a, uint32_t host, struct place *p, void **table,
                   struct tbp_error *err) {
    if (host != TBP_ALL_HOSTS)
        return a->host(s, host, &p->tables, table, err);
    if (a->all)
        return a->all(s, &p->tables, table, err);
    if (s->n_hosts != 1)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' is made for one host, not for %u together", a->name, s->n_hosts);
    *table = (void *)(uintptr_t)tbp_session_table(s, a, 0, err);
    return *table ? TBP_OK : err ? err->code : TBP_E_INTERNAL;
}

const void *tbp_session_table(struct tbp_session *s, const struct tbp_analysis *a, uint32_t host,
                              struct tbp_error *err) {
    struct place *p = host == TBP_ALL_HOSTS ? &s->all : host_place(s, host);
    size_t slot = slot_of(a);
    pthread_mutex_lock(&p->lock);
    if (!p->memo[slot]) {
        void *table = NULL;
        if (compute(s, a, host, p, &table, err) == TBP_OK)
            p->memo[slot] = table;
    }
    const void *table = p->memo[slot];
    pthread_mutex_unlock(&p->lock);
    return table;
}
