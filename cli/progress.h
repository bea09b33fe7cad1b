/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a long conversion is: a bar that redraws itself on a terminal, a line now and then
 * elsewhere, nothing when quiet. Shown only when the work takes longer than a moment.
 *
 *     tbp_progress_begin(&p, TBP_PROGRESS_BAR, stderr, total);
 *     tbp_progress_add(&p, done);          // from any thread
 *     tbp_progress_end(&p);                // wipes the bar
 *
 * The unit is bytes of work: rate and time left are of the same unit. Thread-safe.
 */
#ifndef TBP_CLI_PROGRESS_H
#define TBP_CLI_PROGRESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tbp_progress_mode { TBP_PROGRESS_OFF, TBP_PROGRESS_LINES, TBP_PROGRESS_BAR };

struct tbp_progress {
    enum tbp_progress_mode mode;
    FILE *out;
    uint64_t total, done;
    double start_s, shown_s; /* monotonic; shown_s: when something was last shown */
    bool was_shown;
    pthread_mutex_t lock;
};

void tbp_progress_begin(struct tbp_progress *p, enum tbp_progress_mode mode, FILE *out,
                        uint64_t total_bytes);
void tbp_progress_add(struct tbp_progress *p, uint64_t bytes);
void tbp_progress_end(struct tbp_progress *p);

/* The text of one state, without line end: "[#####     ]  50 %  120.0 MB/s  0:04 left". Pure. */
void tbp_progress_text(char *buf, size_t size, bool bar, uint64_t done, uint64_t total,
                       double elapsed_s);

#endif
