/* SPDX-License-Identifier: Apache-2.0
 *
 * Documents of trace events; see json_trace.h. The document may be an object with the member
 * traceEvents, a bare list, or (after damage) loose events one after the other.
 */
#include "convert/read/json_trace.h"
#include "convert/read/text_lines.h"

#include <string.h>

static bool is(struct tbp_str s, const char *text, size_t n) {
    return s.n == n && memcmp(s.p, text, n) == 0;
}
#define IS(s, text) is((s), (text), sizeof(text) - 1)

/* An event that the end of the input cut is lost, unless only its brackets are. */
static bool is_cut(const struct tbp_json_trace *jt, const struct tbp_json_event *e,
                   uint64_t cuts_before) {
    const struct tbp_json_pull *j = &jt->json;
    if (j->at < j->end || j->count[TBP_JSON_CUT] == cuts_before)
        return false;
    return e->ph == 0 || j->first_offset[TBP_JSON_CUT] != (uint64_t)(j->end - j->start) ||
           (e->ph == 'X' && e->dur.token == TBP_JSON_END);
}

/* True: it has a phase, as events have. */
static bool give_event(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    if (e->is_empty)
        return false; /* closes some lists */
    if (e->ph == 0 && e->name.token == TBP_JSON_END) {
        tbp_json_trace_refuse(jt, e, TBP_LEDGER_NOT_SHOWN);
        return false;
    }
    jt->n_events++;
    jt->dialect->event(jt, e);
    return e->ph != 0;
}

/* True: it has a phase, or may have had one. */
static bool take_event(struct tbp_json_trace *jt, struct tbp_json_event *e) {
    struct tbp_ledger *l = &jt->host->ledger;
    uint64_t cuts = jt->json.count[TBP_JSON_CUT];
    tbp_json_event_read(&jt->json, e, jt->dialect->keeps_args);
    if (!is_cut(jt, e, cuts))
        return give_event(jt, e);
    l->events_read++;
    l->events_dropped++;
    tbp_ledger_count(l, TBP_LEDGER_EVENT_DROPPED, 1, e->offset);
    return true;
}

/* What has been read can leave memory: views of it are few and come back from disk. */
static void drop_read(struct tbp_json_trace *jt) {
    enum { STRETCH = 8 << 20 };
    const struct tbp_input *in = &jt->host->input;
    uint64_t at = (uint64_t)(jt->json.at - in->data);
    if (jt->json.at < in->data || at > in->size || at < jt->dropped + STRETCH)
        return;
    tbp_input_drop_range(in, jt->dropped, at - jt->dropped);
    tbp_input_tell(in, at);
    jt->dropped = at;
}

/* Many documents are lists of objects, also tables of the Profile tab: without a name, a list is
 * one of events if an event is in it, or nothing. */
struct list {
    struct tbp_json_trace *jt;
    bool is_named, has_events, has_others;
};

static void note_object(struct list *l, const struct tbp_json_event *e, bool is_event) {
    l->has_events |= is_event || l->is_named;
    l->has_others |= !is_event && !e->is_empty;
}

/* False: there is no more. */
static bool read_element(struct list *l) {
    struct tbp_json_trace *jt = l->jt;
    enum tbp_json_token token = tbp_json_pull_next(&jt->json);
    if (token == TBP_JSON_ARRAY_END || token == TBP_JSON_END)
        return false;
    if (token == TBP_JSON_OBJECT) {
        bool is_event = take_event(jt, jt->event);
        note_object(l, jt->event, is_event);
    } else {
        tbp_json_pull_skip(&jt->json, token);
        l->has_others = true;
    }
    drop_read(jt);
    return true;
}

static bool take_piece(void *ctx, const struct tbp_json_piece *piece) {
    struct list *l = ctx;
    struct tbp_json_trace *jt = l->jt;
    for (size_t i = 0; i < piece->events.n; i++) {
        bool is_event = give_event(jt, &piece->events.at[i]);
        note_object(l, &piece->events.at[i], is_event);
    }
    drop_read(jt);
    while (jt->json.at < piece->to)
        if (!read_element(l))
            return false;
    return true;
}

/* False: the list has ended, or no more can be read. */
static bool read_ahead(struct list *l, const uint8_t *list) {
    struct tbp_json_trace *jt = l->jt;
    struct tbp_json_pull *j = &jt->json;
    jt->ahead->sorts_args = jt->dialect->keeps_args;
    jt->status = tbp_json_ahead_read(jt->ahead, j, list, take_piece, l, jt->err);
    if (jt->status) {
        j->at = j->end;
        j->depth = 0;
    }
    return !jt->status && !jt->ahead->is_over;
}

static void read_list(struct tbp_json_trace *jt, bool is_named) {
    struct list l = {.jt = jt, .is_named = is_named};
    const uint8_t *list = jt->json.at, *from = list;
    bool goes_on = true;
    while (goes_on && read_element(&l)) {
        if (!jt->ahead || (size_t)(jt->json.at - from) < jt->ahead->piece_bytes)
            continue;
        goes_on = read_ahead(&l, list);
        from = jt->json.at;
    }
    jt->has_list |= l.has_events || !l.has_others;
}

/* An object at the top is the document, or an event that lost its list. */
static bool is_loose_event(const struct tbp_json_pull *j) {
    enum { LOOK = 4096 };
    struct tbp_json_pull copy = *j;
    copy.end = j->end - j->at > LOOK ? j->at + LOOK : j->end;
    bool has_phase = false, has_time = false;
    while (tbp_json_pull_next(&copy) == TBP_JSON_KEY) {
        has_phase |= IS(copy.text, "ph");
        has_time |= IS(copy.text, "ts") || IS(copy.text, "pid");
        tbp_json_pull_skip(&copy, TBP_JSON_KEY);
    }
    return has_phase && has_time;
}

static void read_document(struct tbp_json_trace *jt) {
    struct tbp_json_pull *j = &jt->json;
    while (tbp_json_pull_next(j) == TBP_JSON_KEY) {
        if (!IS(j->text, "traceEvents")) {
            if (!jt->dialect->header || !jt->dialect->header(jt, j->text))
                tbp_json_pull_skip(j, TBP_JSON_KEY);
            continue;
        }
        enum tbp_json_token token = tbp_json_pull_next(j);
        if (token == TBP_JSON_ARRAY)
            read_list(jt, true);
        else
            tbp_json_pull_skip(j, token);
    }
}

static void read_all(struct tbp_json_trace *jt) {
    struct tbp_json_pull *j = &jt->json;
    enum tbp_json_token token;
    while ((token = tbp_json_pull_next(j)) != TBP_JSON_END) {
        if (token == TBP_JSON_ARRAY) {
            read_list(jt, false);
        } else if (token == TBP_JSON_OBJECT && is_loose_event(j)) {
            jt->has_list = true;
            take_event(jt, jt->event);
        } else if (token == TBP_JSON_OBJECT) {
            read_document(jt);
        }
    }
}

static void note_repairs(struct tbp_json_trace *jt) {
    static const enum tbp_ledger_key keys[TBP_JSON_REPAIRS] = {
        [TBP_JSON_RAW_QUOTE] = TBP_LEDGER_JSON_RAW_QUOTE,
        [TBP_JSON_CONTROL] = TBP_LEDGER_JSON_CONTROL,
        [TBP_JSON_BACKSLASH] = TBP_LEDGER_JSON_BACKSLASH,
        [TBP_JSON_BARE_WORD] = TBP_LEDGER_JSON_BARE_WORD,
        [TBP_JSON_COMMA] = TBP_LEDGER_JSON_COMMA,
        [TBP_JSON_KEY_QUOTE] = TBP_LEDGER_JSON_KEY_QUOTE,
        [TBP_JSON_BRACKET] = TBP_LEDGER_JSON_BRACKET,
        [TBP_JSON_CUT] = TBP_LEDGER_JSON_CUT,
        [TBP_JSON_OPEN] = TBP_LEDGER_JSON_OPEN,
        [TBP_JSON_SECOND] = TBP_LEDGER_JSON_SECOND,
        [TBP_JSON_UTF8] = TBP_LEDGER_INVALID_UTF8,
        [TBP_JSON_DEPTH] = TBP_LEDGER_JSON_DEPTH,
    };
    for (int k = 0; k < TBP_JSON_REPAIRS; k++)
        tbp_ledger_count(&jt->host->ledger, keys[k], jt->json.count[k], jt->json.first_offset[k]);
}

static int refuse(const struct tbp_host *host, struct tbp_error *err) {
    char path[TBP_ERROR_TEXT];
    size_t n = host->path.n < sizeof path - 1 ? host->path.n : sizeof path - 1;
    memcpy(path, host->path.p, n);
    path[n] = 0;
    return tbp_fail_at(err, TBP_E_FORMAT, path, TBP_NO_OFFSET,
                       "read as JSON without trace events "
                       "(no list 'traceEvents', no list of events)");
}

void tbp_json_trace_begin(struct tbp_json_trace *jt, struct tbp_host *host,
                          const struct tbp_json_dialect *dialect, void *ctx) {
    *jt = (struct tbp_json_trace){.host = host, .dialect = dialect, .ctx = ctx};
    jt->event = TBP_NEW(&host->arena, struct tbp_json_event);
    jt->event->args = TBP_NEW_N(&host->arena, struct tbp_json_arg, TBP_JSON_MAX_ARGS);
    tbp_trace_init(&jt->trace, host);
    if (dialect->begin)
        dialect->begin(jt);
}

void tbp_json_trace_document(struct tbp_json_trace *jt, struct tbp_str bytes) {
    tbp_json_pull_init(&jt->json, bytes.p, bytes.n);
    read_all(jt);
    note_repairs(jt);
}

void tbp_json_trace_look(struct tbp_json_trace *jt, struct tbp_str bytes,
                         const struct tbp_json_dialect *dialect) {
    const struct tbp_json_dialect *of_document = jt->dialect;
    struct tbp_ledger before = jt->host->ledger;
    jt->dialect = dialect;
    tbp_json_pull_init(&jt->json, bytes.p, bytes.n);
    read_all(jt);
    jt->dialect = of_document;
    jt->host->ledger = before;
    jt->n_events = jt->dropped = 0;
    jt->has_list = false;
}

void tbp_json_trace_table(struct tbp_json_trace *jt, struct tbp_str bytes) {
    const struct tbp_host *h = jt->host;
    bool had_list = jt->has_list;
    jt->has_list = false;
    tbp_json_trace_document(jt, bytes);
    if (!jt->has_list && !tbp_text_is_empty(bytes) &&
        tbp_json_trace_looks_so((const uint8_t *)bytes.p, bytes.n))
        tbp_ledger_count(&jt->host->ledger, TBP_LEDGER_NO_TABLE, 1,
                         (uint64_t)((const uint8_t *)bytes.p - h->input.data));
    jt->has_list |= had_list;
}

void tbp_json_trace_end(struct tbp_json_trace *jt) {
    tbp_input_drop_pages(&jt->host->input);
    tbp_trace_release(&jt->trace);
    tbp_vec_release(&jt->scratch);
    tbp_vec_release(&jt->even);
}

static void init_ahead(struct tbp_json_trace *jt, struct tbp_pool *pool, struct tbp_error *err) {
    if (tbp_pool_threads(pool) < 2)
        return;
    jt->ahead = TBP_NEW(&jt->host->arena, struct tbp_json_ahead);
    jt->err = err;
    tbp_json_ahead_init(jt->ahead, pool, jt->host->input.piece_bytes);
}

int tbp_json_trace_read(struct tbp_host *host, const struct tbp_json_dialect *dialect, void *ctx,
                        struct tbp_pool *pool, struct tbp_error *err) {
    struct tbp_json_trace jt;
    tbp_json_trace_begin(&jt, host, dialect, ctx);
    init_ahead(&jt, pool, err);
    tbp_json_trace_document(&jt,
                            (struct tbp_str){(const char *)host->input.data, host->input.size});
    if (jt.ahead)
        tbp_json_ahead_release(jt.ahead);
    int status = jt.status;
    if (!status && jt.has_list) {
        if (dialect->finish)
            dialect->finish(&jt);
        tbp_trace_finish(&jt.trace, pool);
    } else if (!status) {
        status = refuse(host, err);
    }
    tbp_json_trace_end(&jt);
    return status;
}

/* ---- detection ---- */

enum { WINDOW = 1 << 16, HEAD = 64 << 20 };

bool tbp_json_trace_looks_so(const uint8_t *data, size_t size) {
    static const uint8_t mark[] = {0xef, 0xbb, 0xbf};
    size_t i = size >= sizeof mark && memcmp(data, mark, sizeof mark) == 0 ? sizeof mark : 0;
    while (i < size && (data[i] == ' ' || data[i] == '\n' || data[i] == '\r' || data[i] == '\t'))
        i++;
    if (i == size)
        return i >= WINDOW; /* nothing but blanks as far as can be seen */
    return data[i] == '{' || data[i] == '[' || data[i] == ',';
}

bool tbp_has_any_text(const uint8_t *data, size_t size, const char *const *texts) {
    for (size_t i = 0; texts[i]; i++)
        if (memmem(data, size, texts[i], strlen(texts[i])))
            return true;
    return false;
}

/* Somewhere in stretches of a window each, evenly spread over the input; all of it if it is small.
 * Events may stand in any order, and what tells the format may be far behind what others have. */
static bool has_any_spread(const uint8_t *data, size_t size, const char *const *texts) {
    enum { WINDOWS = 16 };
    if (size <= WINDOWS * WINDOW)
        return tbp_has_any_text(data, size, texts);
    for (size_t i = 0; i + 1 < WINDOWS; i++)
        if (tbp_has_any_text(data + (size - WINDOW) / (WINDOWS - 1) * i, WINDOW, texts))
            return true;
    return tbp_has_any_text(data + size - WINDOW, WINDOW, texts);
}

/* The same behind the first `mark`. */
static bool has_any_from(const uint8_t *data, size_t size, const char *mark,
                         const char *const *texts) {
    const uint8_t *at = memmem(data, size < HEAD ? size : HEAD, mark, strlen(mark));
    size_t left = at ? size - (size_t)(at - data) : 0;
    return at && tbp_has_any_text(at, left < WINDOW ? left : WINDOW, texts);
}

bool tbp_json_trace_has_any(const uint8_t *data, size_t size, const char *const *texts) {
    return has_any_spread(data, size, texts) ||
           has_any_from(data, size, "\"traceEvents\"", texts) ||
           has_any_from(data, size, "\"X\"", texts); /* names of threads may fill the beginning */
}

/* ---- values ---- */

enum char_class { CHAR_OTHER, CHAR_BLANK, CHAR_OPENS, CHAR_CLOSES, CHAR_COMMA, CHAR_COLON };

static const uint8_t class_of[256] = {
    [' '] = CHAR_BLANK, ['\t'] = CHAR_BLANK, ['\n'] = CHAR_BLANK, ['\r'] = CHAR_BLANK,
    ['['] = CHAR_OPENS, ['{'] = CHAR_OPENS,  [']'] = CHAR_CLOSES, ['}'] = CHAR_CLOSES,
    [','] = CHAR_COMMA, [':'] = CHAR_COLON,
};

/* Writes a list or object evenly spaced, as PyTorch prints shapes. `to` has room for twice as many
 * bytes. Blanks in strings stay, and one between values that lost their comma. */
static size_t put_even(struct tbp_str s, char *to) {
    size_t n = 0;
    bool in_string = false, is_apart = false;
    enum char_class before = CHAR_OPENS;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        enum char_class class = in_string ? CHAR_OTHER : class_of[(uint8_t)c];
        if (class == CHAR_BLANK) {
            is_apart = before != CHAR_OPENS;
            continue;
        }
        if (is_apart | (before >= CHAR_COMMA) && class < CHAR_CLOSES)
            to[n++] = ' ';
        is_apart = false;
        before = class;
        to[n++] = c;
        if (c == '\\' && in_string && i + 1 < s.n)
            to[n++] = s.p[++i];
        else
            in_string ^= c == '"';
    }
    return n;
}

static struct tbp_str even_text(struct tbp_json_trace *jt, struct tbp_str s) {
    tbp_vec_reserve(&jt->even, 2 * s.n + 1);
    return (struct tbp_str){jt->even.at, put_even(s, jt->even.at)};
}

static bool is_list(const struct tbp_json_value *v) {
    return v->token == TBP_JSON_ARRAY || v->token == TBP_JSON_OBJECT;
}

/* The text of a list was written anew: what is wrong in it stands where the list does. */
static size_t decode_list(struct tbp_json_trace *jt, const struct tbp_json_value *v,
                          struct tbp_str text, char *out) {
    static const enum tbp_json_repair kinds[] = {TBP_JSON_UTF8, TBP_JSON_BACKSLASH};
    struct tbp_json_pull *j = &jt->json, own = {.start = (const uint8_t *)text.p};
    size_t n = tbp_json_decode(&own, text, out);
    for (unsigned i = 0; i < 2; i++) {
        if (own.count[kinds[i]] && j->count[kinds[i]] == 0)
            j->first_offset[kinds[i]] = (uint64_t)((const uint8_t *)v->text.p - j->start);
        j->count[kinds[i]] += own.count[kinds[i]];
    }
    return n;
}

struct tbp_str tbp_json_trace_text(struct tbp_json_trace *jt, const struct tbp_json_value *v) {
    if (v->token == TBP_JSON_TRUE)
        return TBP_STR("true");
    if (v->token == TBP_JSON_FALSE)
        return TBP_STR("false");
    if (v->token == TBP_JSON_END || v->token == TBP_JSON_NULL)
        return TBP_STR_NONE;
    if (v->is_plain)
        return v->text;
    bool has_escapes = v->token == TBP_JSON_STRING && memchr(v->text.p, '\\', v->text.n);
    struct tbp_str text = is_list(v) ? even_text(jt, v->text) : v->text;
    if (!has_escapes && tbp_utf8_valid_prefix(text) == text.n)
        return text;
    tbp_vec_reserve(&jt->scratch, tbp_json_decode_room(text));
    char *out = jt->scratch.at;
    size_t n = is_list(v) ? decode_list(jt, v, text, out) : tbp_json_decode(&jt->json, text, out);
    return (struct tbp_str){out, n};
}

/* Lists repeat, and most are even: a text that turned out to be so is not gone through again. */
uint32_t tbp_json_trace_intern(struct tbp_json_trace *jt, const struct tbp_json_value *v) {
    enum { USE_EVEN = 8 };
    struct tbp_trace *t = &jt->trace;
    uint32_t known = is_list(v) ? tbp_strtab_get(&t->texts, v->text) : TBP_MAP_NONE;
    if (known != TBP_MAP_NONE && t->uses.at[known] & USE_EVEN)
        return known;
    uint32_t text = tbp_trace_text(t, tbp_json_trace_text(jt, v));
    t->uses.at[text] |= text == known ? USE_EVEN : 0;
    return text;
}

bool tbp_json_trace_id(struct tbp_json_trace *jt, const struct tbp_json_value *v, int64_t *id,
                       bool *is_text) {
    *is_text = false;
    *id = 0;
    if (v->token != TBP_JSON_STRING && v->token != TBP_JSON_NUMBER)
        return false;
    if (tbp_json_id(v->text, id) && (*id >= 0 || tbp_str_has(v->text, "-")))
        return true; /* beyond 63 bits an id is a text: it keeps its sign */
    struct tbp_str s = tbp_json_trace_text(jt, v);
    *is_text = true;
    *id = (int64_t)(tbp_str_hash(s) >> 2) | TBP_FIRST_ID_OF_TEXT;
    return true;
}

uint32_t tbp_json_trace_thread(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    int64_t pid, tid;
    bool pid_is_text, tid_is_text;
    tbp_json_trace_id(jt, &e->pid, &pid, &pid_is_text);
    tbp_json_trace_id(jt, &e->tid, &tid, &tid_is_text);
    uint32_t track = tbp_trace_thread(&jt->trace, pid, tid);
    if (tid_is_text && track != TBP_NO_TRACK && jt->trace.tracks.at[track].name.n == 0) {
        struct tbp_str name = tbp_json_trace_text(jt, &e->tid);
        const char *kind = e->tid.token == TBP_JSON_NUMBER ? "thread " : "";
        name = tbp_arena_cat(&jt->host->arena, tbp_str_c(kind), name);
        tbp_trace_track_name(&jt->trace, track, name.n ? name : TBP_STR("no thread"));
    }
    return track;
}

bool tbp_json_trace_time(const struct tbp_json_value *v, int64_t *ns, unsigned *ps) {
    const int64_t far_ns = INT64_MAX / 2; /* too far for any clock: told apart by that */
    double us;
    if (v->token != TBP_JSON_NUMBER && v->token != TBP_JSON_STRING)
        return false;
    if (tbp_json_decimal(v->text, 3, ns, ps) && *ns <= far_ns && *ns >= -far_ns)
        return true;
    *ps = 0;
    if (!tbp_str_to_double(v->text, &us) || us != us)
        return false;
    *ns = us < 0 ? -far_ns : far_ns;
    return true;
}

struct tbp_given_name tbp_json_trace_given(struct tbp_json_trace *jt,
                                           const struct tbp_json_event *e,
                                           const struct tbp_json_value *name) {
    struct tbp_given_name given = {.text = tbp_json_trace_text(jt, name)};
    if (!tbp_json_trace_time(&e->ts, &given.ns, &given.ps))
        given.ns = TBP_GIVEN_AT_NO_TIME;
    return given;
}

uint64_t tbp_json_trace_duration(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    int64_t ns;
    unsigned ps;
    struct tbp_ledger *l = &jt->host->ledger;
    if (!tbp_json_trace_time(&e->dur, &ns, &ps)) {
        bool is_given =
            e->dur.token == TBP_JSON_NUMBER || (e->dur.token == TBP_JSON_STRING && e->dur.text.n);
        tbp_ledger_count(l, is_given ? TBP_LEDGER_BAD_DURATION : TBP_LEDGER_NO_DURATION, 1,
                         e->offset);
        return 0;
    }
    if (ns < 0 || ns > INT64_MAX / 1000 - 1) {
        tbp_ledger_count(l, ns < 0 ? TBP_LEDGER_NEGATIVE_TIME : TBP_LEDGER_TIME_OVERFLOW, 1,
                         e->offset);
        return 0;
    }
    return (uint64_t)ns * 1000u + ps;
}

void tbp_json_trace_series(struct tbp_json_trace *jt, const struct tbp_json_event *e) {
    for (size_t i = 0; i < e->n_args; i++) {
        struct tbp_json_value key = tbp_json_arg_key(&e->args[i]);
        double v;
        if (tbp_str_to_double(e->args[i].value.text, &v))
            tbp_trace_stat_double(&jt->trace, TBP_TRACE_OWN,
                                  key.text.n ? tbp_json_trace_intern(jt, &key)
                                             : tbp_trace_text(&jt->trace, TBP_STR("value")),
                                  v);
    }
}

void tbp_json_trace_refuse(struct tbp_json_trace *jt, const struct tbp_json_event *e,
                           enum tbp_ledger_key why) {
    struct tbp_ledger *l = &jt->host->ledger;
    l->events_read++;
    if (why == TBP_LEDGER_NO_TIME)
        l->events_quarantined++;
    else
        l->events_dropped++;
    tbp_ledger_count(l, why, 1, e->offset);
}

const struct tbp_json_value *tbp_json_trace_arg(const struct tbp_json_event *e, const char *key) {
    size_t n = strlen(key);
    for (size_t i = 0; i < e->n_args; i++)
        if (is(e->args[i].key, key, n))
            return &e->args[i].value;
    return NULL;
}
