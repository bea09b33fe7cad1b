/* SPDX-License-Identifier: Apache-2.0
 *
 * A quick look into a profile; see capture_scan.h. Field numbers: schemas/xplane_fields.h.
 */
#include "capture/capture_scan.h"

#include "schemas/wire.h"
#include "schemas/xplane_fields.h"

struct plane {
    struct tbp_capture_scan *scan;
    uint64_t step_stat; /* id of the stat "step_num"; 0: the plane has none */
    bool is_device;
    uint64_t line_busy_ps;
};

static void read_stat_name(struct plane *p, struct tbp_wire entry) {
    struct tbp_wire_field f, g;
    uint64_t id = 0;
    bool is_step = false;
    while (tbp_wire_next(&entry, &f) == 1) {
        if (f.number == TBP_MAP_KEY && f.type == TBP_WIRE_VARINT)
            id = f.value;
        if (f.number != TBP_MAP_VALUE || f.type != TBP_WIRE_BYTES)
            continue;
        while (tbp_wire_next(&f.bytes, &g) == 1)
            is_step = is_step || (g.number == TBP_XSTATMETA_NAME && g.type == TBP_WIRE_BYTES &&
                                  tbp_str_is(tbp_wire_str(g.bytes), "step_num"));
    }
    if (is_step)
        p->step_stat = id;
}

static bool is_step_stat(const struct plane *p, struct tbp_wire stat) {
    struct tbp_wire_field f;
    while (tbp_wire_next(&stat, &f) == 1) {
        if (f.number == TBP_XSTAT_METADATA_ID && f.type == TBP_WIRE_VARINT)
            return f.value == p->step_stat;
    }
    return false;
}

static void count_step(struct tbp_capture_scan *scan, uint64_t duration_ps) {
    if (scan->n_steps == 0 || duration_ps < scan->min_step_ps)
        scan->min_step_ps = duration_ps;
    if (duration_ps > scan->max_step_ps)
        scan->max_step_ps = duration_ps;
    scan->sum_step_ps += duration_ps;
    scan->n_steps++;
}

static void read_event(struct plane *p, struct tbp_wire event) {
    struct tbp_wire_field f;
    uint64_t duration_ps = 0;
    bool is_step = false;
    while (tbp_wire_next(&event, &f) == 1) {
        if (f.number == TBP_XEVENT_DURATION_PS && f.type == TBP_WIRE_VARINT)
            duration_ps = f.value;
        else if (f.number == TBP_XEVENT_STATS && f.type == TBP_WIRE_BYTES && p->step_stat)
            is_step = is_step || is_step_stat(p, f.bytes);
    }
    p->scan->n_events += duration_ps > 0;
    p->line_busy_ps += duration_ps;
    if (is_step && duration_ps > 0)
        count_step(p->scan, duration_ps);
}

static void read_line(struct plane *p, struct tbp_wire line) {
    struct tbp_wire_field f;
    p->line_busy_ps = 0;
    while (tbp_wire_next(&line, &f) == 1) {
        if (f.number == TBP_XLINE_EVENTS && f.type == TBP_WIRE_BYTES)
            read_event(p, f.bytes);
    }
    if (p->is_device && p->line_busy_ps > p->scan->device_busy_ps)
        p->scan->device_busy_ps = p->line_busy_ps;
}

/* Names may stand behind the lines: they are looked up first. */
static void read_plane(struct tbp_capture_scan *scan, struct tbp_wire plane) {
    struct plane p = {.scan = scan};
    struct tbp_wire again = plane;
    struct tbp_wire_field f;
    while (tbp_wire_next(&plane, &f) == 1) {
        if (f.number == TBP_XPLANE_STAT_METADATA && f.type == TBP_WIRE_BYTES)
            read_stat_name(&p, f.bytes);
        else if (f.number == TBP_XPLANE_NAME && f.type == TBP_WIRE_BYTES)
            p.is_device = tbp_str_starts(tbp_wire_str(f.bytes), "/device:");
    }
    while (tbp_wire_next(&again, &f) == 1) {
        if (f.number == TBP_XPLANE_LINES && f.type == TBP_WIRE_BYTES)
            read_line(&p, f.bytes);
    }
}

static void read_text(struct tbp_scan_texts *texts, const struct tbp_wire_field *f) {
    if (texts->n < TBP_SCAN_MAX_TEXTS)
        texts->at[texts->n] = tbp_wire_str(f->bytes);
    texts->n++;
}

void tbp_capture_scan(struct tbp_capture_scan *scan, struct tbp_str xspace) {
    struct tbp_wire w = tbp_wire_of(xspace.p, xspace.n);
    struct tbp_wire_field f;
    *scan = (struct tbp_capture_scan){0};
    while (tbp_wire_next(&w, &f) == 1) {
        if (f.type != TBP_WIRE_BYTES)
            continue;
        if (f.number == TBP_XSPACE_PLANES)
            read_plane(scan, f.bytes);
        else if (f.number == TBP_XSPACE_ERRORS)
            read_text(&scan->errors, &f);
        else if (f.number == TBP_XSPACE_WARNINGS)
            read_text(&scan->warnings, &f);
    }
}
