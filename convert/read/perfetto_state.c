/* SPDX-License-Identifier: Apache-2.0
 *
 * State of the sequences of a Perfetto trace; see perfetto_state.h. Field numbers are those of
 * Perfetto's public protobuf definitions.
 */
#include "convert/read/perfetto_state.h"

enum { WALL_CLOCK = 1, FIRST_OWN_CLOCK = 64 };

void tbp_perfetto_state_release(struct tbp_perfetto_state *s) {
    tbp_vec_release(&s->sequences);
    tbp_idmap_release(&s->by_id);
    tbp_idmap_release(&s->names);
}

uint32_t tbp_perfetto_sequence(struct tbp_perfetto_state *s, uint32_t id) {
    bool is_new;
    uint32_t *at = tbp_idmap_put(&s->by_id, id, &is_new);
    if (is_new) {
        *at = (uint32_t)s->sequences.n;
        *tbp_vec_push(&s->sequences) = (struct tbp_perfetto_sequence){0};
    }
    return *at;
}

void tbp_perfetto_forget(struct tbp_perfetto_state *s, uint32_t sequence) {
    struct tbp_perfetto_sequence *q = &s->sequences.at[sequence];
    *q = (struct tbp_perfetto_sequence){.generation = q->generation + 1};
}

/* ---- names ---- */

static uint64_t name_key(const struct tbp_perfetto_state *s, uint32_t sequence,
                         enum tbp_perfetto_names kind, uint64_t iid) {
    uint64_t h = ((uint64_t)sequence << 32 | s->sequences.at[sequence].generation) ^
                 0x9e3779b97f4a7c15u * (uint64_t)kind;
    h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u;
    return (h ^ (h >> 32)) * 0x94d049bb133111ebu + iid * 0x9e3779b97f4a7c15u;
}

static struct tbp_str valid(struct tbp_perfetto_state *s, struct tbp_str text) {
    size_t n = tbp_utf8_valid_prefix(text);
    if (n < text.n)
        tbp_ledger_count(&s->t->host->ledger, TBP_LEDGER_INVALID_UTF8, 1, TBP_NO_OFFSET);
    return tbp_str_sub(text, 0, n);
}

static void intern_one(struct tbp_perfetto_state *s, uint32_t sequence, uint32_t kind,
                       struct tbp_wire w) {
    enum { IID = 1, NAME = 2 };
    struct tbp_wire_field f;
    struct tbp_str name = TBP_STR_NONE;
    uint64_t iid = 0;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == IID && f.type == TBP_WIRE_VARINT)
            iid = f.value;
        else if (f.number == NAME && f.type == TBP_WIRE_BYTES)
            name = tbp_wire_str(f.bytes);
    }
    if (iid)
        *tbp_idmap_put(&s->names, name_key(s, sequence, (enum tbp_perfetto_names)kind, iid), NULL) =
            tbp_trace_text(s->t, valid(s, name));
}

void tbp_perfetto_intern(struct tbp_perfetto_state *s, uint32_t sequence, struct tbp_wire w) {
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0)
        if (f.type == TBP_WIRE_BYTES &&
            (f.number <= TBP_PERFETTO_KEYS || f.number == TBP_PERFETTO_TEXTS))
            intern_one(s, sequence, f.number, f.bytes);
}

uint32_t tbp_perfetto_name(struct tbp_perfetto_state *s, uint32_t sequence,
                           enum tbp_perfetto_names kind, uint64_t iid) {
    uint32_t text = tbp_idmap_get(&s->names, name_key(s, sequence, kind, iid));
    if (text != TBP_MAP_NONE)
        return text;
    tbp_ledger_count(&s->t->host->ledger, TBP_LEDGER_DANGLING_REF, 1, TBP_NO_OFFSET);
    return 0;
}

/* ---- clocks ---- */

static struct tbp_perfetto_clock *own_clock(struct tbp_perfetto_sequence *q, uint32_t id) {
    for (unsigned i = 0; i < q->n_clocks; i++)
        if (q->clocks[i].id == id)
            return &q->clocks[i];
    return NULL;
}

static int64_t times(int64_t a, int64_t b) {
    int64_t v;
    return __builtin_mul_overflow(a, b, &v) ? INT64_MAX / 2 : v;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t v;
    return __builtin_add_overflow(a, b, &v) ? INT64_MAX / 2 : v;
}

static int64_t minus(int64_t a, int64_t b) {
    int64_t v;
    return __builtin_sub_overflow(a, b, &v) ? 0 : v;
}

static int64_t whole(uint64_t v) {
    return v > INT64_MAX / 2 ? INT64_MAX / 2 : (int64_t)v;
}

static struct tbp_perfetto_clock read_clock(struct tbp_wire w) {
    enum { ID = 1, TIMESTAMP = 2, INCREMENTAL = 3, UNIT = 4 };
    struct tbp_perfetto_clock c = {.unit_ns = 1};
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.type != TBP_WIRE_VARINT)
            continue;
        if (f.number == ID)
            c.id = (uint32_t)f.value;
        else if (f.number == TIMESTAMP)
            c.last = whole(f.value);
        else if (f.number == INCREMENTAL)
            c.is_incremental = f.value != 0;
        else if (f.number == UNIT && f.value)
            c.unit_ns = whole(f.value);
    }
    return c;
}

/* Clocks read at one moment: the boot clock, or the first builtin one, is what the trace counts
 * by. */
struct moment {
    struct tbp_perfetto_clock clocks[TBP_PERFETTO_BUILTIN_CLOCKS];
    unsigned n;
};

static int64_t trace_time(const struct tbp_perfetto_state *s, const struct moment *m) {
    for (unsigned i = 0; i < m->n; i++)
        if (m->clocks[i].id == TBP_PERFETTO_BOOT_CLOCK)
            return m->clocks[i].last;
    for (unsigned i = 0; i < m->n; i++)
        if (m->clocks[i].id < TBP_PERFETTO_BUILTIN_CLOCKS)
            return plus(m->clocks[i].last, s->builtin_offset_ns[m->clocks[i].id]);
    return m->n ? times(m->clocks[0].last, m->clocks[0].unit_ns) : 0;
}

static void note_builtin(struct tbp_perfetto_state *s, const struct tbp_perfetto_clock *c,
                         int64_t ns) {
    if (s->has_builtin[c->id] || c->id == TBP_PERFETTO_BOOT_CLOCK)
        return;
    s->has_builtin[c->id] = true;
    s->builtin_offset_ns[c->id] = minus(ns, c->last);
    if (c->id == WALL_CLOCK && !s->t->has_wall_clock) {
        s->t->has_wall_clock = true;
        s->t->base_ns = minus(c->last, ns);
    }
}

static void note_own(struct tbp_perfetto_sequence *q, const struct tbp_perfetto_clock *c,
                     int64_t ns) {
    struct tbp_perfetto_clock *own = own_clock(q, c->id);
    if (!own && q->n_clocks == TBP_PERFETTO_CLOCKS)
        return;
    own = own ? own : &q->clocks[q->n_clocks++];
    *own = *c;
    own->offset_ns = minus(ns, times(c->last, c->unit_ns));
}

void tbp_perfetto_clocks(struct tbp_perfetto_state *s, uint32_t sequence, struct tbp_wire w) {
    enum { CLOCKS = 1 };
    struct moment m = {.n = 0};
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0 && m.n < TBP_PERFETTO_BUILTIN_CLOCKS)
        if (f.number == CLOCKS && f.type == TBP_WIRE_BYTES)
            m.clocks[m.n++] = read_clock(f.bytes);
    int64_t ns = trace_time(s, &m);
    for (unsigned i = 0; i < m.n; i++) {
        if (m.clocks[i].id < TBP_PERFETTO_BUILTIN_CLOCKS)
            note_builtin(s, &m.clocks[i], ns);
        else
            note_own(&s->sequences.at[sequence], &m.clocks[i], ns);
    }
}

void tbp_perfetto_defaults(struct tbp_perfetto_state *s, uint32_t sequence, struct tbp_wire w) {
    enum { TRACK_EVENT = 11, CLOCK = 58, TRACK = 11 };
    struct tbp_perfetto_sequence *q = &s->sequences.at[sequence];
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == CLOCK && f.type == TBP_WIRE_VARINT)
            q->default_clock = (uint32_t)f.value;
        if (f.number != TRACK_EVENT || f.type != TBP_WIRE_BYTES)
            continue;
        struct tbp_wire inner = f.bytes;
        while (tbp_wire_next(&inner, &f) > 0)
            if (f.number == TRACK && f.type == TBP_WIRE_VARINT)
                q->default_track = f.value;
    }
}

int64_t tbp_perfetto_time(struct tbp_perfetto_state *s, uint32_t sequence, uint32_t clock,
                          uint64_t timestamp) {
    struct tbp_perfetto_sequence *q = &s->sequences.at[sequence];
    clock = clock ? clock : q->default_clock;
    struct tbp_perfetto_clock *own = clock >= FIRST_OWN_CLOCK ? own_clock(q, clock) : NULL;
    if (!own) {
        int64_t offset_ns = clock < TBP_PERFETTO_BUILTIN_CLOCKS ? s->builtin_offset_ns[clock] : 0;
        return plus(whole(timestamp), offset_ns);
    }
    own->last = own->is_incremental ? plus(own->last, whole(timestamp)) : whole(timestamp);
    return plus(times(own->last, own->unit_ns), own->offset_ns);
}
