/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocation events to rows and back; see memory_rows.h. Stats are read by walking: the last of
 * several equal ones counts, also among the three that can name the allocator (RULES.md 13.2).
 */
#include "convert/analyze/memory_rows.h"

#include "convert/model/stat_parts.h"

#include <stdio.h>

enum { ID_TEXT = 24 };

struct decoded {
    struct tbp_memory_snapshot s;
    struct tbp_str id; /* may point to id_text */
    char id_text[ID_TEXT];
    bool has_data_type;
    int32_t data_type;
};

/* TensorFlow's data type numbers; 100 + n is a reference to type n. */
static struct tbp_str type_name(int32_t n) {
    static const struct tbp_str names[] = {
        TBP_STR_INIT("INVALID"),
        TBP_STR_INIT("float"),
        TBP_STR_INIT("double"),
        TBP_STR_INIT("int32"),
        TBP_STR_INIT("uint8"),
        TBP_STR_INIT("int16"),
        TBP_STR_INIT("int8"),
        TBP_STR_INIT("string"),
        TBP_STR_INIT("complex64"),
        TBP_STR_INIT("int64"),
        TBP_STR_INIT("bool"),
        TBP_STR_INIT("qint8"),
        TBP_STR_INIT("quint8"),
        TBP_STR_INIT("qint32"),
        TBP_STR_INIT("bfloat16"),
        TBP_STR_INIT("qint16"),
        TBP_STR_INIT("quint16"),
        TBP_STR_INIT("uint16"),
        TBP_STR_INIT("complex128"),
        TBP_STR_INIT("half"),
        TBP_STR_INIT("resource"),
        TBP_STR_INIT("variant"),
        TBP_STR_INIT("uint32"),
        TBP_STR_INIT("uint64"),
        TBP_STR_INIT("float8_e5m2"),
        TBP_STR_INIT("float8_e4m3fn"),
        TBP_STR_INIT("float8_e4m3fnuz"),
        TBP_STR_INIT("float8_e4m3b11fnuz"),
        TBP_STR_INIT("float8_e5m2fnuz"),
        TBP_STR_INIT("int4"),
        TBP_STR_INIT("uint4"),
    };
    return n >= 0 && (size_t)n < sizeof names / sizeof *names ? names[n] : TBP_STR_NONE;
}

static struct tbp_str data_type_text(int32_t n, struct tbp_arena *text) {
    const char *ref = n > 100 ? "_ref" : "";
    int32_t base = n > 100 ? n - 100 : n;
    struct tbp_str name = type_name(base);
    if (name.n && !ref[0])
        return name;
    if (!name.n)
        return tbp_str_c(tbp_arena_printf(text, "unknown dtype enum (%d)%s", base, ref));
    return tbp_arena_cat(text, name, tbp_str_c(ref));
}

/* What a stat is good for, and where in `decoded` it goes. */
enum use { OF_NO_USE, NUMBER, TEXT, OTHER };
#define AT(member) offsetof(struct decoded, s.member)
static const struct {
    uint8_t use, at;
} uses[TBP_STAT_KEYS] = {
    [TBP_STAT_BYTES_RESERVED] = {NUMBER, AT(stats.stack_bytes)},
    [TBP_STAT_BYTES_ALLOCATED] = {NUMBER, AT(stats.heap_bytes)},
    [TBP_STAT_BYTES_AVAILABLE] = {NUMBER, AT(stats.free_bytes)},
    [TBP_STAT_PEAK_BYTES_IN_USE] = {NUMBER, AT(stats.peak_bytes)},
    [TBP_STAT_REQUESTED_BYTES] = {NUMBER, AT(activity.requested_bytes)},
    [TBP_STAT_ALLOCATION_BYTES] = {NUMBER, AT(activity.allocated_bytes)},
    [TBP_STAT_ADDRESS] = {NUMBER, AT(activity.address)},
    [TBP_STAT_GROUP_ID] = {NUMBER, AT(activity.step)},
    [TBP_STAT_TF_OP] = {TEXT, AT(activity.op)},
    [TBP_STAT_REGION_TYPE] = {TEXT, AT(activity.region)},
    [TBP_STAT_SHAPE] = {TEXT, AT(activity.shape)},
    [TBP_STAT_DATA_TYPE] = {OTHER, 0},
    [TBP_STAT_FRAGMENTATION] = {OTHER, 0},
    [TBP_STAT_INDEX_ON_HOST] = {OTHER, 0},
    [TBP_STAT_DEVICE_ORDINAL] = {OTHER, 0},
    [TBP_STAT_ALLOCATOR_NAME] = {OTHER, 0},
};
#undef AT

static void put_number(struct decoded *d, enum tbp_stat_key key, int64_t v) {
    memcpy((char *)d + uses[key].at, &v, sizeof v);
}

static void take_other(struct decoded *d, const struct tbp_stat *st) {
    switch (st->meta->key) {
    case TBP_STAT_DATA_TYPE:
        d->data_type = (int32_t)(uint32_t)tbp_stat_i(st);
        d->has_data_type = true;
        break;
    case TBP_STAT_FRAGMENTATION:
        d->s.stats.fragmentation = tbp_stat_d(st);
        break;
    case TBP_STAT_ALLOCATOR_NAME:
        d->id = tbp_stat_s(st);
        break;
    default: /* a number that names the allocator */
        d->id = (struct tbp_str){
            d->id_text, (size_t)snprintf(d->id_text, ID_TEXT, "%lld", (long long)tbp_stat_i(st))};
        break;
    }
}

static void take(struct decoded *d, const struct tbp_stat *st) {
    struct tbp_str text = tbp_stat_s(st);
    enum tbp_stat_key key = st->meta->key;
    if (uses[key].use == NUMBER)
        put_number(d, key, tbp_stat_i(st));
    else if (uses[key].use == TEXT)
        memcpy((char *)d + uses[key].at, &text, sizeof text);
    else if (uses[key].use == OTHER)
        take_other(d, st);
}

static inline void take_parts(struct decoded *d, const struct tbp_plane *p,
                              const struct tbp_stat_parts *s, bool has_texts) {
    enum tbp_stat_key key = p->stat_metas[s->meta].key;
    struct tbp_stat st;
    switch (uses[key].use) {
    case NUMBER:
        put_number(d, key, tbp_stat_parts_is_int(s) ? (int64_t)tbp_stat_parts_number(s) : 0);
        break;
    case TEXT:
    case OTHER:
        if (uses[key].use == TEXT && !has_texts)
            break;
        tbp_stat_parts_decode(p, s, &st);
        take(d, &st);
        break;
    }
}

/* d->id may point into d: it must stay where it is. Without texts, op, region and shape are left
 * out. */
static void decode(const struct tbp_line *l, size_t i, bool has_texts, struct decoded *d) {
    *d = (struct decoded){.id = TBP_STR_NONE};
    struct tbp_memory_activity *a = &d->s.activity;
    a->op = a->region = a->shape = a->data_type = TBP_STR_NONE;
    a->step = -1;
    a->is_deallocation = tbp_event_kind_at(l, i) == TBP_EVENT_MEMORY_DEALLOCATION;
    d->s.time_ps = tbp_event_offset(l, i);
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    while (it.has_slack && it.w.at < it.w.end) {
        struct tbp_stat_parts parts = tbp_stat_parts_first(l->plane, it.w);
        if (!parts.meta)
            break; /* the rest is taken with care */
        take_parts(d, l->plane, &parts, has_texts);
        it.w.at = parts.end;
    }
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        take(d, &st);
    if (l->ev.flags[i] & TBP_EVENT_GROUPED)
        tbp_event_group(l, i, &a->step);
}

void tbp_memory_row_decode(const struct tbp_memory_rows *r, const struct tbp_memory_row *row,
                           struct tbp_arena *text, struct tbp_memory_snapshot *s) {
    struct decoded d;
    decode(&r->plane->lines[row->line], row->event, true, &d);
    if (d.has_data_type)
        d.s.activity.data_type = data_type_text(d.data_type, text);
    *s = d.s;
}

int64_t tbp_memory_row_allocated_bytes(const struct tbp_memory_rows *r,
                                       const struct tbp_memory_row *row) {
    struct decoded d;
    decode(&r->plane->lines[row->line], row->event, false, &d);
    return d.s.activity.allocated_bytes;
}

static int64_t sum(int64_t a, int64_t b) { /* modulo 2^64 on hostile numbers */
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

/* RULES.md 13.4: in file order. The lifetime peak is the last value seen; of equal peaks the last
 * counts. */
static void add_to_summary(struct tbp_memory_allocator *a, const struct tbp_memory_snapshot *s,
                           int64_t used_bytes) {
    a->lifetime_peak_bytes = s->stats.peak_bytes;
    if (used_bytes < a->at_peak.peak_bytes)
        return;
    a->at_peak = s->stats;
    a->at_peak.peak_bytes = used_bytes;
    a->peak_time_ps = s->time_ps;
    a->capacity_bytes = sum(used_bytes, s->stats.free_bytes);
}

/* Allocators in order of appearance, texts in `arena`. Peaks below `least_peak` do not count: 0, or
 * in a part of the events the least there is, since it does not know the peaks before it. */
struct allocators {
    TBP_VEC(struct tbp_memory_allocator) list;
    struct tbp_strtab ids;
    struct tbp_arena *arena;
    int64_t least_peak;
    struct tbp_str last; /* asked for, and what it was */
    uint32_t last_number;
};

static uint32_t find_allocator(struct allocators *a, struct tbp_str id) {
    uint32_t k = tbp_strtab_get(&a->ids, id);
    if (k != TBP_MAP_NONE)
        return k;
    struct tbp_str copy = tbp_arena_str(a->arena, id);
    *tbp_vec_push(&a->list) =
        (struct tbp_memory_allocator){.id = copy, .at_peak.peak_bytes = a->least_peak};
    return tbp_strtab_put(&a->ids, copy);
}

/* Neighbours are mostly of one allocator, whose name then is the same text at the same place. A
 * text on the stack may change there. */
static uint32_t allocator_of(struct allocators *a, struct tbp_str id, bool stays) {
    if (!stays)
        return find_allocator(a, id);
    if (!a->last.p || id.p != a->last.p || id.n != a->last.n) {
        a->last = id;
        a->last_number = find_allocator(a, id);
    }
    return a->last_number;
}

static void allocators_release(struct allocators *a) {
    tbp_vec_release(&a->list);
    tbp_strtab_release(&a->ids);
}

/* Some events of one line; the parts of a plane are read side by side and united in order. */
enum { PART_EVENTS = 1 << 14 };
struct part {
    const struct tbp_plane *plane;
    uint32_t line;
    size_t from, to;
    struct tbp_arena arena;
    struct allocators allocators;
    struct tbp_memory_row *rows; /* owner: number in allocators */
    size_t n_rows;
};

static bool is_allocation(enum tbp_event_kind kind) {
    return kind == TBP_EVENT_MEMORY_ALLOCATION || kind == TBP_EVENT_MEMORY_DEALLOCATION;
}

static void read_row(struct part *p, const struct tbp_line *l, size_t i,
                     struct tbp_memory_row *row) {
    struct decoded d;
    decode(l, i, false, &d);
    uint32_t k = allocator_of(&p->allocators, d.id, d.id.p != d.id_text);
    int64_t used_bytes = sum(d.s.stats.stack_bytes, d.s.stats.heap_bytes);
    add_to_summary(&p->allocators.list.at[k], &d.s, used_bytes);
    *row = (struct tbp_memory_row){
        .used_bytes = used_bytes,
        .step = d.s.activity.step,
        .address = d.s.activity.address,
        .line = p->line,
        .event = (uint32_t)i,
        .owner = k,
        .is_deallocation = d.s.activity.is_deallocation,
    };
}

static int count_part(void *ctx, size_t number, struct tbp_error *err) {
    struct part *p = (struct part *)ctx + number;
    const struct tbp_line *l = &p->plane->lines[p->line];
    (void)err;
    for (size_t i = p->from; i < p->to; i++)
        p->n_rows += is_allocation(tbp_event_kind_at(l, i));
    return TBP_OK;
}

static int read_part(void *ctx, size_t number, struct tbp_error *err) {
    struct part *p = (struct part *)ctx + number;
    const struct tbp_line *l = &p->plane->lines[p->line];
    struct tbp_memory_row *row = p->rows;
    (void)err;
    for (size_t i = p->from; i < p->to && p->n_rows; i++)
        if (is_allocation(tbp_event_kind_at(l, i)))
            read_row(p, l, i, row++);
    return TBP_OK;
}

static void part_release(struct part *p) {
    allocators_release(&p->allocators);
    tbp_arena_release(&p->arena);
}

/* What comes later in the file counts, also among equal peaks. */
static void unite_summaries(struct tbp_memory_allocator *to,
                            const struct tbp_memory_allocator *later) {
    struct tbp_memory_allocator before = *to;
    *to = *later;
    to->id = before.id;
    if (later->at_peak.peak_bytes >= before.at_peak.peak_bytes)
        return;
    to->at_peak = before.at_peak;
    to->peak_time_ps = before.peak_time_ps;
    to->capacity_bytes = before.capacity_bytes;
}

/* Rows then know their allocator by its number among all. */
static void number_allocators(struct part *p, struct allocators *all) {
    uint32_t *number = TBP_NEW_N(&p->arena, uint32_t, p->allocators.list.n);
    for (size_t k = 0; k < p->allocators.list.n; k++) {
        const struct tbp_memory_allocator *a = &p->allocators.list.at[k];
        number[k] = allocator_of(all, a->id, true);
        unite_summaries(&all->list.at[number[k]], a);
    }
    for (size_t i = 0; i < p->n_rows; i++)
        p->rows[i].owner = number[p->rows[i].owner];
}

/* Rows of one allocator together, in file order. */
static void order_rows(struct tbp_memory_rows *r, size_t n_rows) {
    size_t n = r->n_allocators;
    TBP_VEC(uint32_t) order = {0};
    TBP_VEC(size_t) first = {0};
    tbp_vec_reserve(&first, n + 2);
    memset(first.at, 0, (n + 2) * sizeof *first.at);
    for (size_t i = 0; i < n_rows; i++)
        first.at[r->rows[i].owner + 2]++;
    for (size_t k = 2; k < n + 2; k++)
        first.at[k] += first.at[k - 1];
    tbp_vec_reserve(&order, n_rows);
    for (size_t i = 0; i < n_rows; i++) /* first[k + 1] runs from the start of k to its end */
        order.at[first.at[r->rows[i].owner + 1]++] = (uint32_t)i;
    r->order = order.at;
    r->first = first.at;
}

static bool has_allocations(const struct tbp_plane *p) {
    for (size_t i = 1; i < p->n_metas; i++)
        if (is_allocation(p->metas[i].kind))
            return true;
    return false;
}

static struct part *make_parts(const struct tbp_plane *plane, struct tbp_arena *out, size_t *n) {
    size_t most = 0;
    *n = 0;
    for (size_t i = 0; i < plane->n_lines; i++)
        most += plane->lines[i].ev.n / PART_EVENTS + 1;
    struct part *parts = TBP_NEW_N(out, struct part, most);
    for (size_t i = 0; has_allocations(plane) && i < plane->n_lines; i++) {
        size_t end = plane->lines[i].ev.n;
        for (size_t at = 0; at < end; at += PART_EVENTS) {
            struct part *p = &parts[(*n)++];
            *p = (struct part){.plane = plane, .line = (uint32_t)i, .from = at};
            p->to = end - at < PART_EVENTS ? end : at + PART_EVENTS;
            tbp_arena_init(&p->arena);
            p->allocators = (struct allocators){.arena = &p->arena, .least_peak = INT64_MIN};
        }
    }
    return parts;
}

/* Each part reads into its own stretch of the rows. */
static size_t give_rows(struct part *parts, size_t n_parts, struct tbp_memory_rows *r) {
    TBP_VEC(struct tbp_memory_row) rows = {0};
    size_t n = 0;
    for (size_t i = 0; i < n_parts; i++)
        n += parts[i].n_rows;
    tbp_vec_reserve(&rows, n);
    r->rows = rows.at;
    n = 0;
    for (size_t i = 0; i < n_parts; n += parts[i++].n_rows)
        parts[i].rows = n ? r->rows + n : r->rows; /* of no rows at all NULL */
    return n;
}

static void unite_allocators(struct part *parts, size_t n_parts, struct tbp_memory_rows *r,
                             struct tbp_arena *out) {
    struct allocators all = {.arena = out};
    for (size_t i = 0; i < n_parts; i++)
        number_allocators(&parts[i], &all);
    r->n_allocators = all.list.n;
    r->allocators = TBP_NEW_N(out, struct tbp_memory_allocator, r->n_allocators);
    if (r->n_allocators)
        memcpy(r->allocators, all.list.at, r->n_allocators * sizeof *r->allocators);
    allocators_release(&all);
}

int tbp_memory_rows_init(struct tbp_memory_rows *r, const struct tbp_plane *plane,
                         struct tbp_pool *pool, struct tbp_arena *out, struct tbp_error *err) {
    size_t n_parts, n_rows;
    struct part *parts = make_parts(plane, out, &n_parts);
    *r = (struct tbp_memory_rows){.plane = plane};
    int status = tbp_pool_for(pool, n_parts, count_part, parts, err);
    n_rows = give_rows(parts, n_parts, r);
    if (!status)
        status = tbp_pool_for(pool, n_parts, read_part, parts, err);
    if (!status) {
        unite_allocators(parts, n_parts, r, out);
        order_rows(r, n_rows);
    } else {
        tbp_memory_rows_release(r);
    }
    for (size_t i = 0; i < n_parts; i++)
        part_release(&parts[i]);
    return status;
}

void tbp_memory_rows_release(struct tbp_memory_rows *r) {
    tbp_vec_free_bytes(r->rows);
    tbp_vec_free_bytes(r->order);
    tbp_vec_free_bytes(r->first);
    r->rows = NULL;
    r->order = NULL;
    r->first = NULL;
}

size_t tbp_memory_rows_of(struct tbp_memory_rows *r, size_t allocator, uint32_t **order) {
    *order = r->order ? r->order + r->first[allocator] : NULL;
    return r->first[allocator + 1] - r->first[allocator];
}
