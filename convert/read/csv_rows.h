/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables in text (comma separated values) as profilers write them: columns are found by name, never
 * by place; rows that are too short keep the cells they have, rows of more than 4096 cells have
 * none; lines end as text_lines.h says; quotes may hold commas, doubled quotes and line breaks, or
 * stand in a text unescaped.
 *
 *     tbp_csv_init(&c, bytes);                              // takes the heading
 *     int start = tbp_csv_column(&c, "Start Time(us)|start_time");
 *     while (tbp_csv_next(&c))
 *         tbp_csv_time(&c, start, 3, &ns, &ps);
 *     tbp_csv_release(&c);
 *
 * Cells are views of the input; those with doubled quotes are undone into the table's scratch,
 * which no row makes larger than its own bytes. One thread.
 */
#ifndef TBP_CONVERT_READ_CSV_ROWS_H
#define TBP_CONVERT_READ_CSV_ROWS_H

#include "base/str.h"
#include "base/vec.h"

struct tbp_csv {
    const char *start, *at, *end;
    TBP_VEC(struct tbp_str) heading, cells;
    TBP_VEC(char) scratch;
    uint64_t line;   /* of the row, from 1 */
    uint64_t offset; /* of the row, in bytes */
};

enum { TBP_CSV_NONE = -1 };

/* Begins with the first row that is not empty: the heading. Blanks alone are no row. */
void tbp_csv_init(struct tbp_csv *c, struct tbp_str bytes);
void tbp_csv_release(struct tbp_csv *c);
/* The next row that is neither empty nor the heading once more. */
bool tbp_csv_next(struct tbp_csv *c);

/* First column called by one of the names (separated by '|'): letters and digits count, their case
 * does not; a unit in brackets counts only if two columns differ by it. TBP_CSV_NONE. */
int tbp_csv_column(const struct tbp_csv *c, const char *names);
/* All of the columns, separated by ',', are there. */
bool tbp_csv_has_columns(const struct tbp_csv *c, const char *columns);

/* Text of a cell, without quotes and blanks around it; empty if there is none. Valid until the next
 * call. */
struct tbp_str tbp_csv_text(struct tbp_csv *c, int column);
bool tbp_csv_i64(struct tbp_csv *c, int column, int64_t *v);
/* The cell × 10^shift in nanoseconds and picoseconds (shift 0: ns, 3: µs, 6: ms). */
bool tbp_csv_time(struct tbp_csv *c, int column, int shift, int64_t *ns, unsigned *ps);
/* The same as a duration in picoseconds; negative ones are none. */
bool tbp_csv_duration(struct tbp_csv *c, int column, int shift, uint64_t *ps);

#endif
