/* SPDX-License-Identifier: Apache-2.0
 *
 * Pipelines, calls and bottlenecks of tf.data; see tf_data.h. Every event of a root iterator is one
 * call; a walk down from it adds up the time of each iterator and finds which of them block. Hash
 * order in the reference (numbers of pipelines, ties) is replaced by ascending ids.
 */
#include "convert/analyze/tf_data.h"

#include "base/sort.h"
#include "convert/analyze/tf_data_forest.h"

enum { MAX_DEPTH = 100 };
#define NO_NODE TBP_TF_DATA_NO_NODE

struct analysis {
    struct tbp_tf_data_forest f;
    struct tbp_tf_data *t;
    struct tbp_arena *out, *scratch;
    struct tbp_idmap by_id;         /* iterator id -> index in t->iterators */
    struct tbp_tf_data_stat *stats; /* of the call at work, by iterator */
    uint32_t *touched;
    size_t n_touched;
    uint64_t budget; /* visits left: elements that lead in circles end */
};

struct tbp_str tbp_tf_data_short_name(struct tbp_str long_name) {
    for (size_t i = long_name.n; i >= 2; i--)
        if (long_name.p[i - 1] == ':' && long_name.p[i - 2] == ':')
            return tbp_str_sub(long_name, i, long_name.n);
    return long_name;
}

/* "Iterator::Model": exactly two parts. */
static bool is_root(struct tbp_str name) {
    size_t n_parts = 1;
    for (size_t i = 0; i + 1 < name.n; i++)
        if (name.p[i] == ':' && name.p[i + 1] == ':') {
            n_parts++;
            i++;
        }
    return n_parts == 2;
}

static int iterator_by_id(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct tbp_tf_data_iterator *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* First sight of an id names it; generators after all other iterators. */
static void find_iterators(struct analysis *a) {
    a->t->iterators = TBP_NEW_N(a->out, struct tbp_tf_data_iterator, a->f.nodes.n);
    for (uint8_t class = TBP_TF_DATA_ITERATOR; class <= TBP_TF_DATA_GENERATOR; class ++)
        for (size_t i = 0; i < a->f.nodes.n; i++) {
            const struct tbp_tf_data_node *n = &a->f.nodes.at[i];
            bool is_new = false;
            if (n->class == class && n->has_id)
                tbp_idmap_put(&a->by_id, (uint64_t)n->id, &is_new);
            if (is_new)
                a->t->iterators[a->t->n_iterators++] =
                    (struct tbp_tf_data_iterator){n->id, n->parent_id, n->meta->name};
        }
    tbp_sort(a->t->iterators, a->t->n_iterators, sizeof *a->t->iterators, iterator_by_id, NULL);
    bool is_new;
    for (size_t i = 0; i < a->t->n_iterators; i++)
        *tbp_idmap_put(&a->by_id, (uint64_t)a->t->iterators[i].id, &is_new) = (uint32_t)i;
}

/* ---- one call ---- */

static uint64_t overlap_ps(const struct tbp_tf_data_node *x, const struct tbp_tf_data_node *y) {
    uint64_t from = x->start_ps > y->start_ps ? x->start_ps : y->start_ps;
    uint64_t x_end = x->start_ps + x->dur_ps, y_end = y->start_ps + y->dur_ps;
    uint64_t to = x_end < y_end ? x_end : y_end;
    return to > from ? to - from : 0;
}

static struct tbp_tf_data_stat *stat_of(struct analysis *a, const struct tbp_tf_data_node *n) {
    uint32_t k = tbp_idmap_get(&a->by_id, (uint64_t)n->id);
    struct tbp_tf_data_stat *st = &a->stats[k];
    if (st->n_calls == 0) {
        *st = (struct tbp_tf_data_stat){.iterator = k, .start_ps = n->start_ps};
        a->touched[a->n_touched++] = k;
    }
    return st;
}

static void visit(struct analysis *a, uint32_t node, bool is_blocking, int depth) {
    const struct tbp_tf_data_node *n = &a->f.nodes.at[node];
    if (depth > MAX_DEPTH || a->budget == 0 || !n->has_id)
        return;
    a->budget--;
    struct tbp_tf_data_stat *st = stat_of(a, n);
    st->n_calls++;
    st->dur_ps += n->dur_ps;
    if (is_blocking)
        st->role = TBP_TF_DATA_BLOCKING;
    int64_t self_ps = (int64_t)n->dur_ps;
    for (uint32_t k = n->first; k != NO_NODE; k = a->f.links.at[k].next) {
        uint32_t child = a->f.links.at[k].child;
        if (!a->f.nodes.at[child].is_dataset)
            continue;
        uint64_t common_ps = overlap_ps(n, &a->f.nodes.at[child]);
        self_ps = (int64_t)((uint64_t)self_ps - common_ps);
        visit(a, child, is_blocking && common_ps > 0, depth + 1);
    }
    st->self_ps = (int64_t)((uint64_t)st->self_ps + (uint64_t)self_ps);
}

static int by_number(const void *x, const void *y, void *ctx) {
    (void)ctx;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

static void fill_call(struct analysis *a, uint32_t root, struct tbp_tf_data_call *call) {
    a->n_touched = 0;
    visit(a, root, true, 0);
    tbp_sort(a->touched, a->n_touched, sizeof *a->touched, by_number, NULL);
    struct tbp_tf_data_stat *stats = TBP_NEW_N(a->out, struct tbp_tf_data_stat, a->n_touched);
    struct tbp_tf_data_stat *worst = NULL;
    for (size_t i = 0; i < a->n_touched; i++) {
        stats[i] = a->stats[a->touched[i]];
        a->stats[a->touched[i]].n_calls = 0; /* ready for the next call */
        if (stats[i].role == TBP_TF_DATA_BLOCKING &&
            stats[i].self_ps > (worst ? worst->self_ps : 0))
            worst = &stats[i];
    }
    if (worst)
        worst->role = TBP_TF_DATA_BOTTLENECK;
    *call = (struct tbp_tf_data_call){a->f.nodes.at[root].dur_ps, stats, a->n_touched, worst};
}

/* ---- pipelines ---- */

struct root {
    int64_t id;
    uint64_t dur_ps;
    uint32_t node;
};

static int root_order(const void *a, const void *b, void *ctx) {
    (void)ctx;
    const struct root *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->dur_ps < y->dur_ps) - (x->dur_ps > y->dur_ps);
}

static void fill_pipeline(struct analysis *a, const struct root *roots, size_t n,
                          struct tbp_tf_data_pipeline *p) {
    *p = (struct tbp_tf_data_pipeline){.root_id = roots[0].id, .n_calls = n};
    p->calls = TBP_NEW_N(a->out, struct tbp_tf_data_call, n);
    p->max_ps = roots[0].dur_ps;
    p->min_ps = roots[n - 1].dur_ps;
    uint64_t sum_ps = 0;
    for (size_t i = 0; i < n; i++) {
        fill_call(a, roots[i].node, &p->calls[i]);
        sum_ps += roots[i].dur_ps;
        p->n_slow += roots[i].dur_ps > TBP_TF_DATA_SLOW_PS;
    }
    p->mean_ps = sum_ps / n;
}

static void number_pipelines(struct analysis *a) {
    struct tbp_idmap devices = {0};
    for (size_t i = 0; i < a->f.nodes.n; i++) {
        const struct tbp_tf_data_node *n = &a->f.nodes.at[i];
        bool is_new;
        if (n->class == TBP_TF_DATA_GENERATOR && n->has_id && n->has_parent_id)
            *tbp_idmap_put(&devices, (uint64_t)n->parent_id, &is_new) = 1;
    }
    uint32_t n[2] = {0, 0};
    for (size_t i = 0; i < a->t->n_pipelines; i++) {
        struct tbp_tf_data_pipeline *p = &a->t->pipelines[i];
        p->is_device = tbp_idmap_get(&devices, (uint64_t)p->root_id) == 1;
        p->number = n[p->is_device]++;
    }
    tbp_idmap_release(&devices);
}

static void find_pipelines(struct analysis *a) {
    TBP_VEC(struct root) roots = {0};
    size_t n_pipelines = 0;
    for (uint32_t i = 0; i < a->f.nodes.n; i++) {
        const struct tbp_tf_data_node *n = &a->f.nodes.at[i];
        if (n->class == TBP_TF_DATA_ITERATOR && n->has_id && is_root(n->meta->name))
            *tbp_vec_push(&roots) = (struct root){n->id, n->dur_ps, i};
    }
    tbp_sort(roots.at, roots.n, sizeof *roots.at, root_order, NULL);
    for (size_t i = 0; i < roots.n; i++)
        n_pipelines += i == 0 || roots.at[i].id != roots.at[i - 1].id;
    a->t->pipelines = TBP_NEW_N(a->out, struct tbp_tf_data_pipeline, n_pipelines);
    for (size_t i = 0, j; i < roots.n; i = j) {
        for (j = i + 1; j < roots.n && roots.at[j].id == roots.at[i].id; j++)
            ;
        fill_pipeline(a, &roots.at[i], j - i, &a->t->pipelines[a->t->n_pipelines++]);
    }
    tbp_vec_release(&roots);
    number_pipelines(a);
}

static void analyse(struct analysis *a, struct tbp_host *h, const struct tbp_plane *cpu,
                    bool repairs) {
    tbp_tf_data_forest_init(&a->f, cpu, repairs);
    if (a->f.n_repaired)
        tbp_ledger_count(&h->ledger, TBP_LEDGER_REPAIR_UNSIGNED, a->f.n_repaired, TBP_NO_OFFSET);
    find_iterators(a);
    a->budget = 64 * (uint64_t)a->f.nodes.n + 1024;
    a->stats = TBP_NEW_N(a->scratch, struct tbp_tf_data_stat, a->t->n_iterators);
    a->touched = TBP_NEW_N(a->scratch, uint32_t, a->t->n_iterators);
    find_pipelines(a);
    tbp_idmap_release(&a->by_id);
    tbp_tf_data_forest_release(&a->f);
}

static int make(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                struct tbp_error *err) {
    struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_tf_data *t = TBP_NEW(out, struct tbp_tf_data);
    t->host = h->n_hostnames ? h->hostnames[0] : tbp_session_host_name(s, host);
    *table = t;
    const struct tbp_plane *cpu = tbp_host_plane(h, TBP_HOST_PLANE);
    if (!cpu)
        return TBP_OK;
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct analysis a = {.t = t, .out = out, .scratch = &scratch};
    analyse(&a, h, cpu, tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR);
    tbp_arena_release(&scratch);
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_tf_data = {
    .name = "tf_data",
    .help = "input pipelines of tf.data: calls, times per iterator, bottlenecks",
    .counts = true,
    .host = make,
};
