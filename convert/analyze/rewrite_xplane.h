/* SPDX-License-Identifier: Apache-2.0
 *
 * A host written as a profile file again, so that what tbprof repairs or survives is seen by the
 * official plugin too: steps from step_num get `_r`, an unsigned step_num becomes signed, the op in
 * stat "level 0" becomes tf_op, `shm:` becomes `static_shared:`, a GPU plane gets its
 * device_vendor, times since the epoch become times since the start, events stand in order of time.
 * What was repaired or lost is marked (file_marks.h), so that the file tells it again. Bytes that
 * no reader accepts are left out, texts become UTF-8. All else is copied as it stands: grouping,
 * derived lines and other results of analyses are not written; the plugin makes them again.
 * Thread-safety: the host is only read.
 */
#ifndef TBP_CONVERT_ANALYZE_REWRITE_XPLANE_H
#define TBP_CONVERT_ANALYZE_REWRITE_XPLANE_H

#include "convert/analyze/session.h"
#include "plugin_data/sink.h"

/* Whether the file as it is will not do: repaired, damaged, or without a host plane. h must be of s
 * and loaded. */
bool tbp_rewrite_xplane_is_needed(const struct tbp_session *s, const struct tbp_host *h);

struct tbp_rewritten {
    uint64_t n_left_out;      /* events */
    uint64_t too_large_bytes; /* what the file would have had; 0: it was written */
};

/* Writes a host that is loaded; the sink is not finished. A file of max_bytes (0: what readers
 * accept) or more is thinned: the shortest host events without well-known stats are left out. If
 * that is not enough, nothing is written: TBP_E_LIMIT with the size in *out. */
int tbp_rewrite_xplane(struct tbp_session *s, uint32_t host, uint64_t max_bytes,
                       struct tbp_sink *sink, struct tbp_rewritten *out, struct tbp_error *err);

#endif
