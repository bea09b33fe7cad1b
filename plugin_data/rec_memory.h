/* SPDX-License-Identifier: Apache-2.0
 *
 * Running totals of allocators. Records tell single allocations of all threads; the memory page
 * wants at each of them how much its allocator had in use, so the records of all threads are gone
 * through once in order of time. The totals found are kept per thread in a stream of a few bytes
 * per record (most often one), which the thread's line reads along with its records.
 *
 * Ownership: the holder's. Thread-safety: one thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_MEMORY_H
#define TBP_PLUGIN_DATA_REC_MEMORY_H

#include "plugin_data/rec_live.h"
#include "plugin_data/rec_merge.h"
#include "schemas/wire.h"

enum {
    TBP_REC_MAX_LIVE = 2 << 20,   /* allocations alive at once whose size is remembered */
    TBP_REC_MAX_ALLOCATORS = 256, /* further ones are taken together */
};

struct tbp_rec_allocator {
    uint32_t name; /* string id */
    uint64_t in_use_bytes, peak_bytes, capacity_bytes;
};
struct tbp_rec_totals {
    uint32_t allocator; /* place in the table; of a stream's start: none */
    uint64_t in_use_bytes, peak_bytes, capacity_bytes;
};
struct tbp_rec_memory_stream {
    struct tbp_wire_out bytes;
    struct tbp_rec_totals last;
};

struct tbp_rec_memory {
    TBP_VEC(struct tbp_rec_allocator) allocators;
    struct tbp_rec_live live; /* address of an allocator -> allocated, requested bytes */
    uint64_t n_untracked;     /* allocations beyond TBP_REC_MAX_LIVE */
    struct tbp_rec_memory_stream *streams; /* by thread; of the recording read last */
    size_t n_streams;
};
void tbp_rec_memory_release(struct tbp_rec_memory *m);
/* State of allocators for a recording that goes on; not the streams. */
void tbp_rec_memory_copy(struct tbp_rec_memory *to, const struct tbp_rec_memory *from);

/* Goes through the memory records; streams lie in the arena, their bytes on the heap. */
void tbp_rec_memory_read(struct tbp_rec_memory *m, const struct tbp_recording *s,
                         struct tbp_arena *arena);

/* Reads a thread's stream along with its ALLOC and FREE records. */
struct tbp_rec_memory_reader {
    struct tbp_wire wire;
    struct tbp_rec_totals now;
};
struct tbp_rec_memory_event {
    struct tbp_rec_totals totals; /* after the event */
    uint64_t address, requested_bytes, allocated_bytes;
};
struct tbp_rec_memory_reader tbp_rec_memory_reader(const struct tbp_rec_memory *m, size_t thread);
/* False: the record is not whole. */
bool tbp_rec_memory_next(struct tbp_rec_memory_reader *reader, const struct tbp_recording *s,
                         const struct tbp_rec *r, struct tbp_rec_memory_event *event);

#endif
