/* SPDX-License-Identifier: Apache-2.0
 *
 * Duty cycle: on each line of ops the pieces of time in which the innermost op is on duty, united
 * over the lines of a chip. The time seen is the hull of all ops and modules of the chip.
 */
#include "convert/analyze/tpu_duty.h"

#include "base/sort.h"
#include "convert/model/stats.h"

struct piece_list {
    TBP_VEC(struct tbp_tpu_span) pieces;
};

struct chip {
    struct piece_list active, sure;
    struct tbp_tpu_span hull; /* 0, 0: nothing seen yet */
};

/* An op on the stack of a line: covered up to at_ps by what came before. */
struct open_op {
    uint64_t begin_ps, end_ps, at_ps;
    bool is_active, is_sure;
};

struct op_stack {
    TBP_VEC(struct open_op) open;
};

/* A span of no length at time 0 counts as nothing. */
static void expand(struct tbp_tpu_span *hull, struct tbp_tpu_span by) {
    if (by.begin_ps == 0 && by.end_ps == 0)
        return;
    bool is_first = hull->begin_ps == 0 && hull->end_ps == 0;
    if (is_first || by.begin_ps < hull->begin_ps)
        hull->begin_ps = by.begin_ps;
    if (is_first || by.end_ps > hull->end_ps)
        hull->end_ps = by.end_ps;
}

/* Pieces of one line come in order: neighbours are united at once. */
static void add_piece(struct piece_list *list, uint64_t begin_ps, uint64_t end_ps) {
    struct tbp_tpu_span *last = list->pieces.n > 0 ? &list->pieces.at[list->pieces.n - 1] : NULL;
    if (last != NULL && last->begin_ps <= begin_ps && begin_ps <= last->end_ps) {
        if (end_ps > last->end_ps)
            last->end_ps = end_ps;
        return;
    }
    *tbp_vec_push(&list->pieces) = (struct tbp_tpu_span){begin_ps, end_ps};
}

static void add_active(struct chip *c, const struct open_op *op, uint64_t end_ps) {
    if (op->at_ps >= end_ps)
        return;
    if (op->is_active)
        add_piece(&c->active, op->at_ps, end_ps);
    if (op->is_sure)
        add_piece(&c->sure, op->at_ps, end_ps);
}

static void push_op(struct chip *c, struct op_stack *s, struct open_op op) {
    while (s->open.n > 0) {
        struct open_op *top = &s->open.at[s->open.n - 1];
        if (top->begin_ps <= op.begin_ps && op.end_ps <= top->end_ps)
            break;
        add_active(c, top, top->end_ps);
        s->open.n--;
    }
    if (s->open.n > 0) {
        struct open_op *parent = &s->open.at[s->open.n - 1];
        add_active(c, parent, op.begin_ps);
        if (op.end_ps > parent->at_ps)
            parent->at_ps = op.end_ps;
    }
    *tbp_vec_push(&s->open) = op;
}

/* Stat of the event, else what its metadata says. */
static uint64_t event_number(const struct tbp_line *l, size_t i, enum tbp_stat_key key,
                             uint64_t otherwise) {
    struct tbp_stat st;
    bool is_told = (l->ev.has[i] & TBP_HAS_STATS) != 0 && tbp_event_stat(l, i, key, &st);
    return is_told ? tbp_stat_iu(&st) : otherwise;
}

static bool is_unknown_work(const struct tbp_line *l, size_t i, const struct tbp_tpu_op *op) {
    return op->is_custom_call && event_number(l, i, TBP_STAT_FLOPS, op->flops) == 0 &&
           event_number(l, i, TBP_STAT_MODEL_FLOPS, op->model_flops) == 0;
}

/* doubts: custom calls of unknown cost are not sure to be work. */
static void add_op_line(struct chip *c, const struct tbp_line *l, const struct tbp_tpu_op *ops,
                        bool doubts) {
    struct op_stack s = {0};
    bool has_facts = l->metas == l->plane->metas;
    for (size_t i = 0; i < l->ev.n; i++) {
        const struct tbp_tpu_op *op = has_facts ? &ops[l->ev.meta[i]] : NULL;
        struct open_op open = {.begin_ps = l->ev.start_ps[i],
                               .end_ps = tbp_event_end(l, i),
                               .at_ps = l->ev.start_ps[i],
                               .is_active = op == NULL || !op->is_off_duty};
        bool is_doubtful = doubts && op != NULL && is_unknown_work(l, i, op);
        open.is_sure = open.is_active && !is_doubtful;
        push_op(c, &s, open);
    }
    while (s.open.n > 0) {
        const struct open_op *top = &s.open.at[--s.open.n];
        add_active(c, top, top->end_ps);
    }
    tbp_vec_release(&s.open);
}

static void add_plane(struct chip *c, const struct tbp_plane *p, const struct tbp_tpu_op *ops) {
    static const char *const names[] = {"XLA Ops", "Sparse Core Ops", "XLA Modules",
                                        "Sparse Core Modules"};
    struct tbp_tpu_span hull = {0, 0};
    for (size_t i = 0; i < p->n_lines; i++) {
        const struct tbp_line *l = &p->lines[i];
        size_t kind = 0;
        while (kind < 4 && !tbp_str_is(l->name, names[kind]))
            kind++;
        if (kind == 4)
            continue;
        for (size_t k = 0; k < l->ev.n; k++)
            expand(&hull, (struct tbp_tpu_span){l->ev.start_ps[k], tbp_event_end(l, k)});
        if (kind < 2)
            add_op_line(c, l, ops, kind == 0);
    }
    expand(&c->hull, hull);
}

static int by_begin(const void *a, const void *b, void *ctx) {
    const struct tbp_tpu_span *x = a, *y = b;
    (void)ctx;
    return x->begin_ps < y->begin_ps ? -1 : x->begin_ps > y->begin_ps;
}

/* Sorts the pieces and makes one of those that overlap. */
static void unite(struct piece_list *list) {
    size_t n = 0;
    tbp_sort(list->pieces.at, list->pieces.n, sizeof *list->pieces.at, by_begin, NULL);
    for (size_t i = 0; i < list->pieces.n; i++) {
        struct tbp_tpu_span s = list->pieces.at[i];
        struct tbp_tpu_span *last = n > 0 ? &list->pieces.at[n - 1] : NULL;
        if (last == NULL || s.begin_ps > last->end_ps)
            list->pieces.at[n++] = s;
        else if (s.end_ps > last->end_ps)
            last->end_ps = s.end_ps;
    }
    list->pieces.n = n;
}

static uint64_t united_ps(struct piece_list *list) {
    uint64_t total_ps = 0;
    unite(list);
    for (size_t i = 0; i < list->pieces.n; i++)
        total_ps += list->pieces.at[i].end_ps - list->pieces.at[i].begin_ps;
    return total_ps;
}

static void close_chip(struct chip *c, struct tbp_tpu_duty *d) {
    uint64_t seen_ps = c->hull.end_ps - c->hull.begin_ps;
    uint64_t busy_ps = united_ps(&c->active), sure_ps = united_ps(&c->sure);
    d->busy_ps += busy_ps;
    d->idle_ps += seen_ps - busy_ps;
    d->sure_busy_ps += sure_ps;
    d->sure_idle_ps += seen_ps - sure_ps;
    tbp_vec_release(&c->active.pieces);
    tbp_vec_release(&c->sure.pieces);
}

/* Number of the plane's chip among `chips`; a plane that does not tell is a chip of its own. */
static uint32_t chip_of(const struct tbp_plane *p, struct tbp_idmap *numbers, uint32_t n_chips) {
    struct tbp_tpu_core core;
    bool is_new;
    if (!tbp_tpu_core_of_plane(p, &core))
        return n_chips;
    uint32_t *number = tbp_idmap_put(numbers, (uint64_t)core.chip, &is_new);
    if (is_new)
        *number = n_chips;
    return *number;
}

struct tbp_tpu_duty tbp_tpu_duty_of_host(const struct tbp_host *h,
                                         const struct tbp_tpu_op *const *ops) {
    struct tbp_tpu_duty duty = {0};
    struct tbp_idmap numbers = {0};
    TBP_VEC(struct chip) chips = {0};
    for (size_t i = 0; i < h->n_planes; i++) {
        if (ops[i] == NULL)
            continue;
        uint32_t number = chip_of(&h->planes[i], &numbers, (uint32_t)chips.n);
        if (number == chips.n)
            *tbp_vec_push(&chips) = (struct chip){0};
        add_plane(&chips.at[number], &h->planes[i], ops[i]);
    }
    for (size_t i = 0; i < chips.n; i++)
        close_chip(&chips.at[i], &duty);
    tbp_vec_release(&chips);
    tbp_idmap_release(&numbers);
    return duty;
}

const struct tbp_tpu_span *tbp_tpu_busy_spans(const struct tbp_plane *p,
                                              const struct tbp_tpu_op *ops, struct tbp_arena *a,
                                              size_t *n) {
    struct chip c = {0};
    add_plane(&c, p, ops);
    unite(&c.active);
    *n = c.active.pieces.n;
    struct tbp_tpu_span *spans = TBP_NEW_N(a, struct tbp_tpu_span, *n);
    if (*n > 0)
        memcpy(spans, c.active.pieces.at, *n * sizeof *spans);
    tbp_vec_release(&c.active.pieces);
    tbp_vec_release(&c.sure.pieces);
    return spans;
}
