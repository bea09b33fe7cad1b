/* SPDX-License-Identifier: Apache-2.0
 *
 * Ops of the host planes with their self times. Each line is replayed as a sequence of begins and
 * ends in order of time; what an event is as an op is worked out once per plane. Lines are jobs of
 * their own, added in file order. Source: spec tables/RULES.md 6 and 17.2; subprocess planes:
 * decisions 3. Budget: 30 ns per event (tests/bench).
 */
#include "convert/analyze/op_table.h"

#include "base/sort.h"
#include "convert/analyze/op_name.h"
#include "convert/model/stats.h"

struct host_op {
    struct tbp_str name, type;
    uint64_t id; /* stage id, else 0 */
};

/* Which events of a plane are ops. Events lead to an op by stage id or metadata id; both kinds of
 * key share one map, and the first registration of a key wins. */
struct plane_ops {
    const struct tbp_plane *plane;
    enum tbp_semantics semantics;
    TBP_VEC(struct host_op) ops;
    struct tbp_idmap by_key;
    uint32_t *of_meta; /* event metadata -> op or TBP_MAP_NONE */
};

static void register_op(struct plane_ops *po, uint64_t key, struct host_op op) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&po->by_key, key, &is_new);
    if (is_new) {
        *at = (uint32_t)po->ops.n;
        *tbp_vec_push(&po->ops) = op;
    }
}

static void register_meta(struct plane_ops *po, const struct tbp_meta *m) {
    if (m->name.n == 0) {
        return;
    }
    struct tbp_op_name parsed = tbp_op_name_parse_for(m->name, po->semantics);
    if (parsed.category != TBP_OP_UNKNOWN) {
        register_op(po, (uint64_t)m->id, (struct host_op){parsed.name, parsed.type, 0});
    }
}

/* An input-pipeline stage: named by its category; without a category stat it registers nothing. */
static void register_stage(struct plane_ops *po, const struct tbp_line *l, size_t i) {
    struct tbp_stat stage, cat;
    struct tbp_str name = tbp_event_name(l, i);
    if (name.n == 0 || !tbp_event_stat(l, i, TBP_STAT_STAGE_ID, &stage) ||
        !tbp_event_stat(l, i, TBP_STAT_STAGE_CAT, &cat)) {
        return;
    }
    uint64_t id = (uint64_t)tbp_stat_i(&stage);
    struct tbp_str type = tbp_stat_s(&cat);
    if (type.n == 0) {
        struct tbp_op_name parsed = tbp_op_name_parse(name);
        name = parsed.name;
        type = parsed.type;
    }
    register_op(po, id, (struct host_op){name, type, id});
}

/* With stages in the plane the order of events decides who owns a key. */
static void register_in_order(struct plane_ops *po, struct tbp_arena *a) {
    const struct tbp_plane *p = po->plane;
    uint8_t *is_seen = TBP_NEW_N(a, uint8_t, p->n_metas);
    for (size_t k = 0; k < p->n_lines; k++) {
        const struct tbp_line *l = &p->lines[k];
        for (size_t i = 0; l->metas == p->metas && i < l->ev.n; i++) {
            uint32_t meta = l->ev.meta[i];
            if (l->ev.has[i] & TBP_HAS_STAGE_ID) {
                register_stage(po, l, i);
            } else if (!is_seen[meta]) {
                is_seen[meta] = 1;
                register_meta(po, &p->metas[meta]);
            }
        }
    }
}

static void plane_ops_init(struct plane_ops *po, const struct tbp_plane *p,
                           enum tbp_semantics semantics, struct tbp_arena *a) {
    *po = (struct plane_ops){.plane = p, .semantics = semantics};
    if (tbp_plane_has_stat(p, TBP_STAT_STAGE_ID)) {
        register_in_order(po, a);
    } else {
        for (size_t m = 0; m < p->n_metas; m++) {
            register_meta(po, &p->metas[m]);
        }
    }
    po->of_meta = TBP_NEW_N(a, uint32_t, p->n_metas);
    for (size_t m = 0; m < p->n_metas; m++) {
        bool is_named = m > 0; /* 0: ids that are not in the file */
        uint64_t key = (uint64_t)p->metas[m].id;
        po->of_meta[m] = is_named ? tbp_idmap_get(&po->by_key, key) : TBP_MAP_NONE;
    }
}

static void plane_ops_release(struct plane_ops *po) {
    tbp_vec_release(&po->ops);
    tbp_idmap_release(&po->by_key);
}

/* ---- one line ---- */
struct line_op { /* an op as this line knows it */
    struct host_op op;
    uint32_t at; /* in the line's table, or TBP_MAP_NONE before its first end */
    bool is_infeed;
};

struct open_op { /* begun and on the stack */
    uint64_t number, begin_ps, children_ps;
};

struct pending_end {
    uint64_t end_ps, number;
    uint32_t op;
    bool is_eager;
};

struct replay {
    const struct plane_ops *po;
    const struct tbp_line *line;
    TBP_VEC(struct line_op) ops;
    uint32_t *of_plane_op;   /* op of the plane -> index in ops, or TBP_MAP_NONE */
    struct tbp_strtab texts; /* tf_op stats */
    TBP_VEC(uint32_t) of_text;
    TBP_VEC(struct open_op) stack;
    TBP_VEC(struct pending_end) ends; /* heap, earliest first */
    struct tbp_op_builder table;
    uint64_t first_ps, last_ps;
    bool has_activity, has_infeed;
    uint64_t infeed_begin_ps, infeed_ps; /* the last one */
};

/* Order of two ends; at one time the op that came first in the file. */
static bool is_earlier(const struct pending_end *x, const struct pending_end *y) {
    return x->end_ps != y->end_ps ? x->end_ps < y->end_ps : x->number < y->number;
}

static void push_end(struct replay *r, struct pending_end e) {
    (void)tbp_vec_push(&r->ends);
    struct pending_end *heap = r->ends.at;
    size_t at = r->ends.n - 1;
    while (at > 0 && is_earlier(&e, &heap[(at - 1) / 2])) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = e;
}

static struct pending_end pop_end(struct replay *r) {
    struct pending_end *heap = r->ends.at;
    struct pending_end first = heap[0], e = heap[--r->ends.n];
    size_t n = r->ends.n, at = 0;
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_earlier(&heap[child + 1], &heap[child]);
        if (!is_earlier(&heap[child], &e)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = e;
    return first;
}

static uint32_t add_line_op(struct replay *r, struct host_op op) {
    *tbp_vec_push(&r->ops) = (struct line_op){
        .op = op, .at = TBP_MAP_NONE, .is_infeed = tbp_op_is_infeed_enqueue(op.type)};
    return (uint32_t)r->ops.n - 1;
}

/* Infeed is measured from the second enqueue of a line on; one of length 0 at time 0 counts as
 * none. */
static void count_infeed(struct replay *r, uint64_t begin_ps, uint64_t dur_ps) {
    if (r->has_infeed && (r->infeed_begin_ps != 0 || r->infeed_ps != 0)) {
        r->table.totals.infeed_duration_ps += r->infeed_ps;
        r->table.totals.infeed_diff_ps += begin_ps - r->infeed_begin_ps;
    }
    r->has_infeed = true;
    r->infeed_begin_ps = begin_ps;
    r->infeed_ps = dur_ps;
}

/* Whatever lies above the op on the stack overlaps it and is lost; an op that was lost that way
 * does not count. */
static void end_op(struct replay *r, const struct pending_end *e) {
    struct open_op o = {.number = UINT64_MAX};
    while (r->stack.n > 0 && o.number != e->number) {
        o = r->stack.at[--r->stack.n];
    }
    if (o.number != e->number) {
        return;
    }
    struct line_op *lo = &r->ops.at[e->op];
    if (lo->at == TBP_MAP_NONE) {
        lo->at = tbp_op_builder_index(&r->table, lo->op.id, lo->op.name);
    }
    struct tbp_op *op = &r->table.ops.at[lo->at];
    uint64_t dur_ps = e->end_ps - o.begin_ps, self_ps = dur_ps - o.children_ps;
    op->category = op->category.n > 0 ? op->category : lo->op.type;
    op->is_eager |= e->is_eager;
    op->occurrences++;
    op->time_ps += dur_ps;
    op->self_ps += self_ps;
    r->table.totals.total_op_ps += self_ps;
    if (r->stack.n > 0) {
        r->stack.at[r->stack.n - 1].children_ps += dur_ps;
    }
    if (lo->is_infeed) {
        count_infeed(r, o.begin_ps, dur_ps);
    }
}

/* Ends before the begin with this time and number. */
static void end_until(struct replay *r, uint64_t time_ps, uint64_t number) {
    struct pending_end limit = {.end_ps = time_ps, .number = number};
    while (r->ends.n > 0 && is_earlier(&r->ends.at[0], &limit)) {
        struct pending_end e = pop_end(r);
        end_op(r, &e);
    }
}

static void see_time(struct replay *r, uint64_t ps) {
    r->first_ps = !r->has_activity || ps < r->first_ps ? ps : r->first_ps;
    r->last_ps = !r->has_activity || ps > r->last_ps ? ps : r->last_ps;
    r->has_activity = true;
}

static uint32_t op_of_event(struct replay *r, size_t i) {
    const struct tbp_line *l = r->line;
    uint32_t op = TBP_MAP_NONE;
    struct tbp_stat stage;
    if ((l->ev.has[i] & TBP_HAS_STAGE_ID) && tbp_event_stat(l, i, TBP_STAT_STAGE_ID, &stage)) {
        op = tbp_idmap_get(&r->po->by_key, (uint64_t)tbp_stat_i(&stage));
    } else if (l->metas == r->po->plane->metas) {
        op = r->po->of_meta[l->ev.meta[i]];
    }
    if (op == TBP_MAP_NONE) {
        return op;
    }
    if (r->of_plane_op[op] == TBP_MAP_NONE) {
        r->of_plane_op[op] = add_line_op(r, r->po->ops.at[op]);
    }
    return r->of_plane_op[op];
}

/* An event that carries a tf_op (of memory or of an API call) counts as that op, too. */
static uint32_t op_of_tf_op(struct replay *r, size_t i) {
    struct tbp_stat s;
    if (!(r->line->ev.has[i] & TBP_HAS_TF_OP) || r->po->semantics == TBP_SEMANTICS_TF ||
        !tbp_event_stat(r->line, i, TBP_STAT_TF_OP, &s) || tbp_stat_s(&s).n == 0) {
        return TBP_MAP_NONE;
    }
    uint32_t text = tbp_strtab_put(&r->texts, s.s);
    if (text == r->of_text.n) {
        struct tbp_op_name parsed = tbp_op_name_parse(s.s);
        *tbp_vec_push(&r->of_text) = add_line_op(r, (struct host_op){parsed.name, parsed.type, 0});
    }
    return r->of_text.at[text];
}

enum { PER_EVENT = 2 }; /* an event is up to two ops: itself and its tf_op */

/* How an event takes part; which: 0 itself, 1 its tf_op. */
static uint32_t op_at(struct replay *r, size_t i, unsigned which) {
    return which == 0 ? op_of_event(r, i) : op_of_tf_op(r, i);
}

static void begin_event(struct replay *r, size_t i) {
    uint64_t begin_ps = r->line->ev.start_ps[i], end_ps = tbp_event_end(r->line, i);
    for (unsigned which = 0; which < PER_EVENT; which++) {
        uint32_t op = op_at(r, i, which);
        if (op == TBP_MAP_NONE) {
            continue;
        }
        struct pending_end e = {.end_ps = end_ps, .number = i * PER_EVENT + which, .op = op};
        e.is_eager = which == 0 && tbp_event_is_eager(r->line, i);
        end_until(r, begin_ps, e.number);
        *tbp_vec_push(&r->stack) = (struct open_op){.number = e.number, .begin_ps = begin_ps};
        see_time(r, begin_ps);
        see_time(r, end_ps);
        if (end_ps >= begin_ps) { /* else its end has been replayed, see push_backward */
            push_end(r, e);
        }
    }
}

/* An event that ends before it begins: its end comes first and finds no begin. */
static void push_backward(struct replay *r, size_t i) {
    for (unsigned which = 0; which < PER_EVENT; which++) {
        uint32_t op = op_at(r, i, which);
        if (op != TBP_MAP_NONE) {
            push_end(r, (struct pending_end){.end_ps = tbp_event_end(r->line, i),
                                             .number = i * PER_EVENT + which,
                                             .op = op});
        }
    }
}

static void begin_in_order(struct replay *r) {
    size_t n = r->line->ev.n;
    TBP_VEC(uint32_t) order = {0};
    tbp_vec_reserve(&order, n);
    for (size_t i = 0; i < n; i++) {
        *tbp_vec_push(&order) = (uint32_t)i;
    }
    tbp_sort_index_u64(order.at, n, r->line->ev.start_ps, NULL);
    for (size_t i = 0; i < n; i++) {
        begin_event(r, order.at[i]);
    }
    tbp_vec_release(&order);
}

static void replay_line(struct replay *r) {
    const struct tbp_events *ev = &r->line->ev;
    bool is_sorted = true;
    for (size_t i = 0; i < ev->n; i++) {
        is_sorted &= i == 0 || ev->start_ps[i - 1] <= ev->start_ps[i];
        if (tbp_event_end(r->line, i) < ev->start_ps[i]) {
            push_backward(r, i);
        }
    }
    if (!is_sorted) {
        begin_in_order(r);
    }
    for (size_t i = 0; is_sorted && i < ev->n; i++) {
        begin_event(r, i);
    }
    while (r->ends.n > 0) {
        struct pending_end e = pop_end(r);
        end_op(r, &e);
    }
}

static int run_line(void *ctx, size_t index, struct tbp_error *err) {
    struct replay *r = (struct replay *)ctx + index;
    (void)err;
    if (!r->line->is_derived) {
        TBP_VEC(uint32_t) of_plane_op = {0};
        for (size_t i = 0; i < r->po->ops.n; i++) {
            *tbp_vec_push(&of_plane_op) = TBP_MAP_NONE;
        }
        r->of_plane_op = of_plane_op.at;
        replay_line(r);
        tbp_vec_release(&of_plane_op);
    }
    tbp_op_builder_close(&r->table, r->last_ps - r->first_ps, r->po->semantics);
    tbp_vec_release(&r->ops);
    tbp_strtab_release(&r->texts);
    tbp_vec_release(&r->of_text);
    tbp_vec_release(&r->stack);
    tbp_vec_release(&r->ends);
    return TBP_OK;
}

static uint64_t line_size(void *ctx, size_t index) {
    return ((const struct replay *)ctx)[index].line->ev.n;
}

/* ---- planes ---- */
static bool is_subprocess_plane(const struct tbp_plane *p) {
    return tbp_str_starts(p->name, TBP_HOST_PLANE " [");
}

/* Lines without events and derived ones add the same nothing, so one of them stands for all. */
static size_t choose_lines(const struct plane_ops *po, const struct tbp_plane *p,
                           struct replay *lines) {
    bool has_silent = false;
    size_t n = 0;
    for (size_t i = 0; i < p->n_lines; i++) {
        bool is_silent = p->lines[i].is_derived || p->lines[i].ev.n == 0;
        if (!is_silent || !has_silent)
            lines[n++] = (struct replay){.po = po, .line = &p->lines[i]};
        has_silent |= is_silent;
    }
    return n;
}

/* Tables of some lines at a time are in memory: there may be a million lines. */
static int add_plane(struct tbp_session *s, const struct tbp_plane *p, struct tbp_op_builder *into,
                     struct tbp_arena *a, struct tbp_error *err) {
    enum { AT_A_TIME = 1024 };
    struct plane_ops po;
    plane_ops_init(&po, p, tbp_session_semantics(s), a);
    struct replay *lines = TBP_NEW_N(a, struct replay, p->n_lines);
    size_t n = choose_lines(&po, p, lines);
    int status = TBP_OK;
    for (size_t from = 0; from < n && !status; from += AT_A_TIME) {
        size_t here = n - from < AT_A_TIME ? n - from : AT_A_TIME;
        status =
            tbp_pool_for_sized(tbp_session_pool(s), here, line_size, run_line, lines + from, err);
        for (size_t i = from; i < from + here; i++) {
            tbp_op_builder_add(into, &lines[i].table);
            tbp_op_builder_release(&lines[i].table);
        }
    }
    plane_ops_release(&po);
    return status;
}

static int add_host(struct tbp_session *s, struct tbp_host *h, struct tbp_op_builder *into,
                    struct tbp_arena *a, struct tbp_error *err) {
    const struct tbp_plane *cpu = tbp_host_plane(h, TBP_HOST_PLANE);
    int status = cpu ? add_plane(s, cpu, into, a, err) : TBP_OK;
    bool is_repaired = tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR;
    for (size_t i = 0; is_repaired && status == TBP_OK && i < h->n_planes; i++) {
        if (is_subprocess_plane(&h->planes[i])) {
            status = add_plane(s, &h->planes[i], into, a, err);
            tbp_ledger_count(&h->ledger, TBP_LEDGER_REPAIR_SUBPROCESS, 1, TBP_NO_OFFSET);
        }
    }
    return status;
}

static int host_ops_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                            void **table, struct tbp_error *err) {
    struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h) {
        return tbp_cause(err, "while summing host ops");
    }
    struct tbp_op_builder b = {0};
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    int status = add_host(s, h, &b, &scratch, err);
    tbp_arena_release(&scratch);
    *table = tbp_op_builder_finish(&b, out);
    return status;
}

const struct tbp_analysis tbp_analysis_host_ops = {
    .name = "host_ops",
    .help = "ops of the host with self times",
    .counts = true,
    .host = host_ops_of_host,
    .all = tbp_host_ops_of_all,
};

const struct tbp_op_table *tbp_host_ops(struct tbp_session *s, uint32_t host,
                                        struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_host_ops, host, err);
}
