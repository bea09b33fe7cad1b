/* SPDX-License-Identifier: Apache-2.0
 *
 * A binary heap of one cursor per thread.
 */
#include "plugin_data/rec_merge.h"

static bool advance(const struct tbp_rec_merge *m, struct tbp_rec_cursor *c) {
    const struct tbp_rec_thread *t = &m->recording->threads[c->thread];
    for (;;) {
        while (tbp_rec_next(&c->walk, &c->rec)) {
            if (c->rec.kind < TBP_REC_KINDS && m->kinds >> c->rec.kind & 1)
                return true;
        }
        while (c->run < t->n_runs && !(t->runs[c->run].kinds & m->kinds))
            c->run++;
        if (c->run >= t->n_runs)
            return false;
        c->walk = tbp_rec_walk_of(m->recording, &t->runs[c->run++]);
    }
}

static bool before(const struct tbp_rec_cursor *a, const struct tbp_rec_cursor *b) {
    return a->rec.ticks < b->rec.ticks || (a->rec.ticks == b->rec.ticks && a->thread < b->thread);
}

static void sink(struct tbp_rec_merge *m, size_t i) {
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        if (left < m->n && before(&m->heap[left], &m->heap[least]))
            least = left;
        if (left + 1 < m->n && before(&m->heap[left + 1], &m->heap[least]))
            least = left + 1;
        if (least == i)
            return;
        struct tbp_rec_cursor c = m->heap[i];
        m->heap[i] = m->heap[least];
        m->heap[least] = c;
        i = least;
    }
}

void tbp_rec_merge_init(struct tbp_rec_merge *m, const struct tbp_recording *s, uint32_t kinds,
                        struct tbp_arena *arena) {
    *m = (struct tbp_rec_merge){.recording = s, .kinds = kinds};
    m->heap = TBP_NEW_N(arena, struct tbp_rec_cursor, s->n_threads + 1);
    for (size_t i = 0; i < s->n_threads; i++) {
        struct tbp_rec_cursor *c = &m->heap[m->n];
        *c = (struct tbp_rec_cursor){.thread = (uint32_t)i};
        m->n += s->threads[i].kinds & kinds && advance(m, c);
    }
    for (size_t i = m->n / 2; i-- > 0;)
        sink(m, i);
}

bool tbp_rec_merge_next(struct tbp_rec_merge *m, struct tbp_rec *r, uint32_t *thread) {
    if (m->n == 0)
        return false;
    *r = m->heap[0].rec;
    *thread = m->heap[0].thread;
    if (!advance(m, &m->heap[0]))
        m->heap[0] = m->heap[--m->n];
    sink(m, 0);
    return true;
}
