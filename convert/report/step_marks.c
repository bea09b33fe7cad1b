/* SPDX-License-Identifier: Apache-2.0
 *
 * Step markers by the stat step_num, signed or not, whatever the event is called.
 */
#include "convert/report/step_marks.h"

#include "base/sort.h"
#include "convert/model/stats.h"

struct collecting {
    struct tbp_step_marks *marks;
    struct tbp_idmap by_number;
};

static void add(struct collecting *c, const struct tbp_line *l, size_t i, int64_t number) {
    bool is_new;
    struct tbp_step_mark m = {.number = number,
                              .name = tbp_event_name(l, i),
                              .start_ps = l->ev.start_ps[i],
                              .end_ps = tbp_event_end(l, i),
                              .line = l};
    uint32_t *at = tbp_idmap_put(&c->by_number, (uint64_t)number, &is_new);
    if (m.end_ps < m.start_ps)
        return;
    if (is_new) {
        *at = (uint32_t)c->marks->list.n;
        *tbp_vec_push(&c->marks->list) = m;
    } else if (*at != TBP_MAP_NONE) {
        struct tbp_step_mark *known = &c->marks->list.at[*at];
        c->marks->n_again += m.start_ps >= known->end_ps || m.end_ps <= known->start_ps;
        if (m.end_ps - m.start_ps > known->end_ps - known->start_ps)
            *known = m;
    }
}

static void add_marked(struct collecting *c, const struct tbp_plane *p) {
    for (size_t k = 0; k < p->n_lines && tbp_plane_has_stat(p, TBP_STAT_STEP_NUM); k++) {
        const struct tbp_line *l = &p->lines[k];
        for (size_t i = 0; i < l->ev.n && !l->is_derived; i++) {
            struct tbp_stat st;
            if (l->ev.has[i] & TBP_HAS_STEP_NUM && tbp_event_stat(l, i, TBP_STAT_STEP_NUM, &st))
                add(c, l, i, (int64_t)tbp_stat_iu(&st));
        }
    }
}

static void add_device_steps(struct collecting *c, const struct tbp_plane *p) {
    for (size_t k = 0; k < p->n_lines; k++) {
        const struct tbp_line *l = &p->lines[k];
        for (size_t i = 0; i < l->ev.n && tbp_str_is(l->name, "Steps"); i++) {
            int64_t number;
            if (tbp_str_to_i64(tbp_event_name(l, i), &number))
                add(c, l, i, number);
        }
    }
}

static int by_start(const void *a, const void *b, void *ctx) {
    const struct tbp_step_mark *x = a, *y = b;
    (void)ctx;
    return (x->start_ps > y->start_ps) - (x->start_ps < y->start_ps);
}

void tbp_step_marks_collect(struct tbp_step_marks *m, const struct tbp_host *h) {
    struct collecting c = {.marks = m};
    for (size_t p = 0; p < h->n_planes; p++)
        if (tbp_is_host_plane(h->planes[p].name))
            add_marked(&c, &h->planes[p]);
    if (m->list.n == 0 && !h->has_given_steps) {
        for (size_t p = 0; p < h->n_planes; p++)
            if (tbp_is_device_plane(h->planes[p].name))
                add_device_steps(&c, &h->planes[p]);
        m->is_of_device = m->list.n > 0;
    }
    tbp_idmap_release(&c.by_number);
    tbp_sort(m->list.at, m->list.n, sizeof *m->list.at, by_start, NULL);
}

void tbp_step_marks_release(struct tbp_step_marks *m) {
    tbp_vec_release(&m->list);
}

size_t tbp_step_mark_at(const struct tbp_step_marks *m, uint64_t time_ps) {
    size_t n = tbp_vec_count_up_to(&m->list, struct tbp_step_mark, start_ps, time_ps);
    return n && time_ps < m->list.at[n - 1].end_ps ? n - 1 : SIZE_MAX;
}
