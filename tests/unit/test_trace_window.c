/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows and searches of random hosts against the rules taken word for word: every event looked
 * at, one by one, with nothing sorted or skipped beforehand.
 */
#include "convert/analyze/trace_tables.h"
#include "convert/analyze/trace_window.h"
#include "tests/support/tiny_run.h"

#include <criterion/criterion.h>

enum { LINES = 4, EVENTS = 700, FLOWS = 8, THIN_FROM = 500000, NAMES = 5 };
static const char *const event_names[NAMES] = {"Mat", "MatMul", "MatMul2", "Add", "matmul"};

struct random {
    uint64_t state;
};

static uint64_t next(struct random *r) {
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return r->state >> 33;
}

/* Times in every order of size, so that all levels have events. */
static int64_t any_time(struct random *r) {
    int64_t limit = 10;
    for (uint64_t digits = next(r) % 13; digits > 0; digits--)
        limit *= 10;
    return (int64_t)(next(r) << 20 ^ next(r)) % limit;
}

static void random_host(struct tiny_host *h, struct random *r, bool flows) {
    tiny_plane(h, "/host:CPU");
    for (int l = 0; l < LINES; l++) {
        int64_t at = 0;
        tiny_line(h, l + 1);
        for (int i = 0; i < EVENTS; i++) {
            at += any_time(r) / 20;
            if (next(r) % 50 == 0)
                at /= 2; /* not in order */
            tiny_event(h, event_names[next(r) % NAMES], at, any_time(r) / 10);
            if (flows && l < 2 && next(r) % 3 == 0)
                tiny_stat_u64(h, "flow", (next(r) % FLOWS) << 2 | next(r) % 4);
        }
    }
}

/* ---- the rules, word for word ---- */

struct item {
    uint32_t track, at;
    uint64_t begin, end, dur, flow;
};

struct plain_row {
    uint64_t ends[EVENTS];
    size_t n;
    bool has_flow;
    uint64_t flow_end;
};

struct plain {
    struct plain_row rows[LINES];
    bool known[FLOWS], visible[FLOWS];
};

static bool is_before(const struct item *a, const struct item *b) {
    if (a->begin != b->begin)
        return a->begin < b->begin;
    if (a->dur != b->dur)
        return a->dur > b->dur;
    return a->track != b->track ? a->track < b->track : a->at < b->at;
}

static bool decide(struct plain *p, const struct item *e, uint64_t r) {
    struct plain_row *row = &p->rows[e->track];
    size_t d = 0;
    while (d < row->n && row->ends[d] > e->begin)
        d++;
    bool v = e->dur >= r || d == row->n || e->begin - row->ends[d] >= r;
    if (e->flow != TBP_NO_FLOW) {
        uint64_t id = tbp_flow_id(e->flow);
        bool fresh = !p->known[id];
        p->known[id] = true;
        if (fresh)
            p->visible[id] = v;
        if (!v) {
            if (fresh)
                p->visible[id] = !row->has_flow || e->end - row->flow_end >= r;
            v = p->visible[id];
        }
        if (tbp_flow_direction(e->flow) == TBP_FLOW_END)
            p->known[id] = false;
        if (v) {
            row->has_flow = true;
            row->flow_end = e->end;
        }
    }
    if (v) {
        row->n = d;
        row->ends[row->n++] = e->end;
    }
    return v;
}

static bool is_read(uint64_t begin, uint64_t r, const struct item *e, unsigned level) {
    uint64_t coarser = level ? tbp_level_resolution(level - 1) : 0;
    if (level == 0)
        return true;
    for (unsigned k = 0; k < level; k++)
        if (tbp_level_resolution(k) <= r)
            return false; /* reading stopped there */
    return begin < coarser || e->begin >= begin - coarser;
}

struct expected {
    struct item items[LINES * EVENTS];
    size_t n;
};

static void read_all(const struct tbp_trace_levels *l, uint64_t begin, uint64_t end, uint64_t r,
                     struct expected *out) {
    const struct tbp_trace_index *x = l->index;
    out->n = 0;
    for (uint32_t k = 0; k < x->n_tracks; k++)
        for (uint32_t i = 0; i < x->tracks[k].n; i++) {
            struct tbp_track_ref ref = tbp_track_at(&x->tracks[k], i);
            struct item e = {k, i, tbp_index_begin(x, ref), 0, tbp_index_dur(x, ref), 0};
            e.end = e.begin + e.dur;
            e.flow = tbp_index_flow(x, ref);
            if (e.begin <= end && e.end >= begin && is_read(begin, r, &e, l->of_track[k][i]))
                out->items[out->n++] = e;
        }
}

static void thin(struct expected *all, uint64_t r) {
    struct plain p = {0};
    size_t kept = 0;
    for (size_t i = 1; i < all->n; i++) /* by insertion */
        for (size_t k = i; k > 0 && is_before(&all->items[k], &all->items[k - 1]); k--) {
            struct item swap = all->items[k];
            all->items[k] = all->items[k - 1];
            all->items[k - 1] = swap;
        }
    for (size_t i = 0; i < all->n; i++)
        if (decide(&p, &all->items[i], r))
            all->items[kept++] = all->items[i];
    all->n = kept;
}

static void expect_same(const struct expected *want, const struct tbp_trace_picks *got) {
    cr_assert_eq(got->n, want->n, "%zu instead of %zu", got->n, want->n);
    size_t seen[LINES] = {0};
    bool by_track = true;
    for (uint32_t k = 0; k < LINES; k++)
        for (size_t i = 0; i < want->n; i++)
            if (want->items[i].track == k)
                by_track &= got->tracks[k].at[seen[k]++] == want->items[i].at;
    cr_assert(by_track);
}

static void compare_windows(struct random *r, struct tbp_session *s, bool thins) {
    const struct tbp_trace_levels *l = tbp_trace_levels(s, 0, NULL);
    struct tbp_trace_index x = *l->index;
    struct tbp_trace_levels large = {&x, l->of_track};
    const struct tbp_level_lists *lists = tbp_level_lists(s, 0, NULL);
    static struct expected want;
    if (thins)
        x.n_events = THIN_FROM; /* small hosts are shown in full otherwise */
    for (int i = 0; i < 60; i++) {
        struct tbp_arena arena;
        tbp_arena_init(&arena);
        uint64_t begin = x.low_ps + (i % 4 > 0) + /* the first kind begins with the trace */
                         (i % 4 ? (uint64_t)any_time(r) % (x.high_ps - x.low_ps) : 0);
        uint64_t end = begin + 1000 + (uint64_t)any_time(r);
        end = end > x.high_ps ? x.high_ps : end;
        struct tbp_trace_window w = {(double)begin / 1e9, (double)end / 1e9, thins ? 50 : 0, false};
        begin = (uint64_t)(w.start_ms * 1e9); /* what is left of it as milliseconds */
        end = (uint64_t)(w.end_ms * 1e9);
        if (end <= begin)
            continue;
        uint64_t resolution = thins ? (uint64_t)((double)(end - begin) / 50 + 0.5) : 0;
        struct tbp_trace_picks got;
        cr_assert_eq(tbp_trace_pick_window(&x, &large, lists, &w, NULL, &arena, &got, NULL),
                     TBP_OK);
        read_all(&large, begin, end, resolution, &want);
        if (resolution)
            thin(&want, resolution);
        expect_same(&want, &got);
        tbp_arena_release(&arena);
    }
}

Test(trace_window, shows_what_the_rules_show_on_random_hosts) {
    struct random r = {1};
    for (int i = 0; i < 12; i++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        random_host(&h, &r, i % 2);
        struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_REPAIR);
        compare_windows(&r, s, false);
        compare_windows(&r, s, true);
        tiny_close(&run);
    }
}

Test(trace_window, searches_find_every_name_that_starts_so) {
    static const char *const prefixes[] = {"M", "Mat", "MatMul", "MatMul22", "m", "A", "Z"};
    struct random r = {2};
    struct tiny_host h = {0};
    struct tiny_run run;
    random_host(&h, &r, false);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_REPAIR);
    const struct tbp_trace_levels *l = tbp_trace_levels(s, 0, NULL);
    for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++) {
        struct tbp_arena arena;
        struct tbp_trace_picks got;
        tbp_arena_init(&arena);
        struct tbp_str prefix = tbp_str_c(prefixes[p]);
        tbp_trace_pick_prefix(l, tbp_trace_names(s, 0, NULL), prefix, &arena, &got);
        for (size_t k = 0; k < l->index->n_tracks; k++) {
            const struct tbp_track *t = &l->index->tracks[k];
            size_t n = 0;
            for (unsigned level = 0; level < TBP_TRACE_LEVELS; level++)
                for (uint32_t i = 0; i < t->n; i++) {
                    struct tbp_track_ref ref = tbp_track_at(t, i);
                    struct tbp_str name =
                        tbp_trace_event_name(l->index->lines[ref.line], ref.event);
                    if (l->of_track[k][i] == level && tbp_str_starts(name, prefixes[p]))
                        cr_assert(n < got.tracks[k].n && got.tracks[k].at[n++] == i);
                }
            cr_assert_eq(n, got.tracks[k].n);
        }
        tbp_arena_release(&arena);
    }
    tiny_close(&run);
}

Test(trace_window, what_does_not_fit_officially_is_counted_there_only) {
    enum { MANY = 300, OFFICIALLY = 256 };
    for (int repairs = 0; repairs < 2; repairs++) {
        struct tiny_host h = {0};
        struct tiny_run run;
        tiny_plane(&h, "/host:CPU");
        tiny_line(&h, 1);
        for (int i = 0; i < MANY; i++)
            tiny_event(&h, "tiny", 1000, 1);
        struct tbp_session *s =
            tiny_open(&run, &h, 1, repairs ? TBP_SEMANTICS_REPAIR : TBP_SEMANTICS_OFFICIAL);
        cr_assert_eq(tbp_session_count_all(s, 0, NULL), TBP_OK);
        const struct tbp_ledger *l = &tbp_session_host(s, 0, NULL)->ledger;
        cr_expect_eq(l->count[TBP_LEDGER_VIEW_CAP], repairs ? 0 : MANY - OFFICIALLY);
        tiny_close(&run);
    }
}

Test(trace_window, tables_of_events_go_with_them_and_come_back) {
    struct random r = {3};
    struct tiny_host h = {0};
    struct tiny_run run;
    random_host(&h, &r, true);
    struct tbp_session *s = tiny_open(&run, &h, 1, TBP_SEMANTICS_REPAIR);
    cr_assert_not_null(tbp_session_host(s, 0, NULL));
    const uint64_t before_bytes = tbp_session_memory(s);
    const struct tbp_trace_index *x = tbp_trace_index(s, 0, NULL);
    cr_assert_not_null(x);
    cr_expect_eq(tbp_trace_index(s, 0, NULL), x, "kept");
    cr_assert_not_null(tbp_level_lists(s, 0, NULL));
    cr_expect_geq(tbp_session_memory(s), before_bytes + LINES * EVENTS * 9, "serials and levels");
    tbp_session_release_events(s, 0);
    cr_expect_lt(tbp_session_memory(s), before_bytes, "columns and tables are gone");
    const struct tbp_trace_levels *l = tbp_trace_levels(s, 0, NULL);
    cr_assert_not_null(l);
    cr_expect_eq(l->index->n_events, LINES * EVENTS);
    cr_expect_null(tbp_session_table(s, &tbp_analysis_trace_index, TBP_ALL_HOSTS, NULL),
                   "would outlive the events");
    tiny_close(&run);
}
