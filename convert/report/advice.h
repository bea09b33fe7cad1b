/* SPDX-License-Identifier: Apache-2.0
 *
 * Suggestions in words, each with the figure it is based on: what takes time that could be saved.
 * Shares of 5 % and more are worth a word, from 20 % they are called much (the thresholds of the
 * official input-pipeline page).
 */
#ifndef TBP_CONVERT_REPORT_ADVICE_H
#define TBP_CONVERT_REPORT_ADVICE_H

#include "base/vec.h"
#include "convert/analyze/session.h"
#include "plugin_data/json_out.h"

struct tbp_advice {
    const char *key;
    double share;     /* 0 … 1: what the suggestion is based on */
    const char *text; /* the figure in words */
    const char *what; /* to try */
};

struct tbp_advices {
    TBP_VEC(struct tbp_advice) list;
    struct tbp_arena arena;
};

void tbp_advices_init(struct tbp_advices *a);
void tbp_advices_release(struct tbp_advices *a);
/* Of hosts first … end-1 together. */
int tbp_advices_collect(struct tbp_advices *a, struct tbp_session *s, uint32_t first, uint32_t end,
                        struct tbp_error *err);
void tbp_advices_text(struct tbp_json *out, const struct tbp_advices *a);
void tbp_advices_json(struct tbp_json *out, const struct tbp_advices *a);

#endif
