/* SPDX-License-Identifier: Apache-2.0
 *
 * Nesting and joining of tf.data events; see tf_data_forest.h. An event's parent is the innermost
 * event of its line that includes it, of whatever kind; so every event of a line with tf.data on it
 * passes the stack.
 */
#include "convert/analyze/tf_data_forest.h"

#include "convert/analyze/op_name.h"
#include "convert/model/stats.h"

#define NO_NODE TBP_TF_DATA_NO_NODE

static const enum tbp_event_kind producers[6] = {
    TBP_EVENT_PREFETCH_PRODUCE,  TBP_EVENT_INTERLEAVE_PRODUCE, TBP_EVENT_MAP_PRODUCE,
    TBP_EVENT_MAP_BATCH_PRODUCE, TBP_EVENT_BATCH_PRODUCE,      TBP_EVENT_PARSE_PRODUCE,
};
static const enum tbp_event_kind consumers[6] = {
    TBP_EVENT_PREFETCH_CONSUME,  TBP_EVENT_INTERLEAVE_CONSUME, TBP_EVENT_MAP_CONSUME,
    TBP_EVENT_MAP_BATCH_CONSUME, TBP_EVENT_BATCH_CONSUME,      TBP_EVENT_PARSE_CONSUME,
};

static uint8_t class_of(const struct tbp_meta *m) {
    enum tbp_event_kind kind = tbp_op_event_kind(m);
    if (kind == TBP_EVENT_ITERATOR)
        return TBP_TF_DATA_ITERATOR;
    if (kind == TBP_EVENT_SECOND_ITERATOR)
        return TBP_TF_DATA_GENERATOR;
    for (uint8_t i = 0; i < 6; i++) {
        if (kind == producers[i])
            return (uint8_t)(TBP_TF_DATA_PRODUCE + i);
        if (kind == consumers[i])
            return (uint8_t)(TBP_TF_DATA_CONSUME + i);
    }
    return TBP_TF_DATA_NONE;
}

static bool is_iterator(const struct tbp_tf_data_node *n) {
    return n->class == TBP_TF_DATA_ITERATOR || n->class == TBP_TF_DATA_GENERATOR;
}

static bool read_id(struct tbp_tf_data_forest *f, const struct tbp_line *l, size_t i,
                    enum tbp_stat_key key, int64_t *id) {
    struct tbp_stat st;
    if (!tbp_event_stat(l, i, key, &st))
        return false;
    *id = tbp_stat_i(&st);
    if (st.type == TBP_STAT_UINT64 && f->reads_unsigned) {
        *id = (int64_t)st.u;
        f->n_repaired++;
    }
    return true;
}

static void link_child(struct tbp_tf_data_forest *f, uint32_t parent, uint32_t child) {
    uint32_t k = (uint32_t)f->links.n;
    *tbp_vec_push(&f->links) = (struct tbp_tf_data_link){child, NO_NODE};
    struct tbp_tf_data_node *p = &f->nodes.at[parent];
    if (p->first == NO_NODE)
        p->first = k;
    else
        f->links.at[p->last].next = k;
    p->last = k;
}

static uint32_t add_node(struct tbp_tf_data_forest *f, const struct tbp_line *l, size_t i,
                         uint8_t class, uint32_t parent) {
    const struct tbp_meta *m = &l->metas[l->ev.meta[i]];
    struct tbp_tf_data_node n = {.start_ps = l->ev.start_ps[i],
                                 .dur_ps = l->ev.dur_ps[i],
                                 .meta = m,
                                 .parent = parent,
                                 .first = NO_NODE,
                                 .last = NO_NODE,
                                 .class = class};
    if (is_iterator(&n)) {
        n.has_id = read_id(f, l, i, TBP_STAT_ID, &n.id);
        n.has_parent_id = read_id(f, l, i, TBP_STAT_PARENT_ID, &n.parent_id);
        n.is_dataset = tbp_op_name_parse(m->name).category == TBP_OP_TF_DATA;
    } else {
        n.has_id = read_id(f, l, i, TBP_STAT_ELEMENT_ID, &n.id);
    }
    uint32_t index = (uint32_t)f->nodes.n;
    *tbp_vec_push(&f->nodes) = n;
    if (parent != NO_NODE && is_iterator(&n))
        link_child(f, parent, index);
    return index;
}

struct open_event {
    uint64_t start_ps, end_ps;
    uint32_t node;
};

static bool is_async(const struct tbp_line *l, size_t i) {
    struct tbp_stat st;
    return (l->ev.has[i] & TBP_HAS_ASYNC) && tbp_event_stat(l, i, TBP_STAT_IS_ASYNC, &st) &&
           tbp_stat_b(&st);
}

static bool has_class(const struct tbp_line *l, const uint8_t *classes) {
    for (size_t i = 0; i < l->ev.n; i++)
        if (classes[l->ev.meta[i]])
            return true;
    return false;
}

static void nest_line(struct tbp_tf_data_forest *f, const struct tbp_line *l,
                      const uint8_t *classes) {
    TBP_VEC(struct open_event) stack = {0};
    for (size_t i = 0; i < l->ev.n; i++) {
        uint64_t start_ps = l->ev.start_ps[i], end_ps = tbp_event_end(l, i);
        bool nests = !is_async(l, i);
        uint8_t class = classes[l->ev.meta[i]];
        while (nests && stack.n) {
            const struct open_event *top = &stack.at[stack.n - 1];
            if (top->start_ps <= start_ps && end_ps <= top->end_ps)
                break;
            stack.n--;
        }
        uint32_t parent = nests && stack.n ? stack.at[stack.n - 1].node : NO_NODE;
        uint32_t node = class ? add_node(f, l, i, class, parent) : NO_NODE;
        if (nests)
            *tbp_vec_push(&stack) = (struct open_event){start_ps, end_ps, node};
    }
    tbp_vec_release(&stack);
}

/* Iterator that made the element of a producer: the first one inside it. */
static uint32_t produced_by(const struct tbp_tf_data_forest *f, const struct tbp_tf_data_node *n) {
    if (!n->has_id || n->first == NO_NODE)
        return NO_NODE;
    uint32_t child = f->links.at[n->first].child;
    return f->nodes.at[child].has_parent_id ? child : NO_NODE;
}

static uint64_t key_of(int64_t iterator, int64_t element) {
    uint64_t h = (uint64_t)iterator * 0x9e3779b97f4a7c15u;
    return (h ^ (h >> 29)) + (uint64_t)element;
}

struct made { /* an element that is there, by iterator and element id; chained per key */
    int64_t iterator, element;
    uint32_t node, next;
};

/* Producers by key, each chain in order of kind, then file order. */
struct market {
    TBP_VEC(struct made) made;
    struct tbp_idmap first; /* key -> made */
    struct tbp_idmap last;
};

static void offer(struct market *m, const struct tbp_tf_data_forest *f, uint32_t node,
                  int64_t element) {
    int64_t iterator = f->nodes.at[node].parent_id;
    uint64_t key = key_of(iterator, element);
    uint32_t k = (uint32_t)m->made.n;
    bool is_new;
    *tbp_vec_push(&m->made) = (struct made){iterator, element, node, NO_NODE};
    uint32_t *first = tbp_idmap_put(&m->first, key, &is_new);
    uint32_t *last = tbp_idmap_put(&m->last, key, &is_new);
    if (is_new)
        *first = k;
    else
        m->made.at[*last].next = k;
    *last = k;
}

static void consume(struct market *m, struct tbp_tf_data_forest *f,
                    const struct tbp_tf_data_node *n, size_t *budget) {
    if (!n->has_id || n->parent == NO_NODE)
        return;
    const struct tbp_tf_data_node *iterator = &f->nodes.at[n->parent];
    if (!is_iterator(iterator) || !iterator->has_id)
        return;
    uint32_t k = tbp_idmap_get(&m->first, key_of(iterator->id, n->id));
    for (; k != NO_NODE && *budget; k = m->made.at[k].next, --*budget)
        if (m->made.at[k].iterator == iterator->id && m->made.at[k].element == n->id)
            link_child(f, n->parent, m->made.at[k].node);
}

/* Links are bounded by a multiple of the events: many equal ids on both sides would make their
 * product. */
static void join(struct tbp_tf_data_forest *f) {
    struct market m = {0};
    size_t budget = 16 * f->nodes.n;
    for (uint8_t c = TBP_TF_DATA_PRODUCE; c < TBP_TF_DATA_CONSUME; c++)
        for (size_t i = 0; i < f->nodes.n; i++) {
            if (f->nodes.at[i].class != c)
                continue;
            uint32_t node = produced_by(f, &f->nodes.at[i]);
            if (node != NO_NODE)
                offer(&m, f, node, f->nodes.at[i].id);
        }
    for (uint8_t c = TBP_TF_DATA_CONSUME; c < TBP_TF_DATA_CLASSES && m.made.n; c++)
        for (size_t i = 0; i < f->nodes.n; i++)
            if (f->nodes.at[i].class == c)
                consume(&m, f, &f->nodes.at[i], &budget);
    tbp_vec_release(&m.made);
    tbp_idmap_release(&m.first);
    tbp_idmap_release(&m.last);
}

void tbp_tf_data_forest_init(struct tbp_tf_data_forest *f, const struct tbp_plane *cpu,
                             bool reads_unsigned) {
    *f = (struct tbp_tf_data_forest){.reads_unsigned = reads_unsigned};
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    uint8_t *classes = TBP_NEW_N(&scratch, uint8_t, cpu->n_metas);
    bool has_iterator = false;
    for (size_t i = 0; i < cpu->n_metas; i++) {
        classes[i] = class_of(&cpu->metas[i]);
        has_iterator |= classes[i] == TBP_TF_DATA_ITERATOR;
    }
    for (size_t i = 0; has_iterator && i < cpu->n_lines; i++) {
        const struct tbp_line *l = &cpu->lines[i];
        if (l->metas == cpu->metas && has_class(l, classes))
            nest_line(f, l, classes);
    }
    join(f);
    tbp_arena_release(&scratch);
}

void tbp_tf_data_forest_release(struct tbp_tf_data_forest *f) {
    tbp_vec_release(&f->nodes);
    tbp_vec_release(&f->links);
}
