/* SPDX-License-Identifier: Apache-2.0
 *
 * Activities: work that begins on one thread and ends on another. They are paired by id over all
 * threads and spread over as few lines ("lanes") as they need not to overlap. Memory: 9 bytes per
 * activity. Ownership: the holder's.
 */
#ifndef TBP_PLUGIN_DATA_REC_ACTIVITY_H
#define TBP_PLUGIN_DATA_REC_ACTIVITY_H

#include "plugin_data/rec_live.h"
#include "plugin_data/rec_merge.h"

enum { TBP_REC_LANES = 32 }; /* beyond, activities overlap on the last lane */

struct tbp_rec_activity {
    uint32_t begin, end; /* slots; end 0: open to the end */
};
struct tbp_rec_activities {
    TBP_VEC(struct tbp_rec_activity) list; /* in order of begin */
    TBP_VEC(uint8_t) lanes;
    TBP_VEC(uint32_t) carried; /* in: slots of those that an earlier snapshot left open */
    unsigned n_lanes;
    uint64_t n_without_begin, n_open;
};
void tbp_rec_activities_release(struct tbp_rec_activities *a);
void tbp_rec_activities_read(struct tbp_rec_activities *a, const struct tbp_recording *s,
                             struct tbp_arena *arena);

#endif
