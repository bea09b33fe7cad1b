/* SPDX-License-Identifier: Apache-2.0
 *
 * Collecting what a reader says; see trace_build.h.
 */
#include "convert/read/trace_build.h"

#include <stdio.h>

enum { USE_NAME = 1, USE_KEY = 2, USE_REFERENCE = 4 };

void tbp_trace_init(struct tbp_trace *t, struct tbp_host *host) {
    *t = (struct tbp_trace){.host = host};
    tbp_trace_text(t, TBP_STR_NONE);
    tbp_strtab_put(&t->sets, TBP_STR_NONE);
    tbp_wire_put_varint(&t->own, 0); /* offset 0: no stats */
    t->own_from = t->own.n;
    tbp_trace_plane(t, TBP_STR(TBP_HOST_PLANE));
}

void tbp_trace_release(struct tbp_trace *t) {
    tbp_strtab_release(&t->texts);
    tbp_strtab_release(&t->sets);
    tbp_strtab_release(&t->plane_names);
    tbp_strtab_release(&t->named_tracks);
    tbp_idmap_release(&t->thread_tracks);
    tbp_idmap_release(&t->stream_tracks);
    tbp_idmap_release(&t->op_of_link);
    tbp_idmap_release(&t->op_stats);
    tbp_idmap_release(&t->op_names);
    tbp_wire_out_release(&t->shared);
    tbp_wire_out_release(&t->own);
    tbp_vec_release(&t->uses);
    tbp_vec_release(&t->planes);
    tbp_vec_release(&t->tracks);
    tbp_vec_release(&t->of_named);
    tbp_vec_release(&t->plane_stats);
    tbp_vec_release(&t->rows);
    tbp_vec_release(&t->memory);
    tbp_vec_release(&t->shown_steps);
    tbp_vec_release(&t->rank);
    tbp_vec_release(&t->stat_id);
    tbp_vec_release(&t->op_text);
    tbp_vec_release(&t->steps);
}

/* The table keeps views: a new text gets a copy first. */
static uint32_t put_copy(struct tbp_trace *t, struct tbp_strtab *table, struct tbp_str s) {
    uint32_t i = tbp_strtab_get(table, s);
    return i != TBP_MAP_NONE ? i : tbp_strtab_put(table, tbp_arena_str(&t->host->arena, s));
}

uint32_t tbp_trace_text(struct tbp_trace *t, struct tbp_str s) {
    uint32_t i = put_copy(t, &t->texts, s);
    if (i == t->uses.n)
        *tbp_vec_push(&t->uses) = 0;
    return i;
}

/* ---- planes and lines ---- */

uint32_t tbp_trace_plane(struct tbp_trace *t, struct tbp_str name) {
    uint32_t i = put_copy(t, &t->plane_names, name);
    if (i == t->planes.n)
        *tbp_vec_push(&t->planes) = (struct tbp_trace_plane){.name = t->plane_names.strs[i]};
    return i;
}

static void plane_stat(struct tbp_trace *t, uint32_t plane, const char *key, bool is_text,
                       uint64_t v) {
    uint32_t k = tbp_trace_text(t, tbp_str_c(key));
    t->uses.at[k] |= USE_KEY;
    if (is_text)
        t->uses.at[v] |= USE_REFERENCE;
    for (size_t i = 0; i < t->plane_stats.n; i++) {
        struct tbp_trace_plane_stat *s = &t->plane_stats.at[i];
        if (s->plane == plane && s->key == k) {
            s->value = v;
            return;
        }
    }
    *tbp_vec_push(&t->plane_stats) = (struct tbp_trace_plane_stat){plane, k, is_text, v};
}

void tbp_trace_plane_text(struct tbp_trace *t, uint32_t plane, const char *key, struct tbp_str v) {
    plane_stat(t, plane, key, true, tbp_trace_text(t, v));
}

void tbp_trace_plane_u64(struct tbp_trace *t, uint32_t plane, const char *key, uint64_t v) {
    plane_stat(t, plane, key, false, v);
}

static uint32_t add_track(struct tbp_trace *t, struct tbp_trace_track track) {
    if (t->tracks.n >= TBP_TRACE_MAX_TRACKS) {
        t->n_tracks_refused++;
        return TBP_NO_TRACK;
    }
    track.first_ns = INT64_MAX;
    track.target = (uint32_t)t->tracks.n;
    *tbp_vec_push(&t->tracks) = track;
    return track.target;
}

static uint64_t pair_key(uint64_t a, uint64_t b) {
    uint64_t h = (a ^ 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
    return (h ^ (h >> 32)) * 0xc4ceb9fe1a85ec53u + b * 0x9e3779b97f4a7c15u;
}

/* The pair's numbers are the track's own: a key that two pairs share leads to the next one. */
static uint32_t find_pair(struct tbp_trace *t, struct tbp_idmap *map, struct tbp_trace_track track,
                          uint64_t group) {
    bool is_new;
    uint64_t key = pair_key(group, (uint64_t)track.id);
    for (;; key++) {
        if (t->tracks.n >= TBP_TRACE_MAX_TRACKS && tbp_idmap_get(map, key) == TBP_MAP_NONE) {
            t->n_tracks_refused++;
            return TBP_NO_TRACK;
        }
        uint32_t *at = tbp_idmap_put(map, key, &is_new);
        if (is_new)
            return *at = add_track(t, track);
        const struct tbp_trace_track *old = &t->tracks.at[*at];
        if (old->id == track.id && old->sort == track.sort && old->plane == track.plane)
            return *at;
    }
}

uint32_t tbp_trace_thread(struct tbp_trace *t, int64_t process, int64_t thread) {
    struct tbp_trace_track track = {
        .id = thread, .kind = TBP_TRACK_THREAD, .sort = process, .name = TBP_STR_NONE};
    return find_pair(t, &t->thread_tracks, track, (uint64_t)process);
}

uint32_t tbp_trace_stream(struct tbp_trace *t, uint32_t device, int64_t stream) {
    char name[40];
    int n = snprintf(name, sizeof name, "/device:GPU:%u", (unsigned)device);
    struct tbp_trace_track track = {.id = stream, .kind = TBP_TRACK_DEVICE, .name = TBP_STR_NONE};
    track.plane = tbp_trace_plane(t, (struct tbp_str){name, (size_t)n});
    return find_pair(t, &t->stream_tracks, track, track.plane);
}

uint32_t tbp_trace_line(struct tbp_trace *t, uint32_t plane, struct tbp_str name) {
    enum { NAME_BYTES = 512 };
    char key[NAME_BYTES + 8];
    size_t n = name.n < NAME_BYTES ? name.n : NAME_BYTES;
    memcpy(key, &plane, sizeof plane);
    memcpy(key + sizeof plane, name.p, n);
    uint32_t i = put_copy(t, &t->named_tracks, (struct tbp_str){key, sizeof plane + n});
    if (i < t->of_named.n)
        return t->of_named.at[i];
    bool is_device = tbp_is_device_plane(t->planes.at[plane].name);
    struct tbp_trace_track track = {.plane = plane,
                                    .id = -1,
                                    .kind = is_device ? TBP_TRACK_DEVICE : TBP_TRACK_OTHER,
                                    .sort = INT64_MAX,
                                    .name = tbp_arena_str(&t->host->arena, name)};
    return *tbp_vec_push(&t->of_named) = add_track(t, track);
}

uint32_t tbp_trace_counters(struct tbp_trace *t) {
    return tbp_trace_line(t, tbp_trace_plane(t, TBP_STR("/device:CUSTOM:Counters")),
                          TBP_STR("_counters_"));
}

void tbp_trace_track_name(struct tbp_trace *t, uint32_t track, struct tbp_str name) {
    if (track != TBP_NO_TRACK)
        t->tracks.at[track].name = tbp_arena_str(&t->host->arena, name);
}

void tbp_trace_track_given(struct tbp_trace *t, uint32_t track, const struct tbp_given_name *name) {
    if (track == TBP_NO_TRACK)
        return;
    struct tbp_trace_track *named = &t->tracks.at[track];
    tbp_given_name_take(&named->given, name, &t->host->arena);
    if (named->given.text.n)
        named->name = named->given.text;
}

/* ---- stats: key + 1, type, value; varints ---- */

static struct tbp_wire_out *begin_stat(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key,
                                       enum tbp_stat_type type) {
    struct tbp_wire_out *o = of == TBP_TRACE_SHARED ? &t->shared : &t->own;
    t->uses.at[key] |= USE_KEY;
    tbp_wire_put_varint(o, (uint64_t)key + 1);
    tbp_wire_put_varint(o, (uint64_t)type);
    return o;
}

void tbp_trace_stat_text(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key,
                         uint32_t text) {
    t->uses.at[text] |= USE_REFERENCE;
    tbp_wire_put_varint(begin_stat(t, of, key, TBP_STAT_REF), text);
}

void tbp_trace_stat_i64(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, int64_t v) {
    tbp_wire_put_varint(begin_stat(t, of, key, TBP_STAT_INT64), (uint64_t)v);
}

void tbp_trace_stat_u64(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, uint64_t v) {
    tbp_wire_put_varint(begin_stat(t, of, key, TBP_STAT_UINT64), v);
}

void tbp_trace_stat_double(struct tbp_trace *t, enum tbp_trace_stats of, uint32_t key, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tbp_wire_put_raw(begin_stat(t, of, key, TBP_STAT_DOUBLE), &bits, sizeof bits);
}

/* ---- events ---- */

uint32_t tbp_trace_take_shared(struct tbp_trace *t) {
    enum { MAX_SETS = 1 << 24 };
    struct tbp_str bytes = {(const char *)t->shared.at, t->shared.n};
    t->shared.n = 0;
    if (bytes.n == 0)
        return 0;
    if (t->sets.n < MAX_SETS)
        return put_copy(t, &t->sets, bytes);
    uint32_t i = tbp_strtab_get(&t->sets, bytes);
    if (i == TBP_MAP_NONE)
        tbp_ledger_count(&t->host->ledger, TBP_LEDGER_STAT_DROPPED, 1, TBP_NO_OFFSET);
    return i == TBP_MAP_NONE ? 0 : i;
}

static uint32_t take_own(struct tbp_trace *t) {
    size_t from = t->own_from;
    if (t->own.n == from)
        return 0;
    if (from > UINT32_MAX) {
        tbp_ledger_count(&t->host->ledger, TBP_LEDGER_STAT_DROPPED, 1, TBP_NO_OFFSET);
        t->own.n = from;
        return 0;
    }
    tbp_wire_put_varint(&t->own, 0);
    t->own_from = t->own.n;
    return (uint32_t)from;
}

static bool is_refused(struct tbp_trace *t, uint32_t track) {
    t->host->ledger.events_read++;
    if (track != TBP_NO_TRACK)
        return false;
    t->host->ledger.events_dropped++;
    tbp_ledger_count(&t->host->ledger, TBP_LEDGER_TRACK_CAP, 1, TBP_NO_OFFSET);
    t->shared.n = 0;
    t->own.n = t->own_from;
    return true;
}

/* Of begins and ends of one moment. */
static uint64_t place_in_moment(const struct tbp_trace *t, const struct tbp_trace_event *e) {
    enum { NAMED_END, BARE_END, BEGIN };
    if (t->is_in_order)
        return t->rows.n;
    return e->flags & TBP_TRACE_BEGIN ? BEGIN : e->name ? NAMED_END : BARE_END;
}

void tbp_trace_add(struct tbp_trace *t, const struct tbp_trace_event *e) {
    if (is_refused(t, e->track))
        return;
    if (e->external_id && (e->flags & TBP_TRACE_DEVICE))
        tbp_trace_stat_i64(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("External id")),
                           (int64_t)e->external_id);
    uint64_t place = place_in_moment(t, e);
    struct tbp_trace_row *row = tbp_vec_push(&t->rows);
    *row = (struct tbp_trace_row){.start_ns = e->start_ns,
                                  .dur_ps = e->dur_ps,
                                  .link = e->link,
                                  .name = e->name,
                                  .flags = e->flags & 255u,
                                  .track = e->track,
                                  .start_ps = e->start_ps & 1023u};
    row->set = tbp_trace_take_shared(t) & 0xffffffu;
    row->own = take_own(t);
    if (e->flags & (TBP_TRACE_BEGIN | TBP_TRACE_END))
        row->dur_ps = place;
    t->uses.at[e->name] |= USE_NAME;
}

void tbp_trace_memory(struct tbp_trace *t, const struct tbp_trace_memory_event *e) {
    if (is_refused(t, e->track))
        return;
    struct tbp_str name = tbp_event_kind_text(e->bytes < 0 ? TBP_EVENT_MEMORY_DEALLOCATION
                                                           : TBP_EVENT_MEMORY_ALLOCATION);
    struct tbp_trace_row row = {.start_ns = e->start_ns,
                                .name = tbp_trace_text(t, name),
                                .flags = TBP_TRACE_MEMORY,
                                .own = (uint32_t)t->memory.n,
                                .track = e->track,
                                .start_ps = e->start_ps & 1023u};
    t->uses.at[row.name] |= USE_NAME;
    t->uses.at[e->allocator] |= USE_REFERENCE;
    *tbp_vec_push(&t->memory) = (struct tbp_trace_memory){.address = e->address,
                                                          .bytes = e->bytes,
                                                          .allocated = e->allocated,
                                                          .reserved = e->reserved,
                                                          .allocator = e->allocator};
    *tbp_vec_push(&t->rows) = row;
}

void tbp_trace_warn(struct tbp_trace *t, struct tbp_str text) {
    struct tbp_host *h = t->host;
    tbp_host_add_text(h, &h->warnings, &h->n_warnings, tbp_arena_str(&h->arena, text));
}

void tbp_trace_find_wall_clock(struct tbp_trace *t) {
    const int64_t year_2001_ns = 1000000000000000000;
    for (size_t i = 0; i < t->rows.n && !t->has_wall_clock; i++)
        t->has_wall_clock = t->rows.at[i].start_ns > year_2001_ns;
}

void tbp_trace_finish(struct tbp_trace *t, struct tbp_pool *pool) {
    t->pool = pool;
    tbp_trace_anchor(t);
    tbp_trace_arrange(t);
    tbp_trace_link(t);
    tbp_trace_emit(t);
}
