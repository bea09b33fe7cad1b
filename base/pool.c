/* SPDX-License-Identifier: Apache-2.0
 *
 * Fixed pool of threads. Work is a list of batches, one per running tbp_pool_for; workers take
 * indices from any open batch. The caller works on its own batch and then on what the stragglers
 * have opened in turn, so nested calls cannot deadlock. It takes no other work meanwhile: that
 * might ask for what the caller holds.
 */
#include "base/pool.h"

#include "base/arena.h"
#include "base/guard.h"
#include "base/sort.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

struct batch {
    int (*job)(void *ctx, size_t i, struct tbp_error *err);
    void *ctx;
    size_t n, next, running;
    const uint32_t *order; /* which is taken first, or NULL: as they are numbered */
    size_t failed_index;
    int failed_status;
    struct tbp_error failed;
    struct batch *link;
    const struct batch *outer; /* a job of that one opened it, or NULL */
};

struct tbp_pool {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a batch was opened, or the last job of one is done */
    struct batch *open;
    unsigned n_workers;
    bool stop;
    pthread_t workers[];
};

/* Whose job the thread runs. */
static _Thread_local const struct batch *current;

struct guarded {
    struct batch *b;
    size_t i;
};

static int run_job(void *ctx, struct tbp_error *err) {
    struct guarded *g = ctx;
    return g->b->job(g->b->ctx, g->i, err);
}

static void note_failure(struct batch *b, size_t i, int status, const struct tbp_error *err) {
    if (status == TBP_OK || (b->failed_status != TBP_OK && b->failed_index < i))
        return;
    b->failed_status = status;
    b->failed_index = i;
    b->failed = *err;
}

/* Takes one index of b and runs it. Called and left with the lock held. */
static void step(struct tbp_pool *p, struct batch *b) {
    size_t taken = b->next++, i = b->order ? b->order[taken] : taken;
    b->running++;
    pthread_mutex_unlock(&p->lock);
    struct tbp_error err = {0};
    const struct batch *outer = current;
    current = b;
    int status = tbp_guard_run(run_job, &(struct guarded){b, i}, &err);
    current = outer;
    pthread_mutex_lock(&p->lock);
    note_failure(b, i, status, &err);
    if (--b->running == 0 && b->next == b->n)
        pthread_cond_broadcast(&p->changed);
}

static bool is_within(const struct batch *b, const struct batch *outer) {
    while (b && b != outer)
        b = b->outer;
    return b == outer;
}

/* Outer: NULL for any. */
static struct batch *batch_with_work(struct tbp_pool *p, const struct batch *outer) {
    struct batch *b = p->open;
    while (b && (b->next == b->n || !is_within(b, outer)))
        b = b->link;
    return b;
}

static void *worker(void *ctx) {
    struct tbp_pool *p = ctx;
    pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        struct batch *b = batch_with_work(p, NULL);
        if (b)
            step(p, b);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static unsigned processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

struct tbp_pool *tbp_pool_new(unsigned n_threads) {
    unsigned n = n_threads ? n_threads : processors();
    n = n > TBP_POOL_MOST_THREADS ? TBP_POOL_MOST_THREADS : n;
    if (n <= 1)
        return NULL;
    struct tbp_pool *p = calloc(1, sizeof *p + (n - 1) * sizeof p->workers[0]);
    if (!p)
        return NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    for (unsigned i = 0; i + 1 < n; i++) {
        if (pthread_create(&p->workers[p->n_workers], NULL, worker, p))
            break; /* fewer workers are slower, not wrong */
        p->n_workers++;
    }
    return p;
}

void tbp_pool_free(struct tbp_pool *p) {
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_workers; i++)
        pthread_join(p->workers[i], NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    free(p);
}

unsigned tbp_pool_threads(const struct tbp_pool *p) {
    return p ? p->n_workers + 1 : 1;
}

static void unlink_batch(struct tbp_pool *p, struct batch *b) {
    struct batch **at = &p->open;
    while (*at != b)
        at = &(*at)->link;
    *at = b->link;
}

static int run_here(struct batch *b, struct tbp_error *err) {
    for (size_t i = 0; i < b->n; i++) {
        struct tbp_error one = {0};
        note_failure(b, i, tbp_guard_run(run_job, &(struct guarded){b, i}, &one), &one);
    }
    if (b->failed_status != TBP_OK && err)
        *err = b->failed;
    return b->failed_status;
}

static int run_batch(struct tbp_pool *p, struct batch *b, struct tbp_error *err) {
    if (!p || b->n <= 1)
        return run_here(b, err);
    pthread_mutex_lock(&p->lock);
    b->link = p->open;
    b->outer = current;
    p->open = b;
    pthread_cond_broadcast(&p->changed);
    while (b->next < b->n)
        step(p, b);
    while (b->running) {
        struct batch *inner = batch_with_work(p, b);
        if (inner)
            step(p, inner);
        else
            pthread_cond_wait(&p->changed, &p->lock);
    }
    unlink_batch(p, b);
    pthread_mutex_unlock(&p->lock);
    if (b->failed_status != TBP_OK && err)
        *err = b->failed;
    return b->failed_status;
}

int tbp_pool_for(struct tbp_pool *p, size_t n,
                 int (*job)(void *ctx, size_t i, struct tbp_error *err), void *ctx,
                 struct tbp_error *err) {
    struct batch b = {.job = job, .ctx = ctx, .n = n, .failed_index = SIZE_MAX};
    return run_batch(p, &b, err);
}

int tbp_pool_for_sized(struct tbp_pool *p, size_t n, uint64_t (*size)(void *ctx, size_t i),
                       int (*job)(void *ctx, size_t i, struct tbp_error *err), void *ctx,
                       struct tbp_error *err) {
    if (!p || n <= 1 || n > UINT32_MAX)
        return tbp_pool_for(p, n, job, ctx, err);
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    uint32_t *order = TBP_NEW_N(&scratch, uint32_t, n);
    uint64_t *smallness = TBP_NEW_N(&scratch, uint64_t, n);
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        smallness[i] = UINT64_MAX - size(ctx, i);
    }
    tbp_sort_index_u64(order, n, smallness, NULL);
    struct batch b = {.job = job, .ctx = ctx, .n = n, .order = order, .failed_index = SIZE_MAX};
    int status = run_batch(p, &b, err);
    tbp_arena_release(&scratch);
    return status;
}
