/* SPDX-License-Identifier: Apache-2.0
 *
 * Producer and consumer links of an event as they are after legacy rewriting: the stats _pt _p _ct
 * _c of the file, or those which older systems expressed by other stats (queues, launches,
 * executor). Used by grouping and by flows. Source: ../shared/spec/trace/RULES.md 2.3. Pure,
 * thread-safe.
 */
#ifndef TBP_CONVERT_ANALYZE_EVENT_LINKS_H
#define TBP_CONVERT_ANALYZE_EVENT_LINKS_H

#include "convert/model/stats.h"

/* Facts of a plane that decide which rewriting applies; made once per plane. */
struct tbp_link_rules {
    bool rewrites; /* false: the file came grouped, its stats stand as they are */
    bool is_tensor_core;
    int64_t core_ordinal;
};
struct tbp_link_rules tbp_link_rules_of(const struct tbp_plane *p, bool was_grouped);

struct tbp_links {
    bool has_producer, has_consumer, has_pid, has_root, is_async;
    int64_t producer_type, consumer_type, pid, root_level; /* I values: 0 if stored unsigned */
    uint64_t producer_type_iu, consumer_type_iu;           /* as flows read them */
    uint64_t producer_id, consumer_id;                     /* IU */
};
/* Links of event i; root_level includes _r given by name (ProcessBatch, BatchingSessionRun). */
void tbp_event_links(const struct tbp_line *l, size_t i, const struct tbp_link_rules *rules,
                     struct tbp_links *out);

#endif
