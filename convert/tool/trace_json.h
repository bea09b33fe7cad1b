/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two trace viewers share in writing: pieces of text that several threads format and that
 * leave in order, and the list of processes and threads.
 */
#ifndef TBP_CONVERT_TOOL_TRACE_JSON_H
#define TBP_CONVERT_TOOL_TRACE_JSON_H

#include "convert/analyze/trace_texts.h"
#include "plugin_data/json_out.h"

/* Events per piece: large enough to hide the hand-over, small enough to stay near the caches. */
enum { TBP_PIECE_EVENTS = 1024 };

/* Formats piece number `piece`; runs on any thread of the pool, and again for pieces of megabytes.
 * May stop early when j->status is not TBP_OK. */
typedef void tbp_piece_fn(void *ctx, size_t piece, struct tbp_json *j);

/* Writes pieces 0 … n-1 to the sink in order; some pieces per thread are in memory, each of
 * bounded size. */
int tbp_write_pieces(struct tbp_pool *pool, struct tbp_sink *out, size_t n, tbp_piece_fn *fn,
                     void *ctx, struct tbp_error *err);

/* Processes and threads as both viewers list them: by pid, then tid, later names winning. */
struct tbp_trace_thread {
    uint32_t pid, tid, sort_index;
    struct tbp_str name;
};
/* Sorts and keeps the last of each (pid, tid); returns how many are left. */
size_t tbp_trace_threads_sort(struct tbp_trace_thread *t, size_t n);

#endif
