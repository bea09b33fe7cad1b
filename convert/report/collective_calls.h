/* SPDX-License-Identifier: Apache-2.0
 *
 * Collectives of all hosts: which calls are the same collective, how much of each is waiting for
 * the last rank and how much is transfer, and who that was.
 *
 * One host is one rank. Calls of one op and process group are matched by their place within a step,
 * or in the whole profile where there are no steps; only if all hosts that have the op made as many
 * calls of it there. A collective ends for all at once and begins for each when it arrives: the
 * shortest call is the transfer, what others took longer they waited, and whoever waited for nobody
 * came last. So this needs no common clock; starts are on one (host_clock.h).
 * Source: ../shared/cases/collective-wait-of-a-late-rank and
 * …/collective-kernel-names-and-missing-metadata.
 */
#ifndef TBP_CONVERT_REPORT_COLLECTIVE_CALLS_H
#define TBP_CONVERT_REPORT_COLLECTIVE_CALLS_H

#include "convert/analyze/session.h"
#include "convert/report/host_clock.h"
#include "convert/report/unread.h"

struct tbp_collective_op {
    struct tbp_str name;  /* of the kernel, or of the range on the host */
    struct tbp_str group; /* process group, or empty */
    const char *kind;     /* "all-reduce" … */
    bool makes_wait;      /* its calls last until all ranks have begun and are done */
    const char *rule;     /* what it was recognised by: "metadata", "name" */
};

struct tbp_collective_call {
    uint32_t host, op;
    int64_t step; /* TBP_NO_STEP: in none */
    uint32_t nth; /* of its op in the step, from 0 */
    uint64_t start_ps, dur_ps;
    uint64_t bytes, group_size; /* 0: not told */
    uint64_t number;            /* of the collective, by time, from 1 */
    int64_t median_ps;          /* of the calls of this op on this host */
    bool is_matched;
    int64_t wait_ps, transfer_ps, skew_ps; /* matched: own wait; shortest call; longest wait */
    bool is_late;                          /* others waited for it */
};
#define TBP_NO_STEP INT64_MIN

struct tbp_collective_host {
    struct tbp_str name;
    int64_t rank; /* -1: not told */
    struct tbp_host_clock clock;
    uint64_t n_calls, n_matched, n_late;
    bool is_asked_only; /* its calls only hand over: how long the exchanges took is not told */
    uint64_t busy_ps, communication_ps, compute_ps; /* unions; of a host without devices: 0 */
    int64_t waited_ps, transfer_ps; /* for others; without: sums over matched calls */
    int64_t waited_for_ps; /* the longest wait of another, summed over where it came last */
};

struct tbp_collectives {
    TBP_VEC(struct tbp_collective_call) calls; /* by number, then host */
    TBP_VEC(struct tbp_collective_op) ops;
    TBP_VEC(struct tbp_collective_host) hosts;
    uint64_t n_matched, n_unmatched; /* calls */
    uint32_t first_host;             /* index in hosts that clocks are compared with */
    struct tbp_strtab keys;
    struct tbp_arena arena;
};

void tbp_collectives_init(struct tbp_collectives *c);
void tbp_collectives_release(struct tbp_collectives *c);
/* Of those hosts first … end-1 that can be read; gives their events back if there are several. */
int tbp_collectives_collect(struct tbp_collectives *c, struct tbp_session *s, uint32_t first,
                            uint32_t end, const struct tbp_clock_offset *offsets, size_t n_offsets,
                            struct tbp_unread *unread, struct tbp_error *err);

/* What a call moved per second, in bytes; false where size or time are not known. bus: as the links
 * see it (NCCL's factor). */
bool tbp_collective_speed(const struct tbp_collectives *c, const struct tbp_collective_call *call,
                          bool bus, double *bytes_per_s);

/* ---- collective_match.c ---- */
void tbp_collectives_match(struct tbp_collectives *c);

#endif
