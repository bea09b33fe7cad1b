/* SPDX-License-Identifier: Apache-2.0
 *
 * What both trace viewers show of one host: processes, threads, names and arguments of events, in
 * the terms of the viewers (pid, tid) and with everything that preprocessing adds to an event
 * (groups, step names, flows, derived lines) or hides of it. Events stay where they are, in the
 * columns of the model and of the derived lines. Source: rules 3-5 of the trace views (verified
 * against the newest official converter).
 *
 * Ownership: tables come from the arena given to tbp_trace_build; texts borrow from the host. Const
 * after building. Thread-safety: read-only use from many threads, each with its own struct
 * tbp_trace_args.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_MODEL_H
#define TBP_CONVERT_ANALYZE_TRACE_MODEL_H

#include "base/vec.h"
#include "convert/analyze/derived_lines.h"
#include "convert/analyze/event_links.h"

enum tbp_trace_view {
    TBP_TRACE_STATIC, /* trace_viewer: one document */
    TBP_TRACE_STREAM, /* trace_viewer@: windows */
};

/* What a stat means to the viewers, by its name. */
enum tbp_trace_what {
    TBP_TRACE_ORDINARY,
    TBP_TRACE_HIDDEN,
    TBP_TRACE_GROUP_ID,
    TBP_TRACE_IS_EAGER,
    TBP_TRACE_STEP_NAME,
    TBP_TRACE_FLOW,
    TBP_TRACE_ASYNC,
    TBP_TRACE_LONG_NAME,
    TBP_TRACE_HLO_TEXT,
    TBP_TRACE_RUN_ID,
    TBP_TRACE_CORRELATION,
    TBP_TRACE_KERNEL_DETAILS,
};

struct tbp_trace_key {
    struct tbp_str name;
    uint64_t prefix; /* first eight bytes, big-endian: orders most names without looking further */
    uint8_t what;    /* enum tbp_trace_what */
};

/* One argument of an event. */
struct tbp_trace_arg {
    uint32_t key; /* in plane->keys */
    uint8_t type; /* enum tbp_stat_type; REF: `ref` is the key whose name is the text */
    union {
        int64_t i;
        uint64_t u;
        double d;
        struct tbp_str s;
        uint32_t ref;
    };
};

/* Scratch for the arguments of one event at a time. */
struct tbp_trace_args {
    TBP_VEC(struct tbp_trace_arg) at;
    TBP_VEC(char) text; /* of a repaired value */
};
void tbp_trace_args_release(struct tbp_trace_args *a);

struct tbp_trace_meta {
    struct tbp_str name;              /* shown */
    struct tbp_str full_name;         /* of the metadata; an argument if has_long_name */
    const struct tbp_trace_arg *args; /* stats of the metadata, hidden ones left out */
    uint32_t n_args;
    bool is_hidden, has_long_name,
        has_special; /* special: group_id, flow, _a or step_name among args */
};

struct tbp_trace_line;
struct tbp_trace_plane {
    const struct tbp_plane *plane;
    uint32_t pid;
    struct tbp_str name; /* of the plane */
    struct tbp_trace_key
        *keys; /* index = stat metadata of the plane, then made keys, then long_name */
    uint32_t n_keys, made_keys, long_name;
    struct tbp_trace_meta *metas, *made_metas;
    size_t n_made_metas;
    struct tbp_trace_line *lines;
    size_t n_lines;
    struct tbp_link_rules links;
    uint64_t host_hash; /* salt of flow ids */
    bool makes_flows, is_device, repairs_details;
    bool as_in_file; /* what preprocessing computed is not shown (TensorFlow's own reading) */
};

struct tbp_trace_line {
    const struct tbp_trace_plane *plane;
    const struct tbp_line *line;
    const struct tbp_made_line *made; /* NULL for lines of the file */
    const struct tbp_trace_meta *metas;
    uint32_t tid, sort_index;
    struct tbp_str name; /* shown */
    uint64_t shift_ps;   /* to add to begin, modulo 2^64 */
};

struct tbp_trace {
    const struct tbp_host *host;
    struct tbp_trace_plane *planes; /* in the order of the view */
    size_t n_planes;
};

/* Events that preprocessing made are not shown as_in_file. */
static inline bool tbp_trace_is_left_out(const struct tbp_trace_line *l, size_t i) {
    return l->metas[l->line->ev.meta[i]].is_hidden ||
           (l->plane->as_in_file && (l->line->ev.flags[i] & TBP_EVENT_MADE));
}

int tbp_trace_build(struct tbp_session *s, uint32_t host, enum tbp_trace_view view,
                    struct tbp_arena *a, struct tbp_trace *out, struct tbp_error *err);

static inline uint64_t tbp_trace_begin(const struct tbp_trace_line *l, size_t i) {
    return l->line->ev.start_ps[i] + l->shift_ps;
}
static inline const struct tbp_trace_meta *tbp_trace_meta_at(const struct tbp_trace_line *l,
                                                             size_t i) {
    return &l->metas[l->line->ev.meta[i]];
}

/* The event's own stats as they are after preprocessing, without hidden ones and those without
 * value; those of its metadata are in meta->args and come first. Replaces the content of out. */
void tbp_trace_event_args(const struct tbp_trace_line *l, size_t i, struct tbp_trace_args *out);

/* One XStat message; false if its bytes are broken. */
bool tbp_trace_decode(const struct tbp_trace_plane *p, struct tbp_wire w,
                      struct tbp_trace_arg *out);

/* Text of an argument: STR or REF, else "". */
static inline struct tbp_str tbp_trace_text(const struct tbp_trace_plane *p,
                                            const struct tbp_trace_arg *a) {
    if (a->type == TBP_STAT_REF)
        return p->keys[a->ref].name;
    return a->type == TBP_STAT_STR ? a->s : TBP_STR_NONE;
}

/* Order of argument names, byte-wise; 0 for the same name. */
int tbp_trace_key_cmp(const struct tbp_trace_key *a, const struct tbp_trace_key *b);

/* "shm:N" of older kernel details as static_shared:N (repair). Writes at most 8*s.n + 64 bytes,
 * returns their count. */
size_t tbp_trace_repaired_details(struct tbp_str s, char *to);

/* The last flow of the event in force (computed flows come after those of the file); false if it
 * has none. */
bool tbp_trace_flow(const struct tbp_trace_line *l, size_t i, uint64_t *flow);

#endif
