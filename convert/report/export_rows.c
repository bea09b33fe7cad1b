/* SPDX-License-Identifier: Apache-2.0
 *
 * Events as rows: a CSV of all, and the detail log of CNTK (`"event",thread,begin,end` in
 * milliseconds, in order of the ends). Source: reference trace_kernel_memory_import F.4.
 */
#include "base/sort.h"
#include "convert/report/device_work.h"
#include "convert/report/event_texts.h"
#include "convert/report/export.h"
#include "convert/report/memory_use.h"
#include "convert/report/table_out.h"

static void put_us(struct tbp_json *j, uint64_t ps) {
    char text[TBP_VALUE_MAX];
    uint64_t shown_ps = ps > INT64_MAX ? INT64_MAX : ps;
    tbp_json_raw(j, text, tbp_us_text(text, (int64_t)shown_ps));
}

void tbp_export_csv_begin(struct tbp_json *j) {
    tbp_json_lit(j, "host,plane,line,name,category,start_us,duration_us\n");
}

static void put_csv_event(struct tbp_json *j, struct tbp_str host, const struct tbp_line *l,
                          size_t i, struct tbp_str category) {
    const struct tbp_str texts[] = {host, l->plane->name, tbp_stream_line(l)->name,
                                    tbp_event_name(l, i), category};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        tbp_put_csv_text(j, texts[k]);
        tbp_json_char(j, ',');
    }
    put_us(j, l->ev.start_ps[i]);
    tbp_json_char(j, ',');
    put_us(j, l->ev.dur_ps[i]);
    tbp_json_char(j, '\n');
}

void tbp_export_csv(struct tbp_json *j, const struct tbp_host *h, struct tbp_str host_name) {
    struct tbp_event_texts texts;
    for (size_t p = 0; p < h->n_planes; p++) {
        for (size_t k = 0; k < h->planes[p].n_lines; k++) {
            const struct tbp_line *l = &h->planes[p].lines[k];
            tbp_event_texts_init(&texts, l, NULL);
            for (size_t i = 0; i < l->ev.n && !l->is_derived; i++) {
                struct tbp_str category, detail;
                tbp_event_texts_get(&texts, i, &category, &detail);
                put_csv_event(j, host_name, l, i, category);
            }
        }
    }
}

/* ---- CNTK ---- */

struct end {
    uint64_t end_ps;
    const struct tbp_line *line;
    uint32_t event;
};

static int by_end(const void *a, const void *b, void *ctx) {
    const struct end *x = a, *y = b;
    (void)ctx;
    return (x->end_ps > y->end_ps) - (x->end_ps < y->end_ps);
}

void tbp_export_cntk_begin(struct tbp_json *j) {
    tbp_json_lit(j, "EventDescription,ThreadId,BeginTimeStamp(ms),EndTimeStamp(ms)\n");
}

static void put_cntk_event(struct tbp_json *j, const struct end *e) {
    enum { PS_PER_10_PS_OF_MS = 10, DIGITS = 100000000 }; /* 8 decimals of a millisecond: 10 ps */
    uint64_t begin = e->line->ev.start_ps[e->event] / PS_PER_10_PS_OF_MS;
    uint64_t end = e->end_ps / PS_PER_10_PS_OF_MS;
    struct tbp_str name = tbp_event_name(e->line, e->event);
    tbp_json_char(j, '"');
    for (size_t i = 0; i < name.n; i++) /* a line is a row */
        tbp_json_char(j, (unsigned char)name.p[i] < ' ' ? ' ' : name.p[i]);
    tbp_json_printf(j, "\",%lld,%llu.%08llu,%llu.%08llu\n", (long long)e->line->id,
                    (unsigned long long)(begin / DIGITS), (unsigned long long)(begin % DIGITS),
                    (unsigned long long)(end / DIGITS), (unsigned long long)(end % DIGITS));
}

void tbp_export_cntk(struct tbp_json *j, const struct tbp_host *h) {
    TBP_VEC(struct end) ends = {0};
    for (size_t p = 0; p < h->n_planes; p++) {
        const struct tbp_plane *plane = &h->planes[p];
        for (size_t k = 0; k < plane->n_lines && tbp_is_host_plane(plane->name); k++) {
            const struct tbp_line *l = &plane->lines[k];
            for (size_t i = 0; i < l->ev.n && !l->is_derived; i++)
                if (!tbp_is_memory_event(tbp_event_kind_at(l, i)))
                    *tbp_vec_push(&ends) = (struct end){tbp_event_end(l, i), l, (uint32_t)i};
        }
    }
    tbp_sort(ends.at, ends.n, sizeof *ends.at, by_end, NULL);
    for (size_t i = 0; i < ends.n; i++)
        put_cntk_event(j, &ends.at[i]);
    tbp_vec_release(&ends);
}
