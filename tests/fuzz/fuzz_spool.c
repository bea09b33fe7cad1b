/* SPDX-License-Identifier: Apache-2.0
 *
 * libFuzzer target of the spool collector. A spool has its chunks at fixed, far places, which a
 * mutated file would hardly ever hit, so the input is the parts of one: its first byte tells how
 * the rest is laid out.
 *
 *     bit 0   the input is the file as it is
 *     bit 1   as two snapshots of a process that goes on
 *     else    parts {kind and state, thread, sequence, size / 16}, each followed by its bytes:
 *             a chunk, or with kind 15 bytes for the header, at twice the sequence
 *
 * Checked: the profile is a whole XSpace whose events stand in order, and the same twice.
 */
#include "plugin_data/collect.h"
#include "schemas/wire.h"
#include "schemas/xplane_fields.h"

#include <stdlib.h>

enum { MAX_CHUNKS = 8, CHUNKS_OFFSET = 131072, PART_BYTES = 4, KIND_HEADER = 15 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(4096) uint8_t spool[CHUNKS_OFFSET + MAX_CHUNKS * TBP_SPOOL_CHUNK_BYTES];
static size_t spool_bytes;

static void set_header(void) {
    static const struct tbp_spool_anchor anchors[] = {{1000, 1000000, 500},
                                                      {2001000, 2000000, 1000500}};
    *(struct tbp_spool_header *)(void *)spool = (struct tbp_spool_header){
        .magic = TBP_SPOOL_MAGIC,
        .version = TBP_SPOOL_VERSION,
        .state = TBP_SPOOL_RECORDING,
        .generation = 1,
        .clock_is_tsc = 1,
        .ticks_base = 1000,
        .start_realtime_ns = 1000000,
        .anchors_offset = TBP_SPOOL_HEADER_BYTES,
        .n_anchors = 2,
        .chunk_bytes = TBP_SPOOL_CHUNK_BYTES,
        .chunks_offset = CHUNKS_OFFSET,
        .n_chunks = MAX_CHUNKS,
    };
    memcpy(spool + TBP_SPOOL_HEADER_BYTES, anchors, sizeof anchors);
}

static void lay_out_parts(const uint8_t *at, size_t size) {
    unsigned n_chunks = 0;
    set_header();
    while (size >= PART_BYTES && n_chunks < MAX_CHUNKS) {
        unsigned kind = at[0] & 15, state = at[0] >> 4 & 3, thread = at[1], sequence = at[2];
        size_t n = (size_t)at[3] * 16;
        at += PART_BYTES;
        size -= PART_BYTES;
        n = n < size ? n : size;
        if (kind == KIND_HEADER) {
            memcpy(spool + 8 + 2 * sequence, at, n < 4096 ? n : 4096);
        } else {
            struct tbp_spool_chunk *c =
                (void *)(spool + CHUNKS_OFFSET + n_chunks++ * TBP_SPOOL_CHUNK_BYTES);
            *c = (struct tbp_spool_chunk){.magic = TBP_SPOOL_CHUNK_MAGIC,
                                          .kind = (uint16_t)kind,
                                          .state = state,
                                          .generation = 1,
                                          .thread = thread,
                                          .tid = (int32_t)thread,
                                          .committed = (uint32_t)n & ~15u,
                                          .sequence = sequence};
            memcpy(c + 1, at, n);
        }
        at += n;
        size -= n;
    }
    spool_bytes = CHUNKS_OFFSET + n_chunks * TBP_SPOOL_CHUNK_BYTES;
}

static void lay_out(const uint8_t *data, size_t size, bool as_it_is) {
    memset(spool, 0, sizeof spool);
    if (!as_it_is) {
        lay_out_parts(data, size);
        return;
    }
    spool_bytes = size < sizeof spool ? size : sizeof spool;
    memcpy(spool, data, spool_bytes);
}

/* ---- what comes out ---- */

static void check_line(struct tbp_wire line) {
    struct tbp_wire_field f, g;
    uint64_t last_start = 0, last_dur = UINT64_MAX;
    int rc;
    while ((rc = tbp_wire_next(&line, &f)) == 1) {
        uint64_t start = 0, dur = 0;
        if (f.number != TBP_XLINE_EVENTS)
            continue;
        while (tbp_wire_next(&f.bytes, &g) == 1) {
            start = g.number == TBP_XEVENT_OFFSET_PS ? g.value : start;
            dur = g.number == TBP_XEVENT_DURATION_PS ? g.value : dur;
        }
        if (start < last_start || (start == last_start && dur > last_dur) || (int64_t)start < 0 ||
            (int64_t)dur < 0)
            abort();
        last_start = start;
        last_dur = dur;
    }
    if (rc != 0)
        abort();
}

static void check_profile(const struct tbp_sink_memory *sink) {
    struct tbp_wire space = tbp_wire_of(sink->data, sink->size);
    struct tbp_wire_field f, g;
    int rc;
    while ((rc = tbp_wire_next(&space, &f)) == 1) {
        if (f.number != TBP_XSPACE_PLANES)
            continue;
        while (tbp_wire_next(&f.bytes, &g) == 1)
            if (g.number == TBP_XPLANE_LINES)
                check_line(g.bytes);
    }
    if (rc != 0)
        abort();
}

static void collect(struct tbp_collect_carry *carry, int64_t until_ns,
                    struct tbp_sink_memory *sink) {
    struct tbp_collect_request request = {
        .data = spool, .size_bytes = spool_bytes, .carry = carry, .until_realtime_ns = until_ns};
    struct tbp_collect_result result;
    struct tbp_collect *c;
    tbp_sink_memory_init(sink, 0);
    if (tbp_collect_open(&c, &request, NULL) != TBP_OK)
        return;
    if (tbp_collect_write(c, &sink->base, &result, NULL) != TBP_OK)
        abort();
    tbp_collect_commit(c);
    tbp_collect_free(c);
    check_profile(sink);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct tbp_sink_memory first, second;
    if (size == 0)
        return 0;
    lay_out(data + 1, size - 1, data[0] & 1);
    if (data[0] & 2) {
        struct tbp_collect_carry *carry = tbp_collect_carry_new();
        collect(carry, 1000000 + 4 * (int64_t)data[0], &first);
        collect(carry, INT64_MAX, &second);
        tbp_collect_carry_free(carry);
    } else {
        collect(NULL, INT64_MAX, &first);
        collect(NULL, INT64_MAX, &second);
        if (first.size != second.size ||
            (first.size && memcmp(first.data, second.data, first.size) != 0))
            abort();
    }
    tbp_sink_memory_release(&first);
    tbp_sink_memory_release(&second);
    return 0;
}
