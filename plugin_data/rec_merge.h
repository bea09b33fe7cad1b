/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of some kinds, of all threads, in order of time: for what threads share (allocators,
 * counters, activities). Memory: one place per thread. Chunks without such records are skipped.
 */
#ifndef TBP_PLUGIN_DATA_REC_MERGE_H
#define TBP_PLUGIN_DATA_REC_MERGE_H

#include "plugin_data/recording.h"

struct tbp_rec_cursor {
    struct tbp_rec rec; /* the next one of this thread */
    uint32_t thread, run;
    struct tbp_rec_walk walk;
};
struct tbp_rec_merge {
    const struct tbp_recording *recording;
    uint32_t kinds;
    struct tbp_rec_cursor *heap; /* earliest first; equal times in order of threads */
    size_t n;
};

/* kinds: TBP_REC_BITs. The heap lies in the arena. */
void tbp_rec_merge_init(struct tbp_rec_merge *m, const struct tbp_recording *s, uint32_t kinds,
                        struct tbp_arena *arena);
bool tbp_rec_merge_next(struct tbp_rec_merge *m, struct tbp_rec *r, uint32_t *thread);

#endif
