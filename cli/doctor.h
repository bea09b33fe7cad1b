/* SPDX-License-Identifier: Apache-2.0
 *
 * Why a log directory shows, or does not show, in TensorBoard's Profile tab.
 *
 * A check is a const struct in THE TABLE (doctor_checks.c): it looks at what was found (the tree of
 * folders, the installed Python packages) and reports findings. Checks change nothing; what
 * `--fix` may repair is a function of the check, called once for each of its findings.
 *
 * Findings: a problem keeps something from being shown, a note is worth knowing. Each is one line
 * with the place, what is the matter, and what to do.
 */
#ifndef TBP_CLI_DOCTOR_H
#define TBP_CLI_DOCTOR_H

#include "base/pool.h"
#include "cli/doctor_tree.h"
#include "cli/python_env.h"

enum tbp_finding_level { TBP_NOTE, TBP_PROBLEM };

struct tbp_doctor_check;
struct tbp_gpu_facts;
struct tbp_finding {
    const struct tbp_doctor_check *check;
    enum tbp_finding_level level;
    const char *where, *what, *advice;
    const void *subject; /* for the check's fix: the logdir or folder */
};

struct tbp_doctor {
    struct tbp_arena *arena;
    struct tbp_pool *pool;
    struct tbp_tree tree;     /* empty where no folder is examined */
    struct tbp_python python; /* empty when not asked */
    bool has_python;          /* the Python was asked, and answered */
    bool may_connect;
    const char *chart_host;          /* "host" or "host:port" */
    const struct tbp_gpu_facts *gpu; /* NULL when not asked */
    TBP_VEC(struct tbp_finding) findings;
};

enum tbp_doctor_scope { TBP_CHECK_FILES, TBP_CHECK_PYTHON, TBP_CHECK_GPU };

struct tbp_doctor_check {
    const char *name;
    enum tbp_doctor_scope scope;
    const char *help; /* one line: what it finds */
    void (*run)(struct tbp_doctor *d, const struct tbp_doctor_check *self);
    /* Repairs what the finding tells; NULL: the check repairs nothing. Adds what it did to `did`.
     */
    int (*fix)(struct tbp_doctor *d, const struct tbp_finding *f, const char **did,
               struct tbp_error *err);
};

extern const struct tbp_doctor_check *const tbp_doctor_checks[]; /* NULL-terminated */

/* Runs the checks of one scope in the order of the table. */
void tbp_doctor_run(struct tbp_doctor *d, enum tbp_doctor_scope scope);

/* Reads every xplane of the tree once, so that the checks know what is in it. */
void tbp_doctor_read_xplanes(struct tbp_doctor *d);

/* Adds a finding; set what and advice, which may be NULL, and subject. */
struct tbp_finding *tbp_doctor_report(struct tbp_doctor *d, const struct tbp_doctor_check *check,
                                      enum tbp_finding_level level, const char *where);
void tbp_doctor_release(struct tbp_doctor *d);

/* Release of the profile plugin within [from, to)? False if no plugin is known. */
bool tbp_doctor_plugin_within(const struct tbp_doctor *d, uint32_t from, uint32_t to);
/* Whether the installed plugin, or some plugin if none is known, reads the page or cache of that
 * run as it is. */
bool tbp_doctor_shows_pages(const struct tbp_doctor *d, const struct tbp_doctor_folder *run);
bool tbp_doctor_uses_cache(const struct tbp_doctor *d, const struct tbp_doctor_folder *run,
                           const struct tbp_doctor_file *cache);
/* "xprof 2.24.2" */
const char *tbp_doctor_plugin_text(const struct tbp_doctor *d);

/* THE CHECKS, by the file they are in. */
/* doctor_layout.c: folders */
extern const struct tbp_doctor_check tbp_check_level, tbp_check_no_data, tbp_check_layout,
    tbp_check_not_listed, tbp_check_marker, tbp_check_permission;
/* doctor_runs.c: names and sizes of the files of a run */
extern const struct tbp_doctor_check tbp_check_empty_run, tbp_check_file_names, tbp_check_names,
    tbp_check_pages_only, tbp_check_hidden_files, tbp_check_no_file, tbp_check_empty_file,
    tbp_check_twice, tbp_check_several_hosts;
/* doctor_xplanes.c: what is in the xplanes */
extern const struct tbp_doctor_check tbp_check_damaged, tbp_check_no_events, tbp_check_host_plane,
    tbp_check_file_size, tbp_check_recorder;
/* doctor_damage.c: what is in pages and caches */
extern const struct tbp_doctor_check tbp_check_damaged_beside;
/* doctor_receipts.c: what belongs together */
extern const struct tbp_doctor_check tbp_check_receipt;
/* doctor_caches.c: what the plugin keeps beside the xplanes */
extern const struct tbp_doctor_check tbp_check_read_only, tbp_check_caches, tbp_check_old_cache;
/* doctor_plugin.c: what is installed */
extern const struct tbp_doctor_check tbp_check_python, tbp_check_tensorboard, tbp_check_plugin,
    tbp_check_conflict, tbp_check_backend, tbp_check_charts;
/* doctor_gpu.c: what could be recorded of a GPU */
extern const struct tbp_doctor_check tbp_check_gpu_driver, tbp_check_gpu_cupti,
    tbp_check_gpu_permission, tbp_check_gpu_conflict;

#endif
