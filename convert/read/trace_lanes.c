/* SPDX-License-Identifier: Apache-2.0
 *
 * Work of a device that overlaps on one stream without nesting (kernels launched early do, and so
 * does what several streams gave one hardware queue) cannot be seen on one line: it is spread over
 * lanes, the stream's own track and further ones behind it. An event goes where the one is that it
 * nests in; one that nests in no other, to the first lane on which nothing runs. So each event has
 * the same parent as on one line, and what follows from that (groups) stays as it is; events that
 * overlap within a third one stay with it. See trace_build.h.
 */
#include "convert/read/trace_build.h"

enum { LANES = 32 }; /* beyond, events overlap on the last lane */

struct around { /* an event in which later ones may nest */
    uint64_t end_ps;
    uint32_t lane;
};

struct spread {
    struct tbp_trace *t;
    TBP_VEC(struct around) open; /* the last is the innermost */
    uint64_t unit_ps;
    uint64_t until_ps[LANES]; /* what runs on the lane */
    uint32_t n_lanes;         /* in use */
};

static bool is_work(const struct tbp_trace_track *track, const struct tbp_trace_row *row) {
    if (row->flags & (TBP_TRACE_STEP | TBP_TRACE_MEMORY))
        return false;
    return row->flags & TBP_TRACE_DEVICE || tbp_str_starts(track->name, "Stream #");
}

/* Begin and duration are rounded apart: neighbours may overlap by a unit of the clock, which is a
 * microsecond where a track has no finer time. */
static uint64_t unit_of(const struct tbp_trace_row *rows, size_t n) {
    enum { MICROSECOND_PS = 1000000, MICROSECOND_NS = 1000, NANOSECOND_PS = 1000 };
    for (size_t i = 0; i < n; i++)
        if (rows[i].start_ps || rows[i].dur_ps % MICROSECOND_PS ||
            (rows[i].start_ns - rows[0].start_ns) % MICROSECOND_NS)
            return NANOSECOND_PS;
    return MICROSECOND_PS;
}

static uint64_t later(uint64_t ps, uint64_t by_ps) {
    return by_ps > UINT64_MAX - ps ? UINT64_MAX : ps + by_ps;
}

static uint32_t free_lane(const struct spread *s, uint64_t start_ps) {
    uint32_t lane = 0;
    while (lane + 1 < LANES && s->until_ps[lane] > later(start_ps, s->unit_ps))
        lane++;
    return lane;
}

static uint32_t lane_of(struct spread *s, uint64_t start_ps, uint64_t end_ps) {
    while (s->open.n && s->open.at[s->open.n - 1].end_ps < end_ps)
        s->open.n--;
    uint32_t lane = s->open.n ? s->open.at[s->open.n - 1].lane : free_lane(s, start_ps);
    *tbp_vec_push(&s->open) = (struct around){end_ps, lane};
    if (end_ps > s->until_ps[lane])
        s->until_ps[lane] = end_ps;
    if (lane >= s->n_lanes)
        s->n_lanes = lane + 1;
    return lane;
}

/* Sets the tracks of rows to `rank` and those behind it. */
static void spread_track(struct spread *s, const struct tbp_trace_track *track,
                         struct tbp_trace_row *rows, size_t n, uint32_t rank) {
    s->open.n = 0;
    s->n_lanes = 1;
    memset(s->until_ps, 0, sizeof s->until_ps);
    s->unit_ps = unit_of(rows, n);
    for (size_t i = 0; i < n; i++) {
        uint64_t ns = (uint64_t)(rows[i].start_ns - s->t->origin_ns);
        uint64_t start_ps = ns * 1000u + rows[i].start_ps;
        uint32_t lane =
            is_work(track, &rows[i]) ? lane_of(s, start_ps, later(start_ps, rows[i].dur_ps)) : 0;
        rows[i].track = (rank + lane) & 0x3fffffu;
    }
}

static void add_lanes(struct tbp_trace *t, uint32_t track, uint32_t n_lanes) {
    for (uint32_t lane = 1; lane < n_lanes; lane++) {
        struct tbp_trace_track more = t->tracks.at[track];
        more.lane = lane;
        more.rank += lane;
        *tbp_vec_push(&t->tracks) = more;
    }
}

bool tbp_trace_spread(struct tbp_trace *t, const uint32_t *track_of_rank) {
    struct spread s = {.t = t};
    const uint32_t n_tracks = (uint32_t)t->tracks.n;
    uint32_t next_rank = 0;
    for (size_t from = 0, to = 0, rank = 0; rank < n_tracks; rank++, from = to) {
        while (to < t->rows.n && t->rows.at[to].track == rank)
            to++;
        struct tbp_trace_track *track = &t->tracks.at[track_of_rank[rank]];
        bool has_room = t->tracks.n + LANES <= TBP_TRACE_MAX_TRACKS;
        track->rank = next_rank++;
        if (track->kind == TBP_TRACK_DEVICE && has_room) {
            spread_track(&s, track, t->rows.at + from, to - from, track->rank);
            add_lanes(t, track_of_rank[rank], s.n_lanes);
            next_rank += s.n_lanes - 1;
            continue;
        }
        for (size_t i = from; i < to; i++)
            t->rows.at[i].track = track->rank & 0x3fffffu;
    }
    tbp_vec_release(&s.open);
    return t->tracks.n > n_tracks;
}
