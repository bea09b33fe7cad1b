/* SPDX-License-Identifier: Apache-2.0
 *
 * THE TABLE of reports.
 */
#include "convert/report/report.h"

/* clang-format off */
const struct tbp_report *const tbp_reports[] = {
    &tbp_report_stats,
    &tbp_report_steps,
    &tbp_report_collectives,
    &tbp_report_stacks,
    &tbp_report_export,
    &tbp_report_check,
    NULL,
};
