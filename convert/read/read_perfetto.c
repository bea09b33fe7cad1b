/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of Perfetto's protobuf traces (*.pftrace): slices, instants and counters of track events,
 * as the Perfetto SDK, rocprofv3 and PyTorch write them. Categories tell what a slice is: those of
 * PyTorch's profiler and of rocprofv3 are known, anything else is shown. What else such a trace can
 * hold (the scheduler of a phone …) is counted and not shown. Field numbers are those of Perfetto's
 * public protobuf definitions.
 */
#include "convert/read/launch_flows.h"
#include "convert/read/perfetto_state.h"
#include "convert/read/perfetto_tracks.h"
#include "convert/read/reader.h"
#include "convert/read/step_name.h"

#include <stdio.h>

enum packet_field {
    PACKET_CLOCKS = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_CLEARED = 41,
    PACKET_CLOCK = 58,
    PACKET_DEFAULTS = 59,
    PACKET_DESCRIPTOR = 60,
};

struct packet {
    uint64_t timestamp;
    uint32_t sequence, clock;
    bool has_timestamp, is_cleared, has_event, is_other;
    struct tbp_wire event, interned, clocks, defaults, descriptor;
};

enum { MAX_NOTES = 64, MAX_FLOWS = 16 };

struct note { /* a debug annotation */
    uint32_t key;
    enum { NOTE_NONE, NOTE_NUMBER, NOTE_WIDE, NOTE_REAL, NOTE_TEXT } kind; /* wide: unsigned */
    int64_t number;
    double real;
    uint32_t text;
};

struct event { /* a track event */
    uint32_t type, name, category;
    uint64_t track;
    bool has_track, has_value;
    double value;
    int64_t ns;
    struct note notes[MAX_NOTES];
    size_t n_notes;
    uint64_t flows[MAX_FLOWS];
    size_t n_flows; /* also those beyond */
};

struct perfetto {
    struct tbp_trace t;
    struct tbp_perfetto_state state;
    struct tbp_perfetto_tracks tracks;
    struct tbp_launch_flows flows;
    struct event event; /* the one being read */
    uint64_t offset;    /* of the packet */
    bool is_amd;
};

/* ---- what a slice is ---- */

enum kind { KIND_OTHER, KIND_OP, KIND_CALL, KIND_KERNEL, KIND_COPY };

static enum kind kind_of(struct tbp_str category) {
    static const struct {
        const char *category;
        enum kind kind;
    } kinds[] = {
        {"cpu_op", KIND_OP},        {"cuda_runtime", KIND_CALL},      {"cuda_driver", KIND_CALL},
        {"hip_api", KIND_CALL},     {"hip_runtime_api", KIND_CALL},   {"hsa_api", KIND_CALL},
        {"kernel", KIND_KERNEL},    {"kernel_dispatch", KIND_KERNEL}, {"gpu_memcpy", KIND_COPY},
        {"memory_copy", KIND_COPY}, {"gpu_memset", KIND_COPY}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (tbp_str_is(category, kinds[i].category))
            return kinds[i].kind;
    return KIND_OTHER;
}

static bool number_of(const struct perfetto *p, const char *keys, int64_t *v) {
    for (struct tbp_str rest = tbp_str_c(keys); rest.n;) {
        size_t n = tbp_str_find(rest, '|');
        for (size_t i = 0; i < p->event.n_notes; i++) {
            const struct note *note = &p->event.notes[i];
            if (!tbp_str_eq(p->t.texts.strs[note->key], tbp_str_sub(rest, 0, n)))
                continue;
            *v = note->number;
            if (note->kind == NOTE_NUMBER || note->kind == NOTE_WIDE ||
                (note->kind == NOTE_TEXT && tbp_str_to_i64(p->t.texts.strs[note->text], v)))
                return true;
        }
        rest = tbp_str_sub(rest, n < rest.n ? n + 1 : n, rest.n);
    }
    return false;
}

static void add_launch(struct perfetto *p) {
    char text[160];
    int64_t shared = 0, group = 0, grid = 0, registers = 0;
    number_of(p, "group_segment_size|shared memory", &shared);
    number_of(p, "workgroup_size", &group);
    number_of(p, "grid_size", &grid);
    number_of(p, "registers per thread", &registers);
    int64_t blocks = group > 0 && grid > 0 ? grid / group + (grid % group != 0) : 1;
    int n = snprintf(text, sizeof text,
                     "regs:%lld static_shared:%lld dynamic_shared:0 grid:%lld,1,1 block:%lld,1,1 "
                     "occ_pct:0",
                     (long long)registers, (long long)shared, (long long)blocks,
                     (long long)(group > 0 ? group : 1));
    tbp_trace_stat_text(&p->t, TBP_TRACE_SHARED, tbp_trace_text(&p->t, TBP_STR("kernel_details")),
                        tbp_trace_text(&p->t, (struct tbp_str){text, (size_t)n}));
}

static uint64_t link_of(const struct perfetto *p) {
    int64_t v;
    return number_of(p, "correlation|corr_id|correlation_id", &v) && v > 0 ? (uint64_t)v : 0;
}

/* Slices of devices pair on their own track and are then shown on their stream. */
static void place_on_device(struct perfetto *p, uint32_t line) {
    enum { MAX_DEVICE = 499 };
    int64_t device = 0, stream = 0;
    struct tbp_trace *t = &p->t;
    if (!number_of(p, "device|agent", &device) || device < 0 || device > MAX_DEVICE)
        device = 0;
    number_of(p, "stream|queue", &stream);
    uint32_t target = tbp_trace_stream(t, (uint32_t)device, stream);
    if (target != TBP_NO_TRACK && line != TBP_NO_TRACK)
        t->tracks.at[line].target = target;
}

static void add_notes(struct perfetto *p) {
    for (size_t i = 0; i < p->event.n_notes; i++) {
        const struct note *n = &p->event.notes[i];
        if (n->key == 0 || n->kind == NOTE_NONE)
            continue;
        if (n->kind == NOTE_NUMBER)
            tbp_trace_stat_i64(&p->t, TBP_TRACE_OWN, n->key, n->number);
        else if (n->kind == NOTE_WIDE)
            tbp_trace_stat_u64(&p->t, TBP_TRACE_OWN, n->key, (uint64_t)n->number);
        else if (n->kind == NOTE_REAL)
            tbp_trace_stat_double(&p->t, TBP_TRACE_OWN, n->key, n->real);
        else
            tbp_trace_stat_text(&p->t, TBP_TRACE_OWN, n->key, n->text);
    }
}

static void describe(struct perfetto *p, struct tbp_trace_event *out) {
    int64_t step;
    enum kind kind = kind_of(p->t.texts.strs[p->event.category]);
    if (tbp_step_of_profiler(p->t.host, p->t.texts.strs[out->name], &step)) {
        out->flags |= TBP_TRACE_STEP;
        out->link = (uint64_t)step;
        return;
    }
    tbp_trace_mark_input(&p->t, p->t.texts.strs[out->name]);
    if (kind == KIND_OP)
        out->flags |= TBP_TRACE_OP;
    if (kind == KIND_CALL)
        out->flags |= TBP_TRACE_LAUNCH;
    if (kind == KIND_KERNEL || kind == KIND_COPY) {
        out->flags |= TBP_TRACE_DEVICE;
        place_on_device(p, out->track);
    }
    if (kind != KIND_OP && kind != KIND_OTHER)
        out->link = link_of(p);
    if (kind == KIND_KERNEL)
        add_launch(p);
    p->is_amd |= tbp_str_is(p->t.texts.strs[p->event.category], "kernel_dispatch");
}

/* ---- events ---- */

enum event_type { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };

static void count_lost(struct perfetto *p, enum tbp_ledger_key why) {
    struct tbp_ledger *l = &p->t.host->ledger;
    l->events_read++;
    l->events_dropped++;
    tbp_ledger_count(l, why, 1, p->offset);
}

static void add_counter(struct perfetto *p, struct tbp_perfetto_track *track) {
    double value = p->event.value * (double)track->unit_multiplier;
    track->sum += value;
    struct tbp_trace_event out = {.start_ns = p->event.ns, .name = track->name};
    if (out.name == 0)
        out.name = p->event.name ? p->event.name : tbp_trace_text(&p->t, TBP_STR("counter"));
    uint32_t key = track->unit ? track->unit : tbp_trace_text(&p->t, TBP_STR("value"));
    tbp_trace_stat_double(&p->t, TBP_TRACE_OWN, key, track->is_incremental ? track->sum : value);
    out.track = tbp_trace_counters(&p->t);
    tbp_trace_add(&p->t, &out);
}

/* Flows go through calls or ops to work of devices; the row is the last. */
static void add_flows(struct perfetto *p) {
    const struct event *e = &p->event;
    for (size_t i = 0; i < e->n_flows && i < MAX_FLOWS; i++)
        tbp_launch_flows_row(&p->flows, &p->t, (struct tbp_flow_id){.id = e->flows[i]},
                             p->t.rows.n - 1);
    p->flows.n_lost += e->n_flows > MAX_FLOWS ? e->n_flows - MAX_FLOWS : 0;
}

static void add_event(struct perfetto *p) {
    const struct event *e = &p->event;
    struct tbp_perfetto_track *track = tbp_perfetto_track(&p->tracks, e->track);
    if (!track) {
        count_lost(p, TBP_LEDGER_TRACK_CAP);
        return;
    }
    if (e->type == TYPE_COUNTER) {
        add_counter(p, track);
        return;
    }
    struct tbp_trace_event out = {.start_ns = e->ns, .track = tbp_perfetto_line(&p->tracks, track)};
    out.name = e->type == TYPE_END ? 0 : e->name;
    out.flags = e->type == TYPE_BEGIN ? TBP_TRACE_BEGIN : e->type == TYPE_END ? TBP_TRACE_END : 0;
    if (e->type != TYPE_END) {
        describe(p, &out);
        add_notes(p);
    }
    size_t n = p->t.rows.n;
    tbp_trace_add(&p->t, &out);
    if (e->type != TYPE_END && p->t.rows.n > n)
        add_flows(p);
}

static uint32_t text_of(struct perfetto *p, struct tbp_wire w) {
    struct tbp_str s = tbp_wire_str(w);
    return tbp_trace_text(&p->t, tbp_str_sub(s, 0, tbp_utf8_valid_prefix(s)));
}

static void read_note(struct perfetto *p, uint32_t sequence, struct tbp_wire w) {
    enum {
        KEY_IID = 1,
        BOOL = 2,
        UINT = 3,
        INT = 4,
        REAL = 5,
        TEXT = 6,
        POINTER = 7,
        KEY = 10,
        TEXT_IID = 17
    };
    struct tbp_wire_field f;
    if (p->event.n_notes == MAX_NOTES)
        return;
    struct note *n = &p->event.notes[p->event.n_notes++];
    *n = (struct note){.kind = NOTE_NONE};
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.number == KEY && f.type == TBP_WIRE_BYTES)
            n->key = text_of(p, f.bytes);
        else if (f.number == KEY_IID)
            n->key = tbp_perfetto_name(&p->state, sequence, TBP_PERFETTO_KEYS, f.value);
        else if (f.number == REAL && f.type == TBP_WIRE_FIXED64)
            *n = (struct note){n->key, NOTE_REAL, 0, tbp_wire_double(f.value), 0};
        else if (f.number == TEXT && f.type == TBP_WIRE_BYTES)
            *n = (struct note){n->key, NOTE_TEXT, 0, 0, text_of(p, f.bytes)};
        else if (f.number == TEXT_IID)
            *n = (struct note){n->key, NOTE_TEXT, 0, 0,
                               tbp_perfetto_name(&p->state, sequence, TBP_PERFETTO_TEXTS, f.value)};
        else if (f.type == TBP_WIRE_VARINT && (f.number == BOOL || f.number == INT))
            *n = (struct note){n->key, NOTE_NUMBER, (int64_t)f.value, 0, 0};
        else if (f.type == TBP_WIRE_VARINT && (f.number == UINT || f.number == POINTER))
            *n = (struct note){n->key, f.value > INT64_MAX ? NOTE_WIDE : NOTE_NUMBER,
                               (int64_t)f.value, 0, 0};
    }
}

/* Events that came from another format carry a phase in place of a type. */
static void read_legacy(struct perfetto *p, struct tbp_wire w) {
    enum { PHASE = 2 };
    struct tbp_wire_field f;
    while (tbp_wire_next(&w, &f) > 0)
        if (f.number == PHASE && p->event.type == 0)
            p->event.type = f.value == 'B'                                       ? TYPE_BEGIN
                            : f.value == 'E'                                     ? TYPE_END
                            : f.value == 'I' || f.value == 'i' || f.value == 'R' ? TYPE_INSTANT
                                                                                 : 0;
}

/* A field of the event that is a number. */
static void read_number(struct perfetto *p, uint32_t sequence, const struct tbp_wire_field *f) {
    enum { CATEGORY_IID = 3, TYPE = 9, NAME_IID = 10, TRACK = 11, VALUE = 30, REAL_VALUE = 44 };
    enum { OLD_FLOW = 36, OLD_LAST_FLOW = 42, FLOW = 47, LAST_FLOW = 48 };
    struct event *e = &p->event;
    switch (f->number) {
    case TYPE:
        e->type = (uint32_t)f->value;
        break;
    case NAME_IID:
        e->name = tbp_perfetto_name(&p->state, sequence, TBP_PERFETTO_EVENTS, f->value);
        break;
    case CATEGORY_IID:
        if (!e->category)
            e->category = tbp_perfetto_name(&p->state, sequence, TBP_PERFETTO_CATEGORIES, f->value);
        break;
    case TRACK:
        e->track = f->value;
        e->has_track = true;
        break;
    case VALUE:
        e->value = (double)(int64_t)f->value;
        e->has_value = true;
        break;
    case REAL_VALUE:
        e->value = f->type == TBP_WIRE_FIXED64 ? tbp_wire_double(f->value) : 0;
        e->has_value = true;
        break;
    case OLD_FLOW:
    case OLD_LAST_FLOW:
    case FLOW:
    case LAST_FLOW:
        if (e->n_flows < MAX_FLOWS)
            e->flows[e->n_flows] = f->value;
        e->n_flows++;
        break;
    default:
        break;
    }
}

/* Time of an event that tells it itself, in microseconds. */
static bool own_time(struct perfetto *p, uint32_t sequence, const struct tbp_wire_field *f) {
    enum { DELTA_US = 1, ABSOLUTE_US = 16 };
    const int64_t far_us = INT64_MAX / 4000;
    int64_t us = (int64_t)f->value;
    struct tbp_perfetto_sequence *q = &p->state.sequences.at[sequence];
    if (f->type != TBP_WIRE_VARINT || (f->number != DELTA_US && f->number != ABSOLUTE_US) ||
        us < -far_us || us > far_us)
        return false;
    q->last_us = f->number == DELTA_US ? q->last_us + us : us;
    q->last_us = q->last_us > far_us ? far_us : q->last_us < -far_us ? -far_us : q->last_us;
    p->event.ns = q->last_us * 1000;
    return true;
}

static void read_event(struct perfetto *p, const struct packet *k) {
    enum { NOTES = 4, LEGACY = 6, CATEGORIES = 22, NAME = 23 };
    struct tbp_wire w = k->event;
    struct tbp_wire_field f;
    struct event *e = &p->event;
    bool has_time = k->has_timestamp;
    e->type = e->name = e->category = 0;
    e->has_track = e->has_value = false;
    e->n_notes = e->n_flows = 0;
    e->track = p->state.sequences.at[k->sequence].default_track;
    if (k->has_timestamp)
        e->ns = tbp_perfetto_time(&p->state, k->sequence, k->clock, k->timestamp);
    while (tbp_wire_next(&w, &f) > 0) {
        if (f.type != TBP_WIRE_BYTES) {
            has_time |= !has_time && own_time(p, k->sequence, &f);
            read_number(p, k->sequence, &f);
        } else if (f.number == NOTES) {
            read_note(p, k->sequence, f.bytes);
        } else if (f.number == LEGACY) {
            read_legacy(p, f.bytes);
        } else if (f.number == NAME) {
            e->name = text_of(p, f.bytes);
        } else if (f.number == CATEGORIES && !e->category) {
            e->category = text_of(p, f.bytes);
        }
    }
    if (e->type < TYPE_BEGIN || e->type > TYPE_COUNTER) {
        count_lost(p, TBP_LEDGER_NOT_SHOWN);
    } else if (!has_time) {
        p->t.host->ledger.events_read++;
        p->t.host->ledger.events_quarantined++;
        tbp_ledger_count(&p->t.host->ledger, TBP_LEDGER_NO_TIME, 1, p->offset);
    } else {
        add_event(p);
    }
}

/* ---- packets ---- */

/* Records that make a row somewhere else than here: the scheduler, processes' memory … */
static bool is_other_record(uint32_t number) {
    static const uint32_t numbers[] = {1, 2, 9, 34, 37, 38, 39, 40, 46, 50, 53, 54, 66, 74};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (number == numbers[i])
            return true;
    return false;
}

static void read_field(struct packet *k, const struct tbp_wire_field *f, uint32_t *sequence_id) {
    enum { CLEARED_FLAG = 1 };
    bool is_bytes = f->type == TBP_WIRE_BYTES;
    switch (f->number) {
    case PACKET_TIMESTAMP:
        k->timestamp = f->value;
        k->has_timestamp = !is_bytes;
        break;
    case PACKET_SEQUENCE:
        *sequence_id = (uint32_t)f->value;
        break;
    case PACKET_CLOCK:
        k->clock = (uint32_t)f->value;
        break;
    case PACKET_FLAGS:
        k->is_cleared |= (f->value & CLEARED_FLAG) != 0;
        break;
    case PACKET_CLEARED:
        k->is_cleared |= f->value != 0;
        break;
    case PACKET_TRACK_EVENT:
        k->event = f->bytes;
        k->has_event = is_bytes;
        break;
    case PACKET_INTERNED:
        k->interned = is_bytes ? f->bytes : k->interned;
        break;
    case PACKET_CLOCKS:
        k->clocks = is_bytes ? f->bytes : k->clocks;
        break;
    case PACKET_DEFAULTS:
        k->defaults = is_bytes ? f->bytes : k->defaults;
        break;
    case PACKET_DESCRIPTOR:
        k->descriptor = is_bytes ? f->bytes : k->descriptor;
        break;
    default:
        k->is_other |= is_bytes && is_other_record(f->number);
        break;
    }
}

static void read_packet(struct perfetto *p, struct tbp_wire w) {
    struct packet k = {0};
    struct tbp_wire_field f;
    uint32_t id = 0;
    int got;
    while ((got = tbp_wire_next(&w, &f)) > 0)
        read_field(&k, &f, &id);
    if (got < 0)
        tbp_ledger_count(&p->t.host->ledger, TBP_LEDGER_BAD_WIRE, 1, p->offset);
    k.sequence = tbp_perfetto_sequence(&p->state, id);
    if (k.is_cleared)
        tbp_perfetto_forget(&p->state, k.sequence);
    if (k.clocks.at)
        tbp_perfetto_clocks(&p->state, k.sequence, k.clocks);
    if (k.defaults.at)
        tbp_perfetto_defaults(&p->state, k.sequence, k.defaults);
    if (k.interned.at)
        tbp_perfetto_intern(&p->state, k.sequence, k.interned);
    if (k.descriptor.at)
        tbp_perfetto_describe(&p->tracks, k.descriptor);
    if (k.has_event)
        read_event(p, &k);
    else if (k.has_timestamp) /* clocks move on */
        tbp_perfetto_time(&p->state, k.sequence, k.clock, k.timestamp);
    if (k.is_other)
        count_lost(p, TBP_LEDGER_NOT_SHOWN);
}

static void read_packets(struct perfetto *p, const struct tbp_host *h) {
    enum { TRACE_PACKET = 1 };
    struct tbp_wire w = tbp_wire_of(h->input.data, h->input.size);
    struct tbp_wire_field f;
    int got;
    while ((p->offset = (uint64_t)(w.at - h->input.data), got = tbp_wire_next(&w, &f)) > 0)
        if (f.number == TRACE_PACKET && f.type == TBP_WIRE_BYTES)
            read_packet(p, f.bytes);
    if (got < 0)
        tbp_ledger_count(&p->t.host->ledger, TBP_LEDGER_TRUNCATED, 1, p->offset);
}

static int read_perfetto(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct perfetto *p = TBP_NEW(&host->arena, struct perfetto);
    (void)err;
    tbp_trace_init(&p->t, host);
    p->t.is_in_order = true; /* ends tell no name: a sequence has them where they belong */
    p->state.t = p->tracks.t = &p->t;
    read_packets(p, host);
    tbp_perfetto_name_lines(&p->tracks);
    for (uint32_t i = 0; i < p->t.planes.n; i++)
        if (tbp_is_gpu_plane(p->t.planes.at[i].name))
            tbp_trace_plane_text(&p->t, i, "device_vendor",
                                 p->is_amd ? TBP_STR("AMD") : TBP_STR("Nvidia"));
    tbp_trace_find_wall_clock(&p->t);
    tbp_launch_flows_apply(&p->flows, &p->t);
    tbp_trace_finish(&p->t, pool);
    tbp_input_drop_pages(&host->input);
    tbp_trace_release(&p->t);
    tbp_perfetto_tracks_release(&p->tracks);
    tbp_launch_flows_release(&p->flows);
    tbp_perfetto_state_release(&p->state);
    return TBP_OK;
}

/* Planes of an xplane begin with the same byte. They have no fields beyond 6, unless a byte of them
 * is damaged; but then they still have an id or lines, of other types than what a packet has there,
 * or what became of the damage has. No packet has numbers of fixed size. An event alone tells
 * nothing: packets that have one also have a time or a sequence. */
static bool is_of_no_packet(const struct tbp_wire_field *f) {
    enum { FTRACE = 1, USER = 3 };
    switch (f->number) {
    case FTRACE:
        return f->type != TBP_WIRE_BYTES;
    case USER:
    case PACKET_TIMESTAMP:
    case PACKET_SEQUENCE:
        return f->type != TBP_WIRE_VARINT;
    default:
        return f->type != TBP_WIRE_VARINT && f->type != TBP_WIRE_BYTES;
    }
}

static int probe(const uint8_t *data, size_t size) {
    enum { LOOK = 16, TRACE_PACKET = 1, CERTAIN = 95 };
    struct tbp_wire w = tbp_wire_of(data, size);
    struct tbp_wire_field f, inner;
    for (int i = 0; i < LOOK && tbp_wire_next(&w, &f) > 0; i++) {
        struct packet k = {0};
        uint32_t id = 0;
        int got;
        if (f.number != TRACE_PACKET || f.type != TBP_WIRE_BYTES)
            return 0;
        while ((got = tbp_wire_next(&f.bytes, &inner)) > 0 && !is_of_no_packet(&inner))
            read_field(&k, &inner, &id);
        if (got)
            return 0;
        if (k.has_timestamp || k.descriptor.at || k.defaults.at || id)
            return tbp_looks_like_text(data, size) ? 0 : CERTAIN;
    }
    return 0;
}

const struct tbp_reader tbp_reader_perfetto = {
    .name = "perfetto",
    .help = "Perfetto's protobuf traces (*.pftrace) of rocprofv3, PyTorch, the Perfetto SDK",
    .probe = probe,
    .read = read_perfetto,
};
