/* SPDX-License-Identifier: Apache-2.0
 *
 * The gzip sink: a ring of fixed blocks. The writer fills a block and queues it; helper threads (or
 * the writer, when no block is free) compress the oldest queued one; the writer hands finished
 * blocks to the next sink in order. Blocks are independent, so that the bytes do not depend on who
 * compressed them. Helpers and buffers come with the blocks that need them: most texts are one.
 */
#include "plugin_data/sink.h"

#include "base/arena.h"
#include "base/quiet_thread.h"
#include "plugin_data/deflate_block.h"

#include <string.h>
#include <zlib.h>
#ifdef TBP_HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

enum { HELPERS_MAX = 7, SLOTS_MAX = 2 * HELPERS_MAX + 2 };
enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_BUSY, SLOT_DONE };

struct slot {
    enum slot_state state; /* under the lock */
    uint8_t *in, *out;     /* NULL until the slot is filled for the first time */
    size_t in_size, out_size;
    uint32_t crc;
};

struct worker {
    struct tbp_sink_gzip *g;
    struct tbp_deflate *deflate;
    pthread_t thread;
};

struct tbp_sink_gzip {
    struct tbp_sink base;
    struct tbp_sink *next;
    struct tbp_arena memory; /* holds this struct and all buffers */
    struct slot slots[SLOTS_MAX];
    unsigned n_slots, filling, oldest; /* the writer's: slots [oldest, filling) are under way */
    uint64_t size_bytes;
    uint32_t crc;
    int status; /* first failure of `next` */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct worker writer, helpers[HELPERS_MAX];
    unsigned n_helpers, most_helpers;
    unsigned take; /* the first slot that may be queued, under the lock */
    bool stop;
};

static uint32_t crc_of(const uint8_t *p, size_t n) {
#ifdef TBP_HAVE_LIBDEFLATE
    return libdeflate_crc32(0, p, n);
#else
    return (uint32_t)crc32(0, p, (uInt)n);
#endif
}

/* With the lock held: the oldest queued slot, now busy, or NULL. Slots are queued in ring order. */
static struct slot *take_queued(struct tbp_sink_gzip *g) {
    struct slot *s = &g->slots[g->take];
    if (s->state != SLOT_QUEUED)
        return NULL;
    s->state = SLOT_BUSY;
    g->take = (g->take + 1) % g->n_slots;
    return s;
}

/* With the lock held; gives it up while compressing. */
static void work_on(struct worker *w, struct slot *s) {
    pthread_mutex_unlock(&w->g->lock);
    s->crc = crc_of(s->in, s->in_size);
    s->out_size = tbp_deflate_block(w->deflate, s->in, s->in_size, s->out);
    pthread_mutex_lock(&w->g->lock);
    s->state = SLOT_DONE;
    pthread_cond_broadcast(&w->g->changed);
}

static void *helper(void *arg) {
    struct worker *w = arg;
    pthread_mutex_lock(&w->g->lock);
    while (!w->g->stop) {
        struct slot *s = take_queued(w->g);
        if (s)
            work_on(w, s);
        else
            pthread_cond_wait(&w->g->changed, &w->g->lock);
    }
    pthread_mutex_unlock(&w->g->lock);
    return NULL;
}

static int pass_on(struct tbp_sink_gzip *g, const void *p, size_t n, struct tbp_error *err) {
    if (g->status == TBP_OK)
        g->status = tbp_sink_write(g->next, p, n, err);
    return g->status;
}

/* Hands the oldest slot to the next sink; waits for it, or works meanwhile. */
static int retire_oldest(struct tbp_sink_gzip *g, struct tbp_error *err) {
    struct slot *s = &g->slots[g->oldest];
    pthread_mutex_lock(&g->lock);
    while (s->state != SLOT_DONE) {
        struct slot *mine = take_queued(g);
        if (mine)
            work_on(&g->writer, mine);
        else
            pthread_cond_wait(&g->changed, &g->lock);
    }
    s->state = SLOT_FREE;
    pthread_mutex_unlock(&g->lock);
    g->oldest = (g->oldest + 1) % g->n_slots;
    g->crc = (uint32_t)crc32_combine(g->crc, s->crc, (z_off_t)s->in_size);
    g->size_bytes += s->in_size;
    s->in_size = 0;
    return pass_on(g, s->out, s->out_size, err);
}

static int queue_filled(struct tbp_sink_gzip *g, struct tbp_error *err) {
    pthread_mutex_lock(&g->lock);
    g->slots[g->filling].state = SLOT_QUEUED;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    g->filling = (g->filling + 1) % g->n_slots;
    return g->filling == g->oldest ? retire_oldest(g, err) : g->status;
}

static void start_helpers(struct tbp_sink_gzip *g) {
    while (g->n_helpers < g->most_helpers) {
        struct worker *w = &g->helpers[g->n_helpers];
        *w = (struct worker){.g = g, .deflate = tbp_deflate_new(&g->memory)};
        if (tbp_quiet_thread(&w->thread, "tbprof-gzip", helper, w, NULL) != TBP_OK)
            g->most_helpers = g->n_helpers; /* slower, not wrong */
        else
            g->n_helpers++;
    }
}

static struct slot *slot_to_fill(struct tbp_sink_gzip *g) {
    struct slot *s = &g->slots[g->filling];
    if (!s->in) {
        s->out = TBP_NEW_N(&g->memory, uint8_t, TBP_DEFLATE_OUT);
        s->in = TBP_NEW_N(&g->memory, uint8_t, TBP_DEFLATE_BLOCK);
    }
    return s;
}

static int gzip_write(struct tbp_sink *base, const void *p, size_t n, struct tbp_error *err) {
    struct tbp_sink_gzip *g = (struct tbp_sink_gzip *)base;
    const uint8_t *at = p;
    while (n > 0 && g->status == TBP_OK) {
        struct slot *s = slot_to_fill(g);
        size_t room = TBP_DEFLATE_BLOCK - s->in_size, part = n < room ? n : room;
        memcpy(s->in + s->in_size, at, part);
        s->in_size += part;
        at += part;
        n -= part;
        if (s->in_size == TBP_DEFLATE_BLOCK) {
            start_helpers(g);
            queue_filled(g, err);
        }
    }
    return g->status;
}

static void put_u32(uint8_t *to, uint32_t v) {
    for (int i = 0; i < 4; ++i)
        to[i] = (uint8_t)(v >> 8 * i);
}

static int gzip_finish(struct tbp_sink *base, struct tbp_error *err) {
    struct tbp_sink_gzip *g = (struct tbp_sink_gzip *)base;
    if (g->slots[g->filling].in_size > 0)
        queue_filled(g, err);
    while (g->oldest != g->filling)
        retire_oldest(g, err);
    uint8_t tail[10] = {3, 0}; /* an empty final block of fixed codes */
    put_u32(tail + 2, g->crc);
    put_u32(tail + 6, (uint32_t)g->size_bytes);
    if (pass_on(g, tail, sizeof tail, err) == TBP_OK)
        g->status = tbp_sink_finish(g->next, err);
    return g->status;
}

int tbp_sink_gzip_new(struct tbp_sink_gzip **out, struct tbp_sink *next, struct tbp_pool *pool,
                      struct tbp_error *err) {
    static const uint8_t header[10] = {0x1f, 0x8b,         8,  0, 0, 0, 0,
                                       0,    4 /* fast */, 255 /* any system */};
    struct tbp_arena memory;
    tbp_arena_init(&memory);
    struct tbp_sink_gzip *g = TBP_NEW(&memory, struct tbp_sink_gzip);
    unsigned threads = tbp_pool_threads(pool);
    g->most_helpers = threads > HELPERS_MAX ? HELPERS_MAX : threads - 1;
    g->base = (struct tbp_sink){gzip_write, gzip_finish};
    g->next = next;
    g->n_slots = 2 * g->most_helpers + 2;
    g->memory = memory;
    g->writer = (struct worker){.g = g, .deflate = tbp_deflate_new(&g->memory)};
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    int status = pass_on(g, header, sizeof header, err);
    if (status)
        tbp_sink_gzip_free(g);
    else
        *out = g;
    return status;
}

struct tbp_sink *tbp_sink_gzip_base(struct tbp_sink_gzip *g) {
    return &g->base;
}

void tbp_sink_gzip_free(struct tbp_sink_gzip *g) {
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->stop = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
    for (unsigned i = 0; i < g->n_helpers; ++i)
        pthread_join(g->helpers[i].thread, NULL);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    struct tbp_arena memory = g->memory;
    tbp_arena_release(&memory);
}
