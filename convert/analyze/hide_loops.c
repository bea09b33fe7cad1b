/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterations read as none; see hide_loops.h.
 */
#include "convert/analyze/hide_loops.h"

#include "convert/model/builder.h"

static uint64_t iterations_of(const struct tbp_line *l) {
    uint64_t n = 0;
    struct tbp_stat st;
    for (size_t i = 0; i < l->ev.n; i++)
        n += (l->ev.has[i] & TBP_HAS_ITER_NUM) && tbp_event_stat(l, i, TBP_STAT_ITER_NUM, &st) &&
             tbp_stat_i(&st) != 0;
    return n;
}

static void copy_event(struct tbp_line_builder *b, const struct tbp_line *l, size_t i,
                       uint32_t former) {
    struct tbp_event_row *row =
        tbp_line_builder_event(b, l->ev.start_ps[i], l->ev.dur_ps[i], l->ev.meta[i]);
    row->flags = l->ev.flags[i];
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (st.meta->key != TBP_STAT_ITER_NUM || tbp_stat_i(&st) == 0) {
            tbp_line_builder_stat(b, &st);
            continue;
        }
        tbp_line_builder_stat_i64(b, (uint32_t)(st.meta - l->plane->stat_metas), 0);
        tbp_line_builder_stat_i64(b, former, tbp_stat_i(&st));
    }
}

static void hide_in_line(struct tbp_line *l) {
    uint32_t former = tbp_plane_ensure_stat(l->plane, TBP_STR("former iter_num"));
    struct tbp_line_builder b;
    tbp_line_builder_init(&b, l->plane);
    b.keeps_bytes = true;
    for (size_t i = 0; i < l->ev.n; i++)
        copy_event(&b, l, i, former);
    tbp_line_builder_finish(&b, l);
    l->is_rebuilt = true;
}

void tbp_hide_loops(struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++) {
        struct tbp_plane *plane = &h->planes[p];
        for (size_t k = 0; k < plane->n_lines && tbp_is_host_plane(plane->name); k++) {
            uint64_t n = iterations_of(&plane->lines[k]);
            if (n)
                hide_in_line(&plane->lines[k]);
            tbp_ledger_count(&h->ledger, TBP_LEDGER_REPAIR_LOOPS, n, TBP_NO_OFFSET);
        }
    }
}
