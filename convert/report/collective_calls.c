/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the collectives of each host: work of devices that is one, by its metadata or its name;
 * where no device has any, what the host exchanges itself, else what it handed over. See
 * collective_calls.h.
 */
#include "convert/report/collective_calls.h"

#include "base/sort.h"
#include "convert/report/collective_names.h"
#include "convert/report/device_work.h"
#include "convert/report/intervals.h"
#include "convert/report/step_marks.h"

struct reading {
    struct tbp_collectives *c;
    const struct tbp_host *host;
    uint32_t index;
    struct tbp_step_marks marks;
    struct tbp_launches launches;
    struct tbp_intervals busy, communication, compute;
    size_t first_call;
    bool is_asked_only;
};

void tbp_collectives_init(struct tbp_collectives *c) {
    *c = (struct tbp_collectives){0};
    tbp_arena_init(&c->arena);
}

void tbp_collectives_release(struct tbp_collectives *c) {
    tbp_vec_release(&c->calls);
    tbp_vec_release(&c->ops);
    tbp_vec_release(&c->hosts);
    tbp_strtab_release(&c->keys);
    tbp_arena_release(&c->arena);
}

/* ---- what an event says ---- */

struct told {
    struct tbp_str collective, group, dtype;
    uint64_t in_elements, out_elements, group_size;
};

static uint64_t number_of(const struct tbp_stat *st) {
    uint64_t n = tbp_stat_iu(st);
    if (st->type == TBP_STAT_STR || st->type == TBP_STAT_REF)
        return tbp_str_to_u64(tbp_stat_s(st), &n) ? n : 0;
    return n;
}

static struct told read_told(const struct tbp_line *l, size_t i) {
    struct told t = {TBP_STR_NONE, TBP_STR_NONE, TBP_STR_NONE, 0, 0, 0};
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        struct tbp_str key = st.meta->name;
        if (tbp_str_is(key, "Collective name"))
            t.collective = tbp_stat_s(&st);
        else if (tbp_str_is(key, "Process Group Name"))
            t.group = tbp_stat_s(&st);
        else if (tbp_str_is(key, "dtype"))
            t.dtype = tbp_stat_s(&st);
        else if (tbp_str_is(key, "In msg nelems"))
            t.in_elements = number_of(&st);
        else if (tbp_str_is(key, "Out msg nelems"))
            t.out_elements = number_of(&st);
        else if (tbp_str_is(key, "Group size"))
            t.group_size = number_of(&st);
    }
    return t;
}

static uint64_t element_bytes(struct tbp_str dtype) {
    static const struct {
        const char *prefix;
        uint64_t bytes;
    } types[] = {{"bfloat16", 2}, {"float16", 2}, {"half", 2},  {"short", 2},  {"int16", 2},
                 {"float8", 1},   {"float64", 8}, {"float", 4}, {"double", 8}, {"long", 8},
                 {"int64", 8},    {"int8", 1},    {"int", 4},   {"uint8", 1},  {"byte", 1},
                 {"char", 1},     {"bool", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (tbp_str_starts_nocase(dtype, types[i].prefix))
            return types[i].bytes;
    return 0;
}

static uint64_t bytes_of(const struct told *t, const char *kind) {
    uint64_t bytes, elements = t->in_elements;
    if (strcmp(kind, "all-gather") == 0)
        elements = t->out_elements;
    return __builtin_mul_overflow(elements, element_bytes(t->dtype), &bytes) ? 0 : bytes;
}

static uint32_t op_of(struct tbp_collectives *c, struct tbp_str name, const struct told *t) {
    struct tbp_collective_name known = tbp_collective_name_of(name);
    const char *key =
        tbp_arena_printf(&c->arena, "%.*s\n%.*s\n%.*s", (int)name.n, name.p, (int)t->collective.n,
                         t->collective.p, (int)t->group.n, t->group.p);
    uint32_t op = tbp_strtab_put(&c->keys, tbp_str_c(key));
    if (op < c->ops.n)
        return op;
    const char *kind = t->collective.n ? tbp_collective_kind(t->collective) : known.kind;
    *tbp_vec_push(&c->ops) = (struct tbp_collective_op){
        .name = tbp_arena_str(&c->arena, name),
        .group = tbp_arena_str(&c->arena, t->group),
        .kind = kind,
        .makes_wait = known.span != TBP_COLLECTIVE_ASKED && tbp_collective_is_of_all(kind),
        .rule = t->collective.n ? "metadata" : "name"};
    return op;
}

static void add_call(struct reading *r, const struct tbp_line *l, size_t i, const struct told *t) {
    struct tbp_collectives *c = r->c;
    uint64_t asked_ps = tbp_work_asked_at(&r->launches, l, i);
    size_t step = tbp_step_mark_at(&r->marks, asked_ps);
    uint32_t op = op_of(c, tbp_event_name(l, i), t);
    *tbp_vec_push(&c->calls) = (struct tbp_collective_call){
        .host = r->index,
        .op = op,
        .step = step == SIZE_MAX ? TBP_NO_STEP : r->marks.list.at[step].number,
        .start_ps = l->ev.start_ps[i],
        .dur_ps = l->ev.dur_ps[i],
        .bytes = bytes_of(t, c->ops.at[op].kind),
        .group_size = t->group_size};
}

/* ---- lines ---- */

static bool plane_tells(const struct tbp_plane *p) {
    for (size_t i = 1; i < p->n_stat_metas; i++)
        if (tbp_str_is(p->stat_metas[i].name, "Collective name"))
            return true;
    return false;
}

static void read_work_line(struct reading *r, const struct tbp_line *l, const uint8_t *by_name,
                           bool tells) {
    for (size_t i = 0; i < l->ev.n; i++) {
        bool is_named = by_name[l->ev.meta[i]];
        struct told t = {TBP_STR_NONE, TBP_STR_NONE, TBP_STR_NONE, 0, 0, 0};
        if (tells && l->ev.has[i] & TBP_HAS_STATS)
            t = read_told(l, i);
        bool is_collective = is_named || t.collective.n;
        uint64_t start_ps = l->ev.start_ps[i], end_ps = tbp_event_end(l, i);
        tbp_intervals_add(&r->busy, start_ps, end_ps);
        tbp_intervals_add(is_collective ? &r->communication : &r->compute, start_ps, end_ps);
        if (is_collective)
            add_call(r, l, i, &t);
    }
}

static void read_devices(struct reading *r, struct tbp_arena *scratch) {
    for (size_t p = 0; p < r->host->n_planes; p++) {
        const struct tbp_plane *plane = &r->host->planes[p];
        if (!tbp_is_device_plane(plane->name))
            continue;
        bool tells = plane_tells(plane);
        uint8_t *by_name = TBP_NEW_N(scratch, uint8_t, plane->n_metas + 1);
        for (size_t m = 0; m < plane->n_metas; m++)
            by_name[m] = tbp_is_collective(plane->metas[m].name);
        for (size_t k = 0; k < plane->n_lines; k++)
            if (tbp_is_work_line(&plane->lines[k]))
                read_work_line(r, &plane->lines[k], by_name, tells);
    }
}

/* Where the host itself exchanges the range lasts as long; where it hands over, it tells only when
 * that was. */
static void read_host_plane(struct reading *r, const struct tbp_plane *plane,
                            enum tbp_collective_span span, struct tbp_arena *scratch) {
    uint8_t *is_wanted = TBP_NEW_N(scratch, uint8_t, plane->n_metas + 1);
    for (size_t m = 0; m < plane->n_metas; m++) {
        struct tbp_collective_name known = tbp_collective_name_of(plane->metas[m].name);
        is_wanted[m] = known.is_of_host && known.span == span;
    }
    for (size_t k = 0; k < plane->n_lines; k++) {
        const struct tbp_line *l = &plane->lines[k];
        for (size_t i = 0; i < l->ev.n && !l->is_derived; i++) {
            if (!is_wanted[l->ev.meta[i]])
                continue;
            struct told t = read_told(l, i);
            if (span == TBP_COLLECTIVE_WHOLE)
                tbp_intervals_add(&r->communication, l->ev.start_ps[i], tbp_event_end(l, i));
            add_call(r, l, i, &t);
        }
    }
}

static void read_host_ranges(struct reading *r, enum tbp_collective_span span,
                             struct tbp_arena *scratch) {
    for (size_t p = 0; p < r->host->n_planes; p++)
        if (tbp_is_host_plane(r->host->planes[p].name))
            read_host_plane(r, &r->host->planes[p], span, scratch);
}

static void read_host(struct tbp_collectives *c, const struct tbp_host *h, struct tbp_str name) {
    struct reading r = {.c = c, .host = h, .index = (uint32_t)c->hosts.n, .first_call = c->calls.n};
    struct tbp_arena scratch;
    tbp_arena_init(&scratch);
    tbp_step_marks_collect(&r.marks, h);
    tbp_launches_add_work(&r.launches, h);
    tbp_launches_add_calls(&r.launches, h);
    read_devices(&r, &scratch);
    if (c->calls.n == r.first_call)
        read_host_ranges(&r, TBP_COLLECTIVE_WHOLE, &scratch);
    r.is_asked_only = c->calls.n == r.first_call;
    if (r.is_asked_only)
        read_host_ranges(&r, TBP_COLLECTIVE_ASKED, &scratch);
    tbp_intervals_close(&r.busy);
    tbp_intervals_close(&r.communication);
    tbp_intervals_close(&r.compute);
    *tbp_vec_push(&c->hosts) =
        (struct tbp_collective_host){.name = name,
                                     .rank = tbp_host_rank(h, NULL),
                                     .clock = tbp_host_clock_of(h),
                                     .n_calls = c->calls.n - r.first_call,
                                     .is_asked_only = r.is_asked_only && c->calls.n > r.first_call,
                                     .busy_ps = tbp_intervals_total(&r.busy),
                                     .communication_ps = tbp_intervals_total(&r.communication),
                                     .compute_ps = tbp_intervals_total(&r.compute)};
    tbp_intervals_release(&r.busy);
    tbp_intervals_release(&r.communication);
    tbp_intervals_release(&r.compute);
    tbp_launches_release(&r.launches);
    tbp_step_marks_release(&r.marks);
    tbp_arena_release(&scratch);
}

/* ---- the whole ---- */

static int state_clocks(struct tbp_collectives *c, const struct tbp_clock_offset *offsets,
                        size_t n_offsets, bool is_part, struct tbp_error *err) {
    for (size_t i = 0; i < n_offsets; i++) {
        bool is_known = false;
        for (size_t k = 0; k < c->hosts.n; k++) {
            struct tbp_collective_host *h = &c->hosts.at[k];
            if (!tbp_clock_offset_is_of(&offsets[i], h->name, h->rank))
                continue;
            h->clock.state = TBP_CLOCK_STATED;
            h->clock.ahead_ps = offsets[i].ahead_ps;
            is_known = true;
        }
        if (!is_known && !is_part) /* else it may be of a host that cannot be read */
            return tbp_fail(err, TBP_E_OPTION, "'clock-offset': no host or rank '%.*s' in the run",
                            (int)offsets[i].host.n, offsets[i].host.p);
    }
    return TBP_OK;
}

int tbp_collectives_collect(struct tbp_collectives *c, struct tbp_session *s, uint32_t first,
                            uint32_t end, const struct tbp_clock_offset *offsets, size_t n_offsets,
                            struct tbp_unread *unread, struct tbp_error *err) {
    int status = TBP_OK;
    for (uint32_t i = first; i < end; i++) {
        const struct tbp_host *h;
        status = tbp_unread_load(unread, s, i, &h, err);
        if (status)
            return status;
        if (!h)
            continue;
        read_host(c, h, tbp_session_host_name(s, i));
        if (end - first > 1)
            tbp_session_release_events(s, i);
    }
    status = tbp_unread_check(unread, err);
    if (!status)
        status = state_clocks(c, offsets, n_offsets, unread->list.n > 0, err);
    if (!status)
        tbp_collectives_match(c);
    return status;
}
