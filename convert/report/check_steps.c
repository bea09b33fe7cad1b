/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about steps of one host, and the facts by which hosts are compared later.
 */
#include "base/sort.h"
#include "convert/report/device_work.h"
#include "convert/report/findings.h"
#include "convert/report/step_marks.h"

/* Marks the steps that have device work; returns how much work there is at all. */
static uint64_t mark_busy_steps(const struct tbp_host *h, const struct tbp_step_marks *marks,
                                uint8_t *is_busy) {
    struct tbp_launches launches = {0};
    uint64_t n = 0;
    tbp_launches_add_work(&launches, h);
    tbp_launches_add_calls(&launches, h);
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            for (size_t i = 0, end = tbp_work_events(l); i < end; i++, n++) {
                size_t step = tbp_step_mark_at(marks, tbp_work_asked_at(&launches, l, i));
                if (step != SIZE_MAX)
                    is_busy[step] = 1;
            }
        }
    }
    tbp_launches_release(&launches);
    return n;
}

static void check_coverage(struct tbp_findings *f, const struct tbp_host *h,
                           const struct tbp_step_marks *marks) {
    uint64_t idle = 0;
    uint8_t *is_busy = TBP_NEW_N(&f->arena, uint8_t, marks->list.n + 1);
    if (mark_busy_steps(h, marks, is_busy) == 0)
        return;
    for (size_t i = 0; i < marks->list.n; i++)
        idle += !is_busy[i];
    tbp_finding_add(
        f, &(struct tbp_finding){
               .key = "steps_without_device_work",
               .host = h->name,
               .is_serious = idle * 10 > marks->list.n,
               .spoils = TBP_SPOILS_STEPS | TBP_SPOILS_DEVICE,
               .count = idle,
               .of = marks->list.n,
               .text = tbp_arena_printf(&f->arena, "%llu of %zu steps have no work of a device",
                                        (unsigned long long)idle, marks->list.n),
               .advice = "averages over all steps are too small: look at the steps that have some, "
                         "or record again with larger buffers"});
}

static int by_number(const void *a, const void *b, void *ctx) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    (void)ctx;
    return (x > y) - (x < y);
}

static void take_facts(struct tbp_findings *f, const struct tbp_host *h,
                       const struct tbp_step_marks *marks, struct tbp_host_facts *facts) {
    int64_t *steps = TBP_NEW_N(&f->arena, int64_t, marks->list.n + 1);
    uint64_t first_ps = UINT64_MAX, last_ps = 0;
    facts->rank = tbp_host_rank(h, NULL);
    facts->world_size = -1;
    for (size_t i = 0; i < marks->list.n; i++)
        steps[i] = marks->list.at[i].number;
    tbp_sort(steps, marks->list.n, sizeof *steps, by_number, NULL);
    facts->steps = steps;
    facts->n_steps = marks->list.n;
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        struct tbp_stat st;
        if (tbp_plane_stat_named(plane, "profile_start_time", &st))
            facts->start_ns = tbp_stat_iu(&st);
        if (tbp_plane_stat_named(plane, "distributed_world_size", &st))
            facts->world_size = (int64_t)tbp_stat_iu(&st);
        for (size_t k = 0; k < plane->n_lines; k++) {
            const struct tbp_line *l = &plane->lines[k];
            for (size_t i = 0; i < l->ev.n; i++) {
                uint64_t end_ps = tbp_event_end(l, i);
                first_ps = l->ev.start_ps[i] < first_ps ? l->ev.start_ps[i] : first_ps;
                last_ps = end_ps > last_ps ? end_ps : last_ps;
            }
        }
    }
    facts->window_ps = last_ps > first_ps ? last_ps - first_ps : 0;
}

static const char *why_unknown(const struct tbp_host *h) {
    return h->wants_no_steps    ? "there are no steps, because --steps none asks for that"
           : h->has_given_steps ? "what --steps asks for is not in the profile: no steps"
                                : "nothing in the profile says where a step begins and ends";
}

void tbp_check_steps(struct tbp_findings *f, const struct tbp_host *h,
                     struct tbp_host_facts *facts) {
    struct tbp_step_marks marks = {0};
    tbp_step_marks_collect(&marks, h);
    tbp_finding_add(
        f, &(struct tbp_finding){
               .key = "steps_unknown",
               .host = h->name,
               .spoils = TBP_SPOILS_STEPS,
               .count = marks.list.n == 0,
               .text = why_unknown(h),
               .advice = h->wants_no_steps
                             ? "times per step are unknown, times per op are not"
                             : "times per step are unknown, times per op are not; mark steps "
                               "in the program (docs/recording.md), or say with --steps what "
                               "a step is"});
    tbp_finding_add(
        f,
        &(struct tbp_finding){
            .key = "steps_again",
            .host = h->name,
            .spoils = TBP_SPOILS_STEPS,
            .count = marks.n_again,
            .of = marks.list.n + marks.n_again,
            .text = tbp_arena_printf(
                &f->arena, "%llu step marker%s the number of another one at another time",
                (unsigned long long)marks.n_again, marks.n_again == 1 ? " has" : "s have"),
            .advice = "of each number the longest counts; let the program count its steps on, or "
                      "profile its runs apart"});
    check_coverage(f, h, &marks);
    take_facts(f, h, &marks, facts);
    tbp_step_marks_release(&marks);
}
