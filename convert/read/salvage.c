/* SPDX-License-Identifier: Apache-2.0
 *
 * Damage-tolerant walk over the fields of xplane messages; see salvage.h.
 */
#include "convert/read/salvage.h"

#include "schemas/xplane_fields.h"

#include <string.h>

enum { NONE = -1, V = TBP_WIRE_VARINT, B = TBP_WIRE_BYTES };
#define KEY(number, type) ((uint8_t)((number) << 3 | (type)))

/* Stats inside an event have the key of events, and an id and a value as an event has an id and a
 * duration; but none has a varint where an event says when, or how often. */
const struct tbp_shape tbp_shape_xevent = {
    .type = {NONE, V, V, V, B, V, NONE, NONE, NONE, NONE, NONE, NONE},
    .must_have = 1u << TBP_XEVENT_METADATA_ID,
    .must_have_one = 1u << TBP_XEVENT_OFFSET_PS | 1u << TBP_XEVENT_NUM_OCCURRENCES,
};
const struct tbp_shape tbp_shape_xline = {
    .type = {NONE, V, B, V, B, NONE, NONE, NONE, NONE, V, V, B},
    .child_key = KEY(TBP_XLINE_EVENTS, B),
    .child = &tbp_shape_xevent,
    .must_have = 1u << TBP_XLINE_EVENTS,
};
const struct tbp_shape tbp_shape_xplane = {
    .type = {NONE, V, B, B, B, B, B, NONE, NONE, NONE, NONE, NONE},
    .child_key = KEY(TBP_XPLANE_LINES, B),
    .child = &tbp_shape_xline,
    .must_have = 1u << TBP_XPLANE_NAME,
};
const struct tbp_shape tbp_shape_xspace = {
    .type = {NONE, B, B, B, B, NONE, NONE, NONE, NONE, NONE, NONE, NONE},
    .child_key = KEY(TBP_XSPACE_PLANES, B),
    .child = &tbp_shape_xplane,
};

static bool fits(const struct tbp_shape *shape, const struct tbp_wire_field *f) {
    return f->number < TBP_SHAPE_FIELDS && shape->type[f->number] == (int8_t)f->type;
}

/* Every field is known and of the right type, and the needed ones are there. */
static bool looks_like(const struct tbp_shape *shape, struct tbp_wire w, uint64_t *budget) {
    uint32_t seen = 0;
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0) {
        if (!fits(shape, &f) || *budget < 8)
            return false;
        *budget -= 8;
        seen |= 1u << f.number;
    }
    return got == 0 && (seen & shape->must_have) == shape->must_have &&
           (!shape->must_have_one || (seen & shape->must_have_one));
}

static bool child_starts_at(const struct tbp_walk *walk, const uint8_t *p) {
    struct tbp_wire w = {p + 1, walk->w.end};
    uint64_t n;
    if (*p != walk->shape->child_key || tbp_wire_varint(&w, &n) || n == 0 ||
        n > (uint64_t)(w.end - w.at))
        return false;
    return looks_like(walk->shape->child, tbp_wire_of(w.at, n), walk->budget);
}

/* Moves to the next plausible child; false (and to the end) if there is none. */
static bool resume(struct tbp_walk *walk) {
    const uint8_t *p = walk->w.at + 1;
    while (walk->shape->child && p<walk->w.end && * walk->budget> 8) {
        p = memchr(p, walk->shape->child_key, (size_t)(walk->w.end - p));
        if (!p)
            break;
        if (child_starts_at(walk, p)) {
            walk->w.at = p;
            return true;
        }
        *walk->budget -= 8;
        p++;
    }
    walk->w.at = walk->w.end;
    return false;
}

/* A child whose length runs past the end, but whose bytes begin well: hand out what is there. */
static bool cut_child(struct tbp_walk *walk, struct tbp_wire_field *f) {
    struct tbp_wire w = walk->w;
    uint64_t n;
    if (!walk->shape->child || !walk->shape->child->child || *w.at != walk->shape->child_key)
        return false;
    w.at++;
    if (tbp_wire_varint(&w, &n) || n <= (uint64_t)(w.end - w.at) || w.at == w.end)
        return false;
    struct tbp_wire inside = w;
    struct tbp_wire_field first;
    if (tbp_wire_next(&inside, &first) <= 0 || !fits(walk->shape->child, &first))
        return false;
    f->number = walk->shape->child_key >> 3;
    f->type = TBP_WIRE_BYTES;
    f->bytes = w;
    walk->w.at = w.end;
    return true;
}

static void count(struct tbp_walk *walk, enum tbp_ledger_key key) {
    tbp_ledger_count(walk->ledger, key, 1, (uint64_t)(walk->w.at - walk->file));
}

int tbp_walk_next_slow(struct tbp_walk *walk, struct tbp_wire_field *f, bool *is_cut) {
    *is_cut = false;
    for (;;) {
        const uint8_t *start = walk->w.at;
        int got = tbp_wire_next(&walk->w, f);
        if (got == 0)
            return 0;
        if (got > 0 && fits(walk->shape, f))
            return 1;
        bool is_unknown =
            got > 0 && (f->number >= TBP_SHAPE_FIELDS || walk->shape->type[f->number] == NONE);
        if (is_unknown && !walk->is_cut) {
            tbp_ledger_count(walk->ledger, TBP_LEDGER_UNKNOWN_FIELD, 1,
                             (uint64_t)(start - walk->file));
            continue;
        }
        walk->w.at = start;
        bool has_parent = walk->shape != &tbp_shape_xspace;
        if (got > 0 && has_parent) { /* bytes of somebody else */
            count(walk, TBP_LEDGER_BAD_WIRE);
            walk->stopped = true;
            return 0;
        }
        count(walk, got == TBP_E_TRUNCATED ? TBP_LEDGER_TRUNCATED : TBP_LEDGER_BAD_WIRE);
        if (cut_child(walk, f)) {
            *is_cut = true;
            return 1;
        }
        walk->n_lost += walk->shape->child && *start == walk->shape->child_key;
        if (!resume(walk))
            return 0;
    }
}

const uint8_t *tbp_walk_child_end(const struct tbp_walk *walk, struct tbp_wire child) {
    const uint8_t *at = child.at;
    struct tbp_wire_field f;
    if (child.end == walk->w.end || child_starts_at(walk, child.end))
        return child.end;
    for (struct tbp_wire w = child; tbp_wire_next(&w, &f) > 0 && fits(walk->shape->child, &f);)
        at = w.at;
    if (at == child.end || !child_starts_at(walk, at))
        return child.end;
    tbp_ledger_count(walk->ledger, TBP_LEDGER_BAD_WIRE, 1, (uint64_t)(at - walk->file));
    return at;
}
