/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of one TPU core; see tpu_step_sums.h. Of several marker lines and op lines the last counts.
 */
#include "convert/analyze/tpu_step_sums.h"

#include "base/sort.h"
#include "convert/analyze/tpu_op_sums.h"
#include "convert/model/stats.h"

struct group {
    int64_t id;
    struct tbp_tpu_span marker;
    bool has_marker, has_ops;
    uint64_t op_ps;
    uint32_t n_categories, n_collectives;
};

struct category_sum {
    uint32_t group, category; /* numbers */
    uint64_t self_ps;
};

struct collective {
    uint32_t group;
    struct tbp_step_collective c;
};

struct core_sums {
    const struct tbp_plane *plane;
    const struct tbp_tpu_op *ops;
    TBP_VEC(struct group) groups;
    struct tbp_idmap by_id;
    TBP_VEC(struct category_sum) sums;
    struct tbp_idmap by_category; /* group, category -> index in sums */
    TBP_VEC(struct collective) collectives;
    struct tbp_strtab categories;
    bool has_collectives; /* the plane knows the stat */
    /* An op has in a step the category of its first execution there. Only where entries of one op
     * have several: the first entry with its key by entry, and the category by (group, it). */
    uint32_t *first_entry;
    struct tbp_idmap first_category;
};

static const char collective_stat[] = "all_reduce_unique_id";

static uint32_t group_of(struct core_sums *s, int64_t id) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&s->by_id, (uint64_t)id, &is_new);
    if (is_new) {
        *at = (uint32_t)s->groups.n;
        *tbp_vec_push(&s->groups) = (struct group){.id = id};
    }
    return *at;
}

static void read_markers(struct core_sums *s, const struct tbp_line *l) {
    for (size_t i = 0; i < s->groups.n; i++) {
        s->groups.at[i].has_marker = false;
        s->groups.at[i].marker = (struct tbp_tpu_span){0, 0};
    }
    for (size_t i = 0; i < l->ev.n; i++) {
        int64_t id;
        if (!tbp_event_group(l, i, &id))
            continue;
        uint32_t at = group_of(s, id); /* may move the groups */
        struct group *g = &s->groups.at[at];
        struct tbp_tpu_span span = tbp_tpu_event_span(l, i);
        g->has_marker = true;
        if (span.end_ps - span.begin_ps > g->marker.end_ps - g->marker.begin_ps)
            g->marker = span;
    }
}

static void find_first_entries(struct core_sums *s, struct tbp_arena *scratch) {
    struct tbp_tpu_op_keys keys = {0};
    bool is_new, differ = false;
    uint32_t *first = TBP_NEW_N(scratch, uint32_t, s->plane->n_metas);
    for (size_t i = 0; i < s->plane->n_metas; i++) {
        if (!s->ops[i].is_op)
            continue;
        uint32_t *at = tbp_tpu_op_keys_put(&keys, &s->ops[i], &is_new);
        if (is_new)
            *at = (uint32_t)i;
        first[i] = *at;
        differ |= !tbp_str_eq(s->ops[i].category, s->ops[*at].category);
    }
    tbp_tpu_op_keys_release(&keys);
    s->first_entry = differ ? first : NULL;
}

static uint32_t category_of(struct core_sums *s, uint32_t group, uint32_t meta) {
    bool is_new;
    uint32_t own = tbp_strtab_put(&s->categories, s->ops[meta].category);
    if (!s->first_entry)
        return own;
    uint64_t key = (uint64_t)group << 32 | s->first_entry[meta];
    uint32_t *at = tbp_idmap_put(&s->first_category, key, &is_new);
    if (is_new)
        *at = own;
    return *at;
}

static void add_node(struct core_sums *s, const struct tbp_line *l,
                     const struct tbp_tpu_node *node) {
    int64_t id;
    if (!tbp_event_group(l, node->event, &id))
        return;
    uint32_t group = group_of(s, id);
    struct group *g = &s->groups.at[group];
    g->has_ops = true;
    uint32_t meta = l->ev.meta[node->event];
    if (!s->ops[meta].is_op)
        return;
    uint64_t self_ps = tbp_tpu_node_self_ps(node);
    uint32_t category = category_of(s, group, meta);
    bool is_new;
    uint32_t *at = tbp_idmap_put(&s->by_category, (uint64_t)group << 32 | category, &is_new);
    if (is_new) {
        *at = (uint32_t)s->sums.n;
        *tbp_vec_push(&s->sums) = (struct category_sum){group, category, 0};
        g->n_categories++;
    }
    s->sums.at[*at].self_ps += self_ps;
    g->op_ps += self_ps;
}

static bool collective_id(const struct tbp_line *l, size_t i, uint64_t *id) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (tbp_str_is(st.meta->name, collective_stat)) {
            *id = tbp_stat_iu(&st);
            return true;
        }
    }
    return false;
}

static void add_collective(struct core_sums *s, const struct tbp_line *l, size_t i, int64_t group) {
    struct tbp_step_collective c;
    if (!s->has_collectives || (l->ev.has[i] & TBP_HAS_STATS) == 0 || !collective_id(l, i, &c.id))
        return;
    struct tbp_tpu_span span = tbp_tpu_event_span(l, i);
    c.begin_ps = span.begin_ps;
    c.end_ps = span.end_ps;
    uint32_t at = group_of(s, group);
    *tbp_vec_push(&s->collectives) = (struct collective){at, c};
    s->groups.at[at].n_collectives++;
}

static void forget_ops(struct core_sums *s) {
    for (size_t i = 0; i < s->groups.n; i++) {
        struct group *g = &s->groups.at[i];
        g->has_ops = false;
        g->op_ps = 0;
        g->n_categories = g->n_collectives = 0;
    }
    tbp_idmap_release(&s->by_category);
    tbp_idmap_release(&s->first_category);
    s->sums.n = s->collectives.n = 0;
}

/* Only events of a step nest. */
static void read_ops(struct core_sums *s, const struct tbp_line *l) {
    struct tbp_tpu_nest nest;
    struct tbp_tpu_node node;
    forget_ops(s);
    if (l->metas != s->plane->metas)
        return;
    tbp_tpu_nest_begin(&nest, l);
    for (size_t i = 0; i < l->ev.n; i++) {
        int64_t id;
        if (!tbp_event_group(l, i, &id))
            continue;
        tbp_tpu_nest_add(&nest, i);
        while (tbp_tpu_nest_pop(&nest, &node))
            add_node(s, l, &node);
        add_collective(s, l, i, id);
    }
    tbp_tpu_nest_end(&nest);
    while (tbp_tpu_nest_pop(&nest, &node))
        add_node(s, l, &node);
    tbp_tpu_nest_release(&nest);
}

static void read_lines(struct core_sums *s, bool is_tensor) {
    for (size_t i = 0; i < s->plane->n_lines; i++) {
        const struct tbp_line *l = &s->plane->lines[i];
        bool is_marker = l->id == (int64_t)(int32_t)TBP_DERIVED_FIRST ||
                         (is_tensor && tbp_str_is(l->name, "Steps"));
        if (l->ev.n == 0)
            continue;
        if (is_marker)
            read_markers(s, l);
        else if (is_tensor && tbp_tpu_is_op_line(l->name))
            read_ops(s, l);
    }
}

static int by_group_id(const void *a, const void *b, void *ctx) {
    const struct core_sums *s = ctx;
    int64_t x = s->groups.at[*(const uint32_t *)a].id, y = s->groups.at[*(const uint32_t *)b].id;
    return x < y ? -1 : x > y;
}

static void fill_steps(struct core_sums *s, struct tbp_arena *out, struct tbp_tpu_core_step *steps,
                       struct tbp_tpu_core_step **of_group, const uint32_t *order, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const struct group *g = &s->groups.at[order[i]];
        steps[i] = (struct tbp_tpu_core_step){.id = g->id, .marker = g->marker, .op_ps = g->op_ps};
        steps[i].categories = TBP_NEW_N(out, struct tbp_step_category, g->n_categories + 1);
        steps[i].collectives = TBP_NEW_N(out, struct tbp_step_collective, g->n_collectives);
        of_group[order[i]] = &steps[i];
    }
    for (size_t i = 0; i < s->sums.n; i++) {
        const struct category_sum *sum = &s->sums.at[i];
        struct tbp_tpu_core_step *step = of_group[sum->group];
        if (step != NULL)
            step->categories[step->n_categories++] =
                (struct tbp_step_category){s->categories.strs[sum->category], sum->self_ps};
    }
    for (size_t i = 0; i < s->collectives.n; i++) {
        struct tbp_tpu_core_step *step = of_group[s->collectives.at[i].group];
        if (step != NULL)
            step->collectives[step->n_collectives++] = s->collectives.at[i].c;
    }
}

static bool knows_stat(const struct tbp_plane *p, const char *name) {
    for (size_t i = 0; i < p->n_stat_metas; i++)
        if (tbp_str_is(p->stat_metas[i].name, name))
            return true;
    return false;
}

static void release(struct core_sums *s) {
    tbp_vec_release(&s->groups);
    tbp_vec_release(&s->sums);
    tbp_vec_release(&s->collectives);
    tbp_idmap_release(&s->by_id);
    tbp_idmap_release(&s->by_category);
    tbp_idmap_release(&s->first_category);
    tbp_strtab_release(&s->categories);
}

void tbp_tpu_core_steps_make(const struct tbp_plane *p, const struct tbp_tpu_op *ops,
                             struct tbp_arena *out, struct tbp_tpu_core_steps *steps) {
    struct core_sums s = {
        .plane = p, .ops = ops, .has_collectives = knows_stat(p, collective_stat)};
    int64_t ordinal;
    find_first_entries(&s, out);
    read_lines(&s, tbp_is_tensor_core_plane(p->name, &ordinal));
    *steps = (struct tbp_tpu_core_steps){.core = (uint32_t)p->id};
    uint32_t *order = TBP_NEW_N(out, uint32_t, s.groups.n);
    for (size_t i = 0; i < s.groups.n; i++)
        if (s.groups.at[i].has_marker && s.groups.at[i].has_ops)
            order[steps->n++] = (uint32_t)i;
    tbp_sort(order, steps->n, sizeof *order, by_group_id, &s);
    steps->steps = TBP_NEW_N(out, struct tbp_tpu_core_step, steps->n);
    struct tbp_tpu_core_step **of_group = TBP_NEW_N(out, struct tbp_tpu_core_step *, s.groups.n);
    fill_steps(&s, out, steps->steps, of_group, order, steps->n);
    release(&s);
}
