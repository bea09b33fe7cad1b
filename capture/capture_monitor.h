/* SPDX-License-Identifier: Apache-2.0
 *
 * How busy this process is: figures of the system, and the text that Monitor answers with.
 */
#ifndef TBP_CAPTURE_CAPTURE_MONITOR_H
#define TBP_CAPTURE_CAPTURE_MONITOR_H

#include "capture/capture_scan.h"
#include "capture/session_ops.h"

#include <stdbool.h>

struct tbp_process_sample {
    int64_t monotonic_ns, realtime_ns, cpu_ns;
    uint64_t resident_bytes, n_threads;
};
void tbp_process_sample(struct tbp_process_sample *sample);

struct tbp_monitor {
    struct tbp_process_sample before, after;
    const struct tbp_capture_scan *scan; /* of a recording in between; NULL: there was none */
    const char *why_no_scan;
    const tbprof_counts *counts; /* level 2; NULL: none */
    uint64_t recorded_ms;
    int level;
    bool shows_time;
};
/* Lines for people. Returns the size, which is less than `size`. */
/* Records that are missing, whatever the reason. */
uint64_t tbp_capture_lost(const tbprof_counts *counts);
size_t tbp_monitor_text(const struct tbp_monitor *m, char *to, size_t size);

#endif
