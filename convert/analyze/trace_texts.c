/* SPDX-License-Identifier: Apache-2.0
 *
 * Escaped names and stack frames of a host; see trace_texts.h.
 */
#include "convert/analyze/trace_texts.h"

#include "plugin_data/sink.h"

#include <string.h>

/* Texts of long_name and hlo_text longer than this become stack frames. */
enum { FRAME_MIN = 16 };

/* ---- escapes ---- */

struct tbp_escape_slot {
    struct tbp_json json;
    struct tbp_sink_memory text;
};

static bool is_plain(struct tbp_str s, enum tbp_json_escape how) {
    bool plain = true;
    for (size_t i = 0; i < s.n; i++) {
        const uint8_t c = (uint8_t)s.p[i];
        plain &= c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
        plain &= how != TBP_JSON_TRACE || (c != '<' && c != '>' && c != '&');
    }
    return plain;
}

struct tbp_str tbp_escaped(struct tbp_escaper *e, struct tbp_str s) {
    if (is_plain(s, e->how))
        return s;
    if (!e->slot) {
        e->slot = TBP_NEW(e->arena, struct tbp_escape_slot);
        tbp_sink_memory_init(&e->slot->text, 0);
    }
    e->slot->text.size = 0;
    tbp_json_init(&e->slot->json, &e->slot->text.base);
    tbp_json_text(&e->slot->json, s, e->how);
    tbp_json_finish(&e->slot->json, NULL);
    struct tbp_str text = {(const char *)e->slot->text.data, e->slot->text.size};
    return tbp_arena_str(e->arena, text);
}

void tbp_escaper_release(struct tbp_escaper *e) {
    if (e->slot)
        tbp_sink_memory_release(&e->slot->text);
    e->slot = NULL;
}

static struct tbp_str *escaped_names(const struct tbp_trace_meta *m, size_t n,
                                     struct tbp_escaper *e) {
    struct tbp_str *out = TBP_NEW_N(e->arena, struct tbp_str, n);
    for (size_t i = 0; i < n; i++)
        out[i] = tbp_escaped(e, m[i].name);
    return out;
}

void tbp_trace_texts_make(struct tbp_trace_texts *t, const struct tbp_trace_plane *p,
                          struct tbp_escaper *e) {
    t->keys = TBP_NEW_N(e->arena, struct tbp_str, p->n_keys);
    for (uint32_t i = 0; i < p->n_keys; i++)
        t->keys[i] = tbp_escaped(e, p->keys[i].name);
    t->metas = escaped_names(p->metas, p->plane->n_metas, e);
    t->made = escaped_names(p->made_metas, p->n_made_metas, e);
}

/* ---- stack frames ---- */

struct tbp_str tbp_trace_cut(struct tbp_str s) {
    size_t n = s.n < TBP_LONG_NAME_MAX ? s.n : TBP_LONG_NAME_MAX;
    while (n < s.n && n > 0 && ((uint8_t)s.p[n] & 0xc0) == 0x80)
        n--;
    return tbp_str_sub(s, 0, n);
}

bool tbp_trace_is_frame(const struct tbp_trace_plane *p, const struct tbp_trace_arg *a) {
    const enum tbp_trace_what what = (enum tbp_trace_what)p->keys[a->key].what;
    return (what == TBP_TRACE_LONG_NAME || what == TBP_TRACE_HLO_TEXT) &&
           (a->type == TBP_STAT_STR || a->type == TBP_STAT_REF) &&
           tbp_trace_text(p, a).n > FRAME_MIN;
}

struct tbp_str tbp_trace_frame_text(struct tbp_arena *a, const struct tbp_trace_plane *p,
                                    const struct tbp_trace_arg *arg) {
    struct tbp_str text = tbp_trace_text(p, arg);
    return tbp_trace_is_cut(p, arg) ? tbp_arena_cat(a, tbp_trace_cut(text), TBP_STR(TBP_CUT_MARK))
                                    : text;
}

static void add_frame(struct tbp_strtab *frames, struct tbp_arena *a,
                      const struct tbp_trace_plane *p, const struct tbp_trace_arg *arg) {
    if (tbp_trace_is_frame(p, arg))
        tbp_strtab_put(frames, tbp_trace_frame_text(a, p, arg));
}

static void frames_of_meta(struct tbp_strtab *frames, struct tbp_arena *a,
                           const struct tbp_trace_plane *p, const struct tbp_trace_meta *m) {
    struct tbp_trace_arg name = {.key = p->long_name, .type = TBP_STAT_STR, .s = m->full_name};
    if (m->has_long_name)
        add_frame(frames, a, p, &name);
    for (uint32_t k = 0; k < m->n_args; k++)
        add_frame(frames, a, p, &m->args[k]);
}

void tbp_trace_frames_of_event(struct tbp_strtab *frames, struct tbp_arena *a,
                               const struct tbp_trace_line *l, size_t i) {
    struct tbp_trace_args args = {0};
    frames_of_meta(frames, a, l->plane, tbp_trace_meta_at(l, i));
    tbp_trace_event_args(l, i, &args);
    for (size_t k = 0; k < args.at.n; k++) /* texts repaired in scratch are no frames */
        add_frame(frames, a, l->plane, &args.at.at[k]);
    tbp_trace_args_release(&args);
}

/* Events themselves seldom have such texts; their names tell whether to look. */
static bool events_have_frames(const struct tbp_trace_plane *p) {
    for (size_t i = 0; i < p->plane->n_stat_metas; i++)
        if (p->keys[i].what == TBP_TRACE_LONG_NAME || p->keys[i].what == TBP_TRACE_HLO_TEXT)
            return true;
    return false;
}

static void frames_of_line(struct tbp_strtab *frames, struct tbp_arena *a,
                           const struct tbp_trace_line *l, uint8_t *seen, bool look_at_events) {
    for (size_t i = 0; i < l->line->ev.n; i++) {
        const uint32_t meta = l->line->ev.meta[i];
        if (!seen[meta] && !tbp_trace_is_left_out(l, i)) {
            seen[meta] = 1;
            frames_of_meta(frames, a, l->plane, &l->metas[meta]);
        }
        if (look_at_events && !tbp_trace_is_left_out(l, i))
            tbp_trace_frames_of_event(frames, a, l, i);
    }
}

static void frames_of_plane(struct tbp_strtab *frames, struct tbp_arena *a,
                            const struct tbp_trace_plane *plane) {
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    uint8_t *seen = TBP_NEW_N(&scratch, uint8_t, plane->plane->n_metas);
    uint8_t *seen_made = TBP_NEW_N(&scratch, uint8_t, plane->n_made_metas + 1);
    const bool in_events = events_have_frames(plane);
    for (size_t k = 0; k < plane->n_lines; k++) {
        const bool made = plane->lines[k].made != NULL;
        frames_of_line(frames, a, &plane->lines[k], made ? seen_made : seen, in_events && !made);
    }
    tbp_arena_release(&scratch);
}

/* ---- the whole ---- */

void tbp_host_texts_make(struct tbp_host_texts *t, const struct tbp_trace *trace,
                         struct tbp_arena *a) {
    struct tbp_escaper e = {.arena = a, .how = TBP_JSON_TRACE};
    struct tbp_strtab frames = {0};
    t->planes = TBP_NEW_N(a, struct tbp_trace_texts, trace->n_planes);
    for (size_t i = 0; i < trace->n_planes; i++) {
        tbp_trace_texts_make(&t->planes[i], &trace->planes[i], &e);
        frames_of_plane(&frames, a, &trace->planes[i]);
    }
    t->n_frames = frames.n;
    t->frames = TBP_NEW_N(a, struct tbp_str, frames.n);
    if (frames.n)
        memcpy(t->frames, frames.strs, frames.n * sizeof *t->frames);
    tbp_strtab_release(&frames);
    tbp_escaper_release(&e);
}
