/* SPDX-License-Identifier: Apache-2.0
 *
 * One table, three ways to print it: aligned text for people, CSV and JSON for programs. A report
 * says what columns there are and what stands in a cell; it never formats. Rows are asked for one
 * by one (text asks twice: first for the widths), so nothing is held.
 *
 * Times are picoseconds in cells: text shows them with a unit, CSV and JSON as microseconds, exact.
 * What is not known is a dash, an empty field, or null; never 0.
 */
#ifndef TBP_CONVERT_REPORT_TABLE_OUT_H
#define TBP_CONVERT_REPORT_TABLE_OUT_H

#include "base/arena.h"
#include "plugin_data/json_out.h"

enum tbp_report_format { TBP_REPORT_TEXT, TBP_REPORT_CSV, TBP_REPORT_JSON };

enum tbp_cell_kind {
    TBP_CELL_TEXT,
    TBP_CELL_COUNT,
    TBP_CELL_TIME, /* picoseconds, maybe negative */
    TBP_CELL_BYTES,
    TBP_CELL_SHARE, /* 0 … 1, percent in text */
    TBP_CELL_REAL,  /* any other number */
};

struct tbp_column {
    const char *key;   /* in CSV and JSON; times end in _us, bytes in _bytes */
    const char *title; /* in text */
    enum tbp_cell_kind kind;
    bool is_hidden;  /* not in text: the table has nothing of it */
    bool is_limited; /* text: cut to TBP_TEXT_MAX columns */
};

enum { TBP_TEXT_MAX = 55 };

struct tbp_cell {
    bool is_known;
    struct tbp_str s;
    int64_t i;
    double d;
};

struct tbp_table {
    const struct tbp_column *columns;
    size_t n_columns, n_rows;
    void (*cell)(const void *ctx, size_t row, size_t column, struct tbp_cell *out);
    const void *ctx;
};

static inline struct tbp_cell tbp_cell_text(struct tbp_str s) {
    return (struct tbp_cell){.is_known = true, .s = s};
}
static inline struct tbp_cell tbp_cell_i(int64_t i) {
    return (struct tbp_cell){.is_known = true, .i = i};
}
static inline struct tbp_cell tbp_cell_d(double d) {
    return (struct tbp_cell){.is_known = true, .d = d};
}

/* Picoseconds of a sum or mean, as near as the integers go. */
static inline int64_t tbp_whole_ps(double ps) {
    const double most = 9.2e18;
    return ps != ps ? 0 : (int64_t)(ps > most ? most : ps < -most ? -most : ps);
}

void tbp_table_text(struct tbp_json *out, const struct tbp_table *t, bool color);
void tbp_table_csv(struct tbp_json *out, const struct tbp_table *t);
/* A JSON list of objects. */
void tbp_table_json(struct tbp_json *out, const struct tbp_table *t);

/* What stands around a table in a report: its JSON object, and its text. */
struct tbp_table_frame {
    void (*json)(struct tbp_json *out, const void *ctx, const struct tbp_table *t);
    void (*text)(struct tbp_json *out, const void *ctx, const struct tbp_table *t, bool color);
};
/* The report as asked for; CSV is the table alone. ctx is the table's. */
int tbp_table_put(const struct tbp_table *t, enum tbp_report_format format, bool color,
                  const struct tbp_table_frame *frame, struct tbp_arena *scratch,
                  struct tbp_sink *sink, struct tbp_error *err);

/* ---- single values ---- */
void tbp_put_csv_text(struct tbp_json *out, struct tbp_str s); /* quoted where it must be */
enum { TBP_VALUE_MAX = 64 };
/* "12.345us", "1.776ms", "2.100s"; the unit follows the size. Returns the length. */
size_t tbp_time_text(char *to, int64_t ps);
size_t tbp_bytes_text(char *to, int64_t bytes); /* "640 B", "1.25 KB" … */
size_t tbp_us_text(char *to, int64_t ps);       /* microseconds, up to 6 decimals, exact */
void tbp_put_us(struct tbp_json *out, const char *before, int64_t ps); /* as a JSON number */
/* One text for a terminal: no control characters reach it, bytes that are no UTF-8 neither. */
void tbp_put_shown(struct tbp_json *out, struct tbp_str s);

#endif
