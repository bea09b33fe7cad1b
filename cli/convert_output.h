/* SPDX-License-Identifier: Apache-2.0
 *
 * The output files of one host (or of ALL_HOSTS): which of them may be written, and how.
 *
 *     tbp_outputs_init(&o, stem, folder, pages_folder, facts, err);
 *     tbp_outputs_plan(&o, "overview_page.json");     // each file, before any is written
 *     tbp_outputs_announce(&o, err);                  // receipt, so that a kill leaves no
 * strangers tbp_outputs_write(&o, i, gzip, pool, fn, ctx, err);   // from many threads, one file
 * each tbp_outputs_finish(&o, ledger, err);            // final receipt
 *
 * A file that is there and that no former conversion wrote is kept and counted, never replaced.
 * With a pages folder each file is written to both folders at once.
 * Ownership: texts lie in the outputs' arena until release.
 */
#ifndef TBP_CLI_CONVERT_OUTPUT_H
#define TBP_CLI_CONVERT_OUTPUT_H

#include "cli/receipt.h"
#include "plugin_data/sink.h"

enum { TBP_MAX_TARGETS = 2 };

struct tbp_output_target {
    const char *folder;
    const char *receipt_path;
    struct tbp_receipt before; /* what a former conversion left */
};

struct tbp_output_file {
    struct tbp_receipt_file entry;
    const char *path[TBP_MAX_TARGETS]; /* NULL: someone else's file, kept */
    bool is_written;                   /* is there with the bytes of entry */
};

struct tbp_outputs {
    struct tbp_arena arena;
    const char *stem; /* host, or "ALL_HOSTS" */
    struct tbp_output_target targets[TBP_MAX_TARGETS];
    unsigned n_targets;
    struct tbp_receipt_facts facts;
    TBP_VEC(struct tbp_output_file) files;
    unsigned n_kept;
};

int tbp_outputs_init(struct tbp_outputs *o, const char *stem, const char *folder,
                     const char *pages_folder, const struct tbp_receipt_facts *facts,
                     struct tbp_error *err);
void tbp_outputs_release(struct tbp_outputs *o);

/* Plans <stem>.<suffix>; first_only: not for the pages folder. Returns the file's index. */
size_t tbp_outputs_plan(struct tbp_outputs *o, const char *suffix, bool first_only);
bool tbp_outputs_wants(const struct tbp_outputs *o, size_t i); /* some folder takes it */
int tbp_outputs_announce(struct tbp_outputs *o, struct tbp_error *err);

typedef int tbp_output_fn(void *ctx, struct tbp_sink *sink, struct tbp_error *err);
int tbp_outputs_write(struct tbp_outputs *o, size_t i, bool gzip, struct tbp_pool *pool,
                      tbp_output_fn *fn, void *ctx, struct tbp_error *err);
/* The file is the same bytes as `source`: hard link if the file system allows, else a copy. */
int tbp_outputs_link(struct tbp_outputs *o, size_t i, const char *source, const void *bytes,
                     size_t n, struct tbp_error *err);
int tbp_outputs_finish(struct tbp_outputs *o, const struct tbp_ledger *ledger,
                       struct tbp_error *err);

#endif
