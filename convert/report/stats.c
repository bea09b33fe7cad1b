/* SPDX-License-Identifier: Apache-2.0
 *
 * `tbprof stats`: averages per op, as PyTorch's key_averages().table() and the dumps of MXNet give
 * them, from any input. Looks at host, format, color, limit, sort_by, group_by, depth,
 * is_ascending.
 */
#include "convert/report/stats.h"

#include "base/sort.h"
#include "convert/report/findings.h"
#include "convert/report/op_averages.h"
#include "convert/report/report.h"

enum column {
    COL_NAME,
    COL_CATEGORY,
    COL_GROUP,
    COL_SIDE,
    COL_SELF_SHARE,
    COL_SELF_CPU,
    COL_CPU_SHARE,
    COL_CPU,
    COL_SELF_DEVICE_SHARE,
    COL_SELF_DEVICE,
    COL_DEVICE,
    COL_AVG,
    COL_MIN,
    COL_MAX,
    COL_STDDEV,
    COL_SELF_CPU_MEMORY,
    COL_CPU_MEMORY,
    COL_SELF_DEVICE_MEMORY,
    COL_DEVICE_MEMORY,
    COL_COUNT,
    COLUMNS
};

static const struct tbp_column all_columns[COLUMNS] = {
    [COL_NAME] = {"name", "Name", TBP_CELL_TEXT, false, true},
    [COL_CATEGORY] = {"category", "Category", TBP_CELL_TEXT, true, false},
    [COL_GROUP] = {"group", "Group", TBP_CELL_TEXT, false, true},
    [COL_SIDE] = {"on", "On", TBP_CELL_TEXT, true, false},
    [COL_SELF_SHARE] = {"self_cpu_share", "Self CPU %", TBP_CELL_SHARE, false, false},
    [COL_SELF_CPU] = {"self_cpu_us", "Self CPU", TBP_CELL_TIME, false, false},
    [COL_CPU_SHARE] = {"cpu_share", "CPU total %", TBP_CELL_SHARE, false, false},
    [COL_CPU] = {"cpu_us", "CPU total", TBP_CELL_TIME, false, false},
    [COL_SELF_DEVICE_SHARE] = {"self_device_share", "Self device %", TBP_CELL_SHARE, false, false},
    [COL_SELF_DEVICE] = {"self_device_us", "Self device", TBP_CELL_TIME, false, false},
    [COL_DEVICE] = {"device_us", "Device total", TBP_CELL_TIME, false, false},
    [COL_AVG] = {"avg_us", "Avg", TBP_CELL_TIME, false, false},
    [COL_MIN] = {"min_us", "Min", TBP_CELL_TIME, false, false},
    [COL_MAX] = {"max_us", "Max", TBP_CELL_TIME, false, false},
    [COL_STDDEV] = {"stddev_us", "Std dev", TBP_CELL_TIME, false, false},
    [COL_SELF_CPU_MEMORY] = {"self_cpu_bytes", "Self CPU mem", TBP_CELL_BYTES, false, false},
    [COL_CPU_MEMORY] = {"cpu_bytes", "CPU mem", TBP_CELL_BYTES, false, false},
    [COL_SELF_DEVICE_MEMORY] = {"self_device_bytes", "Self device mem", TBP_CELL_BYTES, false,
                                false},
    [COL_DEVICE_MEMORY] = {"device_bytes", "Device mem", TBP_CELL_BYTES, false, false},
    [COL_COUNT] = {"count", "Count", TBP_CELL_COUNT, false, false},
};

const char *const tbp_stats_sort_choices[] = {
    "auto",          "self-cpu",
    "cpu",           "self-device",
    "device",        "avg",
    "min",           "max",
    "stddev",        "count",
    "name",          "self-cpu-memory",
    "cpu-memory",    "self-device-memory",
    "device-memory", NULL,
};
static const enum column sort_columns[] = {
    COL_SELF_CPU,      COL_SELF_CPU,
    COL_CPU,           COL_SELF_DEVICE,
    COL_DEVICE,        COL_AVG,
    COL_MIN,           COL_MAX,
    COL_STDDEV,        COL_COUNT,
    COL_NAME,          COL_SELF_CPU_MEMORY,
    COL_CPU_MEMORY,    COL_SELF_DEVICE_MEMORY,
    COL_DEVICE_MEMORY,
};

/* In the order of enum tbp_average_group. */
const char *const tbp_stats_group_choices[] = {"name",   "shape", "stack", "thread", "device",
                                               "module", "host",  "type",  NULL};
static const char *const group_titles[] = {"Group",  "Input shapes", "Stack", "Thread",
                                           "Device", "Module",       "Host",  "Type"};

struct stats {
    const struct tbp_session *session;
    const struct tbp_report_request *request;
    struct tbp_averages averages;
    uint32_t *order; /* rows as shown */
    enum column sort;
    bool is_ascending;
    struct tbp_column columns[COLUMNS];
    struct tbp_findings findings; /* what spoils times of host or device */
    bool is_device_unknown;
};

/* ---- cells ---- */

static double share(int64_t part, int64_t whole) {
    return whole ? (double)part / (double)whole : 0;
}

static struct tbp_cell host_cell(const struct tbp_average *r, int64_t v) {
    return r->is_device ? (struct tbp_cell){.s = TBP_STR_NONE} : tbp_cell_i(v);
}

static struct tbp_cell device_cell(const struct stats *s, int64_t v) {
    return (struct tbp_cell){.is_known = !s->is_device_unknown, .s = TBP_STR_NONE, .i = v};
}

static struct tbp_cell time_cell(const struct stats *s, const struct tbp_average *r,
                                 enum column c) {
    const struct tbp_averages *a = &s->averages;
    switch (c) {
    case COL_SELF_CPU:
        return host_cell(r, r->self_ps);
    case COL_CPU:
        return host_cell(r, r->total_ps);
    case COL_SELF_DEVICE:
        return device_cell(s, r->self_device_ps);
    case COL_DEVICE:
        return device_cell(s, r->total_device_ps);
    case COL_SELF_SHARE:
        return r->is_device ? host_cell(r, 0) : tbp_cell_d(share(r->self_ps, a->self_host_ps));
    case COL_CPU_SHARE:
        return r->is_device ? host_cell(r, 0) : tbp_cell_d(share(r->total_ps, a->self_host_ps));
    case COL_SELF_DEVICE_SHARE:
        return (struct tbp_cell){.is_known = !s->is_device_unknown,
                                 .d = share(r->self_device_ps, a->device_ps)};
    case COL_AVG:
        return tbp_cell_i(r->count ? r->total_ps / (int64_t)r->count : 0);
    case COL_MIN:
        return tbp_cell_i((int64_t)r->min_ps);
    case COL_MAX:
        return tbp_cell_i((int64_t)r->max_ps);
    default:
        return tbp_cell_i(tbp_whole_ps(tbp_average_stddev_ps(r)));
    }
}

static struct tbp_cell row_cell(const struct stats *s, const struct tbp_average *r, enum column c) {
    bool has_memory = s->averages.has_memory && !r->is_device;
    switch (c) {
    case COL_NAME:
        return tbp_cell_text(r->name);
    case COL_CATEGORY:
        return tbp_cell_text(r->category);
    case COL_GROUP:
        return tbp_cell_text(r->group);
    case COL_SIDE:
        return tbp_cell_text(r->is_device ? TBP_STR("device") : TBP_STR("host"));
    case COL_SELF_CPU_MEMORY:
        return (struct tbp_cell){.is_known = has_memory, .i = r->self_host_bytes};
    case COL_CPU_MEMORY:
        return (struct tbp_cell){.is_known = has_memory, .i = r->host_bytes};
    case COL_SELF_DEVICE_MEMORY:
        return (struct tbp_cell){.is_known = has_memory, .i = r->self_device_bytes};
    case COL_DEVICE_MEMORY:
        return (struct tbp_cell){.is_known = has_memory, .i = r->device_bytes};
    case COL_COUNT:
        return tbp_cell_i((int64_t)r->count);
    default:
        return time_cell(s, r, c);
    }
}

static void cell(const void *ctx, size_t row, size_t column, struct tbp_cell *out) {
    const struct stats *s = ctx;
    *out = row_cell(s, &s->averages.rows.at[s->order[row]], (enum column)column);
}

/* ---- order ---- */

static int compare_names(const struct tbp_average *a, const struct tbp_average *b) {
    int d = tbp_str_cmp(a->name, b->name);
    if (!d)
        d = tbp_str_cmp(a->category, b->category);
    if (!d)
        d = (int)a->is_device - (int)b->is_device;
    return d ? d : tbp_str_cmp(a->group, b->group);
}

static int64_t sort_value(const struct stats *s, const struct tbp_average *r) {
    if (s->sort == COL_CPU || s->sort == COL_SELF_CPU) /* host and device rows in one order */
        return r->is_device ? INT64_MIN : s->sort == COL_CPU ? r->total_ps : r->self_ps;
    return row_cell(s, r, s->sort).i;
}

/* Largest first, unless it is the other way round; ties by name. */
static int by_value(const void *a, const void *b, void *ctx) {
    const struct stats *s = ctx;
    const struct tbp_average *x = &s->averages.rows.at[*(const uint32_t *)a];
    const struct tbp_average *y = &s->averages.rows.at[*(const uint32_t *)b];
    if (s->sort == COL_NAME)
        return compare_names(x, y);
    int64_t u = sort_value(s, x), v = sort_value(s, y);
    int d = s->is_ascending ? (u > v) - (u < v) : (u < v) - (u > v);
    return d ? d : compare_names(x, y);
}

/* What is asked for can be sorted by; else the rows stand in the default order. */
static bool has_values(const struct stats *s, enum column c, const char **lacks) {
    const struct tbp_averages *a = &s->averages;
    switch (c) {
    case COL_SELF_DEVICE:
    case COL_DEVICE:
        *lacks = "no device times: rows are in order of self-cpu";
        return a->device_ps != 0;
    case COL_SELF_CPU_MEMORY:
    case COL_CPU_MEMORY:
        *lacks = "no memory events: rows are in order of self-cpu";
        return a->has_memory;
    case COL_SELF_DEVICE_MEMORY:
    case COL_DEVICE_MEMORY:
        *lacks = "no memory events of devices: rows are in order of self-cpu";
        return a->has_device_memory;
    default:
        return true;
    }
}

static void sort_rows(struct stats *s, const struct tbp_report_request *r,
                      struct tbp_arena *arena) {
    const struct tbp_averages *a = &s->averages;
    s->is_ascending = r->is_ascending;
    s->sort = sort_columns[r->sort_by];
    const char *lacks = NULL;
    if (!has_values(s, s->sort, &lacks)) {
        tbp_report_lacks(r, lacks);
        s->sort = COL_SELF_CPU;
    }
    if (r->sort_by == 0 && a->device_ps)
        s->sort = COL_SELF_DEVICE;
    s->order = TBP_NEW_N(arena, uint32_t, a->rows.n + 1);
    for (size_t i = 0; i < a->rows.n; i++)
        s->order[i] = (uint32_t)i;
    tbp_sort(s->order, a->rows.n, sizeof *s->order, by_value, s);
}

/* Rows of one name are told apart by something that nobody recorded. */
static void check_groups(const struct stats *s, const struct tbp_report_request *r) {
    static const char *const lacks[] = {
        [TBP_GROUP_SHAPE] = "no input shapes (record_shapes): rows are not told apart by them",
        [TBP_GROUP_STACK] = "no stacks (with_stack): rows are not told apart by them",
        [TBP_GROUP_MODULE] = "no modules (with_modules): rows are not told apart by them",
        [TBP_GROUP_TYPE] = NULL};
    const struct tbp_averages *a = &s->averages;
    size_t i = 0;
    while (i < a->rows.n && a->rows.at[i].group.n == 0)
        i++;
    if (i == a->rows.n && a->rows.n && lacks[r->group_by])
        tbp_report_lacks(r, lacks[r->group_by]);
}

/* ---- output ---- */

static const char *sort_name(const struct stats *s) {
    size_t i = 1;
    while (sort_columns[i] != s->sort)
        i++;
    return tbp_stats_sort_choices[i];
}

static void choose_columns(struct stats *s, const struct tbp_report_request *r) {
    static const enum column of_device[] = {COL_SELF_DEVICE_SHARE, COL_SELF_DEVICE, COL_DEVICE};
    static const enum column of_memory[] = {COL_SELF_CPU_MEMORY, COL_CPU_MEMORY,
                                            COL_SELF_DEVICE_MEMORY, COL_DEVICE_MEMORY};
    const struct tbp_averages *a = &s->averages;
    memcpy(s->columns, all_columns, sizeof all_columns);
    s->columns[COL_GROUP].title = group_titles[r->group_by];
    s->columns[COL_GROUP].is_hidden =
        r->group_by == TBP_GROUP_NAME || r->group_by == TBP_GROUP_TYPE;
    for (size_t i = 0; i < sizeof of_device / sizeof *of_device; i++)
        s->columns[of_device[i]].is_hidden = a->device_ps == 0;
    for (size_t i = 0; i < sizeof of_memory / sizeof *of_memory; i++)
        s->columns[of_memory[i]].is_hidden = !(i < 2 ? a->has_memory : a->has_device_memory);
}

static void put_json(struct tbp_json *j, const void *ctx, const struct tbp_table *t) {
    const struct stats *s = ctx;
    const struct tbp_report_request *r = s->request;
    const struct tbp_session *session = s->session;
    const char *comma = "";
    tbp_json_lit(j, "{\"schema\":\"tbprof.stats/1\",\"hosts\":[");
    for (uint32_t i = tbp_report_first_host(r); i < tbp_report_end_host(session, r); i++) {
        if (tbp_unread_has(r->unread, i))
            continue;
        tbp_json_lit(j, comma);
        tbp_json_str(j, tbp_session_host_name(session, i), TBP_JSON_GVIZ);
        comma = ",";
    }
    tbp_json_printf(j, "],\"group_by\":\"%s\",\"sort_by\":\"%s\",\"ascending\":%s",
                    tbp_stats_group_choices[r->group_by], sort_name(s),
                    s->is_ascending ? "true" : "false");
    tbp_json_printf(j, ",\"rows_total\":%zu,\"rows_shown\":%zu", s->averages.rows.n, t->n_rows);
    tbp_put_us(j, ",\"window_us\":", (int64_t)s->averages.window_ps);
    tbp_put_us(j, ",\"self_cpu_us\":", s->averages.self_host_ps);
    tbp_json_printf(j, ",\"clamped\":%llu,\"crossing\":%llu",
                    (unsigned long long)s->averages.n_clamped,
                    (unsigned long long)s->averages.n_crossing);
    if (s->is_device_unknown)
        tbp_json_lit(j, ",\"device_us\":null");
    else
        tbp_put_us(j, ",\"device_us\":", s->averages.device_ps);
    tbp_json_lit(j, ",\"findings\":");
    tbp_findings_json(j, &s->findings);
    tbp_json_lit(j, ",\"rows\":");
    tbp_table_json(j, t);
    tbp_json_lit(j, "}\n");
}

static void put_text(struct tbp_json *j, const void *ctx, const struct tbp_table *t, bool color) {
    const struct stats *s = ctx;
    char text[TBP_VALUE_MAX];
    tbp_table_text(j, t, color);
    tbp_json_lit(j, "\nSelf CPU time total: ");
    tbp_json_raw(j, text, tbp_time_text(text, s->averages.self_host_ps));
    if (s->averages.device_ps) {
        tbp_json_lit(j, "\nDevice time total: ");
        tbp_json_raw(j, text, tbp_time_text(text, s->averages.device_ps));
    } else if (s->is_device_unknown) {
        tbp_json_lit(j, "\nDevice time total: unknown, because no launch has a record");
    }
    tbp_json_char(j, '\n');
    if (s->averages.n_crossing)
        tbp_json_printf(j,
                        "%llu event%s inside another one of the thread and end%s after it: "
                        "nothing was taken off for that\n",
                        (unsigned long long)s->averages.n_crossing,
                        s->averages.n_crossing == 1 ? " begins" : "s begin",
                        s->averages.n_crossing == 1 ? "s" : "");
    tbp_findings_text(j, &s->findings, color);
    if (t->n_rows < s->averages.rows.n)
        tbp_json_printf(j, "%zu of %zu rows by %s; --limit 0 shows all\n", t->n_rows,
                        s->averages.rows.n, sort_name(s));
}

static int put(struct stats *s, struct tbp_sink *out, struct tbp_arena *arena,
               struct tbp_error *err) {
    static const struct tbp_table_frame frame = {put_json, put_text};
    const struct tbp_report_request *r = s->request;
    size_t n = s->averages.rows.n;
    choose_columns(s, r);
    struct tbp_table t = {.columns = s->columns,
                          .n_columns = COLUMNS,
                          .n_rows = r->limit && r->limit < n ? r->limit : n,
                          .cell = cell,
                          .ctx = s};
    return tbp_table_put(&t, r->format, r->color, &frame, arena, out, err);
}

/* Averages and findings host by host, so that one host's events are in memory. */
static int add_host(struct stats *s, struct tbp_session *session, uint32_t host,
                    const struct tbp_report_request *r, struct tbp_arena *arena,
                    struct tbp_error *err) {
    const unsigned wanted = TBP_SPOILS_HOST | TBP_SPOILS_DEVICE;
    const struct tbp_host *h;
    int status = tbp_unread_load(r->unread, session, host, &h, err);
    if (status)
        return status;
    if (!h) {
        tbp_findings_add_unreadable(&s->findings, tbp_session_host_name(session, host),
                                    r->unread->list.at[r->unread->list.n - 1].text);
        return TBP_OK;
    }
    tbp_averages_add_host(&s->averages, h, tbp_session_host_name(session, host),
                          (enum tbp_average_group)r->group_by, r->depth, arena);
    status = tbp_findings_collect(&s->findings, session, host, host + 1, wanted, err);
    tbp_session_release_events(session, host);
    return status;
}

static int write(struct tbp_session *session, const struct tbp_report_request *r,
                 struct tbp_sink *out, struct tbp_error *err) {
    struct stats s = {.session = session, .request = r};
    struct tbp_arena arena;
    int status = TBP_OK;
    tbp_arena_init(&arena);
    tbp_findings_init(&s.findings);
    for (uint32_t i = tbp_report_first_host(r); !status && i < tbp_report_end_host(session, r); i++)
        status = add_host(&s, session, i, r, &arena, err);
    if (!status)
        status = tbp_unread_check(r->unread, err);
    if (!status) {
        for (size_t i = 0; i < s.findings.list.n; i++)
            s.is_device_unknown |= !s.averages.device_ps &&
                                   strcmp(s.findings.list.at[i].key, "no_device_records") == 0;
        check_groups(&s, r);
        sort_rows(&s, r, &arena);
        status = put(&s, out, &arena, err);
    }
    tbp_findings_release(&s.findings);
    tbp_averages_release(&s.averages);
    tbp_arena_release(&arena);
    return status;
}

const struct tbp_report tbp_report_stats = {
    .name = "stats",
    .help = "averages per op: times of host and device, memory, count, spread",
    .write = write,
};
