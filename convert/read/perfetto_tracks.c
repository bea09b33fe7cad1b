/* SPDX-License-Identifier: Apache-2.0
 *
 * Tracks of a Perfetto trace; see perfetto_tracks.h.
 */
#include "convert/read/perfetto_tracks.h"

enum { OWN_PROCESS = INT32_MIN }; /* of tracks that are no thread */

void tbp_perfetto_tracks_release(struct tbp_perfetto_tracks *p) {
    tbp_vec_release(&p->list);
    tbp_idmap_release(&p->by_uuid);
}

struct tbp_perfetto_track *tbp_perfetto_track(struct tbp_perfetto_tracks *p, uint64_t uuid) {
    uint32_t at = tbp_idmap_get(&p->by_uuid, uuid);
    if (at != TBP_MAP_NONE)
        return &p->list.at[at];
    if (p->list.n >= TBP_TRACE_MAX_TRACKS)
        return NULL;
    *tbp_idmap_put(&p->by_uuid, uuid, NULL) = (uint32_t)p->list.n;
    struct tbp_perfetto_track *track = tbp_vec_push(&p->list);
    *track = (struct tbp_perfetto_track){.uuid = uuid, .line = TBP_NO_TRACK, .unit_multiplier = 1};
    return track;
}

static uint32_t text_of(struct tbp_perfetto_tracks *p, struct tbp_wire w) {
    struct tbp_str s = tbp_wire_str(w);
    return tbp_trace_text(p->t, tbp_str_sub(s, 0, tbp_utf8_valid_prefix(s)));
}

static void read_process(struct tbp_perfetto_tracks *p, struct tbp_perfetto_track *track,
                         struct tbp_wire w) {
    enum { PID = 1, NAME = 6 };
    struct tbp_wire_field f;
    track->has_process = true;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == PID && f.type == TBP_WIRE_VARINT)
            track->pid = (int64_t)f.value;
        else if (f.number == NAME && f.type == TBP_WIRE_BYTES)
            track->process_name = text_of(p, f.bytes);
    }
}

static void read_thread(struct tbp_perfetto_tracks *p, struct tbp_perfetto_track *track,
                        struct tbp_wire w) {
    enum { PID = 1, TID = 2, NAME = 5 };
    struct tbp_wire_field f;
    track->has_thread = true;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == PID && f.type == TBP_WIRE_VARINT)
            track->pid = (int64_t)f.value;
        else if (f.number == TID && f.type == TBP_WIRE_VARINT)
            track->tid = (int64_t)f.value;
        else if (f.number == NAME && f.type == TBP_WIRE_BYTES)
            track->name = text_of(p, f.bytes);
    }
}

static void read_counter(struct tbp_perfetto_tracks *p, struct tbp_perfetto_track *track,
                         struct tbp_wire w) {
    enum { MULTIPLIER = 4, INCREMENTAL = 5, UNIT = 6 };
    struct tbp_wire_field f;
    track->is_counter = true;
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == MULTIPLIER && f.type == TBP_WIRE_VARINT && f.value)
            track->unit_multiplier = (int64_t)f.value;
        else if (f.number == INCREMENTAL && f.type == TBP_WIRE_VARINT)
            track->is_incremental = f.value != 0;
        else if (f.number == UNIT && f.type == TBP_WIRE_BYTES)
            track->unit = text_of(p, f.bytes);
    }
}

void tbp_perfetto_describe(struct tbp_perfetto_tracks *p, struct tbp_wire w) {
    enum { UUID = 1, NAME = 2, PROCESS = 3, THREAD = 4, PARENT = 5, COUNTER = 8, STATIC = 10 };
    struct tbp_wire_field f;
    struct tbp_wire again = w;
    uint64_t uuid = 0;
    while (tbp_wire_next(&w, &f) > 0)
        if (f.number == UUID)
            uuid = f.value;
    struct tbp_perfetto_track *track = tbp_perfetto_track(p, uuid);
    while (track && tbp_wire_next(&again, &f) > 0) {
        if (f.number == PARENT)
            track->parent = f.value;
        if (f.type != TBP_WIRE_BYTES)
            continue;
        if (f.number == NAME || f.number == STATIC)
            track->name = text_of(p, f.bytes);
        else if (f.number == PROCESS)
            read_process(p, track, f.bytes);
        else if (f.number == THREAD)
            read_thread(p, track, f.bytes);
        else if (f.number == COUNTER)
            read_counter(p, track, f.bytes);
    }
}

uint32_t tbp_perfetto_line(struct tbp_perfetto_tracks *p, struct tbp_perfetto_track *track) {
    if (track->line == TBP_NO_TRACK)
        track->line = tbp_trace_thread(p->t, OWN_PROCESS, (int64_t)track->uuid);
    return track->line;
}

/* The name that a track or one of those above it gives its process; 0: none. */
static uint32_t process_of(struct tbp_perfetto_tracks *p, const struct tbp_perfetto_track *track) {
    enum { DEPTH = 16 };
    for (unsigned i = 0; i < DEPTH; i++) {
        if (track->process_name)
            return track->process_name;
        uint32_t at = track->parent ? tbp_idmap_get(&p->by_uuid, track->parent) : TBP_MAP_NONE;
        if (at == TBP_MAP_NONE)
            return 0;
        track = &p->list.at[at];
    }
    return 0;
}

void tbp_perfetto_name_lines(struct tbp_perfetto_tracks *p) {
    struct tbp_trace *t = p->t;
    for (size_t i = 0; i < p->list.n; i++) {
        const struct tbp_perfetto_track *track = &p->list.at[i];
        if (track->line == TBP_NO_TRACK || t->tracks.at[track->line].kind != TBP_TRACK_THREAD)
            continue;
        struct tbp_str name = t->texts.strs[track->name];
        struct tbp_str process = t->texts.strs[process_of(p, track)];
        if (track->has_thread)
            t->tracks.at[track->line].id = track->tid;
        if (name.n == 0 && track->has_thread)
            name =
                tbp_str_c(tbp_arena_printf(&t->host->arena, "thread %lld", (long long)track->tid));
        if (name.n == 0)
            name = process.n ? process : TBP_STR("track");
        else if (process.n && !track->has_thread)
            name = tbp_str_c(tbp_arena_printf(&t->host->arena, "%.*s: %.*s",
                                              (int)(process.n < 100 ? process.n : 100), process.p,
                                              (int)(name.n < 200 ? name.n : 200), name.p));
        tbp_trace_track_name(t, track->line, name);
    }
}
