/* SPDX-License-Identifier: Apache-2.0
 *
 * Which forward op a backward op belongs to, as PyTorch's traces tell it: by flow events of the
 * category "fwdbwd", whose ids count for themselves (those of "ac2g", from launches to kernels, are
 * the same numbers). A flow begins and ends where an op on the same thread begins. The backward op
 * gets the stat "forward_op" and, if the file tells the forward op's stack, "forward_stack".
 * Ownership: release after apply. One thread.
 */
#ifndef TBP_CONVERT_READ_FORWARD_LINKS_H
#define TBP_CONVERT_READ_FORWARD_LINKS_H

#include "convert/read/trace_build.h"

struct tbp_flow_end {
    uint64_t id;
    int64_t start_ns;
    uint32_t track, start_ps;
    uint32_t row;  /* + 1: the op that begins there; 0: none */
    uint32_t next; /* + 1: another flow there */
};

struct tbp_forward_links {
    TBP_VEC(struct tbp_flow_end) ends[2]; /* in forward ops, in backward ops */
};

void tbp_forward_links_add(struct tbp_forward_links *f, bool is_backward,
                           const struct tbp_flow_end *end);
/* Before tbp_trace_finish. */
void tbp_forward_links_apply(struct tbp_forward_links *f, struct tbp_trace *t);
void tbp_forward_links_release(struct tbp_forward_links *f);

#endif
