/* SPDX-License-Identifier: Apache-2.0
 *
 * The string table of a capture spool: id -> text, from the STRING records in its STRINGS chunks.
 * Short texts are views into the spool; texts that go over several records are put together in the
 * arena. Used by recording.c only.
 */
#ifndef TBP_PLUGIN_DATA_REC_STRINGS_H
#define TBP_PLUGIN_DATA_REC_STRINGS_H

#include "base/vec.h"
#include "plugin_data/recording.h"
#include "schemas/wire.h"

struct tbp_rec_strings {
    struct tbp_arena *arena;
    TBP_VEC(struct tbp_str) texts; /* by id; p NULL: not defined */
    uint32_t open_id;              /* id whose text goes on; 0: none */
    struct tbp_wire_out open;
    uint64_t n_records;
};

void tbp_rec_strings_init(struct tbp_rec_strings *t, struct tbp_arena *arena);
/* Takes the records of one chunk; chunks come in order of sequence. Returns the number of
 * records that make no sense. */
uint64_t tbp_rec_strings_take(struct tbp_rec_strings *t, struct tbp_rec_walk w);
/* The finished table, in the arena. */
void tbp_rec_strings_finish(struct tbp_rec_strings *t, struct tbp_str **texts, uint32_t *n);

#endif
