/* SPDX-License-Identifier: Apache-2.0
 *
 * One trace event as it stands in JSON: its fields in whatever order they came, as views of the
 * input. json_trace.h hands them out one after the other. Pure, thread-safe.
 */
#ifndef TBP_CONVERT_READ_JSON_EVENT_H
#define TBP_CONVERT_READ_JSON_EVENT_H

#include "base/json_pull.h"

/* Absent: END with an empty text. */
struct tbp_json_value {
    struct tbp_str text;
    enum tbp_json_token token : 8; /* of containers: OBJECT or ARRAY, and text is all of it */
    bool is_plain;
};

struct tbp_json_arg {
    struct tbp_str key;
    struct tbp_json_value value;
    bool key_is_plain;
};

static inline struct tbp_json_value tbp_json_arg_key(const struct tbp_json_arg *a) {
    return (struct tbp_json_value){
        .text = a->key, .token = TBP_JSON_STRING, .is_plain = a->key_is_plain};
}

enum { TBP_JSON_MAX_ARGS = 64 };

struct tbp_json_event {
    struct tbp_json_value name, cat, ts, dur, pid, tid, id, id_local, id_global, scope, flow;
    uint64_t offset;
    struct tbp_json_arg *args; /* room for the most there are, given by who reads it */
    unsigned n_args;
    char ph;       /* 0: none */
    bool is_empty; /* {} */
};

/* Behind OBJECT: reads the rest of it. Arguments are in the order of their names if the event is a
 * counter, or sorts_args. */
void tbp_json_event_read(struct tbp_json_pull *j, struct tbp_json_event *e, bool sorts_args);

#endif
