/* SPDX-License-Identifier: Apache-2.0
 *
 * From a spool to a run folder: <logdir>/plugins/profile/<run>/<host>.xplane.pb with the marker
 * file beside plugins/. Used by the runtime (stop, snapshot, collect) on its own mapping while
 * other threads may go on recording, and by `tbprof recover` on the file of a dead process. Memory:
 * bounded by threads, names and open scopes, never by records. Ownership: the request's texts and
 * the spool stay the caller's. Thread-safety: one call at a time per spool.
 */
#ifndef TBP_CAPTURE_RUN_OUT_H
#define TBP_CAPTURE_RUN_OUT_H

#include "base/str.h"
#include "plugin_data/sink.h"
#include "schemas/spool_format.h"

struct tbp_spool_view { /* a whole spool, or as much of it as there is */
    const uint8_t *data;
    uint64_t size_bytes;
};

/* What goes from one snapshot of a spool to the next: scopes that are open at the border, and how
 * far each thread has been read. */
struct tbp_run_carry;
struct tbp_run_carry *tbp_run_carry_new(void);
void tbp_run_carry_free(struct tbp_run_carry *carry);

struct tbp_run_request {
    struct tbp_spool_view spool;
    struct tbp_run_carry *carry; /* NULL: all of the spool, in one run */
    const char *logdir, *run;    /* NULL: what the spool's header says */
    const char *host_suffix;     /* "_<rank>" or "": several processes of one host in one run */
    /* The spool's header if the run is the last that is made of it: as soon as the run is there,
     * the header says where, and with is_over that the spool may go. What it says of an earlier run
     * of the same records is replaced. NULL: a part, or all of a spool that stays. */
    struct tbp_spool_header *header;
    bool is_over;
    int64_t until_realtime_ns; /* later records are left for later; INT64_MAX: all there are */
    uint64_t max_events;       /* advice (plugin_data/collect.h); 0: none */
    const char *warning;       /* one more sentence for the reader of the profile, or NULL */
};
struct tbp_run_result {
    uint64_t n_records, n_events; /* records read; events written */
    uint64_t n_defects;           /* records that could not be understood, told in the profile */
    uint64_t size_bytes;          /* of the file */
    char path[4096];              /* run folder; "": the process was started by its environment and
                                   * recorded nothing, so there is none */
};

/* Writes the run. A run that exists is never changed: the name gets "_1", "_2" … unless the spool
 * says that ranks share it (capture/run_job.h). On failure nothing is left behind. */
int tbp_run_write(const struct tbp_run_request *request, struct tbp_run_result *result,
                  struct tbp_error *err);
/* The same file into a sink. */
int tbp_run_write_bytes(const struct tbp_run_request *request, struct tbp_sink *sink,
                        struct tbp_run_result *result, struct tbp_error *err);

/* The collector takes records up to what is committed when it begins, and notes in each chunk how
 * far (`consumed`) once the run is on disk; whoever owns the spool may then use full chunks again
 * whose `consumed` equals `committed`. */

#endif
