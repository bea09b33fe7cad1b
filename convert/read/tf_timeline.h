/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices in timelines of TensorFlow 1, which have a process per stream ("/gpu:0/stream:7
 * Compute"), besides one for the kernels of all streams ("/gpu:0/stream:all Compute") and one for
 * all copies ("/gpu:0/memcpy Compute"). These two tell what the streams tell once more: such rows
 * are merged, what no stream has stays as work of the device.
 *
 *     tbp_tf_timeline_place(&tl, t, track, process_name);   // of each thread
 *     tbp_tf_timeline_finish(&tl, t);
 *     tbp_tf_timeline_release(&tl);
 *
 * Source: reference trace_kernel_memory_import F.7.
 */
#ifndef TBP_CONVERT_READ_TF_TIMELINE_H
#define TBP_CONVERT_READ_TF_TIMELINE_H

#include "convert/read/trace_build.h"

struct tbp_tf_timeline {
    struct tbp_idmap roles; /* track -> what kind of process it is of */
    bool has_streams, has_sums;
};

/* Puts a thread of such a process on its device; false if the process is no such. */
bool tbp_tf_timeline_place(struct tbp_tf_timeline *tl, struct tbp_trace *t, uint32_t track,
                           struct tbp_str process);
/* Once all threads are placed: merges repeats, gives rows the names of their ops. */
void tbp_tf_timeline_finish(struct tbp_tf_timeline *tl, struct tbp_trace *t);
void tbp_tf_timeline_release(struct tbp_tf_timeline *tl);

#endif
