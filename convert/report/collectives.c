/* SPDX-License-Identifier: Apache-2.0
 *
 * `tbprof collectives`: a row per call, those that waited longest first; before them, as text, one
 * per host, and what is known of the clocks. Looks at host, format, color, limit, clock_offsets.
 */
#include "base/sort.h"
#include "convert/report/collective_calls.h"
#include "convert/report/findings.h"
#include "convert/report/report.h"

enum column {
    COL_NUMBER,
    COL_KIND,
    COL_NAME,
    COL_RULE,
    COL_GROUP,
    COL_STEP,
    COL_HOST,
    COL_RANK,
    COL_START,
    COL_DURATION,
    COL_WAIT,
    COL_TRANSFER,
    COL_SKEW,
    COL_LATE,
    COL_MEDIAN,
    COL_BYTES,
    COL_SPEED,
    COL_BUS_SPEED,
    COLUMNS
};

static const struct tbp_column call_columns[COLUMNS] = {
    [COL_NUMBER] = {"collective", "No.", TBP_CELL_COUNT, false, false},
    [COL_KIND] = {"kind", "Kind", TBP_CELL_TEXT, false, false},
    [COL_NAME] = {"name", "Name", TBP_CELL_TEXT, true, true},
    [COL_RULE] = {"recognised_by", "By", TBP_CELL_TEXT, true, false},
    [COL_GROUP] = {"group", "Group", TBP_CELL_TEXT, true, true},
    [COL_STEP] = {"step", "Step", TBP_CELL_COUNT, false, false},
    [COL_HOST] = {"host", "Host", TBP_CELL_TEXT, false, true},
    [COL_RANK] = {"rank", "Rank", TBP_CELL_COUNT, false, false},
    [COL_START] = {"start_us", "Start", TBP_CELL_TIME, false, false},
    [COL_DURATION] = {"duration_us", "Duration", TBP_CELL_TIME, false, false},
    [COL_WAIT] = {"wait_us", "Waited", TBP_CELL_TIME, false, false},
    [COL_TRANSFER] = {"transfer_us", "Transfer", TBP_CELL_TIME, false, false},
    [COL_SKEW] = {"skew_us", "Skew", TBP_CELL_TIME, true, false},
    [COL_LATE] = {"late", "Late", TBP_CELL_TEXT, false, false},
    [COL_MEDIAN] = {"median_us", "Median", TBP_CELL_TIME, false, false},
    [COL_BYTES] = {"size_bytes", "Size", TBP_CELL_BYTES, false, false},
    [COL_SPEED] = {"algorithm_gbps", "GB/s", TBP_CELL_REAL, false, false},
    [COL_BUS_SPEED] = {"bus_gbps", "Bus GB/s", TBP_CELL_REAL, false, false},
};

enum host_column {
    OF_HOST,
    OF_RANK,
    OF_CALLS,
    OF_MATCHED,
    OF_COMMUNICATION,
    OF_WAITED,
    OF_TRANSFER,
    OF_COMPUTE,
    OF_OVERLAP,
    OF_BUSY,
    OF_SHARE,
    OF_STEADY_SHARE,
    OF_LATE,
    OF_WAITED_FOR,
    HOST_COLUMNS
};

static const struct tbp_column host_columns[HOST_COLUMNS] = {
    [OF_HOST] = {"host", "Host", TBP_CELL_TEXT, false, true},
    [OF_RANK] = {"rank", "Rank", TBP_CELL_COUNT, false, false},
    [OF_CALLS] = {"collectives", "Calls", TBP_CELL_COUNT, false, false},
    [OF_MATCHED] = {"matched", "Matched", TBP_CELL_COUNT, true, false},
    [OF_COMMUNICATION] = {"communication_us", "Communication", TBP_CELL_TIME, false, false},
    [OF_WAITED] = {"waited_us", "Waited", TBP_CELL_TIME, false, false},
    [OF_TRANSFER] = {"transfer_us", "Transfer", TBP_CELL_TIME, false, false},
    [OF_COMPUTE] = {"compute_us", "Compute", TBP_CELL_TIME, false, false},
    [OF_OVERLAP] = {"overlap_us", "Overlap", TBP_CELL_TIME, true, false},
    [OF_BUSY] = {"busy_us", "Busy", TBP_CELL_TIME, false, false},
    [OF_SHARE] = {"communication_share", "Share", TBP_CELL_SHARE, false, false},
    [OF_STEADY_SHARE] = {"transfer_share", "Without waits", TBP_CELL_SHARE, false, false},
    [OF_LATE] = {"times_late", "Late", TBP_CELL_COUNT, false, false},
    [OF_WAITED_FOR] = {"waited_for_us", "Waited for", TBP_CELL_TIME, false, false},
};

struct report {
    struct tbp_collectives c;
    struct tbp_findings findings;
    const struct tbp_collective_call **rows; /* calls, the longest wait first */
    struct tbp_column columns[COLUMNS];
    uint64_t zero_ps; /* starts are shown from here, on the common clock */
};

/* ---- cells ---- */

static struct tbp_cell time_if(bool is_known, int64_t ps) {
    return (struct tbp_cell){.is_known = is_known, .i = ps};
}

static struct tbp_cell speed_of(const struct report *r, const struct tbp_collective_call *x,
                                bool bus) {
    double bytes_per_s;
    if (!tbp_collective_speed(&r->c, x, bus, &bytes_per_s))
        return (struct tbp_cell){.is_known = false};
    return tbp_cell_d(bytes_per_s / 1e9);
}

static struct tbp_cell what_cell(const struct report *r, const struct tbp_collective_call *x,
                                 size_t column) {
    const struct tbp_collective_op *op = &r->c.ops.at[x->op];
    const struct tbp_collective_host *h = &r->c.hosts.at[x->host];
    switch (column) {
    case COL_NUMBER:
        return tbp_cell_i((int64_t)x->number);
    case COL_KIND:
        return tbp_cell_text(tbp_str_c(op->kind));
    case COL_NAME:
        return tbp_cell_text(op->name);
    case COL_RULE:
        return tbp_cell_text(tbp_str_c(op->rule));
    case COL_GROUP:
        return tbp_cell_text(op->group);
    case COL_STEP:
        return time_if(x->step != TBP_NO_STEP, x->step);
    case COL_HOST:
        return tbp_cell_text(h->name);
    default:
        return time_if(h->rank >= 0, h->rank);
    }
}

static void cell(const void *ctx, size_t row, size_t column, struct tbp_cell *out) {
    const struct report *r = ctx;
    const struct tbp_collective_call *x = r->rows[row];
    const struct tbp_host_clock *clock = &r->c.hosts.at[x->host].clock;
    switch (column) {
    case COL_START:
        *out = time_if(clock->state != TBP_CLOCK_UNKNOWN || r->c.hosts.n == 1,
                       (int64_t)(tbp_common_ps(clock, x->start_ps) - r->zero_ps));
        break;
    case COL_DURATION:
        *out = tbp_cell_i((int64_t)x->dur_ps);
        break;
    case COL_WAIT:
        *out = time_if(x->is_matched, x->wait_ps);
        break;
    case COL_TRANSFER:
        *out = time_if(x->is_matched, x->transfer_ps);
        break;
    case COL_SKEW:
        *out = time_if(x->is_matched, x->skew_ps);
        break;
    case COL_LATE:
        *out = (struct tbp_cell){.is_known = x->is_matched,
                                 .s = x->is_late ? TBP_STR("late") : TBP_STR_NONE};
        break;
    case COL_MEDIAN:
        *out = tbp_cell_i(x->median_ps);
        break;
    case COL_BYTES:
        *out = time_if(x->bytes != 0, (int64_t)x->bytes);
        break;
    case COL_SPEED:
    case COL_BUS_SPEED:
        *out = speed_of(r, x, column == COL_BUS_SPEED);
        break;
    default:
        *out = what_cell(r, x, column);
    }
}

static struct tbp_cell share_of(int64_t part_ps, int64_t whole_ps) {
    if (whole_ps <= 0 || part_ps < 0)
        return (struct tbp_cell){.is_known = false};
    return tbp_cell_d((double)part_ps / (double)whole_ps);
}

static void host_cell(const void *ctx, size_t row, size_t column, struct tbp_cell *out) {
    const struct tbp_collective_host *h = &((const struct report *)ctx)->c.hosts.at[row];
    int64_t communication_ps = (int64_t)h->communication_ps, busy_ps = (int64_t)h->busy_ps;
    int64_t both_ps = communication_ps + (int64_t)h->compute_ps - busy_ps;
    bool is_matched = h->n_matched > 0, is_all = is_matched && h->n_matched == h->n_calls;
    bool has_device = busy_ps > 0;
    const struct tbp_cell cells[HOST_COLUMNS] = {
        [OF_HOST] = tbp_cell_text(h->name),
        [OF_RANK] = time_if(h->rank >= 0, h->rank),
        [OF_CALLS] = tbp_cell_i((int64_t)h->n_calls),
        [OF_MATCHED] = tbp_cell_i((int64_t)h->n_matched),
        [OF_COMMUNICATION] = time_if(!h->is_asked_only, communication_ps),
        [OF_WAITED] = time_if(is_matched, h->waited_ps),
        [OF_TRANSFER] = time_if(is_matched, h->transfer_ps),
        [OF_COMPUTE] = time_if(has_device, (int64_t)h->compute_ps),
        [OF_OVERLAP] = time_if(has_device, both_ps),
        [OF_BUSY] = time_if(has_device, busy_ps),
        [OF_SHARE] = share_of(communication_ps, busy_ps),
        [OF_STEADY_SHARE] = is_all
                                ? share_of(communication_ps - h->waited_ps, busy_ps - h->waited_ps)
                                : (struct tbp_cell){.is_known = false},
        [OF_LATE] = time_if(is_matched, (int64_t)h->n_late),
        [OF_WAITED_FOR] = time_if(is_matched, h->waited_for_ps),
    };
    *out = cells[column];
}

/* ---- order ---- */

static int by_wait(const void *a, const void *b, void *ctx) {
    const struct tbp_collective_call *const *x = a, *const *y = b;
    (void)ctx;
    int64_t s = (*x)->is_matched ? (*x)->wait_ps : 0, t = (*y)->is_matched ? (*y)->wait_ps : 0;
    return s < t ? 1 : s > t ? -1 : 0; /* stable: equal ones by number and host */
}

static void sort_rows(struct report *r) {
    size_t n = r->c.calls.n;
    r->rows = TBP_NEW_N(&r->c.arena, const struct tbp_collective_call *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct tbp_collective_call *x = &r->c.calls.at[i];
        uint64_t at_ps = tbp_common_ps(&r->c.hosts.at[x->host].clock, x->start_ps);
        if (i == 0 || (int64_t)(at_ps - r->zero_ps) < 0)
            r->zero_ps = at_ps;
        r->rows[i] = x;
    }
    tbp_sort(r->rows, n, sizeof *r->rows, by_wait, NULL);
}

static void choose_columns(struct report *r) {
    bool has_step = false, has_bytes = false;
    for (size_t i = 0; i < r->c.calls.n; i++) {
        has_step |= r->c.calls.at[i].step != TBP_NO_STEP;
        has_bytes |= r->c.calls.at[i].bytes != 0;
    }
    memcpy(r->columns, call_columns, sizeof r->columns);
    r->columns[COL_STEP].is_hidden = !has_step;
    r->columns[COL_BYTES].is_hidden = r->columns[COL_SPEED].is_hidden =
        r->columns[COL_BUS_SPEED].is_hidden = !has_bytes;
    r->columns[COL_MEDIAN].is_hidden = r->c.n_matched > 0;
}

/* ---- the whole ---- */

static struct tbp_table hosts_table(const struct report *r) {
    return (struct tbp_table){.columns = host_columns,
                              .n_columns = HOST_COLUMNS,
                              .n_rows = r->c.hosts.n,
                              .cell = host_cell,
                              .ctx = r};
}

static void put_json(struct tbp_json *j, const void *ctx, const struct tbp_table *t) {
    const struct report *r = ctx;
    struct tbp_table hosts = hosts_table(r);
    tbp_json_printf(j,
                    "{\"schema\":\"tbprof.collectives/1\",\"matched\":%llu,\"unmatched\":%llu,"
                    "\"clocks\":[",
                    (unsigned long long)r->c.n_matched, (unsigned long long)r->c.n_unmatched);
    for (size_t i = 0; i < r->c.hosts.n; i++)
        tbp_host_clock_json(j, &r->c.hosts.at[i].clock, r->c.hosts.at[i].name, i == 0);
    tbp_json_lit(j, "],\"findings\":");
    tbp_findings_json(j, &r->findings);
    tbp_json_lit(j, ",\"hosts\":");
    tbp_table_json(j, &hosts);
    tbp_json_lit(j, ",\"collectives\":");
    tbp_table_json(j, t);
    tbp_json_lit(j, "}\n");
}

static void put_text(struct tbp_json *j, const void *ctx, const struct tbp_table *t, bool color) {
    const struct report *r = ctx;
    struct tbp_table hosts = hosts_table(r);
    if (r->c.calls.n == 0) {
        tbp_json_lit(j, "no collectives in the profile\n");
        tbp_findings_text(j, &r->findings, color);
        return;
    }
    tbp_table_text(j, &hosts, color);
    tbp_json_char(j, '\n');
    tbp_table_text(j, t, color);
    if (t->n_rows < r->c.calls.n)
        tbp_json_printf(j, "%zu of %zu calls, the longest wait first; --limit 0 shows all\n",
                        t->n_rows, r->c.calls.n);
    tbp_json_char(j, '\n');
    if (r->c.hosts.n < 2)
        tbp_json_lit(j, "waiting: unknown, because one rank alone does not tell who was late; "
                        "median: of its calls of that op\n");
    else if (r->c.n_unmatched)
        tbp_json_printf(j,
                        "waiting of %llu calls: unknown, because the ranks here made unequally "
                        "many, or do not wait for each other in them\n",
                        (unsigned long long)r->c.n_unmatched);
    for (size_t i = 0; r->c.hosts.n > 1 && i < r->c.hosts.n; i++)
        tbp_host_clock_text(j, &r->c.hosts.at[i].clock, r->c.hosts.at[i].name,
                            r->c.hosts.at[r->c.first_host].name);
    tbp_findings_text(j, &r->findings, color);
}

static int put(struct report *r, const struct tbp_report_request *q, struct tbp_sink *out,
               struct tbp_error *err) {
    static const struct tbp_table_frame frame = {put_json, put_text};
    size_t n = r->c.calls.n;
    sort_rows(r);
    choose_columns(r);
    struct tbp_table t = {.columns = r->columns,
                          .n_columns = COLUMNS,
                          .n_rows = q->limit && q->limit < n ? q->limit : n,
                          .cell = cell,
                          .ctx = r};
    return tbp_table_put(&t, q->format, q->color, &frame, &r->c.arena, out, err);
}

/* Findings compare starts on the clocks that the calls are shown on. */
static void take_clocks(struct tbp_findings *f, const struct tbp_collectives *c) {
    int64_t *ahead_ps = TBP_NEW_N(&f->arena, int64_t, c->hosts.n + 1);
    for (size_t i = 0; i < c->hosts.n; i++)
        ahead_ps[i] = c->hosts.at[i].clock.ahead_ps;
    f->ahead_ps = ahead_ps;
}

static int write(struct tbp_session *session, const struct tbp_report_request *q,
                 struct tbp_sink *out, struct tbp_error *err) {
    struct report r = {.zero_ps = 0};
    uint32_t first = tbp_report_first_host(q), end = tbp_report_end_host(session, q);
    tbp_collectives_init(&r.c);
    tbp_findings_init(&r.findings);
    int status = tbp_collectives_collect(&r.c, session, first, end, q->clock_offsets,
                                         q->n_clock_offsets, q->unread, err);
    if (!status) {
        take_clocks(&r.findings, &r.c);
        status = tbp_findings_collect(&r.findings, session, first, end, TBP_SPOILS_RANKS, err);
    }
    if (!status)
        status = put(&r, q, out, err);
    tbp_findings_release(&r.findings);
    tbp_collectives_release(&r.c);
    return status;
}

const struct tbp_report tbp_report_collectives = {
    .name = "collectives",
    .help = "waiting and transfer of each collective, and who was late",
    .write = write,
};
