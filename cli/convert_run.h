/* SPDX-License-Identifier: Apache-2.0
 *
 * Converting one run: every host's pages and xplane, the pages of all hosts together, the marker.
 *
 * Hosts are converted in parallel, each by one job of the pool, and give their events back when
 * their files are written; what is merged later are tables. The files of all hosts take their
 * places together, at the end. The result does not depend on the number of threads.
 */
#ifndef TBP_CLI_CONVERT_RUN_H
#define TBP_CLI_CONVERT_RUN_H

#include "cli/cli.h"
#include "cli/plugin_caches.h"
#include "cli/run_session.h"
#include "convert/tool/tool.h"

struct tbp_convert_job {
    const struct tbp_cli *cli;
    const struct tbp_run *run;
    const char *logdir;        /* gets the marker */
    const char *folder;        /* logdir/plugins/profile/RUN */
    const char *pages_folder;  /* second folder, for the pages alone; or NULL */
    bool has_xplane;           /* write <host>.xplane.pb */
    uint64_t max_xplane_bytes; /* 0: what readers of protobuf accept */
    bool is_pages_only;        /* folder shall hold no xplane: plugins would ignore the pages */
    enum tbp_semantics semantics;
    struct tbp_step_source steps;
    const char *from;
    const bool *is_tool_wanted; /* by index in tbp_tools */
    struct tbp_pool *pool;
    struct tbp_progress *progress;
};

/* The conversion whose files this one replaces, if it was of anything else; texts may be cut. */
struct tbp_replaced {
    char input[128], reading[128], version[32]; /* input empty: none */
};

struct tbp_convert_host {
    struct tbp_str name; /* NUL-terminated */
    struct tbp_ledger ledger;
    int64_t start_s; /* when the profile begins, since 1970 */
    size_t n_files;
    unsigned n_kept, n_removed;
    uint64_t too_large_bytes;      /* of the xplane, more than readers of protobuf take; or 0 */
    bool lacks_xplane;             /* too large a one, and there is no file to copy instead */
    bool has_old_xplane;           /* none was written, and the one there is not repaired */
    struct tbp_cache_names caches; /* of the plugin, removed */
    uint64_t size_bytes;           /* of what was written */
    uint64_t input_bytes;          /* of what was read */
    uint32_t input_crc32;
    struct tbp_replaced replaced;
    bool cannot_write; /* its files; then none of the run is replaced */
    int status;        /* of this host */
    struct tbp_error err;
};

struct tbp_convert_result {
    struct tbp_convert_host *hosts; /* one per host, then ALL_HOSTS if there are several */
    size_t n_hosts;
    bool has_all_hosts;   /* the last one is ALL_HOSTS */
    size_t n_dropped;     /* files of all hosts together that are there no more */
    const char *left_out; /* host that keeps pages of all hosts from being made, or NULL */
};

/* Weight of the run in the progress display. */
uint64_t tbp_convert_work(const struct tbp_run *run);

/* Fails only if nothing could be done (folders); failures of single hosts are in the result. Arrays
 * lie in the arena. */
int tbp_convert_run(const struct tbp_convert_job *job, struct tbp_arena *arena,
                    struct tbp_convert_result *result, struct tbp_error *err);
void tbp_convert_result_release(struct tbp_convert_result *result);

#endif
