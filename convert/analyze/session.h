/* SPDX-License-Identifier: Apache-2.0
 *
 * A session: the hosts of one run, loaded on demand, with the tables that analyses made of them
 * (memoised).
 *
 *   const struct tbp_kernel_table *t = tbp_kernels(session, host, err);   // computed once, kept by
 * the session
 *
 * An analysis is a const struct (analysis.h part below) in the table of analyses.c; its typed
 * accessor is a one-line wrapper around tbp_session_table. host is an index, or TBP_ALL_HOSTS for
 * the table of all hosts together, which is made from the hosts' tables, never from events: so a
 * host's events can be given back once its tables are made.
 *
 * Ownership: the session owns hosts and tables until release; tables may borrow text from their
 * host's bytes, which stay, but not from event columns. Only tables `of_events` may: they go when
 * the events are given back, so whoever uses one keeps others from giving them back, as for the
 * host itself. Results are const. Exhausted memory under a lock of the session becomes TBP_E_MEMORY
 * there, so that a session stays usable. Thread-safety: tbp_session_table may be called from many
 * threads; one host is computed by one thread at a time (recursive lock per host), different hosts
 * in parallel. A table that is there is returned without waiting.
 */
#ifndef TBP_CONVERT_ANALYZE_SESSION_H
#define TBP_CONVERT_ANALYZE_SESSION_H

#include "base/pool.h"
#include "convert/analyze/step_source.h"
#include "convert/model/model.h"

/* Whose numbers (decisions.md 3). */
enum tbp_semantics {
    TBP_SEMANTICS_REPAIR,   /* official rules plus named repairs where the official reading finds
                               nothing (default) */
    TBP_SEMANTICS_OFFICIAL, /* newest official plugin, cell by cell */
    TBP_SEMANTICS_TF,       /* TensorFlow 2.4-2.8's own converter */
};

#define TBP_ALL_HOSTS UINT32_MAX

struct tbp_session;
/* Fills an uninitialised host (number `host`); owned by the session afterwards. Called once per
 * host, under its lock. */
typedef int tbp_load_fn(void *ctx, uint32_t host, struct tbp_host *out, struct tbp_pool *pool,
                        struct tbp_error *err);

struct tbp_analysis {
    const char *name; /* unique */
    const char *help; /* one line */
    /* Exactly one table per host; allocates from `out` (lives as long as the session). NULL if only
     * `all` exists. */
    int (*host)(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                struct tbp_error *err);
    /* The table of all hosts. NULL: with one host that host's table, otherwise not offered. */
    int (*all)(struct tbp_session *s, struct tbp_arena *out, void **table, struct tbp_error *err);
    bool counts;            /* what it repairs or leaves out goes to the ledger of the host */
    bool counts_unrepaired; /* what semantics without repairs leave out goes there */
    bool of_events; /* the host's table borrows event columns and lives as long as they do; no `all`
                       then */
};

extern const struct tbp_analysis *const tbp_analyses[]; /* analyses.c: THE TABLE; NULL-terminated */

/* names: n_hosts host names in order of the files; copied. pool may be NULL and stays the caller's.
 */
struct tbp_session *tbp_session_new(const struct tbp_str *names, uint32_t n_hosts,
                                    enum tbp_semantics semantics, tbp_load_fn *load, void *load_ctx,
                                    struct tbp_pool *pool);
/* Where steps come from; before anything is asked for. Texts are borrowed. */
void tbp_session_set_steps(struct tbp_session *s, const struct tbp_step_source *steps);
void tbp_session_free(struct tbp_session *s);

uint32_t tbp_session_n_hosts(const struct tbp_session *s);
struct tbp_str tbp_session_host_name(const struct tbp_session *s, uint32_t host);
enum tbp_semantics tbp_session_semantics(const struct tbp_session *s);
enum tbp_step_source_kind tbp_session_steps_kind(const struct tbp_session *s);
struct tbp_pool *tbp_session_pool(const struct tbp_session *s);

/* The host with its events, grouped (analyze/grouping.h has run), loaded on first use; NULL on
 * failure (err filled). */
struct tbp_host *tbp_session_host(struct tbp_session *s, uint32_t host, struct tbp_error *err);
/* The same without grouping; for `info`. */
struct tbp_host *tbp_session_raw_host(struct tbp_session *s, uint32_t host, struct tbp_error *err);
/* The host as it was loaded last, its events maybe given back; NULL if it never was. */
const struct tbp_host *tbp_session_known_host(struct tbp_session *s, uint32_t host);
/* Adds to the ledger of a loaded host under its lock: for tools, which run beside analyses. */
void tbp_session_count(struct tbp_session *s, uint32_t host, enum tbp_ledger_key key, uint64_t n);
/* Gives the events of a host back, and the tables of_events; others stay. A later request loads
 * them again. */
void tbp_session_release_events(struct tbp_session *s, uint32_t host);

/* The memoised table, or NULL on failure (err filled). */
const void *tbp_session_table(struct tbp_session *s, const struct tbp_analysis *a, uint32_t host,
                              struct tbp_error *err);
/* Has everything counted in the host's ledger that its pages would tell, all of them. */
int tbp_session_count_all(struct tbp_session *s, uint32_t host, struct tbp_error *err);
/* What hosts and tables occupy, in bytes; what another thread is computing counts as it was before.
 * Never waits. */
uint64_t tbp_session_memory(struct tbp_session *s);

#endif
