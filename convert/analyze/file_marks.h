/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks in a rewritten profile (rewrite_xplane.h) of what can no longer be seen in it: stats of its
 * first plane, `tbprof_repair_…` per repair with how often it was made, `tbprof_epoch_ns`, from
 * which times counted; where anything was lost, what became of the events of the input, one stat
 * per counter of the ledger (`tbprof_event_dropped` …) and per sum of events
 * (`tbprof_events_dropped` …); and stat `tbprof_added` on a plane /host:CPU that only the official
 * plugin needs. The marks let every later reading tell the same as the first. The official plugin
 * passes over stats that it does not know. What was lost an export (report/export.h) tells by the
 * same names. Thread-safety: as for the host.
 */
#ifndef TBP_CONVERT_ANALYZE_FILE_MARKS_H
#define TBP_CONVERT_ANALYZE_FILE_MARKS_H

#include "convert/model/model.h"

/* Repairs that a rewritten file no longer needs (all others are made again of it); losses that it
 * no longer has; sums of events. */
enum { TBP_MARKS_OF_REPAIRS = 8, TBP_MARKS_OF_LOSSES = 18, TBP_MARKS_OF_SUMS = 3 };
enum {
    TBP_MARK_MERGED = TBP_MARKS_OF_REPAIRS + TBP_MARKS_OF_LOSSES,
    TBP_MARK_QUARANTINED,
    TBP_MARK_DROPPED
};
enum { TBP_FILE_MARKS = TBP_MARKS_OF_REPAIRS + TBP_MARKS_OF_LOSSES + TBP_MARKS_OF_SUMS };

#define TBP_MARK_EPOCH       "tbprof_epoch_ns"
#define TBP_MARK_ADDED_PLANE "tbprof_added"

/* Name of the stat that is mark k, and whether a stat is any of them. */
struct tbp_str tbp_file_mark_name(size_t k, struct tbp_arena *a);
bool tbp_is_file_mark(struct tbp_str stat_name);

/* For a host that was just read: counts the repairs that the file's marks tell in its ledger and
 * the losses in lost_before, leaves the added plane out. */
void tbp_file_marks_apply(struct tbp_host *h);
/* The part of the ledger's count that is from the file's marks. */
uint64_t tbp_repairs_told(const struct tbp_host *h, enum tbp_ledger_key key);
/* What the marks of a file written of the host, of which everything was counted, shall tell; 0: no
 * mark. Those of losses and sums need no more than that it was read. */
void tbp_file_marks_of(uint64_t n[TBP_FILE_MARKS], const struct tbp_host *h);

#endif
