/* SPDX-License-Identifier: Apache-2.0
 *
 * The marker `events.out.tfevents.<seconds>.<host>.profile-empty`: an event file of one record and
 * 40 bytes that makes TensorBoard list the folder as a run even if no summaries were written to it.
 * It lies in the folder above plugins/. Older plugins need it; it does no harm to newer ones.
 */
#ifndef TBP_PLUGIN_DATA_MARKER_H
#define TBP_PLUGIN_DATA_MARKER_H

#include "plugin_data/sink.h"

enum { TBP_MARKER_BYTES = 40 };

/* The file's bytes for a time in seconds since 1970. */
int tbp_marker_bytes(struct tbp_sink *out, double wall_time_s, struct tbp_error *err);

/* Writes the marker into logdir, which must exist, unless one is there. */
int tbp_marker_write(const char *logdir, const char *hostname, int64_t time_s,
                     struct tbp_error *err);

#endif
