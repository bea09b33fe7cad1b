/* SPDX-License-Identifier: Apache-2.0
 *
 * Growing derived lines; see derived_grow.h.
 */
#include "convert/analyze/derived_grow.h"

#include <string.h>

/* ---- names of made events ---- */

void tbp_made_metas_init(struct tbp_made_metas *m, struct tbp_arena *a, const struct tbp_plane *p,
                         struct tbp_derived_plane *d) {
    *m = (struct tbp_made_metas){.arena = a, .plane = p, .derived = d};
    for (size_t i = 0; i < p->n_metas; i++) {
        if (p->metas[i].name.n == 0)
            continue;
        if (tbp_strtab_put(&m->file_names, p->metas[i].name) == m->file_index.n)
            *tbp_vec_push(&m->file_index) = (uint32_t)i;
    }
}

static uint32_t add_meta(struct tbp_made_metas *m, struct tbp_made_meta made) {
    *tbp_vec_push(&m->at) = made;
    return (uint32_t)m->at.n - 1;
}

/* The official rule writes the display name into the plane's own entry, so its file events show it
 * as well. */
static void give_display(struct tbp_made_metas *m, const struct tbp_meta *file,
                         struct tbp_str display) {
    struct tbp_derived_plane *d = m->derived;
    if (!d->displays) {
        d->displays = TBP_NEW_N(m->arena, struct tbp_str, m->plane->n_metas);
        for (size_t i = 0; i < m->plane->n_metas; i++)
            d->displays[i] = TBP_STR_NONE;
    }
    d->displays[file - m->plane->metas] = display;
}

static uint32_t add_named(struct tbp_made_metas *m, struct tbp_str name) {
    struct tbp_made_meta made = {.name = tbp_arena_str(m->arena, name), .display = TBP_STR_NONE};
    uint32_t f = name.n ? tbp_strtab_get(&m->file_names, name) : TBP_MAP_NONE;
    if (f != TBP_MAP_NONE) {
        made.file = &m->plane->metas[m->file_index.at[f]];
        made.display = made.file->display;
    }
    tbp_strtab_put(&m->names, made.name);
    uint32_t i = add_meta(m, made);
    *tbp_vec_push(&m->name_index) = i;
    return i;
}

uint32_t tbp_made_metas_ensure(struct tbp_made_metas *m, struct tbp_str name,
                               struct tbp_str display) {
    uint32_t number = tbp_strtab_get(&m->names, name);
    uint32_t i = number == TBP_MAP_NONE ? add_named(m, name) : m->name_index.at[number];
    struct tbp_made_meta *at = &m->at.at[i];
    if (at->display.n == 0 && display.n) {
        at->display = tbp_arena_str(m->arena, display);
        if (at->file)
            give_display(m, at->file, at->display);
    }
    return i;
}

uint32_t tbp_made_metas_new(struct tbp_made_metas *m, struct tbp_str display) {
    return add_meta(m, (struct tbp_made_meta){.name = TBP_STR_NONE,
                                              .display = tbp_arena_str(m->arena, display)});
}

void tbp_made_metas_finish(struct tbp_made_metas *m) {
    struct tbp_derived_plane *d = m->derived;
    d->n_metas = m->at.n;
    d->metas = TBP_NEW_N(m->arena, struct tbp_made_meta, m->at.n);
    if (m->at.n)
        memcpy(d->metas, m->at.at, m->at.n * sizeof *d->metas);
    tbp_vec_release(&m->at);
    tbp_vec_release(&m->file_index);
    tbp_vec_release(&m->name_index);
    tbp_strtab_release(&m->names);
    tbp_strtab_release(&m->file_names);
}

/* ---- lines ---- */

void tbp_grow_init(struct tbp_grow *g, bool is_gpu, int64_t id, struct tbp_str name) {
    *g = (struct tbp_grow){.id = id, .name = name, .is_gpu = is_gpu};
}

struct tbp_grow_event *tbp_grow_last(struct tbp_grow *g, size_t level) {
    return &g->events.at[g->last.at[level].event];
}

/* Equal spans on neighbouring levels are shortened by one more nanosecond per level, so that a
 * viewer stacks them. */
static void shrink(struct tbp_grow *g, size_t level) {
    size_t top = level;
    while (top < g->last.n && g->last.at[top].used)
        top++;
    if (top <= level + 1)
        return;
    struct tbp_grow_event *e = tbp_grow_last(g, top - 1);
    int64_t most_ns = (int64_t)(e->end_ps - e->begin_ps) / 1000 - 1;
    int64_t by_ns = 0;
    uint64_t begin = 0, end = 0;
    for (size_t k = level; k < top; k++) {
        e = tbp_grow_last(g, k);
        if (by_ns < most_ns && k > level && begin == e->begin_ps && end == e->end_ps)
            by_ns++;
        begin = e->begin_ps;
        end = e->end_ps;
        uint64_t cut_ps = (uint64_t)by_ns * 1000;
        e->end_ps = cut_ps > end - begin ? begin : end - cut_ps;
    }
}

void tbp_grow_reset(struct tbp_grow *g, size_t level) {
    shrink(g, level);
    for (size_t k = level; k < g->last.n && g->last.at[k].used; k++)
        g->last.at[k].used = false; /* levels are used from 0 without gaps */
    if (level == 0)
        for (size_t i = 0; i < TBP_GROW_BELOW && g->below[i]; i++)
            tbp_grow_reset(g->below[i], 0);
}

/* On TPU planes events without group merge only over gaps of up to twice their length. */
static bool is_near(const struct tbp_grow *g, const struct tbp_grow_event *e,
                    const struct tbp_grow_span *s) {
    if (g->is_gpu || s->has_group || (int64_t)s->begin_ps <= (int64_t)e->end_ps)
        return true;
    uint64_t gap = s->begin_ps - e->end_ps, length = e->end_ps - e->begin_ps;
    return length > UINT64_MAX / 2 || gap <= 2 * length;
}

static bool continues(const struct tbp_grow *g, const struct tbp_grow_level *last, uint32_t meta,
                      const struct tbp_grow_span *s, struct tbp_grow_scope scope) {
    const struct tbp_grow_event *e = &g->events.at[last->event];
    bool same_group = e->has_group == s->has_group && (!s->has_group || e->group == s->group);
    bool same_scope = !scope.known || !last->has_scope || scope.id == last->scope;
    return e->meta == meta && same_group && same_scope && is_near(g, e, s);
}

void tbp_grow_add(struct tbp_grow *g, uint32_t meta, const struct tbp_grow_span *s,
                  struct tbp_grow_scope scope, size_t level) {
    while (g->last.n <= level)
        *tbp_vec_push(&g->last) = (struct tbp_grow_level){0};
    if (g->last.at[level].used && continues(g, &g->last.at[level], meta, s, scope)) {
        struct tbp_grow_event *e = tbp_grow_last(g, level);
        bool is_nothing = !e->begin_ps && !e->end_ps; /* an instant at time 0 is replaced */
        if (is_nothing || (int64_t)s->begin_ps < (int64_t)e->begin_ps)
            e->begin_ps = s->begin_ps;
        if ((int64_t)s->end_ps > (int64_t)e->end_ps)
            e->end_ps = s->end_ps;
        return;
    }
    tbp_grow_reset(g, level);
    g->last.at[level] = (struct tbp_grow_level){true, scope.known, scope.id, (uint32_t)g->events.n};
    *tbp_vec_push(&g->events) = (struct tbp_grow_event){.begin_ps = s->begin_ps,
                                                        .end_ps = s->end_ps,
                                                        .group = s->group,
                                                        .meta = meta,
                                                        .has_group = s->has_group};
}

void tbp_grow_add_levels(struct tbp_grow *g, const uint32_t *metas, size_t n,
                         const struct tbp_grow_span *s, const struct tbp_grow_scope *scopes) {
    if (n == 0)
        return;
    for (size_t k = 0; k < n; k++)
        tbp_grow_add(g, metas[k], s, scopes ? scopes[k] : (struct tbp_grow_scope){0}, k);
    tbp_grow_reset(g, n);
}

void tbp_grow_stat(struct tbp_grow *g, struct tbp_grow_event *e, struct tbp_made_stat st) {
    if (!e->stats) {
        *tbp_vec_push(&g->stats) = (struct tbp_grow_stats){.n = 0};
        e->stats = (uint32_t)g->stats.n;
    }
    struct tbp_grow_stats *list = &g->stats.at[e->stats - 1];
    for (uint32_t i = 0; i < list->n; i++)
        if (list->at[i].key == st.key) {
            list->at[i] = st;
            return;
        }
    TBP_BUG_IF(list->n == sizeof list->at / sizeof *list->at);
    list->at[list->n++] = st;
}

static void finish_stats(const struct tbp_grow *g, struct tbp_arena *a, struct tbp_made_line *out) {
    size_t n = 0;
    for (size_t i = 0; i < g->stats.n; i++)
        n += g->stats.at[i].n;
    uint32_t *first = TBP_NEW_N(a, uint32_t, g->events.n + 1);
    struct tbp_made_stat *stats = TBP_NEW_N(a, struct tbp_made_stat, n);
    n = 0;
    for (size_t i = 0; i < g->events.n; i++) {
        first[i] = (uint32_t)n;
        uint32_t list = g->events.at[i].stats;
        for (uint32_t k = 0; list && k < g->stats.at[list - 1].n; k++)
            stats[n++] = g->stats.at[list - 1].at[k];
    }
    first[g->events.n] = (uint32_t)n;
    out->first_stat = first;
    out->stats = stats;
}

void tbp_grow_finish(struct tbp_grow *g, struct tbp_arena *a, struct tbp_plane *p,
                     struct tbp_made_line *out) {
    size_t n = g->events.n;
    struct tbp_events ev = {.n = n,
                            .start_ps = TBP_NEW_N(a, uint64_t, n),
                            .dur_ps = TBP_NEW_N(a, uint64_t, n),
                            .meta = TBP_NEW_N(a, uint32_t, n),
                            .group = TBP_NEW_N(a, int32_t, n),
                            .flags = TBP_NEW_N(a, uint8_t, n)};
    for (size_t i = 0; i < n; i++) {
        struct tbp_grow_event *e = &g->events.at[i];
        ev.start_ps[i] = e->begin_ps;
        ev.dur_ps[i] = e->end_ps - e->begin_ps;
        ev.meta[i] = e->meta;
        ev.flags[i] = TBP_EVENT_MADE;
        if (!e->has_group)
            continue;
        if (e->group > INT32_MIN && e->group <= INT32_MAX) {
            ev.group[i] = (int32_t)e->group;
            ev.flags[i] |= TBP_EVENT_GROUPED;
        } else {
            tbp_grow_stat(g, e,
                          (struct tbp_made_stat){
                              .key = TBP_MADE_GROUP_ID, .type = TBP_STAT_INT64, .i = e->group});
        }
    }
    *out = (struct tbp_made_line){
        .line = {.id = g->id, .name = g->name, .ev = ev, .plane = p, .is_derived = true}};
    if (g->stats.n)
        finish_stats(g, a, out);
    tbp_vec_release(&g->events);
    tbp_vec_release(&g->stats);
    tbp_vec_release(&g->last);
}
