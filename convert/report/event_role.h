/* SPDX-License-Identifier: Apache-2.0
 *
 * What an event of a host line is to a report. Readers of foreign formats leave the category that
 * the file gives an event in the stat "category"; most formats have none, then everything on a
 * thread is work of that thread. Pure.
 */
#ifndef TBP_CONVERT_REPORT_EVENT_ROLE_H
#define TBP_CONVERT_REPORT_EVENT_ROLE_H

#include "convert/model/model.h"

#define TBP_CATEGORY_STAT "category"

enum tbp_event_role {
    TBP_ROLE_WORK,       /* ops, functions, calls */
    TBP_ROLE_ANNOTATION, /* ranges that the user named */
    TBP_ROLE_ASIDE,      /* no work of the thread it stands on: the profiler's own, device ranges */
};

enum tbp_event_role tbp_event_role_of(struct tbp_str category);
/* Names that the profiler's own machinery leaves among the ops. */
bool tbp_is_profiler_op(struct tbp_str name);

#endif
