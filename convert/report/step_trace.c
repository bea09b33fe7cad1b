/* SPDX-License-Identifier: Apache-2.0
 *
 * Step trace of a host: markers, then one pass over host lines, one over device lines. Definitions:
 * forward begins with the first op of the marker's thread that loads no data (or at the user's fp
 * point) and ends where the backward pass begins; without gradients both are unknown.
 */
#include "convert/report/step_trace.h"

#include "convert/report/collective_names.h"
#include "convert/report/device_work.h"
#include "convert/report/event_role.h"
#include "convert/report/event_texts.h"
#include "convert/report/step_parts.h"

struct step_scratch {
    uint64_t first_op_ps, fp_ps, backward_ps, backward_end_ps, bp_end_ps;
    struct tbp_intervals busy, compute, collective;
};

struct trace_pass {
    const struct tbp_host *host;
    const char *fp_point, *bp_point;
    struct tbp_step_marks marks;
    struct step_scratch *steps;
    struct tbp_launches launches;
    struct tbp_intervals input, update, launch, collective; /* of the host */
    struct tbp_event_texts texts;
    struct tbp_step_trace *out;
};

static unsigned bits_of(struct trace_pass *p, const struct tbp_meta *m) {
    unsigned bits = tbp_step_parts_of(m->name);
    if (p->fp_point && tbp_str_is(m->name, p->fp_point))
        bits |= TBP_IS_FP_POINT;
    if (p->bp_point && tbp_str_is(m->name, p->bp_point))
        bits |= TBP_IS_BP_POINT;
    p->out->has_fp_point |= bits & TBP_IS_FP_POINT;
    p->out->has_bp_point |= bits & TBP_IS_BP_POINT;
    return bits;
}

static void at_most(uint64_t *to, uint64_t v) {
    *to = v < *to ? v : *to;
}

static void at_least(uint64_t *to, uint64_t v) {
    *to = v > *to ? v : *to;
}

/* ---- host ---- */

static void note_points(struct trace_pass *p, const struct tbp_line *l, size_t i, unsigned bits) {
    uint64_t start_ps = l->ev.start_ps[i], end_ps = tbp_event_end(l, i);
    size_t k = tbp_step_mark_at(&p->marks, start_ps);
    if (k == SIZE_MAX)
        return;
    const struct tbp_step_mark *mark = &p->marks.list.at[k];
    struct step_scratch *s = &p->steps[k];
    bool is_marker = start_ps == mark->start_ps && end_ps == mark->end_ps;
    if (is_marker || end_ps > mark->end_ps) /* what goes on beyond the step says nothing about it */
        return;
    if (l == mark->line && !(bits & TBP_IS_INPUT))
        at_most(&s->first_op_ps, start_ps);
    if (bits & TBP_IS_FP_POINT)
        at_most(&s->fp_ps, start_ps);
    if (bits & TBP_IS_BP_POINT)
        at_least(&s->bp_end_ps, end_ps);
    if (bits & TBP_IS_BACKWARD) {
        at_most(&s->backward_ps, start_ps);
        at_least(&s->backward_end_ps, end_ps);
    }
}

static void note_parts(struct trace_pass *p, uint64_t start_ps, uint64_t end_ps, unsigned bits) {
    if (bits & TBP_IS_INPUT)
        tbp_intervals_add(&p->input, start_ps, end_ps);
    if (bits & TBP_IS_UPDATE)
        tbp_intervals_add(&p->update, start_ps, end_ps);
    if (bits & TBP_IS_LAUNCH)
        tbp_intervals_add(&p->launch, start_ps, end_ps);
    if (bits & TBP_IS_COLLECTIVE)
        tbp_intervals_add(&p->collective, start_ps, end_ps);
}

static void walk_host_line(struct trace_pass *p, const struct tbp_line *l, const uint8_t *bits) {
    tbp_event_texts_init(&p->texts, l, NULL);
    for (size_t i = 0; i < l->ev.n; i++) {
        unsigned b = bits[l->ev.meta[i]];
        bool is_main = p->marks.list.n && l == p->marks.list.at[0].line;
        if ((!b && !is_main) || l->ev.dur_ps[i] == 0 || l->ev.flags[i] & TBP_EVENT_MADE)
            continue;
        struct tbp_str category, detail;
        tbp_event_texts_get(&p->texts, i, &category, &detail);
        if (tbp_event_role_of(category) == TBP_ROLE_ASIDE && !(l->ev.has[i] & TBP_HAS_TF_OP))
            continue;
        note_parts(p, l->ev.start_ps[i], tbp_event_end(l, i), b);
        note_points(p, l, i, b);
    }
}

static void walk_host(struct trace_pass *p) {
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    for (size_t k = 0; k < p->host->n_planes; k++) {
        const struct tbp_plane *plane = &p->host->planes[k];
        if (!tbp_is_host_plane(plane->name))
            continue;
        uint8_t *bits = TBP_NEW_N(&scratch, uint8_t, plane->n_metas + 1);
        for (size_t m = 0; m < plane->n_metas; m++)
            bits[m] = (uint8_t)bits_of(p, &plane->metas[m]);
        for (size_t j = 0; j < plane->n_lines; j++)
            if (!plane->lines[j].is_derived)
                walk_host_line(p, &plane->lines[j], bits);
    }
    tbp_arena_release(&scratch);
}

/* ---- devices ---- */

static void add_work(struct trace_pass *p, const struct tbp_line *l, size_t i, bool is_collective) {
    const struct tbp_launch *launch = tbp_launch_of(&p->launches, l, i);
    uint64_t start_ps = l->ev.start_ps[i], end_ps = tbp_event_end(l, i);
    bool is_known = launch && launch->has_call && !p->marks.is_of_device;
    size_t k = tbp_step_mark_at(&p->marks, is_known ? launch->start_ps : start_ps);
    p->out->has_device = true;
    if (k == SIZE_MAX) {
        p->out->outside.n_works++;
        p->out->outside.work_ps += l->ev.dur_ps[i];
        return;
    }
    struct step_scratch *s = &p->steps[k];
    p->out->list.at[p->out->list.n - p->marks.list.n + k].n_works++;
    tbp_intervals_add(&s->busy, start_ps, end_ps);
    tbp_intervals_add(is_collective ? &s->collective : &s->compute, start_ps, end_ps);
}

static void walk_devices(struct trace_pass *p) {
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    tbp_launches_add_work(&p->launches, p->host);
    tbp_launches_add_calls(&p->launches, p->host);
    for (size_t k = 0; k < p->host->n_planes; k++) {
        const struct tbp_plane *plane = &p->host->planes[k];
        if (!tbp_is_device_plane(plane->name))
            continue;
        uint8_t *is_collective = TBP_NEW_N(&scratch, uint8_t, plane->n_metas + 1);
        for (size_t m = 0; m < plane->n_metas; m++)
            is_collective[m] = tbp_is_collective(plane->metas[m].name);
        for (size_t j = 0; j < plane->n_lines; j++) {
            const struct tbp_line *l = &plane->lines[j];
            for (size_t i = 0, n = tbp_work_events(l); i < n; i++)
                add_work(p, l, i, is_collective[l->ev.meta[i]]);
        }
    }
    tbp_arena_release(&scratch);
}

/* ---- steps ---- */

static int64_t between(uint64_t from_ps, uint64_t to_ps) {
    return from_ps == UINT64_MAX || to_ps == 0 || to_ps < from_ps ? TBP_UNKNOWN_PS
                                                                  : (int64_t)(to_ps - from_ps);
}

static void fill_passes(struct tbp_step_times *t, const struct step_scratch *s, uint64_t end_ps) {
    uint64_t begin_ps = s->fp_ps != UINT64_MAX ? s->fp_ps : s->first_op_ps;
    uint64_t last_ps = s->bp_end_ps ? s->bp_end_ps : s->backward_end_ps;
    t->forward_ps =
        s->backward_ps == UINT64_MAX ? TBP_UNKNOWN_PS : between(begin_ps, s->backward_ps);
    t->backward_ps = between(s->backward_ps, last_ps);
    t->tail_ps = last_ps ? between(last_ps, end_ps) : TBP_UNKNOWN_PS;
}

static void fill_device(struct tbp_step_times *t, struct step_scratch *s) {
    struct tbp_interval extent = {0, 0};
    tbp_intervals_close(&s->busy);
    tbp_intervals_close(&s->compute);
    tbp_intervals_close(&s->collective);
    t->device_ps = tbp_intervals_extent(&s->busy, 0, UINT64_MAX, &extent)
                       ? (int64_t)(extent.end_ps - extent.start_ps)
                       : 0;
    t->busy_ps = (int64_t)tbp_intervals_total(&s->busy);
    t->all_reduce_ps = (int64_t)tbp_intervals_total(&s->collective);
    t->exposed_ps = t->busy_ps - (int64_t)tbp_intervals_total(&s->compute);
}

/* Where nothing in the profile is called so, nobody knows whether it was. */
static int64_t part_within(const struct tbp_intervals *v, const struct tbp_step_mark *m) {
    return v->list.n ? (int64_t)tbp_intervals_within(v, m->start_ps, m->end_ps) : TBP_UNKNOWN_PS;
}

static void fill(struct trace_pass *p, size_t k, struct tbp_step_times *t) {
    const struct tbp_step_mark *m = &p->marks.list.at[k];
    struct step_scratch *s = &p->steps[k];
    bool has_next = k + 1 < p->marks.list.n;
    uint64_t next_ps = has_next ? p->marks.list.at[k + 1].start_ps : 0;
    t->period_ps = has_next ? (int64_t)(next_ps - m->start_ps) : TBP_UNKNOWN_PS;
    t->gap_ps = !has_next             ? TBP_UNKNOWN_PS
                : next_ps > m->end_ps ? (int64_t)(next_ps - m->end_ps)
                                      : 0;
    t->input_ps = part_within(&p->input, m);
    t->update_ps = part_within(&p->update, m);
    t->launch_ps = part_within(&p->launch, m);
    fill_passes(t, s, m->end_ps);
    t->device_ps = t->busy_ps = t->exposed_ps = TBP_UNKNOWN_PS;
    t->all_reduce_ps = part_within(&p->collective, m);
    if (p->out->has_device)
        fill_device(t, s);
    tbp_intervals_release(&s->busy);
    tbp_intervals_release(&s->compute);
    tbp_intervals_release(&s->collective);
}

static void add_steps(struct trace_pass *p, struct tbp_str host) {
    for (size_t k = 0; k < p->marks.list.n; k++) {
        const struct tbp_step_mark *m = &p->marks.list.at[k];
        p->steps[k].first_op_ps = p->steps[k].fp_ps = p->steps[k].backward_ps = UINT64_MAX;
        *tbp_vec_push(&p->out->list) =
            (struct tbp_step_times){.number = m->number,
                                    .name = m->name,
                                    .host = host,
                                    .start_ps = m->start_ps,
                                    .marker_ps = (int64_t)(m->end_ps - m->start_ps)};
    }
}

static void release(struct trace_pass *p) {
    tbp_step_marks_release(&p->marks);
    tbp_launches_release(&p->launches);
    tbp_intervals_release(&p->input);
    tbp_intervals_release(&p->update);
    tbp_intervals_release(&p->launch);
    tbp_intervals_release(&p->collective);
}

void tbp_step_trace_add(struct tbp_step_trace *t, const struct tbp_host *h, struct tbp_str host,
                        const char *fp_point, const char *bp_point) {
    struct trace_pass p = {.host = h, .fp_point = fp_point, .bp_point = bp_point, .out = t};
    struct tbp_arena arena;
    tbp_arena_init(&arena);
    tbp_step_marks_collect(&p.marks, h);
    p.steps = TBP_NEW_N(&arena, struct step_scratch, p.marks.list.n + 1);
    t->is_of_device |= p.marks.is_of_device;
    add_steps(&p, host);
    walk_host(&p);
    walk_devices(&p);
    tbp_intervals_close(&p.input);
    tbp_intervals_close(&p.update);
    tbp_intervals_close(&p.launch);
    tbp_intervals_close(&p.collective);
    t->outside.input_ps += tbp_intervals_total(&p.input);
    for (size_t k = 0; k < p.marks.list.n; k++) {
        struct tbp_step_times *step = &t->list.at[t->list.n - p.marks.list.n + k];
        fill(&p, k, step);
        t->outside.input_ps -= step->input_ps > 0 ? (uint64_t)step->input_ps : 0;
    }
    release(&p);
    tbp_arena_release(&arena);
}

void tbp_step_trace_release(struct tbp_step_trace *t) {
    tbp_vec_release(&t->list);
}
