/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of one job (ranks) put their profiles into one run. They agree on its name without
 * talking: the first one that begins a capture leaves the name in a file of the log directory,
 * whoever of the job begins the same capture within a minute takes it from there.
 * Thread-safety: one call at a time.
 */
#ifndef TBP_CAPTURE_RUN_JOB_H
#define TBP_CAPTURE_RUN_JOB_H

#include <stdbool.h>
#include <stddef.h>

struct tbp_run_job {
    bool is_shared;       /* the process is one of several of a job */
    char run[256];        /* name of the run; "": none was agreed on */
    char host_suffix[32]; /* "_<rank>", or "" for the only process of its host */
};

/* Looks at what launchers set (torchrun, Slurm, Open MPI, PMIx, MASTER_ADDR; `tbprof run` sets
 * TBPROF_RUN_SHARED). run: the name asked
 * for, then the one that is shared; NULL or "": one is agreed on. */
void tbp_run_job_find(struct tbp_run_job *job, const char *logdir, const char *run);

/* What a spool says about it, as lines of its options; empty for a process of its own that was not
 * started by its environment. */
void tbp_run_job_print(const struct tbp_run_job *job, char *to, size_t size);
/* Value of a "key=value" line among options; false: there is none. */
bool tbp_run_option(const char *options, const char *key, char *to, size_t size);

#endif
