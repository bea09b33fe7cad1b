/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables as text, CSV and JSON. Widths are counted in characters, so that names beyond ASCII do not
 * shift columns. Units of text are those of PyTorch's tables: 1 ms from 1000 us, 1 KB = 1024 B.
 */
#include "convert/report/table_out.h"

#include <math.h>

static const char gap[] = "  ";

/* ---- values ---- */

static size_t print(char *to, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    int n = tbp_number_vprintf(to, TBP_VALUE_MAX, fmt, args);
    va_end(args);
    return n < 0 ? 0 : n < TBP_VALUE_MAX ? (size_t)n : TBP_VALUE_MAX - 1;
}

size_t tbp_time_text(char *to, int64_t ps) {
    double us = (double)ps / 1e6;
    if (fabs(us) >= 1e6)
        return print(to, "%.3fs", us / 1e6);
    return fabs(us) >= 1e3 ? print(to, "%.3fms", us / 1e3) : print(to, "%.3fus", us);
}

size_t tbp_bytes_text(char *to, int64_t bytes) {
    static const char *const units[] = {"KB", "MB", "GB"};
    double v = (double)bytes / 1024;
    size_t unit = 0;
    if (fabs(v) < 1)
        return print(to, "%lld B", (long long)bytes);
    for (; unit < 2 && fabs(v) >= 1024; unit++)
        v /= 1024;
    return print(to, "%.2f %s", v, units[unit]);
}

size_t tbp_us_text(char *to, int64_t ps) {
    enum { PS_PER_US = 1000000 };
    uint64_t size = ps < 0 ? 0 - (uint64_t)ps : (uint64_t)ps;
    size_t n = print(to, "%s%llu", ps < 0 ? "-" : "", (unsigned long long)(size / PS_PER_US));
    if (size % PS_PER_US == 0)
        return n;
    n += print(to + n, ".%06llu", (unsigned long long)(size % PS_PER_US));
    while (to[n - 1] == '0')
        n--;
    return n;
}

/* ---- text ---- */

/* Bytes of the character at p, 0 if it must not reach a terminal. */
static size_t shown_char(const char *p, const char *end) {
    unsigned char c = (unsigned char)*p;
    if (c < 0x20 || c == 0x7f)
        return 0;
    if (c < 0x80)
        return 1;
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    n = n < (size_t)(end - p) ? n : (size_t)(end - p);
    bool is_c1 = c == 0xc2 && n == 2 && (unsigned char)p[1] < 0xa0;
    return is_c1 || tbp_utf8_valid_prefix((struct tbp_str){p, n}) < n ? 0 : n;
}

/* Shows at most `limit` characters; out may be NULL. Returns how many it were. */
static size_t put_chars(struct tbp_json *out, struct tbp_str s, size_t limit) {
    size_t shown = 0;
    for (size_t i = 0; i < s.n && shown < limit; shown++) {
        size_t n = shown_char(s.p + i, s.p + s.n);
        if (out && n)
            tbp_json_raw(out, s.p + i, n);
        else if (out)
            tbp_json_char(out, '?');
        i += n ? n : 1;
    }
    return shown;
}

void tbp_put_shown(struct tbp_json *out, struct tbp_str s) {
    put_chars(out, s, SIZE_MAX);
}

static size_t value_text(char *to, enum tbp_cell_kind kind, const struct tbp_cell *c) {
    if (!c->is_known)
        return print(to, "--");
    switch (kind) {
    case TBP_CELL_TIME:
        return tbp_time_text(to, c->i);
    case TBP_CELL_BYTES:
        return tbp_bytes_text(to, c->i);
    case TBP_CELL_SHARE:
        return print(to, "%.2f%%", c->d * 100);
    case TBP_CELL_REAL:
        return print(to, "%.3f", c->d);
    default:
        return print(to, "%lld", (long long)c->i);
    }
}

/* The cell, right-aligned unless it is a text; width 0: only its width is asked for. */
static size_t put_cell(struct tbp_json *out, const struct tbp_column *c,
                       const struct tbp_cell *cell, size_t width) {
    static const char dots[] = "...";
    char text[TBP_VALUE_MAX];
    struct tbp_str s = cell->s;
    bool is_text = c->kind == TBP_CELL_TEXT && cell->is_known;
    if (!is_text)
        s = (struct tbp_str){text, value_text(text, c->kind, cell)};
    size_t limit = is_text && c->is_limited ? TBP_TEXT_MAX : SIZE_MAX;
    size_t n = put_chars(NULL, s, limit == SIZE_MAX ? limit : limit + 1);
    bool is_cut = n > limit;
    n = is_cut ? limit : n;
    if (width == 0)
        return n;
    for (size_t i = n; !is_text && i < width; i++)
        tbp_json_char(out, ' ');
    put_chars(out, s, is_cut ? n - (sizeof dots - 1) : n);
    if (is_cut)
        tbp_json_lit(out, dots);
    return n;
}

static void put_spaces(struct tbp_json *out, size_t n) {
    while (n-- > 0)
        tbp_json_char(out, ' ');
}

static bool is_last_shown(const struct tbp_table *t, size_t column) {
    while (++column < t->n_columns)
        if (!t->columns[column].is_hidden)
            return false;
    return true;
}

static void put_row(struct tbp_json *out, const struct tbp_table *t, size_t row,
                    const size_t *width) {
    for (size_t c = 0; c < t->n_columns; c++) {
        struct tbp_cell cell = {.s = TBP_STR_NONE};
        if (t->columns[c].is_hidden)
            continue;
        t->cell(t->ctx, row, c, &cell);
        size_t n = put_cell(out, &t->columns[c], &cell, width[c]);
        bool is_left = t->columns[c].kind == TBP_CELL_TEXT && cell.is_known;
        if (is_last_shown(t, c))
            continue;
        put_spaces(out, is_left ? width[c] - n : 0);
        tbp_json_lit(out, gap);
    }
    tbp_json_char(out, '\n');
}

static void put_title(struct tbp_json *out, const struct tbp_table *t, const size_t *width) {
    for (size_t c = 0; c < t->n_columns; c++) {
        const struct tbp_column *col = &t->columns[c];
        size_t pad = width[c] - strlen(col->title);
        if (col->is_hidden)
            continue;
        if (col->kind != TBP_CELL_TEXT)
            put_spaces(out, pad);
        tbp_json_lit(out, col->title);
        if (is_last_shown(t, c))
            continue;
        put_spaces(out, col->kind == TBP_CELL_TEXT ? pad : 0);
        tbp_json_lit(out, gap);
    }
}

void tbp_table_text(struct tbp_json *out, const struct tbp_table *t, bool color) {
    enum { MAX_COLUMNS = 32 };
    size_t width[MAX_COLUMNS];
    for (size_t c = 0; c < t->n_columns; c++) {
        width[c] = strlen(t->columns[c].title);
        for (size_t r = 0; r < t->n_rows && !t->columns[c].is_hidden; r++) {
            struct tbp_cell cell = {.s = TBP_STR_NONE};
            t->cell(t->ctx, r, c, &cell);
            size_t n = put_cell(NULL, &t->columns[c], &cell, 0);
            width[c] = n > width[c] ? n : width[c];
        }
    }
    tbp_json_lit(out, color ? "\x1b[1m" : "");
    put_title(out, t, width);
    tbp_json_lit(out, color ? "\x1b[0m\n" : "\n");
    for (size_t r = 0; r < t->n_rows; r++)
        put_row(out, t, r, width);
}

/* ---- CSV ---- */

void tbp_put_csv_text(struct tbp_json *out, struct tbp_str s) {
    bool is_plain = true;
    for (size_t i = 0; i < s.n; i++)
        is_plain &= s.p[i] != ',' && s.p[i] != '"' && s.p[i] != '\n' && s.p[i] != '\r';
    if (is_plain) {
        tbp_json_raw(out, s.p, s.n);
        return;
    }
    tbp_json_char(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            tbp_json_char(out, '"');
        tbp_json_char(out, s.p[i]);
    }
    tbp_json_char(out, '"');
}

/* As CSV and JSON have them alike. */
static void put_plain_number(struct tbp_json *out, enum tbp_cell_kind kind,
                             const struct tbp_cell *cell) {
    char text[TBP_VALUE_MAX];
    if (kind == TBP_CELL_TIME)
        tbp_json_raw(out, text, tbp_us_text(text, cell->i));
    else if (kind == TBP_CELL_SHARE || kind == TBP_CELL_REAL)
        tbp_json_raw(out, text, tbp_number_repr(text, cell->d));
    else
        tbp_json_i64(out, cell->i);
}

void tbp_table_csv(struct tbp_json *out, const struct tbp_table *t) {
    for (size_t c = 0; c < t->n_columns; c++)
        tbp_json_printf(out, "%s%s", c ? "," : "", t->columns[c].key);
    tbp_json_char(out, '\n');
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            struct tbp_cell cell = {.s = TBP_STR_NONE};
            t->cell(t->ctx, r, c, &cell);
            tbp_json_lit(out, c ? "," : "");
            if (cell.is_known && t->columns[c].kind == TBP_CELL_TEXT)
                tbp_put_csv_text(out, cell.s);
            else if (cell.is_known)
                put_plain_number(out, t->columns[c].kind, &cell);
        }
        tbp_json_char(out, '\n');
    }
}

/* ---- JSON ---- */

void tbp_table_json(struct tbp_json *out, const struct tbp_table *t) {
    tbp_json_char(out, '[');
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            const struct tbp_column *col = &t->columns[c];
            struct tbp_cell cell = {.s = TBP_STR_NONE};
            t->cell(t->ctx, r, c, &cell);
            tbp_json_printf(out, "%s\"%s\":", c ? "," : r ? ",\n{" : "\n{", col->key);
            if (!cell.is_known)
                tbp_json_lit(out, "null");
            else if (col->kind == TBP_CELL_TEXT)
                tbp_json_str(out, cell.s, TBP_JSON_GVIZ);
            else
                put_plain_number(out, col->kind, &cell);
        }
        tbp_json_char(out, '}');
    }
    tbp_json_lit(out, t->n_rows ? "\n]" : "]");
}

void tbp_put_us(struct tbp_json *out, const char *before, int64_t ps) {
    char text[TBP_VALUE_MAX];
    tbp_json_lit(out, before);
    tbp_json_raw(out, text, tbp_us_text(text, ps));
}

int tbp_table_put(const struct tbp_table *t, enum tbp_report_format format, bool color,
                  const struct tbp_table_frame *frame, struct tbp_arena *scratch,
                  struct tbp_sink *sink, struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(scratch, struct tbp_json);
    tbp_json_init(j, sink);
    if (format == TBP_REPORT_JSON)
        frame->json(j, t->ctx, t);
    else if (format == TBP_REPORT_CSV)
        tbp_table_csv(j, t);
    else
        frame->text(j, t->ctx, t, color);
    return tbp_json_finish(j, err);
}
