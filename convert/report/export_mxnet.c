/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet's aggregate statistics, as mx.profiler.dumps() prints them: one section per category,
 * sections by name, rows by total time. Ops without a category are "operator", calls of the
 * device's API "MXNET_C_API". Counters are rows among them, their values thousandths of the unit.
 * Source: reference trace_kernel_memory_import F.3.2, G.3, formats_in_2026 D.1.
 */
#include "base/sort.h"
#include "convert/model/stats.h"
#include "convert/report/export.h"
#include "convert/report/memory_use.h"

#include <math.h>

static const char memory_section[] = "Device Storage";
static const char marker_section_end[] = ",instant_marker"; /* has no rows */

struct section_row {
    struct tbp_str section, name;
    uint64_t count;
    double total_ps, min_ps, max_ps, avg_ps;
};

static struct tbp_str section_of(const struct tbp_average *a) {
    if (a->category.n && !tbp_str_is(a->category, "cpu_op"))
        return a->category;
    return tbp_str_starts(a->name, "cuda") || tbp_str_starts(a->name, "hip")
               ? TBP_STR("MXNET_C_API")
               : TBP_STR("operator");
}

/* Sections by name; in them the longest first, of equal ones the larger name. */
static int by_section(const void *a, const void *b, void *ctx) {
    const struct section_row *x = a, *y = b;
    int d = tbp_str_cmp(x->section, y->section);
    (void)ctx;
    if (d)
        return d;
    return x->total_ps < y->total_ps   ? 1
           : x->total_ps > y->total_ps ? -1
                                       : -tbp_str_cmp(x->name, y->name);
}

static void put_padded(struct tbp_json *j, struct tbp_str name) {
    enum { NAME_WIDTH = 25 };
    for (size_t i = 0; i < name.n; i++)
        tbp_json_char(j, (unsigned char)name.p[i] < ' ' ? '?' : name.p[i]);
    for (size_t i = name.n; i < NAME_WIDTH; i++)
        tbp_json_char(j, ' ');
}

static double ms(double ps) {
    return (double)(float)(ps / 1e9);
}

static void put_row(struct tbp_json *j, const struct section_row *r) {
    put_padded(j, r->name);
    tbp_json_printf(j, "%16llu %16.4f %16.4f %16.4f %16.4f\n", (unsigned long long)r->count,
                    ms(r->total_ps), ms(r->min_ps), ms(r->max_ps), ms(r->avg_ps));
}

static struct section_row row_of_average(const struct tbp_average *a) {
    double total_ps = (double)a->total_ps;
    return (struct section_row){.section = section_of(a),
                                .name = a->name,
                                .count = a->count,
                                .total_ps = total_ps,
                                .min_ps = (double)a->min_ps,
                                .max_ps = (double)a->max_ps,
                                .avg_ps = total_ps / (double)(a->count ? a->count : 1)};
}

static void put_heading(struct tbp_json *j, struct tbp_str section) {
    for (size_t i = 0; i < section.n; i++)
        tbp_json_char(j, (unsigned char)section.p[i] < ' ' ? '?' : section.p[i]);
    tbp_json_lit(j, "\n=================\n");
}

static void put_columns(struct tbp_json *j, const char *const *titles, size_t n) {
    put_padded(j, TBP_STR("Name"));
    for (size_t i = 0; i < n; i++)
        tbp_json_printf(j, "%s%16s", i ? " " : "", titles[i]);
    tbp_json_char(j, '\n');
    put_padded(j, TBP_STR("----"));
    for (size_t i = 0; i < n; i++) {
        static const char dashes[] = "----------------";
        size_t length = strlen(titles[i]);
        const char *d = dashes + sizeof dashes - 1 - (length < sizeof dashes ? length : 0);
        tbp_json_printf(j, "%s%16s", i ? " " : "", d);
    }
    tbp_json_char(j, '\n');
}

/* ---- memory ---- */

struct storage {
    struct tbp_str allocator;
    uint64_t count;
    int64_t min_bytes, max_bytes;
};

struct storages {
    struct tbp_strtab names;
    TBP_VEC(struct storage) list;
};

static void add_storage(struct storages *s, const struct tbp_line *l, size_t i) {
    struct tbp_stat allocator, bytes;
    if (!tbp_event_stat(l, i, TBP_STAT_ALLOCATOR_NAME, &allocator) ||
        !tbp_event_stat(l, i, TBP_STAT_BYTES_ALLOCATED, &bytes))
        return;
    uint32_t at = tbp_strtab_put(&s->names, tbp_stat_s(&allocator));
    int64_t v = (int64_t)tbp_stat_iu(&bytes);
    if (at == s->list.n) /* use begins with nothing */
        *tbp_vec_push(&s->list) = (struct storage){.allocator = s->names.strs[at]};
    struct storage *x = &s->list.at[at];
    x->count++;
    x->min_bytes = v < x->min_bytes ? v : x->min_bytes;
    x->max_bytes = v > x->max_bytes ? v : x->max_bytes;
}

static void put_memory(struct tbp_json *j, const struct storages *s) {
    static const char *const titles[] = {"Total Count", "Min Use  (kB)", "Max Use  (kB)",
                                         "Avg Use  (kB)"};
    put_heading(j, tbp_str_c(memory_section));
    put_columns(j, titles, sizeof titles / sizeof *titles);
    for (size_t i = 0; i < s->list.n; i++) {
        const struct storage *x = &s->list.at[i];
        double low = (double)(float)((double)x->min_bytes / 1e3);
        double high = (double)(float)((double)x->max_bytes / 1e3);
        struct tbp_arena a;
        tbp_arena_init(&a);
        put_padded(j, tbp_arena_cat(&a, TBP_STR("Memory: "), x->allocator));
        tbp_arena_release(&a);
        tbp_json_printf(j, "%16llu %16.4f %16.4f %16.4f\n", (unsigned long long)x->count, low, high,
                        (high - low) / 2);
    }
    tbp_json_char(j, '\n');
}

static void collect_memory(struct storages *s, const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            for (size_t i = 0; i < l->ev.n; i++)
                if (tbp_is_memory_event(tbp_event_kind_at(l, i)))
                    add_storage(s, l, i);
        }
}

/* ---- counters ---- */

struct counter {
    struct tbp_str name, domain;
    uint64_t count, last_start_ps;
    double last, min, max, total;
};

struct counters {
    struct tbp_strtab names;
    TBP_VEC(struct counter) list;
};

/* Those whose domain the plane tells. */
static void find_counters(struct counters *c, const struct tbp_plane *p) {
    static const char prefix[] = "domain of ";
    for (size_t i = 0; i < p->n_stats; i++) {
        struct tbp_stat st;
        if (!tbp_stat_decode(p, tbp_wire_of(p->stats[i].p, p->stats[i].n), &st) ||
            !tbp_str_starts(st.meta->name, prefix))
            continue;
        struct tbp_str name = tbp_str_sub(st.meta->name, sizeof prefix - 1, st.meta->name.n);
        if (tbp_strtab_put(&c->names, name) == c->list.n)
            *tbp_vec_push(&c->list) = (struct counter){.name = name, .domain = tbp_stat_s(&st)};
    }
}

static void add_sample(struct counter *c, const struct tbp_line *l, size_t i) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    struct tbp_stat st;
    if (!tbp_stat_next(&it, &st) || st.type != TBP_STAT_DOUBLE)
        return;
    c->min = c->count == 0 || st.d < c->min ? st.d : c->min;
    c->max = c->count == 0 || st.d > c->max ? st.d : c->max;
    c->count++;
    if (l->ev.start_ps[i] >= c->last_start_ps) {
        c->last_start_ps = l->ev.start_ps[i];
        c->last = st.d;
    }
}

static void collect_counters(struct counters *c, const struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++)
        find_counters(c, &h->planes[p]);
    for (size_t p = 0; p < h->n_planes && c->list.n; p++)
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            for (size_t i = 0; i < l->ev.n && tbp_str_is(l->name, "_counters_"); i++) {
                uint32_t at = tbp_strtab_get(&c->names, tbp_event_name(l, i));
                if (at != TBP_MAP_NONE)
                    add_sample(&c->list.at[at], l, i);
            }
        }
    for (size_t i = 0; i < c->list.n; i++) {
        c->list.at[i].total += c->list.at[i].last;
        c->list.at[i].last = 0;
        c->list.at[i].last_start_ps = 0;
    }
}

/* MXNet prints the last value as the total, and half of the range, in whole numbers, as the
 * average; all as if a value were a microsecond. */
static struct section_row row_of_counter(const struct counter *c) {
    const double unit_ps = 1e6;
    double half = (c->max - c->min) / 2;
    return (struct section_row){.section = c->domain,
                                .name = c->name,
                                .count = c->count,
                                .total_ps = c->total * unit_ps,
                                .min_ps = c->min * unit_ps,
                                .max_ps = c->max * unit_ps,
                                .avg_ps = floor(half) * unit_ps};
}

/* ---- the whole ---- */

struct table {
    struct storages memory;
    struct counters counters;
    TBP_VEC(struct section_row) rows;
};

static void collect(struct table *t, const struct tbp_averages *a,
                    const struct tbp_host *const *hosts, size_t n_hosts) {
    for (size_t i = 0; i < n_hosts; i++) {
        collect_memory(&t->memory, hosts[i]);
        collect_counters(&t->counters, hosts[i]);
    }
    for (size_t i = 0; i < a->rows.n; i++)
        if (!tbp_str_is(a->rows.at[i].name, "[memory]"))
            *tbp_vec_push(&t->rows) = row_of_average(&a->rows.at[i]);
    for (size_t i = 0; i < t->counters.list.n; i++)
        if (t->counters.list.at[i].count)
            *tbp_vec_push(&t->rows) = row_of_counter(&t->counters.list.at[i]);
    tbp_sort(t->rows.at, t->rows.n, sizeof *t->rows.at, by_section, NULL);
}

void tbp_export_mxnet(struct tbp_json *j, const struct tbp_averages *a,
                      const struct tbp_host *const *hosts, size_t n_hosts) {
    static const char *const titles[] = {"Total Count", "Time (ms)", "Min Time (ms)",
                                         "Max Time (ms)", "Avg Time (ms)"};
    struct table t = {0};
    collect(&t, a, hosts, n_hosts);
    tbp_json_lit(j,
                 "\nProfile Statistics:\n\tNote the difference in units for different entries.\n");
    bool is_memory_due = t.memory.list.n > 0;
    for (size_t i = 0; i < t.rows.n; i++) {
        struct tbp_str section = t.rows.at[i].section;
        if (is_memory_due && tbp_str_cmp(section, tbp_str_c(memory_section)) > 0) {
            put_memory(j, &t.memory);
            is_memory_due = false;
        }
        if (i == 0 || !tbp_str_eq(section, t.rows.at[i - 1].section)) {
            put_heading(j, section);
            put_columns(j, titles, sizeof titles / sizeof *titles);
        }
        if (!tbp_str_ends(section, marker_section_end))
            put_row(j, &t.rows.at[i]);
        if (i + 1 == t.rows.n || !tbp_str_eq(section, t.rows.at[i + 1].section))
            tbp_json_char(j, '\n');
    }
    if (is_memory_due)
        put_memory(j, &t.memory);
    tbp_strtab_release(&t.memory.names);
    tbp_vec_release(&t.memory.list);
    tbp_strtab_release(&t.counters.names);
    tbp_vec_release(&t.counters.list);
    tbp_vec_release(&t.rows);
}
