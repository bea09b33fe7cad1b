/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the plane that a recording becomes: events by what their records say (a string id, or
 * bytes of their own), stats by key. Numbers are given in order of first use, so that two passes
 * over the same records give the same ones.
 *
 * Memory: a table entry per name. A recording that makes a new name for each event is bounded: from
 * TBP_REC_MAX_NAMES on events share one name and carry their own in the stat `name`.
 * Ownership: texts are views into the recording, which must stay. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_NAMES_H
#define TBP_PLUGIN_DATA_REC_NAMES_H

#include "base/map.h"
#include "plugin_data/recording.h"
#include "plugin_data/xspace_out.h"

enum { TBP_REC_MAX_NAMES = 1 << 20, TBP_REC_MAX_KEYS = 1 << 16 };

/* X(suffix, text): stats that we write ourselves. */
#define TBP_REC_STATS(X)                                                                           \
    X(NAME, "name")                                                                                \
    X(OPEN, "open_at_end")                                                                         \
    X(CONTINUED, "continued")                                                                      \
    X(CUT, "cut_by_lost_records")                                                                  \
    X(PRODUCER_TYPE, "_pt")                                                                        \
    X(PRODUCER, "_p")                                                                              \
    X(CONSUMER_TYPE, "_ct")                                                                        \
    X(CONSUMER, "_c")                                                                              \
    X(ASYNC, "_a")                                                                                 \
    X(ACTIVITY, "activity")                                                                        \
    X(SCOPE, "scope")                                                                              \
    X(REASON, "reason")                                                                            \
    X(COUNT, "count")                                                                              \
    X(VALUE, "value")                                                                              \
    X(ALLOCATOR, "allocator_name")                                                                 \
    X(RESERVED, "bytes_reserved")                                                                  \
    X(ALLOCATED, "bytes_allocated")                                                                \
    X(AVAILABLE, "bytes_available")                                                                \
    X(PEAK, "peak_bytes_in_use")                                                                   \
    X(REQUESTED, "requested_bytes")                                                                \
    X(ALLOCATION, "allocation_bytes")                                                              \
    X(ADDRESS, "addr")                                                                             \
    X(REGION, "region_type")                                                                       \
    X(DATA_TYPE, "data_type")                                                                      \
    X(SHAPE, "shape")                                                                              \
    X(TF_OP, "tf_op")                                                                              \
    X(CORRELATION, "correlation_id")

enum tbp_rec_stat { /* = number of the stat's name in the plane */
                    TBP_REC_STAT_NONE,
#define X(id, text) TBP_REC_STAT_##id,
                    TBP_REC_STATS(X)
#undef X
                        TBP_REC_STATS_KNOWN
};

enum tbp_rec_event { /* events of ours that do not take their name from a record */
                     TBP_REC_EVENT_NONE,
                     TBP_REC_EVENT_OTHER,
                     TBP_REC_EVENT_ALLOCATION,
                     TBP_REC_EVENT_DEALLOCATION,
                     TBP_REC_EVENT_PRODUCE,
                     TBP_REC_EVENT_CONSUME,
                     TBP_REC_EVENT_DROPPED,
                     TBP_REC_EVENT_PAUSE,
                     TBP_REC_EVENT_RESUME,
                     TBP_REC_EVENTS_KNOWN
};

/* How the value of a stat is stored, whatever the record says: readers do not convert. */
enum tbp_rec_type { TBP_REC_TYPE_ANY, TBP_REC_TYPE_I64, TBP_REC_TYPE_U64 };

struct tbp_rec_label {
    uint32_t event;       /* number of the name */
    struct tbp_str pairs; /* arguments in the name; may be empty */
    struct tbp_str own;   /* the name, if event is TBP_REC_EVENT_OTHER */
};

struct tbp_rec_names {
    const struct tbp_recording *recording;
    struct tbp_strtab events, stats;
    struct tbp_rec_label *label_of_string; /* by string id; event 0: not asked for yet */
    uint32_t *stat_of_string;              /* the same */
    uint8_t *types;                        /* enum tbp_rec_type by stat */
    size_t n_types;
    /* Bit n: the name n, one of ours, is used and will be written; others always are. */
    uint64_t used_events, used_stats;
};

void tbp_rec_names_init(struct tbp_rec_names *n, const struct tbp_recording *s,
                        struct tbp_arena *arena);
void tbp_rec_names_release(struct tbp_rec_names *n);

/* Hot: once per event. */
struct tbp_rec_label tbp_rec_names_label(struct tbp_rec_names *n, const struct tbp_rec *r);
/* Name of an event for others to refer to; the text behind a number. */
struct tbp_str tbp_rec_names_text(const struct tbp_rec_names *n, uint32_t event);
uint32_t tbp_rec_names_key(struct tbp_rec_names *n, uint32_t string_id);
uint32_t tbp_rec_names_key_text(struct tbp_rec_names *n, struct tbp_str key);
/* A text that comes often, by string id: as a name of a stat that values refer to. */
uint32_t tbp_rec_names_value(struct tbp_rec_names *n, uint32_t string_id);
enum tbp_rec_type tbp_rec_names_type(const struct tbp_rec_names *n, uint32_t stat);

static inline void tbp_rec_names_use_event(struct tbp_rec_names *n, uint32_t event) {
    n->used_events |= UINT64_C(1) << (event & 63) & -(uint64_t)(event < 64);
}
static inline void tbp_rec_names_use_stat(struct tbp_rec_names *n, uint32_t stat) {
    n->used_stats |= UINT64_C(1) << (stat & 63) & -(uint64_t)(stat < 64);
}

/* Writes the names into the open plane. */
void tbp_rec_names_write(const struct tbp_rec_names *n, struct tbp_xspace_out *o);

#endif
