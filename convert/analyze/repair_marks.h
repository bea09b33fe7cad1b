/* SPDX-License-Identifier: Apache-2.0
 *
 * Marks of what was repaired in a rewritten profile (rewrite_xplane.h): on its first plane one stat
 * `tbprof_repair_…` per repair, with how often it was made, and `tbprof_epoch_ns`, from which times
 * counted; and stat `tbprof_added` on a plane /host:CPU that only the official plugin needs. None
 * of it can be seen in such a file any more; the marks let every later reading tell the same as the
 * first. The official plugin passes over stats that it does not know. Thread-safety: as for the
 * host.
 */
#ifndef TBP_CONVERT_ANALYZE_REPAIR_MARKS_H
#define TBP_CONVERT_ANALYZE_REPAIR_MARKS_H

#include "convert/model/model.h"

/* The repairs that a rewritten file no longer needs; all others are made again of it. */
enum { TBP_REPAIR_MARKS = 8 };
extern const enum tbp_ledger_key tbp_repair_marks[TBP_REPAIR_MARKS];

#define TBP_MARK_EPOCH       "tbprof_epoch_ns"
#define TBP_MARK_ADDED_PLANE "tbprof_added"

/* Name of the stat that marks a repair, and whether a stat is one of them. */
struct tbp_str tbp_repair_mark_name(enum tbp_ledger_key key, struct tbp_arena *a);
bool tbp_is_repair_mark(struct tbp_str stat_name);

/* For a host that was just read: counts what the file's marks tell, leaves the added plane out. */
void tbp_repair_marks_apply(struct tbp_host *h);
/* The part of the ledger's count that is from the file's marks. */
uint64_t tbp_repairs_told(const struct tbp_host *h, enum tbp_ledger_key key);

#endif
