/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps: per host from its events, and of several hosts from their step tables.
 *
 *   const struct tbp_step_table *t = tbp_steps(session, TBP_ALL_HOSTS, err);
 *
 * However a host's steps were made (markers and spans of GPU and host planes, or TPU planes:
 * tpu_steps.h), they come as this table; the pages know nothing else. Source: spec
 * pages/RULES.md 3.4-3.8 and 4. Ownership: the session's arena; names borrow from the hosts' bytes.
 */
#ifndef TBP_CONVERT_ANALYZE_STEP_TABLE_H
#define TBP_CONVERT_ANALYZE_STEP_TABLE_H

#include "convert/analyze/session.h"
#include "convert/analyze/sweep.h"

enum {
    TBP_STEP_CORE = 1,               /* core id of everything that is no TPU core */
    TBP_CORES_PER_HOST = 1000,       /* several hosts: id = host index * this + id on the host */
    TBP_SPARSE_CORES_FROM = 1000000, /* ids of TPU sparse cores */
    TBP_TRIM_ABOVE = 5, /* more steps: the first and the last are taken as incomplete */
};

/* TPU cores tell categories of ops instead of parts. */
struct tbp_step_category {
    struct tbp_str name;
    uint64_t self_ps;
};
struct tbp_step_collective {
    uint64_t id, begin_ps, end_ps;
};

struct tbp_step_core {
    uint32_t core;
    struct tbp_str name; /* may be empty: the number stands for it */
    uint64_t begin_ps, dur_ps;
    uint64_t part_ps[TBP_STEP_PARTS]; /* enum tbp_step_part */
    const struct tbp_step_category *categories;
    size_t n_categories; /* 0: no TPU core */
    const struct tbp_step_collective *collectives;
    size_t n_collectives;
};

struct tbp_step {
    uint32_t number;
    struct tbp_step_core *cores; /* ascending ids; may be none (TPU) */
    size_t n_cores;
};

struct tbp_core_place {
    uint32_t core;
    struct tbp_str host_name;
    int64_t ordinal;
    bool is_sparse;
};

struct tbp_step_table {
    struct tbp_step *steps;
    size_t n_steps;
    uint64_t compute_16_ps, compute_32_ps; /* of all groups, dropped steps too */
    bool is_intersection_empty;            /* hosts have steps, but none in common */
    struct tbp_core_place *places;         /* cores by id */
    size_t n_places;
};

extern const struct tbp_analysis tbp_analysis_steps, tbp_analysis_trimmed_steps;
/* All steps: the pod viewer's. */
const struct tbp_step_table *tbp_steps(struct tbp_session *s, uint32_t host, struct tbp_error *err);
/* Without incomplete steps at both ends of each host (cut before hosts are combined; not on TPU):
 * the other pages'. */
const struct tbp_step_table *tbp_trimmed_steps(struct tbp_session *s, uint32_t host,
                                               struct tbp_error *err);

/* Whether the host, grouped as it stands, has any step. Grouping asks before it takes to repairs.
 */
bool tbp_host_has_steps(const struct tbp_host *h, enum tbp_semantics semantics);

/* The core with this id, or NULL. */
const struct tbp_step_core *tbp_step_core_find(const struct tbp_step *step, uint32_t core);
/* Where a core is, or NULL. */
const struct tbp_core_place *tbp_core_place_find(const struct tbp_step_table *t, uint32_t core);

/* One host's table, for analyses and tests. pool may be NULL. */
void tbp_step_table_make(const struct tbp_host *h, enum tbp_semantics semantics,
                         struct tbp_pool *pool, struct tbp_arena *out, struct tbp_step_table *t);

#endif
