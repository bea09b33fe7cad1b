/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of events and the events of each name; see trace_names.h.
 * Most events are called what their metadata is, so names are looked up per metadata entry; only
 * those with a step_name are looked at one by one.
 */
#include "convert/analyze/trace_names.h"

#include "base/sort.h"

#include <string.h>

/* The last step_name in force: 0 none, 1 a text (maybe empty), and the last that renames. */
struct step_names {
    bool any;
    struct tbp_str last, shown;
};

static void take_step(struct step_names *s, bool is_text, struct tbp_str text) {
    s->any = true;
    s->last = is_text ? text : TBP_STR_NONE;
    if (is_text && text.n)
        s->shown = text;
}

static struct step_names step_names_of(const struct tbp_trace_line *l, size_t i) {
    struct step_names s = {.last = TBP_STR_NONE, .shown = TBP_STR_NONE};
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    for (uint32_t k = 0; m->has_special && k < m->n_args; k++)
        if (l->plane->keys[m->args[k].key].what == TBP_TRACE_STEP_NAME) {
            bool is_text = m->args[k].type == TBP_STAT_STR || m->args[k].type == TBP_STAT_REF;
            take_step(&s, is_text, tbp_trace_text(l->plane, &m->args[k]));
        }
    if (l->made)
        return s;
    bool named = l->line->ev.flags[i] & TBP_EVENT_STEP_NAMED;
    if (!named && !(l->line->ev.has[i] & TBP_HAS_STEP_NAME))
        return s;
    struct tbp_trace_args args = {0};
    tbp_trace_event_args(l, i, &args);
    for (size_t k = 0; k < args.at.n; k++) {
        const struct tbp_trace_arg *a = &args.at.at[k];
        if (l->plane->keys[a->key].what == TBP_TRACE_STEP_NAME) {
            bool is_text = a->type == TBP_STAT_STR || a->type == TBP_STAT_REF;
            take_step(&s, is_text, tbp_trace_text(l->plane, a));
        }
    }
    tbp_trace_args_release(&args);
    return s;
}

struct tbp_str tbp_trace_event_name(const struct tbp_trace_line *l, size_t i) {
    const struct tbp_trace_meta *m = tbp_trace_meta_at(l, i);
    if (tbp_trace_is_counter(l))
        return m->full_name;
    struct step_names s = step_names_of(l, i);
    return s.shown.n ? s.shown : m->name;
}

/* What a search looks at: any step_name counts, also an empty one. */
static struct tbp_str searched_name(const struct tbp_trace_line *l, size_t i) {
    struct step_names s = step_names_of(l, i);
    return s.any ? s.last : tbp_trace_meta_at(l, i)->name;
}

/* ---- all names ---- */

enum { NO_NAME = UINT32_MAX };

struct naming {
    const struct tbp_trace_index *x;
    struct tbp_strtab names;
    uint32_t **of_meta; /* by line: name of each metadata entry */
    uint32_t *of_event; /* by track_base + position */
    const uint32_t *track_base;
};

static bool may_have_step(const struct tbp_trace_line *l, size_t i) {
    return tbp_trace_meta_at(l, i)->has_special ||
           (!l->made && ((l->line->ev.flags[i] & TBP_EVENT_STEP_NAMED) ||
                         (l->line->ev.has[i] & TBP_HAS_STEP_NAME)));
}

static uint32_t *number_metas(struct naming *m, const struct tbp_trace_meta *metas, size_t n,
                              struct tbp_arena *a) {
    uint32_t *of_meta = TBP_NEW_N(a, uint32_t, n);
    for (size_t i = 0; i < n; i++)
        of_meta[i] = tbp_strtab_put(&m->names, metas[i].name);
    return of_meta;
}

/* Lines of one plane share two tables: of the file, and of what was made. */
static void number_lines(struct naming *m, struct tbp_arena *a) {
    const struct tbp_trace_plane *plane = NULL;
    uint32_t *of_file = NULL, *of_made = NULL;
    m->of_meta = TBP_NEW_N(a, uint32_t *, m->x->n_lines);
    for (size_t i = 0; i < m->x->n_lines; i++) {
        const struct tbp_trace_line *l = m->x->lines[i];
        if (l->plane != plane) {
            plane = l->plane;
            of_file = number_metas(m, plane->metas, plane->plane->n_metas, a);
            of_made = number_metas(m, plane->made_metas, plane->n_made_metas, a);
        }
        m->of_meta[i] = l->made ? of_made : of_file;
    }
}

static int name_track(void *ctx, size_t track, struct tbp_error *err) {
    (void)err;
    const struct naming *m = ctx;
    const struct tbp_track *t = &m->x->tracks[track];
    uint32_t *out = m->of_event + m->track_base[track];
    for (size_t i = 0; i < t->n; i++) {
        struct tbp_track_ref r = tbp_track_at(t, i);
        const struct tbp_trace_line *l = m->x->lines[r.line];
        out[i] =
            may_have_step(l, r.event) ? NO_NAME : m->of_meta[r.line][l->line->ev.meta[r.event]];
    }
    return TBP_OK;
}

static void name_steps(struct naming *m) {
    for (size_t k = 0; k < m->x->n_tracks; k++) {
        const struct tbp_track *t = &m->x->tracks[k];
        uint32_t *of_event = m->of_event + m->track_base[k];
        for (size_t i = 0; i < t->n; i++) {
            if (of_event[i] != NO_NAME)
                continue;
            struct tbp_track_ref r = tbp_track_at(t, i);
            struct tbp_str name = searched_name(m->x->lines[r.line], r.event);
            of_event[i] = tbp_strtab_put(&m->names, name);
        }
    }
}

static int by_text(const void *a, const void *b, void *ctx) {
    const struct tbp_str *names = ctx;
    return tbp_str_cmp(names[*(const uint32_t *)a], names[*(const uint32_t *)b]);
}

static void list_events(const struct naming *m, const uint32_t *rank, struct tbp_trace_names *t) {
    for (size_t k = 0; k < m->x->n_tracks; k++)
        for (uint32_t i = m->track_base[k]; i < m->track_base[k + 1]; i++)
            if (!tbp_track_is_lost(m->x, &m->x->tracks[k], i - m->track_base[k]))
                t->events[t->first[rank[m->of_event[i]]]++] = i;
    memmove(t->first + 1, t->first, t->n * sizeof *t->first); /* each start has become its end */
    t->first[0] = 0;
}

static void sort_names(const struct naming *m, struct tbp_trace_names *t, struct tbp_arena *a,
                       struct tbp_arena *scratch) {
    t->n = m->names.n;
    t->names = TBP_NEW_N(a, struct tbp_str, t->n);
    t->first = TBP_NEW_N(a, uint32_t, t->n + 1);
    uint32_t *order = TBP_NEW_N(scratch, uint32_t, t->n);
    uint32_t *rank = TBP_NEW_N(scratch, uint32_t, t->n);
    for (uint32_t i = 0; i < t->n; i++)
        order[i] = i;
    tbp_sort(order, t->n, sizeof *order, by_text, m->names.strs);
    for (uint32_t i = 0; i < t->n; i++) {
        rank[order[i]] = i;
        t->names[i] = m->names.strs[order[i]];
    }
    for (size_t k = 0; k < m->x->n_tracks; k++)
        for (uint32_t i = m->track_base[k]; i < m->track_base[k + 1]; i++)
            if (!tbp_track_is_lost(m->x, &m->x->tracks[k], i - m->track_base[k]))
                t->first[rank[m->of_event[i]] + 1]++;
    for (size_t i = 0; i < t->n; i++)
        t->first[i + 1] += t->first[i];
    list_events(m, rank, t);
}

int tbp_trace_names_make(struct tbp_trace_names *t, const struct tbp_trace_index *x,
                         struct tbp_arena *a, struct tbp_pool *pool, struct tbp_error *err) {
    struct naming m = {.x = x};
    if (x->n_events >= UINT32_MAX)
        return tbp_fail(err, TBP_E_LIMIT, "too many events for a search: %zu", x->n_events);
    *t = (struct tbp_trace_names){0};
    t->events = TBP_NEW_N(a, uint32_t, x->n_events);
    m.track_base = t->track_base = TBP_NEW_N(a, uint32_t, x->n_tracks + 1);
    for (size_t k = 0; k < x->n_tracks; k++)
        t->track_base[k + 1] = t->track_base[k] + (uint32_t)x->tracks[k].n;
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    m.of_event = TBP_NEW_N(&scratch, uint32_t, x->n_events);
    number_lines(&m, &scratch);
    int status = tbp_pool_for(pool, x->n_tracks, name_track, &m, err);
    if (!status) {
        name_steps(&m);
        sort_names(&m, t, a, &scratch);
    }
    tbp_arena_release(&scratch);
    tbp_strtab_release(&m.names);
    return status;
}

/* ---- search ---- */

/* How the beginning of s compares with prefix. */
static int beginning_cmp(struct tbp_str s, struct tbp_str prefix) {
    return tbp_str_cmp(s.n > prefix.n ? tbp_str_sub(s, 0, prefix.n) : s, prefix);
}

/* First name whose beginning is not before the prefix, or is after it. */
static size_t bound(const struct tbp_trace_names *t, struct tbp_str prefix, bool after) {
    size_t lo = 0, hi = t->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int cmp = beginning_cmp(t->names[mid], prefix);
        if (cmp < 0 || (after && cmp == 0))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

const uint32_t *tbp_trace_names_find(const struct tbp_trace_names *t, struct tbp_str prefix,
                                     size_t *n) {
    const uint32_t from = t->first[bound(t, prefix, false)];
    *n = t->first[bound(t, prefix, true)] - from;
    return t->events + from;
}
