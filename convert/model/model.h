/* SPDX-License-Identifier: Apache-2.0
 *
 * The run model: one host of a profile as planes, lines and columns of events. Readers fill it
 * through convert/model/builder.h or (xplane) directly; analyses read it and annotate the columns
 * that are theirs.
 *
 *     host ─ planes ─ lines ─ events: start_ps[], dur_ps[], meta[], body, has[], group[], flags[]
 *                   ├ metas: names of events (index = column `meta`)
 *                   └ stat_metas: names of stats
 *
 * Times: unsigned picoseconds modulo 2^64; start = line.timestamp_ns*1000 + offset_ps. 33 bytes per
 * event. Stats stay undecoded: an event's `body` is where its XEvent message lies (length-prefixed,
 * relative to line->base); convert/model/stats.h walks it. Whatever the source format, stats are
 * XStat wire bytes. Ownership: the host's arena and its input own everything; text views point into
 * either. Columns may be given back early (tbp_host_release_events), names and metadata stay until
 * tbp_host_release. Order is file order everywhere: planes, lines, events, metadata. Thread-safety:
 * read-only use from many threads; annotation by one analysis at a time (analyze/session.h locks).
 */
#ifndef TBP_CONVERT_MODEL_MODEL_H
#define TBP_CONVERT_MODEL_MODEL_H

#include "base/arena.h"
#include "base/file.h"
#include "base/map.h"
#include "convert/model/ledger.h"
#include "schemas/names.h"

/* Presence of well-known stats on an event, column `has`, so that analyses skip events without
 * looking at bytes. */
enum tbp_has {
    TBP_HAS_GROUP =
        1u << 0, /* group_id (any type; column `group` holds its I value) or group computed */
    TBP_HAS_CORRELATION = 1u << 1,  /* correlation_id */
    TBP_HAS_TF_OP = 1u << 2,        /* tf_op */
    TBP_HAS_LEVEL_0 = 1u << 3,      /* "level 0" */
    TBP_HAS_KERNEL = 1u << 4,       /* kernel_details */
    TBP_HAS_HLO_OP = 1u << 5,       /* hlo_op */
    TBP_HAS_LINK = 1u << 6,         /* any of _pt _p _ct _c _pid */
    TBP_HAS_ROOT = 1u << 7,         /* _r */
    TBP_HAS_ASYNC = 1u << 8,        /* _a */
    TBP_HAS_STAGE_ID = 1u << 9,     /* _ipl_stage_id */
    TBP_HAS_STAGE_NAME = 1u << 10,  /* _ipl_stage_name */
    TBP_HAS_STEP_NAME = 1u << 11,   /* step_name in the file */
    TBP_HAS_STEP_NUM = 1u << 12,    /* step_num */
    TBP_HAS_ITER_NUM = 1u << 13,    /* iter_num */
    TBP_HAS_ID = 1u << 14,          /* id */
    TBP_HAS_IS_EAGER = 1u << 15,    /* is_eager in the file */
    TBP_HAS_FLOW = 1u << 16,        /* flow in the file */
    TBP_HAS_GRAPH = 1u << 17,       /* cuda_graph_id or cuda_graph_exec_id */
    TBP_HAS_DEVICE_SPAN = 1u << 18, /* device_offset_ps or device_duration_ps */
    TBP_HAS_IS_FUNC = 1u << 19,     /* is_func */
    TBP_HAS_GRAPH_TYPE = 1u << 20,  /* graph_type */
    TBP_HAS_DEVICE_ID = 1u << 21,   /* device_id */
    TBP_HAS_RUN = 1u << 22, /* run_id, queue_id, request_id, queue_addr: links of TPU systems */
    TBP_HAS_LAUNCH =
        1u << 23, /* correlation_id once, its I value >= 0; if not set, that may still be */
    TBP_HAS_STATS = 1u << 30,       /* any stat at all */
    TBP_HAS_OCCURRENCES = 1u << 31, /* num_occurrences instead of an offset: aggregated event */
};

/* Annotations made by analyze/grouping (column `flags`). */
enum tbp_event_flag {
    TBP_EVENT_GROUPED =
        1u << 0, /* group was computed here: it replaces a group_id stat of the file */
    TBP_EVENT_EAGER_SET = 1u << 1, /* is_eager was computed here … */
    TBP_EVENT_EAGER = 1u << 2,     /* … and is 1 */
    TBP_EVENT_STEP_NAMED =
        1u << 3, /* carries the computed stat step_name = tbp_host_group_name(group) */
    TBP_EVENT_MADE =
        1u << 4, /* not in the file (threadpool region, derived line); body may be absent */
    TBP_EVENT_INHERITED =
        1u << 5, /* GPU event that took the group before it (appended, not replaced) */
};
#define TBP_NO_BODY    UINT64_MAX
#define TBP_GROUP_WIDE INT32_MIN /* group does not fit the column: decode the stat */

struct tbp_events {
    size_t n;
    uint64_t *start_ps, *dur_ps;
    uint32_t *body_low;  /* tbp_event_body() + 1, so that a fresh column says: no body */
    uint16_t *body_high; /* the bits above; NULL in lines of less than 4 GiB */
    uint32_t *meta, *has;
    int32_t *group;
    uint8_t *flags;
};

/* Offset of the event's message in its line's bytes, or TBP_NO_BODY. */
static inline uint64_t tbp_event_body(const struct tbp_events *ev, size_t i) {
    uint64_t high = ev->body_high ? ev->body_high[i] : 0;
    return (high << 32 | ev->body_low[i]) - 1;
}

/* Columns that may hold it were made by tbp_events_reach. */
static inline void tbp_event_set_body(struct tbp_events *ev, size_t i, uint64_t body) {
    ev->body_low[i] = (uint32_t)(body + 1);
    if (ev->body_high)
        ev->body_high[i] = (uint16_t)((body + 1) >> 32);
}

struct tbp_meta { /* XEventMetadata */
    int64_t id;
    struct tbp_str name, display; /* display empty if not given */
    struct tbp_str wire;          /* the whole message; its stats by tbp_stat_iter_meta */
    enum tbp_event_kind kind;     /* of name */
    bool has_stats;
};

struct tbp_stat_meta { /* XStatMetadata */
    int64_t id;
    struct tbp_str name;
    enum tbp_stat_key key;
    uint32_t has; /* presence bit of the key: enum tbp_has, or 0 */
};

/* Metadata id -> index: small ids by array, others by map. */
struct tbp_id_index {
    uint32_t *dense; /* 0: absent */
    size_t n_dense;
    struct tbp_idmap sparse;
};

struct tbp_plane;
struct tbp_line {
    int64_t id, display_id;
    struct tbp_str name, display_name;
    int64_t timestamp_ns, duration_ps;
    const uint8_t *base; /* body offsets of its events count from here */
    size_t base_size;
    struct tbp_events ev;
    const struct tbp_meta *metas; /* table that column `meta` indexes */
    struct tbp_plane *plane;
    bool is_derived; /* tbp_is_derived_line(id) */
    bool is_rebuilt; /* by --steps: bodies hold stats alone, and are no bytes of the input */
};

struct tbp_plane {
    int64_t id;
    struct tbp_str name;
    struct tbp_line *lines;
    size_t n_lines, cap_lines;
    struct tbp_meta *metas; /* metas[0] is the nameless entry for ids that are not in the file */
    size_t n_metas, cap_metas;
    struct tbp_stat_meta *stat_metas; /* stat_metas[0]: the nameless entry */
    size_t n_stat_metas, cap_stat_metas;
    struct tbp_id_index meta_by_id, stat_meta_by_id;
    struct tbp_str *stats; /* XStat messages of the plane itself */
    size_t n_stats;
    size_t index; /* in host->planes */
    struct tbp_host *host;
    bool is_first_of_name;
    bool made_metas;                     /* entries were added behind those of the file */
    uint8_t has_stat_key[TBP_STAT_KEYS]; /* 1: some stat_meta has this key */
};

struct tbp_group {
    int64_t id;
    struct tbp_str name;
};

/* Met while `parent` was grouped: an event of the group `child` hangs below one of its events. */
struct tbp_group_link {
    int64_t parent, child;
};

/* Which events are read; planes and metadata are all there, if not said otherwise. */
enum tbp_wanted {
    TBP_WANTED_ALL,
    TBP_WANTED_KERNELS, /* of planes of which tbp_is_device_plane. Others but that of the programs
                           may be there with their name alone, so nothing is grouped; no ops are
                           made of the events */
    TBP_WANTED_NO_GPU,  /* of planes of which not tbp_is_gpu_plane */
    TBP_WANTED_MEMORY,  /* the same, but of the planes of a host that came with its groups, so that
                           nothing has to be found out about others, allocations alone */
};

#define TBP_FORMAT_EMPTY "empty"

struct tbp_host {
    struct tbp_str name; /* of the file: "<host>" of <host>.xplane.pb */
    struct tbp_str path; /* for messages */
    const char *format;  /* name of the reader, TBP_FORMAT_EMPTY: there was nothing to read */
    struct tbp_str
        *hostnames; /* XSpace.hostnames; label of the run environment: first, else "localhost" */
    struct tbp_str *errors, *warnings;
    size_t n_hostnames, n_errors, n_warnings;
    struct tbp_plane *planes;
    size_t n_planes;
    struct tbp_group *groups; /* made by grouping, sorted by id */
    size_t n_groups;
    struct tbp_group_link *group_links; /* made by grouping; each pair once, ascending */
    size_t n_group_links;
    int64_t file_rank;  /* rank in a distributed job by the name of the file, … */
    bool has_file_rank; /* … if that tells one */
    bool is_foreign;    /* not read from an xplane: the input holds none of its bytes */
    bool was_grouped;   /* the file came with groups, or without what they are made of: nothing was
                           computed */
    bool has_loops;     /* made by grouping: its groups are iterations of loops */
    bool has_given_steps; /* by --steps: nothing but its marks makes a step */
    bool wants_no_steps;  /* … and it asks for none */
    bool had_added_plane; /* the file's /host:CPU was added by tbprof and is left out here */
    int64_t epoch_ns;     /* taken from lines since the epoch (analyze/event_order.h); 0: none */
    uint64_t n_unsigned_steps; /* that grouping, or the reader of another format, read as signed */
    struct tbp_ledger ledger;
    struct tbp_ledger lost_before; /* of the input that the file was written of, as it tells: what
                                      of it is not in the file (analyze/file_marks.h) */
    struct tbp_arena arena;        /* names, tables of metadata */
    struct tbp_arena columns;      /* event columns */
    struct tbp_input input;
    uint64_t size_bytes;    /* of the (inflated) input */
    enum tbp_wanted wanted; /* a reader may leave other events unread */
};

void tbp_host_init(struct tbp_host *h);
void tbp_host_release(struct tbp_host *h);
void tbp_host_release_events(struct tbp_host *h); /* columns only; every line then has 0 events */

/* First plane with exactly this name, or NULL. */
struct tbp_plane *tbp_host_plane(const struct tbp_host *h, const char *name);
uint64_t tbp_host_count_events(const struct tbp_host *h);
/* Told by the metadata: every plane of the host or of a device has group ids. */
bool tbp_host_came_grouped(const struct tbp_host *h);
/* Name of a computed group; false if there is none. */
bool tbp_host_group_name(const struct tbp_host *h, int64_t group, struct tbp_str *name);

/* Index of the metadata entry, or of the nameless entry if the id is not in the file. */
static inline uint32_t tbp_id_index_get(const struct tbp_id_index *x, int64_t id) {
    if ((uint64_t)id < x->n_dense)
        return x->dense[id];
    uint32_t i = x->sparse.cap ? tbp_idmap_get(&x->sparse, (uint64_t)id) : TBP_MAP_NONE;
    return i == TBP_MAP_NONE ? 0 : i;
}
static inline uint32_t tbp_plane_meta_index(const struct tbp_plane *p, int64_t id) {
    return tbp_id_index_get(&p->meta_by_id, id);
}
static inline uint32_t tbp_plane_stat_meta_index(const struct tbp_plane *p, int64_t id) {
    return tbp_id_index_get(&p->stat_meta_by_id, id);
}
/* Index setup for about n ids, then entries one by one; returns false if the id was there (it is
 * overwritten). */
void tbp_id_index_init(struct tbp_id_index *x, size_t n, struct tbp_arena *a);
bool tbp_id_index_put(struct tbp_id_index *x, int64_t id, uint32_t index);
static inline bool tbp_plane_has_stat(const struct tbp_plane *p, enum tbp_stat_key key) {
    return p->has_stat_key[key] != 0;
}
/* Smallest timestamp_ns of the plane's lines, 0 without lines. */
int64_t tbp_plane_start_ns(const struct tbp_plane *p);

/* Beyond this many nanoseconds a time in picoseconds does not fit 63 bits: such a line counts from
 * the epoch, others from the start of the profile. */
static inline bool tbp_line_is_since_epoch(const struct tbp_line *l) {
    return l->timestamp_ns > INT64_MAX / 1000;
}

static inline struct tbp_str tbp_event_name(const struct tbp_line *l, size_t i) {
    return l->metas[l->ev.meta[i]].name;
}
static inline enum tbp_event_kind tbp_event_kind_at(const struct tbp_line *l, size_t i) {
    return l->metas[l->ev.meta[i]].kind;
}
static inline uint64_t tbp_event_end(const struct tbp_line *l, size_t i) {
    return l->ev.start_ps[i] + l->ev.dur_ps[i];
}
/* Signed offset within the line, as the file has it. */
static inline int64_t tbp_event_offset(const struct tbp_line *l, size_t i) {
    return (int64_t)(l->ev.start_ps[i] - (uint64_t)l->timestamp_ns * 1000u);
}
/* Presence bit of a well-known stat, 0 for others. */
uint32_t tbp_has_of_stat(enum tbp_stat_key key);

/* I value of the group in force (computed, else of the file); false if there is none. */
bool tbp_event_group(const struct tbp_line *l, size_t i, int64_t *group);
/* I value of is_eager in force != 0. */
bool tbp_event_is_eager(const struct tbp_line *l, size_t i);
/* num_occurrences, 0 if the event has an offset. */
int64_t tbp_event_occurrences(const struct tbp_line *l, size_t i);

#endif
