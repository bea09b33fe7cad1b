/* SPDX-License-Identifier: Apache-2.0
 *
 * The window of a trace, and its events in order: by line, time, longest first, then by what they
 * are, so that the order in the input does not matter. Sorting is in place (rows are most of the
 * memory); heap sort takes over where the pivots are bad. See trace_build.h.
 */
#include "base/sort.h"
#include "convert/read/trace_build.h"

#include <stdio.h>

/* ---- window ---- */

/* Events of one clock lie together: the fullest stretch of 13 days and its neighbours. Counted from
 * the first event, so that it does not matter when that was. */
enum { STRETCH_BITS = 50 };

static int64_t stretch_of(const struct tbp_trace *t, int64_t ns) {
    return (int64_t)(((uint64_t)ns - (uint64_t)t->origin_ns) >> STRETCH_BITS);
}

static int64_t fullest_stretch(const struct tbp_trace *t) {
    struct tbp_idmap counts = {0};
    uint64_t best_count = 0;
    int64_t best = 0;
    for (size_t i = 0; i < t->rows.n; i++) {
        int64_t stretch = stretch_of(t, t->rows.at[i].start_ns);
        bool is_new;
        uint32_t *n = tbp_idmap_put(&counts, (uint64_t)stretch, &is_new);
        *n = is_new ? 1 : *n + 1;
        if (*n > best_count || (*n == best_count && stretch < best)) {
            best_count = *n;
            best = stretch;
        }
    }
    tbp_idmap_release(&counts);
    return best;
}

static void find_origin(struct tbp_trace *t) {
    t->origin_ns = t->rows.n ? INT64_MAX : 0;
    for (size_t i = 0; i < t->rows.n; i++)
        if (t->rows.at[i].start_ns < t->origin_ns)
            t->origin_ns = t->rows.at[i].start_ns;
}

/* Of the events left out the first by name and process, which does not depend on their order. */
struct left_out {
    struct tbp_str name;
    int64_t process;
    bool is_any, has_others;
};

static void note_left_out(const struct tbp_trace *t, const struct tbp_trace_row *row,
                          struct left_out *first) {
    struct tbp_str name = t->texts.strs[row->name];
    const struct tbp_trace_track *track = &t->tracks.at[row->track];
    int64_t process = track->kind == TBP_TRACK_THREAD ? track->sort : -1;
    int order = first->is_any ? tbp_str_cmp(name, first->name) : -1;
    first->has_others |= first->is_any && order != 0;
    if (order < 0 || (order == 0 && process < first->process)) {
        first->name = name;
        first->process = process;
    }
    first->is_any = true;
}

static void warn_of_clock(struct tbp_trace *t, uint64_t n, const struct left_out *first) {
    enum { SHOWN_BYTES = 100 };
    char text[SHOWN_BYTES + 160], process[48] = "";
    size_t shown = tbp_utf8_valid_prefix(
        tbp_str_sub(first->name, 0, first->name.n < SHOWN_BYTES ? first->name.n : SHOWN_BYTES));
    if (first->process >= 0 && first->process < TBP_FIRST_ID_OF_TEXT)
        snprintf(process, sizeof process, " of process %lld", (long long)first->process);
    int len =
        snprintf(text, sizeof text, "%llu event%s of another session or clock left out: '%.*s'%s%s",
                 (unsigned long long)n, n == 1 ? "" : "s", (int)shown, first->name.p, process,
                 first->has_others ? " and others" : "");
    tbp_trace_warn(t, (struct tbp_str){text, (size_t)len});
}

static void quarantine_other_clocks(struct tbp_trace *t) {
    int64_t last_ns = INT64_MIN;
    find_origin(t);
    for (size_t i = 0; i < t->rows.n; i++)
        last_ns = t->rows.at[i].start_ns > last_ns ? t->rows.at[i].start_ns : last_ns;
    if (t->rows.n == 0 || stretch_of(t, last_ns) <= 1)
        return;
    int64_t best = fullest_stretch(t);
    size_t kept = 0;
    struct left_out first = {0};
    for (size_t i = 0; i < t->rows.n; i++) {
        int64_t stretch = stretch_of(t, t->rows.at[i].start_ns);
        if (stretch >= best - 1 && stretch <= best + 1)
            t->rows.at[kept++] = t->rows.at[i];
        else
            note_left_out(t, &t->rows.at[i], &first);
    }
    uint64_t n = t->rows.n - kept;
    warn_of_clock(t, n, &first);
    t->host->ledger.events_quarantined += n;
    tbp_ledger_count(&t->host->ledger, TBP_LEDGER_OTHER_CLOCK, n, TBP_NO_OFFSET);
    t->rows.n = kept;
    find_origin(t);
}

/* ---- ranks ---- */

struct text_order {
    const struct tbp_strtab *texts;
};

static int by_text(const void *a, const void *b, void *ctx) {
    const struct tbp_str *s = ((const struct text_order *)ctx)->texts->strs;
    return tbp_str_cmp(s[*(const uint32_t *)a], s[*(const uint32_t *)b]);
}

static void rank_texts(struct tbp_trace *t) {
    struct text_order order = {&t->texts};
    TBP_VEC(uint32_t) sorted = {0};
    t->external_key = tbp_strtab_get(&t->texts, TBP_STR("External id"));
    tbp_vec_reserve(&sorted, t->texts.n);
    for (uint32_t i = 0; i < t->texts.n; i++)
        *tbp_vec_push(&sorted) = i;
    tbp_sort(sorted.at, sorted.n, sizeof *sorted.at, by_text, &order);
    tbp_vec_reserve(&t->rank, t->texts.n);
    t->rank.n = t->texts.n;
    for (uint32_t i = 0; i < sorted.n; i++)
        t->rank.at[sorted.at[i]] = i;
    tbp_vec_release(&sorted);
}

static int by_plane(const void *a, const void *b, void *ctx) {
    const struct tbp_trace *t = ctx;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    if ((x == 0) != (y == 0))
        return x == 0 ? -1 : 1; /* the host first */
    struct tbp_str p = t->planes.at[x].name, q = t->planes.at[y].name;
    return p.n != q.n && tbp_is_gpu_plane(p) && tbp_is_gpu_plane(q) ? (p.n < q.n ? -1 : 1)
                                                                    : tbp_str_cmp(p, q);
}

static int by_number(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

/* Threads by their first event: numbers of processes differ from run to run. Streams by number. */
static int by_place(const struct tbp_trace *t, const struct tbp_trace_track *x,
                    const struct tbp_trace_track *y) {
    if (x->plane != y->plane)
        return by_number(t->planes.at[x->plane].rank, t->planes.at[y->plane].rank);
    int order = x->kind == TBP_TRACK_DEVICE ? by_number(x->id, y->id) : 0;
    if (x->kind != y->kind)
        return by_number(x->kind, y->kind);
    order = order ? order : by_number(x->first_ns, y->first_ns);
    return order ? order : tbp_str_cmp(x->name, y->name);
}

/* Then by what happens there, and by numbers only where all of it is the same. */
static int by_track(const void *a, const void *b, void *ctx) {
    const struct tbp_trace *t = ctx;
    const struct tbp_trace_track *x = &t->tracks.at[*(const uint32_t *)a];
    const struct tbp_trace_track *y = &t->tracks.at[*(const uint32_t *)b];
    int order = by_place(t, x, y);
    if (order == 0 && x->content != y->content)
        return x->content < y->content ? -1 : 1;
    order = order ? order : by_number(x->id, y->id);
    return order ? order : by_number(x->sort, y->sort);
}

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
}

static void sum_contents(struct tbp_trace *t) {
    for (size_t i = 0; i < t->rows.n; i++) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        bool has_no_length = row->flags & (TBP_TRACE_BEGIN | TBP_TRACE_END | TBP_TRACE_MEMORY);
        uint64_t h = mix(row->start_ps + 1, (uint64_t)row->start_ns - (uint64_t)t->origin_ns);
        h = mix(h, has_no_length ? 0 : row->dur_ps);
        h = mix(h, row->link);
        t->tracks.at[row->track].content +=
            mix(h, (uint64_t)t->rank.at[row->name] << 8 | row->flags);
    }
}

static bool has_ties(const struct tbp_trace *t, const uint32_t *order, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (by_place(t, &t->tracks.at[order[i - 1]], &t->tracks.at[order[i]]) == 0)
            return true;
    return false;
}

static void rank_planes(struct tbp_trace *t) {
    TBP_VEC(uint32_t) order = {0};
    for (uint32_t i = 0; i < t->planes.n; i++)
        *tbp_vec_push(&order) = i;
    tbp_sort(order.at, order.n, sizeof *order.at, by_plane, t);
    for (uint32_t i = 0; i < order.n; i++)
        t->planes.at[order.at[i]].rank = i;
    tbp_vec_release(&order);
}

static void rank_tracks(struct tbp_trace *t) {
    TBP_VEC(uint32_t) order = {0};
    for (size_t i = 0; i < t->rows.n; i++) {
        struct tbp_trace_track *track = &t->tracks.at[t->rows.at[i].track];
        if (t->rows.at[i].start_ns < track->first_ns)
            track->first_ns = t->rows.at[i].start_ns;
    }
    for (uint32_t i = 0; i < t->tracks.n; i++)
        *tbp_vec_push(&order) = i;
    tbp_sort(order.at, order.n, sizeof *order.at, by_track, t);
    if (has_ties(t, order.at, order.n)) {
        sum_contents(t);
        tbp_sort(order.at, order.n, sizeof *order.at, by_track, t);
    }
    for (uint32_t i = 0; i < order.n; i++)
        t->tracks.at[order.at[i]].rank = i;
    tbp_vec_release(&order);
}

/* ---- order of events ---- */

/* Sums rise while memory is allocated, and fall while it is freed. */
static int by_memory(const struct tbp_trace *t, const struct tbp_trace_memory *a,
                     const struct tbp_trace_memory *b) {
    bool frees = a->bytes < 0;
    if (frees != (b->bytes < 0))
        return frees ? 1 : -1;
    int order = by_number(frees ? b->allocated : a->allocated, frees ? a->allocated : b->allocated);
    order = order ? order : by_number(b->bytes, a->bytes);
    order = order ? order : by_number((int64_t)a->address, (int64_t)b->address);
    order = order ? order : by_number(t->rank.at[a->allocator], t->rank.at[b->allocator]);
    return order ? order : by_number(a->reserved, b->reserved);
}

/* Stats are numbers of texts, which depend on the order of the input; but they are told apart. */
static int by_stats(const struct tbp_trace *t, const uint8_t *a, const uint8_t *a_end,
                    const uint8_t *b, const uint8_t *b_end) {
    struct tbp_wire x = {a, a_end}, y = {b, b_end};
    uint64_t key_x = 0, key_y = 0, type_x = 0, type_y = 0, v_x = 0, v_y = 0;
    for (;;) {
        bool has_x = tbp_wire_varint(&x, &key_x) == TBP_OK && key_x;
        bool has_y = tbp_wire_varint(&y, &key_y) == TBP_OK && key_y;
        if (!has_x || !has_y)
            return has_x - has_y;
        if (key_x != key_y)
            return by_number(t->rank.at[key_x - 1], t->rank.at[key_y - 1]);
        tbp_wire_varint(&x, &type_x);
        tbp_wire_varint(&y, &type_y);
        if (type_x != type_y)
            return by_number((int64_t)type_x, (int64_t)type_y);
        if (type_x == TBP_STAT_DOUBLE) {
            memcpy(&v_x, x.at, sizeof v_x);
            memcpy(&v_y, y.at, sizeof v_y);
            x.at += sizeof v_x;
            y.at += sizeof v_y;
        } else {
            tbp_wire_varint(&x, &v_x);
            tbp_wire_varint(&y, &v_y);
        }
        if (v_x != v_y && type_x == TBP_STAT_REF)
            return by_number(t->rank.at[v_x], t->rank.at[v_y]);
        if (v_x != v_y)
            return by_number((int64_t)v_x, (int64_t)v_y);
    }
}

static int by_set(const struct tbp_trace *t, uint32_t a, uint32_t b) {
    struct tbp_str x = t->sets.strs[a], y = t->sets.strs[b];
    const uint8_t *p = (const uint8_t *)x.p, *q = (const uint8_t *)y.p;
    return by_stats(t, p, p + x.n, q, q + y.n);
}

uint64_t tbp_trace_external_of(const struct tbp_trace *t, const struct tbp_trace_row *row) {
    struct tbp_wire w = {t->own.at + row->own, t->own.at + t->own.n};
    uint64_t k, type, v;
    while (t->external_key != TBP_MAP_NONE && tbp_wire_varint(&w, &k) == TBP_OK && k) {
        tbp_wire_varint(&w, &type);
        if (type == TBP_STAT_DOUBLE)
            w.at += sizeof v;
        else
            tbp_wire_varint(&w, &v);
        if (k - 1 == t->external_key && type == TBP_STAT_INT64)
            return v;
    }
    return 0;
}

/* What is around what has the same extent: marks of steps around ranges and Python functions, these
 * around ops, and these around the calls that launch work. */
static int level_of(const struct tbp_trace_row *row) {
    enum { STEP, MEMORY, RANGE, OP, LAUNCH };
    return row->flags & TBP_TRACE_STEP     ? STEP
           : row->flags & TBP_TRACE_MEMORY ? MEMORY
           : row->flags & TBP_TRACE_OP     ? OP
           : row->flags & TBP_TRACE_LAUNCH ? LAUNCH
                                           : RANGE;
}

/* Of what agrees in track, time and length, by numbers in the order of begins: those of ops are ids
 * that devices tell too, those of Python functions stand in their link. */
static int by_begin(const struct tbp_trace *t, const struct tbp_trace_row *a,
                    const struct tbp_trace_row *b) {
    if (a->flags & TBP_TRACE_OP)
        return by_number((int64_t)tbp_trace_external_of(t, a),
                         (int64_t)tbp_trace_external_of(t, b));
    bool is_link = a->flags & (TBP_TRACE_STEP | TBP_TRACE_LAUNCH | TBP_TRACE_DEVICE);
    return is_link ? 0 : by_number((int64_t)a->link, (int64_t)b->link);
}

/* Those that agree in track, time and length. */
static int by_content(const struct tbp_trace *t, const struct tbp_trace_row *a,
                      const struct tbp_trace_row *b) {
    const uint8_t *own = t->own.at, *end = t->own.at + t->own.n;
    int order = by_number(level_of(a), level_of(b));
    if (order || a->flags != b->flags)
        return order ? order : by_number(b->flags, a->flags);
    if (a->flags & TBP_TRACE_MEMORY)
        return by_memory(t, &t->memory.at[a->own], &t->memory.at[b->own]);
    order = by_begin(t, a, b);
    order = order ? order : by_number(t->rank.at[a->name], t->rank.at[b->name]);
    order = order ? order : by_number((int64_t)a->link, (int64_t)b->link);
    order = order || a->set == b->set ? order : by_set(t, a->set, b->set);
    return order ? order : by_stats(t, own + a->own, end, own + b->own, end);
}

static bool is_before(const struct tbp_trace *t, const struct tbp_trace_row *a,
                      const struct tbp_trace_row *b) {
    if (a->track != b->track)
        return a->track < b->track;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->start_ps != b->start_ps)
        return a->start_ps < b->start_ps;
    bool pair_a = a->flags & (TBP_TRACE_BEGIN | TBP_TRACE_END);
    bool pair_b = b->flags & (TBP_TRACE_BEGIN | TBP_TRACE_END);
    if (pair_a && pair_b)
        return a->dur_ps != b->dur_ps ? a->dur_ps < b->dur_ps : by_content(t, a, b) < 0;
    if (pair_a != pair_b)
        return pair_b;
    uint64_t dur_a = a->flags & TBP_TRACE_MEMORY ? 0 : a->dur_ps;
    uint64_t dur_b = b->flags & TBP_TRACE_MEMORY ? 0 : b->dur_ps;
    if (dur_a != dur_b)
        return dur_a > dur_b;
    return by_content(t, a, b) < 0;
}

static void swap(struct tbp_trace_row *a, struct tbp_trace_row *b) {
    struct tbp_trace_row c = *a;
    *a = *b;
    *b = c;
}

static void insertion_sort(const struct tbp_trace *t, struct tbp_trace_row *v, size_t n) {
    for (size_t i = 1; i < n; i++) {
        struct tbp_trace_row row = v[i];
        size_t k = i;
        for (; k > 0 && is_before(t, &row, &v[k - 1]); k--)
            v[k] = v[k - 1];
        v[k] = row;
    }
}

static void sift(const struct tbp_trace *t, struct tbp_trace_row *v, size_t at, size_t n) {
    for (size_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
        child += child + 1 < n && is_before(t, &v[child], &v[child + 1]);
        if (!is_before(t, &v[at], &v[child]))
            return;
        swap(&v[at], &v[child]);
        at = child;
    }
}

static void heap_sort(const struct tbp_trace *t, struct tbp_trace_row *v, size_t n) {
    for (size_t i = n / 2; i-- > 0;)
        sift(t, v, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(&v[0], &v[i]);
        sift(t, v, 0, i);
    }
}

/* Middle of three to the front, then parts below and above it. */
static size_t partition(const struct tbp_trace *t, struct tbp_trace_row *v, size_t n) {
    size_t mid = n / 2, last = n - 1;
    if (is_before(t, &v[mid], &v[0]))
        swap(&v[mid], &v[0]);
    if (is_before(t, &v[last], &v[mid]))
        swap(&v[last], &v[mid]);
    if (is_before(t, &v[mid], &v[0]))
        swap(&v[mid], &v[0]);
    struct tbp_trace_row pivot = v[mid];
    size_t i = 0, k = last;
    for (;;) {
        while (is_before(t, &v[i], &pivot))
            i++;
        while (is_before(t, &pivot, &v[k]))
            k--;
        if (i >= k)
            return k + 1;
        swap(&v[i++], &v[k--]);
    }
}

struct part {
    size_t from, n;
    unsigned depth;
};

enum { LEVELS = 64 };

static void sort_rows(const struct tbp_trace *t, struct tbp_trace_row *v, struct part whole) {
    enum { SMALL = 24 };
    struct part parts[2 * LEVELS] = {whole};
    unsigned n_parts = 1;
    while (n_parts > 0) {
        struct part p = parts[--n_parts];
        if (p.n <= SMALL) {
            insertion_sort(t, v + p.from, p.n);
            continue;
        }
        if (p.depth == 0) {
            heap_sort(t, v + p.from, p.n);
            continue;
        }
        size_t below = partition(t, v + p.from, p.n);
        struct part low = {p.from, below, p.depth - 1};
        struct part high = {p.from + below, p.n - below, p.depth - 1};
        bool low_is_larger = low.n > high.n; /* the larger waits: few wait at a time */
        parts[n_parts++] = low_is_larger ? low : high;
        parts[n_parts++] = low_is_larger ? high : low;
    }
}

struct halves {
    const struct tbp_trace *t;
    struct part parts[2];
};

/* What is below a pivot and what is above it have nothing to do with each other. */
static int sort_half(void *ctx, size_t i, struct tbp_error *err) {
    enum { WORTH_ROWS = 1 << 14 };
    const struct halves *h = ctx;
    struct tbp_trace_row *rows = h->t->rows.at;
    struct part p = h->parts[i];
    if (p.n < WORTH_ROWS || p.depth == 0) {
        sort_rows(h->t, rows, p);
        return TBP_OK;
    }
    size_t below = partition(h->t, rows + p.from, p.n);
    struct halves next = {
        h->t, {{p.from, below, p.depth - 1}, {p.from + below, p.n - below, p.depth - 1}}};
    return tbp_pool_for(h->t->pool, 2, sort_half, &next, err);
}

static void sort_all(struct tbp_trace *t) {
    size_t i = 1;
    while (i < t->rows.n && !is_before(t, &t->rows.at[i], &t->rows.at[i - 1]))
        i++;
    struct halves all = {t, {{0, t->rows.n, LEVELS - 1}}};
    if (i < t->rows.n)
        sort_half(&all, 0, NULL);
}

/* ---- begin and end ---- */

struct pairing {
    struct tbp_trace *t;
    TBP_VEC(size_t) open; /* rows */
};

static void close_at(struct pairing *p, size_t begin, int64_t ns, unsigned ps) {
    struct tbp_trace_row *row = &p->t->rows.at[begin];
    int64_t dur_ns = ns - row->start_ns;
    row->dur_ps = (uint64_t)dur_ns * 1000u + ps - row->start_ps;
    row->flags &= (uint8_t)~TBP_TRACE_BEGIN;
}

/* The innermost open event of this name (name 0: of any). */
static bool end_one(struct pairing *p, const struct tbp_trace_row *end) {
    enum { LOOK = 64 };
    for (size_t k = p->open.n; k-- > 0 && p->open.n - k <= LOOK;) {
        size_t begin = p->open.at[k];
        if (end->name != 0 && p->t->rows.at[begin].name != end->name)
            continue;
        close_at(p, begin, end->start_ns, end->start_ps);
        memmove(&p->open.at[k], &p->open.at[k + 1], (p->open.n - k - 1) * sizeof *p->open.at);
        p->open.n--;
        return true;
    }
    return false;
}

static void count_unmatched(struct pairing *p) {
    struct tbp_ledger *l = &p->t->host->ledger;
    l->events_dropped++;
    tbp_ledger_count(l, TBP_LEDGER_UNMATCHED_END, 1, TBP_NO_OFFSET);
}

/* Ends in [from, to); those without a begin move to the front. Returns how many these are. */
static size_t end_all(struct pairing *p, size_t from, size_t to) {
    struct tbp_trace_row *rows = p->t->rows.at;
    size_t n_left = 0;
    for (size_t i = from; i < to; i++) {
        if (end_one(p, &rows[i]))
            p->t->host->ledger.events_merged++;
        else
            rows[from + n_left++] = rows[i];
    }
    return n_left;
}

/* Begins and ends of one moment: ends first, of these those with a name first, end what began
 * earlier. What ends are left end what begins now. */
static void pair_moment(struct pairing *p, size_t from, size_t to) {
    size_t first_begin = from;
    while (first_begin < to && (p->t->rows.at[first_begin].flags & TBP_TRACE_END))
        first_begin++;
    size_t n_left = end_all(p, from, first_begin);
    for (size_t i = first_begin; i < to; i++)
        *tbp_vec_push(&p->open) = i;
    for (size_t n = end_all(p, from, from + n_left); n > 0; n--)
        count_unmatched(p);
}

static bool is_same_moment(const struct tbp_trace_row *a, const struct tbp_trace_row *b) {
    return a->start_ns == b->start_ns && a->start_ps == b->start_ps;
}

static void pair_track(struct pairing *p, size_t from, size_t to) {
    struct tbp_trace *t = p->t;
    int64_t last_ns = INT64_MIN;
    unsigned last_ps = 0;
    p->open.n = 0;
    for (size_t i = from, next; i < to; i = next) {
        const struct tbp_trace_row *row = &t->rows.at[i];
        bool is_pair = row->flags & (TBP_TRACE_BEGIN | TBP_TRACE_END);
        int64_t end_ns = row->start_ns + (is_pair ? 0 : (int64_t)(row->dur_ps / 1000));
        if (end_ns >= last_ns) {
            last_ns = end_ns;
            last_ps = row->start_ps;
        }
        next = i + 1;
        while (is_pair && !t->is_in_order && next < to && is_same_moment(row, &t->rows.at[next]))
            next++; /* pairs come last of a moment */
        if (is_pair)
            pair_moment(p, i, next);
    }
    for (size_t k = 0; k < p->open.n; k++)
        close_at(p, p->open.at[k], last_ns, last_ps);
    tbp_ledger_count(&t->host->ledger, TBP_LEDGER_UNFINISHED, p->open.n, TBP_NO_OFFSET);
}

/* Pairs, drops the ends, and moves what has a target there. */
static bool pair_all(struct tbp_trace *t, const uint32_t *track_of_rank) {
    struct pairing p = {.t = t};
    bool has_pairs = false, has_targets = false;
    for (size_t i = 0; i < t->rows.n; i++)
        has_pairs |= (t->rows.at[i].flags & (TBP_TRACE_BEGIN | TBP_TRACE_END)) != 0;
    for (uint32_t i = 0; i < t->tracks.n; i++)
        has_targets |= t->tracks.at[i].target != i;
    if (!has_pairs && !has_targets)
        return false;
    for (size_t from = 0, to; from < t->rows.n; from = to) {
        for (to = from; to < t->rows.n && t->rows.at[to].track == t->rows.at[from].track;)
            to++;
        pair_track(&p, from, to);
    }
    size_t kept = 0;
    for (size_t i = 0; i < t->rows.n; i++) {
        struct tbp_trace_row row = t->rows.at[i];
        row.track = t->tracks.at[t->tracks.at[track_of_rank[row.track]].target].rank & 0x3fffffu;
        if (!(row.flags & TBP_TRACE_END))
            t->rows.at[kept++] = row;
    }
    t->rows.n = kept;
    tbp_vec_release(&p.open);
    return true;
}

void tbp_trace_arrange(struct tbp_trace *t) {
    quarantine_other_clocks(t);
    rank_texts(t);
    rank_planes(t);
    rank_tracks(t);
    TBP_VEC(uint32_t) track_of_rank = {0};
    tbp_vec_reserve(&track_of_rank, t->tracks.n);
    for (uint32_t i = 0; i < t->tracks.n; i++)
        track_of_rank.at[t->tracks.at[i].rank] = i;
    for (size_t i = 0; i < t->rows.n; i++) /* from here on tracks are ranks */
        t->rows.at[i].track = t->tracks.at[t->rows.at[i].track].rank & 0x3fffffu;
    sort_all(t);
    if (pair_all(t, track_of_rank.at))
        sort_all(t);
    if (tbp_trace_spread(t, track_of_rank.at))
        sort_all(t);
    tbp_vec_release(&track_of_rank);
    t->host->ledger.events_emitted += t->rows.n;
}
