/* SPDX-License-Identifier: Apache-2.0
 *
 * The names that a document of trace events gives its processes (metadata "process_name"), which
 * may stand behind the events they explain. Names are copies in the arena given.
 */
#ifndef TBP_CONVERT_READ_PROCESS_NAMES_H
#define TBP_CONVERT_READ_PROCESS_NAMES_H

#include "convert/read/json_trace.h"

struct tbp_process_names {
    TBP_VEC(struct tbp_given_name) names;
    struct tbp_idmap by_id; /* process id -> index */
};

/* One of the names given. */
void tbp_process_names_put(struct tbp_process_names *p, struct tbp_arena *a, int64_t id,
                           const struct tbp_given_name *name);
/* False if the process has none. */
bool tbp_process_names_get(const struct tbp_process_names *p, int64_t id, struct tbp_str *name);
void tbp_process_names_release(struct tbp_process_names *p);

/* Takes metadata of this kind; false for any other event. */
bool tbp_process_names_read(struct tbp_process_names *p, struct tbp_json_trace *jt,
                            const struct tbp_json_event *e);

#endif
