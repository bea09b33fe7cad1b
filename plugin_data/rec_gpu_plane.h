/* SPDX-License-Identifier: Apache-2.0
 *
 * The planes /device:GPU:N of a recording, and the stats of what a GPU is concerned with on lines
 * of the host. Names and stats: as XLA's profiler writes them, which the Profile tab expects.
 * Memory: names and texts. Ownership: borrows all it is given. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_GPU_PLANE_H
#define TBP_PLUGIN_DATA_REC_GPU_PLANE_H

#include "plugin_data/rec_gpu.h"
#include "plugin_data/rec_stats.h"

/* Names of the planes, made in the first pass and the same in the second. */
struct tbp_rec_gpu_planes {
    const struct tbp_rec_gpu *gpu;
    struct tbp_arena *arena;
    struct tbp_rec_gpu_names *names; /* one for each ordinal */
    int64_t max_start_ps;            /* events after are left out */
    /* counted in each pass anew */
    uint64_t n_events, n_too_late;
};
void tbp_rec_gpu_planes_init(struct tbp_rec_gpu_planes *p, const struct tbp_rec_gpu *g,
                             struct tbp_arena *arena);
void tbp_rec_gpu_planes_release(struct tbp_rec_gpu_planes *p);
void tbp_rec_gpu_planes_write(struct tbp_rec_gpu_planes *p, struct tbp_xspace_out *o);

/* A call, an allocation, a wait, an overhead: its label, and its stats. */
struct tbp_rec_label tbp_rec_gpu_label(struct tbp_rec_names *names, const struct tbp_rec *r);
void tbp_rec_gpu_stats(const struct tbp_rec_gpu *g, struct tbp_rec_stats *stats,
                       const struct tbp_rec *r);

#endif
