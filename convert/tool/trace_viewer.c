/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_viewer: one host as one document in the Chrome trace format.
 * The newest dialect has the blanks of Python's json.dumps with sorted keys; the legacy one, which
 * also goes into <host>.trace.json.gz, is the same document without them. TensorFlow's own files
 * write an event of no length as one of a picosecond instead of an instant.
 * Budget: 150 ns per event and thread, arguments included (tests/bench).
 */
#include "base/sort.h"
#include "convert/tool/tool.h"
#include "convert/tool/trace_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The earliest events stay when there are more; the environment variable of the official tool. */
#define EVENTS_MAX_VARIABLE "TF_PROFILER_TRACE_VIEWER_MAX_EVENTS"
enum { EVENTS_MAX = 5000000 };
/* Up to this many arguments are put in order by insertion. */
enum { FEW_ARGS = 64 };
/* Longer names are not kept once more together with what surrounds them. */
enum { SHORT_NAME = 256 };
/* Texts are prepared for this many names of a plane, which is more than programs have: where each
 * event has a name of its own, what is written once is not kept. */
enum { READY_NAMES = 1 << 16 };

/* Texts between the values of an event; quotes of the value included. */
struct style {
    struct tbp_str open_args, colon, comma, close_args, open_bare, dur, first_name, name, instant,
        complete, instant_s, tid, ts, close;
};

static const struct style python_style = {
    .open_args = TBP_STR_INIT("{\"args\": {\""),
    .colon = TBP_STR_INIT("\": \""),
    .comma = TBP_STR_INIT("\", \""),
    .close_args = TBP_STR_INIT("\"}, "),
    .open_bare = TBP_STR_INIT("{"),
    .dur = TBP_STR_INIT("\"dur\": "),
    .first_name = TBP_STR_INIT("\"name\": \""),
    .name = TBP_STR_INIT(", \"name\": \""),
    .complete = TBP_STR_INIT("\", \"ph\": \"X\", \"pid\": "),
    .instant = TBP_STR_INIT("\", \"ph\": \"i\", \"pid\": "),
    .instant_s = TBP_STR_INIT(", \"s\": \"t\""),
    .tid = TBP_STR_INIT(", \"tid\": "),
    .ts = TBP_STR_INIT(", \"ts\": "),
    .close = TBP_STR_INIT("},\n"),
};
static const struct style compact_style = {
    .open_args = TBP_STR_INIT("{\"args\":{\""),
    .colon = TBP_STR_INIT("\":\""),
    .comma = TBP_STR_INIT("\",\""),
    .close_args = TBP_STR_INIT("\"},"),
    .open_bare = TBP_STR_INIT("{"),
    .dur = TBP_STR_INIT("\"dur\":"),
    .first_name = TBP_STR_INIT("\"name\":\""),
    .name = TBP_STR_INIT(",\"name\":\""),
    .complete = TBP_STR_INIT("\",\"ph\":\"X\",\"pid\":"),
    .instant = TBP_STR_INIT("\",\"ph\":\"i\",\"pid\":"),
    .instant_s = TBP_STR_INIT(",\"s\":\"t\""),
    .tid = TBP_STR_INIT(",\"tid\":"),
    .ts = TBP_STR_INIT(",\"ts\":"),
    .close = TBP_STR_INIT("},\n"),
};

/* A value of a metadata entry, formatted once. */
struct ready_arg {
    uint32_t key;
    struct tbp_str text;
};
struct ready_meta {
    const struct ready_arg *args; /* by name, each name once */
    uint32_t n_args;
    bool renames;            /* step_name is among them */
    struct tbp_str name;     /* shown, escaped */
    struct tbp_str complete; /* from the name to the pid, for events with a length; or empty */
};

struct key_texts { /* a name with all that stands before its value */
    struct tbp_str first, next;
};

struct plane_texts {
    struct tbp_trace_texts names;
    struct key_texts *keys; /* of the first READY_NAMES of plane->keys */
    struct ready_meta *metas, *made;
};

struct piece {
    uint32_t plane, line;
    size_t from, to;
    uint32_t at_limit; /* how many of its events that begin at the limit of the cap stay */
};

struct document {
    const struct tbp_trace *trace;
    const struct style *style;
    bool is_repair, has_instants;
    struct plane_texts *texts; /* by plane */
    struct tbp_arena arena;
    TBP_VEC(struct piece) pieces;
    /* The cap: events that begin later are left out. */
    bool is_capped;
    uint64_t limit_ps;
};

static inline void put(struct tbp_json *j, struct tbp_str s) {
    if (s.n) /* the pointer of an empty text may be NULL */
        tbp_json_raw(j, s.p, s.n);
}

/* ---- values: all are texts ---- */

static void put_double(struct tbp_json *j, double v) {
    if (isnan(v))
        tbp_json_raw(j, "nan", 3);
    else
        j->n += tbp_number_g(tbp_json_room(j, TBP_NUMBER_MAX), v);
}

static void put_value(struct tbp_json *j, const struct plane_texts *t,
                      const struct tbp_trace_arg *a) {
    switch (a->type) {
    case TBP_STAT_INT64:
        tbp_json_i64(j, a->i);
        break;
    case TBP_STAT_UINT64:
        tbp_json_u64(j, a->u);
        break;
    case TBP_STAT_REF:
        put(j, t->names.keys[a->ref]);
        break;
    case TBP_STAT_STR:
        tbp_json_text(j, a->s, TBP_JSON_PYTHON);
        break;
    case TBP_STAT_DOUBLE:
        put_double(j, a->d);
        break;
    case TBP_STAT_BYTES:
        tbp_json_lit(j, "<opaque bytes>");
        break;
    default:
        break;
    }
}

/* ---- arguments of an event, by name ---- */

struct item {
    const struct tbp_trace_key *key;
    const struct tbp_trace_arg *arg; /* or NULL: ready */
    const struct ready_arg *ready;
};

/* Inserts by name; a later value of one name replaces the earlier one. Events have few arguments.
 */
static size_t insert(struct item *at, size_t n, struct item x) {
    size_t i = n;
    while (i > 0) {
        int c = tbp_trace_key_cmp(at[i - 1].key, x.key);
        if (c == 0) {
            at[i - 1] = x;
            return n;
        }
        if (c < 0)
            break;
        i--;
    }
    memmove(at + i + 1, at + i, (n - i) * sizeof *at);
    at[i] = x;
    return n + 1;
}

struct scratch {
    char thread[64]; /* from the thread's number to the begin */
    size_t n_thread;
    struct tbp_trace_args args;
    TBP_VEC(struct item) items;
};

static int by_key(const void *a, const void *b, void *ctx) {
    (void)ctx;
    return tbp_trace_key_cmp(((const struct item *)a)->key, ((const struct item *)b)->key);
}

/* The same for events that have very many. */
static size_t sort_items(struct item *at, size_t n) {
    size_t kept = 0;
    tbp_sort(at, n, sizeof *at, by_key, NULL);
    for (size_t i = 0; i < n; i++) {
        if (kept && tbp_trace_key_cmp(at[kept - 1].key, at[i].key) == 0)
            kept--;
        at[kept++] = at[i];
    }
    return kept;
}

/* Fills s->items; step_name is the item that renames the event, or NULL. */
static void collect_items(const struct tbp_trace_line *l, size_t i, const struct ready_meta *m,
                          struct scratch *s, const struct tbp_trace_arg **step_name) {
    const struct tbp_trace_key *keys = l->plane->keys;
    tbp_trace_event_args(l, i, &s->args);
    tbp_vec_reserve(&s->items, m->n_args + s->args.at.n);
    struct item *at = s->items.at;
    size_t n = 0;
    const bool few = m->n_args + s->args.at.n <= FEW_ARGS;
    for (uint32_t k = 0; k < m->n_args; k++)
        at[n++] = (struct item){.key = &keys[m->args[k].key], .ready = &m->args[k]};
    for (size_t k = 0; k < s->args.at.n; k++) {
        const struct tbp_trace_arg *a = &s->args.at.at[k];
        const struct item x = {.key = &keys[a->key], .arg = a};
        if (few)
            n = insert(at, n, x);
        else
            at[n++] = x;
        if (keys[a->key].what == TBP_TRACE_STEP_NAME)
            *step_name = a;
    }
    s->items.n = few ? n : sort_items(at, n);
}

static void put_key(struct tbp_json *j, const struct style *style, const struct plane_texts *t,
                    size_t key, bool is_first) {
    if (key < READY_NAMES) {
        put(j, is_first ? t->keys[key].first : t->keys[key].next);
        return;
    }
    put(j, is_first ? style->open_args : style->comma);
    put(j, t->names.keys[key]);
    put(j, style->colon);
}

static void put_items(struct tbp_json *j, const struct style *style, const struct plane_texts *t,
                      const struct tbp_trace_line *l, const struct scratch *s) {
    for (size_t k = 0; k < s->items.n; k++) {
        const struct item *x = &s->items.at[k];
        put_key(j, style, t, (size_t)(x->key - l->plane->keys), k == 0);
        if (x->arg)
            put_value(j, t, x->arg);
        else
            put(j, x->ready->text);
    }
    put(j, s->items.n ? style->close_args : style->open_bare);
}

/* ---- events ---- */

static struct tbp_str ready_step_name(const struct ready_meta *m,
                                      const struct tbp_trace_key *keys) {
    for (uint32_t k = 0; k < m->n_args; k++)
        if (keys[m->args[k].key].what == TBP_TRACE_STEP_NAME)
            return m->args[k].text;
    return m->name;
}

/* From the name to the pid. */
static void put_name(const struct document *d, struct tbp_json *j, const struct tbp_trace_line *l,
                     const struct plane_texts *t, const struct ready_meta *m,
                     const struct tbp_trace_arg *step_name, bool instant) {
    const struct style *style = d->style;
    if (!instant && !step_name && !m->renames && m->complete.n) {
        put(j, m->complete);
        return;
    }
    put(j, instant ? style->first_name : style->name);
    if (step_name)
        put_value(j, t, step_name);
    else
        put(j, m->renames ? ready_step_name(m, l->plane->keys) : m->name);
    put(j, instant ? style->instant : style->complete);
    tbp_json_u64(j, l->plane->pid);
}

/* A begin before time zero comes out as a huge unsigned number officially, as what it is under
 * repair. */
static void put_begin(const struct document *d, struct tbp_json *j, uint64_t ps) {
    bool negative = d->is_repair && (int64_t)ps < 0;
    if (negative)
        tbp_json_char(j, '-');
    tbp_json_us_repr(j, negative ? 0 - ps : ps);
}

static void put_event(const struct document *d, const struct tbp_trace_line *l,
                      const struct plane_texts *t, size_t i, struct scratch *s,
                      struct tbp_json *j) {
    const struct style *style = d->style;
    const struct ready_meta *m = &(l->made ? t->made : t->metas)[l->line->ev.meta[i]];
    const struct tbp_trace_arg *step_name = NULL;
    collect_items(l, i, m, s, &step_name);
    put_items(j, style, t, l, s);
    uint64_t dur = l->line->ev.dur_ps[i];
    if (d->is_repair && (int64_t)dur < 0)
        dur = 0;
    if (!d->has_instants && dur == 0)
        dur = 1;
    const bool instant = dur == 0;
    if (!instant) {
        put(j, style->dur);
        tbp_json_us_repr(j, dur);
    }
    put_name(d, j, l, t, m, step_name, instant);
    if (instant)
        put(j, style->instant_s);
    tbp_json_raw(j, s->thread, s->n_thread);
    put_begin(d, j, tbp_trace_begin(l, i));
    put(j, style->close);
}

static void set_thread(struct scratch *s, const struct style *style, uint64_t tid) {
    memcpy(s->thread, style->tid.p, style->tid.n);
    s->n_thread = style->tid.n + tbp_number_u64(s->thread + style->tid.n, tid);
    memcpy(s->thread + s->n_thread, style->ts.p, style->ts.n);
    s->n_thread += style->ts.n;
}

static void put_piece(void *ctx, size_t number, struct tbp_json *j) {
    const struct document *d = ctx;
    const struct piece *p = &d->pieces.at[number];
    const struct tbp_trace_line *l = &d->trace->planes[p->plane].lines[p->line];
    struct scratch s = {0};
    set_thread(&s, d->style, l->tid);
    uint32_t at_limit = p->at_limit;
    for (size_t i = p->from; i < p->to && !j->status; i++) {
        if (tbp_trace_is_left_out(l, i))
            continue;
        uint64_t begin = tbp_trace_begin(l, i);
        if (d->is_capped && (begin > d->limit_ps || (begin == d->limit_ps && at_limit-- == 0))) {
            at_limit += begin == d->limit_ps;
            continue;
        }
        put_event(d, l, &d->texts[p->plane], i, &s, j);
    }
    tbp_trace_args_release(&s.args);
    tbp_vec_release(&s.items);
}

/* ---- texts that are formatted once ---- */

static struct tbp_str ready_text(struct tbp_escaper *e, const struct plane_texts *t,
                                 const struct tbp_trace_arg *a) {
    char number[TBP_NUMBER_MAX];
    size_t n = 0;
    switch (a->type) {
    case TBP_STAT_REF:
        return t->names.keys[a->ref];
    case TBP_STAT_STR:
        return tbp_escaped(e, a->s);
    case TBP_STAT_BYTES:
        return TBP_STR("<opaque bytes>");
    case TBP_STAT_INT64:
        n = tbp_number_i64(number, a->i);
        break;
    case TBP_STAT_UINT64:
        n = tbp_number_u64(number, a->u);
        break;
    default:
        if (isnan(a->d))
            return TBP_STR("nan");
        n = tbp_number_g(number, a->d);
        break;
    }
    return tbp_arena_str(e->arena, (struct tbp_str){number, n});
}

static void ready_args(struct tbp_escaper *e, const struct tbp_trace_plane *p,
                       const struct plane_texts *t, const struct tbp_trace_meta *m,
                       struct ready_meta *out) {
    const struct tbp_trace_arg long_name = {
        .key = p->long_name, .type = TBP_STAT_STR, .s = m->full_name};
    TBP_VEC(struct item) items = {0};
    tbp_vec_reserve(&items, (size_t)m->n_args + 1);
    size_t n = 0;
    if (m->has_long_name)
        items.at[n++] = (struct item){.key = &p->keys[p->long_name], .arg = &long_name};
    for (uint32_t k = 0; k < m->n_args; k++)
        n = insert(items.at, n, (struct item){.key = &p->keys[m->args[k].key], .arg = &m->args[k]});
    struct ready_arg *args = TBP_NEW_N(e->arena, struct ready_arg, n);
    for (size_t k = 0; k < n; k++) {
        args[k].key = items.at[k].arg->key;
        args[k].text = ready_text(e, t, items.at[k].arg);
        out->renames |= p->keys[args[k].key].what == TBP_TRACE_STEP_NAME;
    }
    out->args = args;
    out->n_args = (uint32_t)n;
    tbp_vec_release(&items);
}

static struct tbp_str join(struct tbp_arena *a, struct tbp_str x, struct tbp_str y,
                           struct tbp_str z) {
    return tbp_arena_cat(a, tbp_arena_cat(a, x, y), z);
}

static struct key_texts *ready_keys(struct tbp_arena *a, const struct style *style,
                                    const struct tbp_str *names, size_t n) {
    const size_t n_ready = n < READY_NAMES ? n : READY_NAMES;
    struct key_texts *out = TBP_NEW_N(a, struct key_texts, n_ready);
    for (size_t i = 0; i < n_ready; i++) {
        out[i].first = join(a, style->open_args, names[i], style->colon);
        out[i].next = join(a, style->comma, names[i], style->colon);
    }
    return out;
}

static struct ready_meta *ready_metas(struct tbp_escaper *e, const struct style *style,
                                      const struct tbp_trace_plane *p, const struct plane_texts *t,
                                      const struct tbp_trace_meta *m, const struct tbp_str *names,
                                      size_t n) {
    char number[TBP_NUMBER_MAX];
    struct tbp_str pid = {number, tbp_number_u64(number, p->pid)};
    struct tbp_str tail = tbp_arena_cat(e->arena, style->complete, pid);
    struct ready_meta *out = TBP_NEW_N(e->arena, struct ready_meta, n);
    for (size_t i = 0; i < n; i++) {
        out[i].name = names[i];
        if (i < READY_NAMES && names[i].n <= SHORT_NAME)
            out[i].complete = join(e->arena, style->name, names[i], tail);
        if (m[i].has_long_name || m[i].n_args)
            ready_args(e, p, t, &m[i], &out[i]);
    }
    return out;
}

static void make_texts(struct document *d) {
    struct tbp_escaper e = {.arena = &d->arena, .how = TBP_JSON_PYTHON};
    d->texts = TBP_NEW_N(&d->arena, struct plane_texts, d->trace->n_planes);
    for (size_t i = 0; i < d->trace->n_planes; i++) {
        const struct tbp_trace_plane *p = &d->trace->planes[i];
        struct plane_texts *t = &d->texts[i];
        tbp_trace_texts_make(&t->names, p, &e);
        t->keys = ready_keys(&d->arena, d->style, t->names.keys, p->n_keys);
        t->metas = ready_metas(&e, d->style, p, t, p->metas, t->names.metas, p->plane->n_metas);
        t->made = ready_metas(&e, d->style, p, t, p->made_metas, t->names.made, p->n_made_metas);
    }
    tbp_escaper_release(&e);
}

/* ---- pieces and the cap ---- */

static void add_pieces(struct document *d, uint32_t plane, uint32_t line) {
    const struct tbp_trace_line *l = &d->trace->planes[plane].lines[line];
    if (tbp_str_is(l->name, "Async XLA Ops"))
        return; /* the thread is listed without events */
    for (size_t i = 0; i < l->line->ev.n; i += TBP_PIECE_EVENTS) {
        size_t to = l->line->ev.n - i < TBP_PIECE_EVENTS ? l->line->ev.n : i + TBP_PIECE_EVENTS;
        *tbp_vec_push(&d->pieces) =
            (struct piece){.plane = plane, .line = line, .from = i, .to = to};
    }
}

/* Counts the shown events by 16 bits of their begin, of those whose higher bits are `prefix`. */
static void count_digits(const struct document *d, unsigned shift, uint64_t prefix,
                         size_t *counts) {
    memset(counts, 0, 65536 * sizeof *counts);
    for (size_t k = 0; k < d->pieces.n; k++) {
        const struct piece *p = &d->pieces.at[k];
        const struct tbp_trace_line *l = &d->trace->planes[p->plane].lines[p->line];
        for (size_t i = p->from; i < p->to; i++) {
            uint64_t begin = tbp_trace_begin(l, i);
            bool counts_here = shift == 48 || begin >> (shift + 16) == prefix;
            if (counts_here && !tbp_trace_is_left_out(l, i))
                counts[begin >> shift & 65535]++;
        }
    }
}

/* Of the events at the limit the first ones in order of the document stay. */
static void share_limit(struct document *d, size_t left) {
    for (size_t k = 0; k < d->pieces.n; k++) {
        struct piece *p = &d->pieces.at[k];
        const struct tbp_trace_line *l = &d->trace->planes[p->plane].lines[p->line];
        for (size_t i = p->from; i < p->to && left; i++)
            if (tbp_trace_begin(l, i) == d->limit_ps && !tbp_trace_is_left_out(l, i)) {
                p->at_limit++;
                left--;
            }
    }
}

/* Finds the begin of the last event that stays: the `most`-th smallest, sixteen bits at a time. */
static void find_limit(struct document *d, size_t most) {
    size_t *counts = TBP_NEW_N(&d->arena, size_t, 65536);
    size_t left = most;
    uint64_t prefix = 0;
    for (unsigned shift = 64; shift > 0;) {
        shift -= 16;
        count_digits(d, shift, prefix, counts);
        uint64_t digit = 0;
        while (digit < 65535 && counts[digit] < left)
            left -= counts[digit++];
        prefix = prefix << 16 | digit;
    }
    d->limit_ps = prefix;
    d->is_capped = true;
    share_limit(d, left);
}

/* Returns how many events are left out. */
static size_t apply_cap(struct document *d) {
    uint64_t most = EVENTS_MAX;
    const char *value = getenv(EVENTS_MAX_VARIABLE);
    if (value && !tbp_str_to_u64(tbp_str_c(value), &most))
        most = EVENTS_MAX;
    size_t n = 0;
    for (size_t k = 0; k < d->pieces.n; k++)
        n += d->pieces.at[k].to - d->pieces.at[k].from;
    if (n <= most)
        return 0;
    size_t left_out = 0;
    for (size_t k = 0; k < d->pieces.n; k++) {
        const struct piece *p = &d->pieces.at[k];
        const struct tbp_trace_line *l = &d->trace->planes[p->plane].lines[p->line];
        for (size_t i = p->from; i < p->to; i++)
            left_out += tbp_trace_is_left_out(l, i);
    }
    if (n - left_out <= most)
        return 0;
    if (most == 0)
        d->pieces.n = 0;
    else
        find_limit(d, most);
    return n - left_out - most;
}

/* ---- the document ---- */

static void put_named(struct tbp_json *j, const struct style *style, struct tbp_str name) {
    put(j, style->open_args);
    tbp_json_lit(j, "name");
    put(j, style->colon);
    tbp_json_text(j, name, TBP_JSON_PYTHON);
}

/* Rows of one process or thread; tid is left out for processes. */
static void put_row(struct tbp_json *j, bool compact, const struct tbp_trace_thread *t,
                    bool is_thread) {
    const char *what = is_thread ? "thread" : "process", *blank = compact ? "" : " ";
    const struct style *style = compact ? &compact_style : &python_style;
    if (t->name.n) {
        put_named(j, style, t->name);
        tbp_json_printf(j, "\"},%s\"name\":%s\"%s_name\",%s\"ph\":%s\"M\",%s\"pid\":%s%u", blank,
                        blank, what, blank, blank, blank, blank, t->pid);
        if (is_thread)
            tbp_json_printf(j, ",%s\"tid\":%s%u", blank, blank, t->tid);
        tbp_json_lit(j, "},\n");
    }
    tbp_json_printf(j, "{\"args\":%s{\"sort_index\":%s%u},%s\"name\":%s\"%s_sort_index\",", blank,
                    blank, t->sort_index, blank, blank, what);
    tbp_json_printf(j, "%s\"ph\":%s\"M\",%s\"pid\":%s%u", blank, blank, blank, blank, t->pid);
    if (is_thread)
        tbp_json_printf(j, ",%s\"tid\":%s%u", blank, blank, t->tid);
    tbp_json_lit(j, "},\n");
}

static void put_head(const struct document *d, struct tbp_arena *a, struct tbp_json *j) {
    size_t n = 0, n_threads = 0;
    for (size_t i = 0; i < d->trace->n_planes; i++)
        n += d->trace->planes[i].n_lines;
    struct tbp_trace_thread *processes = TBP_NEW_N(a, struct tbp_trace_thread, d->trace->n_planes);
    struct tbp_trace_thread *threads = TBP_NEW_N(a, struct tbp_trace_thread, n);
    for (size_t i = 0; i < d->trace->n_planes; i++) {
        const struct tbp_trace_plane *p = &d->trace->planes[i];
        processes[i] = (struct tbp_trace_thread){p->pid, 0, p->pid, p->name};
        for (size_t k = 0; k < p->n_lines; k++)
            threads[n_threads++] = (struct tbp_trace_thread){
                p->pid, p->lines[k].tid, p->lines[k].sort_index, p->lines[k].name};
    }
    size_t n_processes = tbp_trace_threads_sort(processes, d->trace->n_planes);
    n_threads = tbp_trace_threads_sort(threads, n_threads);
    const bool compact = d->style == &compact_style;
    tbp_json_lit(j, "{\"displayTimeUnit\":\"ns\",\"metadata\":{\"highres-ticks\":true},");
    tbp_json_lit(j, compact ? "\"traceEvents\":[" : "\n\"traceEvents\":[\n");
    for (size_t i = 0, k = 0; i < n_processes; i++) {
        put_row(j, compact, &processes[i], false);
        for (; k < n_threads && threads[k].pid == processes[i].pid; k++)
            put_row(j, compact, &threads[k], true);
    }
}

static int write_document(struct document *d, struct tbp_pool *pool, struct tbp_sink *out,
                          struct tbp_error *err) {
    struct tbp_json *j = TBP_NEW(&d->arena, struct tbp_json);
    tbp_json_init(j, out);
    put_head(d, &d->arena, j);
    int status = tbp_json_finish(j, err);
    if (!status)
        status = tbp_write_pieces(pool, out, d->pieces.n, put_piece, d, err);
    return status ? status : tbp_sink_write(out, "{}]}\n", 5, err);
}

static int write_trace(struct tbp_session *s, const struct tbp_request *r, struct tbp_sink *out,
                       struct tbp_error *err) {
    uint32_t host = r->host;
    if (host == TBP_ALL_HOSTS && tbp_session_n_hosts(s) == 1)
        host = 0;
    if (host == TBP_ALL_HOSTS)
        return tbp_fail(err, TBP_E_UNSUPPORTED,
                        "Trace events tool expects only 1 XSpace path but gets %u",
                        tbp_session_n_hosts(s));
    struct tbp_trace trace;
    struct document d = {.trace = &trace};
    tbp_arena_init(&d.arena);
    int status = tbp_trace_build(s, host, TBP_TRACE_STATIC, &d.arena, &trace, err);
    if (!status) {
        d.style = r->dialect == TBP_DIALECT_LEGACY ? &compact_style : &python_style;
        d.is_repair = tbp_session_semantics(s) == TBP_SEMANTICS_REPAIR;
        d.has_instants = tbp_session_semantics(s) != TBP_SEMANTICS_TF;
        make_texts(&d);
        for (uint32_t i = 0; i < trace.n_planes; i++)
            for (uint32_t k = 0; k < trace.planes[i].n_lines; k++)
                add_pieces(&d, i, k);
        tbp_session_count(s, host, TBP_LEDGER_VIEW_CAP, apply_cap(&d));
        status = write_document(&d, tbp_session_pool(s), out, err);
    }
    tbp_vec_release(&d.pieces);
    tbp_arena_release(&d.arena);
    return status;
}

const struct tbp_tool tbp_tool_trace_viewer = {
    .name = "trace_viewer",
    .help = "timeline of one host as one document",
    .scope = TBP_SCOPE_HOST,
    .file = "trace.json.gz",
    .file_gzip = true,
    .write = write_trace,
};
