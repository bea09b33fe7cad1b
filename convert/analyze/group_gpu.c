/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU planes after grouping: copies without an API event take the group before them, and runs of
 * one group become the events of the derived line "Steps". Source:
 * ../shared/spec/pages/RULES.md 2.11.
 */
#include "convert/analyze/group_lines.h"
#include "convert/analyze/sorted_walk.h"
#include "convert/model/builder.h"

static void inherit_groups(struct tbp_plane *p, struct tbp_arena *a) {
    struct tbp_sorted_walk walk;
    const struct tbp_line *line;
    size_t i;
    int64_t group, last = 0;
    bool has_last = false;
    tbp_sorted_walk_plane(&walk, p, a);
    while (tbp_sorted_walk_next(&walk, &line, &i)) {
        struct tbp_line *l = &p->lines[line - p->lines];
        if (tbp_event_group(l, i, &group)) {
            last = group;
            has_last = true;
        } else if (has_last && last > INT32_MIN && last <= INT32_MAX) {
            l->ev.group[i] = (int32_t)last;
            l->ev.has[i] |= TBP_HAS_GROUP;
            l->ev.flags[i] |= TBP_EVENT_GROUPED | TBP_EVENT_INHERITED;
        }
    }
}

/* Name of a step event: the group in decimal; one metadata entry per group. */
static uint32_t step_meta(struct tbp_plane *p, struct tbp_idmap *by_group, int64_t group,
                          struct tbp_arena *a) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(by_group, (uint64_t)group, &is_new);
    if (is_new)
        *slot = tbp_plane_add_meta(p, tbp_str_c(tbp_arena_printf(a, "%lld", (long long)group)));
    return *slot;
}

static void close_step(struct tbp_event_row *row, struct tbp_plane *p) {
    struct tbp_str name;
    if (row && tbp_host_group_name(p->host, row->group, &name))
        row->flags |= TBP_EVENT_STEP_NAMED;
}

/* A step that is nothing yet, an instant at time 0, begins with what it grows by. */
static void grow_step(struct tbp_event_row *row, uint64_t start_ps, uint64_t end_ps) {
    if (!row->start_ps && !row->dur_ps)
        row->start_ps = start_ps;
    if (end_ps > row->start_ps + row->dur_ps)
        row->dur_ps = end_ps - row->start_ps;
}

static void build_steps(struct tbp_plane *p, struct tbp_line_builder *b, struct tbp_arena *a) {
    struct tbp_sorted_walk walk;
    struct tbp_idmap metas = {0};
    const struct tbp_line *line;
    struct tbp_event_row *row = NULL;
    size_t i;
    int64_t group;
    tbp_sorted_walk_plane(&walk, p, a);
    while (tbp_sorted_walk_next(&walk, &line, &i)) {
        if (!tbp_event_group(line, i, &group) || group <= INT32_MIN || group > INT32_MAX)
            continue;
        if (row && row->group == group) {
            grow_step(row, line->ev.start_ps[i], tbp_event_end(line, i));
            continue;
        }
        close_step(row, p);
        row = tbp_line_builder_event(b, line->ev.start_ps[i], line->ev.dur_ps[i],
                                     step_meta(p, &metas, group, a));
        row->group = (int32_t)group;
        row->has = TBP_HAS_GROUP;
        row->flags |= TBP_EVENT_GROUPED;
    }
    close_step(row, p);
    tbp_idmap_release(&metas);
}

/* Known by its id as 64 bits: 0xdeadbeef without a sign is derived, too, but another line. */
static struct tbp_line *steps_line(struct tbp_plane *p) {
    const int64_t id = (int32_t)TBP_DERIVED_FIRST;
    for (size_t i = 0; i < p->n_lines; i++)
        if (p->lines[i].id == id)
            return &p->lines[i];
    return tbp_plane_add_line(p, id, TBP_STR("Steps"), tbp_plane_start_ns(p));
}

void tbp_add_gpu_steps(struct tbp_plane *p) {
    struct tbp_arena scratch;
    struct tbp_line_builder b;
    tbp_arena_init(&scratch);
    inherit_groups(p, &scratch);
    tbp_line_builder_init(&b, p);
    build_steps(p, &b, &scratch);
    if (b.rows.n) {
        struct tbp_line *steps = steps_line(p);
        steps->name = TBP_STR("Steps");
        steps->metas = p->metas;
        tbp_line_builder_finish(&b, steps);
    }
    tbp_line_builder_release(&b);
    tbp_arena_release(&scratch);
}
