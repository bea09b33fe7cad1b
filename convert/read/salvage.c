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

static bool is_space(const struct tbp_walk *walk) {
    return walk->shape == &tbp_shape_xspace;
}

static bool fits(const struct tbp_shape *shape, const struct tbp_wire_field *f) {
    return f->number < TBP_SHAPE_FIELDS && shape->type[f->number] == (int8_t)f->type;
}

/* One step of what the budget pays for; false: nothing is left. */
static bool pay(uint64_t *budget) {
    enum { STEP = 8 };
    bool is_paid = *budget >= STEP;
    *budget -= is_paid ? STEP : *budget;
    return is_paid;
}

/* Every field is known and of the right type, and the needed ones are there. */
static bool looks_like(const struct tbp_shape *shape, struct tbp_wire w, uint64_t *budget) {
    uint32_t seen = 0;
    struct tbp_wire_field f;
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0) {
        if (!fits(shape, &f) || !pay(budget))
            return false;
        seen |= 1u << f.number;
    }
    return got == 0 && (seen & shape->must_have) == shape->must_have &&
           (!shape->must_have_one || (seen & shape->must_have_one));
}

/* Where the child ends that stands there and looks like one; NULL: none. */
static const uint8_t *child_at(const struct tbp_walk *walk, const uint8_t *p) {
    struct tbp_wire w = {p + 1, walk->w.end};
    uint64_t n;
    if (p == w.end || *p != walk->shape->child_key || tbp_wire_varint(&w, &n) || n == 0 ||
        n > (uint64_t)(w.end - w.at))
        return NULL;
    return looks_like(walk->shape->child, tbp_wire_of(w.at, n), walk->budget) ? w.at + n : NULL;
}

static bool next_is(struct tbp_wire *w, uint32_t number, enum tbp_wire_type type,
                    struct tbp_wire_field *f) {
    return tbp_wire_next(w, f) > 0 && f->number == number && f->type == type;
}

/* An entry of metadata: the id is the key and stands once more in the value, before a name. */
static bool is_metadata(struct tbp_wire entry) {
    struct tbp_wire_field key, value, id, name;
    return next_is(&entry, TBP_MAP_KEY, TBP_WIRE_VARINT, &key) &&
           next_is(&entry, TBP_MAP_VALUE, TBP_WIRE_BYTES, &value) &&
           next_is(&value.bytes, TBP_XSTATMETA_ID, TBP_WIRE_VARINT, &id) && id.value == key.value &&
           next_is(&value.bytes, TBP_XSTATMETA_NAME, TBP_WIRE_BYTES, &name);
}

/* The first event in it is one. */
static bool is_line(struct tbp_wire line, uint64_t *budget) {
    struct tbp_wire_field f;
    while (pay(budget) && tbp_wire_next(&line, &f) > 0 && fits(&tbp_shape_xline, &f))
        if (f.number == TBP_XLINE_EVENTS)
            return looks_like(&tbp_shape_xevent, f.bytes, budget);
    return false;
}

/* What stands there and looks like a child is one, whatever follows: a plane with metadata or
 * events. */
static bool is_certain(const struct tbp_walk *walk, const uint8_t *child) {
    struct tbp_wire w = {child, walk->w.end};
    struct tbp_wire_field plane, f;
    if (!is_space(walk) || tbp_wire_next(&w, &plane) <= 0)
        return false;
    while (tbp_wire_next(&plane.bytes, &f) > 0) {
        bool is_entry =
            f.number == TBP_XPLANE_EVENT_METADATA || f.number == TBP_XPLANE_STAT_METADATA;
        if ((is_entry && is_metadata(f.bytes)) ||
            (f.number == TBP_XPLANE_LINES && is_line(f.bytes, walk->budget)))
            return true;
    }
    return false;
}

/* Where fields of the message stop: at the key of a child, at bytes of something else, or at its
 * end. */
static const uint8_t *skip_fields(const struct tbp_walk *walk, const uint8_t *p) {
    struct tbp_wire w = {p, walk->w.end};
    struct tbp_wire_field f;
    while (w.at < w.end && *w.at != walk->shape->child_key && pay(walk->budget) &&
           tbp_wire_next(&w, &f) > 0 && fits(walk->shape, &f))
        p = w.at;
    return p;
}

/* Behind the next child, or the end if there is none; NULL: neither is there, but bytes of
 * something else. */
static const uint8_t *pass_child(const struct tbp_walk *walk, const uint8_t *p) {
    p = skip_fields(walk, p);
    return p < walk->w.end ? child_at(walk, p) : p;
}

/* Nothing but what the message has stands there, up to a child that is certain or to the end. */
static bool goes_on(const struct tbp_walk *walk, const uint8_t *p) {
    while ((p = skip_fields(walk, p)) < walk->w.end) {
        const uint8_t *end = child_at(walk, p);
        if (!end || is_certain(walk, p))
            return end;
        p = end;
    }
    return true;
}

/* The first child that begins between those places. Bytes inside values may look like planes: of a
 * space, only one counts that is certain, or behind which the space goes on. What stands behind one
 * that leads to something else does so, too, and is not followed again. */
static const uint8_t *find_child(const struct tbp_walk *walk, const uint8_t *from,
                                 const uint8_t *before) {
    const uint8_t *in_vain = NULL;
    for (const uint8_t *p = from; p < before && pay(walk->budget); p++) {
        p = memchr(p, walk->shape->child_key, (size_t)(before - p));
        if (!p)
            break;
        const uint8_t *end = child_at(walk, p);
        if (end && (!is_space(walk) || is_certain(walk, p) || (p != in_vain && goes_on(walk, end))))
            return p;
        if (end && (!in_vain || p >= in_vain))
            in_vain = end;
    }
    return NULL;
}

/* Moves to the next plausible child; false (and to the end) if there is none. */
static bool resume(struct tbp_walk *walk) {
    const uint8_t *child =
        walk->shape->child ? find_child(walk, walk->w.at + 1, walk->w.end) : NULL;
    walk->w.at = child ? child : walk->w.end;
    return child;
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

/* What begins at field, a field of a space up to the walk's place, reaches over a plane, and the
 * space does not go on behind it. */
static bool swallows_child(struct tbp_walk *walk, const uint8_t *field) {
    if (!is_space(walk) || *field == walk->shape->child_key)
        return false;
    if (field >= walk->judged_to) {
        walk->judged_to = skip_fields(walk, walk->w.at);
        walk->is_right = pass_child(walk, walk->judged_to);
    }
    return !walk->is_right && find_child(walk, field + 1, walk->w.at);
}

int tbp_walk_next_slow(struct tbp_walk *walk, struct tbp_wire_field *f, bool *is_cut) {
    *is_cut = false;
    for (;;) {
        const uint8_t *start = walk->w.at;
        int got = tbp_wire_next(&walk->w, f);
        if (got == 0)
            return 0;
        bool is_field = got > 0 && !swallows_child(walk, start);
        if (is_field && fits(walk->shape, f))
            return 1;
        bool is_unknown =
            is_field && (f->number >= TBP_SHAPE_FIELDS || walk->shape->type[f->number] == NONE);
        if (is_unknown && !walk->is_cut) {
            tbp_ledger_count(walk->ledger, TBP_LEDGER_UNKNOWN_FIELD, 1,
                             (uint64_t)(start - walk->file));
            continue;
        }
        walk->w.at = start;
        if (got > 0 && !is_space(walk)) { /* bytes of somebody else */
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

/* Where fields stop that the child can have, which may be behind its end; at its end at most, if
 * one ends there. */
static const uint8_t *own_end(const struct tbp_walk *walk, struct tbp_wire child) {
    struct tbp_wire w = {child.at, walk->w.end};
    struct tbp_wire_field f;
    const uint8_t *at = w.at;
    while (at != child.end && (at < child.end || pay(walk->budget)) && tbp_wire_next(&w, &f) > 0 &&
           fits(walk->shape->child, &f))
        at = w.at;
    return at;
}

/* The most likely end of a child whose own fields stop at `at`, and which says that it ends at end.
 */
static const uint8_t *likely_end(const struct tbp_walk *walk, const uint8_t *at,
                                 const uint8_t *end) {
    if (at == end || (at < end && goes_on(walk, at)))
        return at;
    if (end != walk->w.end && pass_child(walk, end))
        return end;
    /* what stops at a line is cut: the line runs past everything */
    bool may_hold_child = at < end && *at != walk->shape->child->child_key;
    const uint8_t *child = may_hold_child ? find_child(walk, at, end) : NULL;
    if (child)
        return child;
    return pass_child(walk, at) ? at : end;
}

const uint8_t *tbp_walk_child_end(const struct tbp_walk *walk, struct tbp_wire child) {
    const uint8_t *at = likely_end(walk, own_end(walk, child), child.end);
    if (at != child.end)
        tbp_ledger_count(walk->ledger, TBP_LEDGER_BAD_WIRE, 1, (uint64_t)(at - walk->file));
    return at;
}

bool tbp_walk_has_child(const struct tbp_walk *walk) {
    return find_child(walk, walk->w.at, walk->w.end);
}
