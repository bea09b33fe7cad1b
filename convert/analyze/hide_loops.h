/* SPDX-License-Identifier: Apache-2.0
 *
 * Repair: steps although there are loops within them. The official rule takes the iterations of
 * TensorFlow's while loops for steps wherever there are any, and shows none of them on a CPU; so a
 * loop in a step (Keras's steps_per_execution, a recurrent layer) hides every step of the profile.
 * Here each iteration becomes number 0, which makes no loop by that rule, and keeps what it was as
 * stat "former iter_num". Pages and the xplane that is written follow. Source of the rule:
 * ../shared/spec/pages/RULES.md 2.7, 2.8.
 */
#ifndef TBP_CONVERT_ANALYZE_HIDE_LOOPS_H
#define TBP_CONVERT_ANALYZE_HIDE_LOOPS_H

#include "convert/model/model.h"

/* For a host that is not grouped yet; counts the iterations. Lines that have some are built anew.
 */
void tbp_hide_loops(struct tbp_host *h);

#endif
