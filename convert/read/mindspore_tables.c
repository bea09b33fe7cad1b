/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of MindSpore's profiler folders: the step trace and what MindData tells of its queues.
 * Source: reference trace_kernel_memory_import F.5. Step traces count ticks of 10 ns.
 */
#include "base/sort.h"
#include "convert/read/read_mindspore.h"
#include "convert/read/step_name.h"
#include "convert/read/text_lines.h"

#include <stdio.h>

enum { TICK_NS = 10 };

enum { TEXT_BYTES = 160 };
static struct tbp_str joined(char text[TEXT_BYTES], const char *prefix, struct tbp_str s) {
    int n = snprintf(text, TEXT_BYTES, "%s%.*s", prefix, (int)(s.n < 100 ? s.n : 100), s.p);
    return (struct tbp_str){text, (size_t)n};
}

/* ---- step trace ---- */

struct step_columns {
    int number, start, end, fp, bp, interval, fp_and_bp, tail;
};

static bool ticks(struct tbp_csv *c, int column, int64_t *ns) {
    return tbp_csv_i64(c, column, ns) && *ns >= 0 && *ns < INT64_MAX / 4 / TICK_NS &&
           !__builtin_mul_overflow(*ns, TICK_NS, ns);
}

static void drop_row(struct tbp_mindspore *m, uint64_t offset) {
    struct tbp_ledger *l = &m->jt.host->ledger;
    l->events_read++;
    l->events_dropped++;
    tbp_ledger_count(l, TBP_LEDGER_SHORT_ROW, 1, offset);
}

static uint32_t made_thread(struct tbp_mindspore *m, int64_t number, const char *name) {
    struct tbp_trace *t = &m->jt.trace;
    uint32_t track = tbp_trace_thread(t, -1 - (int64_t)m->device, number);
    if (track != TBP_NO_TRACK && t->tracks.at[track].name.n == 0)
        tbp_trace_track_name(t, track, tbp_str_c(name));
    return track;
}

/* An interval from one column on, which lasts what another says. */
static bool part_of(struct tbp_csv *c, int from, int dur, struct tbp_trace_event *e) {
    int64_t dur_ns;
    if (!ticks(c, from, &e->start_ns) || !ticks(c, dur, &dur_ns) || dur_ns == 0 ||
        dur_ns > INT64_MAX / 1000)
        return false;
    e->dur_ps = (uint64_t)dur_ns * 1000;
    return true;
}

/* Phases are drawn on the device; the wait for input is the host's, too, which makes it input
 * time. */
static void add_phases(struct tbp_mindspore *m, struct tbp_csv *c, const struct step_columns *at) {
    struct tbp_trace *t = &m->jt.trace;
    const struct {
        int from, dur;
        const char *name;
    } phases[] = {{at->start, at->interval, "iteration_interval"},
                  {at->fp, at->fp_and_bp, "fp_and_bp"},
                  {at->bp, at->tail, "tail"}};
    struct tbp_trace_event e = {0};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (!part_of(c, phases[i].from, phases[i].dur, &e))
            continue;
        e.track = tbp_mindspore_line(m, "Step phases");
        e.name = tbp_trace_text(t, tbp_str_c(phases[i].name));
        tbp_trace_add(t, &e);
    }
    if (part_of(c, at->start, at->interval, &e)) {
        e.track = made_thread(m, 2, "Input");
        e.name = tbp_trace_text(t, TBP_STR("IteratorGetNext: iteration_interval"));
        tbp_trace_add(t, &e);
    }
}

/* Columns "X", "X_start_point" and "X_end_point": what ran beside the step, communication. */
static void add_parallel(struct tbp_mindspore *m, struct tbp_csv *c) {
    static const char suffix[] = "_start_point";
    struct tbp_trace *t = &m->jt.trace;
    for (size_t i = 0; i < c->heading.n; i++) {
        struct tbp_str name = c->heading.at[i];
        char text[TEXT_BYTES];
        struct tbp_trace_event e = {0};
        int64_t end_ns;
        if (!tbp_str_starts(name, "stream_") || !tbp_str_ends(name, suffix) ||
            i + 1 >= c->heading.n || !ticks(c, (int)i, &e.start_ns) ||
            !ticks(c, (int)i + 1, &end_ns) || e.start_ns == 0 || end_ns <= e.start_ns ||
            end_ns - e.start_ns > INT64_MAX / 1000)
            continue;
        name = tbp_str_sub(name, 0, name.n - (sizeof suffix - 1));
        e.name = tbp_trace_text(t, name);
        e.dur_ps = (uint64_t)(end_ns - e.start_ns) * 1000;
        e.track = tbp_trace_line(t, 0, joined(text, "Communication ", name));
        tbp_trace_add(t, &e);
    }
}

static void add_step(struct tbp_mindspore *m, struct tbp_csv *c, const struct step_columns *at,
                     bool is_mark) {
    struct tbp_trace *t = &m->jt.trace;
    struct tbp_ledger *l = &m->jt.host->ledger;
    struct tbp_trace_event e = {0};
    int64_t number, end_ns;
    bool is_number = tbp_csv_i64(c, at->number, &number);
    bool is_unsigned = is_number && tbp_step_is_unsigned(tbp_csv_text(c, at->number), number);
    if (!is_number || (number <= 0 && !is_unsigned)) { /* averages */
        l->events_read++;
        l->events_merged++;
        return;
    }
    if (!ticks(c, at->start, &e.start_ns) || !ticks(c, at->end, &end_ns) || end_ns < e.start_ns ||
        end_ns - e.start_ns > INT64_MAX / 1000) {
        drop_row(m, c->offset);
        return;
    }
    e.track = made_thread(m, 1, "Step trace");
    e.name = tbp_trace_text(t, TBP_STR("step"));
    e.dur_ps = (uint64_t)(end_ns - e.start_ns) * 1000;
    e.flags = is_mark ? TBP_TRACE_STEP : 0;
    e.link = (uint64_t)number;
    if (is_mark && is_unsigned)
        tbp_step_count_unsigned(m->jt.host);
    tbp_trace_add(t, &e);
    e.track = tbp_mindspore_line(m, "Step trace");
    tbp_trace_device_step(t, &e);
    *tbp_vec_push(&m->steps) = (struct tbp_mindspore_step){number, e.start_ns};
    add_phases(m, c, at);
    add_parallel(m, c);
}

static int by_number(const void *a, const void *b, void *ctx) {
    const struct tbp_mindspore_step *x = a, *y = b;
    (void)ctx;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

void tbp_mindspore_step_trace(struct tbp_mindspore *m, struct tbp_str csv, bool is_mark) {
    struct tbp_csv c;
    tbp_csv_init(&c, csv);
    struct step_columns at = {
        tbp_csv_column(&c, "step_num"),  tbp_csv_column(&c, "start_point"),
        tbp_csv_column(&c, "end_point"), tbp_csv_column(&c, "fp_point"),
        tbp_csv_column(&c, "bp_point"),  tbp_csv_column(&c, "iteration_interval"),
        tbp_csv_column(&c, "fp_and_bp"), tbp_csv_column(&c, "tail")};
    m->steps.n = 0;
    while (tbp_csv_next(&c))
        add_step(m, &c, &at, is_mark);
    tbp_sort(m->steps.at, m->steps.n, sizeof *m->steps.at, by_number, NULL);
    tbp_csv_release(&c);
}

/* ---- where timelines of Ascend begin ---- */

static void note_zero(struct tbp_mindspore *m, int64_t ns) {
    if (!m->has_zero || ns < m->zero_ns)
        m->zero_ns = ns;
    m->has_zero = true;
}

void tbp_mindspore_find_zero(struct tbp_mindspore *m, struct tbp_folder_file f) {
    bool is_aicpu = tbp_str_starts(f.name, "aicpu_");
    struct tbp_csv c;
    tbp_csv_init(&c, f.bytes);
    int column = tbp_csv_column(&c, is_aicpu ? "run_start" : "start_time(ms)");
    int64_t ns;
    unsigned ps;
    while (column != TBP_CSV_NONE && tbp_csv_next(&c))
        if (tbp_csv_time(&c, column, is_aicpu ? 3 : 6, &ns, &ps))
            note_zero(m, ns);
    tbp_csv_release(&c);
}

/* ---- MindData ---- */

/* A counter with its limit beside it. */
static void add_gauge(struct tbp_mindspore *m, uint32_t name, int64_t ns, int64_t size,
                      int64_t capacity) {
    struct tbp_trace *t = &m->jt.trace;
    tbp_trace_stat_double(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("size")), (double)size);
    if (capacity >= 0)
        tbp_trace_stat_double(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("capacity")),
                              (double)capacity);
    tbp_trace_add(
        t, &(struct tbp_trace_event){.track = tbp_trace_counters(t), .name = name, .start_ns = ns});
}

/* "[0, 2]": sizes of a queue, one per sampling interval. */
static void add_sizes(struct tbp_mindspore *m, uint32_t name, struct tbp_str list, int64_t step_ns,
                      int64_t capacity, int64_t parent) {
    struct tbp_trace *t = &m->jt.trace;
    int64_t size, ns = m->zero_ns;
    for (size_t i = 0; i < list.n; i++) {
        size_t from = i;
        while (i < list.n && list.p[i] >= '0' && list.p[i] <= '9')
            i++;
        if (i == from || !tbp_str_to_i64(tbp_str_sub(list, from, i), &size))
            continue;
        if (parent >= 0)
            tbp_trace_stat_i64(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("parent op")), parent);
        add_gauge(m, name, ns, size, capacity);
        ns += step_ns;
    }
}

void tbp_mindspore_pipeline(struct tbp_mindspore *m, struct tbp_str csv) {
    const int64_t longest_ms = 3600000;
    struct tbp_csv c;
    tbp_csv_init(&c, csv);
    int id = tbp_csv_column(&c, "op_id"), type = tbp_csv_column(&c, "op_type");
    int sizes = tbp_csv_column(&c, "output_queue_size"),
        length = tbp_csv_column(&c, "output_queue_length"),
        interval = tbp_csv_column(&c, "sample_interval"), above = tbp_csv_column(&c, "parent_id");
    while (tbp_csv_next(&c)) {
        int64_t number, ms, capacity, parent;
        char name[160];
        struct tbp_str op = tbp_csv_text(&c, type);
        if (!tbp_csv_i64(&c, id, &number) || !tbp_csv_i64(&c, interval, &ms) || ms <= 0 ||
            ms > longest_ms) {
            drop_row(m, c.offset);
            continue;
        }
        int n = snprintf(name, sizeof name, "minddata queue %lld %.*s", (long long)number,
                         (int)(op.n < 100 ? op.n : 100), op.p);
        uint32_t text = tbp_trace_text(&m->jt.trace, (struct tbp_str){name, (size_t)n});
        if (!tbp_csv_i64(&c, length, &capacity))
            capacity = -1;
        if (!tbp_csv_i64(&c, above, &parent))
            parent = -1;
        add_sizes(m, text, tbp_csv_text(&c, sizes), ms * 1000000, capacity, parent);
    }
    tbp_csv_release(&c);
}

/* Up to this many words of a line, between blanks. */
enum { MAX_WORDS = 6 };
static size_t split(struct tbp_str line, struct tbp_str words[MAX_WORDS]) {
    size_t n = 0;
    for (size_t i = 0; i < line.n && n < MAX_WORDS;) {
        size_t from = i;
        while (i < line.n && !tbp_text_is_blank(line.p[i]))
            i++;
        if (i > from)
            words[n++] = tbp_str_sub(line, from, i);
        i += i < line.n;
    }
    return n;
}

static int64_t start_of_step(const struct tbp_mindspore *m, int64_t number) {
    size_t from = 0, to = m->steps.n;
    while (from < to) {
        size_t mid = (from + to) / 2;
        if (m->steps.at[mid].number < number)
            from = mid + 1;
        else
            to = mid;
    }
    bool is_there = from < m->steps.n && m->steps.at[from].number == number;
    return is_there ? m->steps.at[from].start_ns : m->zero_ns;
}

/* "0 SUBTYPE STEP COST [CLOCK]" times, "1 CAPACITY STEP SIZE [CLOCK]" the queue. */
static bool add_queue_row(struct tbp_mindspore *m, struct tbp_str line) {
    static const char *const names[] = {"dataset get", "dataset push", "dataset total"};
    const int64_t ns_per_ms = 1000000;
    struct tbp_trace *t = &m->jt.trace;
    struct tbp_str words[MAX_WORDS];
    int64_t v[4];
    size_t n = split(line, words), k = 0;
    while (k < 4 && k < n && tbp_str_to_i64(words[k], &v[k]))
        k++;
    if (k < 4 || (v[0] != 0 && v[0] != 1))
        return false;
    int64_t start_ns = start_of_step(m, v[2]);
    if (v[0] == 1) {
        add_gauge(m, tbp_trace_text(t, TBP_STR("dataset queue")), start_ns, v[3], v[1]);
        return true;
    }
    if (v[1] < 0 || v[1] > 2 || v[3] < 0 || v[3] > INT64_MAX / 1000 / ns_per_ms)
        return false;
    tbp_trace_add(t, &(struct tbp_trace_event){.track = made_thread(m, 3 + v[1], names[v[1]]),
                                               .name = tbp_trace_text(t, tbp_str_c(names[v[1]])),
                                               .start_ns = start_ns,
                                               .dur_ps = (uint64_t)(v[3] * ns_per_ms) * 1000});
    return true;
}

static void each_line(struct tbp_mindspore *m, struct tbp_str text,
                      bool (*add)(struct tbp_mindspore *m, struct tbp_str line)) {
    const char *from = text.p;
    for (struct tbp_str line; tbp_text_next_line(&text, &line);)
        if (!tbp_text_is_empty(line) && !add(m, line))
            drop_row(m, (uint64_t)(line.p - from));
}

void tbp_mindspore_queue(struct tbp_mindspore *m, struct tbp_str text) {
    each_line(m, text, add_queue_row);
}

/* "GetNext… START END [QUEUE]" of Ascend, in µs: waits of the device for its input. */
static bool add_get_next(struct tbp_mindspore *m, struct tbp_str line) {
    struct tbp_str words[MAX_WORDS];
    struct tbp_trace *t = &m->jt.trace;
    const int64_t far_us = INT64_MAX / 4000000;
    int64_t start_us, end_us, size;
    char text[TEXT_BYTES];
    size_t n = split(line, words);
    if (n < 3 || !tbp_str_starts(words[0], "GetNext") || !tbp_str_to_i64(words[1], &start_us) ||
        !tbp_str_to_i64(words[2], &end_us) || start_us < 0 || end_us < start_us || end_us > far_us)
        return false;
    if (n > 3 && tbp_str_to_i64(words[3], &size))
        tbp_trace_stat_i64(t, TBP_TRACE_OWN, tbp_trace_text(t, TBP_STR("queue_size")), size);
    struct tbp_str name = joined(text, "IteratorGetNext: ", words[0]);
    tbp_trace_add(t, &(struct tbp_trace_event){.track = made_thread(m, 6, "MindData GetNext"),
                                               .name = tbp_trace_text(t, name),
                                               .start_ns = start_us * 1000,
                                               .dur_ps = (uint64_t)(end_us - start_us) * 1000000});
    return true;
}

void tbp_mindspore_get_next(struct tbp_mindspore *m, struct tbp_str rows) {
    each_line(m, rows, add_get_next);
}
