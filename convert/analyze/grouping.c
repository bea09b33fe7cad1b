/* SPDX-License-Identifier: Apache-2.0
 *
 * Grouping of one host: collect what events are, link them, walk from every root; see grouping.h.
 * The lines that are derived or rewritten afterwards stand in group_regions.c, group_gpu.c and
 * group_tpu.c.
 */
#include "convert/analyze/grouping.h"

#include "base/sort.h"
#include "convert/analyze/event_links.h"
#include "convert/analyze/forest.h"
#include "convert/analyze/group_lines.h"
#include "convert/analyze/op_name.h"

enum { CROWD = 64 }; /* contexts with so many producers and consumers are not linked */

struct root {
    uint32_t node;
    int64_t level;
    uint64_t start_ps;
};

struct context_end {
    uint32_t bucket, node;
    bool is_producer;
};

struct grouping {
    struct tbp_host *host;
    const struct tbp_grouping_options *options;
    struct tbp_forest forest;
    uint8_t **kinds; /* per plane: enum tbp_event_kind by metadata index */
    TBP_VEC(uint32_t)
    executors, get_next, get_next_optional, launches, executes, captured, eager, tf_ops;
    TBP_VEC(struct root) roots;
    TBP_VEC(struct context_end) ends;
    struct tbp_idmap buckets;
    struct tbp_idmap root_levels; /* node -> number in roots, for ancestors */
    TBP_VEC(struct tbp_group_link) relations;
    TBP_VEC(uint32_t) stack;
    TBP_VEC(struct tbp_group) groups;
    struct tbp_idmap tf_data_ids;
    TBP_VEC(struct tbp_core_roots) cores;
};

/* ---- what events are ---- */
static uint8_t *kinds_of(struct tbp_arena *a, const struct tbp_plane *p) {
    uint8_t *kinds = TBP_NEW_N(a, uint8_t, p->n_metas);
    for (size_t i = 0; i < p->n_metas; i++)
        kinds[i] = (uint8_t)tbp_op_event_kind(&p->metas[i]);
    return kinds;
}

static void note_kind(struct grouping *g, enum tbp_event_kind kind, uint32_t node) {
    switch (kind) {
    case TBP_EVENT_EXECUTOR_PROCESS:
        *tbp_vec_push(&g->executors) = node;
        break;
    case TBP_EVENT_GET_NEXT:
        *tbp_vec_push(&g->get_next) = node;
        break;
    case TBP_EVENT_GET_NEXT_OPTIONAL:
        *tbp_vec_push(&g->get_next_optional) = node;
        break;
    case TBP_EVENT_KERNEL_LAUNCH:
        *tbp_vec_push(&g->launches) = node;
        break;
    case TBP_EVENT_KERNEL_EXECUTE:
        *tbp_vec_push(&g->executes) = node;
        break;
    case TBP_EVENT_EAGER_EXECUTE:
        *tbp_vec_push(&g->eager) = node;
        break;
    case TBP_EVENT_TF_OP_RUN:
        *tbp_vec_push(&g->tf_ops) = node;
        break;
    case TBP_EVENT_CAPTURED_RUN:
    case TBP_EVENT_CAPTURED_RUN_BORROWED:
    case TBP_EVENT_CAPTURED_RUN_INSTANTIATED:
    case TBP_EVENT_CAPTURED_RUN_ASYNC:
        *tbp_vec_push(&g->captured) = node;
        break;
    default:
        break;
    }
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 33);
}

static void note_context(struct grouping *g, int64_t type, uint64_t id,
                         const struct tbp_links *links, bool is_producer, uint32_t node) {
    uint64_t key = mix(mix(mix(1, (uint64_t)type), id), links->has_pid ? (uint64_t)links->pid : 0);
    bool is_new;
    uint32_t *bucket = tbp_idmap_put(&g->buckets, mix(key, links->has_pid), &is_new);
    if (is_new)
        *bucket = (uint32_t)g->buckets.n - 1;
    *tbp_vec_push(&g->ends) = (struct context_end){*bucket, node, is_producer};
}

static void note_contexts(struct grouping *g, const struct tbp_links *links, uint32_t node) {
    if (links->has_producer)
        note_context(g, links->producer_type, links->producer_id, links, true, node);
    if (links->has_consumer)
        note_context(g, links->consumer_type, links->consumer_id, links, false, node);
}

static void note_root(struct grouping *g, const struct tbp_line *l, size_t i, uint32_t node,
                      int64_t level) {
    *tbp_idmap_put(&g->root_levels, node, NULL) = (uint32_t)g->roots.n;
    *tbp_vec_push(&g->roots) = (struct root){node, level, l->ev.start_ps[i]};
}

/* Facts of one plane which all its events share. */
struct plane_facts {
    const uint8_t *kinds;
    struct tbp_link_rules rules;
    bool is_host_cpu, has_pid;
    int64_t pid;
};

static struct plane_facts facts_of(struct grouping *g, const struct tbp_plane *p) {
    struct plane_facts f = {.kinds = g->kinds[p->index], .rules = tbp_link_rules_of(p, false)};
    f.is_host_cpu = tbp_str_is(p->name, TBP_HOST_PLANE);
    struct tbp_stat st;
    f.has_pid = tbp_plane_stat(p, TBP_STAT_PROCESS_ID, &st);
    f.pid = f.has_pid ? tbp_stat_i(&st) : 0;
    return f;
}

static enum tbp_event_kind kind_at(const struct plane_facts *f, const struct tbp_line *l,
                                   size_t i) {
    enum tbp_event_kind kind = (enum tbp_event_kind)f->kinds[l->ev.meta[i]];
    if (kind == TBP_EVENT_OTHER && l->ev.has[i] & TBP_HAS_CORRELATION)
        return f->is_host_cpu ? TBP_EVENT_KERNEL_LAUNCH : TBP_EVENT_KERNEL_EXECUTE;
    return kind;
}

/* Links of an event that may have some; false if it cannot. */
static bool links_at(const struct plane_facts *f, const struct tbp_line *l, size_t i,
                     struct tbp_links *links) {
    bool rewritten = l->metas[l->ev.meta[i]].kind != TBP_EVENT_OTHER || f->rules.is_tensor_core;
    if (!rewritten && !(l->ev.has[i] & (TBP_HAS_LINK | TBP_HAS_ROOT | TBP_HAS_ASYNC)))
        return false;
    tbp_event_links(l, i, &f->rules, links);
    if (!links->has_pid) {
        links->has_pid = f->has_pid;
        links->pid = f->pid;
    }
    return true;
}

/* Repair R1: step_num without _r makes a root. */
static bool is_repaired_root(const struct grouping *g, const struct tbp_line *l, size_t i) {
    return g->options->roots_from_step_num &&
           (l->ev.has[i] & (TBP_HAS_STEP_NUM | TBP_HAS_ROOT)) == TBP_HAS_STEP_NUM;
}

static void collect_line(struct grouping *g, const struct plane_facts *f, size_t k) {
    const struct tbp_line *l = g->forest.lines[k].line;
    uint8_t *is_async = NULL;
    for (size_t i = 0; i < l->ev.n; i++) {
        uint32_t node = g->forest.lines[k].first + (uint32_t)i;
        enum tbp_event_kind kind = kind_at(f, l, i);
        note_kind(g, kind, node);
        struct tbp_links links = {0};
        bool has_links = links_at(f, l, i, &links);
        if (has_links)
            note_contexts(g, &links, node);
        bool by_name = !g->host->has_given_steps; /* roots by name and by loops count, too */
        if (links.has_root && (by_name || l->ev.has[i] & TBP_HAS_ROOT)) {
            note_root(g, l, i, node, links.root_level);
        } else if (kind == TBP_EVENT_TRACE_CONTEXT && by_name) {
            note_root(g, l, i, node, 1);
        } else if (is_repaired_root(g, l, i)) {
            note_root(g, l, i, node, 1);
            tbp_ledger_count(&g->host->ledger, TBP_LEDGER_REPAIR_STEP_NUM, 1, TBP_NO_OFFSET);
        }
        if (links.is_async && !is_async)
            is_async = TBP_NEW_N(&g->forest.arena, uint8_t, l->ev.n);
        if (links.is_async)
            is_async[i] = 1;
    }
    tbp_forest_nest(&g->forest, k, is_async);
}

/* TPU planes: only the grouping line makes nodes; other lines' contexts belong to the step that
 * includes them. */
static void collect_tpu_plane(struct grouping *g, const struct plane_facts *f,
                              const struct tbp_plane *p, size_t first) {
    int64_t ordinal;
    bool tensor_core = tbp_is_tensor_core_plane(p->name, &ordinal);
    const struct tbp_line *top = tbp_tpu_grouping_line(p);
    if (!top || (!tensor_core && !tbp_is_sparse_core_plane(p->name, &ordinal)))
        return;
    size_t top_k = first + (size_t)(top - p->lines);
    uint32_t top_node = g->forest.lines[top_k].first;
    struct tbp_links links;
    for (size_t i = 0; i < top->ev.n; i++) {
        note_kind(g, kind_at(f, top, i), top_node + (uint32_t)i);
        if (links_at(f, top, i, &links))
            note_contexts(g, &links, top_node + (uint32_t)i);
    }
    for (size_t n = 0; n < p->n_lines; n++) {
        const struct tbp_line *l = &p->lines[n];
        size_t step = 0;
        for (size_t i = 0; l != top && i < l->ev.n; i++) {
            while (step < top->ev.n && tbp_event_end(top, step) <= l->ev.start_ps[i])
                step++;
            if (step == top->ev.n)
                break;
            bool inside = top->ev.start_ps[step] <= l->ev.start_ps[i] &&
                          tbp_event_end(l, i) <= tbp_event_end(top, step);
            if (inside && links_at(f, l, i, &links))
                note_contexts(g, &links, top_node + (uint32_t)step);
        }
    }
    if (tensor_core)
        *tbp_vec_push(&g->cores) = (struct tbp_core_roots){top_node, (uint32_t)top->ev.n};
}

static void collect(struct grouping *g) {
    size_t k = 0;
    for (size_t p = 0; p < g->host->n_planes; p++) {
        const struct tbp_plane *plane = &g->host->planes[p];
        struct plane_facts f = facts_of(g, plane);
        if (tbp_is_tpu_plane(plane->name))
            collect_tpu_plane(g, &f, plane, k);
        else
            for (size_t l = 0; l < plane->n_lines; l++)
                collect_line(g, &f, k + l);
        k += plane->n_lines;
    }
}

/* ---- links ---- */
static bool stat_at(struct grouping *g, uint32_t node, enum tbp_stat_key key, struct tbp_stat *st) {
    size_t i;
    const struct tbp_line *l = tbp_forest_event(&g->forest, node, &i);
    uint32_t bit = tbp_has_of_stat(key);
    return (!bit || l->ev.has[i] & bit) && tbp_event_stat(l, i, key, st);
}

static bool link_key(struct grouping *g, uint32_t node, const enum tbp_stat_key *keys, size_t n,
                     uint64_t *key) {
    *key = 0;
    for (size_t k = 0; k < n; k++) {
        struct tbp_stat st;
        if (!stat_at(g, node, keys[k], &st))
            return false;
        *key = n == 1 ? tbp_stat_iu(&st) : mix(*key, tbp_stat_iu(&st));
    }
    return true;
}

/* Links each child to the last parent with the same key. */
static void link_by_stats(struct grouping *g, const uint32_t *parents, size_t n_parents,
                          const uint32_t *children, size_t n_children,
                          const enum tbp_stat_key *keys, size_t n_keys) {
    struct tbp_idmap by_key = {0};
    uint64_t key;
    if (!n_children)
        return;
    tbp_idmap_reserve(&by_key, n_parents);
    for (size_t i = 0; i < n_parents; i++)
        if (link_key(g, parents[i], keys, n_keys, &key))
            *tbp_idmap_put(&by_key, key, NULL) = parents[i];
    for (size_t i = 0; i < n_children && by_key.n; i++) {
        uint32_t parent = link_key(g, children[i], keys, n_keys, &key) ? tbp_idmap_get(&by_key, key)
                                                                       : TBP_MAP_NONE;
        if (parent != TBP_MAP_NONE)
            tbp_forest_link(&g->forest, parent, children[i]);
    }
    tbp_idmap_release(&by_key);
}

static int by_bucket(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct context_end *x = a, *y = b;
    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return y->is_producer - x->is_producer; /* producers first */
}

/* All producers to all consumers of one context, unless both are crowds. */
static void link_bucket(struct grouping *g, const struct context_end *ends, size_t n) {
    size_t producers = 0;
    while (producers < n && ends[producers].is_producer)
        producers++;
    if (producers >= CROWD && n - producers >= CROWD)
        return;
    for (size_t p = 0; p < producers; p++)
        for (size_t c = producers; c < n; c++)
            tbp_forest_link(&g->forest, ends[p].node, ends[c].node);
}

static void link_contexts(struct grouping *g) {
    tbp_sort(g->ends.at, g->ends.n, sizeof *g->ends.at, by_bucket, NULL);
    for (size_t from = 0, to; from < g->ends.n; from = to) {
        for (to = from + 1; to < g->ends.n && g->ends.at[to].bucket == g->ends.at[from].bucket;)
            to++;
        link_bucket(g, g->ends.at + from, to - from);
    }
}

static void link_all(struct grouping *g) {
    static const enum tbp_stat_key iteration[] = {TBP_STAT_ID, TBP_STAT_ITER_NUM};
    static const enum tbp_stat_key correlation[] = {TBP_STAT_CORRELATION_ID};
    link_by_stats(g, g->executors.at, g->executors.n, g->get_next.at, g->get_next.n, iteration, 2);
    link_by_stats(g, g->executors.at, g->executors.n, g->get_next_optional.at,
                  g->get_next_optional.n, iteration, 2);
    link_by_stats(g, g->launches.at, g->launches.n, g->executes.at, g->executes.n, correlation, 1);
    link_contexts(g);
}

/* ---- groups ---- */
struct level_question {
    struct grouping *g;
    int64_t level;
};

static bool has_ancestor_of_level(void *ctx, uint32_t node) {
    const struct level_question *q = ctx;
    uint32_t root = tbp_idmap_get(&q->g->root_levels, node);
    return root != TBP_MAP_NONE && q->g->roots.at[root].level == q->level;
}

static bool is_grouped(struct grouping *g, uint32_t node) {
    size_t i;
    const struct tbp_line *l = tbp_forest_event(&g->forest, node, &i);
    return l->ev.flags[i] & TBP_EVENT_GROUPED;
}

static bool needs_grouping(struct grouping *g, uint32_t node, int64_t level) {
    struct level_question q = {g, level};
    return !is_grouped(g, node) &&
           tbp_forest_up(&g->forest, node, false, has_ancestor_of_level, &q) == TBP_NO_NODE;
}

static void push_children(struct grouping *g, uint32_t node) {
    const struct tbp_forest *f = &g->forest;
    for (uint32_t e = f->child_from[node]; e < f->child_from[node + 1]; e++)
        *tbp_vec_push(&g->stack) = f->child_edges[e];
    for (uint32_t c = node + 1; c < f->subtree_end[node]; c = f->subtree_end[c])
        if (f->parent[c] == node) /* others are async: not nested */
            *tbp_vec_push(&g->stack) = c;
}

/* Gives the group to everything that can be reached from the root over events without a group. */
static void spread_group(struct grouping *g, uint32_t root, int32_t group) {
    g->stack.n = 0;
    *tbp_vec_push(&g->stack) = root;
    while (g->stack.n) {
        uint32_t node = g->stack.at[--g->stack.n];
        size_t i;
        struct tbp_line *l = tbp_forest_event(&g->forest, node, &i);
        if (l->ev.flags[i] & TBP_EVENT_GROUPED) {
            if (l->ev.group[i] != group)
                *tbp_vec_push(&g->relations) = (struct tbp_group_link){group, l->ev.group[i]};
            continue;
        }
        l->ev.group[i] = group;
        l->ev.has[i] |= TBP_HAS_GROUP;
        l->ev.flags[i] |= TBP_EVENT_GROUPED;
        push_children(g, node);
    }
}

struct stat_question {
    struct grouping *g;
    enum tbp_stat_key key;
    struct tbp_stat st;
};

static bool has_stat(void *ctx, uint32_t node) {
    struct stat_question *q = ctx;
    return stat_at(q->g, node, q->key, &q->st);
}

static bool nearest_stat(struct grouping *g, uint32_t node, enum tbp_stat_key key,
                         struct tbp_stat *st) {
    struct stat_question q = {.g = g, .key = key};
    bool found = tbp_forest_up(&g->forest, node, true, has_stat, &q) != TBP_NO_NODE;
    *st = q.st;
    return found;
}

static bool is_implicit(struct grouping *g, uint32_t node) {
    size_t i;
    const struct tbp_line *l = tbp_forest_event(&g->forest, node, &i);
    switch (g->kinds[l->plane->index][l->ev.meta[i]]) {
    case TBP_EVENT_FUNCTION_RUN:
    case TBP_EVENT_SESSION_RUN:
    case TBP_EVENT_RUN_GRAPH:
    case TBP_EVENT_EXECUTOR_PROCESS:
        return true;
    default:
        return tbp_is_tpu_step_line(l->name);
    }
}

static int64_t step_number(struct grouping *g, const struct tbp_stat *st) {
    if (st->type == TBP_STAT_UINT64 && g->options->unsigned_step_num) {
        tbp_ledger_count(&g->host->ledger, TBP_LEDGER_REPAIR_UNSIGNED, 1, TBP_NO_OFFSET);
        g->host->n_unsigned_steps++;
        return (int64_t)st->u;
    }
    return tbp_stat_i(st);
}

static struct tbp_str group_name(struct grouping *g, uint32_t root, int32_t group) {
    struct tbp_arena *a = &g->host->arena;
    size_t i;
    const struct tbp_line *l = tbp_forest_event(&g->forest, root, &i);
    struct tbp_stat st;
    struct tbp_str prefix = TBP_STR_NONE;
    if (nearest_stat(g, root, TBP_STAT_GRAPH_TYPE, &st))
        prefix = tbp_arena_cat(a, tbp_stat_s(&st), TBP_STR(" "));
    else if (!is_implicit(g, root))
        prefix = tbp_arena_cat(a, tbp_event_name(l, i), TBP_STR(" "));
    int64_t number = group;
    if (nearest_stat(g, root, TBP_STAT_ITER_NUM, &st))
        number = tbp_stat_i(&st);
    else if (nearest_stat(g, root, TBP_STAT_STEP_NUM, &st))
        number = step_number(g, &st);
    return tbp_arena_cat(a, prefix, tbp_str_c(tbp_arena_printf(a, "%lld", (long long)number)));
}

static void process_root(struct grouping *g, uint32_t root, int32_t group) {
    spread_group(g, root, group);
    struct tbp_str name = group_name(g, root, group);
    size_t i;
    struct tbp_line *l = tbp_forest_event(&g->forest, root, &i);
    if (!is_implicit(g, root))
        l->ev.flags[i] |= TBP_EVENT_STEP_NAMED;
    while (g->groups.n <= (size_t)group) {
        struct tbp_group *at = tbp_vec_push(&g->groups);
        *at = (struct tbp_group){(int64_t)g->groups.n - 1, TBP_STR_NONE};
    }
    g->groups.at[group].name = name;
}

/* ---- which roots: iterations of TensorFlow loops, else events marked as roots ---- */
struct iteration {
    int64_t id, number;
    uint64_t start_ps;
    uint32_t first;
    bool is_loop;
};

static int by_signed_start(const void *a, const void *b, void *ctx) {
    (void)ctx;
    int64_t x = (int64_t)((const struct iteration *)a)->start_ps,
            y = (int64_t)((const struct iteration *)b)->start_ps;
    return (x > y) - (x < y);
}

static void note_tf_data_ids(struct grouping *g) {
    struct tbp_stat st;
    for (size_t i = 0; i < g->captured.n; i++)
        if (stat_at(g, g->captured.at[i], TBP_STAT_ID, &st))
            *tbp_idmap_put(&g->tf_data_ids, (uint64_t)tbp_stat_i(&st), NULL) = 1;
}

static bool is_tf_data_id(struct grouping *g, uint32_t node) {
    struct tbp_stat st;
    if (!g->tf_data_ids.n || !stat_at(g, node, TBP_STAT_ID, &st))
        return false;
    return tbp_idmap_get(&g->tf_data_ids, (uint64_t)tbp_stat_i(&st)) != TBP_MAP_NONE;
}

struct iterations {
    TBP_VEC(struct iteration) list;
    struct tbp_idmap by_key;       /* (id, number) -> list */
    TBP_VEC(uint32_t) of_executor; /* list number per executor, TBP_MAP_NONE: none */
    struct tbp_idmap loops;        /* id -> 1 if it has an iteration other than 0 */
};

static void add_iteration(struct grouping *g, struct iterations *it, uint32_t node) {
    struct tbp_stat id, number;
    *tbp_vec_push(&it->of_executor) = TBP_MAP_NONE;
    if (!stat_at(g, node, TBP_STAT_ID, &id) || !stat_at(g, node, TBP_STAT_ITER_NUM, &number) ||
        is_tf_data_id(g, node))
        return;
    size_t i;
    const struct tbp_line *l = tbp_forest_event(&g->forest, node, &i);
    struct iteration one = {tbp_stat_i(&id), tbp_stat_i(&number), l->ev.start_ps[i], node, false};
    bool is_new;
    uint32_t *slot =
        tbp_idmap_put(&it->by_key, mix(mix(7, (uint64_t)one.id), (uint64_t)one.number), &is_new);
    if (is_new) {
        *slot = (uint32_t)it->list.n;
        *tbp_vec_push(&it->list) = one;
    } else if ((int64_t)one.start_ps < (int64_t)it->list.at[*slot].start_ps) {
        it->list.at[*slot] = one;
    }
    it->of_executor.at[it->of_executor.n - 1] = *slot;
    if (one.number != 0)
        *tbp_idmap_put(&it->loops, (uint64_t)one.id, NULL) = 1;
}

/* Links every executor of an iteration to the first; keeps the iterations of real loops, by begin.
 */
static void close_iterations(struct grouping *g, struct iterations *it) {
    for (size_t i = 0; i < it->list.n; i++)
        it->list.at[i].is_loop =
            tbp_idmap_get(&it->loops, (uint64_t)it->list.at[i].id) != TBP_MAP_NONE;
    for (size_t e = 0; e < it->of_executor.n; e++) {
        const struct iteration *one =
            it->of_executor.at[e] == TBP_MAP_NONE ? NULL : &it->list.at[it->of_executor.at[e]];
        if (one && one->is_loop && one->first != g->executors.at[e])
            tbp_forest_link(&g->forest, one->first, g->executors.at[e]);
    }
    size_t kept = 0;
    for (size_t i = 0; i < it->list.n; i++)
        if (it->list.at[i].is_loop)
            it->list.at[kept++] = it->list.at[i];
    it->list.n = kept;
    tbp_sort(it->list.at, kept, sizeof *it->list.at, by_signed_start, NULL);
}

static int by_level_and_start(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct root *x = a, *y = b;
    if (x->level != y->level)
        return x->level > y->level ? -1 : 1;
    int64_t s = (int64_t)x->start_ps, t = (int64_t)y->start_ps;
    return s != t ? (s < t ? -1 : 1) : (x->node > y->node) - (x->node < y->node);
}

static void group_marked_roots(struct grouping *g, int32_t *next) {
    /* roots stays in file order: root_levels indexes it */
    struct root *order = TBP_NEW_N(&g->forest.arena, struct root, g->roots.n);
    size_t n = 0;
    for (size_t i = 0; i < g->roots.n; i++)
        if (!is_tf_data_id(g, g->roots.at[i].node))
            order[n++] = g->roots.at[i];
    tbp_sort(order, n, sizeof *order, by_level_and_start, NULL);
    for (size_t i = 0; i < n; i++)
        if (needs_grouping(g, order[i].node, order[i].level))
            process_root(g, order[i].node, (*next)++);
}

/* If no step of any core was reached, the cores number their steps side by side. */
static void group_cores(struct grouping *g, int32_t next) {
    for (size_t c = 0; c < g->cores.n; c++)
        for (uint32_t i = 0; i < g->cores.at[c].n; i++)
            if (!needs_grouping(g, g->cores.at[c].first + i, 0))
                return;
    for (size_t c = 0; c < g->cores.n; c++) {
        int32_t group = next;
        for (uint32_t i = 0; i < g->cores.at[c].n; i++)
            if (needs_grouping(g, g->cores.at[c].first + i, 0))
                process_root(g, g->cores.at[c].first + i, group++);
    }
}

static void make_groups(struct grouping *g) {
    struct iterations it = {0};
    note_tf_data_ids(g);
    for (size_t e = 0; e < g->executors.n && !g->host->has_given_steps; e++)
        add_iteration(g, &it, g->executors.at[e]);
    close_iterations(g, &it);
    tbp_forest_close(&g->forest);
    int32_t next = 0;
    g->host->has_loops = it.list.n > 0;
    for (size_t i = 0; i < it.list.n; i++)
        process_root(g, it.list.at[i].first, next++);
    if (!it.list.n)
        group_marked_roots(g, &next);
    group_cores(g, next);
    tbp_vec_release(&it.list);
    tbp_vec_release(&it.of_executor);
    tbp_idmap_release(&it.by_key);
    tbp_idmap_release(&it.loops);
}

/* ---- is_eager: does the nearest EagerExecute run an op itself? Breadth first downwards from all
 * of them at once. ---- */
enum eager { EAGER_UNKNOWN, EAGER_NO, EAGER_YES };

static void spread_eager(struct grouping *g, uint8_t *eager) {
    g->stack.n = 0;
    for (size_t i = 0; i < g->eager.n; i++) {
        struct tbp_stat st;
        bool runs_op = stat_at(g, g->eager.at[i], TBP_STAT_IS_FUNC, &st) && tbp_stat_i(&st) == 0;
        eager[g->eager.at[i]] = runs_op ? EAGER_YES : EAGER_NO;
        *tbp_vec_push(&g->stack) = g->eager.at[i];
    }
    for (size_t at = 0; at < g->stack.n;
         at++) { /* the vector serves as queue: each node enters once */
        uint32_t node = g->stack.at[at];
        size_t from = g->stack.n;
        push_children(g, node);
        size_t to = from;
        for (size_t i = from; i < g->stack.n; i++) {
            uint32_t child = g->stack.at[i];
            if (eager[child] != EAGER_UNKNOWN)
                continue;
            eager[child] = eager[node];
            g->stack.at[to++] = child;
        }
        g->stack.n = to;
    }
}

static void set_eager(struct grouping *g, const uint32_t *nodes, size_t n, const uint8_t *eager) {
    for (size_t k = 0; k < n; k++) {
        size_t i;
        struct tbp_line *l = tbp_forest_event(&g->forest, nodes[k], &i);
        l->ev.flags[i] |=
            TBP_EVENT_EAGER_SET | (eager[nodes[k]] == EAGER_YES ? TBP_EVENT_EAGER : 0);
    }
}

static void mark_eager(struct grouping *g) {
    uint8_t *eager = TBP_NEW_N(&g->forest.arena, uint8_t, (size_t)g->forest.n + 1);
    spread_eager(g, eager);
    set_eager(g, g->executes.at, g->executes.n, eager);
    set_eager(g, g->tf_ops.at, g->tf_ops.n, eager);
}

/* ---- the whole ---- */
static int by_relation(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_group_link *x = a, *y = b;
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    return (x->child > y->child) - (x->child < y->child);
}

static void keep_results(struct grouping *g) {
    struct tbp_host *h = g->host;
    h->n_groups = g->groups.n;
    h->groups = TBP_NEW_N(&h->arena, struct tbp_group, g->groups.n);
    if (g->groups.n)
        memcpy(h->groups, g->groups.at, g->groups.n * sizeof *h->groups);
    tbp_sort(g->relations.at, g->relations.n, sizeof *g->relations.at, by_relation, NULL);
    h->group_links = TBP_NEW_N(&h->arena, struct tbp_group_link, g->relations.n);
    for (size_t i = 0; i < g->relations.n; i++)
        if (i == 0 || by_relation(&g->relations.at[i - 1], &g->relations.at[i], NULL) != 0)
            h->group_links[h->n_group_links++] = g->relations.at[i];
}

static void release(struct grouping *g) {
    tbp_forest_release(&g->forest);
    tbp_vec_release(&g->executors);
    tbp_vec_release(&g->get_next);
    tbp_vec_release(&g->get_next_optional);
    tbp_vec_release(&g->launches);
    tbp_vec_release(&g->executes);
    tbp_vec_release(&g->captured);
    tbp_vec_release(&g->eager);
    tbp_vec_release(&g->tf_ops);
    tbp_vec_release(&g->roots);
    tbp_vec_release(&g->ends);
    tbp_vec_release(&g->relations);
    tbp_vec_release(&g->stack);
    tbp_vec_release(&g->groups);
    tbp_vec_release(&g->cores);
    tbp_idmap_release(&g->buckets);
    tbp_idmap_release(&g->root_levels);
    tbp_idmap_release(&g->tf_data_ids);
}

static void group_by_forest(struct tbp_host *h, const struct tbp_grouping_options *options) {
    struct grouping g = {.host = h, .options = options};
    if (tbp_forest_init(&g.forest, h)) {
        g.kinds = TBP_NEW_N(&g.forest.arena, uint8_t *, h->n_planes);
        for (size_t p = 0; p < h->n_planes; p++)
            g.kinds[p] = kinds_of(&g.forest.arena, &h->planes[p]);
        collect(&g);
        link_all(&g);
        make_groups(&g);
        mark_eager(&g);
        keep_results(&g);
    }
    release(&g);
}

/* TensorFlow 1 loops outside of functions cannot be grouped. */
static bool has_loop_ops(const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t m = 1; m < h->planes[p].n_metas; m++) {
            enum tbp_event_kind kind = h->planes[p].metas[m].kind;
            if (kind == TBP_EVENT_WHILE_COND || kind == TBP_EVENT_WHILE_BODY ||
                kind == TBP_EVENT_FOR_OP || kind == TBP_EVENT_PARALLEL_FOR_OP ||
                kind == TBP_EVENT_FOREVER_OP)
                return true;
        }
    }
    return false;
}

void tbp_group_host(struct tbp_host *h, const struct tbp_grouping_options *options) {
    h->was_grouped = h->wanted == TBP_WANTED_KERNELS || tbp_host_came_grouped(h);
    if (h->was_grouped)
        return;
    for (size_t p = 0; p < h->n_planes; p++)
        tbp_add_threadpool_regions(&h->planes[p]);
    if (h->has_given_steps || !has_loop_ops(h)) {
        group_by_forest(h, options);
        for (size_t p = 0; p < h->n_planes; p++)
            if (tbp_is_tpu_plane(h->planes[p].name))
                tbp_regroup_tpu_plane(&h->planes[p]);
    }
    for (size_t p = 0; p < h->n_planes; p++)
        if (tbp_is_gpu_plane(h->planes[p].name))
            tbp_add_gpu_steps(&h->planes[p]);
}
