/* SPDX-License-Identifier: Apache-2.0
 *
 * Two texts per event, by which rows are told apart: its category, and one stat (shape, stack,
 * module). Equal stats are stored once by readers, so the texts of a body are remembered.
 */
#ifndef TBP_CONVERT_REPORT_EVENT_TEXTS_H
#define TBP_CONVERT_REPORT_EVENT_TEXTS_H

#include "convert/model/stats.h"

enum { TBP_TEXTS_CACHE = 256 };

struct tbp_event_texts {
    const struct tbp_line *line;
    uint32_t category, detail, spare; /* stat metadata of the plane, 0: it has no such stat */
    struct {
        uint64_t body_1; /* body + 1; 0: empty */
        struct tbp_str category, detail;
    } cache[TBP_TEXTS_CACHE];
};

/* details: names of the stat wanted, the first that the plane has; NULL-terminated, or NULL. */
void tbp_event_texts_init(struct tbp_event_texts *t, const struct tbp_line *line,
                          const char *const *details);
/* Behind init: the stat that tells it of an event without a text in the one wanted. */
void tbp_event_texts_spare(struct tbp_event_texts *t, enum tbp_stat_key key);
void tbp_event_texts_get(struct tbp_event_texts *t, size_t event, struct tbp_str *category,
                         struct tbp_str *detail);

#endif
