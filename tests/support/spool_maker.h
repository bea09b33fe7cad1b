/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes capture spools by hand (schemas/spool_format.h), so that tests can say record by record
 * what a thread left behind, and damage it. One tick is one nanosecond unless anchors say
 * otherwise; the session begins at tick 1000, on 2026-01-01 00:00:00 UTC.
 *
 *     struct spool_maker m;
 *     spool_maker_init(&m);
 *     spool_chunk(&m, 1, 77, 0);                        // thread 1, tid 77, its first chunk
 *     spool_begin(&m, 5000, spool_string(&m, "train")); // 5 us after the start
 *     spool_end(&m, 9000, 1);
 *     spool_maker_finish(&m);                           // m.data, m.size_bytes
 */
#ifndef TBP_TESTS_SUPPORT_SPOOL_MAKER_H
#define TBP_TESTS_SUPPORT_SPOOL_MAKER_H

#include "base/str.h"
#include "schemas/spool_format.h"

#define SPOOL_START_NS INT64_C(1767225600000000000)

enum { SPOOL_MAKER_CHUNKS = 64, SPOOL_MAKER_TICKS_BASE = 1000, SPOOL_MAKER_TID = 77 };

struct spool_maker {
    uint8_t *data;
    uint64_t size_bytes;
    struct tbp_spool_header *head;
    struct tbp_spool_chunk *chunk;   /* that records go to */
    struct tbp_spool_chunk *strings; /* chunk 0 */
    uint32_t n_strings;
    uint8_t level; /* of what comes */
};

void spool_maker_init(struct spool_maker *m);
void spool_maker_release(struct spool_maker *m);

/* Replaces the anchors. */
void spool_anchors(struct spool_maker *m, const struct tbp_spool_anchor *anchors, uint32_t n);
uint32_t spool_string(struct spool_maker *m, const char *text);
/* Records go to a new chunk from here on. */
struct tbp_spool_chunk *spool_chunk(struct spool_maker *m, uint32_t thread, int32_t tid,
                                    uint64_t sequence);
/* A record; the caller fills the `extra` slots after the one returned. */
struct tbp_spool_slot *spool_record(struct spool_maker *m, uint64_t ticks, enum tbp_spool_kind kind,
                                    uint32_t name, uint32_t aux, unsigned extra);
void spool_begin(struct spool_maker *m, uint64_t ticks, uint32_t name);
void spool_begin_text(struct spool_maker *m, uint64_t ticks, const char *name);
void spool_end(struct spool_maker *m, uint64_t ticks, unsigned n);
/* A record with one argument. */
void spool_value(struct spool_maker *m, uint64_t ticks, enum tbp_spool_kind kind, uint32_t name,
                 uint32_t aux, struct tbp_spool_arg arg);
void spool_alloc(struct spool_maker *m, uint64_t ticks, uint32_t allocator,
                 struct tbp_spool_memory memory);
void spool_free(struct spool_maker *m, uint64_t ticks, uint32_t allocator, uint64_t address);

/* The profile that is made of it, as text (tests/support/xpt.h) that the caller frees with
 * tbp_wire_out_release; "error: …" if none is. */
struct tbp_wire_out;
void spool_profile(const struct spool_maker *m, struct tbp_wire_out *text);

#endif
