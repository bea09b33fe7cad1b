/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of events as the viewers show them, and all names of a host in order, each with the events
 * that carry it: a search by prefix is a range of them.
 *
 * Memory: 4 bytes per event; names borrow from the host.
 * Ownership: columns come from the arena given to tbp_trace_names_make. Const after making.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_NAMES_H
#define TBP_CONVERT_ANALYZE_TRACE_NAMES_H

#include "convert/analyze/trace_index.h"

struct tbp_trace_names {
    struct tbp_str *names; /* in byte order */
    size_t n;
    uint32_t *first;  /* events[first[i] … first[i+1]-1] carry names[i] */
    uint32_t *events; /* track_base[track] + position, rising within a name; lost ones left out */
    uint32_t *track_base; /* by track, and the end */
};

/* Fails beyond 2^32 events, and if the pool does. */
int tbp_trace_names_make(struct tbp_trace_names *t, const struct tbp_trace_index *x,
                         struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err);
/* Events whose name starts with prefix, byte-wise: by name. */
const uint32_t *tbp_trace_names_find(const struct tbp_trace_names *t, struct tbp_str prefix,
                                     size_t *n);

/* Name of an event as shown: a step_name that is a text and not empty replaces it. */
struct tbp_str tbp_trace_event_name(const struct tbp_trace_line *l, size_t i);

#endif
