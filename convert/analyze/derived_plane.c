/* SPDX-License-Identifier: Apache-2.0
 *
 * What the derivations of one plane share; see derived_plane.h.
 */
#include "convert/analyze/derived_plane.h"

#include "base/sort.h"
#include "convert/analyze/op_name.h"

#include <string.h>

struct tbp_str tbp_made_key_text(enum tbp_made_key key) {
    static const struct tbp_str text[TBP_MADE_KEYS] = {
        [TBP_MADE_GROUP_ID] = TBP_STR_INIT("group_id"),
        [TBP_MADE_STEP_NAME] = TBP_STR_INIT("step_name"),
        [TBP_MADE_IS_EAGER] = TBP_STR_INIT("is_eager"),
        [TBP_MADE_FLOW] = TBP_STR_INIT("flow"),
        [TBP_MADE_CUDA_GRAPH_ID] = TBP_STR_INIT("cuda_graph_id"),
        [TBP_MADE_CORRELATION_ID] = TBP_STR_INIT("correlation_id"),
        [TBP_MADE_NUM_LAUNCHES] = TBP_STR_INIT("num_launches"),
        [TBP_MADE_MAX_LAUNCH_TIME] = TBP_STR_INIT("max_launch_time_us"),
        [TBP_MADE_AVG_LAUNCH_TIME] = TBP_STR_INIT("avg_launch_time_us"),
        [TBP_MADE_ASYNC] = TBP_STR_INIT("_a"),
        [TBP_MADE_RAW_BYTES_ACCESSED] = TBP_STR_INIT("raw_bytes_accessed"),
        [TBP_MADE_SHAPE_WITH_LAYOUT] = TBP_STR_INIT("shape_with_layout"),
    };
    return text[key];
}

/* ---- one plane ---- */

void tbp_derive_plane_init(struct tbp_derive_plane *d, struct tbp_arena *a, struct tbp_plane *p,
                           struct tbp_derived_plane *out) {
    *d = (struct tbp_derive_plane){
        .arena = a, .plane = p, .out = out, .start_ns = tbp_plane_start_ns(p)};
    tbp_made_metas_init(&d->metas, a, p, out);
}

static void take_over(struct tbp_derive_plane *d, int64_t id, struct tbp_str name) {
    struct tbp_plane *p = d->plane;
    size_t i = 0;
    while (i < p->n_lines && p->lines[i].id != id)
        i++;
    if (i == p->n_lines)
        return;
    if (!d->out->taken)
        d->out->taken = TBP_NEW_N(d->arena, struct tbp_taken_line, p->n_lines);
    uint64_t shift_ns = (uint64_t)d->start_ns - (uint64_t)p->lines[i].timestamp_ns;
    d->out->taken[i] = (struct tbp_taken_line){name, shift_ns * 1000};
}

void tbp_derive_plane_take(struct tbp_derive_plane *d, struct tbp_grow *g, int64_t display_id) {
    take_over(d, g->id, g->name);
    struct tbp_made_line made;
    bool any = g->events.n > 0;
    tbp_grow_finish(g, d->arena, d->plane, &made);
    if (!any)
        return;
    made.line.display_id = display_id;
    made.line.timestamp_ns = d->start_ns;
    *tbp_vec_push(&d->lines) = made;
}

void tbp_derive_plane_finish(struct tbp_derive_plane *d) {
    tbp_made_metas_finish(&d->metas);
    d->out->n_lines = d->lines.n;
    d->out->lines = TBP_NEW_N(d->arena, struct tbp_made_line, d->lines.n);
    if (d->lines.n)
        memcpy(d->out->lines, d->lines.at, d->lines.n * sizeof *d->lines.at);
    tbp_vec_release(&d->lines);
}

static int by_begin_shorter_first(const void *x, const void *y, void *ctx) {
    (void)ctx;
    const struct tbp_derive_event *a = x, *b = y;
    if (a->begin_ps != b->begin_ps)
        return (int64_t)a->begin_ps < (int64_t)b->begin_ps ? -1 : 1;
    if (a->dur_ps != b->dur_ps)
        return (int64_t)a->dur_ps < (int64_t)b->dur_ps ? -1 : 1;
    return 0;
}

void tbp_derive_sort(struct tbp_derive_event *e, size_t n) {
    tbp_sort(e, n, sizeof *e, by_begin_shorter_first, NULL);
}

struct tbp_framework_op tbp_framework_op_of(struct tbp_derive_plane *d, struct tbp_str text) {
    struct tbp_framework_op op = {0};
    struct tbp_op_name name = tbp_op_name_parse(text);
    if (name.category == TBP_OP_TENSORFLOW || name.category == TBP_OP_JAX) {
        uint32_t scopes[TBP_DERIVED_LEVELS_MAX];
        struct tbp_str rest = name.name;
        for (size_t cut;
             (cut = tbp_str_find(rest, '/')) < rest.n && op.n_scopes < TBP_DERIVED_LEVELS_MAX;
             rest = tbp_str_sub(rest, cut + 1, rest.n))
            scopes[op.n_scopes++] =
                tbp_made_metas_ensure(&d->metas, tbp_str_sub(rest, 0, cut), TBP_STR_NONE);
        op.scopes = TBP_NEW_N(d->arena, uint32_t, op.n_scopes);
        if (op.n_scopes)
            memcpy(op.scopes, scopes, op.n_scopes * sizeof *scopes);
    }
    op.meta = tbp_made_metas_ensure(&d->metas, text, tbp_op_event_name(text, d->arena));
    return op;
}

void tbp_framework_op_add(const struct tbp_framework_op *op, const struct tbp_grow_span *s,
                          struct tbp_grow *scope_line, struct tbp_grow *op_line) {
    tbp_grow_add_levels(scope_line, op->scopes, op->n_scopes, s, NULL);
    tbp_grow_add(op_line, op->meta, s, (struct tbp_grow_scope){0}, 0);
}
