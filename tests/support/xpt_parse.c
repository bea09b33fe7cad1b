/* SPDX-License-Identifier: Apache-2.0
 *
 * .xpt text to XSpace bytes; see xpt.h. Written straight to the wire, so that a fixture may hold
 * what our writers never write: bad UTF-8, ids that lead nowhere, events out of order. Names come
 * after the lines of their plane.
 */
#include "base/vec.h"
#include "schemas/xplane_fields.h"
#include "tests/support/xpt.h"

struct name {
    int64_t id;
    struct tbp_str text;
    struct tbp_str rest; /* fields after id and name: display name, stats */
};

struct names {
    TBP_VEC(struct name) at;
    int64_t next;
};

struct parser {
    struct tbp_str line; /* what is left of the line at work */
    unsigned line_number;
    struct tbp_wire_out *out;
    struct tbp_arena arena;   /* names */
    struct tbp_arena scratch; /* texts of the statement at work */
    struct names events, stats;
    bool in_plane, in_line;
    size_t plane_mark, line_mark;
    int64_t repetition;
    const char *fault;
};

/* ---- words ---- */

static void fail(struct parser *p, const char *what) {
    if (!p->fault)
        p->fault = what;
    p->line = TBP_STR_NONE;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* #9 and #-9 are ids; anything else after # is a comment. */
static bool is_comment(struct tbp_str s) {
    if (!s.n || s.p[0] != '#')
        return false;
    size_t digit = s.n > 1 && s.p[1] == '-' ? 2 : 1;
    return digit >= s.n || s.p[digit] < '0' || s.p[digit] > '9';
}

static void skip_blanks(struct parser *p) {
    while (p->line.n && is_blank(p->line.p[0]))
        p->line = tbp_str_sub(p->line, 1, p->line.n);
    if (is_comment(p->line))
        p->line = TBP_STR_NONE;
}

static bool take_char(struct parser *p, char c) {
    if (!p->line.n || p->line.p[0] != c)
        return false;
    p->line = tbp_str_sub(p->line, 1, p->line.n);
    return true;
}

static bool is_word_char(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("_.+-", c));
}

static struct tbp_str take_word(struct parser *p) {
    size_t n = 0;
    while (n < p->line.n && is_word_char(p->line.p[n]))
        n++;
    struct tbp_str word = tbp_str_sub(p->line, 0, n);
    p->line = tbp_str_sub(p->line, n, p->line.n);
    return word;
}

static bool take_keyword(struct parser *p, const char *word) {
    skip_blanks(p);
    struct tbp_str before = p->line;
    if (tbp_str_is(take_word(p), word))
        return true;
    p->line = before;
    return false;
}

static int hex(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

static char take_escape(struct parser *p) {
    if (take_char(p, 'n'))
        return '\n';
    if (take_char(p, 't'))
        return '\t';
    if (take_char(p, '"'))
        return '"';
    if (take_char(p, '\\'))
        return '\\';
    if (p->line.n >= 3 && take_char(p, 'x') && hex(p->line.p[0]) >= 0 && hex(p->line.p[1]) >= 0) {
        int c = hex(p->line.p[0]) * 16 + hex(p->line.p[1]);
        p->line = tbp_str_sub(p->line, 2, p->line.n);
        return (char)(unsigned char)c;
    }
    fail(p, "bad escape");
    return 0;
}

static struct tbp_str take_text(struct parser *p) {
    skip_blanks(p);
    if (!take_char(p, '"')) {
        fail(p, "text in quotes expected");
        return TBP_STR_NONE;
    }
    char *to = TBP_NEW_N(&p->scratch, char, p->line.n + 1);
    size_t n = 0;
    while (p->line.n && p->line.p[0] != '"') {
        char c = p->line.p[0];
        p->line = tbp_str_sub(p->line, 1, p->line.n);
        to[n++] = c == '\\' ? take_escape(p) : c;
    }
    if (!take_char(p, '"'))
        fail(p, "text without end");
    return (struct tbp_str){to, n};
}

static int64_t take_int(struct parser *p) {
    int64_t v = 0;
    skip_blanks(p);
    if (!tbp_str_to_i64(take_word(p), &v))
        fail(p, "integer expected");
    return v;
}

/* "1.5us" as a whole number of units of 10^-`digits` seconds, exactly; without a unit the number
 * itself. */
static int64_t take_time_in(struct parser *p, int digits) {
    static const struct {
        const char *unit;
        int digits;
    } units[] = {{"ps", 12}, {"ns", 9}, {"us", 6}, {"ms", 3}, {"s", 0}};
    skip_blanks(p);
    struct tbp_str word = take_word(p);
    int more = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (tbp_str_ends(word, units[i].unit)) {
            more = digits - units[i].digits;
            word.n -= strlen(units[i].unit);
            break;
        }
    char *to = TBP_NEW_N(&p->scratch, char, word.n + 16);
    size_t point = tbp_str_find(word, '.'), n = 0;
    for (size_t i = 0; i < word.n; i++)
        if (i != point)
            to[n++] = word.p[i];
    int n_decimals = point < word.n ? (int)(word.n - point - 1) : 0;
    for (int i = n_decimals; i < more; i++)
        to[n++] = '0';
    int64_t v = 0;
    if (n_decimals > more || !tbp_str_to_i64((struct tbp_str){to, n}, &v))
        fail(p, digits == 12 ? "time expected, in whole picoseconds"
                             : "time expected, in whole nanoseconds");
    return v;
}

static int64_t take_time(struct parser *p) {
    return take_time_in(p, 12);
}

/* ---- names ---- */

static struct name *name_by_id(struct names *names, int64_t id) {
    for (size_t i = 0; i < names->at.n; i++)
        if (names->at.at[i].id == id)
            return &names->at.at[i];
    return NULL;
}

static int64_t add_name(struct parser *p, struct names *names, struct tbp_str text) {
    while (name_by_id(names, names->next))
        names->next++;
    *tbp_vec_push(&names->at) =
        (struct name){names->next, tbp_arena_str(&p->arena, text), TBP_STR_NONE};
    return names->next;
}

static int64_t id_of(struct parser *p, struct names *names, struct tbp_str text) {
    for (size_t i = 0; i < names->at.n; i++)
        if (tbp_str_eq(names->at.at[i].text, text))
            return names->at.at[i].id;
    return add_name(p, names, text);
}

/* A name in quotes, or #id. */
static int64_t take_name(struct parser *p, struct names *names) {
    skip_blanks(p);
    return take_char(p, '#') ? take_int(p) : id_of(p, names, take_text(p));
}

/* ---- stats ---- */

static int64_t take_key(struct parser *p) {
    if (p->line.n && (p->line.p[0] == '#' || p->line.p[0] == '"'))
        return take_name(p, &p->stats);
    struct tbp_str word = take_word(p);
    if (!word.n) {
        fail(p, "stat expected");
        return 0;
    }
    return id_of(p, &p->stats, word);
}

static void put_number(struct parser *p, struct tbp_wire_out *o, struct tbp_str word) {
    int64_t i;
    uint64_t u;
    double d;
    bool counts = tbp_str_ends(word, "++");
    if (counts)
        word.n -= 2;
    int64_t more = counts ? p->repetition : 0;
    bool is_unsigned = word.n && word.p[word.n - 1] == 'u';
    if (is_unsigned && tbp_str_to_u64(tbp_str_sub(word, 0, word.n - 1), &u))
        tbp_wire_put_u64(o, TBP_XSTAT_UINT64, u + (uint64_t)more);
    else if (tbp_str_to_i64(word, &i))
        tbp_wire_put_u64(o, TBP_XSTAT_INT64, (uint64_t)(i + more));
    else if (tbp_str_to_double(word, &d))
        tbp_wire_put_double(o, TBP_XSTAT_DOUBLE, d);
    else
        fail(p, "value expected");
}

static void put_value(struct parser *p, struct tbp_wire_out *o) {
    if (take_char(p, '@'))
        tbp_wire_put_u64(o, TBP_XSTAT_REF, (uint64_t)take_name(p, &p->stats));
    else if (p->line.n && p->line.p[0] == '"')
        tbp_wire_put_str(o, TBP_XSTAT_STR, take_text(p));
    else if (p->line.n > 1 && p->line.p[0] == 'b' && p->line.p[1] == '"' && take_char(p, 'b'))
        tbp_wire_put_str(o, TBP_XSTAT_BYTES, take_text(p));
    else
        put_number(p, o, take_word(p));
}

/* key=value until the end of the line. */
static void put_stats(struct parser *p, struct tbp_wire_out *o, uint32_t field) {
    for (skip_blanks(p); p->line.n; skip_blanks(p)) {
        size_t mark = tbp_wire_begin(o, field);
        tbp_wire_put_u64(o, TBP_XSTAT_METADATA_ID, (uint64_t)take_key(p));
        if (!take_char(p, '='))
            fail(p, "= expected");
        else
            put_value(p, o);
        tbp_wire_end(o, mark);
    }
}

/* ---- statements ---- */

static void close_line(struct parser *p) {
    if (p->in_line)
        tbp_wire_end(p->out, p->line_mark);
    p->in_line = false;
}

static void put_names(struct parser *p, struct names *names, uint32_t map, uint32_t id_field,
                      uint32_t name_field) {
    for (size_t i = 0; i < names->at.n; i++) {
        const struct name *n = &names->at.at[i];
        size_t entry = tbp_wire_begin(p->out, map);
        tbp_wire_put_u64(p->out, TBP_MAP_KEY, (uint64_t)n->id);
        size_t value = tbp_wire_begin(p->out, TBP_MAP_VALUE);
        tbp_wire_put_u64(p->out, id_field, (uint64_t)n->id);
        tbp_wire_put_str(p->out, name_field, n->text);
        tbp_wire_put_raw(p->out, n->rest.p, n->rest.n);
        tbp_wire_end(p->out, value);
        tbp_wire_end(p->out, entry);
    }
    names->at.n = 0;
    names->next = 1;
}

static void close_plane(struct parser *p) {
    close_line(p);
    if (!p->in_plane)
        return;
    put_names(p, &p->events, TBP_XPLANE_EVENT_METADATA, TBP_XEVENTMETA_ID, TBP_XEVENTMETA_NAME);
    put_names(p, &p->stats, TBP_XPLANE_STAT_METADATA, TBP_XSTATMETA_ID, TBP_XSTATMETA_NAME);
    tbp_wire_end(p->out, p->plane_mark);
    p->in_plane = false;
}

static void put_file_text(struct parser *p, uint32_t field) {
    close_plane(p);
    tbp_wire_put_str(p->out, field, take_text(p));
}

static void open_plane(struct parser *p) {
    close_plane(p);
    p->in_plane = true;
    p->plane_mark = tbp_wire_begin(p->out, TBP_XSPACE_PLANES);
    tbp_wire_put_u64(p->out, TBP_XPLANE_ID, (uint64_t)take_int(p));
    tbp_wire_put_str(p->out, TBP_XPLANE_NAME, take_text(p));
}

static void open_line(struct parser *p) {
    close_line(p);
    p->in_line = true;
    p->line_mark = tbp_wire_begin(p->out, TBP_XPLANE_LINES);
    tbp_wire_put_u64(p->out, TBP_XLINE_ID, (uint64_t)take_int(p));
    tbp_wire_put_str(p->out, TBP_XLINE_NAME, take_text(p));
    if (take_keyword(p, "at"))
        tbp_wire_put_u64(p->out, TBP_XLINE_TIMESTAMP_NS, (uint64_t)take_time_in(p, 9));
    if (take_keyword(p, "lasts"))
        tbp_wire_put_u64(p->out, TBP_XLINE_DURATION_PS, (uint64_t)take_time(p));
    if (take_keyword(p, "display")) {
        tbp_wire_put_u64(p->out, TBP_XLINE_DISPLAY_ID, (uint64_t)take_int(p));
        tbp_wire_put_str(p->out, TBP_XLINE_DISPLAY_NAME, take_text(p));
    }
}

static void declare_name(struct parser *p, struct names *names, bool is_event) {
    int64_t id = 0;
    skip_blanks(p);
    bool has_id = take_char(p, '#');
    if (has_id)
        id = take_int(p);
    struct tbp_str text = take_text(p);
    if (has_id && name_by_id(names, id))
        fail(p, "id given twice");
    else if (has_id)
        *tbp_vec_push(&names->at) = (struct name){id, tbp_arena_str(&p->arena, text), TBP_STR_NONE};
    else
        id = add_name(p, names, text);
    struct tbp_wire_out rest = {0};
    if (is_event && take_keyword(p, "display"))
        tbp_wire_put_str(&rest, TBP_XEVENTMETA_DISPLAY_NAME, take_text(p));
    if (is_event)
        put_stats(p, &rest, TBP_XEVENTMETA_STATS);
    if (!p->fault)
        name_by_id(names, id)->rest =
            tbp_arena_str(&p->arena, (struct tbp_str){(const char *)rest.at, rest.n});
    tbp_wire_out_release(&rest);
}

static void put_event(struct parser *p, int64_t shift_ps) {
    size_t mark = tbp_wire_begin(p->out, TBP_XLINE_EVENTS);
    if (take_keyword(p, "count"))
        tbp_wire_put_u64(p->out, TBP_XEVENT_NUM_OCCURRENCES, (uint64_t)take_int(p));
    else
        tbp_wire_put_u64(p->out, TBP_XEVENT_OFFSET_PS, (uint64_t)(take_time(p) + shift_ps));
    skip_blanks(p);
    if (!take_char(p, '+'))
        fail(p, "+duration expected");
    else
        tbp_wire_put_u64(p->out, TBP_XEVENT_DURATION_PS, (uint64_t)take_time(p));
    tbp_wire_put_u64(p->out, TBP_XEVENT_METADATA_ID, (uint64_t)take_name(p, &p->events));
    put_stats(p, p->out, TBP_XEVENT_STATS);
    tbp_wire_end(p->out, mark);
}

static void put_events(struct parser *p) {
    if (!p->in_line) {
        fail(p, "an event outside a line");
        return;
    }
    if (!take_keyword(p, "repeat")) {
        put_event(p, 0);
        return;
    }
    int64_t n = take_int(p);
    if (!take_keyword(p, "every"))
        fail(p, "every expected");
    int64_t every_ps = take_time(p);
    struct tbp_str event = p->line;
    for (p->repetition = 0; p->repetition < n && !p->fault; p->repetition++) {
        p->line = event;
        put_event(p, p->repetition * every_ps);
        if (p->repetition % 1024 == 0)
            tbp_arena_release(&p->scratch);
    }
    p->repetition = 0;
}

static void put_statement(struct parser *p) {
    if (take_keyword(p, "hostname"))
        put_file_text(p, TBP_XSPACE_HOSTNAMES);
    else if (take_keyword(p, "error"))
        put_file_text(p, TBP_XSPACE_ERRORS);
    else if (take_keyword(p, "warning"))
        put_file_text(p, TBP_XSPACE_WARNINGS);
    else if (take_keyword(p, "plane"))
        open_plane(p);
    else if (!p->in_plane)
        fail(p, "plane expected");
    else if (take_keyword(p, "line"))
        open_line(p);
    else if (take_keyword(p, "name"))
        declare_name(p, &p->events, true);
    else if (take_keyword(p, "statname"))
        declare_name(p, &p->stats, false);
    else if (take_keyword(p, "stat")) {
        close_line(p);
        put_stats(p, p->out, TBP_XPLANE_STATS);
    } else
        put_events(p);
    skip_blanks(p);
    if (p->line.n)
        fail(p, "more than expected");
}

int tbp_xpt_parse(struct tbp_str text, struct tbp_wire_out *out, struct tbp_error *err) {
    struct parser p = {.out = out, .events.next = 1, .stats.next = 1};
    tbp_arena_init(&p.arena);
    tbp_arena_init(&p.scratch);
    while (text.n && !p.fault) {
        size_t end = tbp_str_find(text, '\n');
        p.line = tbp_str_sub(text, 0, end);
        p.line_number++;
        skip_blanks(&p);
        if (p.line.n)
            put_statement(&p);
        tbp_arena_release(&p.scratch);
        text = tbp_str_sub(text, end < text.n ? end + 1 : end, text.n);
    }
    close_plane(&p);
    tbp_vec_release(&p.events.at);
    tbp_vec_release(&p.stats.at);
    tbp_arena_release(&p.arena);
    return p.fault ? tbp_fail(err, TBP_E_FORMAT, "line %u: %s", p.line_number, p.fault) : TBP_OK;
}
