/* SPDX-License-Identifier: Apache-2.0
 *
 * The stats of one event, gathered from its records and the text of its name before they are
 * written, because a stat may stand in an event only once: what was said last counts. Texts are
 * views. One thread at a time.
 */
#ifndef TBP_PLUGIN_DATA_REC_STATS_H
#define TBP_PLUGIN_DATA_REC_STATS_H

#include "plugin_data/rec_names.h"

enum { TBP_REC_MAX_STATS = 128 };

struct tbp_rec_stat_value {
    uint32_t stat;
    unsigned type; /* enum tbp_spool_arg_type; ID: value is the number of a stat's name */
    uint64_t value;
    struct tbp_str text;
};
struct tbp_rec_stats {
    struct tbp_rec_names *names;
    size_t n;
    uint64_t n_lost; /* beyond TBP_REC_MAX_STATS, of all events */
    struct tbp_rec_stat_value at[TBP_REC_MAX_STATS];
};

static inline void tbp_rec_stats_clear(struct tbp_rec_stats *x) {
    x->n = 0;
}
void tbp_rec_stats_i64(struct tbp_rec_stats *x, uint32_t stat, int64_t v);
void tbp_rec_stats_u64(struct tbp_rec_stats *x, uint32_t stat, uint64_t v);
void tbp_rec_stats_text(struct tbp_rec_stats *x, uint32_t stat, struct tbp_str v);
void tbp_rec_stats_ref(struct tbp_rec_stats *x, uint32_t stat, uint32_t text_stat);
void tbp_rec_stats_arg(struct tbp_rec_stats *x, const struct tbp_rec_arg *a);
/* All arguments of a record with a key. */
void tbp_rec_stats_args(struct tbp_rec_stats *x, const struct tbp_rec *r);
/* Arguments in the text of a name; numbers become numbers. */
void tbp_rec_stats_pairs(struct tbp_rec_stats *x, struct tbp_str pairs);
/* Adds them to the open event of the writer. */
void tbp_rec_stats_write(const struct tbp_rec_stats *x, struct tbp_xspace_out *o);

#endif
