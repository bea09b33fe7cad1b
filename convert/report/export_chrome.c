/* SPDX-License-Identifier: Apache-2.0
 *
 * Chrome trace of PyTorch's dialect: process per plane, thread per line, categories and argument
 * names as PyTorch's own, so that tools for its traces accept profiles of any origin. Times are
 * microseconds with all digits.
 */
#include "convert/analyze/kernel_table.h"
#include "convert/model/stats.h"
#include "convert/report/device_work.h"
#include "convert/report/event_role.h"
#include "convert/report/event_texts.h"
#include "convert/report/export.h"
#include "convert/report/memory_use.h"
#include "convert/report/table_out.h"

#include <math.h>
#include <stdio.h>

struct python_call {
    uint64_t end_ps, id;
};

struct chrome_line {
    struct tbp_export_chrome *out;
    struct tbp_json *j;
    const struct tbp_line *line, *stream; /* stream: whose number counts */
    uint32_t pid, tid, category_stat;
    uint32_t host; /* 0 for the first, another number for each */
    bool is_device, is_work;
    struct tbp_event_texts texts;
    TBP_VEC(struct python_call) python; /* those that run, the innermost last */
};

void tbp_export_chrome_begin(struct tbp_export_chrome *out, struct tbp_json *j,
                             const struct tbp_host *only) {
    *out = (struct tbp_export_chrome){.is_first = true};
    tbp_json_lit(j, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\",");
    if (only) {
        tbp_export_chrome_facts(j, &only, 1);
        tbp_json_char(j, ',');
    }
    tbp_json_lit(j, "\"traceEvents\":[");
}

void tbp_export_chrome_end(const struct tbp_export_chrome *out, struct tbp_json *j,
                           const struct tbp_host *const *hosts, size_t n_hosts) {
    tbp_json_lit(j, "\n]");
    if (n_hosts > 1) {
        tbp_json_char(j, ',');
        tbp_export_chrome_facts(j, hosts, n_hosts);
    }
    tbp_export_chrome_notes(j, hosts, n_hosts, out->n_events);
    tbp_json_lit(j, "}\n");
}

int64_t tbp_export_chrome_device(const struct tbp_plane *plane) {
    uint64_t n;
    size_t colon = tbp_str_rfind(plane->name, ':');
    bool is_told = tbp_is_gpu_plane(plane->name) && colon < plane->name.n &&
                   tbp_str_to_u64(tbp_str_sub(plane->name, colon + 1, plane->name.n), &n) &&
                   n <= INT64_MAX;
    return is_told ? (int64_t)n : plane->id;
}

static void put_us(struct tbp_json *j, uint64_t ps) {
    char text[TBP_VALUE_MAX];
    uint64_t shown_ps = ps > INT64_MAX ? INT64_MAX : ps;
    tbp_json_raw(j, text, tbp_us_text(text, (int64_t)shown_ps));
}

static void put_name(struct chrome_line *c, const char *what, struct tbp_str name) {
    tbp_json_printf(c->j,
                    "%s\n{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":",
                    c->out->is_first ? "" : ",", what, c->pid, c->tid);
    tbp_json_str(c->j, name, TBP_JSON_GVIZ);
    tbp_json_lit(c->j, "}}");
    c->out->is_first = false;
}

static bool is_copy(struct tbp_str name) {
    return tbp_str_starts(name, "Memcpy") || tbp_str_starts(name, "CopyDeviceTo") ||
           tbp_str_starts(name, "CopyHostTo");
}

static struct tbp_str category_of(const struct chrome_line *c, size_t i, struct tbp_str given) {
    struct tbp_str name = tbp_event_name(c->line, i);
    uint32_t has = c->line->ev.has[i];
    if (given.n)
        return given;
    if (c->is_device && !c->is_work)
        return TBP_STR("gpu_user_annotation");
    if (c->is_device)
        return is_copy(name)                    ? TBP_STR("gpu_memcpy")
               : tbp_str_starts(name, "Memset") ? TBP_STR("gpu_memset")
                                                : TBP_STR("kernel");
    if (has & TBP_HAS_TF_OP)
        return TBP_STR("cpu_op");
    /* where a file has categories, calls of the API are what stands there without one */
    return has & TBP_HAS_CORRELATION || c->category_stat ? TBP_STR("cuda_runtime")
                                                         : TBP_STR("user_annotation");
}

/* Each host counts its launches from the same number on. */
static uint64_t correlation_of(const struct chrome_line *c, const struct tbp_stat *st) {
    uint64_t id = tbp_stat_iu(st);
    return id && id <= UINT32_MAX ? id | (uint64_t)c->host << 32 : id;
}

static void put_stat(const struct chrome_line *c, const struct tbp_stat *st, const char *comma) {
    struct tbp_json *j = c->j;
    bool is_correlation = st->meta->key == TBP_STAT_CORRELATION_ID;
    tbp_json_lit(j, comma);
    tbp_json_str(j, is_correlation ? TBP_STR("correlation") : st->meta->name, TBP_JSON_GVIZ);
    tbp_json_char(j, ':');
    if (is_correlation && (st->type == TBP_STAT_INT64 || st->type == TBP_STAT_UINT64) &&
        correlation_of(c, st) <= INT64_MAX)
        tbp_json_u64(j, correlation_of(c, st));
    else if (st->type == TBP_STAT_DOUBLE)
        tbp_json_proto_number(j, st->d);
    else if (st->type == TBP_STAT_INT64)
        tbp_json_i64(j, st->i);
    else if (st->type == TBP_STAT_UINT64)
        tbp_json_u64(j, st->u);
    else
        tbp_json_str(j, tbp_stat_s(st), TBP_JSON_GVIZ);
}

static void put_dims(struct tbp_json *j, const char *key, const uint32_t d[3]) {
    tbp_json_printf(j, ",\"%s\":[%u,%u,%u]", key, d[0], d[1], d[2]);
}

/* With as few digits as tell the same. */
static void put_float(struct tbp_json *j, const char *key, float v) {
    char text[32];
    double back;
    int n = snprintf(text, sizeof text, "%.6g", (double)v);
    if (!tbp_str_to_double((struct tbp_str){text, (size_t)n}, &back) || (float)back != v)
        snprintf(text, sizeof text, "%.9g", (double)v);
    tbp_json_printf(j, ",\"%s\":%s", key, text);
}

/* By the names that PyTorch has for it. Those of AMD's kernels know no registers. */
static void put_launch(struct tbp_json *j, struct tbp_str details) {
    struct tbp_kernel_launch l;
    tbp_kernel_launch_parse(&l, details, true);
    uint64_t shared_bytes = (uint64_t)l.static_shmem_bytes + l.dynamic_shmem_bytes;
    put_dims(j, "grid", l.grid);
    put_dims(j, "block", l.block);
    if (l.registers || shared_bytes)
        tbp_json_printf(j, ",\"registers per thread\":%u,\"shared memory\":%llu", l.registers,
                        (unsigned long long)shared_bytes);
    if ((l.registers || l.occupancy_pct > 0) && isfinite(l.occupancy_pct))
        put_float(j, "est. achieved occupancy %", l.occupancy_pct);
}

/* Of copies and fills: the number behind the word. */
static void put_bytes(struct tbp_json *j, struct tbp_str details, const char *word) {
    const char *at = memmem(details.p, details.n, word, strlen(word));
    size_t from = at ? (size_t)(at - details.p) + strlen(word) : details.n, to = from;
    uint64_t bytes;
    while (to < details.n && details.p[to] != ' ')
        to++;
    if (tbp_str_to_u64(tbp_str_sub(details, from, to), &bytes))
        tbp_json_printf(j, ",\"bytes\":%llu", (unsigned long long)bytes);
}

static bool put_device_stat(struct tbp_json *j, const struct tbp_stat *st) {
    struct tbp_str s = tbp_stat_s(st);
    if (st->meta->key == TBP_STAT_KERNEL_DETAILS && s.n) {
        put_launch(j, s);
        return true;
    }
    if (tbp_str_is(st->meta->name, "memcpy_details"))
        put_bytes(j, s, " size:");
    else if (tbp_str_is(st->meta->name, "Memset_details"))
        put_bytes(j, s, " num_bytes:");
    return false;
}

/* PyTorch numbers the calls of Python and tells which each was called by. */
static void put_python(struct chrome_line *c, size_t i) {
    uint64_t start_ps = c->line->ev.start_ps[i], end_ps;
    if (__builtin_add_overflow(start_ps, c->line->ev.dur_ps[i], &end_ps))
        end_ps = UINT64_MAX;
    while (c->python.n && c->python.at[c->python.n - 1].end_ps <= start_ps)
        c->python.n--;
    tbp_json_printf(
        c->j, "\"Python id\":%llu,\"Python parent id\":", (unsigned long long)++c->out->n_python);
    if (c->python.n)
        tbp_json_u64(c->j, c->python.at[c->python.n - 1].id);
    else
        tbp_json_lit(c->j, "null");
    *tbp_vec_push(&c->python) = (struct python_call){end_ps, c->out->n_python};
}

static void put_args(struct chrome_line *c, size_t i, struct tbp_str category) {
    const struct tbp_stat_meta *metas = c->line->plane->stat_metas;
    const char *comma = "";
    tbp_json_lit(c->j, ",\"args\":{");
    if (c->is_device) {
        tbp_json_printf(c->j, "\"device\":%lld,\"stream\":%lld",
                        (long long)tbp_export_chrome_device(c->line->plane),
                        (long long)c->stream->id);
        comma = ",";
    } else if (tbp_str_is(category, "python_function")) {
        put_python(c, i);
        comma = ",";
    }
    struct tbp_stat_iter it = tbp_stat_iter_event(c->line, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (st.type == TBP_STAT_NONE || st.type == TBP_STAT_BYTES || st.meta->name.n == 0 ||
            st.meta == &metas[c->category_stat] || (c->is_device && put_device_stat(c->j, &st)))
            continue;
        put_stat(c, &st, comma);
        comma = ",";
    }
    tbp_json_char(c->j, '}');
}

/* Memory as PyTorch tells it: an instant with the bytes taken (or given back, then negative). */
static void put_memory(struct chrome_line *c, size_t i) {
    struct tbp_stat bytes, allocator, address, total;
    bool is_free = tbp_event_kind_at(c->line, i) == TBP_EVENT_MEMORY_DEALLOCATION;
    if (!tbp_event_stat(c->line, i, TBP_STAT_ALLOCATION_BYTES, &bytes))
        return;
    bool is_device = tbp_event_stat(c->line, i, TBP_STAT_ALLOCATOR_NAME, &allocator) &&
                     !tbp_is_host_allocator(tbp_stat_s(&allocator));
    tbp_json_printf(c->j, ",\"args\":{\"Bytes\":%s%llu,\"Device Type\":%d,\"Device Id\":%d",
                    is_free ? "-" : "", (unsigned long long)tbp_stat_iu(&bytes), is_device,
                    is_device ? 0 : -1);
    if (tbp_event_stat(c->line, i, TBP_STAT_ADDRESS, &address))
        tbp_json_printf(c->j, ",\"Addr\":%llu", (unsigned long long)tbp_stat_iu(&address));
    if (tbp_event_stat(c->line, i, TBP_STAT_BYTES_ALLOCATED, &total))
        tbp_json_printf(c->j, ",\"Total Allocated\":%llu", (unsigned long long)tbp_stat_iu(&total));
    tbp_json_char(c->j, '}');
}

/* "MemcpyHtoD (…)" */
static bool is_copy_with_direction(struct tbp_str name) {
    enum { WORD = sizeof "Memcpy" - 1, END = sizeof "MemcpyHtoD" - 1 };
    return name.n >= END && tbp_str_starts(name, "Memcpy") &&
           memcmp(name.p + WORD + 1, "to", 2) == 0;
}

/* Tools for PyTorch's traces know steps and copies by these names only. */
static void put_event_name(struct chrome_line *c, size_t i) {
    struct tbp_stat step;
    struct tbp_str name = tbp_event_name(c->line, i);
    if (c->is_device && is_copy_with_direction(name)) {
        tbp_json_lit(c->j, "\"Memcpy ");
        tbp_json_text(c->j, tbp_str_sub(name, sizeof "Memcpy" - 1, name.n), TBP_JSON_GVIZ);
        tbp_json_char(c->j, '"');
        return;
    }
    if (!c->is_device && c->line->ev.has[i] & TBP_HAS_STEP_NUM &&
        tbp_event_stat(c->line, i, TBP_STAT_STEP_NUM, &step))
        tbp_json_printf(c->j, "\"ProfilerStep#%lld\"", (long long)tbp_stat_iu(&step));
    else
        tbp_json_str(c->j, name, TBP_JSON_GVIZ);
}

/* Counters: a sample per event, its series by name; some writers leave that name empty. */
static void put_counter(struct chrome_line *c, size_t i) {
    const char *comma = "";
    tbp_json_printf(c->j,
                    "%s\n{\"ph\":\"C\",\"pid\":%u,\"tid\":%u,\"ts\":", c->out->is_first ? "" : ",",
                    c->pid, c->tid);
    c->out->is_first = false;
    c->out->n_events++;
    put_us(c->j, c->line->ev.start_ps[i]);
    tbp_json_lit(c->j, ",\"name\":");
    tbp_json_str(c->j, tbp_event_name(c->line, i), TBP_JSON_GVIZ);
    tbp_json_lit(c->j, ",\"args\":{");
    struct tbp_stat_iter it = tbp_stat_iter_event(c->line, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st); comma = ",")
        put_stat(c, &st, comma);
    tbp_json_lit(c->j, "}}");
}

static void put_event(struct chrome_line *c, size_t i) {
    struct tbp_str category, detail;
    bool is_memory = tbp_is_memory_event(tbp_event_kind_at(c->line, i));
    tbp_event_texts_get(&c->texts, i, &category, &detail);
    if (c->line->ev.flags[i] & TBP_EVENT_MADE || c->line->ev.has[i] & TBP_HAS_OCCURRENCES)
        return;
    tbp_json_printf(c->j,
                    "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":", c->out->is_first ? "" : ",",
                    is_memory ? "i\",\"s\":\"t" : "X", c->pid, c->tid);
    c->out->is_first = false;
    c->out->n_events++;
    put_us(c->j, c->line->ev.start_ps[i]);
    if (!is_memory) {
        tbp_json_lit(c->j, ",\"dur\":");
        put_us(c->j, c->line->ev.dur_ps[i]);
    }
    tbp_json_lit(c->j, ",\"cat\":");
    tbp_json_str(c->j, is_memory ? TBP_STR("cpu_instant_event") : category_of(c, i, category),
                 TBP_JSON_GVIZ);
    tbp_json_lit(c->j, ",\"name\":");
    if (is_memory)
        tbp_json_lit(c->j, "\"[memory]\"");
    else
        put_event_name(c, i);
    if (is_memory)
        put_memory(c, i);
    else if (c->is_device || c->line->ev.has[i] & TBP_HAS_STATS)
        put_args(c, i, category);
    tbp_json_char(c->j, '}');
}

static void put_line(struct chrome_line *c, uint32_t tid) {
    c->stream = c->is_device ? tbp_stream_line(c->line) : c->line;
    c->tid = c->is_device ? (uint32_t)c->stream->id : tid; /* streams keep theirs */
    if (c->line->is_derived)
        return;
    tbp_event_texts_init(&c->texts, c->line, NULL);
    c->category_stat = c->texts.category;
    c->is_work = tbp_is_work_line(c->line);
    c->python.n = 0;
    if (c->stream == c->line)
        put_name(c, "thread_name", c->line->name);
    bool is_counter = tbp_str_is(c->line->name, "_counters_");
    for (size_t i = 0; i < c->line->ev.n; i++)
        is_counter ? put_counter(c, i) : put_event(c, i);
}

void tbp_export_chrome(struct tbp_export_chrome *out, struct tbp_json *j,
                       const struct tbp_host *h) {
    const uint32_t host = out->n_pids;
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        struct chrome_line c = {
            .out = out, .j = j, .host = host, .is_device = tbp_is_device_plane(plane->name)};
        if (plane->n_lines == 0)
            continue;
        c.pid = ++out->n_pids;
        put_name(&c, "process_name", plane->name);
        for (size_t k = 0; k < plane->n_lines; k++) {
            c.line = &plane->lines[k];
            put_line(&c, (uint32_t)k);
        }
        tbp_vec_release(&c.python);
    }
}
