/* SPDX-License-Identifier: Apache-2.0
 *
 * `tbprof steps`: one row per step and host, then mean, median, smallest and largest. Looks at
 * host, format, color, limit, fp_point, bp_point, clock_offsets.
 */
#include "base/sort.h"
#include "convert/report/findings.h"
#include "convert/report/report.h"
#include "convert/report/step_trace.h"

enum column {
    COL_STEP,
    COL_HOST,
    COL_NAME,
    COL_START,
    COL_MARKER,
    COL_PERIOD,
    COL_GAP,
    COL_INPUT,
    COL_FORWARD,
    COL_BACKWARD,
    COL_TAIL,
    COL_UPDATE,
    COL_LAUNCH,
    COL_DEVICE,
    COL_BUSY,
    COL_ALL_REDUCE,
    COL_EXPOSED,
    COL_WORKS,
    COLUMNS
};

/* Not a time: its place in struct tbp_step_times is 0. */
#define TIME(member) offsetof(struct tbp_step_times, member)
static const struct {
    struct tbp_column column;
    size_t time;
} all_columns[COLUMNS] = {
    [COL_STEP] = {{"step", "Step", TBP_CELL_COUNT, false, false}, 0},
    [COL_HOST] = {{"host", "Host", TBP_CELL_TEXT, false, true}, 0},
    [COL_NAME] = {{"name", "Name", TBP_CELL_TEXT, true, true}, 0},
    [COL_START] = {{"start_us", "Start", TBP_CELL_TIME, true, false}, 0},
    [COL_MARKER] = {{"marker_us", "Marker", TBP_CELL_TIME, false, false}, TIME(marker_ps)},
    [COL_PERIOD] = {{"period_us", "Period", TBP_CELL_TIME, false, false}, TIME(period_ps)},
    [COL_GAP] = {{"gap_us", "Gap", TBP_CELL_TIME, false, false}, TIME(gap_ps)},
    [COL_INPUT] = {{"input_us", "Input", TBP_CELL_TIME, false, false}, TIME(input_ps)},
    [COL_FORWARD] = {{"forward_us", "Forward", TBP_CELL_TIME, false, false}, TIME(forward_ps)},
    [COL_BACKWARD] = {{"backward_us", "Backward", TBP_CELL_TIME, false, false}, TIME(backward_ps)},
    [COL_TAIL] = {{"tail_us", "Tail", TBP_CELL_TIME, false, false}, TIME(tail_ps)},
    [COL_UPDATE] = {{"update_us", "Update", TBP_CELL_TIME, false, false}, TIME(update_ps)},
    [COL_LAUNCH] = {{"launch_us", "Launch", TBP_CELL_TIME, false, false}, TIME(launch_ps)},
    [COL_DEVICE] = {{"device_us", "Device", TBP_CELL_TIME, false, false}, TIME(device_ps)},
    [COL_BUSY] = {{"busy_us", "Busy", TBP_CELL_TIME, false, false}, TIME(busy_ps)},
    [COL_ALL_REDUCE] = {{"all_reduce_us", "All-reduce", TBP_CELL_TIME, false, false},
                        TIME(all_reduce_ps)},
    [COL_EXPOSED] = {{"exposed_us", "Exposed", TBP_CELL_TIME, false, false}, TIME(exposed_ps)},
    [COL_WORKS] = {{"device_works", "Works", TBP_CELL_COUNT, true, false}, 0},
};
#undef TIME

struct steps {
    struct tbp_step_trace trace;
    struct tbp_findings findings;
    struct tbp_column columns[COLUMNS];
    uint64_t first_ps; /* starts are shown from here */
    enum tbp_step_source_kind kind;
};

static int64_t time_of(const struct tbp_step_times *t, size_t column) {
    int64_t ps;
    memcpy(&ps, (const char *)t + all_columns[column].time, sizeof ps);
    return ps;
}

static void cell(const void *ctx, size_t row, size_t column, struct tbp_cell *out) {
    const struct steps *s = ctx;
    const struct tbp_step_times *t = &s->trace.list.at[row];
    switch (column) {
    case COL_STEP:
        *out = tbp_cell_i(t->number);
        break;
    case COL_HOST:
        *out = tbp_cell_text(t->host);
        break;
    case COL_NAME:
        *out = tbp_cell_text(t->name);
        break;
    case COL_START:
        *out = tbp_cell_i((int64_t)(t->start_ps - s->first_ps));
        break;
    case COL_WORKS:
        *out = tbp_cell_i((int64_t)t->n_works);
        break;
    default:
        out->i = time_of(t, column);
        out->is_known = out->i != TBP_UNKNOWN_PS;
    }
}

/* ---- summary ---- */

struct summary {
    size_t n; /* steps that know it */
    int64_t mean_ps, median_ps, min_ps, max_ps;
};

static int by_size(const void *a, const void *b, void *ctx) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    (void)ctx;
    return (x > y) - (x < y);
}

static struct summary summarise(const struct tbp_step_trace *t, size_t column) {
    TBP_VEC(int64_t) v = {0};
    struct summary s = {0};
    double sum = 0;
    for (size_t i = 0; i < t->list.n; i++) {
        int64_t ps = time_of(&t->list.at[i], column);
        if (ps == TBP_UNKNOWN_PS)
            continue;
        *tbp_vec_push(&v) = ps;
        sum += (double)ps;
    }
    if (v.n) {
        tbp_sort(v.at, v.n, sizeof *v.at, by_size, NULL);
        int64_t low = v.at[(v.n - 1) / 2], high = v.at[v.n / 2];
        s = (struct summary){v.n, tbp_whole_ps(sum / (double)v.n), low + (high - low) / 2, v.at[0],
                             v.at[v.n - 1]};
    }
    tbp_vec_release(&v);
    return s;
}

static void put_summary_json(struct tbp_json *j, const struct tbp_step_trace *t) {
    const char *comma = "";
    tbp_json_char(j, '{');
    for (size_t c = COL_MARKER; c <= COL_EXPOSED; c++) {
        struct summary s = summarise(t, c);
        tbp_json_printf(j, "%s\"%s\":", comma, all_columns[c].column.key);
        comma = ",";
        if (s.n == 0) {
            tbp_json_lit(j, "null");
            continue;
        }
        tbp_json_printf(j, "{\"steps\":%zu", s.n);
        tbp_put_us(j, ",\"mean\":", s.mean_ps);
        tbp_put_us(j, ",\"median\":", s.median_ps);
        tbp_put_us(j, ",\"min\":", s.min_ps);
        tbp_put_us(j, ",\"max\":", s.max_ps);
        tbp_json_char(j, '}');
    }
    tbp_json_char(j, '}');
}

static void put_json(struct tbp_json *j, const void *ctx, const struct tbp_table *t) {
    const struct steps *s = ctx;
    const struct tbp_step_outside *o = &s->trace.outside;
    tbp_json_lit(j, "{\"schema\":\"tbprof.steps/1\",\"known\":");
    tbp_json_lit(j, s->trace.list.n ? "true" : "false");
    tbp_json_lit(j, ",\"marked_by\":");
    tbp_json_lit(j, !s->trace.list.n            ? "null"
                    : s->kind != TBP_STEPS_AUTO ? "\"option\""
                    : s->trace.is_of_device     ? "\"device\""
                                                : "\"host\"");
    tbp_json_lit(j, ",\"summary\":");
    put_summary_json(j, &s->trace);
    tbp_put_us(j, ",\"outside\":{\"input_us\":", (int64_t)o->input_ps);
    tbp_json_printf(j, ",\"device_works\":%llu", (unsigned long long)o->n_works);
    tbp_put_us(j, ",\"device_work_us\":", (int64_t)o->work_ps);
    tbp_json_lit(j, "},\"findings\":");
    tbp_findings_json(j, &s->findings);
    tbp_json_lit(j, ",\"steps\":");
    tbp_table_json(j, t);
    tbp_json_lit(j, "}\n");
}

static void put_summary_line(struct tbp_json *j, const struct tbp_step_trace *t, size_t column) {
    struct summary s = summarise(t, column);
    const int64_t values[] = {s.mean_ps, s.median_ps, s.min_ps, s.max_ps};
    static const char *const names[] = {"mean", "median", "min", "max"};
    char text[TBP_VALUE_MAX];
    tbp_json_printf(j, "%-11s", all_columns[column].column.title);
    for (size_t i = 0; s.n && i < sizeof values / sizeof *values; i++) {
        tbp_json_printf(j, "%s%s ", i ? ", " : "", names[i]);
        tbp_json_raw(j, text, tbp_time_text(text, values[i]));
    }
    tbp_json_lit(j, s.n ? "\n" : "unknown\n");
}

static void put_text(struct tbp_json *j, const void *ctx, const struct tbp_table *t, bool color) {
    const struct steps *s = ctx;
    static const enum column shown[] = {COL_MARKER, COL_PERIOD, COL_INPUT, COL_BUSY};
    const struct tbp_step_outside *o = &s->trace.outside;
    char text[TBP_VALUE_MAX];
    if (s->trace.list.n == 0) {
        tbp_json_lit(j, s->kind == TBP_STEPS_NONE
                            ? "steps: none, because --steps none asks for that\n"
                        : s->kind != TBP_STEPS_AUTO
                            ? "steps: unknown, because --steps finds none\n"
                            : "steps: unknown, because nothing in the profile marks them\n");
        tbp_findings_text(j, &s->findings, color);
        return;
    }
    tbp_table_text(j, t, color);
    if (t->n_rows < s->trace.list.n)
        tbp_json_printf(j, "%zu of %zu steps; --limit 0 shows all\n", t->n_rows, s->trace.list.n);
    tbp_json_char(j, '\n');
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        put_summary_line(j, &s->trace, shown[i]);
    if (o->input_ps || o->n_works) {
        tbp_json_lit(j, "outside of steps: input ");
        tbp_json_raw(j, text, tbp_time_text(text, (int64_t)o->input_ps));
        tbp_json_printf(j, ", %llu device works of ", (unsigned long long)o->n_works);
        tbp_json_raw(j, text, tbp_time_text(text, (int64_t)o->work_ps));
        tbp_json_char(j, '\n');
    }
    tbp_findings_text(j, &s->findings, color);
}

static void choose_columns(struct steps *s, bool several_hosts) {
    for (size_t c = 0; c < COLUMNS; c++) {
        s->columns[c] = all_columns[c].column;
        if (c >= COL_INPUT && c <= COL_EXPOSED) /* nobody needs a column of zeros or dashes */
            s->columns[c].is_hidden = summarise(&s->trace, c).max_ps == 0;
    }
    s->columns[COL_HOST].is_hidden = !several_hosts;
}

static int put(struct steps *s, const struct tbp_report_request *r, bool several_hosts,
               struct tbp_sink *out, struct tbp_error *err) {
    static const struct tbp_table_frame frame = {put_json, put_text};
    size_t n = s->trace.list.n;
    choose_columns(s, several_hosts);
    struct tbp_table t = {.columns = s->columns,
                          .n_columns = COLUMNS,
                          .n_rows = r->limit && r->limit < n ? r->limit : n,
                          .cell = cell,
                          .ctx = s};
    return tbp_table_put(&t, r->format, r->color, &frame, &s->findings.arena, out, err);
}

/* Starts of the steps from `before` on become those of the common clock. */
static void note_starts(struct steps *s, size_t before, const struct tbp_host_clock *clock) {
    for (size_t k = before; k < s->trace.list.n; k++) {
        uint64_t *start_ps = &s->trace.list.at[k].start_ps;
        *start_ps = tbp_common_ps(clock, *start_ps);
        if (k == 0 || (int64_t)(*start_ps - s->first_ps) < 0)
            s->first_ps = *start_ps;
    }
}

/* A mistyped op is no reason to show other figures in silence. */
static void find_point(struct steps *s, const char *option, const char *op, bool is_there) {
    tbp_finding_add(&s->findings,
                    &(struct tbp_finding){.key = "no_such_op",
                                          .spoils = TBP_SPOILS_STEPS,
                                          .count = op && !is_there,
                                          .text = tbp_arena_printf(&s->findings.arena,
                                                                   "no op is called '%s' (%s)",
                                                                   op ? op : "", option),
                                          .advice = "'tbprof stats' lists the names of ops"});
}

static int collect(struct steps *s, struct tbp_session *session, const struct tbp_report_request *r,
                   struct tbp_error *err) {
    uint32_t first = tbp_report_first_host(r), end = tbp_report_end_host(session, r);
    for (uint32_t i = first; i < end; i++) {
        const struct tbp_host *h;
        int status = tbp_unread_load(r->unread, session, i, &h, err);
        if (status)
            return status;
        if (!h)
            continue;
        size_t before = s->trace.list.n;
        tbp_step_trace_add(&s->trace, h, tbp_session_host_name(session, i), r->fp_point,
                           r->bp_point);
        struct tbp_host_clock clock = tbp_host_clock_of(h);
        for (size_t k = 0; k < r->n_clock_offsets; k++)
            if (tbp_clock_offset_is_of(&r->clock_offsets[k], tbp_session_host_name(session, i),
                                       tbp_host_rank(h, NULL)))
                clock.ahead_ps = r->clock_offsets[k].ahead_ps;
        note_starts(s, before, &clock);
        if (end - first > 1)
            tbp_session_release_events(session, i);
    }
    if (tbp_unread_check(r->unread, err))
        return err->code;
    find_point(s, "--fp-point", r->fp_point, s->trace.has_fp_point);
    find_point(s, "--bp-point", r->bp_point, s->trace.has_bp_point);
    return tbp_findings_collect(&s->findings, session, first, end, TBP_SPOILS_STEPS, err);
}

static int write(struct tbp_session *session, const struct tbp_report_request *r,
                 struct tbp_sink *out, struct tbp_error *err) {
    struct steps s = {.kind = tbp_session_steps_kind(session)};
    tbp_findings_init(&s.findings);
    int status = collect(&s, session, r, err);
    if (!status)
        status =
            put(&s, r, tbp_report_end_host(session, r) - tbp_report_first_host(r) > 1, out, err);
    tbp_step_trace_release(&s.trace);
    tbp_findings_release(&s.findings);
    return status;
}

const struct tbp_report tbp_report_steps = {
    .name = "steps",
    .help = "time per step and its parts",
    .write = write,
};
