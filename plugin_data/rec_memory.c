/* SPDX-License-Identifier: Apache-2.0
 *
 * See rec_memory.h. A record in a stream is one byte that says which values differ from what the
 * record and the one before it let expect, then these values. Of a free the sizes come first.
 */
#include "plugin_data/rec_memory.h"

enum { IN_USE_GIVEN = 1, PEAK_GIVEN = 2, CAPACITY_GIVEN = 4, REQUESTED_GIVEN = 8, CHANGED = 16 };
#define NO_ALLOCATOR UINT32_MAX

void tbp_rec_memory_release(struct tbp_rec_memory *m) {
    for (size_t i = 0; i < m->n_streams; i++)
        tbp_wire_out_release(&m->streams[i].bytes);
    m->n_streams = 0;
    tbp_vec_release(&m->allocators);
    tbp_rec_live_release(&m->live);
}

void tbp_rec_memory_copy(struct tbp_rec_memory *to, const struct tbp_rec_memory *from) {
    to->allocators.n = 0;
    for (size_t i = 0; i < from->allocators.n; i++)
        *tbp_vec_push(&to->allocators) = from->allocators.at[i];
    tbp_rec_live_copy(&to->live, &from->live);
    to->n_untracked = from->n_untracked;
}

static uint32_t allocator_of(struct tbp_rec_memory *m, uint32_t name) {
    for (size_t i = 0; i < m->allocators.n; i++)
        if (m->allocators.at[i].name == name)
            return (uint32_t)i;
    if (m->allocators.n == TBP_REC_MAX_ALLOCATORS)
        return TBP_REC_MAX_ALLOCATORS - 1;
    *tbp_vec_push(&m->allocators) = (struct tbp_rec_allocator){.name = name};
    return (uint32_t)m->allocators.n - 1;
}

/* ---- what follows from the record and the totals before ---- */

static struct tbp_rec_totals expected(const struct tbp_rec_totals *last, uint32_t allocator,
                                      uint64_t plus, uint64_t minus) {
    struct tbp_rec_totals t = *last;
    if (t.allocator != allocator)
        t = (struct tbp_rec_totals){0};
    t.allocator = allocator;
    t.in_use_bytes += plus;
    t.in_use_bytes -= minus < t.in_use_bytes ? minus : t.in_use_bytes;
    if (t.in_use_bytes > t.peak_bytes)
        t.peak_bytes = t.in_use_bytes;
    return t;
}

static void put(struct tbp_rec_memory_stream *to, const struct tbp_rec_allocator *a,
                uint32_t allocator, uint64_t plus, uint64_t minus, unsigned flags) {
    struct tbp_rec_totals t = expected(&to->last, allocator, plus, minus);
    flags |= to->last.allocator != allocator ? CHANGED : 0;
    flags |= t.in_use_bytes != a->in_use_bytes ? IN_USE_GIVEN : 0;
    flags |= t.peak_bytes != a->peak_bytes ? PEAK_GIVEN : 0;
    flags |= t.capacity_bytes != a->capacity_bytes ? CAPACITY_GIVEN : 0;
    tbp_wire_put_varint(&to->bytes, flags);
    if (flags & CHANGED)
        tbp_wire_put_varint(&to->bytes, allocator);
    if (flags & IN_USE_GIVEN)
        tbp_wire_put_varint(&to->bytes, a->in_use_bytes);
    if (flags & PEAK_GIVEN)
        tbp_wire_put_varint(&to->bytes, a->peak_bytes);
    if (flags & CAPACITY_GIVEN)
        tbp_wire_put_varint(&to->bytes, a->capacity_bytes);
    to->last =
        (struct tbp_rec_totals){allocator, a->in_use_bytes, a->peak_bytes, a->capacity_bytes};
}

static void give(struct tbp_rec_allocator *a, uint64_t bytes) {
    a->in_use_bytes -= bytes < a->in_use_bytes ? bytes : a->in_use_bytes;
}

static void take_alloc(struct tbp_rec_memory *m, struct tbp_rec_memory_stream *to,
                       const struct tbp_rec *r, uint32_t k) {
    const struct tbp_spool_memory *b = tbp_rec_memory_block(r);
    struct tbp_rec_allocator *a = &m->allocators.at[k];
    uint64_t allocated, requested;
    if (!b)
        return;
    /* The address again: its free was not seen. */
    if (tbp_rec_live_take(&m->live, k + 1, b->address, &allocated, &requested))
        give(a, allocated);
    a->in_use_bytes += b->allocated_bytes;
    if (a->in_use_bytes > a->peak_bytes)
        a->peak_bytes = a->in_use_bytes;
    if (m->live.n_used < TBP_REC_MAX_LIVE)
        tbp_rec_live_put(&m->live, k + 1, b->address, b->allocated_bytes, b->requested_bytes);
    else
        m->n_untracked++;
    put(to, a, k, b->allocated_bytes, 0, 0);
}

static void take_free(struct tbp_rec_memory *m, struct tbp_rec_memory_stream *to,
                      const struct tbp_recording *s, const struct tbp_rec *r, uint32_t k) {
    struct tbp_rec_allocator *a = &m->allocators.at[k];
    struct tbp_rec_arg address;
    uint64_t allocated = 0, requested = 0;
    if (!tbp_rec_value(s, r, &address))
        return;
    tbp_rec_live_take(&m->live, k + 1, address.value, &allocated, &requested);
    give(a, allocated);
    tbp_wire_put_varint(&to->bytes, allocated);
    put(to, a, k, 0, allocated, requested != allocated ? REQUESTED_GIVEN : 0);
    if (requested != allocated)
        tbp_wire_put_varint(&to->bytes, requested);
}

static void take_base(struct tbp_rec_allocator *a, const struct tbp_rec *r) {
    const struct tbp_spool_memory *b = tbp_rec_memory_block(r);
    if (!b)
        return;
    a->capacity_bytes = b->address;
    a->in_use_bytes = b->requested_bytes;
    if (b->allocated_bytes > a->peak_bytes)
        a->peak_bytes = b->allocated_bytes;
    if (a->in_use_bytes > a->peak_bytes)
        a->peak_bytes = a->in_use_bytes;
}

void tbp_rec_memory_read(struct tbp_rec_memory *m, const struct tbp_recording *s,
                         struct tbp_arena *arena) {
    struct tbp_rec_merge merge;
    struct tbp_rec r;
    uint32_t thread;
    m->streams = TBP_NEW_N(arena, struct tbp_rec_memory_stream, s->n_threads + 1);
    m->n_streams = s->n_threads;
    for (size_t i = 0; i < m->n_streams; i++)
        m->streams[i].last.allocator = NO_ALLOCATOR;
    tbp_rec_merge_init(&merge, s,
                       TBP_REC_BIT(TBP_REC_MEMORY_ALLOC) | TBP_REC_BIT(TBP_REC_MEMORY_FREE) |
                           TBP_REC_BIT(TBP_REC_MEMORY_BASE),
                       arena);
    while (tbp_rec_merge_next(&merge, &r, &thread)) {
        uint32_t k = allocator_of(m, r.at->name);
        if (r.kind == TBP_REC_MEMORY_ALLOC)
            take_alloc(m, &m->streams[thread], &r, k);
        else if (r.kind == TBP_REC_MEMORY_FREE)
            take_free(m, &m->streams[thread], s, &r, k);
        else
            take_base(&m->allocators.at[k], &r);
    }
}

/* ---- reading along ---- */

struct tbp_rec_memory_reader tbp_rec_memory_reader(const struct tbp_rec_memory *m, size_t thread) {
    const struct tbp_wire_out *bytes = &m->streams[thread].bytes;
    struct tbp_rec_memory_reader reader = {.now.allocator = NO_ALLOCATOR};
    if (bytes->n)
        reader.wire = tbp_wire_of(bytes->at, bytes->n);
    return reader;
}

static uint64_t number(struct tbp_rec_memory_reader *reader) {
    uint64_t v = 0;
    TBP_BUG_IF(tbp_wire_varint(&reader->wire, &v) != TBP_OK); /* our own bytes */
    return v;
}

bool tbp_rec_memory_next(struct tbp_rec_memory_reader *reader, const struct tbp_recording *s,
                         const struct tbp_rec *r, struct tbp_rec_memory_event *e) {
    *e = (struct tbp_rec_memory_event){0};
    if (r->kind == TBP_REC_MEMORY_ALLOC) {
        const struct tbp_spool_memory *b = tbp_rec_memory_block(r);
        if (!b)
            return false;
        e->address = b->address;
        e->requested_bytes = b->requested_bytes;
        e->allocated_bytes = b->allocated_bytes;
    } else {
        struct tbp_rec_arg address;
        if (!tbp_rec_value(s, r, &address))
            return false;
        e->address = address.value;
        e->requested_bytes = e->allocated_bytes = number(reader);
    }
    bool is_alloc = r->kind == TBP_REC_MEMORY_ALLOC;
    unsigned flags = (unsigned)number(reader);
    uint32_t k = flags & CHANGED ? (uint32_t)number(reader) : reader->now.allocator;
    struct tbp_rec_totals t = expected(&reader->now, k, is_alloc ? e->allocated_bytes : 0,
                                       is_alloc ? 0 : e->allocated_bytes);
    t.in_use_bytes = flags & IN_USE_GIVEN ? number(reader) : t.in_use_bytes;
    t.peak_bytes = flags & PEAK_GIVEN ? number(reader) : t.peak_bytes;
    t.capacity_bytes = flags & CAPACITY_GIVEN ? number(reader) : t.capacity_bytes;
    if (flags & REQUESTED_GIVEN)
        e->requested_bytes = number(reader);
    e->totals = reader->now = t;
    return true;
}
