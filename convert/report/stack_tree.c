/* SPDX-License-Identifier: Apache-2.0
 *
 * Building the tree: events of a line nest by time; each open event knows the node that stands for
 * the stack below which its children run.
 */
#include "convert/report/stack_tree.h"

#include "convert/model/line_order.h"
#include "convert/report/average_rows.h"
#include "convert/report/device_work.h"
#include "convert/report/event_role.h"
#include "convert/report/event_texts.h"
#include "convert/report/memory_use.h"

static const char *const stack_stats[] = {"Call stack", NULL};
static const char *const forward_stats[] = {"forward_stack", NULL};

struct stacked { /* an open event */
    uint32_t node, children_node;
    uint32_t forward; /* of a backward op and all in it: the forward op's stack, or 0 */
    struct tbp_str name;
    uint64_t end_ps;
    int64_t total_ps, children_ps;
};

struct stack_pass {
    struct tbp_stack_tree *tree;
    const struct tbp_line *line;
    struct tbp_launches launches;
    struct tbp_event_texts texts, forward;
    struct tbp_line_order order;
    TBP_VEC(struct stacked) open;
    bool is_python;
};

static bool is_python(struct tbp_str category) {
    return tbp_str_starts(category, "python");
}

/* Frames of the machinery of gradients, which PyTorch's stacks leave out. */
static bool is_left_out(struct tbp_str frame) {
    return (tbp_str_has(frame, "autograd/__init__") &&
            (tbp_str_has(frame, "backward") || tbp_str_has(frame, "_make_grads"))) ||
           (tbp_str_has(frame, "torch/tensor") && tbp_str_has(frame, "backward"));
}

static uint32_t child(struct tbp_stack_tree *t, uint32_t parent, struct tbp_str name) {
    bool is_new;
    uint32_t number = tbp_strtab_put(&t->names, name);
    uint32_t *node = tbp_idmap_put(&t->by_frame, (uint64_t)parent << 32 | number, &is_new);
    if (is_new) {
        *node = (uint32_t)t->nodes.n;
        *tbp_vec_push(&t->nodes) = (struct tbp_stack_node){.parent = parent, .name = number};
    }
    return *node;
}

/* Frames of a stack that is given as text, innermost first, each ended by ';'. */
static uint32_t node_of_text(struct tbp_stack_tree *t, struct tbp_str stack) {
    uint32_t node = 0;
    size_t end = stack.n, depth = 0;
    while (end > 0 && depth < TBP_MAX_NESTED) {
        end -= stack.p[end - 1] == ';';
        size_t from = end;
        while (from > 0 && stack.p[from - 1] != ';')
            from--;
        if (from < end && !is_left_out(tbp_str_sub(stack, from, end))) {
            node = child(t, node, tbp_str_sub(stack, from, end));
            depth++;
        }
        end = from;
    }
    return node;
}

static void close_last(struct stack_pass *p) {
    const struct stacked *s = &p->open.at[--p->open.n];
    int64_t self_ps = tbp_less(s->total_ps, s->children_ps);
    if (self_ps > 0) /* less than nothing where children merely overlap */
        tbp_sum(&p->tree->nodes.at[s->node].host_ps, self_ps);
    if (p->open.n)
        tbp_sum(&p->open.at[p->open.n - 1].children_ps, s->total_ps);
}

static void close_until(struct stack_pass *p, uint64_t start_ps, uint64_t end_ps) {
    while (p->open.n) {
        uint64_t open_end_ps = p->open.at[p->open.n - 1].end_ps;
        if (start_ps < open_end_ps && end_ps <= open_end_ps)
            break;
        close_last(p);
    }
}

static void take_launched(struct stack_pass *p, size_t i) {
    struct tbp_launch *l = tbp_launch_of(&p->launches, p->line, i);
    if (!l || p->open.n == 0)
        return;
    tbp_sum(&p->tree->nodes.at[p->open.at[p->open.n - 1].node].device_ps, l->work_ps);
    l->work_ps = 0;
}

/* "autograd::engine::evaluate_function: X" is around X, and of the same forward op. */
static void take_forward(struct stacked *parent, const struct stacked *s) {
    struct tbp_str name = parent->name;
    if (name.n > s->name.n && s->name.n &&
        memcmp(name.p + name.n - s->name.n, s->name.p, s->name.n) == 0)
        parent->node = parent->forward = s->forward;
}

static void add_event(struct stack_pass *p, size_t i) {
    const struct tbp_events *ev = &p->line->ev;
    struct tbp_str category, stack;
    if (ev->flags[i] & TBP_EVENT_MADE || ev->has[i] & TBP_HAS_OCCURRENCES ||
        ev->dur_ps[i] > INT64_MAX || tbp_is_memory_event(tbp_event_kind_at(p->line, i)))
        return;
    tbp_event_texts_get(&p->texts, i, &category, &stack);
    if (tbp_event_role_of(category) == TBP_ROLE_ASIDE && !(ev->has[i] & TBP_HAS_TF_OP))
        return;
    struct stacked s = {.name = tbp_event_name(p->line, i),
                        .end_ps = tbp_event_end(p->line, i),
                        .total_ps = (int64_t)ev->dur_ps[i]};
    close_until(p, ev->start_ps[i], s.end_ps);
    take_launched(p, i);
    if (p->open.n >= TBP_MAX_NESTED)
        return; /* its time stays that of the deepest frame */
    uint32_t around = p->open.n ? p->open.at[p->open.n - 1].children_node : 0;
    bool is_frame =
        !p->is_python || (is_python(category) && !is_left_out(tbp_event_name(p->line, i)));
    s.children_node = is_frame ? child(p->tree, around, tbp_event_name(p->line, i)) : around;
    s.node = !p->is_python ? s.children_node
             : stack.n     ? node_of_text(p->tree, stack) /* who began it may have returned since */
                           : around;
    if (p->is_python && p->forward.detail) {
        tbp_event_texts_get(&p->forward, i, &category, &stack);
        s.forward = stack.n     ? node_of_text(p->tree, stack)
                    : p->open.n ? p->open.at[p->open.n - 1].forward
                                : 0;
        s.node = s.forward ? s.forward : s.node;
        if (stack.n && p->open.n)
            take_forward(&p->open.at[p->open.n - 1], &s);
    }
    *tbp_vec_push(&p->open) = s;
}

/* Whether any event tells of Python. */
static bool has_python(const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        for (size_t i = 1; i < plane->n_stat_metas; i++)
            if (tbp_str_is(plane->stat_metas[i].name, stack_stats[0]) ||
                tbp_str_is(plane->stat_metas[i].name, "python_function"))
                return true;
    }
    return false;
}

void tbp_stack_tree_add(struct tbp_stack_tree *t, const struct tbp_host *h,
                        enum tbp_frames frames) {
    struct stack_pass p = {.tree = t};
    p.is_python = frames == TBP_FRAMES_PYTHON || (frames == TBP_FRAMES_AUTO && has_python(h));
    if (t->nodes.n == 0)
        *tbp_vec_push(&t->nodes) = (struct tbp_stack_node){0};
    tbp_launches_add_work(&p.launches, h);
    for (size_t k = 0; k < h->n_planes; k++) {
        const struct tbp_plane *plane = &h->planes[k];
        for (size_t j = 0; j < plane->n_lines && tbp_is_host_plane(plane->name); j++) {
            p.line = &plane->lines[j];
            if (p.line->is_derived)
                continue;
            tbp_event_texts_init(&p.texts, p.line, stack_stats);
            tbp_event_texts_init(&p.forward, p.line, forward_stats);
            tbp_line_order_make(&p.order, p.line);
            for (size_t i = 0; i < p.line->ev.n; i++)
                add_event(&p, tbp_line_order_at(&p.order, i));
            while (p.open.n)
                close_last(&p);
        }
    }
    tbp_launches_release(&p.launches);
    tbp_line_order_release(&p.order);
    tbp_vec_release(&p.open);
}

void tbp_stack_tree_release(struct tbp_stack_tree *t) {
    tbp_vec_release(&t->nodes);
    tbp_strtab_release(&t->names);
    tbp_idmap_release(&t->by_frame);
}
