/* SPDX-License-Identifier: Apache-2.0
 *
 * Threadpool regions: pairs of StartRegion and StopRegion instants become one enclosing event, so
 * that work handed to a pool nests below it. A start counts only with a consumer id; a stop does
 * not end the search. The made event has no stats. Source: ../shared/spec/pages/RULES.md 2.3.
 */
#include "base/sort.h"
#include "convert/analyze/group_lines.h"
#include "convert/model/builder.h"
#include "convert/model/stats.h"

struct region {
    uint64_t start_ps, dur_ps;
};

static bool has_kind(const struct tbp_plane *p, enum tbp_event_kind kind) {
    for (size_t i = 1; i < p->n_metas; i++)
        if (p->metas[i].kind == kind)
            return true;
    return false;
}

static struct tbp_event_row row_of(const struct tbp_events *ev, size_t i) {
    return (struct tbp_event_row){ev->start_ps[i], ev->dur_ps[i], tbp_event_body(ev, i),
                                  ev->meta[i],     ev->has[i],    ev->group[i],
                                  ev->flags[i]};
}

static int longer_first(const void *a, const void *b, void *ctx) {
    const struct tbp_event_row *x = a, *y = b;
    (void)ctx;
    if (x->start_ps != y->start_ps)
        return x->start_ps < y->start_ps ? -1 : 1;
    return (x->dur_ps < y->dur_ps) - (x->dur_ps > y->dur_ps);
}

static void store(struct tbp_line *l, const struct tbp_event_row *rows, size_t n) {
    tbp_events_alloc(l->plane->host, &l->ev, n);
    tbp_events_reach(l->plane->host, &l->ev, l->base_size);
    for (size_t i = 0; i < n; i++)
        tbp_events_store(&l->ev, i, &rows[i]);
}

static void add_to_line(struct tbp_line *l, const struct region *regions, size_t n, uint32_t meta) {
    TBP_VEC(struct tbp_event_row) rows = {0};
    tbp_vec_reserve(&rows, l->ev.n + n);
    for (size_t i = 0; i < l->ev.n; i++)
        *tbp_vec_push(&rows) = row_of(&l->ev, i);
    for (size_t i = 0; i < n; i++)
        *tbp_vec_push(&rows) = (struct tbp_event_row){
            regions[i].start_ps, regions[i].dur_ps, TBP_NO_BODY, meta, 0, 0, TBP_EVENT_MADE};
    tbp_sort(rows.at, rows.n, sizeof *rows.at, longer_first, NULL);
    store(l, rows.at, rows.n);
    tbp_vec_release(&rows);
}

void tbp_add_threadpool_regions(struct tbp_plane *p) {
    if (!has_kind(p, TBP_EVENT_THREADPOOL_START) || !has_kind(p, TBP_EVENT_THREADPOOL_STOP))
        return;
    uint32_t meta = tbp_plane_ensure_meta(p, tbp_event_kind_text(TBP_EVENT_THREADPOOL_REGION));
    for (size_t k = 0; k < p->n_lines; k++) {
        struct tbp_line *l = &p->lines[k];
        TBP_VEC(struct region) regions = {0};
        uint64_t armed_ps = 0;
        struct tbp_stat st;
        for (size_t i = 0; i < l->ev.n; i++) {
            enum tbp_event_kind kind = tbp_event_kind_at(l, i);
            if (kind == TBP_EVENT_THREADPOOL_START &&
                tbp_event_stat(l, i, TBP_STAT_CONSUMER_ID, &st))
                armed_ps = l->ev.start_ps[i];
            else if (kind == TBP_EVENT_THREADPOOL_STOP && armed_ps != 0)
                *tbp_vec_push(&regions) = (struct region){armed_ps, l->ev.start_ps[i] - armed_ps};
        }
        if (regions.n)
            add_to_line(l, regions.at, regions.n, meta);
        tbp_vec_release(&regions);
    }
}
