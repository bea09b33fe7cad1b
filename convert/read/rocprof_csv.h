/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of rocprof and rocprofv3 (*.csv): kernels, copies, calls and markers, put into a trace of
 * a GPU. Which table it is, its heading says.
 */
#ifndef TBP_CONVERT_READ_ROCPROF_CSV_H
#define TBP_CONVERT_READ_ROCPROF_CSV_H

#include "convert/read/gpu_trace.h"

enum tbp_rocprof_table {
    TBP_ROCPROF_NONE,
    TBP_ROCPROF_KERNELS,
    TBP_ROCPROF_COPIES,
    TBP_ROCPROF_CALLS
};

/* bytes may be cut behind the heading. */
enum tbp_rocprof_table tbp_rocprof_table_of(struct tbp_str bytes);

/* Devices are numbered in order of their agents; all tables of a run must be seen by note_agents
 * before any is read. */
struct tbp_rocprof_agents {
    TBP_VEC(int64_t) ids; /* in order */
};
void tbp_rocprof_note_agents(struct tbp_rocprof_agents *a, struct tbp_str bytes);
/* Returns the number of events of devices. */
uint64_t tbp_rocprof_read_table(struct tbp_gpu_trace *g, const struct tbp_rocprof_agents *a,
                                struct tbp_str bytes);

#endif
