/* SPDX-License-Identifier: Apache-2.0
 *
 * TPU planes in grouping: which line has the steps, and how steps hand their group to the ops below
 * them. Source: ../shared/spec/pages/RULES.md 2.10.
 */
#include "convert/analyze/group_lines.h"
#include "convert/model/builder.h"
#include "convert/model/stats.h"

#include <string.h>

#define STEP_IDLE_TIME "step_idle_time_ps"

bool tbp_is_tpu_step_line(struct tbp_str name) {
    return tbp_str_is(name, "Steps") || tbp_str_is(name, "Sparse Core Steps") ||
           tbp_str_is(name, "XLA Modules") || tbp_str_is(name, "Sparse Core Modules");
}

static bool is_steps(struct tbp_str name) {
    return tbp_str_is(name, "Steps") || tbp_str_is(name, "Sparse Core Steps");
}

/* The last line of that kind counts. */
static struct tbp_line *last_line(const struct tbp_plane *p, bool steps) {
    for (size_t i = p->n_lines; i-- > 0;)
        if (tbp_is_tpu_step_line(p->lines[i].name) && is_steps(p->lines[i].name) == steps)
            return &p->lines[i];
    return NULL;
}

const struct tbp_line *tbp_tpu_grouping_line(const struct tbp_plane *p) {
    const struct tbp_line *steps = last_line(p, true), *modules = last_line(p, false);
    if (steps && steps->ev.n)
        return steps;
    return modules && modules->ev.n ? modules : NULL;
}

struct span {
    uint64_t start_ps, end_ps;
};

static bool device_span(const struct tbp_line *l, size_t i, struct span *s) {
    struct tbp_stat offset, duration;
    if (!(l->ev.has[i] & TBP_HAS_DEVICE_SPAN) ||
        !tbp_event_stat(l, i, TBP_STAT_DEVICE_OFFSET_PS, &offset) ||
        !tbp_event_stat(l, i, TBP_STAT_DEVICE_DURATION_PS, &duration))
        return false;
    *s = (struct span){tbp_stat_iu(&offset), tbp_stat_iu(&offset) + tbp_stat_iu(&duration)};
    return true;
}

static bool is_idle_time(const struct tbp_stat *st) {
    return tbp_str_is(st->meta->name, STEP_IDLE_TIME);
}

/* Idle time of the events from … to-1; where the first does not tell, it goes on from what was
 * before. */
static uint64_t sum_idle(const struct tbp_line *l, size_t from, size_t to, uint64_t before) {
    uint64_t total = before;
    for (size_t i = from; i < to; i++) {
        struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
        for (struct tbp_stat st; tbp_stat_next(&it, &st);)
            if (is_idle_time(&st)) {
                total = i == from ? tbp_stat_iu(&st) : total + tbp_stat_iu(&st);
                break;
            }
    }
    return total;
}

/* One step: the events from … to-1 of the line, all of one group. */
static void add_merged(struct tbp_line_builder *b, const struct tbp_line *l, size_t from, size_t to,
                       uint64_t idle_ps) {
    struct span hull = {l->ev.start_ps[from], tbp_event_end(l, to - 1)}, device, one;
    bool has_device = device_span(l, from, &device);
    for (size_t i = from + 1; has_device && i < to; i++) {
        if (!device_span(l, i, &one))
            one = (struct span){l->ev.start_ps[i], tbp_event_end(l, i)};
        device.start_ps = one.start_ps < device.start_ps ? one.start_ps : device.start_ps;
        device.end_ps = one.end_ps > device.end_ps ? one.end_ps : device.end_ps;
    }
    struct tbp_event_row *row =
        tbp_line_builder_event(b, hull.start_ps, hull.end_ps - hull.start_ps, l->ev.meta[from]);
    int32_t group = l->ev.group[from];
    uint8_t flags = l->ev.flags[from];
    bool has_idle = false;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, from);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (has_device && st.meta->key == TBP_STAT_DEVICE_OFFSET_PS)
            tbp_line_builder_stat_u64(b, (uint32_t)(st.meta - l->plane->stat_metas),
                                      device.start_ps);
        else if (has_device && st.meta->key == TBP_STAT_DEVICE_DURATION_PS)
            tbp_line_builder_stat_u64(b, (uint32_t)(st.meta - l->plane->stat_metas),
                                      device.end_ps - device.start_ps);
        else if (is_idle_time(&st) && !has_idle)
            tbp_line_builder_stat_i64(b, (uint32_t)(st.meta - l->plane->stat_metas),
                                      (int64_t)idle_ps);
        else
            tbp_line_builder_stat(b, &st);
        has_idle = has_idle || is_idle_time(&st);
    }
    if (!has_idle)
        tbp_line_builder_stat_i64(b, tbp_plane_ensure_stat(l->plane, tbp_str_c(STEP_IDLE_TIME)),
                                  (int64_t)idle_ps);
    row = &b->rows.at[b->rows.n - 1];
    row->group = group;
    row->has |= TBP_HAS_GROUP;
    row->flags |= flags | TBP_EVENT_GROUPED;
}

/* Runs of one group become one step; steps without a group go, unless none has one. */
static void merge_steps(struct tbp_line *steps) {
    struct tbp_line_builder b;
    tbp_line_builder_init(&b, steps->plane);
    size_t n_grouped = 0;
    uint64_t idle_ps = 0;
    for (size_t from = 0, to; from < steps->ev.n; from = to) {
        int64_t group, next;
        to = from + 1;
        if (!tbp_event_group(steps, from, &group)) {
            idle_ps = 0;
            continue;
        }
        while (to < steps->ev.n && tbp_event_group(steps, to, &next) && next == group)
            to++;
        idle_ps = sum_idle(steps, from, to, idle_ps);
        add_merged(&b, steps, from, to, idle_ps);
        n_grouped++;
    }
    if (n_grouped)
        tbp_line_builder_finish(&b, steps);
    tbp_line_builder_release(&b);
}

static void name_steps(struct tbp_line *steps) {
    struct tbp_str name;
    int64_t group;
    for (size_t i = 0; i < steps->ev.n; i++)
        if (tbp_event_group(steps, i, &group) &&
            tbp_host_group_name(steps->plane->host, group, &name))
            steps->ev.flags[i] |= TBP_EVENT_STEP_NAMED;
}

static bool overlaps(const struct tbp_line *a, size_t i, const struct tbp_line *b, size_t k) {
    return a->ev.start_ps[i] <= tbp_event_end(b, k) && b->ev.start_ps[k] <= tbp_event_end(a, i);
}

/* First step from `index` on that touches event i, or top->ev.n; *index moves over steps that
 * cannot matter again. */
static size_t step_over(const struct tbp_line *top, size_t *index, bool *has_index,
                        const struct tbp_line *l, size_t i) {
    if (*has_index && overlaps(top, *index, l, i))
        return *index;
    for (size_t k = *has_index ? *index + 1 : 0; k < top->ev.n; k++) {
        if (top->ev.start_ps[k] > tbp_event_end(l, i))
            break;
        if (tbp_event_end(top, k) < l->ev.start_ps[i])
            continue;
        *index = k;
        *has_index = true;
        return overlaps(top, k, l, i) ? k : top->ev.n;
    }
    return top->ev.n;
}

/* Groups of the steps below, which go to all that touches them, even to other modules: such a
 * module hands on its own group but shows that of the first one it touches. */
static void hand_down(struct tbp_line *top, struct tbp_line *l, bool is_top) {
    size_t index = 0, current = top->ev.n;
    bool has_index = false;
    int64_t group;
    for (size_t i = 0; i < l->ev.n; i++) {
        if (current == top->ev.n || !overlaps(top, current, l, i))
            current = step_over(top, &index, &has_index, l, i);
        if (current == top->ev.n || !tbp_event_group(top, current, &group))
            continue;
        if (l->ev.has[i] & TBP_HAS_GROUP) { /* a group of its own stands first on the event */
            if (is_top && (l->ev.flags[i] & TBP_EVENT_GROUPED))
                l->ev.group[i] = (int32_t)group;
            continue;
        }
        l->ev.group[i] = (int32_t)group;
        l->ev.has[i] |= TBP_HAS_GROUP;
        l->ev.flags[i] |= TBP_EVENT_GROUPED | TBP_EVENT_INHERITED;
        if (is_top)
            top->ev.group[i] = (int32_t)group;
    }
}

void tbp_regroup_tpu_plane(struct tbp_plane *p) {
    const struct tbp_line *top = tbp_tpu_grouping_line(p);
    struct tbp_line *steps = last_line(p, true);
    if (!top || !tbp_is_device_plane(p->name))
        return;
    if (steps) {
        merge_steps(steps);
        name_steps(steps);
    }
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    struct tbp_line own = *top; /* with the groups as they were */
    own.ev.group = TBP_NEW_N(&scratch, int32_t, top->ev.n);
    if (top->ev.n)
        memcpy(own.ev.group, top->ev.group, top->ev.n * sizeof *own.ev.group);
    for (size_t i = 0; i < p->n_lines; i++)
        if (&p->lines[i] != steps)
            hand_down(&own, &p->lines[i], &p->lines[i] == top);
    tbp_arena_release(&scratch);
}
