/* SPDX-License-Identifier: Apache-2.0
 *
 * What `tbprof stats` can be asked: the texts of its choices, for the command's option table.
 */
#ifndef TBP_CONVERT_REPORT_STATS_H
#define TBP_CONVERT_REPORT_STATS_H

extern const char *const tbp_stats_sort_choices[];  /* of sort_by */
extern const char *const tbp_stats_group_choices[]; /* of group_by */

#endif
