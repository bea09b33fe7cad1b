/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables in text; see csv_rows.h.
 */
#include "convert/read/csv_rows.h"

#include "base/json_pull.h"
#include "convert/read/text_lines.h"

/* ---- cells and rows ---- */

/* Where the quoted cell that opens at `at` ends: behind the quote that a comma, a line end or the
 * end of the table follows; NULL if there is none within reach. */
static const char *end_of_quoted(const char *at, const char *end) {
    enum { REACH = 1 << 16 };
    const char *stop = end - at > REACH ? at + REACH : end;
    for (const char *p = at + 1; p < stop; p++) {
        if (*p != '"')
            continue;
        if (p + 1 < end && p[1] == '"') {
            p++; /* doubled: part of the text */
            continue;
        }
        const char *q = p + 1;
        while (q < stop && tbp_text_is_blank(*q))
            q++;
        if (q == end || *q == ',' || tbp_text_is_line_end(*q))
            return p + 1;
    }
    return NULL;
}

static bool is_end(const char *p, const char *end) {
    return p == end || tbp_text_is_line_end(*p);
}

/* One cell; c->at then stands on the comma or line end behind it. */
static struct tbp_str read_cell(struct tbp_csv *c) {
    const char *from = c->at, *p = from;
    while (p < c->end && tbp_text_is_blank(*p))
        p++;
    if (p < c->end && *p == '"') {
        const char *close = end_of_quoted(p, c->end);
        p = close ? close : p;
    }
    while (!is_end(p, c->end) && *p != ',')
        p++;
    c->at = p;
    return (struct tbp_str){from, (size_t)(p - from)};
}

/* Stands then on a row that has something, or at the end. */
static void skip_empty_lines(struct tbp_csv *c) {
    while (c->at < c->end) {
        struct tbp_str rest = {c->at, (size_t)(c->end - c->at)};
        const char *p = c->at = tbp_text_without_mark(rest).p;
        while (p < c->end && tbp_text_is_blank(*p))
            p++;
        if (!is_end(p, c->end))
            return;
        c->line += p < c->end && *p == '\n';
        c->at = p < c->end ? p + 1 : p;
    }
}

/* A row of more cells than any table has is taken for none: it has no cell at all. */
static void read_row(struct tbp_csv *c) {
    enum { MAX_CELLS = 4096 };
    const char *from = c->at;
    c->cells.n = 0;
    c->offset = (uint64_t)(from - c->start);
    for (;;) {
        *tbp_vec_push(&c->cells) = read_cell(c);
        if (is_end(c->at, c->end))
            break;
        c->at++; /* the comma */
        if (c->cells.n < MAX_CELLS)
            continue;
        c->cells.n = 0;
        while (!is_end(c->at, c->end))
            c->at++;
        break;
    }
    for (const char *p = from; (p = memchr(p, '\n', (size_t)(c->at - p))); p++)
        c->line++; /* within quotes: the row is called by its last line */
}

/* As where one table stands behind another in the file. */
static bool is_heading_again(const struct tbp_csv *c) {
    size_t i = 0;
    while (i < c->heading.n && i < c->cells.n && tbp_str_eq(c->heading.at[i], c->cells.at[i]))
        i++;
    return i > 0 && i == c->heading.n && i == c->cells.n;
}

bool tbp_csv_next(struct tbp_csv *c) {
    do {
        skip_empty_lines(c);
        if (c->at == c->end)
            return false;
        read_row(c);
    } while (is_heading_again(c));
    return true;
}

void tbp_csv_init(struct tbp_csv *c, struct tbp_str bytes) {
    *c = (struct tbp_csv){.start = bytes.p, .at = bytes.p, .end = bytes.p + bytes.n, .line = 1};
    if (!tbp_csv_next(c))
        return;
    for (size_t i = 0; i < c->cells.n; i++)
        *tbp_vec_push(&c->heading) = c->cells.at[i];
}

void tbp_csv_release(struct tbp_csv *c) {
    tbp_vec_release(&c->heading);
    tbp_vec_release(&c->cells);
    tbp_vec_release(&c->scratch);
}

/* ---- columns by name ---- */

static bool is_word(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
}

static char lower(char ch) {
    return ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) : ch;
}

/* Next letter or digit of s from *at on, in small letters; 0 at its end. */
static char next_letter(struct tbp_str s, size_t *at) {
    while (*at < s.n && !is_word(s.p[*at]))
        ++*at;
    return *at < s.n ? lower(s.p[(*at)++]) : 0;
}

static bool same_letters(struct tbp_str a, struct tbp_str b) {
    size_t i = 0, k = 0;
    for (;;) {
        char x = next_letter(a, &i), y = next_letter(b, &k);
        if (x != y)
            return false;
        if (!x)
            return true;
    }
}

static struct tbp_str before_bracket(struct tbp_str s) {
    return tbp_str_sub(s, 0, tbp_str_find(s, '('));
}

/* "(us)"; words in brackets make another column of it. */
static bool has_unit_at_most(struct tbp_str name) {
    enum { UNIT = sizeof "(us)" - 1 };
    return name.n - before_bracket(name).n <= UNIT;
}

static int find_column(const struct tbp_csv *c, struct tbp_str name) {
    for (size_t i = 0; i < c->heading.n; i++)
        if (same_letters(c->heading.at[i], name))
            return (int)i;
    if (!has_unit_at_most(name))
        return TBP_CSV_NONE;
    for (size_t i = 0; i < c->heading.n; i++)
        if (same_letters(before_bracket(c->heading.at[i]), before_bracket(name)))
            return (int)i;
    return TBP_CSV_NONE;
}

/* What stands before the next mark, which leaves rest with it. */
static struct tbp_str take_part(struct tbp_str *rest, char mark) {
    size_t n = tbp_str_find(*rest, mark);
    struct tbp_str part = tbp_str_sub(*rest, 0, n);
    *rest = tbp_str_sub(*rest, n < rest->n ? n + 1 : n, rest->n);
    return part;
}

static int find_any(const struct tbp_csv *c, struct tbp_str names) {
    int column = TBP_CSV_NONE;
    while (names.n && column == TBP_CSV_NONE)
        column = find_column(c, take_part(&names, '|'));
    return column;
}

int tbp_csv_column(const struct tbp_csv *c, const char *names) {
    return find_any(c, tbp_str_c(names));
}

bool tbp_csv_has_columns(const struct tbp_csv *c, const char *columns) {
    for (struct tbp_str rest = tbp_str_c(columns); rest.n;)
        if (find_any(c, take_part(&rest, ',')) == TBP_CSV_NONE)
            return false;
    return true;
}

/* ---- values ---- */

static struct tbp_str trimmed(struct tbp_str s) {
    size_t from = 0, to = s.n;
    while (from < to && tbp_text_is_blank(s.p[from]))
        from++;
    while (to > from && tbp_text_is_blank(s.p[to - 1]))
        to--;
    return tbp_str_sub(s, from, to);
}

struct tbp_str tbp_csv_text(struct tbp_csv *c, int column) {
    if (column < 0 || (size_t)column >= c->cells.n)
        return TBP_STR_NONE;
    struct tbp_str s = trimmed(c->cells.at[column]);
    if (s.n < 2 || s.p[0] != '"' || s.p[s.n - 1] != '"')
        return s;
    s = trimmed(tbp_str_sub(s, 1, s.n - 1));
    if (!memchr(s.p, '"', s.n))
        return s;
    tbp_vec_reserve(&c->scratch, s.n);
    c->scratch.n = 0;
    for (size_t i = 0; i < s.n; i++) {
        *tbp_vec_push(&c->scratch) = s.p[i];
        i += s.p[i] == '"' && i + 1 < s.n && s.p[i + 1] == '"';
    }
    return (struct tbp_str){c->scratch.at, c->scratch.n};
}

bool tbp_csv_i64(struct tbp_csv *c, int column, int64_t *v) {
    return tbp_json_id(tbp_csv_text(c, column), v);
}

bool tbp_csv_time(struct tbp_csv *c, int column, int shift, int64_t *ns, unsigned *ps) {
    const int64_t far_ns = INT64_MAX / 4; /* so that sums of two do not overflow */
    struct tbp_str s = tbp_csv_text(c, column);
    return s.n && tbp_json_decimal(s, shift, ns, ps) && *ns<far_ns && * ns> - far_ns;
}

bool tbp_csv_duration(struct tbp_csv *c, int column, int shift, uint64_t *ps) {
    int64_t ns;
    unsigned rest_ps;
    *ps = 0;
    if (!tbp_csv_time(c, column, shift, &ns, &rest_ps) || ns < 0 || ns > INT64_MAX / 1000 - 1)
        return false;
    *ps = (uint64_t)ns * 1000u + rest_ps;
    return true;
}
