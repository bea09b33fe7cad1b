/* SPDX-License-Identifier: Apache-2.0
 *
 * Typed spans that overlap -> for each group of spans how long each type was the highest one open.
 *
 *     tbp_sweep_init(&s, spans, n, n_groups, pool);
 *     for (g …) tbp_sweep_group(&s, g, clip_begin_ps, clip_end_ps, &sums);
 *     tbp_sweep_release(&s);
 *
 * Time is cut at every begin and end (at the same time: ends first, then higher types first); the
 * piece between two neighbouring cuts belongs to the highest open type, to UNKNOWN if none is. A
 * span of no length leaves its type in force until the next cut that changes it: the official
 * reading does so. Source: spec pages/RULES.md 3.4 and 3.6. Ownership: the sweep owns its keys, on
 * the heap. Thread-safety: const after init.
 */
#ifndef TBP_CONVERT_ANALYZE_SWEEP_H
#define TBP_CONVERT_ANALYZE_SWEEP_H

#include "base/pool.h"

#include <stddef.h>
#include <stdint.h>

/* What a piece of a step was spent on; the order is the priority, larger wins. */
enum tbp_step_part {
    TBP_PART_UNKNOWN,
    TBP_PART_HOST_COMPUTE,
    TBP_PART_HOST_COMPILE,
    TBP_PART_HOST_TO_HOST,
    TBP_PART_HOST_TO_DEVICE,
    TBP_PART_HOST_PREPARE,
    TBP_PART_COLLECTIVES,
    TBP_PART_HOST_WAIT_INPUT,
    TBP_PART_DEVICE_TO_DEVICE,
    TBP_PART_DEVICE_TO_HOST,
    TBP_PART_COMPUTE_32,
    TBP_PART_COMPUTE_16,
    TBP_STEP_PARTS
};

struct tbp_span {
    uint64_t start_ps, end_ps;
    uint32_t group; /* 0 … n_groups-1 */
    uint32_t part;  /* enum tbp_step_part */
};

struct tbp_sweep {
    uint64_t *keys;    /* of all groups, each group's together and in order:
                          time << 5 | is start << 4 | 15 - part */
    uint64_t *first;   /* n_groups + 1: where the keys of a group begin */
    uint64_t *base_ps; /* per group: what the time in its keys counts from */
    uint64_t *times;   /* groups longer than 2^59 ps: their keys hold an index into this instead */
    size_t n_groups, n_times;
};

struct tbp_sweep_sums {
    uint64_t clipped_ps[TBP_STEP_PARTS]; /* within [clip_begin, clip_end] */
    uint64_t whole_ps[TBP_STEP_PARTS];
    uint32_t seen; /* bit per part: it had a piece, if only one of no length */
};

/* pool: groups are sorted side by side; NULL is fine. */
void tbp_sweep_init(struct tbp_sweep *s, const struct tbp_span *spans, size_t n, size_t n_groups,
                    struct tbp_pool *pool);
void tbp_sweep_group(const struct tbp_sweep *s, size_t group, uint64_t clip_begin_ps,
                     uint64_t clip_end_ps, struct tbp_sweep_sums *out);
void tbp_sweep_release(struct tbp_sweep *s);

#endif
