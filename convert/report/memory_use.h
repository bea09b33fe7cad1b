/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that was taken and given back on one host, by time: sums over any interval in two binary
 * searches, and what no interval asked for has claimed.
 */
#ifndef TBP_CONVERT_REPORT_MEMORY_USE_H
#define TBP_CONVERT_REPORT_MEMORY_USE_H

#include "base/vec.h"
#include "convert/model/model.h"

struct tbp_memory_point {
    uint64_t time_ps;
    int64_t host_bytes, device_bytes; /* of this event; after ready: of it and all before */
    int64_t claims;                   /* intervals that begin here minus those that ended before */
};

struct tbp_memory_use {
    TBP_VEC(struct tbp_memory_point) points;
    bool has_device;
};

struct tbp_memory_sum {
    int64_t host_bytes, device_bytes;
};

void tbp_memory_use_collect(struct tbp_memory_use *m, const struct tbp_host *h);
void tbp_memory_use_release(struct tbp_memory_use *m);
/* Sum over start_ps … end_ps, both included. claim: the events in it have an owner. */
struct tbp_memory_sum tbp_memory_use_within(struct tbp_memory_use *m, uint64_t start_ps,
                                            uint64_t end_ps, bool claim);
/* What nobody has claimed, and how many events that are. */
struct tbp_memory_sum tbp_memory_use_unclaimed(const struct tbp_memory_use *m, uint64_t *count);

/* Whose memory an allocator of this name gives. */
bool tbp_is_host_allocator(struct tbp_str name);

static inline bool tbp_is_memory_event(enum tbp_event_kind kind) {
    return kind == TBP_EVENT_MEMORY_ALLOCATION || kind == TBP_EVENT_MEMORY_DEALLOCATION;
}

#endif
