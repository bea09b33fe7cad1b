/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the scopes of a thread end. A profile lists scopes in order of their begin and wants each
 * duration at once, while a spool tells the end later. Ends inside the chunk that also holds the
 * begin are found by a look at that chunk alone (tbp_rec_scopes_run); those of scopes that cross
 * chunks by one walk over the thread beforehand (tbp_rec_scopes_thread), which keeps 12 bytes for
 * each of them, in order of begin, so that both come together by counting.
 *
 * Ownership: the vectors are the holder's. Thread-safety: one thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_SCOPES_H
#define TBP_PLUGIN_DATA_REC_SCOPES_H

#include "plugin_data/recording.h"

enum {
    TBP_REC_MAX_NOTES = 64,     /* records of arguments and flows of one scope */
    TBP_REC_MAX_OPEN = 1 << 20, /* no sound spool comes near */
    TBP_REC_MAX_CROSSING = 8 << 20,
};

enum tbp_rec_scope_flag {
    TBP_REC_SCOPE_HAS_OUT = 1,
    TBP_REC_SCOPE_HAS_IN = 2,
    TBP_REC_SCOPE_INNER = 4,    /* ended with a scope around it, whose END it is */
    TBP_REC_SCOPE_CROSSING = 8, /* the entry is from the thread's list */
};

struct tbp_rec_note {    /* a record that belongs to a scope; newest first */
    uint32_t slot, next; /* next: place in notes + 1; 0: the last one */
};
struct tbp_rec_scope {
    uint32_t end;   /* slot of its END; of another record: cut there; 0: open to the end */
    uint32_t notes; /* as next */
    uint8_t n_notes, flags;
};
struct tbp_rec_scopes {
    TBP_VEC(struct tbp_rec_scope) list; /* in order of begin */
    TBP_VEC(struct tbp_rec_note) notes;
};
void tbp_rec_scopes_release(struct tbp_rec_scopes *s);

struct tbp_rec_open {
    uint32_t scope; /* place in local or crossing */
    uint32_t begin; /* slot of BEGIN, or of ANNOTATION */
    bool is_crossing;
};
struct tbp_rec_scope_walk {
    const struct tbp_recording *recording;
    bool ring_forgot;               /* records of some threads, since an earlier snapshot */
    struct tbp_rec_scopes crossing; /* of the thread walked last; whoever wants it takes it */
    struct tbp_rec_scopes local;    /* of the run looked at last */
    TBP_VEC(struct tbp_rec_open) open;
    TBP_VEC(uint32_t) annotations; /* open ones: slots */
    uint32_t last_slot;            /* of the last record before the run */
    uint64_t n_without_begin;      /* scopes whose END alone was found */
    uint64_t n_cut;                /* ended by lost records */
    uint64_t n_untracked;  /* beyond TBP_REC_MAX_CROSSING: shown to the end of their chunk */
    uint64_t n_notes_lost; /* without a scope, or beyond the limit */
};
void tbp_rec_scope_walk_release(struct tbp_rec_scope_walk *x);

/* Fills x->crossing for the thread. carried: slots of BEGIN and ANNOTATION records that were open
 * when an earlier snapshot ended, outermost first; the scopes are the first entries of crossing.
 * What stays open is left in x->open and x->annotations. */
void tbp_rec_scopes_thread(struct tbp_rec_scope_walk *x, const struct tbp_rec_thread *t,
                           const uint32_t *carried, size_t n_carried);
/* Fills x->local: one entry for each BEGIN of the run; those that are open at its end are the next
 * entries of the thread's crossing list, and stand in x->open. */
void tbp_rec_scopes_run(struct tbp_rec_scope_walk *x, const struct tbp_rec_run *run);

/* How many scopes an END ends. */
static inline uint32_t tbp_rec_ends(const struct tbp_rec *r) {
    uint32_t n = r->at->aux & 0xffff;
    return n ? n : 1;
}

#endif
