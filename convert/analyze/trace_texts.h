/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a host that the trace viewers write many times, made once: names with their escapes, and
 * the long texts that trace_viewer@ lists apart from events ("stack frames"; rule 8 of the trace
 * views).
 *
 * Ownership: texts come from the arena given, or borrow from the trace. Const after making.
 */
#ifndef TBP_CONVERT_ANALYZE_TRACE_TEXTS_H
#define TBP_CONVERT_ANALYZE_TRACE_TEXTS_H

#include "convert/analyze/trace_model.h"
#include "plugin_data/json_out.h"

/* Escapes texts that are used many times. */
struct tbp_escaper {
    struct tbp_arena *arena; /* takes the results */
    enum tbp_json_escape how;
    struct tbp_escape_slot *slot; /* made when first needed */
};
/* Escaped without quotes: the text itself where nothing needs escaping, else a copy. */
struct tbp_str tbp_escaped(struct tbp_escaper *e, struct tbp_str s);
void tbp_escaper_release(struct tbp_escaper *e);

/* Escaped names of one plane, by index of its tables. */
struct tbp_trace_texts {
    struct tbp_str *keys;  /* of plane->keys */
    struct tbp_str *metas; /* shown names of plane->metas */
    struct tbp_str *made;  /* shown names of plane->made_metas */
};
void tbp_trace_texts_make(struct tbp_trace_texts *t, const struct tbp_trace_plane *p,
                          struct tbp_escaper *e);

/* A long_name beyond this many bytes is cut and marked. */
enum { TBP_LONG_NAME_MAX = 10000 };
#define TBP_CUT_MARK "...<truncated>"
struct tbp_str tbp_trace_cut(struct tbp_str s); /* not within a character; the mark is left out */
static inline bool tbp_trace_is_cut(const struct tbp_trace_plane *p,
                                    const struct tbp_trace_arg *a) {
    return a->key == p->long_name && a->s.n > TBP_LONG_NAME_MAX;
}

/* Whether the argument is one of those long texts; and the text, cut if need be. */
bool tbp_trace_is_frame(const struct tbp_trace_plane *p, const struct tbp_trace_arg *a);
struct tbp_str tbp_trace_frame_text(struct tbp_arena *a, const struct tbp_trace_plane *p,
                                    const struct tbp_trace_arg *arg);

/* Adds the frames of one event to a list without repetitions; copies go to a. */
void tbp_trace_frames_of_event(struct tbp_strtab *frames, struct tbp_arena *a,
                               const struct tbp_trace_line *l, size_t i);

struct tbp_host_texts {
    struct tbp_trace_texts *planes; /* as in the trace */
    struct tbp_str *frames;         /* of all events, shown or not; each once, as they come */
    size_t n_frames;
};
/* As trace_viewer@ writes them. */
void tbp_host_texts_make(struct tbp_host_texts *t, const struct tbp_trace *trace,
                         struct tbp_arena *a);

#endif
