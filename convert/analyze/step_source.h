/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the steps of a profile come from, when the user says so (`--steps`), whatever the format:
 *
 *     auto           what the profile marks, by the rules of the semantics; else unknown
 *     markers        only what carries a step number; nothing else makes a step
 *     none           there are no steps
 *     whole          one step: the whole profile
 *     every=TIME     a step every 10ms, from the first event
 *     name=PATTERN   each range of this name is a step (whole name; '*' any text, '?' any letter)
 *     from=PATTERN   each event of this name begins a step, which ends where the next one begins
 *
 * The model of a host is changed once, before anything reads it: what made steps so far loses its
 * meaning (its stats stay, as "former step_num" …), and marks as the format's own are put in. So
 * pages, reports and the xplane that is written all follow. Nothing is guessed: pauses are no
 * borders of steps.
 */
#ifndef TBP_CONVERT_ANALYZE_STEP_SOURCE_H
#define TBP_CONVERT_ANALYZE_STEP_SOURCE_H

#include "base/vec.h"
#include "convert/model/model.h"

enum tbp_step_source_kind {
    TBP_STEPS_AUTO,
    TBP_STEPS_MARKERS,
    TBP_STEPS_NONE,
    TBP_STEPS_WHOLE,
    TBP_STEPS_EVERY,
    TBP_STEPS_NAME,
    TBP_STEPS_FROM,
};

struct tbp_step_source {
    enum tbp_step_source_kind kind;
    uint64_t every_ps;
    struct tbp_str pattern; /* borrows from the text parsed */
    struct tbp_str text;    /* as it was said */
};

/* From the option's text, NULL for auto; "every 10 ms" is as good as "every=10ms". Fails with
 * TBP_E_OPTION. */
int tbp_step_source_parse(struct tbp_step_source *out, const char *text, struct tbp_error *err);

/* Gives the host these steps; nothing for auto. Fails with TBP_E_OPTION where that cannot be: too
 * many steps, steps of a TPU. The host is released by the caller then. */
int tbp_step_source_apply(struct tbp_host *h, const struct tbp_step_source *s,
                          struct tbp_error *err);

/* Does the whole name match? '*' stands for any text, '?' for one byte. */
bool tbp_step_name_matches(struct tbp_str pattern, struct tbp_str name);

/* ---- between step_source.c and step_choose.c ---- */
struct tbp_given_step {
    int64_t number;
    uint64_t start_ps, end_ps;
    struct tbp_str name;
    const struct tbp_line *line; /* of the event that is the step; NULL: none is */
    size_t event;
    bool has_number;
};

struct tbp_given_steps {
    TBP_VEC(struct tbp_given_step) list; /* by start */
};

enum { TBP_MOST_GIVEN_STEPS = 1000000 };
int tbp_steps_choose(struct tbp_given_steps *out, const struct tbp_host *h,
                     const struct tbp_step_source *s, struct tbp_error *err);
/* Step that runs at this time, the last begun if several do; SIZE_MAX: none. */
size_t tbp_given_step_at(const struct tbp_given_steps *s, uint64_t time_ps);

#endif
