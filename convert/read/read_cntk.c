/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader of what CNTK's performance profiler leaves: the detail log as a table or (newest) as trace
 * events, and the summary in text. Names begin with an underscore per level. Iterations over
 * minibatches are the steps, fetching a minibatch is the wait for input. A summary tells no times:
 * its events are laid end to end. Source: reference trace_kernel_memory_import F.4, G.5.
 */
#include "base/sort.h"
#include "convert/read/json_trace.h"
#include "convert/read/reader.h"
#include "convert/read/text_lines.h"

#include <stdio.h>

struct mark {
    int64_t start_ns;
    uint32_t row;
};

struct cntk {
    struct tbp_json_trace jt; /* its trace takes the events of all forms */
    TBP_VEC(struct mark) steps;
};

static const char heading[] = "EventDescription";
static const char report[] = "CNTK Performance Profiler Summary Report";

/* ---- events ---- */

static struct tbp_str without_level(struct tbp_str name, size_t *level) {
    *level = 0;
    while (*level < name.n && name.p[*level] == '_')
        ++*level;
    return tbp_str_sub(name, *level, name.n);
}

/* Tables know waits for input by how their names begin. */
static uint32_t name_of(struct cntk *c, struct tbp_str name) {
    char text[96];
    struct tbp_trace *t = &c->jt.trace;
    if (!tbp_str_is(name, "Get Minibatch"))
        return tbp_trace_text(t, name);
    int n = snprintf(text, sizeof text, "IteratorGetNext: %.*s", (int)name.n, name.p);
    return tbp_trace_text(t, (struct tbp_str){text, (size_t)n});
}

/* e: track, times, what pairs it. */
static void add(struct cntk *c, struct tbp_str described, struct tbp_trace_event *e) {
    size_t level;
    struct tbp_trace *t = &c->jt.trace;
    uint32_t row = (uint32_t)t->rows.n;
    struct tbp_str name = without_level(described, &level);
    bool is_step = tbp_str_is(name, "Minibatch Iteration");
    e->name = name_of(c, name);
    if (!is_step && level > 1)
        e->flags |= TBP_TRACE_OP;
    tbp_trace_add(t, e);
    if (is_step && t->rows.n > row && !(e->flags & TBP_TRACE_END))
        *tbp_vec_push(&c->steps) = (struct mark){e->start_ns, row};
}

/* Those of one moment by their threads. */
static int by_start(const void *a, const void *b, void *ctx) {
    const struct mark *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    const struct tbp_trace *t = ctx;
    int64_t p = t->tracks.at[t->rows.at[x->row].track].id;
    int64_t q = t->tracks.at[t->rows.at[y->row].track].id;
    return p < q ? -1 : p > q;
}

static void number_steps(struct cntk *c) {
    tbp_sort(c->steps.at, c->steps.n, sizeof *c->steps.at, by_start, &c->jt.trace);
    for (size_t i = 0; i < c->steps.n; i++) {
        struct tbp_trace_row *row = &c->jt.trace.rows.at[c->steps.at[i].row];
        row->flags |= TBP_TRACE_STEP;
        row->link = i + 1;
    }
}

/* ---- detail as a table ---- */

static void refuse_row(struct cntk *c, uint64_t offset) {
    struct tbp_ledger *l = &c->jt.host->ledger;
    l->events_read++;
    l->events_dropped++;
    tbp_ledger_count(l, TBP_LEDGER_SHORT_ROW, 1, offset);
}

static bool next_line(struct tbp_str *rest, struct tbp_str *line) {
    if (!tbp_text_next_line(rest, line))
        return false;
    while (line->n && tbp_text_is_blank(line->p[line->n - 1]))
        line->n--;
    return true;
}

static bool thread_number(struct tbp_str s, int64_t *thread) {
    uint64_t v = 0;
    if (tbp_json_id(s, thread))
        return true;
    if (!tbp_str_starts_nocase(s, "0x") || s.n < 3 || s.n > 18)
        return false;
    for (size_t i = 2; i < s.n; i++) {
        char ch = s.p[i];
        unsigned digit = ch >= '0' && ch <= '9'   ? (unsigned)(ch - '0')
                         : ch >= 'a' && ch <= 'f' ? (unsigned)(ch - 'a' + 10)
                         : ch >= 'A' && ch <= 'F' ? (unsigned)(ch - 'A' + 10)
                                                  : 16;
        if (digit > 15)
            return false;
        v = v << 4 | digit;
    }
    *thread = (int64_t)v;
    return true;
}

/* Quotes within the text are not doubled: the three numbers are what follows the last commas. */
static bool split(struct tbp_str line, struct tbp_str *text, struct tbp_str numbers[3]) {
    for (int i = 3; i-- > 0;) {
        size_t comma = tbp_str_rfind(line, ',');
        if (comma >= line.n)
            return false;
        numbers[i] = tbp_str_sub(line, comma + 1, line.n);
        line = tbp_str_sub(line, 0, comma);
    }
    bool is_quoted = line.n >= 2 && line.p[0] == '"' && line.p[line.n - 1] == '"';
    *text = is_quoted ? tbp_str_sub(line, 1, line.n - 1) : line;
    return is_quoted || line.n == 0 || line.p[0] != '"'; /* else there are more numbers */
}

static bool is_near(int64_t ns) {
    return ns < INT64_MAX / 4 && ns > -INT64_MAX / 4;
}

static void read_row(struct cntk *c, struct tbp_str line, uint64_t offset) {
    const int ms_to_ns = 6;
    struct tbp_str text, numbers[3];
    struct tbp_trace_event e = {0};
    int64_t thread, end_ns;
    unsigned end_ps;
    if (!split(line, &text, numbers) || !thread_number(numbers[0], &thread) ||
        !tbp_json_decimal(numbers[1], ms_to_ns, &e.start_ns, &e.start_ps) ||
        !tbp_json_decimal(numbers[2], ms_to_ns, &end_ns, &end_ps) || !is_near(e.start_ns) ||
        !is_near(end_ns)) {
        refuse_row(c, offset);
        return;
    }
    int64_t dur_ns = end_ns - e.start_ns;
    if (dur_ns < 0 || (dur_ns == 0 && end_ps < e.start_ps))
        tbp_ledger_count(&c->jt.host->ledger, TBP_LEDGER_NEGATIVE_TIME, 1, offset);
    else if (dur_ns < INT64_MAX / 1000)
        e.dur_ps = (uint64_t)dur_ns * 1000 + end_ps - e.start_ps;
    e.track = tbp_trace_thread(&c->jt.trace, 0, thread);
    add(c, text, &e);
}

static void read_table(struct cntk *c, struct tbp_str bytes) {
    struct tbp_str rest = bytes, line, first = TBP_STR_NONE;
    while (next_line(&rest, &line)) {
        if (first.n == 0)
            first = line; /* the heading, once more where another log stands behind this one */
        else if (line.n && !tbp_str_eq(line, first))
            read_row(c, line, (uint64_t)(line.p - bytes.p));
    }
}

/* ---- detail as trace events ---- */

static void read_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    struct cntk *c = jt->ctx;
    struct tbp_trace_event out = {0};
    int64_t pid, tid;
    bool is_text;
    if (!e->ph || !strchr("BEXi", e->ph)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
        return;
    }
    if (!tbp_json_trace_time(&e->ts, &out.start_ns, &out.start_ps)) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NO_TIME);
        return;
    }
    tbp_json_trace_id(jt, &e->pid, &pid, &is_text);
    tbp_json_trace_id(jt, &e->tid, &tid, &is_text);
    out.track = tbp_trace_thread(&jt->trace, pid, tid);
    out.flags = e->ph == 'B' ? TBP_TRACE_BEGIN : e->ph == 'E' ? TBP_TRACE_END : 0;
    if (e->ph == 'X')
        out.dur_ps = tbp_json_trace_duration(jt, e);
    add(c, tbp_json_trace_text(jt, &e->name), &out);
}

static const struct tbp_json_dialect dialect = {.event = read_event};

/* ---- the summary ---- */

static bool take_word(struct tbp_str *s, struct tbp_str *word) {
    size_t i = 0, from;
    while (i < s->n && s->p[i] == ' ')
        i++;
    from = i;
    while (i < s->n && s->p[i] != ' ')
        i++;
    *word = tbp_str_sub(*s, from, i);
    *s = tbp_str_sub(*s, i, s->n);
    return word->n > 0;
}

/* "12.345 ms" or "HH:MM:SS.mmm". */
static bool take_time(struct tbp_str *s, uint64_t *ps) {
    struct tbp_str word, unit, before;
    int64_t ns, hours = 0, minutes = 0;
    unsigned rest_ps;
    if (!take_word(s, &word))
        return false;
    bool is_clock = tbp_str_find(word, ':') < word.n;
    if (is_clock) {
        size_t last = tbp_str_rfind(word, ':'), first = tbp_str_find(word, ':');
        before = tbp_str_sub(word, 0, first);
        if (!tbp_str_to_i64(before, &hours) || last == first ||
            !tbp_str_to_i64(tbp_str_sub(word, first + 1, last), &minutes))
            return false;
        word = tbp_str_sub(word, last + 1, word.n);
    } else if (!take_word(s, &unit) || !tbp_str_is(unit, "ms")) {
        return false;
    }
    if (!tbp_json_decimal(word, is_clock ? 9 : 6, &ns, &rest_ps) || ns < 0 || hours < 0 ||
        minutes < 0 || hours > 1000000 || minutes > 1000000 || ns > INT64_MAX / 4000)
        return false;
    *ps = (uint64_t)ns * 1000 + rest_ps;
    return !__builtin_add_overflow(*ps, (uint64_t)(hours * 3600 + minutes * 60) * 1000000000000u,
                                   ps);
}

/* Count and total are what is shown; no more events than this per row, the last takes the rest. */
static void lay_out(struct cntk *c, struct tbp_str name, uint64_t count, uint64_t total_ps,
                    uint64_t *at_ps) {
    enum { MAX_EVENTS = 100000 };
    uint64_t n = count < MAX_EVENTS ? count : 1;
    for (uint64_t i = 0; i < n; i++) {
        struct tbp_trace_event e = {.track = tbp_trace_thread(&c->jt.trace, 0, 0),
                                    .start_ns = (int64_t)(*at_ps / 1000),
                                    .start_ps = (unsigned)(*at_ps % 1000),
                                    .dur_ps = i + 1 < n ? total_ps / n
                                                        : total_ps - total_ps / n * (n - 1),
                                    .flags = TBP_TRACE_OP,
                                    .name = tbp_trace_text(&c->jt.trace, name)};
        tbp_trace_add(&c->jt.trace, &e);
        *at_ps += e.dur_ps;
    }
}

/* "NAME : mean stddev min max count total"; throughputs (MBps) have no times. */
static bool read_summary_row(struct cntk *c, struct tbp_str line, uint64_t *at_ps) {
    const uint64_t far_ps = UINT64_MAX / 8;
    static const char mark[] = ": ";
    const char *colon = memmem(line.p, line.n, mark, sizeof mark - 1);
    struct tbp_str word;
    uint64_t ps[4], count, total_ps;
    size_t level;
    if (!colon)
        return false;
    struct tbp_str name = tbp_str_sub(line, 0, (size_t)(colon - line.p));
    struct tbp_str rest = tbp_str_sub(line, name.n + 1, line.n);
    for (unsigned i = 0; i < 4; i++)
        if (!take_time(&rest, &ps[i]))
            return false;
    if (!take_word(&rest, &word) || !tbp_str_to_u64(word, &count) || !take_time(&rest, &total_ps) ||
        total_ps > far_ps || *at_ps > far_ps)
        return false;
    while (name.n && name.p[name.n - 1] == ' ')
        name.n--;
    lay_out(c, without_level(name, &level), count, total_ps, at_ps);
    return true;
}

static void read_summary(struct cntk *c, struct tbp_str bytes) {
    struct tbp_str rest = bytes, line;
    uint64_t at_ps = 0;
    while (next_line(&rest, &line)) {
        if (read_summary_row(c, line, &at_ps) || !tbp_str_has(line, "MBps"))
            continue;
        c->jt.host->ledger.events_read++;
        c->jt.host->ledger.events_dropped++;
        tbp_ledger_count(&c->jt.host->ledger, TBP_LEDGER_NOT_SHOWN, 1,
                         (uint64_t)(line.p - bytes.p));
    }
    tbp_trace_warn(&c->jt.trace,
                   TBP_STR("a summary tells no times: its events are laid end to end"));
}

/* ---- the reader ---- */

/* "…_detail_3.csv": 3. */
static void note_rank(struct cntk *c, struct tbp_str path) {
    size_t dot = tbp_str_rfind(path, '.'), line = tbp_str_rfind(path, '_');
    uint64_t rank;
    if (line < dot && dot < path.n && tbp_str_to_u64(tbp_str_sub(path, line + 1, dot), &rank))
        tbp_trace_plane_u64(&c->jt.trace, 0, "distributed_rank", rank);
}

static int read_cntk(struct tbp_host *host, struct tbp_pool *pool, struct tbp_error *err) {
    struct cntk c = {0};
    struct tbp_str bytes = {(const char *)host->input.data, host->input.size};
    (void)err;
    tbp_json_trace_begin(&c.jt, host, &dialect, &c);
    if (tbp_json_trace_looks_so(host->input.data, host->input.size))
        tbp_json_trace_document(&c.jt, bytes);
    else if (tbp_str_has(tbp_str_sub(bytes, 0, bytes.n < 256 ? bytes.n : 256), report))
        read_summary(&c, bytes);
    else
        read_table(&c, bytes);
    number_steps(&c);
    note_rank(&c, host->path);
    tbp_trace_find_wall_clock(&c.jt.trace);
    tbp_trace_finish(&c.jt.trace, pool);
    tbp_json_trace_end(&c.jt);
    tbp_vec_release(&c.steps);
    return TBP_OK;
}

enum { LIKELY = 65 };

static const char *const marks[] = {"\"_Minibatch Iteration\"", "\"__Get Minibatch\"",
                                    "\"__Forward + Backward\"", "\"__Weight Update\"", NULL};

static int probe(const uint8_t *data, size_t size) {
    enum { CERTAIN = 95, BEGINNING = 256 };
    struct tbp_str begin = {(const char *)data, size < BEGINNING ? size : BEGINNING};
    if (tbp_json_trace_looks_so(data, size))
        return tbp_json_trace_has_any(data, size, marks) ? LIKELY : 0;
    bool is_table = tbp_str_has(begin, heading) && tbp_str_has(begin, "BeginTimeStamp");
    return is_table || tbp_str_has(begin, report) ? CERTAIN : 0;
}

const struct tbp_reader tbp_reader_cntk = {
    .name = "cntk",
    .help = "logs of CNTK's profiler: *_detail_N.csv or .json, *_summary_N.txt",
    .probe = probe,
    .telling_texts = marks,
    .telling_score = LIKELY,
    .read = read_cntk,
};
