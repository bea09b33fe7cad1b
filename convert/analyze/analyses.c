/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of analyses. The order is that of `tbprof tools`; memo slots follow it.
 */
#include "convert/analyze/hlo.h"

const struct tbp_analysis *const tbp_analyses[] = {
    &tbp_analysis_hlo,
    NULL,
};
