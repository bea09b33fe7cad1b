/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of one host: per allocator the timeline of its allocations, the peak of the window and
 * what was allocated at that peak. Made of the MemoryAllocation and MemoryDeallocation events of
 * /host:CPU. Rules: ../shared/spec/tables/RULES.md 13 and 17.6.
 *
 * Ownership: the session; text is borrowed from the host's bytes. The pass keeps 56 bytes for each
 * such event and gives them back; the table holds whole snapshots only of what a page shows.
 * Thread-safety: as analyze/session.h; the table is const.
 */
#ifndef TBP_CONVERT_ANALYZE_MEMORY_TIMELINE_H
#define TBP_CONVERT_ANALYZE_MEMORY_TIMELINE_H

#include "convert/analyze/session.h"

/* A page shows at most this many points of the timeline. */
enum { TBP_MEMORY_MAX_SAMPLES = 1000 };

struct tbp_memory_stats {
    int64_t stack_bytes, heap_bytes, free_bytes, peak_bytes;
    double fragmentation;
};

struct tbp_memory_activity {
    bool is_deallocation;
    int64_t requested_bytes, allocated_bytes;
    uint64_t address;
    struct tbp_str op, region, data_type, shape;
    int64_t step;
};

struct tbp_memory_snapshot {
    int64_t time_ps; /* offset in the line */
    struct tbp_memory_stats stats;
    struct tbp_memory_activity activity;
};

/* One row of what is allocated at the peak. A special row (snapshot and special < 0 marks which)
 * stands for memory that no event explains. */
struct tbp_memory_active {
    int64_t snapshot; /* index in `kept`; special row k: -k - 1 */
    int64_t special;  /* index in `special`, or -1 */
    int64_t n;        /* equal allocations */
};

struct tbp_memory_allocator {
    struct tbp_str id;
    int64_t lifetime_peak_bytes;
    struct tbp_memory_stats at_peak; /* peak_bytes: stack + heap */
    int64_t peak_time_ps, capacity_bytes;
    struct tbp_memory_snapshot
        *kept; /* of the active rows; with the semantics of TensorFlow: all, by time */
    struct tbp_memory_snapshot *sampled; /* none with the semantics of TensorFlow */
    struct tbp_memory_active *active;
    struct tbp_memory_activity *special;
    size_t n_kept, n_sampled, n_active, n_special;
};

struct tbp_memory_module { /* one run of an XLA module on a TPU */
    struct tbp_str name, plane;
    int64_t start_ps, end_ps;
};

struct tbp_memory_timeline {
    bool has_host_plane;                     /* false: nothing else is filled */
    struct tbp_memory_allocator *allocators; /* by id, byte order */
    struct tbp_memory_module *modules;
    size_t n_allocators, n_modules;
};

extern const struct tbp_analysis tbp_analysis_memory_timeline;

static inline const struct tbp_memory_timeline *
tbp_memory_timeline(struct tbp_session *s, uint32_t host, struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_memory_timeline, host, err);
}

#endif
