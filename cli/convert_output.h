/* SPDX-License-Identifier: Apache-2.0
 *
 * The output files of one host (or of ALL_HOSTS): which of them may be written, and how.
 *
 *     tbp_outputs_init(&o, stem, where, facts, err);
 *     tbp_outputs_plan(&o, "overview_page.json");     // each file, before any is written
 *     tbp_outputs_write(&o, i, gzip, pool, fn, ctx, err);   // from many threads, one file each
 *     tbp_outputs_prepare(&o, ledger, err);           // the receipt, too; nothing is to be seen
 * yet tbp_outputs_commit(&o, err);                    // all of them appear, then the receipt
 *
 * Whatever needs room on the disk is written before anything appears; commit renames and removes.
 * A file that is there and that no former conversion wrote is kept and counted, never replaced; nor
 * is a file that is an input of this conversion. What a former conversion wrote and this one does
 * not, of another input above all, is removed: receipt and files tell of one conversion.
 * With a pages folder each file is written to both folders at once.
 * Whoever uses outputs holds the lock of their folders (run_lock.h).
 * Ownership: texts lie in the outputs' arena until release.
 */
#ifndef TBP_CLI_CONVERT_OUTPUT_H
#define TBP_CLI_CONVERT_OUTPUT_H

#include "base/file.h"
#include "cli/plugin_caches.h"
#include "cli/receipt.h"
#include "plugin_data/sink.h"

enum { TBP_MAX_TARGETS = 2 };

struct tbp_output_where {
    const char *folder;
    const char *pages_folder;  /* a second one, for the pages alone; or NULL */
    bool is_pages_only;        /* the first one, too, shall hold no xplane */
    const char *const *inputs; /* real paths of what is read; NULL-terminated */
};

struct tbp_output_target {
    const char *folder;
    const char *receipt_path;
    struct tbp_receipt before; /* what a former conversion left */
    bool is_pages_only;
    struct tbp_sink_file *announced, *receipt; /* written, and not yet to be seen; or NULL */
};

struct tbp_output_file {
    struct tbp_receipt_file entry;
    const char *path[TBP_MAX_TARGETS];           /* NULL: kept as it is */
    struct tbp_sink_file *held[TBP_MAX_TARGETS]; /* written, and not yet to be seen */
    bool is_written;
};

struct tbp_outputs {
    struct tbp_arena arena;
    const struct tbp_output_where *where;
    const char *stem; /* host, or "ALL_HOSTS" */
    struct tbp_output_target targets[TBP_MAX_TARGETS];
    unsigned n_targets;
    struct tbp_receipt_facts facts;
    TBP_VEC(struct tbp_output_file) files;
    unsigned n_kept, n_removed;
    struct tbp_cache_names caches; /* of the plugin, removed since the xplane is another one */
};

int tbp_outputs_init(struct tbp_outputs *o, const char *stem, const struct tbp_output_where *where,
                     const struct tbp_receipt_facts *facts, struct tbp_error *err);
void tbp_outputs_release(struct tbp_outputs *o);

/* Plans <stem>.<suffix>; first_only: not for the pages folder. Returns the file's index. */
size_t tbp_outputs_plan(struct tbp_outputs *o, const char *suffix, bool first_only);
bool tbp_outputs_wants(const struct tbp_outputs *o, size_t i); /* some folder takes it */

typedef int tbp_output_fn(void *ctx, struct tbp_sink *sink, struct tbp_error *err);
int tbp_outputs_write(struct tbp_outputs *o, size_t i, bool gzip, struct tbp_pool *pool,
                      tbp_output_fn *fn, void *ctx, struct tbp_error *err);
/* The file is the same bytes as the input `in` that was opened at `source`, and its own: what
 * becomes of the input later does not matter. */
int tbp_outputs_copy(struct tbp_outputs *o, size_t i, const char *source,
                     const struct tbp_input *in, struct tbp_error *err);
int tbp_outputs_prepare(struct tbp_outputs *o, const struct tbp_ledger *ledger,
                        struct tbp_error *err);
/* Signals are held by who calls it (signals.h). */
int tbp_outputs_commit(struct tbp_outputs *o, struct tbp_error *err);
/* Instead of both: removes what a former conversion wrote (n_removed), the receipt too. */
void tbp_outputs_drop(struct tbp_outputs *o);

/* What files that are there were made from, in any of the folders, if that is not what they are
 * made from now: other bytes, another reading or version of tbprof. NULL: none are, or of the same.
 */
const struct tbp_receipt_facts *tbp_outputs_former(const struct tbp_outputs *o);

#endif
