/* SPDX-License-Identifier: Apache-2.0
 *
 * The pass over the events of a host. Device lines first; then each host
 * line with a stack of open events. A row gets its numbers when an event is closed; the first child
 * of an open event waits until it is known whether it is the only one (it may be its parent over
 * again).
 */
#include "convert/report/op_averages.h"

#include "convert/analyze/op_name.h"
#include "convert/model/line_order.h"
#include "convert/report/average_rows.h"
#include "convert/report/collective_names.h"
#include "convert/report/device_work.h"
#include "convert/report/event_role.h"
#include "convert/report/event_texts.h"
#include "convert/report/memory_use.h"

struct closed {         /* an event that has ended */
    uint32_t row, name; /* the event's own name, whatever the row is called */
    int64_t total_ps, children_ps;
    int64_t launched_ps, children_device_ps;
    struct tbp_memory_sum memory, children_memory;
};

struct open_event {
    struct closed e;
    uint64_t end_ps;
    uint32_t n_children;
    struct closed only_child; /* while n_children is 1 and the child has ended */
    struct tbp_str module;    /* nearest around it, or its own */
};

enum meta_kind {
    META_WORK,
    META_PASSED_OVER,
    META_EXCHANGE, /* a record of c10d: as a range on the host it is of no thread */
};

struct pass {
    struct tbp_averages *a;
    const struct tbp_host *host;
    struct tbp_str host_name;
    enum tbp_average_group group;
    unsigned depth;
    struct tbp_launches launches;
    struct tbp_memory_use memory;
    TBP_VEC(struct open_event) open;
    struct tbp_event_texts texts;
    struct tbp_line_order order;
    /* of the line */
    const struct tbp_line *line;
    uint32_t *name_of_meta; /* 0: not looked up yet, else number + 1 */
    uint8_t *kind_of_meta;  /* enum meta_kind */
    bool is_device, nests;
    uint64_t unit_ps;
    uint64_t first_ps, last_ps;
};

static const char step_prefix[] = "ProfilerStep#";
static const char module_prefix[] = "nn.Module: ";
static const char out_of_memory[] = "[OutOfMemory]";

static const char *const shape_stats[] = {"Input Dims", "shape", "shape_with_layout", NULL};
static const char *const stack_stats[] = {"Call stack", NULL};
static const char *const module_stats[] = {"Module Hierarchy", NULL};
static const char *const type_stats[] = {"tf_op", NULL};

static const char *const *stats_of_group(enum tbp_average_group g) {
    return g == TBP_GROUP_SHAPE    ? shape_stats
           : g == TBP_GROUP_STACK  ? stack_stats
           : g == TBP_GROUP_MODULE ? module_stats
           : g == TBP_GROUP_TYPE   ? type_stats
                                   : NULL;
}

/* ---- which row ---- */

static uint32_t name_number(struct pass *p, uint32_t meta) {
    const struct tbp_meta *m = &p->line->metas[meta];
    if (!p->name_of_meta[meta]) {
        bool is_tpu = p->is_device && !tbp_is_gpu_plane(p->line->plane->name);
        struct tbp_str name = is_tpu && m->display.n ? m->display : m->name;
        if (tbp_str_starts(name, step_prefix))
            name = TBP_STR("ProfilerStep*");
        p->name_of_meta[meta] = tbp_strtab_put(&p->a->names, name) + 1;
        p->kind_of_meta[meta] = tbp_is_memory_event(m->kind) || tbp_is_profiler_op(name)
                                    ? META_PASSED_OVER
                                : !p->is_device && tbp_is_exchange_record(name) ? META_EXCHANGE
                                                                                : META_WORK;
    }
    return p->name_of_meta[meta] - 1;
}

/* The first `depth` frames of a stack whose frames end with ';'. */
static struct tbp_str first_frames(struct tbp_str stack, unsigned depth) {
    size_t n = 0;
    while (n < stack.n && depth > 0)
        depth -= stack.p[n++] == ';';
    n -= n && stack.p[n - 1] == ';';
    return tbp_str_sub(stack, 0, n);
}

/* Rows by type of op: the type stands for the name. */
static uint32_t type_number(struct pass *p, uint32_t name, struct tbp_str op) {
    struct tbp_op_name parsed = tbp_op_name_parse(op.n ? op : p->a->names.strs[name]);
    if (parsed.category == TBP_OP_UNKNOWN || parsed.type.n == 0)
        return name;
    return tbp_strtab_put(&p->a->names, parsed.type);
}

static struct tbp_str group_text(struct pass *p, struct tbp_str detail) {
    switch (p->group) {
    case TBP_GROUP_TYPE:
        return TBP_STR_NONE;
    case TBP_GROUP_STACK:
        return first_frames(detail, p->depth);
    case TBP_GROUP_THREAD:
        return p->line->name;
    case TBP_GROUP_DEVICE:
        return p->line->plane->name;
    case TBP_GROUP_HOST:
        return p->host_name;
    case TBP_GROUP_MODULE:
        if (detail.n == 0 && p->open.n)
            return p->open.at[p->open.n - 1].module;
        return detail;
    default:
        return detail;
    }
}

/* ---- closing ---- */

static void add_closed(struct pass *p, const struct closed *c) {
    struct tbp_average *r = &p->a->rows.at[c->row];
    int64_t self_ps = tbp_less(c->total_ps, c->children_ps);
    tbp_average_count(r, (uint64_t)c->total_ps);
    tbp_sum(&r->total_ps, c->total_ps);
    tbp_sum(&r->self_ps, self_ps);
    if (r->is_device) {
        r->total_device_ps = r->total_ps;
        r->self_device_ps = r->self_ps;
        tbp_sum(&p->a->device_ps, self_ps);
        return;
    }
    tbp_sum(&p->a->self_host_ps, self_ps);
    tbp_sum(&r->self_device_ps, c->launched_ps);
    tbp_sum(&r->total_device_ps, c->launched_ps);
    tbp_sum(&r->total_device_ps, c->children_device_ps);
    tbp_sum(&r->host_bytes, c->memory.host_bytes);
    tbp_sum(&r->device_bytes, c->memory.device_bytes);
    tbp_sum(&r->self_host_bytes, tbp_less(c->memory.host_bytes, c->children_memory.host_bytes));
    tbp_sum(&r->self_device_bytes,
            tbp_less(c->memory.device_bytes, c->children_memory.device_bytes));
}

/* The last open event has ended. */
static void close_last(struct pass *p) {
    struct open_event *o = &p->open.at[--p->open.n];
    struct closed *c = &o->e, *child = &o->only_child;
    if (o->n_children == 1 && child->name == c->name && !p->is_device) {
        c->children_ps = child->children_ps;
        c->launched_ps = child->launched_ps;
        c->children_device_ps = child->children_device_ps;
        c->children_memory = child->children_memory;
    } else if (o->n_children == 1) {
        add_closed(p, child);
    }
    if (p->open.n == 0) {
        add_closed(p, c);
        return;
    }
    struct open_event *parent = &p->open.at[p->open.n - 1];
    tbp_sum(&parent->e.children_ps, c->total_ps);
    tbp_sum(&parent->e.children_device_ps, c->launched_ps);
    tbp_sum(&parent->e.children_device_ps, c->children_device_ps);
    tbp_sum(&parent->e.children_memory.host_bytes, c->memory.host_bytes);
    tbp_sum(&parent->e.children_memory.device_bytes, c->memory.device_bytes);
    if (parent->n_children == 1)
        parent->only_child = *c;
    else
        add_closed(p, c);
}

/* ---- opening ---- */

/* What was launched under this correlation id, once. */
static int64_t take_launched(struct pass *p, size_t event) {
    struct tbp_launch *l = tbp_launch_of(&p->launches, p->line, event);
    int64_t ps = l ? l->work_ps : 0;
    if (l)
        l->work_ps = 0;
    return ps;
}

/* Begin and duration are rounded apart, so that an event may end behind the one around by a unit of
 * the clock: a microsecond where a line has no finer time, else a nanosecond. */
static uint64_t unit_of(const struct tbp_line *l) {
    enum { MICROSECOND_PS = 1000000, NANOSECOND_PS = 1000 };
    for (size_t i = 0; i < l->ev.n; i++)
        if (l->ev.start_ps[i] % MICROSECOND_PS || l->ev.dur_ps[i] % MICROSECOND_PS)
            return NANOSECOND_PS;
    return MICROSECOND_PS;
}

static void close_until(struct pass *p, uint64_t start_ps, uint64_t end_ps) {
    uint64_t slack_ps = (end_ps - start_ps) / 2 < p->unit_ps ? 0 : p->unit_ps;
    bool is_crossing = false;
    while (p->open.n) {
        uint64_t open_end_ps = p->open.at[p->open.n - 1].end_ps;
        bool begins_inside = p->nests && start_ps < open_end_ps;
        if (begins_inside && end_ps <= open_end_ps + slack_ps)
            break;
        is_crossing |= begins_inside;
        close_last(p);
    }
    p->a->n_crossing += is_crossing;
}

/* One more child of the last open event. */
static void join_parent(struct pass *p, size_t event) {
    if (p->open.n == 0)
        return;
    struct open_event *parent = &p->open.at[p->open.n - 1];
    if (parent->n_children++ == 1)
        add_closed(p, &parent->only_child);
    tbp_sum(&parent->e.launched_ps, p->is_device ? 0 : take_launched(p, event));
}

static void open_event(struct pass *p, size_t i, uint32_t row, uint32_t name,
                       struct tbp_str detail) {
    const struct tbp_events *ev = &p->line->ev;
    uint64_t start_ps = ev->start_ps[i], end_ps = start_ps + ev->dur_ps[i];
    if (p->nests && p->open.n && end_ps > p->open.at[p->open.n - 1].end_ps) {
        end_ps = p->open.at[p->open.n - 1].end_ps;
        p->a->n_clamped++;
    }
    struct open_event o = {.end_ps = end_ps, .module = detail};
    if (p->open.n && o.module.n == 0)
        o.module = p->open.at[p->open.n - 1].module;
    if (tbp_str_starts(p->a->rows.at[row].name, module_prefix))
        o.module = p->a->rows.at[row].name;
    o.e = (struct closed){.row = row, .name = name, .total_ps = (int64_t)(end_ps - start_ps)};
    if (!p->is_device)
        o.e.memory = tbp_memory_use_within(&p->memory, start_ps, end_ps, p->open.n == 0);
    *tbp_vec_push(&p->open) = o;
}

/* It begins on a thread and goes on while that does something else: PyTorch gives it no time of its
 * own, and takes it neither for a parent nor for a child. */
static void add_exchange(struct pass *p, size_t i, uint32_t row) {
    const struct tbp_events *ev = &p->line->ev;
    uint64_t start_ps = ev->start_ps[i];
    struct closed c = {
        .row = row, .total_ps = (int64_t)ev->dur_ps[i], .children_ps = (int64_t)ev->dur_ps[i]};
    c.memory = tbp_memory_use_within(&p->memory, start_ps, start_ps + ev->dur_ps[i], true);
    c.children_memory = c.memory;
    add_closed(p, &c);
}

static void add_event(struct pass *p, size_t i) {
    const struct tbp_events *ev = &p->line->ev;
    uint64_t start_ps = ev->start_ps[i], end_ps = start_ps + ev->dur_ps[i];
    struct tbp_str category, detail;
    if (ev->flags[i] & TBP_EVENT_MADE || ev->has[i] & TBP_HAS_OCCURRENCES ||
        ev->dur_ps[i] > INT64_MAX)
        return;
    uint32_t name = name_number(p, ev->meta[i]);
    struct tbp_average_key key = {.name = name, .is_device = p->is_device};
    tbp_event_texts_get(&p->texts, i, &category, &detail);
    enum tbp_event_role role = tbp_event_role_of(category);
    if (p->kind_of_meta[ev->meta[i]] == META_PASSED_OVER ||
        (role == TBP_ROLE_ASIDE && !(ev->has[i] & TBP_HAS_TF_OP) &&
         !tbp_str_is(p->a->names.strs[key.name], out_of_memory)))
        return;
    bool nests = role != TBP_ROLE_ANNOTATION || p->kind_of_meta[ev->meta[i]] != META_EXCHANGE;
    if (nests) {
        close_until(p, start_ps, end_ps);
        join_parent(p, i);
    }
    if (p->group == TBP_GROUP_TYPE)
        key.name = type_number(p, key.name, detail);
    key.category = tbp_strtab_put(&p->a->categories, category);
    key.group = tbp_strtab_put(&p->a->groups, group_text(p, detail));
    p->first_ps = start_ps < p->first_ps ? start_ps : p->first_ps;
    p->last_ps = end_ps > p->last_ps ? end_ps : p->last_ps;
    uint32_t row = tbp_averages_row(p->a, &key);
    if (nests)
        open_event(p, i, row, name, detail);
    else
        add_exchange(p, i, row);
}

/* ---- lines ---- */

static void walk_line(struct pass *p, const struct tbp_line *l) {
    p->line = l;
    p->unit_ps = p->nests ? unit_of(l) : 0;
    tbp_event_texts_init(&p->texts, l, stats_of_group(p->group));
    if (p->group == TBP_GROUP_TYPE && tbp_is_gpu_plane(l->plane->name))
        tbp_event_texts_spare(&p->texts, TBP_STAT_LEVEL_0); /* as the pages repair it */
    tbp_line_order_make(&p->order, l);
    for (size_t i = 0; i < l->ev.n; i++)
        add_event(p, tbp_line_order_at(&p->order, i));
    while (p->open.n)
        close_last(p);
}

static void walk_planes(struct pass *p, bool is_device, struct tbp_arena *arena) {
    p->is_device = is_device;
    for (size_t k = 0; k < p->host->n_planes; k++) {
        const struct tbp_plane *plane = &p->host->planes[k];
        if (is_device ? !tbp_is_device_plane(plane->name) : !tbp_is_host_plane(plane->name))
            continue;
        p->nests = !is_device || tbp_is_tpu_plane(plane->name);
        p->name_of_meta = TBP_NEW_N(arena, uint32_t, plane->n_metas + 1);
        p->kind_of_meta = TBP_NEW_N(arena, uint8_t, plane->n_metas + 1);
        for (size_t i = 0; i < plane->n_lines; i++)
            if (is_device ? tbp_is_work_line(&plane->lines[i]) : !plane->lines[i].is_derived)
                walk_line(p, &plane->lines[i]);
    }
}

/* Memory that changed hands while nothing ran. */
static void add_unclaimed(struct pass *p) {
    uint64_t count;
    struct tbp_memory_sum s = tbp_memory_use_unclaimed(&p->memory, &count);
    if (count == 0)
        return;
    struct tbp_average_key key = {.name = tbp_strtab_put(&p->a->names, TBP_STR("[memory]")),
                                  .category = tbp_strtab_put(&p->a->categories, TBP_STR_NONE),
                                  .group = tbp_strtab_put(&p->a->groups, TBP_STR_NONE)};
    uint32_t row = tbp_averages_row(p->a, &key); /* may move the rows */
    struct tbp_average *r = &p->a->rows.at[row];
    r->count += count;
    r->min_ps = 0;
    tbp_sum(&r->host_bytes, s.host_bytes);
    tbp_sum(&r->self_host_bytes, s.host_bytes);
    tbp_sum(&r->device_bytes, s.device_bytes);
    tbp_sum(&r->self_device_bytes, s.device_bytes);
}

void tbp_averages_add_host(struct tbp_averages *a, const struct tbp_host *h,
                           struct tbp_str host_name, enum tbp_average_group group, unsigned depth,
                           struct tbp_arena *arena) {
    struct pass p = {.a = a,
                     .host = h,
                     .host_name = host_name,
                     .group = group,
                     .depth = depth,
                     .first_ps = UINT64_MAX};
    tbp_memory_use_collect(&p.memory, h);
    a->has_memory |= p.memory.points.n > 0;
    a->has_device_memory |= p.memory.has_device;
    tbp_launches_add_work(&p.launches, h);
    walk_planes(&p, true, arena);
    walk_planes(&p, false, arena);
    add_unclaimed(&p);
    uint64_t window_ps = p.last_ps > p.first_ps ? p.last_ps - p.first_ps : 0;
    a->window_ps = window_ps > a->window_ps ? window_ps : a->window_ps;
    tbp_memory_use_release(&p.memory);
    tbp_launches_release(&p.launches);
    tbp_line_order_release(&p.order);
    tbp_vec_release(&p.open);
}
