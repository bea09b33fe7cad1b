/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that pages are to show although nothing is known of what was done in them; see
 * trace_build.h.
 */
#include "base/sort.h"
#include "convert/read/trace_build.h"

void tbp_trace_device_step(struct tbp_trace *t, const struct tbp_trace_event *e) {
    struct tbp_trace_event step = *e;
    step.flags = 0;
    step.link = 0;
    tbp_trace_add(t, &step);
    if (e->track != TBP_NO_TRACK)
        *tbp_vec_push(&t->shown_steps) = (struct tbp_trace_shown_step){
            e->start_ns, e->start_ns + (int64_t)(e->dur_ps / 1000), e->track, false};
}

void tbp_trace_show_step(struct tbp_trace *t, const struct tbp_trace_row *row) {
    *tbp_vec_push(&t->shown_steps) = (struct tbp_trace_shown_step){
        row->start_ns, row->start_ns + (int64_t)(row->dur_ps / 1000), row->track, false};
}

static uint32_t plane_of(const struct tbp_trace *t, uint32_t track) {
    return t->tracks.at[track].plane;
}

static int by_plane_and_start(const void *a, const void *b, void *ctx) {
    const struct tbp_trace_shown_step *x = a, *y = b;
    uint32_t p = plane_of(ctx, x->track), q = plane_of(ctx, y->track);
    if (p != q)
        return p < q ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

/* The last step of the plane that begins by then, if it still runs. */
static void note_work(struct tbp_trace *t, uint32_t plane, int64_t ns) {
    size_t from = 0, to = t->shown_steps.n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        const struct tbp_trace_shown_step *s = &t->shown_steps.at[mid];
        uint32_t of = plane_of(t, s->track);
        if (of < plane || (of == plane && s->start_ns <= ns))
            from = mid + 1;
        else
            to = mid;
    }
    struct tbp_trace_shown_step *s = from ? &t->shown_steps.at[from - 1] : NULL;
    if (s && plane_of(t, s->track) == plane && ns < s->end_ns)
        s->has_work = true;
}

static bool is_work(const struct tbp_trace *t, const struct tbp_trace_row *row) {
    if (row->flags & TBP_TRACE_DEVICE)
        return true;
    return tbp_is_host_plane(t->planes.at[plane_of(t, row->track)].name) &&
           !(row->flags & (TBP_TRACE_STEP | TBP_TRACE_MEMORY));
}

void tbp_trace_anchor(struct tbp_trace *t) {
    enum { NS_PS = 1000 };
    tbp_sort(t->shown_steps.at, t->shown_steps.n, sizeof *t->shown_steps.at, by_plane_and_start, t);
    for (size_t i = 0; i < t->rows.n && t->shown_steps.n; i++)
        if (is_work(t, &t->rows.at[i]))
            note_work(t, plane_of(t, t->rows.at[i].track), t->rows.at[i].start_ns);
    for (size_t i = 0; i < t->shown_steps.n; i++) {
        const struct tbp_trace_shown_step *s = &t->shown_steps.at[i];
        bool is_of_host = tbp_is_host_plane(t->planes.at[plane_of(t, s->track)].name);
        if (!s->has_work)
            tbp_trace_add(t, &(struct tbp_trace_event){
                                 .track = s->track,
                                 .name = tbp_trace_text(t, TBP_STR("step without known work")),
                                 .start_ns = s->start_ns,
                                 .dur_ps = NS_PS,
                                 .flags = is_of_host ? 0 : TBP_TRACE_DEVICE});
    }
}
