/* SPDX-License-Identifier: Apache-2.0
 *
 * Averages per op: what PyTorch calls key_averages, from the events of any host. One pass over the
 * lines; memory is that of the rows, of the open events of one line, and of two small lists (device
 * time per launch, memory events).
 *
 * - Host events nest by time on their line: total = duration, self = total - totals of the direct
 *   children. Events that only overlap do not nest, so self can be negative, as in PyTorch.
 * - A single child of the same name is one with its parent (recorded functions log twice).
 * - Device time of a host event: work of devices that it or what is nested in it has launched, by
 *   correlation id; self: what it has launched itself. Device events are rows of their own.
 * - Memory of a host event: what was allocated minus freed while it ran, on any thread (as PyTorch
 *   counts); self: minus that of its children. What no event encloses is the row "[memory]".
 * Source: reference trace_kernel_memory_import G.1.1.
 */
#ifndef TBP_CONVERT_REPORT_OP_AVERAGES_H
#define TBP_CONVERT_REPORT_OP_AVERAGES_H

#include "base/vec.h"
#include "convert/model/model.h"

enum tbp_average_group { /* what tells rows of one name apart */
                         TBP_GROUP_NAME,
                         TBP_GROUP_SHAPE,
                         TBP_GROUP_STACK,
                         TBP_GROUP_THREAD,
                         TBP_GROUP_DEVICE,
                         TBP_GROUP_MODULE,
                         TBP_GROUP_HOST,
                         TBP_GROUP_TYPE, /* one row per type of op instead of per name */
};

struct tbp_average {
    struct tbp_str name, category, group;
    bool is_device;
    uint64_t count;
    int64_t self_ps, total_ps;               /* of the row's own side: host or device */
    int64_t self_device_ps, total_device_ps; /* of a device row: the same as above */
    int64_t self_host_bytes, host_bytes, self_device_bytes, device_bytes;
    uint64_t min_ps, max_ps;
    double mean_ps, spread; /* of the durations; spread: sum of squared differences to the mean */
};

struct tbp_averages {
    TBP_VEC(struct tbp_average) rows;
    struct tbp_strtab names, categories, groups;
    struct tbp_idmap by_key, name_pairs;
    int64_t self_host_ps, device_ps; /* sums over all rows */
    uint64_t window_ps; /* from the first event to the last; of the host with the longest */
    bool has_memory, has_device_memory;
    uint64_t n_clamped;  /* ended a unit of the clock after the event around: cut there */
    uint64_t n_crossing; /* ended later than that: siblings of what they begin in */
};

/* depth: frames of a stack that count, with TBP_GROUP_STACK. Texts borrow from the host, which must
 * stay (its events need not). */
void tbp_averages_add_host(struct tbp_averages *a, const struct tbp_host *h,
                           struct tbp_str host_name, enum tbp_average_group group, unsigned depth,
                           struct tbp_arena *arena);
void tbp_averages_release(struct tbp_averages *a);

/* Standard deviation of the durations (of the whole population). */
double tbp_average_stddev_ps(const struct tbp_average *a);

#endif
