/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts and walks over TPU planes that op tables, duty cycle and steps share; see tpu_plane.h.
 */
#include "convert/analyze/tpu_plane.h"

#include "convert/model/stats.h"

static bool is_one_of(struct tbp_str s, const char *const *texts) {
    for (; *texts != NULL; texts++)
        if (tbp_str_is(s, *texts))
            return true;
    return false;
}

bool tbp_tpu_is_op_line(struct tbp_str name) {
    static const char *const names[] = {"XLA Ops", "Framework Ops", "Sparse Core Ops", NULL};
    return is_one_of(name, names);
}

bool tbp_tpu_is_step_line(struct tbp_str name) {
    static const char *const names[] = {"Steps", "Sparse Core Steps", NULL};
    return is_one_of(name, names);
}

static bool is_off_duty(struct tbp_str category) {
    static const char *const names[] = {"infeed",         "outfeed",         "host send",
                                        "host send-done", "host recv",       "host recv-done",
                                        "async-done",     "megacore fusion", NULL};
    return is_one_of(category, names);
}

static void read_stat(struct tbp_tpu_op *op, const struct tbp_stat *st, bool *has_program) {
    switch (st->meta->key) {
    case TBP_STAT_PROGRAM_ID:
        op->program_id = tbp_stat_iu(st);
        *has_program = true;
        break;
    case TBP_STAT_SYMBOL_ID:
        op->symbol_id = tbp_stat_iu(st);
        break;
    case TBP_STAT_HLO_CATEGORY:
        op->category = tbp_stat_s(st);
        break;
    case TBP_STAT_TF_OP:
        op->provenance = tbp_stat_s(st);
        break;
    case TBP_STAT_FLOPS:
        op->flops = tbp_stat_iu(st);
        break;
    case TBP_STAT_MODEL_FLOPS:
        op->model_flops = tbp_stat_iu(st);
        break;
    case TBP_STAT_BYTES_ACCESSED:
        op->bytes = tbp_stat_iu(st);
        break;
    default:
        break;
    }
}

static struct tbp_tpu_op read_op(const struct tbp_plane *p, const struct tbp_meta *m) {
    bool has_display = m->display.n > 0, has_program = false;
    struct tbp_tpu_op op = {
        .name = has_display ? m->display : m->name,
        .text = has_display ? m->name : TBP_STR_NONE,
        .category = TBP_STR_NONE,
        .provenance = TBP_STR_NONE,
    };
    if (!m->has_stats)
        return op;
    struct tbp_stat_iter it = tbp_stat_iter_meta(p, m);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        read_stat(&op, &st, &has_program);
    op.is_op = has_program && op.symbol_id != 0;
    op.is_off_duty = is_off_duty(op.category);
    op.is_custom_call = tbp_str_is(op.category, "custom-call");
    op.is_framework_op = op.provenance.n > 0;
    return op;
}

const struct tbp_tpu_op *tbp_tpu_ops_of_plane(const struct tbp_plane *p, struct tbp_arena *a) {
    struct tbp_tpu_op *ops = TBP_NEW_N(a, struct tbp_tpu_op, p->n_metas);
    for (size_t i = 0; i < p->n_metas; i++)
        ops[i] = read_op(p, &p->metas[i]);
    return ops;
}

struct tbp_tpu_span tbp_tpu_event_span(const struct tbp_line *l, size_t i) {
    struct tbp_stat offset, duration;
    if ((l->ev.has[i] & TBP_HAS_DEVICE_SPAN) != 0 &&
        tbp_event_stat(l, i, TBP_STAT_DEVICE_OFFSET_PS, &offset) &&
        tbp_event_stat(l, i, TBP_STAT_DEVICE_DURATION_PS, &duration)) {
        uint64_t begin_ps = tbp_stat_iu(&offset);
        return (struct tbp_tpu_span){begin_ps, begin_ps + tbp_stat_iu(&duration)};
    }
    return (struct tbp_tpu_span){l->ev.start_ps[i], tbp_event_end(l, i)};
}

/* ---- nesting ---- */

void tbp_tpu_nest_begin(struct tbp_tpu_nest *n, const struct tbp_line *l) {
    *n = (struct tbp_tpu_nest){.line = l};
}

void tbp_tpu_nest_add(struct tbp_tpu_nest *n, size_t event) {
    n->next = (struct tbp_tpu_node){.event = event, .span = tbp_tpu_event_span(n->line, event)};
    n->has_next = true;
}

void tbp_tpu_nest_end(struct tbp_tpu_nest *n) {
    n->is_ending = true;
}

bool tbp_tpu_nest_pop(struct tbp_tpu_nest *n, struct tbp_tpu_node *out) {
    struct tbp_tpu_node *top = n->open.n > 0 ? &n->open.at[n->open.n - 1] : NULL;
    const struct tbp_tpu_span *s = &n->next.span;
    bool is_included = n->has_next && top != NULL && top->span.begin_ps <= s->begin_ps &&
                       s->end_ps <= top->span.end_ps;
    if (top != NULL && (n->has_next ? !is_included : n->is_ending)) {
        *out = *top;
        n->open.n--;
        return true;
    }
    if (n->has_next) {
        if (top != NULL)
            top->children_ps += s->end_ps - s->begin_ps;
        *tbp_vec_push(&n->open) = n->next;
        n->has_next = false;
    }
    return false;
}

void tbp_tpu_nest_release(struct tbp_tpu_nest *n) {
    tbp_vec_release(&n->open);
}

/* ---- cores ---- */

bool tbp_tpu_core_of_plane(const struct tbp_plane *p, struct tbp_tpu_core *core) {
    struct tbp_stat st;
    *core = (struct tbp_tpu_core){0};
    if (!tbp_plane_stat(p, TBP_STAT_CORE_DETAILS, &st) || st.type != TBP_STAT_BYTES)
        return false;
    struct tbp_wire w = tbp_wire_of(st.s.p, st.s.n);
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) == 1) {
        if (f.type != TBP_WIRE_VARINT)
            continue;
        if (f.number == 2) /* device_ordinal */
            core->ordinal = (int64_t)f.value;
        else if (f.number == 4) /* local_chip_id */
            core->chip = (int64_t)f.value;
    }
    return got == 0;
}
