/* SPDX-License-Identifier: Apache-2.0
 *
 * Snapshots: what is open at the border of two profiles of one session. Open records are kept as
 * they were recorded and put behind the slots of the next recording, so that they are walked like
 * any others.
 */
#include "plugin_data/collect_state.h"

struct carried_thread {
    uint32_t serial;
    int32_t tid, pid;
    struct tbp_str name; /* in the arena of the carry */
    size_t first, n;     /* of records */
};
/* What one profile leaves to the next. */
struct leftover {
    struct tbp_arena arena;
    TBP_VEC(struct carried_thread) threads;
    TBP_VEC(uint32_t) records; /* of threads, then of activities, then METADATA: places in slots */
    TBP_VEC(struct tbp_spool_slot) slots;
    size_t first_activity, first_text;
    struct tbp_rec_memory memory;
    int64_t border_ps;
    uint64_t n_dropped[16];
};
struct tbp_collect_carry {
    struct tbp_arena arena; /* holds this struct */
    struct leftover now, next;
};

static void clear(struct leftover *l) {
    tbp_arena_release(&l->arena);
    tbp_vec_release(&l->threads);
    tbp_vec_release(&l->records);
    tbp_vec_release(&l->slots);
    tbp_rec_memory_release(&l->memory);
    *l = (struct leftover){0};
}

struct tbp_collect_carry *tbp_collect_carry_new(void) {
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    struct tbp_collect_carry *carry = TBP_NEW(&arena, struct tbp_collect_carry);
    carry->arena = arena;
    return carry;
}

void tbp_collect_carry_free(struct tbp_collect_carry *carry) {
    if (!carry)
        return;
    clear(&carry->now);
    clear(&carry->next);
    struct tbp_arena arena = carry->arena;
    tbp_arena_release(&arena);
}

int64_t tbp_collect_carry_border_ps(const struct tbp_collect_carry *carry) {
    return carry->now.border_ps;
}

/* ---- from the snapshot before ---- */

/* Place of the thread among those of the recording; one that recorded nothing since is added. */
static size_t find_thread(struct tbp_recording *s, const struct carried_thread *t) {
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->threads[i].serial == t->serial && s->threads[i].pid == t->pid)
            return i;
    s->threads[s->n_threads] =
        (struct tbp_rec_thread){.serial = t->serial, .tid = t->tid, .pid = t->pid, .name = t->name};
    return s->n_threads++;
}

/* Copies a kept record behind the slots of the recording; returns its slot there. */
static uint32_t revive(struct tbp_recording *s, const struct leftover *l, uint32_t place) {
    const struct tbp_spool_slot *at = &l->slots.at[place];
    uint32_t slot = s->n_file_slots + (uint32_t)s->copies.n;
    for (unsigned i = 0; i <= TBP_SPOOL_EXTRA(at->head); i++)
        *tbp_vec_push(&s->copies) = at[i];
    return slot;
}

void tbp_collect_take_carry(struct tbp_collect *c) {
    struct tbp_recording *s = &c->recording;
    const struct leftover *l = &c->request.carry->now;
    struct tbp_rec_thread *threads =
        TBP_NEW_N(&c->arena, struct tbp_rec_thread, s->n_threads + l->threads.n + 1);
    if (s->n_threads)
        memcpy(threads, s->threads, s->n_threads * sizeof *threads);
    s->threads = threads;
    c->threads = TBP_NEW_N(&c->arena, struct tbp_collect_thread, s->n_threads + l->threads.n + 1);
    for (size_t i = 0; i < l->threads.n; i++) {
        const struct carried_thread *t = &l->threads.at[i];
        struct tbp_collect_thread *to = &c->threads[find_thread(s, t)];
        to->carried = TBP_NEW_N(&c->arena, uint32_t, t->n + 1);
        for (size_t k = 0; k < t->n; k++)
            to->carried[to->n_carried++] = revive(s, l, l->records.at[t->first + k]);
    }
    for (size_t i = l->first_activity; i < l->first_text; i++)
        *tbp_vec_push(&c->activities.carried) = revive(s, l, l->records.at[i]);
    for (size_t i = l->first_text; i < l->records.n; i++)
        *tbp_vec_push(&c->texts) = revive(s, l, l->records.at[i]);
    tbp_rec_memory_copy(&c->memory, &l->memory);
    for (int i = 0; i < 16; i++)
        c->n_dropped[i] -= l->n_dropped[i] < c->n_dropped[i] ? l->n_dropped[i] : c->n_dropped[i];
    clear(&c->request.carry->next);
    c->next = c->request.carry;
}

/* ---- for the snapshot after ---- */

static void keep(struct leftover *l, const struct tbp_recording *s, uint32_t slot) {
    const struct tbp_spool_slot *at = tbp_rec_slot(s, slot);
    *tbp_vec_push(&l->records) = (uint32_t)l->slots.n;
    for (unsigned i = 0; i <= TBP_SPOOL_EXTRA(at->head); i++)
        *tbp_vec_push(&l->slots) = at[i];
}

void tbp_collect_carry_thread(struct tbp_collect *c, size_t thread) {
    const struct tbp_rec_thread *t = &c->recording.threads[thread];
    struct leftover *l = &c->next->next;
    const struct tbp_rec_scope_walk *w = &c->walk;
    if (w->open.n + w->annotations.n == 0)
        return;
    *tbp_vec_push(&l->threads) = (struct carried_thread){.serial = t->serial,
                                                         .tid = t->tid,
                                                         .pid = t->pid,
                                                         .name = tbp_arena_str(&l->arena, t->name),
                                                         .first = l->records.n,
                                                         .n = w->open.n + w->annotations.n};
    /* Scopes and annotations do not cross in a sound program; their order among each other does not
     * matter, since annotations are no events. */
    for (size_t i = 0; i < w->annotations.n; i++)
        keep(l, &c->recording, w->annotations.at[i]);
    for (size_t i = 0; i < w->open.n; i++)
        keep(l, &c->recording, w->open.at[i].begin);
}

/* Metadata hold for all profiles of the session: the last value of each key. */
static void keep_metadata(struct leftover *l, const struct tbp_collect *c) {
    struct tbp_strtab keys = {0};
    for (size_t i = c->texts.n; i-- > 0;) {
        struct tbp_rec r = tbp_rec_at(&c->recording, c->texts.at[i]);
        struct tbp_str key = tbp_rec_name(&c->recording, &r);
        if (r.kind != TBP_REC_METADATA || tbp_strtab_get(&keys, key) != TBP_MAP_NONE)
            continue;
        tbp_strtab_put(&keys, key);
        keep(l, &c->recording, r.slot);
    }
    tbp_strtab_release(&keys);
}

void tbp_collect_carry_rest(struct tbp_collect *c) {
    struct leftover *l = &c->next->next;
    l->first_activity = l->records.n;
    for (size_t i = 0; c->activities.n_open > 0 && i < c->activities.list.n; i++)
        if (c->activities.list.at[i].end == 0)
            keep(l, &c->recording, c->activities.list.at[i].begin);
    l->first_text = l->records.n;
    keep_metadata(l, c);
    tbp_rec_memory_copy(&l->memory, &c->memory);
    l->border_ps = c->emit.end_ps;
    memcpy(l->n_dropped, c->recording.head.n_dropped, sizeof l->n_dropped);
}

void tbp_collect_carry_commit(struct tbp_collect *c) {
    struct leftover *now = &c->next->now;
    clear(now);
    *now = c->next->next;
    c->next->next = (struct leftover){0};
}
