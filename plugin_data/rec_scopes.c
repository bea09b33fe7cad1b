/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_scopes.h. Both uses are the same scan over one run; they differ in what is open when it
 * begins: all scopes of the thread so far, or none.
 */
#include "plugin_data/rec_scopes.h"

void tbp_rec_scopes_release(struct tbp_rec_scopes *s) {
    tbp_vec_release(&s->list);
    tbp_vec_release(&s->notes);
}

void tbp_rec_scope_walk_release(struct tbp_rec_scope_walk *x) {
    tbp_rec_scopes_release(&x->crossing);
    tbp_rec_scopes_release(&x->local);
    tbp_vec_release(&x->open);
    tbp_vec_release(&x->annotations);
}

#define UNTRACKED UINT32_MAX /* scope of an open one beyond TBP_REC_MAX_CROSSING */

static struct tbp_rec_scopes *home(struct tbp_rec_scope_walk *x, const struct tbp_rec_open *o) {
    return o->is_crossing ? &x->crossing : &x->local;
}

static void begin_scope(struct tbp_rec_scope_walk *x, uint32_t slot) {
    *tbp_vec_push(&x->local.list) = (struct tbp_rec_scope){0};
    if (x->open.n < TBP_REC_MAX_OPEN)
        *tbp_vec_push(&x->open) = (struct tbp_rec_open){(uint32_t)x->local.list.n - 1, slot, false};
}

static void end_scopes(struct tbp_rec_scope_walk *x, uint32_t slot, uint32_t n) {
    while (n > 0 && x->open.n > 0) {
        struct tbp_rec_open *o = &x->open.at[--x->open.n];
        bool is_inner = --n > 0 && x->open.n > 0;
        if (o->scope == UNTRACKED)
            continue;
        struct tbp_rec_scope *s = &home(x, o)->list.at[o->scope];
        s->end = slot;
        s->flags |= is_inner ? TBP_REC_SCOPE_INNER : 0;
    }
    x->n_without_begin += n;
}

static void cut_scopes(struct tbp_rec_scope_walk *x, uint32_t slot) {
    x->n_cut += x->open.n;
    if (x->open.n > 0)
        end_scopes(x, slot, (uint32_t)x->open.n);
}

/* Ties the record to the scope that is `depth` levels around the innermost. */
static void note(struct tbp_rec_scope_walk *x, uint32_t slot, uint32_t depth, unsigned flag) {
    if (depth >= x->open.n) {
        x->n_notes_lost++;
        return;
    }
    struct tbp_rec_open *o = &x->open.at[x->open.n - 1 - depth];
    if (o->scope == UNTRACKED)
        return;
    struct tbp_rec_scopes *in = home(x, o);
    struct tbp_rec_scope *s = &in->list.at[o->scope];
    if (flag && s->flags & flag)
        return; /* shown as an event of its own */
    if (s->n_notes == TBP_REC_MAX_NOTES) {
        x->n_notes_lost++;
        return;
    }
    s->flags |= (uint8_t)flag;
    *tbp_vec_push(&in->notes) = (struct tbp_rec_note){slot, s->notes};
    s->notes = (uint32_t)in->notes.n;
    s->n_notes++;
}

static void note_annotation(struct tbp_rec_scope_walk *x, const struct tbp_rec *r) {
    if (r->kind == TBP_REC_ANNOTATION && x->annotations.n < TBP_REC_MAX_OPEN)
        *tbp_vec_push(&x->annotations) = r->slot;
    else if (r->kind == TBP_REC_ANNOTATION_END && x->annotations.n > 0)
        x->annotations.n--;
}

static void scan(struct tbp_rec_scope_walk *x, const struct tbp_rec_run *run) {
    struct tbp_rec_walk w = tbp_rec_walk_of(x->recording, run);
    struct tbp_rec r;
    x->local.list.n = x->local.notes.n = 0;
    while (tbp_rec_next(&w, &r)) {
        if (r.kind == TBP_REC_BEGIN)
            begin_scope(x, r.slot);
        else if (r.kind == TBP_REC_END)
            end_scopes(x, r.slot, tbp_rec_ends(&r));
        else if (r.kind == TBP_REC_ARGS)
            note(x, r.slot, r.at->aux & 0xffff, 0);
        else if (r.kind == TBP_REC_FLOW_OUT && x->open.n > 0)
            note(x, r.slot, 0, TBP_REC_SCOPE_HAS_OUT);
        else if (r.kind == TBP_REC_FLOW_IN && x->open.n > 0)
            note(x, r.slot, 0, TBP_REC_SCOPE_HAS_IN);
        else
            note_annotation(x, &r);
        x->last_slot = r.slot;
    }
}

void tbp_rec_scopes_run(struct tbp_rec_scope_walk *x, const struct tbp_rec_run *run) {
    x->open.n = 0;
    scan(x, run);
}

/* Scopes that are still open go over into the thread's list, their notes with them. */
static void move_open(struct tbp_rec_scope_walk *x) {
    size_t first = x->open.n;
    while (first > 0 && !x->open.at[first - 1].is_crossing)
        first--;
    for (size_t i = first; i < x->open.n; i++) {
        struct tbp_rec_open *o = &x->open.at[i];
        if (x->crossing.list.n == TBP_REC_MAX_CROSSING) {
            x->n_untracked++;
            *o = (struct tbp_rec_open){UNTRACKED, o->begin, true};
            continue;
        }
        struct tbp_rec_scope s = x->local.list.at[o->scope], *moved;
        *o = (struct tbp_rec_open){(uint32_t)x->crossing.list.n, o->begin, true};
        moved = tbp_vec_push(&x->crossing.list);
        *moved = (struct tbp_rec_scope){.n_notes = s.n_notes, .flags = s.flags};
        uint32_t slots[TBP_REC_MAX_NOTES], n = 0;
        for (uint32_t k = s.notes; k; k = x->local.notes.at[k - 1].next)
            slots[n++] = x->local.notes.at[k - 1].slot;
        while (n > 0) {
            *tbp_vec_push(&x->crossing.notes) = (struct tbp_rec_note){slots[--n], moved->notes};
            moved->notes = (uint32_t)x->crossing.notes.n;
        }
    }
}

void tbp_rec_scopes_thread(struct tbp_rec_scope_walk *x, const struct tbp_rec_thread *t,
                           const uint32_t *carried, size_t n_carried) {
    x->open.n = x->annotations.n = 0;
    x->crossing = (struct tbp_rec_scopes){0};
    /* What the ring forgot since may have ended them: they do not reach into this profile. */
    x->last_slot = x->ring_forgot && n_carried ? carried[0] : 0;
    for (size_t i = 0; i < n_carried; i++) {
        struct tbp_rec r = tbp_rec_at(x->recording, carried[i]);
        note_annotation(x, &r);
        if (r.kind != TBP_REC_BEGIN)
            continue;
        *tbp_vec_push(&x->open) =
            (struct tbp_rec_open){(uint32_t)x->crossing.list.n, carried[i], true};
        *tbp_vec_push(&x->crossing.list) = (struct tbp_rec_scope){0};
    }
    for (size_t i = 0; i < t->n_runs; i++) {
        if (t->runs[i].after_gap && x->last_slot)
            cut_scopes(x, x->last_slot);
        scan(x, &t->runs[i]);
        move_open(x);
    }
}
