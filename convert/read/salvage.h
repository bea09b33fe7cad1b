/* SPDX-License-Identifier: Apache-2.0
 *
 * Walking the fields of a protobuf message that may be damaged: on damage the walk counts it, and
 * looks for the next place where a wanted nested message starts and looks like one, so that what
 * stands behind the damage is not lost. Work is bounded: the bytes looked at in vain come out of a
 * budget which all walks of one file share.
 */
#ifndef TBP_CONVERT_READ_SALVAGE_H
#define TBP_CONVERT_READ_SALVAGE_H

#include "convert/model/ledger.h"
#include "schemas/wire.h"

/* Which wire type each field number of a message has: shape->type[number], or -1 for a number it
 * does not know. */
enum { TBP_SHAPE_FIELDS = 12 };
struct tbp_shape {
    int8_t type[TBP_SHAPE_FIELDS];
    uint8_t child_key;             /* key byte of the nested message worth looking for */
    const struct tbp_shape *child; /* its shape */
    /* Bits per field number: without all of must_have, or without any of must_have_one (unless it
     * is none), it does not look like this message. */
    uint32_t must_have, must_have_one;
};

struct tbp_walk {
    struct tbp_wire w;
    const struct tbp_shape *shape;
    const uint8_t *file; /* offsets in the ledger count from here */
    struct tbp_ledger *ledger;
    uint64_t *budget;
    bool is_cut; /* the message ends where its parent's bytes end, not where its length says */
    const uint8_t *judged_to; /* fields that begin before it are what they look like, or not: */
    bool is_right;
    uint64_t n_lost; /* children skipped since they could not be read */
    bool stopped;    /* ended early at bytes which cannot belong to it */
};

/* 1: f is the next known field; 0: end. Fields of unknown number are counted and skipped. A nested
 * child that runs past the end is handed out cut (f->bytes then ends with the message) with *is_cut
 * set, if it may hold children of its own worth saving; else it is lost and the walk goes on with
 * the next that looks whole. A known number with another wire type ends the walk (stopped; w.at
 * there), but not that of a space, which no other message can go on behind. */
int tbp_walk_next_slow(struct tbp_walk *walk, struct tbp_wire_field *f, bool *is_cut);
static inline int tbp_walk_next(struct tbp_walk *walk, struct tbp_wire_field *f, bool *is_cut) {
    const uint8_t *at = walk->w.at;
    uint64_t n;
    bool is_child = walk->w.end - at > TBP_WIRE_SLACK && *at == walk->shape->child_key;
    if (!is_child || !(at = tbp_wire_quick(at + 1, &n)) || n > (uint64_t)(walk->w.end - at))
        return tbp_walk_next_slow(walk, f, is_cut);
    *is_cut = false;
    f->number = walk->shape->child_key >> 3;
    f->type = TBP_WIRE_BYTES;
    f->bytes = tbp_wire_of(at, n);
    walk->w.at = at + n;
    return 1;
}

/* Where the child ends that the walk has just handed out whole: where its length says, if fields of
 * its own end there, or the message goes on; else where its fields end, if the message goes on
 * there, or where the next child begins inside: then its length is wrong, which is counted. */
const uint8_t *tbp_walk_child_end(const struct tbp_walk *walk, struct tbp_wire child);

/* Somewhere stands a child of a space that is certain, or from which nothing but what the space has
 * leads to one that is or to the end. */
bool tbp_walk_has_child(const struct tbp_walk *walk);

extern const struct tbp_shape tbp_shape_xspace, tbp_shape_xplane, tbp_shape_xline, tbp_shape_xevent;

#endif
