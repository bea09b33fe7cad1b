/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tool (a page of the Profile tab) is. Adding one = a file with a `const struct tbp_tool`,
 * one line in tools.c.
 *
 * write streams the body, exactly as the plugin's /data route answers it, into the sink. It asks
 * the session for hosts and tables and keeps nothing.
 */
#ifndef TBP_CONVERT_TOOL_TOOL_H
#define TBP_CONVERT_TOOL_TOOL_H

#include "convert/analyze/session.h"
#include "plugin_data/sink.h"

enum tbp_dialect {
    TBP_DIALECT_NEWEST, /* xprof 2.24.2 */
    TBP_DIALECT_LEGACY, /* tensorboard-plugin-profile <= 2.19.0 */
};

enum tbp_tool_scope {
    TBP_SCOPE_HOST = 1,      /* offered for one host */
    TBP_SCOPE_ALL_HOSTS = 2, /* offered for all hosts together */
};

struct tbp_tool_option {
    const char *key, *value;
};

struct tbp_request {
    uint32_t host; /* index, or TBP_ALL_HOSTS */
    enum tbp_dialect dialect;
    const struct tbp_tool_option *options; /* the page's query parameters */
    size_t n_options;
};

/* A query parameter that a tool knows; it ignores others, as the official converter does. */
struct tbp_tool_param {
    const char *key;
    const char *help; /* one line */
    enum { TBP_PARAM_TEXT, TBP_PARAM_SWITCH, TBP_PARAM_NUMBER } kind;
};

/* Whether a value makes sense: a switch is true or false, a number finite (a window may begin
 * before the trace). Pages send what they like, and get what the official converter makes of it;
 * people are told. */
bool tbp_tool_param_takes(const struct tbp_tool_param *p, const char *value);

struct tbp_tool {
    const char *name;        /* as the newest plugin calls it */
    const char *legacy_name; /* in the older dialect; NULL: the same */
    const char *help;        /* one line */
    unsigned scope;          /* enum tbp_tool_scope bits */
    const char
        *file; /* what `convert` writes beside the xplane: "overview_page.json"; NULL: nothing */
    bool file_gzip;         /* written as <file>.gz content: the name above carries .gz */
    const char *pb_file;    /* legacy .pb twin, e.g. "kernel_stats.pb"; NULL: none */
    enum tbp_wanted wanted; /* the answer is made of no other events */
    const struct tbp_tool_param *params; /* ends with a NULL key; NULL: takes none */
    /* Tables that the answer for all hosts is made of, NULL-terminated; NULL: it is made of events.
     */
    const struct tbp_analysis *const *needs;
    int (*write)(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                 struct tbp_error *err);
    int (*write_pb)(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                    struct tbp_error *err);
};

extern const struct tbp_tool tbp_tool_overview_page;
extern const struct tbp_tool tbp_tool_input_pipeline;
extern const struct tbp_tool tbp_tool_pod_viewer;
extern const struct tbp_tool tbp_tool_framework_op_stats;
extern const struct tbp_tool tbp_tool_kernel_stats;
extern const struct tbp_tool tbp_tool_memory_profile;
extern const struct tbp_tool tbp_tool_trace_viewer;
extern const struct tbp_tool tbp_tool_tf_data_bottleneck_analysis;
extern const struct tbp_tool tbp_tool_trace_viewer_stream;
extern const struct tbp_tool *const tbp_tools[]; /* tools.c: THE TABLE; NULL-terminated */

/* Before an answer for all hosts: makes the tables of every host that the tool needs, hosts side by
 * side, and gives each host's events back, so that no more hosts than threads are in memory. With
 * one host or without `needs`: nothing. */
int tbp_tool_prepare_hosts(const struct tbp_tool *t, struct tbp_session *s, struct tbp_error *err);

/* By either name; NULL if unknown. */
const struct tbp_tool *tbp_tool_find(struct tbp_str name);
/* Value of a query parameter, or fallback. */
const char *tbp_request_option(const struct tbp_request *r, const char *key, const char *fallback);
bool tbp_request_number(const struct tbp_request *r, const char *key, double fallback,
                        double *out); /* false: no number */

#endif
