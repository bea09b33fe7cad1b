/* SPDX-License-Identifier: Apache-2.0
 *
 * Between the files that make suggestions (advice.h): adding one, and groups of rules.
 */
#ifndef TBP_CONVERT_REPORT_ADVICE_PARTS_H
#define TBP_CONVERT_REPORT_ADVICE_PARTS_H

#include "convert/report/advice.h"
#include "convert/report/step_trace.h"

/* Texts are kept as they are: literals, or of a->arena. */
void tbp_advice_add(struct tbp_advices *a, const char *key, double share, const char *text,
                    const char *what);
/* advice_stalls.c: steps at equal distances that take longer */
void tbp_advise_stalls(struct tbp_advices *a, const struct tbp_step_trace *t);
/* advice_queues.c: MindData */
void tbp_advise_queues(struct tbp_advices *a, const struct tbp_host *h);

#endif
