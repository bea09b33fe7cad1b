/* SPDX-License-Identifier: Apache-2.0
 *
 * MXNet's aggregate statistics, as mx.profiler.dumps() prints them: one section per category,
 * sections by name, rows by total time. Ops without a category are "operator", calls of the
 * device's API "MXNET_C_API". Source: reference trace_kernel_memory_import F.3.2, G.3.
 */
#include "base/sort.h"
#include "convert/model/stats.h"
#include "convert/report/export.h"
#include "convert/report/memory_use.h"

static const char memory_section[] = "Device Storage";

struct section_row {
    struct tbp_str section;
    const struct tbp_average *average;
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
    int64_t u = x->average->total_ps, v = y->average->total_ps;
    return u != v ? (u < v ? 1 : -1) : -tbp_str_cmp(x->average->name, y->average->name);
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

static void put_row(struct tbp_json *j, const struct tbp_average *a) {
    double total = (double)a->total_ps;
    put_padded(j, a->name);
    tbp_json_printf(j, "%16llu %16.4f %16.4f %16.4f %16.4f\n", (unsigned long long)a->count,
                    ms(total), ms((double)a->min_ps), ms((double)a->max_ps),
                    ms(total / (double)(a->count ? a->count : 1)));
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

void tbp_export_mxnet(struct tbp_json *j, const struct tbp_averages *a,
                      const struct tbp_host *const *hosts, size_t n_hosts) {
    static const char *const titles[] = {"Total Count", "Time (ms)", "Min Time (ms)",
                                         "Max Time (ms)", "Avg Time (ms)"};
    struct storages memory = {0};
    TBP_VEC(struct section_row) rows = {0};
    for (size_t i = 0; i < n_hosts; i++)
        collect_memory(&memory, hosts[i]);
    for (size_t i = 0; i < a->rows.n; i++)
        if (!tbp_str_is(a->rows.at[i].name, "[memory]"))
            *tbp_vec_push(&rows) = (struct section_row){section_of(&a->rows.at[i]), &a->rows.at[i]};
    tbp_sort(rows.at, rows.n, sizeof *rows.at, by_section, NULL);
    tbp_json_lit(j,
                 "\nProfile Statistics:\n\tNote the difference in units for different entries.\n");
    bool is_memory_due = memory.list.n > 0;
    for (size_t i = 0; i < rows.n; i++) {
        if (is_memory_due && tbp_str_cmp(rows.at[i].section, tbp_str_c(memory_section)) > 0) {
            put_memory(j, &memory);
            is_memory_due = false;
        }
        if (i == 0 || !tbp_str_eq(rows.at[i].section, rows.at[i - 1].section)) {
            put_heading(j, rows.at[i].section);
            put_columns(j, titles, sizeof titles / sizeof *titles);
        }
        put_row(j, rows.at[i].average);
        if (i + 1 == rows.n || !tbp_str_eq(rows.at[i].section, rows.at[i + 1].section))
            tbp_json_char(j, '\n');
    }
    if (is_memory_due)
        put_memory(j, &memory);
    tbp_strtab_release(&memory.names);
    tbp_vec_release(&memory.list);
    tbp_vec_release(&rows);
}
