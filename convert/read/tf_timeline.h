/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices in timelines of TensorFlow 1, which have a process per stream ("/gpu:0/stream:7
 * Compute"), besides one for the kernels of all streams ("/gpu:0/stream:all Compute") and one for
 * all copies ("/gpu:0/memcpy Compute"). These two tell what the streams tell once more: such rows
 * are merged, what no stream has stays as work of the device. Where several workers have devices
 * these are numbered through, by worker and number, and the plane tells whose it is (`tf_device`).
 *
 *     tbp_tf_timeline_place(&tl, t, track, process_name);   // of each thread; the name stays
 *     tbp_tf_timeline_finish(&tl, t);
 *     tbp_tf_timeline_release(&tl);
 *
 * Source: reference trace_kernel_memory_import F.7.
 */
#ifndef TBP_CONVERT_READ_TF_TIMELINE_H
#define TBP_CONVERT_READ_TF_TIMELINE_H

#include "convert/read/trace_build.h"

/* "/job:worker/task:1/gpu:0" is not the GPU 0 of task 0. */
struct tbp_tf_device {
    uint32_t worker; /* number of a text in workers */
    uint32_t ordinal, plane;
};

struct tbp_tf_timeline {
    struct tbp_idmap roles;     /* track -> what kind of process it is of */
    struct tbp_idmap device_of; /* track -> index in devices */
    struct tbp_idmap index;     /* worker and number -> index in devices */
    struct tbp_strtab workers;  /* what stands before the device, empty included */
    TBP_VEC(struct tbp_tf_device) devices;
    bool has_streams, has_sums;
};

/* Takes a thread of such a process for its device; false if the process is no such. */
bool tbp_tf_timeline_place(struct tbp_tf_timeline *tl, struct tbp_trace *t, uint32_t track,
                           struct tbp_str process);
/* Once all threads are placed: gives devices their planes, merges repeats, gives rows the names of
 * their ops. */
void tbp_tf_timeline_finish(struct tbp_tf_timeline *tl, struct tbp_trace *t);
void tbp_tf_timeline_release(struct tbp_tf_timeline *tl);

#endif
