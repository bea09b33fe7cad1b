/* SPDX-License-Identifier: Apache-2.0
 *
 * What the databases of GPU profilers have in common: events by two columns of times, launches by
 * the columns of CUPTI's records. Columns are numbers in a selection (sqlite_source.h).
 */
#ifndef TBP_CONVERT_READ_SQLITE_GPU_H
#define TBP_CONVERT_READ_SQLITE_GPU_H

#include "convert/read/gpu_trace.h"
#include "convert/read/sqlite_source.h"

/* What cannot be negative: 0 where it is, or is NULL. */
uint64_t tbp_sqlite_size(const struct tbp_sqlite_rows *r, unsigned column);

/* Start and duration of an event of which nothing else is known yet; without an end it lasts
 * nothing. false: it has no start, which is counted. */
bool tbp_sqlite_begin_event(struct tbp_gpu_trace *g, const struct tbp_sqlite_rows *r,
                            struct tbp_trace_event *e, unsigned start, unsigned end);

enum { TBP_SQLITE_LAUNCH_COLUMNS = 9 };
#define TBP_SQLITE_LAUNCH                                                                          \
    "registersPerThread", "staticSharedMemory", "dynamicSharedMemory", "gridX", "gridY", "gridZ",  \
        "blockX", "blockY", "blockZ"
/* The launch of a kernel on a device, from these columns. */
struct tbp_gpu_kernel tbp_sqlite_launch(const struct tbp_sqlite_rows *r, unsigned first,
                                        int64_t device);

/* A wait on a stream of a device or context; the stream of all ones is none. */
void tbp_sqlite_add_wait(struct tbp_gpu_trace *g, const struct tbp_sqlite_rows *r,
                         struct tbp_trace_event *e, int64_t device, unsigned stream, unsigned kind);

#endif
