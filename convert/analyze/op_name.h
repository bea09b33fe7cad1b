/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of op names ("name:type", tf.data, memcpy, JAX) and what follows from a name.
 * Source: ../shared/spec/tables/RULES.md 2 (verified against the newest official converter). Pure,
 * thread-safe, no allocation: parts are views into the given text.
 */
#ifndef TBP_CONVERT_ANALYZE_OP_NAME_H
#define TBP_CONVERT_ANALYZE_OP_NAME_H

#include "convert/analyze/session.h"

enum tbp_op_category {
    TBP_OP_UNKNOWN,
    TBP_OP_TENSORFLOW,
    TBP_OP_JAX,
    TBP_OP_TF_DATA,
    TBP_OP_MEMCPY_H2D,
    TBP_OP_MEMCPY_D2H,
    TBP_OP_MEMCPY_D2D,
    TBP_OP_MEMCPY_H2H,
};

struct tbp_op_name {
    enum tbp_op_category category;
    struct tbp_str name, type;
};

struct tbp_op_name tbp_op_name_parse(struct tbp_str full);
/* Rule 17.1: TensorFlow 2.4-2.8 allow no '-' in names. */
struct tbp_op_name tbp_op_name_parse_for(struct tbp_str full, enum tbp_semantics semantics);
/* A name whose op computes gradients (decides Training or Inference). */
bool tbp_op_has_gradient_evidence(struct tbp_str name, struct tbp_str type);
/* Text shown in the trace for an op: type of TensorFlow ops, "name:type" parts as in
 * host_and_op_analysis 3. */
struct tbp_str tbp_op_event_name(struct tbp_str full, struct tbp_arena *a);
bool tbp_op_is_infeed_enqueue(struct tbp_str type); /* type starts with InfeedEnqueue */

/* What a host event is in grouping: a well-known name, else TF_OP_RUN / ITERATOR by grammar, else
 * TBP_EVENT_OTHER. (EagerExecute stays EAGER_EXECUTE.) Cached by the caller per metadata entry. */
enum tbp_event_kind tbp_op_event_kind(const struct tbp_meta *m);

#endif
