/* SPDX-License-Identifier: Apache-2.0
 *
 * Derived lines of a TPU tensor core: framework name scopes and ops, source code, and rows of host
 * offload transfers paired from their start and done events. Rule 2.7 of the trace views.
 */
#include "convert/analyze/derived_plane.h"

#include <stdio.h>
#include <string.h>

enum { OFFLOAD_ROWS_MAX = TBP_LINE_OFFLOAD_LAST - TBP_LINE_OFFLOAD_FIRST + 1 };

struct op_facts {
    struct tbp_str tf_op, source;
    bool is_async;
};

/* An offload that has started; `next` links those of one name in order of arrival. */
struct started {
    uint64_t begin_ps;
    uint32_t meta, next;
};
struct queue {
    uint32_t head, tail; /* TBP_MAP_NONE: empty */
};

struct row {
    struct tbp_grow line;
    uint64_t end_ps;
};

struct tpu_walk {
    struct tbp_derive_plane *d;
    struct tbp_grow ops, name_scope, source;
    struct op_facts *meta_facts; /* of the metadata stats, by meta index */
    struct tbp_strtab op_texts;  /* text -> framework */
    TBP_VEC(struct tbp_framework_op) framework;
    struct tbp_strtab offload_names; /* name -> queues */
    TBP_VEC(struct queue) queues;
    TBP_VEC(struct started) started;
    struct row *rows;
    size_t n_rows;
};

static void take_stat(const struct tbp_stat *st, struct op_facts *f) {
    if (st->meta->key == TBP_STAT_TF_OP)
        f->tf_op = tbp_stat_s(st);
    else if (st->meta->key == TBP_STAT_SOURCE)
        f->source = tbp_stat_s(st);
    else if (st->meta->key == TBP_STAT_IS_ASYNC)
        f->is_async = tbp_stat_iu(st) != 0;
}

static void read_metas(struct tpu_walk *w) {
    const struct tbp_plane *p = w->d->plane;
    w->meta_facts = TBP_NEW_N(w->d->arena, struct op_facts, p->n_metas);
    for (size_t i = 0; i < p->n_metas; i++) {
        w->meta_facts[i] = (struct op_facts){TBP_STR_NONE, TBP_STR_NONE, false};
        struct tbp_stat_iter it = tbp_stat_iter_meta(p, &p->metas[i]);
        for (struct tbp_stat st; p->metas[i].has_stats && tbp_stat_next(&it, &st);)
            take_stat(&st, &w->meta_facts[i]);
    }
}

/* Group in force, read as signed or unsigned. */
static bool group_of(const struct tbp_line *l, size_t i, int64_t *group) {
    if (!tbp_event_group(l, i, group))
        return false;
    if (l->ev.flags[i] & (TBP_EVENT_GROUPED | TBP_EVENT_INHERITED))
        return true;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_GROUP_ID)
            *group = (int64_t)tbp_stat_iu(&st);
    return true;
}

/* ---- host offload ---- */

static bool is_offload(struct tbp_str name, struct tbp_str display) {
    static const char *const what[] = {"copy-start",
                                       "copy-done",
                                       "dynamic-slice-start",
                                       "dynamic-slice-done",
                                       "dynamic-update-slice-start",
                                       "dynamic-update-slice-done"};
    for (size_t i = 0; tbp_str_has(name, "S(5)") && i < sizeof what / sizeof *what; i++)
        if (tbp_str_has(display, what[i]))
            return true;
    return false;
}

static size_t find_text(struct tbp_str s, const char *part) {
    const char *at = s.n ? memmem(s.p, s.n, part, strlen(part)) : NULL;
    return at ? (size_t)(at - s.p) : s.n;
}

/* "offload-<stem>.<number or 0>" of "<stem>-start.<number>". */
static struct tbp_str offload_name(struct tbp_arena *a, struct tbp_str display) {
    size_t cut = find_text(display, "-start");
    if (cut == display.n)
        cut = find_text(display, "-done");
    size_t dot = tbp_str_rfind(display, '.');
    struct tbp_str number =
        dot < display.n ? tbp_str_sub(display, dot + 1, display.n) : TBP_STR("0");
    struct tbp_str stem = tbp_arena_cat(a, TBP_STR("offload-"), tbp_str_sub(display, 0, cut));
    return tbp_arena_cat(a, tbp_arena_cat(a, stem, TBP_STR(".")), number);
}

/* The row whose last transfer ended latest, but not after begin; else a new one. */
static struct row *row_for(struct tpu_walk *w, uint64_t begin_ps, uint64_t end_ps) {
    struct row *best = NULL;
    uint64_t frontier = begin_ps;
    for (size_t i = 0; i < w->n_rows; i++)
        if (w->rows[i].end_ps <= frontier) {
            best = &w->rows[i];
            frontier = best->end_ps;
        }
    if (best)
        return best;
    if (w->n_rows < OFFLOAD_ROWS_MAX) {
        struct row *r = &w->rows[w->n_rows];
        char *name = tbp_arena_printf(w->d->arena, "Host Offload Ops row %zu", w->n_rows);
        tbp_grow_init(&r->line, false, tbp_line_id(TBP_LINE_OFFLOAD_FIRST + (int)w->n_rows),
                      tbp_str_c(name));
        r->end_ps = end_ps;
        w->n_rows++;
    }
    return &w->rows[w->n_rows - 1];
}

static void copy_stat(struct tbp_grow *g, struct tbp_grow_event *e, const struct tbp_plane *p,
                      uint32_t meta, enum tbp_stat_key key) {
    struct tbp_stat st;
    if (!tbp_meta_stat(p, &p->metas[meta], key, &st))
        return;
    if (key == TBP_STAT_RAW_BYTES_ACCESSED)
        tbp_grow_stat(g, e,
                      (struct tbp_made_stat){
                          TBP_MADE_RAW_BYTES_ACCESSED, TBP_STAT_INT64, {.i = tbp_stat_i(&st)}});
    else
        tbp_grow_stat(g, e,
                      (struct tbp_made_stat){
                          TBP_MADE_SHAPE_WITH_LAYOUT, TBP_STAT_STR, {.s = tbp_stat_s(&st)}});
}

static void place(struct tpu_walk *w, struct tbp_str name, uint32_t first, uint32_t done,
                  uint64_t begin_ps, uint64_t end_ps) {
    struct row *r = row_for(w, begin_ps, end_ps);
    if (end_ps > r->end_ps)
        r->end_ps = end_ps;
    struct tbp_grow_span s = {.begin_ps = begin_ps, .end_ps = end_ps};
    tbp_grow_add(&r->line, tbp_made_metas_new(&w->d->metas, name), &s, (struct tbp_grow_scope){0},
                 0);
    struct tbp_grow_event *e = tbp_grow_last(&r->line, 0);
    tbp_grow_stat(&r->line, e, (struct tbp_made_stat){TBP_MADE_ASYNC, TBP_STAT_INT64, {.i = 1}});
    copy_stat(&r->line, e, w->d->plane, done, TBP_STAT_RAW_BYTES_ACCESSED);
    copy_stat(&r->line, e, w->d->plane, first, TBP_STAT_SHAPE_WITH_LAYOUT);
}

static void take_offload(struct tpu_walk *w, uint32_t meta, struct tbp_str display,
                         const struct tbp_grow_span *s) {
    struct tbp_str name = offload_name(w->d->arena, display);
    uint32_t q = tbp_strtab_put(&w->offload_names, name);
    if (q == w->queues.n)
        *tbp_vec_push(&w->queues) = (struct queue){TBP_MAP_NONE, TBP_MAP_NONE};
    struct queue *queue = &w->queues.at[q];
    if (tbp_str_has(display, "-start")) {
        uint32_t at = (uint32_t)w->started.n;
        *tbp_vec_push(&w->started) = (struct started){s->begin_ps, meta, TBP_MAP_NONE};
        if (queue->head == TBP_MAP_NONE)
            queue->head = at;
        else
            w->started.at[queue->tail].next = at;
        queue->tail = at;
    } else if (tbp_str_has(display, "-done") && queue->head != TBP_MAP_NONE) {
        struct started first = w->started.at[queue->head];
        queue->head = first.next;
        uint64_t end_ps = s->end_ps > first.begin_ps ? s->end_ps : first.begin_ps;
        place(w, name, first.meta, meta, first.begin_ps, end_ps);
    }
}

/* ---- the walk ---- */

static void add_op(struct tpu_walk *w, struct tbp_str text, const struct tbp_grow_span *s) {
    uint32_t i = tbp_strtab_put(&w->op_texts, text);
    if (i == w->framework.n) {
        struct tbp_framework_op op = tbp_framework_op_of(w->d, text);
        *tbp_vec_push(&w->framework) = op;
    }
    tbp_framework_op_add(&w->framework.at[i], s, &w->name_scope, &w->ops);
}

static void add_event(struct tpu_walk *w, const struct tbp_derive_event *e) {
    const struct tbp_line *l = &w->d->plane->lines[e->line];
    const uint32_t meta = l->ev.meta[e->event];
    struct op_facts f = w->meta_facts[meta];
    struct tbp_stat_iter it = tbp_stat_iter_event(l, e->event);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        take_stat(&st, &f);
    if (f.is_async)
        return;
    struct tbp_grow_span s = {.begin_ps = e->begin_ps, .end_ps = e->begin_ps + e->dur_ps};
    s.has_group = group_of(l, e->event, &s.group);
    if (f.tf_op.n)
        add_op(w, f.tf_op, &s);
    if (f.source.n)
        tbp_grow_add(&w->source, tbp_made_metas_ensure(&w->d->metas, f.source, TBP_STR_NONE), &s,
                     (struct tbp_grow_scope){0}, 0);
    if (is_offload(l->metas[meta].name, l->metas[meta].display))
        take_offload(w, meta, l->metas[meta].display, &s);
}

static void walk_events(struct tpu_walk *w) {
    const struct tbp_plane *p = w->d->plane;
    TBP_VEC(struct tbp_derive_event) events = {0};
    for (size_t k = 0; k < p->n_lines; k++)
        for (size_t i = 0; i < p->lines[k].ev.n; i++)
            *tbp_vec_push(&events) = (struct tbp_derive_event){
                p->lines[k].ev.start_ps[i], p->lines[k].ev.dur_ps[i], (uint32_t)k, (uint32_t)i};
    tbp_derive_sort(events.at, events.n);
    for (size_t i = 0; i < events.n; i++)
        add_event(w, &events.at[i]);
    tbp_vec_release(&events);
}

void tbp_derive_tpu(struct tbp_derive_plane *d) {
    struct tpu_walk *w = TBP_NEW(d->arena, struct tpu_walk);
    w->d = d;
    w->rows = TBP_NEW_N(d->arena, struct row, OFFLOAD_ROWS_MAX);
    tbp_grow_init(&w->ops, false, tbp_line_id(TBP_LINE_FRAMEWORK_OPS), TBP_STR("Framework Ops"));
    tbp_grow_init(&w->name_scope, false, tbp_line_id(TBP_LINE_NAME_SCOPE),
                  TBP_STR("Framework Name Scope"));
    tbp_grow_init(&w->source, false, tbp_line_id(TBP_LINE_SOURCE), TBP_STR("Source code"));
    w->name_scope.below[0] = &w->ops;
    read_metas(w);
    walk_events(w);
    tbp_grow_reset(&w->name_scope, 0);
    tbp_derive_plane_take(d, &w->ops, 0);
    tbp_derive_plane_take(d, &w->name_scope, 0);
    tbp_derive_plane_take(d, &w->source, 0);
    for (size_t i = 0; i < w->n_rows; i++)
        tbp_derive_plane_take(d, &w->rows[i].line, 0);
    d->out->drops_empty_lines = true;
    tbp_strtab_release(&w->op_texts);
    tbp_strtab_release(&w->offload_names);
    tbp_vec_release(&w->framework);
    tbp_vec_release(&w->queues);
    tbp_vec_release(&w->started);
}
