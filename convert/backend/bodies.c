/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/backend/bodies.h"

#include "base/arena.h"
#include "base/guard.h"

struct tbp_body {
    struct tbp_body *older;
    struct tbp_arena arena; /* holds this, too */
    struct tbp_str question, bytes;
};

void tbp_bodies_init(struct tbp_bodies *b) {
    *b = (struct tbp_bodies){0};
    pthread_mutex_init(&b->lock, NULL);
}

static void free_from(struct tbp_body *body) {
    for (struct tbp_body *older; body; body = older) {
        struct tbp_arena arena = body->arena;
        older = body->older;
        tbp_arena_release(&arena);
    }
}

void tbp_bodies_release(struct tbp_bodies *b) {
    free_from(b->newest);
    pthread_mutex_destroy(&b->lock);
}

static struct tbp_body *find(const struct tbp_bodies *b, struct tbp_str question) {
    struct tbp_body *body = b->newest;
    while (body && !tbp_str_eq(body->question, question))
        body = body->older;
    return body;
}

bool tbp_bodies_get(struct tbp_bodies *b, struct tbp_str question, struct tbp_sink *out) {
    pthread_mutex_lock(&b->lock);
    const struct tbp_body *body = find(b, question);
    bool is_there = body && tbp_sink_write(out, body->bytes.p, body->bytes.n, NULL) == TBP_OK;
    pthread_mutex_unlock(&b->lock);
    return is_there;
}

/* The oldest go until the rest fits. */
static struct tbp_body *cut(struct tbp_bodies *b) {
    struct tbp_body **at = &b->newest;
    b->size_bytes = 0;
    while (*at && b->size_bytes + (*at)->arena.reserved_bytes <= TBP_BODIES_BYTES) {
        b->size_bytes += (*at)->arena.reserved_bytes;
        at = &(*at)->older;
    }
    struct tbp_body *gone = *at;
    *at = NULL;
    return gone;
}

struct making {
    struct tbp_arena arena;
    struct tbp_str question, bytes;
    struct tbp_body *made;
};

static int make(void *ctx, struct tbp_error *err) {
    struct making *m = ctx;
    (void)err;
    struct tbp_body *body = TBP_NEW(&m->arena, struct tbp_body);
    body->question = tbp_arena_str(&m->arena, m->question);
    body->bytes = tbp_arena_str(&m->arena, m->bytes);
    m->made = body;
    return TBP_OK;
}

void tbp_bodies_put(struct tbp_bodies *b, struct tbp_str question, const void *data, size_t size) {
    struct making m = {.question = question, .bytes = {data, size}};
    tbp_arena_init(&m.arena);
    bool is_made = size < TBP_BODIES_BYTES && tbp_guard_run(make, &m, NULL) == TBP_OK;
    if (!is_made || m.arena.reserved_bytes > TBP_BODIES_BYTES) {
        tbp_arena_release(&m.arena);
        return;
    }
    struct tbp_body *gone = m.made; /* if another thread was faster */
    m.made->arena = m.arena;
    pthread_mutex_lock(&b->lock);
    if (!find(b, question)) {
        m.made->older = b->newest;
        b->newest = m.made;
        gone = cut(b);
    }
    pthread_mutex_unlock(&b->lock);
    free_from(gone);
}

size_t tbp_bodies_size(struct tbp_bodies *b) {
    pthread_mutex_lock(&b->lock);
    size_t size = b->size_bytes;
    pthread_mutex_unlock(&b->lock);
    return size;
}
