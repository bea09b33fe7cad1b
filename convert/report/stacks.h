/* SPDX-License-Identifier: Apache-2.0
 *
 * What `tbprof stacks` can be asked, for the command's option table.
 */
#ifndef TBP_CONVERT_REPORT_STACKS_H
#define TBP_CONVERT_REPORT_STACKS_H

extern const char *const tbp_stacks_metric_choices[]; /* of sort_by */
extern const char *const tbp_stacks_frame_choices[];  /* of group_by: enum tbp_frames */

#endif
