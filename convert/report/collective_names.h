/* SPDX-License-Identifier: Apache-2.0
 *
 * Which events exchange data between ranks, by their names, of what kind the exchange is, and
 * whether the event lasts as long as it. One table for all reports; pure. (Pages go by the official
 * rule: kernels whose names begin with "nccl".)
 */
#ifndef TBP_CONVERT_REPORT_COLLECTIVE_NAMES_H
#define TBP_CONVERT_REPORT_COLLECTIVE_NAMES_H

#include "base/str.h"

enum tbp_collective_span {
    TBP_COLLECTIVE_NONE,  /* the name is not that of a collective */
    TBP_COLLECTIVE_ASKED, /* the event hands it over, or is one end of it: the exchange is longer */
    TBP_COLLECTIVE_WHOLE, /* on a device the event is the exchange; on the host if it is_of_host */
};

struct tbp_collective_name {
    enum tbp_collective_span span;
    bool is_of_host;  /* the host itself exchanges, or asks a device in these words */
    const char *kind; /* as tbp_collective_kind */
};

struct tbp_collective_name tbp_collective_name_of(struct tbp_str name);
static inline bool tbp_is_collective(struct tbp_str name) {
    return tbp_collective_name_of(name).span != TBP_COLLECTIVE_NONE;
}

/* A range that c10d records from the call to the end of the exchange (gloo:all_reduce), whatever
 * else the thread does meanwhile. */
bool tbp_is_exchange_record(struct tbp_str name);

/* "all-reduce", "all-gather" …, "other": of what is known to be a collective. */
const char *tbp_collective_kind(struct tbp_str name);
/* Nobody is done before all have begun. */
bool tbp_collective_is_of_all(const char *kind);

#endif
