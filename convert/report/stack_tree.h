/* SPDX-License-Identifier: Apache-2.0
 *
 * Stacks and the time spent in them: a tree of frames, each node with the time of its own. One pass
 * over the host lines; memory is that of the distinct stacks.
 *
 * Frames are Python functions where the profile has them, as in PyTorch's export_stacks: the time
 * of an op or function counts for the stack that called it. Otherwise every event is a frame.
 */
#ifndef TBP_CONVERT_REPORT_STACK_TREE_H
#define TBP_CONVERT_REPORT_STACK_TREE_H

#include "base/vec.h"
#include "convert/model/model.h"

enum tbp_frames { TBP_FRAMES_AUTO, TBP_FRAMES_PYTHON, TBP_FRAMES_ALL };

enum { TBP_MAX_NESTED = 4096 }; /* frames of a stack; what is deeper counts for the last */

struct tbp_stack_node {
    uint32_t parent; /* 0: the root, which is no frame */
    uint32_t name;
    int64_t host_ps, device_ps; /* self time; work of devices launched there */
};

struct tbp_stack_tree {
    TBP_VEC(struct tbp_stack_node) nodes; /* parents before children */
    struct tbp_strtab names;
    struct tbp_idmap by_frame; /* parent, name -> node */
};

void tbp_stack_tree_add(struct tbp_stack_tree *t, const struct tbp_host *h, enum tbp_frames frames);
void tbp_stack_tree_release(struct tbp_stack_tree *t);

#endif
