/* SPDX-License-Identifier: Apache-2.0
 *
 * What the analyses of TPU planes share: facts of an op from its event metadata, the device's own
 * clock, the nesting of ops on a line, and where a core is.
 *
 *     struct tbp_tpu_nest n;
 *     tbp_tpu_nest_begin(&n, line);
 *     for (i …) { tbp_tpu_nest_add(&n, i); while (tbp_tpu_nest_pop(&n, &node)) …; }
 *     tbp_tpu_nest_end(&n); while (tbp_tpu_nest_pop(&n, &node)) …; tbp_tpu_nest_release(&n);
 *
 * Source: ../shared/spec/tables/RULES.md 8, spec/pages/RULES.md 10.
 */
#ifndef TBP_CONVERT_ANALYZE_TPU_PLANE_H
#define TBP_CONVERT_ANALYZE_TPU_PLANE_H

#include "base/vec.h"
#include "convert/analyze/session.h"

/* An op as its event metadata describes it. Of equal stats the last one counts. */
struct tbp_tpu_op {
    struct tbp_str name; /* display name, else name */
    struct tbp_str text; /* the instruction's text if there is a display name, else empty */
    struct tbp_str category, provenance;
    uint64_t program_id, symbol_id;
    uint64_t flops, model_flops, bytes; /* of one execution */
    bool is_op;       /* has program and symbol; symbol 0 is the root of a program */
    bool is_off_duty; /* waits for others */
    bool is_custom_call;
    bool is_framework_op; /* tf_op is not empty */
};

/* Facts per metadata entry of the plane, by its index. */
const struct tbp_tpu_op *tbp_tpu_ops_of_plane(const struct tbp_plane *p, struct tbp_arena *a);

bool tbp_tpu_is_op_line(struct tbp_str name);   /* XLA Ops, Framework Ops, Sparse Core Ops */
bool tbp_tpu_is_step_line(struct tbp_str name); /* Steps, Sparse Core Steps */

struct tbp_tpu_span {
    uint64_t begin_ps, end_ps;
};
/* By the device's clock if the event has it, else the event's own time. */
struct tbp_tpu_span tbp_tpu_event_span(const struct tbp_line *l, size_t i);

/* An event that has been left behind, with what its direct children took. */
struct tbp_tpu_node {
    size_t event;
    struct tbp_tpu_span span;
    uint64_t children_ps;
};
/* What its children did not take; never below 0 (children may lie beside each other). */
static inline uint64_t tbp_tpu_node_self_ps(const struct tbp_tpu_node *n) {
    uint64_t time_ps = n->span.end_ps - n->span.begin_ps;
    return time_ps > n->children_ps ? time_ps - n->children_ps : 0;
}
struct tbp_tpu_nest {
    const struct tbp_line *line;
    TBP_VEC(struct tbp_tpu_node) open;
    struct tbp_tpu_node next; /* waits until all that do not include it are popped */
    bool has_next, is_ending;
};
void tbp_tpu_nest_begin(struct tbp_tpu_nest *n, const struct tbp_line *l);
void tbp_tpu_nest_add(struct tbp_tpu_nest *n, size_t event);
void tbp_tpu_nest_end(struct tbp_tpu_nest *n);
bool tbp_tpu_nest_pop(struct tbp_tpu_nest *n, struct tbp_tpu_node *out);
void tbp_tpu_nest_release(struct tbp_tpu_nest *n);

struct tbp_tpu_core {
    int64_t ordinal, chip; /* of the device on its host; of the chip */
};
/* Stat core_details of the plane; false if it has none. */
bool tbp_tpu_core_of_plane(const struct tbp_plane *p, struct tbp_tpu_core *core);

#endif
