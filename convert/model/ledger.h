/* SPDX-License-Identifier: Apache-2.0
 *
 * The ledger of one host: what was read, and what became of it. For events
 *     read = emitted + merged + quarantined + dropped
 * always holds. Every odd thing is a named counter with the first place it was seen; nothing is
 * lost in silence. Thread-safety: tbp_ledger_count may be called from many threads; the sums of
 * events belong to one thread, and tbp_ledger_add folds several ledgers together.
 */
#ifndef TBP_CONVERT_MODEL_LEDGER_H
#define TBP_CONVERT_MODEL_LEDGER_H

#include "base/status.h"

/* Whether a counter tells that bytes are cut or broken, which is more than odd: pages, warnings and
 * findings say so, and such a file is not copied as it is. */
enum tbp_damage {
    TBP_DAMAGE_NONE,
    TBP_DAMAGE_VALUE, /* of one value, seen by the analyses that open it: pages must be the same
                         whatever was asked for before, and say nothing of it */
    TBP_DAMAGE_FILE,  /* seen while reading */
};

/* X(enum suffix, key, what it means in words, is it a loss, suffix of enum tbp_damage) */
#define TBP_LEDGER_COUNTERS(X)                                                                     \
    X(BAD_WIRE, "bad_wire", "messages cut short at bytes that are no protobuf", 1, FILE)           \
    X(TRUNCATED, "truncated", "values which run past the end of their message", 1, FILE)           \
    X(EVENT_DROPPED, "event_dropped", "events that could not be read", 1, FILE)                    \
    X(STAT_DROPPED, "stat_dropped", "stats that could not be read", 1, FILE)                       \
    X(INVALID_UTF8, "invalid_utf8",                                                                \
      "texts that are not UTF-8 (shown with replacement characters)", 0, NONE)                     \
    X(DANGLING_EVENT_ID, "dangling_event_id", "events whose name is not in the file", 0, NONE)     \
    X(DANGLING_STAT_ID, "dangling_stat_id", "stats whose name is not in the file", 0, NONE)        \
    X(DANGLING_REF, "dangling_ref", "text references that point to nothing", 0, NONE)              \
    X(UNKNOWN_FIELD, "unknown_field", "fields of a newer or foreign schema", 0, NONE)              \
    X(NEGATIVE_TIME, "negative_time",                                                              \
      "events that begin before time zero or last less than nothing", 0, NONE)                     \
    X(TIME_OVERFLOW, "time_overflow", "events whose end does not fit 64 bits of picoseconds", 0,   \
      NONE)                                                                                        \
    X(DUPLICATE_ID, "duplicate_id", "metadata given twice (the last one counts)", 0, NONE)         \
    X(DUPLICATE_PLANE, "duplicate_plane", "planes with a name that an earlier plane has", 0, NONE) \
    X(GZIP_DAMAGED, "gzip_damaged", "compressed input cut or damaged", 1, FILE)                    \
    X(GZIP_TAIL, "gzip_tail", "bytes behind the end of compressed input", 1, FILE)                 \
    X(HLO_DAMAGED, "hlo_damaged", "compiled programs (HLO) that could not be read", 1, VALUE)      \
    X(VIEW_CAP, "view_cap", "events left out of the trace view by its event limit", 1, NONE)       \
    X(WRITE_CAP, "write_cap",                                                                      \
      "short host events left out of the xplane written, which must stay below 2 GiB", 1, NONE)    \
    X(JSON_RAW_QUOTE, "json_raw_quote", "quotes inside JSON texts without a backslash", 0, NONE)   \
    X(JSON_CONTROL, "json_control", "control characters inside JSON texts", 0, NONE)               \
    X(JSON_BACKSLASH, "json_backslash", "backslashes in JSON texts that begin no escape", 0, NONE) \
    X(JSON_BARE_WORD, "json_bare_word", "words such as inf or N/A in place of a JSON value", 0,    \
      NONE)                                                                                        \
    X(JSON_COMMA, "json_comma", "commas too many or too few in JSON", 0, NONE)                     \
    X(JSON_KEY_QUOTE, "json_key_quote", "JSON keys without their quotes", 0, NONE)                 \
    X(JSON_BRACKET, "json_bracket", "JSON brackets that match nothing", 0, NONE)                   \
    X(JSON_CUT, "json_cut", "JSON that ends before it is complete", 0, FILE)                       \
    X(JSON_OPEN, "json_open",                                                                      \
      "lists of events without their last bracket, as Chrome's format allows", 0, NONE)            \
    X(JSON_SECOND, "json_second", "JSON documents behind the first", 0, NONE)                      \
    X(JSON_DEPTH, "json_depth", "JSON values nested too deep, passed over", 0, NONE)               \
    X(OTHER_CLOCK, "other_clock", "events weeks away from all others: of another clock", 1, NONE)  \
    X(NO_TIME, "no_time", "events without a time that can be read", 1, NONE)                       \
    X(UNFINISHED, "unfinished", "events without an end: end with their thread", 0, NONE)           \
    X(UNMATCHED_END, "unmatched_end", "ends of events that have not begun", 1, NONE)               \
    X(NO_DURATION, "no_duration", "events without a duration: taken as none", 0, NONE)             \
    X(BAD_DURATION, "bad_duration", "durations that cannot be read: taken as none", 1, NONE)       \
    X(NOT_SHOWN, "not_shown", "records of a kind that no page shows", 0, NONE)                     \
    X(TABLE_CUT, "table_cut", "tables of a database that break off before their last row", 1,      \
      FILE)                                                                                        \
    X(NO_TABLE, "no_table", "files of a folder that are no such table as their names say", 1,      \
      FILE)                                                                                        \
    X(SHORT_ROW, "short_row", "rows of tables that lack what is needed", 1, NONE)                  \
    X(TRACK_CAP, "track_cap", "events on threads beyond the 32768th", 1, NONE)                     \
    X(PLANE_CAP, "plane_cap",                                                                      \
      "planes beyond the 65536th, lines beyond the 524288th, with all that is in them", 1, NONE)   \
    X(UNMATCHED_FREE, "unmatched_free", "memory given back that was not taken while recorded", 0,  \
      NONE)                                                                                        \
    X(LOST_FLOW, "lost_flow", "arrows from calls to work of devices that lead nowhere", 0, NONE)   \
    X(NO_SUCH_STEP, "no_such_step", "names given to --steps that no event has", 0, NONE)           \
    X(REPAIR_STEP_NUM, "repair_step_num", "repair: steps taken from step_num without _r", 0, NONE) \
    X(REPAIR_LOOPS, "repair_loops", "repair: iterations of loops not taken for steps", 0, NONE)    \
    X(REPAIR_LEVEL_0, "repair_level_0", "repair: kernel op taken from stat 'level 0'", 0, NONE)    \
    X(REPAIR_SHM, "repair_shm", "repair: shared memory taken from 'shm:'", 0, NONE)                \
    X(REPAIR_VENDOR, "repair_vendor", "repair: missing device vendor taken as Nvidia", 0, NONE)    \
    X(REPAIR_UNSIGNED, "repair_unsigned",                                                          \
      "repair: unsigned number read where signed was expected", 0, NONE)                           \
    X(REPAIR_HLO_TEXT, "repair_hlo_text",                                                          \
      "repair: op taken from the kernel where the program text is missing", 0, NONE)               \
    X(REPAIR_SUBPROCESS, "repair_subprocess",                                                      \
      "repair: host plane of a subprocess shown and counted", 0, NONE)                             \
    X(REPAIR_SUB_NS, "repair_sub_ns", "repair: events shorter than a nanosecond kept", 0, NONE)    \
    X(REPAIR_EPOCH, "repair_epoch", "repair: epoch timestamps moved to the start of the trace", 0, \
      NONE)                                                                                        \
    X(REPAIR_ORDER, "repair_order", "repair: lines whose events were put in order of time", 0, NONE)

enum tbp_ledger_key {
#define X(id, key, text, loss, damage) TBP_LEDGER_##id,
    TBP_LEDGER_COUNTERS(X)
#undef X
        TBP_LEDGER_KEYS
};

struct tbp_ledger {
    uint64_t events_read, events_emitted, events_merged, events_quarantined, events_dropped;
    uint64_t count[TBP_LEDGER_KEYS];
    uint64_t first_offset[TBP_LEDGER_KEYS]; /* byte offset in the (inflated) input; TBP_NO_OFFSET if
                                               count is 0 or unknown */
};

void tbp_ledger_init(struct tbp_ledger *l);
void tbp_ledger_count(struct tbp_ledger *l, enum tbp_ledger_key key, uint64_t n, uint64_t offset);
void tbp_ledger_add(struct tbp_ledger *into,
                    const struct tbp_ledger *from); /* sums, smallest offsets */
bool tbp_ledger_has_loss(const struct tbp_ledger *l);
bool tbp_ledger_has_damage(const struct tbp_ledger *l); /* of the file */
bool tbp_ledger_is_clean(const struct tbp_ledger *l);   /* every counter is 0 */
/* Nothing lost, nothing odd: repairs at most, and records that no page shows. */
bool tbp_ledger_is_as_expected(const struct tbp_ledger *l);
bool tbp_ledger_is_repair(enum tbp_ledger_key key);
enum tbp_damage tbp_ledger_damage_of(enum tbp_ledger_key key);
const char *tbp_ledger_name(enum tbp_ledger_key key);
const char *tbp_ledger_help(enum tbp_ledger_key key);

#endif
