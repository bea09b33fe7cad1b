/* SPDX-License-Identifier: Apache-2.0
 *
 * From a run that was found (find_runs.h) to a session that loads its hosts.
 */
#ifndef TBP_CLI_RUN_SESSION_H
#define TBP_CLI_RUN_SESSION_H

#include "cli/cli.h"
#include "cli/find_runs.h"
#include "cli/progress.h"
#include "convert/analyze/session.h"

/* Values of --semantics, in the order of enum tbp_semantics. */
extern const char *const tbp_semantics_choices[];
/* Values of --dialect, in the order of enum tbp_dialect. */
extern const char *const tbp_dialect_choices[];

/* Help of the option --steps. */
extern const char tbp_steps_help[];
extern const char *const tbp_steps_words[]; /* to begin with */
#define TBP_STEPS_OPTION(offset)                                                                   \
    { "steps", 0, TBP_OPT_TEXT, (offset), "SOURCE", tbp_steps_help, tbp_steps_words }

#define TBP_FROM_OPTION(offset)                                                                    \
    {                                                                                              \
        "from", 0, TBP_OPT_TEXT, (offset), "FORMAT",                                               \
            "format of the input instead of detecting it", NULL                                    \
    }
#define TBP_SEMANTICS_OPTION(offset)                                                               \
    {                                                                                              \
        "semantics", 0, TBP_OPT_CHOICE, (offset), NULL,                                            \
            "whose numbers: the official plugin's with named repairs, without them, or those of "  \
            "TensorFlow 2.4-2.8",                                                                  \
            tbp_semantics_choices                                                                  \
    }
#define TBP_STRICT_OPTION(offset)                                                                  \
    {                                                                                              \
        "strict", 0, TBP_OPT_FLAG, (offset), NULL,                                                 \
            "exit code 1 if anything of the input was lost", NULL                                  \
    }

struct tbp_run_loader {
    const struct tbp_run *run;
    const char *from;       /* --from FORMAT, or NULL */
    enum tbp_wanted wanted; /* which events are asked for */
    struct tbp_step_source steps;
    struct tbp_progress *progress; /* of reading, each file by its size; or NULL */
};

/* The session borrows loader and pool; free it with tbp_session_free. */
struct tbp_session *tbp_run_session(struct tbp_run_loader *loader, enum tbp_semantics semantics,
                                    struct tbp_arena *arena, struct tbp_pool *pool);

/* Fails if the file of a host that was loaded is not any more what it was then. */
int tbp_check_unchanged(const struct tbp_host *h, const struct tbp_run_file *file,
                        struct tbp_error *err);

/* Whether --from FORMAT (or NULL) names a reader: asked before any input is opened. */
int tbp_check_format(const char *from, struct tbp_error *err);

/* The one run that INPUT and --run NAME (or NULL) mean; several without a name are an error that
 * lists them. Tells what was passed over; *has_loss: a profile was. */
int tbp_find_one_run(struct tbp_run *out, const struct tbp_cli *cli, const char *input,
                     const char *run_name, bool *has_loss, struct tbp_error *err);

/* Index of the host of that name; an unknown name is an error with the nearest known one. */
int tbp_find_host(const struct tbp_session *s, const char *name, uint32_t *host,
                  struct tbp_error *err);

#endif
