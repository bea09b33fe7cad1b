/* SPDX-License-Identifier: Apache-2.0
 *
 * What collect.c, collect_carry.c and collect_texts.c share; nobody else includes this.
 */
#ifndef TBP_PLUGIN_DATA_COLLECT_STATE_H
#define TBP_PLUGIN_DATA_COLLECT_STATE_H

#include "plugin_data/collect.h"
#include "plugin_data/rec_activity.h"
#include "plugin_data/rec_line.h"

enum tbp_collect_line_kind {
    TBP_LINE_THREAD,
    TBP_LINE_ACTIVITIES,
    TBP_LINE_COUNTERS,
    TBP_LINE_GPU, /* waits and overheads; index: line of the tbp_rec_gpu */
};

struct tbp_collect_line {
    enum tbp_collect_line_kind kind;
    uint32_t index; /* thread, or lane */
    int64_t id;
    struct tbp_str name;
};

struct tbp_collect_thread {
    struct tbp_rec_scopes crossing;
    uint32_t *carried; /* slots */
    size_t n_carried;
};

struct tbp_collect {
    struct tbp_arena arena; /* holds this struct too */
    struct tbp_collect_request request;
    struct tbp_recording recording;
    struct tbp_collect_thread *threads; /* as in the recording */
    struct tbp_rec_scope_walk walk;
    struct tbp_rec_memory memory;
    struct tbp_rec_activities activities;
    struct tbp_rec_gpu gpu;
    struct tbp_rec_gpu_planes gpu_planes;
    struct tbp_rec_names names;
    struct tbp_rec_stats stats;
    struct tbp_rec_emit emit;
    uint64_t n_beyond;              /* scopes that are more than max_events all the same */
    bool is_trimmed;                /* for max_events */
    struct tbp_collect_carry *next; /* what comes after this profile */
    TBP_VEC(uint32_t) texts;        /* slots of METADATA and WARNING, in order of time */
    TBP_VEC(struct tbp_collect_line) lines;
    uint32_t all_kinds;
    uint64_t n_dropped[16]; /* since the snapshot before */
    int64_t kept_since_ps;  /* by a ring, of all threads */
    /* of the walk beforehand */
    uint64_t n_without_begin, n_untracked, n_notes_lost;
};

/* ---- collect_carry.c ---- */
/* Brings what the carry holds into the recording: threads, and slots of their open records. */
void tbp_collect_take_carry(struct tbp_collect *c);
/* Notes what is open at the end of the thread walked last. */
void tbp_collect_carry_thread(struct tbp_collect *c, size_t thread);
void tbp_collect_carry_rest(struct tbp_collect *c);
void tbp_collect_carry_commit(struct tbp_collect *c);
int64_t tbp_collect_carry_border_ps(const struct tbp_collect_carry *carry);

/* ---- collect_texts.c ---- */
void tbp_collect_warnings(const struct tbp_collect *c, struct tbp_xspace_out *o);
void tbp_collect_environment(const struct tbp_collect *c, struct tbp_xspace_out *o);

#endif
