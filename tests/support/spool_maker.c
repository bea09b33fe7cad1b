/* SPDX-License-Identifier: Apache-2.0
 *
 * See spool_maker.h.
 */
#include "tests/support/spool_maker.h"

#include "base/arena.h"
#include "plugin_data/collect.h"
#include "tests/support/xpt.h"

#include <stdlib.h>

enum { CHUNKS_OFFSET = 131072, SLOT = TBP_SPOOL_SLOT_BYTES };

static struct tbp_spool_chunk *new_chunk(struct spool_maker *m, enum tbp_spool_chunk_kind kind) {
    uint32_t i = m->head->n_chunks++;
    if (i >= SPOOL_MAKER_CHUNKS)
        abort();
    struct tbp_spool_chunk *c =
        (void *)(m->data + CHUNKS_OFFSET + (size_t)i * TBP_SPOOL_CHUNK_BYTES);
    *c = (struct tbp_spool_chunk){.magic = TBP_SPOOL_CHUNK_MAGIC,
                                  .kind = (uint16_t)kind,
                                  .state = TBP_SPOOL_CHUNK_WRITING,
                                  .generation = 1,
                                  .pid = 42};
    return c;
}

void spool_maker_init(struct spool_maker *m) {
    static const struct tbp_spool_anchor first[] = {
        {SPOOL_MAKER_TICKS_BASE, SPOOL_START_NS, 500},
        {SPOOL_MAKER_TICKS_BASE + 1000000, SPOOL_START_NS + 1000000, 1000500},
    };
    *m = (struct spool_maker){.level = 1};
    m->size_bytes = CHUNKS_OFFSET + (uint64_t)SPOOL_MAKER_CHUNKS * TBP_SPOOL_CHUNK_BYTES;
    m->data = aligned_alloc(4096, m->size_bytes);
    memset(m->data, 0, m->size_bytes);
    m->head = (void *)m->data;
    *m->head = (struct tbp_spool_header){
        .magic = TBP_SPOOL_MAGIC,
        .version = TBP_SPOOL_VERSION,
        .header_bytes = TBP_SPOOL_HEADER_BYTES,
        .state = TBP_SPOOL_STOPPED,
        .generation = 1,
        .pid = 42,
        .clock_is_tsc = 1,
        .ticks_base = SPOOL_MAKER_TICKS_BASE,
        .start_realtime_ns = SPOOL_START_NS,
        .anchors_offset = TBP_SPOOL_HEADER_BYTES,
        .chunk_bytes = TBP_SPOOL_CHUNK_BYTES,
        .chunks_offset = CHUNKS_OFFSET,
        .hostname = "worker",
    };
    spool_anchors(m, first, 2);
    m->strings = new_chunk(m, TBP_SPOOL_CHUNK_STRINGS);
}

void spool_maker_release(struct spool_maker *m) {
    free(m->data);
}

void spool_anchors(struct spool_maker *m, const struct tbp_spool_anchor *anchors, uint32_t n) {
    memcpy(m->data + TBP_SPOOL_HEADER_BYTES, anchors, n * sizeof *anchors);
    m->head->n_anchors = n;
}

static struct tbp_spool_slot *append(struct tbp_spool_chunk *c, unsigned n_slots) {
    if (c->committed + n_slots * SLOT > TBP_SPOOL_CHUNK_BYTES - sizeof *c)
        abort();
    struct tbp_spool_slot *at = (void *)((uint8_t *)(c + 1) + c->committed);
    c->committed += n_slots * SLOT;
    return at;
}

static unsigned slots_of(size_t n) {
    return (unsigned)((n + SLOT - 1) / SLOT);
}

uint32_t spool_string(struct spool_maker *m, const char *text) {
    size_t n = strlen(text);
    struct tbp_spool_slot *at = append(m->strings, 1 + slots_of(n));
    *at = (struct tbp_spool_slot){TBP_SPOOL_HEAD(0, TBP_REC_STRING, slots_of(n)), ++m->n_strings,
                                  TBP_SPOOL_AUX(n, 0, 0)};
    memcpy(at + 1, text, n);
    return m->n_strings;
}

struct tbp_spool_chunk *spool_chunk(struct spool_maker *m, uint32_t thread, int32_t tid,
                                    uint64_t sequence) {
    m->chunk = new_chunk(m, TBP_SPOOL_CHUNK_RECORDS);
    m->chunk->thread = thread;
    m->chunk->tid = tid;
    m->chunk->sequence = sequence;
    return m->chunk;
}

struct tbp_spool_slot *spool_record(struct spool_maker *m, uint64_t ticks, enum tbp_spool_kind kind,
                                    uint32_t name, uint32_t aux, unsigned extra) {
    struct tbp_spool_slot *at = append(m->chunk, 1 + extra);
    *at = (struct tbp_spool_slot){TBP_SPOOL_HEAD(ticks, kind, extra), name, aux};
    return at;
}

void spool_begin(struct spool_maker *m, uint64_t ticks, uint32_t name) {
    spool_record(m, ticks, TBP_REC_BEGIN, name, TBP_SPOOL_AUX(0, m->level, 0), 0);
}

void spool_begin_text(struct spool_maker *m, uint64_t ticks, const char *name) {
    size_t n = strlen(name);
    struct tbp_spool_slot *at = spool_record(m, ticks, TBP_REC_BEGIN, TBP_SPOOL_NAME_INLINE,
                                             TBP_SPOOL_AUX(n, m->level, 0), slots_of(n));
    memcpy(at + 1, name, n);
}

void spool_end(struct spool_maker *m, uint64_t ticks, unsigned n) {
    spool_record(m, ticks, TBP_REC_END, 0, TBP_SPOOL_AUX(n, 0, 0), 0);
}

void spool_value(struct spool_maker *m, uint64_t ticks, enum tbp_spool_kind kind, uint32_t name,
                 uint32_t aux, struct tbp_spool_arg arg) {
    memcpy(spool_record(m, ticks, kind, name, aux, 1) + 1, &arg, sizeof arg);
}

void spool_alloc(struct spool_maker *m, uint64_t ticks, uint32_t allocator,
                 struct tbp_spool_memory memory) {
    memcpy(spool_record(m, ticks, TBP_REC_MEMORY_ALLOC, allocator, 0, sizeof memory / SLOT) + 1,
           &memory, sizeof memory);
}

void spool_free(struct spool_maker *m, uint64_t ticks, uint32_t allocator, uint64_t address) {
    spool_value(m, ticks, TBP_REC_MEMORY_FREE, allocator, 0,
                (struct tbp_spool_arg){0, TBP_ARG_U64, 0, 0, address});
}

void spool_profile(const struct spool_maker *m, struct tbp_wire_out *text) {
    struct tbp_collect_request request = {
        .data = m->data, .size_bytes = m->size_bytes, .until_realtime_ns = INT64_MAX};
    struct tbp_collect_result result;
    struct tbp_sink_memory sink;
    struct tbp_collect *c = NULL;
    struct tbp_error err = {0};
    tbp_sink_memory_init(&sink, 0);
    text->n = 0;
    int status = tbp_collect_open(&c, &request, &err);
    if (!status)
        status = tbp_collect_write(c, &sink.base, &result, &err);
    if (!status)
        status = tbp_xpt_print((struct tbp_str){(const char *)sink.data, sink.size}, text, &err);
    if (status) {
        tbp_wire_put_raw(text, "error: ", 7);
        tbp_wire_put_raw(text, err.message, strlen(err.message));
    }
    tbp_wire_put_raw(text, "", 1); /* NUL */
    tbp_collect_free(c);
    tbp_sink_memory_release(&sink);
}
