/* SPDX-License-Identifier: Apache-2.0
 *
 * A quick look into a profile's bytes: is there anything in it, how long were its steps, what do
 * its authors complain about? Reads each event's head only. Hostile bytes end the look, nothing
 * else. Texts are views of the bytes. Pure, thread-safe.
 */
#ifndef TBP_CAPTURE_CAPTURE_SCAN_H
#define TBP_CAPTURE_CAPTURE_SCAN_H

#include "base/str.h"

enum { TBP_SCAN_MAX_TEXTS = 16 }; /* kept of each kind; there are a dozen reasons for a loss */

struct tbp_scan_texts {
    uint64_t n; /* all there are; the first ones are in `at` */
    struct tbp_str at[TBP_SCAN_MAX_TEXTS];
};

struct tbp_capture_scan {
    uint64_t n_events; /* that last: counters and instants are no work */
    uint64_t n_steps, min_step_ps, max_step_ps, sum_step_ps; /* events with a step_num */
    uint64_t device_busy_ps;                                 /* the busiest line of a device */
    struct tbp_scan_texts errors, warnings;
};

void tbp_capture_scan(struct tbp_capture_scan *scan, struct tbp_str xspace);

#endif
