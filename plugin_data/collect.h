/* SPDX-License-Identifier: Apache-2.0
 *
 * From a capture spool to a profile: threads become lines of /host:CPU, scopes events, arguments
 * stats; activities and counters get lines of their own; everything that is missing is told in the
 * warnings of the file. The same for the process that records, for the spool of a dead one, and for
 * a spool that is read as an input.
 *
 * Memory: threads, names, what is open, 12 bytes per scope that crosses a border of chunks, 9 per
 * activity, a few per memory record; never a share of the events. Time: the records are walked once
 * when opened and twice when written.
 * Ownership: the spool's bytes stay the caller's and must stay until free. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_COLLECT_H
#define TBP_PLUGIN_DATA_COLLECT_H

#include "plugin_data/sink.h"
#include "schemas/spool_format.h"

/* What goes from one snapshot of a session to the next: scopes, annotations, activities and
 * allocations that are open at the border. */
struct tbp_collect_carry;
struct tbp_collect_carry *tbp_collect_carry_new(void);
void tbp_collect_carry_free(struct tbp_collect_carry *carry);

struct tbp_collect_request {
    const uint8_t *data; /* 16-byte aligned; with a carry it is written to: `consumed` */
    uint64_t size_bytes;
    struct tbp_collect_carry *carry; /* NULL: all of the spool, in one profile */
    int64_t until_realtime_ns;       /* later records are left out; INT64_MAX: none are */
    uint64_t max_events; /* 0: any number; scopes of levels above 2 are left out beyond it */
    const char *warning; /* one more sentence for the reader, or NULL; must stay */
};
struct tbp_collect_result {
    uint64_t n_records, n_events, n_defects, size_bytes;
};

struct tbp_collect;
int tbp_collect_open(struct tbp_collect **c, const struct tbp_collect_request *request,
                     struct tbp_error *err);
void tbp_collect_free(struct tbp_collect *c); /* NULL is fine */

/* Texts are ended. */
const struct tbp_spool_header *tbp_collect_header(const struct tbp_collect *c);
/* Nothing was recorded but counters. */
bool tbp_collect_is_empty(const struct tbp_collect *c);
/* When the profile begins and ends, since 1970. */
int64_t tbp_collect_start_ns(const struct tbp_collect *c);
int64_t tbp_collect_stop_ns(const struct tbp_collect *c);

/* Writes the profile, which it keeps below 2 GiB: scopes of the highest levels go first, and the
 * warnings say so. Does not finish the sink. */
int tbp_collect_write(struct tbp_collect *c, struct tbp_sink *sink,
                      struct tbp_collect_result *result, struct tbp_error *err);
/* The profile is where it belongs: what it holds will not come again. */
void tbp_collect_commit(struct tbp_collect *c);

#endif
