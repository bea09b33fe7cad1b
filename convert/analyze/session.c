/* SPDX-License-Identifier: Apache-2.0
 *
 * Hosts on demand and memoised tables; see session.h. Every host has a recursive lock, and so has
 * the place of the tables of all hosts; the latter is always taken first, so that locks have one
 * order.
 */
#include "convert/analyze/session.h"

#include "base/guard.h"
#include "base/vec.h"
#include "convert/analyze/event_order.h"
#include "convert/analyze/file_marks.h"
#include "convert/analyze/grouping.h"
#include "convert/analyze/hide_loops.h"
#include "convert/analyze/step_table.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MAX_ANALYSES = 64 };

struct place { /* of one host, or of all hosts */
    pthread_mutex_t lock;
    struct tbp_arena tables,
        event_tables; /* the latter: of analyses of_events, freed with the events */
    _Atomic(void *) memo[MAX_ANALYSES];
    struct tbp_str name;
    TBP_VEC(struct tbp_host *)
    loads; /* the last is in use; tables may borrow text from older ones */
    bool has_events, is_grouped;
    _Atomic bool is_decided; /* how the host is to be grouped: */
    bool by_step_num, hides_loops;
    _Atomic uint64_t memory_bytes; /* when last looked */
};

struct tbp_session {
    struct tbp_arena arena;
    struct place *hosts;
    uint32_t n_hosts;
    struct place all;
    pthread_mutex_t
        repair_lock; /* taken with no other lock held; then hosts' locks one at a time */
    bool is_repair_decided, needs_repair;
    enum tbp_semantics semantics;
    struct tbp_step_source steps;
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
    tbp_arena_init(&p->event_tables);
    p->name = name;
}

static void place_release(struct place *p) {
    for (size_t i = 0; i < p->loads.n; i++)
        tbp_host_release(p->loads.at[i]);
    tbp_vec_release(&p->loads);
    tbp_arena_release(&p->tables);
    tbp_arena_release(&p->event_tables);
    pthread_mutex_destroy(&p->lock);
}

struct tbp_session *tbp_session_new(const struct tbp_str *names, uint32_t n_hosts,
                                    enum tbp_semantics semantics, tbp_load_fn *load, void *load_ctx,
                                    struct tbp_pool *pool) {
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
    pthread_mutex_init(&s->repair_lock, NULL);
    s->arena = arena;
    return s;
}

void tbp_session_free(struct tbp_session *s) {
    if (!s)
        return;
    for (uint32_t i = 0; i < s->n_hosts; i++)
        place_release(&s->hosts[i]);
    place_release(&s->all);
    pthread_mutex_destroy(&s->repair_lock);
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

void tbp_session_set_steps(struct tbp_session *s, const struct tbp_step_source *steps) {
    s->steps = *steps;
}

enum tbp_step_source_kind tbp_session_steps_kind(const struct tbp_session *s) {
    return s->steps.kind;
}

struct tbp_pool *tbp_session_pool(const struct tbp_session *s) {
    return s->pool;
}

static struct place *host_place(struct tbp_session *s, uint32_t host) {
    TBP_BUG_IF(host >= s->n_hosts);
    return &s->hosts[host];
}

static struct tbp_host *host_in_use(const struct place *p) {
    return p->loads.at[p->loads.n - 1];
}

struct loading {
    struct tbp_session *s;
    uint32_t host;
    struct tbp_host *out;
};

/* What is repaired before anything is made of the host. */
static int prepare(const struct tbp_session *s, struct tbp_host *h, struct tbp_error *err) {
    bool repairs = s->semantics == TBP_SEMANTICS_REPAIR;
    if (repairs) {
        tbp_move_epoch_lines(h);
        tbp_order_events(h);
    }
    int status = tbp_step_source_apply(h, &s->steps, err);
    if (!status && repairs)
        tbp_file_marks_apply(h);
    return status;
}

static int load_guarded(void *ctx, struct tbp_error *err) {
    struct loading *l = ctx;
    struct place *p = &l->s->hosts[l->host];
    tbp_vec_reserve(&p->loads, p->loads.n + 1);
    l->out = TBP_NEW(&p->tables, struct tbp_host);
    int status = l->s->load(l->s->load_ctx, l->host, l->out, l->s->pool, err);
    return status ? status : prepare(l->s, l->out, err);
}

/* The host's bytes and columns. Its lock is held. */
static int load_host(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = &s->hosts[host];
    if (p->has_events)
        return TBP_OK;
    struct loading l = {s, host, NULL};
    int status = tbp_guard_run(load_guarded, &l, err);
    if (status) {
        if (l.out)
            tbp_host_release(l.out); /* of a reading that ended early; else empty by now */
        return status;
    }
    *tbp_vec_push(&p->loads) = l.out;
    p->has_events = true;
    p->is_grouped = false;
    return TBP_OK;
}

/* Before events go. */
static void forget_event_tables(struct place *p) {
    for (size_t i = 0; tbp_analyses[i]; i++)
        if (tbp_analyses[i]->of_events)
            atomic_store(&p->memo[i], NULL);
    tbp_arena_release(&p->event_tables);
}

static void forget_load(struct place *p) {
    forget_event_tables(p);
    tbp_host_release(host_in_use(p));
    p->loads.n--;
    p->has_events = p->is_grouped = false;
}

static int group_guarded(void *ctx, struct tbp_error *err) {
    const struct loading *l = ctx;
    struct place *p = &l->s->hosts[l->host];
    (void)err;
    if (p->hides_loops)
        tbp_hide_loops(host_in_use(p));
    tbp_group_host(host_in_use(p),
                   &(struct tbp_grouping_options){.roots_from_step_num = p->by_step_num,
                                                  .unsigned_step_num =
                                                      l->s->semantics == TBP_SEMANTICS_REPAIR});
    p->is_grouped = true;
    return TBP_OK;
}

/* As load_host, and grouped as decided. */
static int load_grouped(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = &s->hosts[host];
    int status = load_host(s, host, err);
    if (status || p->is_grouped)
        return status;
    status = tbp_guard_run(group_guarded, &(struct loading){s, host, NULL}, err);
    if (status)
        forget_load(p); /* grouped in part */
    return status;
}

/* ---- repairs by step_num (grouping.h, hide_loops.h), only if no host of the run has a step by the
 * official rule ---- */

/* Would the repairs make other steps of it? */
static bool has_repairable_steps(const struct tbp_line *l, bool has_loops) {
    uint32_t asked = has_loops ? TBP_HAS_STEP_NUM : TBP_HAS_STEP_NUM | TBP_HAS_ROOT;
    for (size_t i = 0; i < l->ev.n; i++)
        if ((l->ev.has[i] & asked) == TBP_HAS_STEP_NUM)
            return true;
    return false;
}

static bool could_be_repaired(const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes && !h->was_grouped; p++)
        for (size_t l = 0; l < h->planes[p].n_lines; l++)
            if (has_repairable_steps(&h->planes[p].lines[l], h->has_loops))
                return true;
    return false;
}

static bool has_official_steps(struct tbp_session *s, uint32_t host) {
    struct place *p = &s->hosts[host];
    pthread_mutex_lock(&p->lock);
    bool was_loaded = p->has_events;
    bool has =
        load_grouped(s, host, NULL) == TBP_OK && tbp_host_has_steps(host_in_use(p), s->semantics);
    if (!was_loaded && p->has_events)
        forget_load(p);
    pthread_mutex_unlock(&p->lock);
    return has;
}

static bool run_needs_repair(struct tbp_session *s) {
    pthread_mutex_lock(&s->repair_lock);
    if (!s->is_repair_decided) {
        s->needs_repair = true;
        for (uint32_t i = 0; i < s->n_hosts && s->needs_repair; i++)
            s->needs_repair = !has_official_steps(s, i);
        s->is_repair_decided = true;
    }
    bool needs = s->needs_repair;
    pthread_mutex_unlock(&s->repair_lock);
    return needs;
}

/* Decides how the host is grouped, before anything is made of it. No lock is held, except that of
 * all hosts. */
static int decide_grouping(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = host_place(s, host);
    if (s->semantics != TBP_SEMANTICS_REPAIR || p->is_decided)
        return TBP_OK;
    pthread_mutex_lock(&p->lock);
    int status = load_grouped(s, host, err);
    bool candidate = status == TBP_OK && !p->is_decided && could_be_repaired(host_in_use(p));
    pthread_mutex_unlock(&p->lock);
    if (status)
        return status;
    bool repair = candidate && run_needs_repair(s);
    pthread_mutex_lock(&p->lock);
    if (repair && !p->is_decided) {
        p->by_step_num = true;
        p->hides_loops = host_in_use(p)->has_loops;
        forget_load(p);
    }
    p->is_decided = true;
    pthread_mutex_unlock(&p->lock);
    return TBP_OK;
}

struct tbp_host *tbp_session_raw_host(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    int status = load_host(s, host, err);
    pthread_mutex_unlock(&p->lock);
    return status == TBP_OK ? host_in_use(p) : NULL;
}

struct tbp_host *tbp_session_host(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    struct place *p = host_place(s, host);
    if (decide_grouping(s, host, err))
        return NULL;
    pthread_mutex_lock(&p->lock);
    int status = load_grouped(s, host, err);
    pthread_mutex_unlock(&p->lock);
    return status == TBP_OK ? host_in_use(p) : NULL;
}

const struct tbp_host *tbp_session_known_host(struct tbp_session *s, uint32_t host) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    const struct tbp_host *h = p->loads.n ? host_in_use(p) : NULL;
    pthread_mutex_unlock(&p->lock);
    return h;
}

void tbp_session_count(struct tbp_session *s, uint32_t host, enum tbp_ledger_key key, uint64_t n) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    if (p->loads.n && n)
        tbp_ledger_count(&host_in_use(p)->ledger, key, n, TBP_NO_OFFSET);
    pthread_mutex_unlock(&p->lock);
}

void tbp_session_release_events(struct tbp_session *s, uint32_t host) {
    struct place *p = host_place(s, host);
    pthread_mutex_lock(&p->lock);
    if (p->has_events) {
        forget_event_tables(p);
        tbp_host_release_events(host_in_use(p));
    }
    p->has_events = false;
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

static int compute(struct tbp_session *s, const struct tbp_analysis *a, uint32_t host,
                   struct place *p, void **table, struct tbp_error *err) {
    if (host != TBP_ALL_HOSTS)
        return a->host(s, host, a->of_events ? &p->event_tables : &p->tables, table, err);
    if (a->all)
        return a->all(s, &p->tables, table, err);
    if (s->n_hosts != 1 || a->of_events)
        return tbp_fail(err, TBP_E_UNSUPPORTED, "'%s' is made for one host, not for %u together",
                        a->name, s->n_hosts);
    *table = (void *)(uintptr_t)tbp_session_table(s, a, 0, err);
    return *table ? TBP_OK : err ? err->code : TBP_E_INTERNAL;
}

struct computation {
    struct tbp_session *s;
    const struct tbp_analysis *analysis;
    uint32_t host;
    struct place *place;
    void *table;
};

static int compute_guarded(void *ctx, struct tbp_error *err) {
    struct computation *c = ctx;
    return compute(c->s, c->analysis, c->host, c->place, &c->table, err);
}

const void *tbp_session_table(struct tbp_session *s, const struct tbp_analysis *a, uint32_t host,
                              struct tbp_error *err) {
    struct place *p = host == TBP_ALL_HOSTS ? &s->all : host_place(s, host);
    size_t slot = slot_of(a);
    void *table = atomic_load_explicit(&p->memo[slot], memory_order_acquire);
    if (table)
        return table;
    if (host != TBP_ALL_HOSTS && decide_grouping(s, host, err))
        return NULL;
    pthread_mutex_lock(&p->lock);
    if (!(table = p->memo[slot])) {
        struct computation c = {s, a, host, p, NULL};
        if (tbp_guard_run(compute_guarded, &c, err) == TBP_OK)
            table = c.table;
        atomic_store_explicit(&p->memo[slot], table, memory_order_release);
        if (p->has_events) /* stats that were looked at are seldom looked at again */
            tbp_input_drop_pages(&host_in_use(p)->input);
    }
    pthread_mutex_unlock(&p->lock);
    return table;
}

int tbp_session_count_all(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    const bool repairs = s->semantics == TBP_SEMANTICS_REPAIR;
    for (size_t i = 0; tbp_analyses[i]; i++) {
        const struct tbp_analysis *a = tbp_analyses[i];
        bool counts = a->counts || (a->counts_unrepaired && !repairs);
        if (counts && !tbp_session_table(s, a, host, err))
            return err->code;
    }
    return TBP_OK;
}

static uint64_t place_memory(struct place *p) {
    if (pthread_mutex_trylock(&p->lock))
        return p->memory_bytes;
    uint64_t n = p->tables.reserved_bytes + p->event_tables.reserved_bytes;
    for (size_t i = 0; i < p->loads.n; i++) {
        const struct tbp_host *h = p->loads.at[i];
        n += h->arena.reserved_bytes + h->columns.reserved_bytes + h->input.size -
             h->input.absent_bytes;
    }
    p->memory_bytes = n;
    pthread_mutex_unlock(&p->lock);
    return n;
}

uint64_t tbp_session_memory(struct tbp_session *s) {
    uint64_t n = s->arena.reserved_bytes + place_memory(&s->all);
    for (uint32_t i = 0; i < s->n_hosts; i++)
        n += place_memory(&s->hosts[i]);
    return n;
}
