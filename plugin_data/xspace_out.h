/* SPDX-License-Identifier: Apache-2.0
 *
 * The one writer of profile files (XSpace, schemas/xplane.proto): streams to a sink with memory for
 * one event, not for one file. Protobuf wants lengths before contents, so the source of the events
 * is asked twice, once to measure and once to write; it must make the same calls both times.
 *
 *     static int source(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err) {
 *         tbp_xspace_plane(o, 1, TBP_STR("/host:CPU"));
 *         tbp_xspace_stat_name(o, 1, TBP_STR("step_num"));      // names of the plane: before or
 * after its lines tbp_xspace_event_name(o, 1, TBP_STR("train"), TBP_STR_NONE); tbp_xspace_line(o,
 * &(struct tbp_xspace_line){.id = 7, .name = TBP_STR("main")}); tbp_xspace_event(o, 1, 5000, 2000);
 *         tbp_xspace_stat_i64(o, 1, 3);                          // of what was begun last: event,
 * event name or plane return TBP_OK;
 *     }
 *     tbp_xspace_write(sink, source, ctx, 0, NULL, err);
 *
 * What it sees to: every file has a plane /host:CPU (plugin 2.19.0 fails without one), text is
 * UTF-8 (the official reader refuses a file otherwise; bad bytes become U+FFFD), a file stays below
 * 2 GiB (protobuf readers stop there). Ownership: the caller's sink and texts; nothing is kept.
 * Thread-safety: one thread at a time per writer.
 */
#ifndef TBP_PLUGIN_DATA_XSPACE_OUT_H
#define TBP_PLUGIN_DATA_XSPACE_OUT_H

#include "base/str.h"
#include "plugin_data/sink.h"
#include "schemas/wire.h"

#define TBP_XSPACE_MAX_BYTES 2147483647u

struct tbp_xspace_out;
typedef int tbp_xspace_source(void *ctx, struct tbp_xspace_out *o, struct tbp_error *err);

/* Does not finish the sink. *size_bytes (NULL allowed) is the size of the file, also when it is
 * larger than max_bytes (0: than readers accept): TBP_E_LIMIT, and nothing is written. */
int tbp_xspace_write(struct tbp_sink *sink, tbp_xspace_source *source, void *ctx,
                     uint64_t max_bytes, uint64_t *size_bytes, struct tbp_error *err);
/* Only measures. */
int tbp_xspace_measure(tbp_xspace_source *source, void *ctx, uint64_t *size_bytes,
                       struct tbp_error *err);

/* ---- of the file, between planes ---- */
void tbp_xspace_hostname(struct tbp_xspace_out *o, struct tbp_str s);
void tbp_xspace_error(struct tbp_xspace_out *o, struct tbp_str s);
void tbp_xspace_warning(struct tbp_xspace_out *o, struct tbp_str s);

/* ---- planes and their names ---- */
void tbp_xspace_plane(struct tbp_xspace_out *o, int64_t id, struct tbp_str name);
void tbp_xspace_stat_name(struct tbp_xspace_out *o, int64_t id, struct tbp_str name);
void tbp_xspace_event_name(struct tbp_xspace_out *o, int64_t id, struct tbp_str name,
                           struct tbp_str display_name);
/* A whole XEventMetadata message. Its texts must be UTF-8. */
void tbp_xspace_event_name_raw(struct tbp_xspace_out *o, int64_t id, struct tbp_str message);

/* ---- lines and events ---- */
struct tbp_xspace_line {
    int64_t id, display_id;
    struct tbp_str name, display_name;
    int64_t timestamp_ns, duration_ps;
};
void tbp_xspace_line(struct tbp_xspace_out *o, const struct tbp_xspace_line *l);
void tbp_xspace_event(struct tbp_xspace_out *o, int64_t name_id, int64_t offset_ps, int64_t dur_ps);
/* An event without a place in time: how often it happened. */
void tbp_xspace_event_count(struct tbp_xspace_out *o, int64_t name_id, int64_t n_occurrences,
                            int64_t dur_ps);
/* Events as they lie in a line of another file, keys and lengths included, one after the other. */
void tbp_xspace_events_raw(struct tbp_xspace_out *o, struct tbp_str fields);
/* Begins an event with a whole XEvent message; stats may follow. Its texts must be UTF-8. */
void tbp_xspace_event_raw(struct tbp_xspace_out *o, struct tbp_str message);

/* ---- stats of what was begun last: event, event name, or plane ---- */
void tbp_xspace_stat_i64(struct tbp_xspace_out *o, int64_t name_id, int64_t v);
void tbp_xspace_stat_u64(struct tbp_xspace_out *o, int64_t name_id, uint64_t v);
void tbp_xspace_stat_double(struct tbp_xspace_out *o, int64_t name_id, double v);
void tbp_xspace_stat_str(struct tbp_xspace_out *o, int64_t name_id, struct tbp_str v);
void tbp_xspace_stat_bytes(struct tbp_xspace_out *o, int64_t name_id, struct tbp_str v);
/* Stats of an event as they lie in one of another file, keys and lengths included, one after the
 * other. Their texts must be UTF-8. */
void tbp_xspace_stats_raw(struct tbp_xspace_out *o, struct tbp_str fields);
/* A whole XStat message. Its text must be UTF-8. */
void tbp_xspace_stat_raw(struct tbp_xspace_out *o, struct tbp_str message);
/* The text is the name of the plane's stat `text_id`. */
void tbp_xspace_stat_ref(struct tbp_xspace_out *o, int64_t name_id, int64_t text_id);

#endif
