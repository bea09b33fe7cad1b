/* SPDX-License-Identifier: Apache-2.0
 *
 * Models of runs, kept between requests.
 *
 *     tbp_session_cache_acquire(cache, &files, wanted, &held, err);
 *     … answers from tbp_held_session(held) …
 *     if (tbp_session_cache_put_back(cache, held)) → the files changed under it: ask again
 *
 * A run is known by the path, device, inode, size and time of each of its files, which the caller
 * has just looked up. If any of them differs from what the kept session was made of, the run is
 * read again. The first question about a run may want a part of its events alone; the first that
 * wants others has all of them read, for good. Files are read into memory, never mapped: whoever
 * truncates one does not end this process. A session whose files changed while they were read is
 * not kept, and says so when it is put back. Files written within the clock's grain of being read
 * are read once more.
 *
 * Budget: sessions that nobody holds go, least recently used first, until all together are within
 * it; before a run is read (counted with the size of its files), and after each put back
 * (measured). What is held is never freed, so one run larger than the budget can still be answered.
 * Thread-safety: all functions, from many threads. Many threads may hold one session; hosts are
 * read once, by the first that needs them (analyze/session.h).
 */
#ifndef TBP_CONVERT_BACKEND_SESSION_CACHE_H
#define TBP_CONVERT_BACKEND_SESSION_CACHE_H

#include "convert/analyze/session.h"
#include "convert/backend/bodies.h"
#include "convert/backend/run_files.h"

struct tbp_session_cache;
struct tbp_held;

struct tbp_session_cache_stats {
    uint64_t budget_bytes, memory_bytes; /* memory: of everything kept or held */
    uint64_t n_sessions;
    uint64_t n_hits, n_misses; /* of acquire */
    uint64_t n_changed;        /* misses because a file had changed */
    uint64_t n_evicted;
    uint64_t n_files_read;
};

/* The pool stays the caller's and may be NULL. */
struct tbp_session_cache *tbp_session_cache_new(uint64_t budget_bytes, enum tbp_semantics semantics,
                                                struct tbp_pool *pool);
void tbp_session_cache_free(struct tbp_session_cache *c); /* nothing may be held any more */
void tbp_session_cache_set_budget(struct tbp_session_cache *c, uint64_t budget_bytes);

/* With at least the events wanted. */
int tbp_session_cache_acquire(struct tbp_session_cache *c, const struct tbp_run_files *files,
                              enum tbp_wanted wanted, struct tbp_held **out, struct tbp_error *err);
/* True if what was read is not what the caller had looked up: the answer may mix old and new. */
bool tbp_session_cache_put_back(struct tbp_session_cache *c, struct tbp_held *held);

struct tbp_session *tbp_held_session(struct tbp_held *held);
struct tbp_bodies *tbp_held_bodies(struct tbp_held *held);
/* Around work on events, and around work that gives events back (prepare: alone on the session). */
void tbp_held_begin(struct tbp_held *held, bool alone);
void tbp_held_end(struct tbp_held *held);

void tbp_session_cache_stats(struct tbp_session_cache *c, struct tbp_session_cache_stats *out);

#endif
