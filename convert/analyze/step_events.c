/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the events that matter for steps, once per event. What a name means is found once per
 * metadata entry and kept in an array of bytes; stats are decoded only where the `has` column says
 * that one of interest is there. Budget: 10 ns per event.
 */
#include "convert/analyze/step_events.h"

#include "base/sort.h"
#include "convert/analyze/op_name.h"
#include "convert/model/stats.h"

#define STEPS_LINE_ID ((int64_t)(int32_t)TBP_DERIVED_FIRST)

/* ---- groups ---- */

static struct tbp_step_group *group_of(struct tbp_step_events *e, int64_t id, uint32_t *index) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(&e->by_id, (uint64_t)id, &is_new);
    if (is_new) {
        *slot = (uint32_t)e->groups.n;
        *tbp_vec_push(&e->groups) = (struct tbp_step_group){.id = id, .name = TBP_STR_NONE};
    }
    *index = *slot;
    return &e->groups.at[*slot];
}

static void keep_longer(struct tbp_marker *best, uint64_t begin_ps, uint64_t end_ps) {
    if (end_ps - begin_ps > best->end_ps - best->begin_ps)
        *best = (struct tbp_marker){begin_ps, end_ps};
}

static bool group_at(const struct tbp_line *l, size_t i, int64_t *group) {
    if (!(l->ev.has[i] & TBP_HAS_GROUP))
        return false;
    if (l->ev.group[i] == TBP_GROUP_WIDE)
        return tbp_event_group(l, i, group);
    *group = l->ev.group[i];
    return true;
}

/* ---- GPU planes ---- */

enum tbp_step_part tbp_gpu_event_part(struct tbp_str name, struct tbp_str shape) {
    switch (tbp_op_name_parse(name).category) {
    case TBP_OP_MEMCPY_H2D:
        return TBP_PART_HOST_TO_DEVICE;
    case TBP_OP_MEMCPY_D2H:
        return TBP_PART_DEVICE_TO_HOST;
    case TBP_OP_MEMCPY_D2D:
        return TBP_PART_DEVICE_TO_DEVICE;
    default:
        break;
    }
    if (tbp_str_starts_nocase(name, "nccl"))
        return TBP_PART_COLLECTIVES;
    bool half = shape.n ? tbp_str_has(shape, "half")
                        : tbp_str_has(name, "half") || tbp_str_has(name, "fp16");
    return half ? TBP_PART_COMPUTE_16 : TBP_PART_COMPUTE_32;
}

struct gpu_reader {
    struct tbp_step_events *e;
    const struct tbp_plane *plane;
    TBP_VEC(uint32_t) marked; /* groups with a marker on the plane */
    uint8_t *parts;           /* per metadata entry: part + 1, 0 = not known yet */
    bool has_shape;
    int64_t last_id; /* of the group found last … */
    uint32_t last_index;
};

static void read_steps_line(struct gpu_reader *r, const struct tbp_line *l) {
    struct tbp_step_events *e = r->e;
    e->n_marker_lines++; /* a second such line replaces the first */
    r->marked.n = 0;
    for (size_t i = 0; i < l->ev.n; i++) {
        int64_t id;
        uint32_t index;
        if (!group_at(l, i, &id) || id < 0)
            continue;
        struct tbp_step_group *g = group_of(e, id, &index);
        if (g->plane_markers != e->n_marker_lines) {
            g->plane = (struct tbp_marker){0, 0};
            g->plane_markers = e->n_marker_lines;
            *tbp_vec_push(&r->marked) = index;
        }
        uint64_t begin = l->ev.start_ps[i], end = tbp_event_end(l, i);
        struct tbp_stat offset, duration;
        if (l->ev.has[i] & TBP_HAS_DEVICE_SPAN &&
            tbp_event_stat(l, i, TBP_STAT_DEVICE_OFFSET_PS, &offset) &&
            tbp_event_stat(l, i, TBP_STAT_DEVICE_DURATION_PS, &duration)) {
            begin = tbp_stat_iu(&offset);
            end = begin + tbp_stat_iu(&duration);
        }
        keep_longer(&g->plane, begin, end);
    }
}

/* Whether its correlation id counts, and its shape. */
static bool read_launch(const struct gpu_reader *r, const struct tbp_line *l, size_t i,
                        struct tbp_str *shape) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    int64_t correlation = -1;
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (st.meta->key == TBP_STAT_CORRELATION_ID) {
            correlation = tbp_stat_i(&st);
            if (!r->has_shape)
                break;
        } else if (st.meta->key == TBP_STAT_SHAPE) {
            *shape = tbp_stat_s(&st);
        }
    }
    return correlation >= 0;
}

/* Part of one stream event; false if it does not count: its correlation id must be there and not
 * negative. */
static bool gpu_part(struct gpu_reader *r, const struct tbp_line *l, size_t i,
                     enum tbp_step_part *part) {
    struct tbp_str shape = TBP_STR_NONE;
    if ((r->has_shape || !(l->ev.has[i] & TBP_HAS_LAUNCH)) && !read_launch(r, l, i, &shape))
        return false;
    uint32_t meta = l->ev.meta[i];
    if (shape.n || l->metas != r->plane->metas) {
        *part = tbp_gpu_event_part(l->metas[meta].name, shape);
        return true;
    }
    if (!r->parts[meta])
        r->parts[meta] = (uint8_t)(tbp_gpu_event_part(l->metas[meta].name, shape) + 1);
    *part = (enum tbp_step_part)(r->parts[meta] - 1);
    return true;
}

static void read_stream(struct gpu_reader *r, const struct tbp_line *l) {
    const uint32_t need = TBP_HAS_GROUP | TBP_HAS_CORRELATION;
    struct tbp_step_events *e = r->e;
    for (size_t i = 0; i < l->ev.n; i++) {
        int64_t id;
        enum tbp_step_part part;
        if ((l->ev.has[i] & need) != need || !group_at(l, i, &id) || id < 0 ||
            !gpu_part(r, l, i, &part))
            continue;
        if (id != r->last_id) {
            struct tbp_step_group *g = group_of(e, id, &r->last_index);
            g->plane_spans = e->n_planes;
            r->last_id = id;
        }
        *tbp_vec_push(&e->spans) =
            (struct tbp_span){l->ev.start_ps[i], tbp_event_end(l, i), r->last_index, part};
    }
}

/* Groups without marker on this plane lose the spans found since `from`. */
static void drop_unmarked(struct tbp_step_events *e, size_t from, uint32_t first_marker_line) {
    size_t kept = from;
    for (size_t i = from; i < e->spans.n; i++) {
        const struct tbp_step_group *g = &e->groups.at[e->spans.at[i].group];
        if (e->n_marker_lines > first_marker_line && g->plane_markers == e->n_marker_lines)
            e->spans.at[kept++] = e->spans.at[i];
    }
    e->spans.n = kept;
}

static void read_gpu_plane(struct tbp_step_events *e, const struct tbp_plane *p,
                           enum tbp_semantics semantics) {
    struct gpu_reader r = {
        .e = e, .plane = p, .has_shape = tbp_plane_has_stat(p, TBP_STAT_SHAPE), .last_id = -1};
    size_t cap = 0, from = e->spans.n;
    uint32_t first_marker_line = e->n_marker_lines;
    r.parts = tbp_vec_grow_bytes(NULL, &cap, p->n_metas + 1, 1);
    memset(r.parts, 0, p->n_metas + 1);
    e->n_planes++;
    for (size_t k = 0; k < p->n_lines; k++) {
        const struct tbp_line *l = &p->lines[k];
        if (l->id == STEPS_LINE_ID)
            read_steps_line(&r, l);
        else if (!l->is_derived)
            read_stream(&r, l);
    }
    tbp_vec_free_bytes(r.parts);
    if (semantics != TBP_SEMANTICS_TF)
        drop_unmarked(e, from, first_marker_line);
    for (size_t k = 0; k < r.marked.n; k++) {
        struct tbp_step_group *g = &e->groups.at[r.marked.at[k]];
        if (g->plane_spans == e->n_planes || semantics == TBP_SEMANTICS_TF)
            keep_longer(&g->device, g->plane.begin_ps, g->plane.end_ps);
    }
    tbp_vec_release(&r.marked);
}

/* ---- host plane ---- */

enum name_class {
    NAME_KNOWN = 1,
    NAME_MARKER = 2,  /* an explicit step marker */
    NAME_WRAPPER = 4, /* wraps the work of others: no compute of its own */
    NAME_TO_DEVICE = 8,
    NAME_TO_HOST = 16, /* host to host */
    NAME_GET_NEXT = 32,
    NAME_EXECUTOR = 64,
};

static uint8_t classify_name(struct tbp_str name) {
    uint8_t c = NAME_KNOWN;
    bool marker = tbp_str_starts(name, "train") || tbp_str_starts(name, "test") ||
                  tbp_str_starts(name, "TraceContext");
    if (marker && tbp_str_find(name, '/') == name.n)
        c |= NAME_MARKER;
    if (tbp_str_starts(name, "EagerExecute") || tbp_str_starts(name, "EagerLocalExecute") ||
        tbp_str_starts(name, "EagerKernelExecute") || tbp_str_starts(name, "FunctionRun"))
        c |= NAME_WRAPPER;
    struct tbp_op_name op = tbp_op_name_parse(name);
    if (op.category == TBP_OP_MEMCPY_H2D ||
        (op.category == TBP_OP_TENSORFLOW && tbp_op_is_infeed_enqueue(op.type)))
        c |= NAME_TO_DEVICE;
    if (op.category == TBP_OP_MEMCPY_H2H)
        c |= NAME_TO_HOST;
    if (tbp_str_starts_nocase(name, "IteratorGetNext"))
        c |= NAME_GET_NEXT;
    if (tbp_str_starts_nocase(name, "ExecutorState::Process"))
        c |= NAME_EXECUTOR;
    return c;
}

struct link_id {
    uint64_t type, id;
};

struct nesting {
    uint64_t begin_ps, end_ps;
    bool is_stage, is_inherited;
};

struct host_reader {
    struct tbp_step_events *e;
    const struct tbp_plane *plane;
    uint8_t *classes; /* per metadata entry: enum name_class bits, 0 = not known yet */
    bool with_device, has_stages;
    int64_t last_id; /* of the group found last … */
    uint32_t last_index;
    TBP_VEC(struct link_id)
    produced; /* (_pt, _p) of the plane, sorted; only where there are input stages */
    TBP_VEC(struct nesting) stack;
};

static int compare_links(const void *a, const void *b, void *ctx) {
    const struct link_id *x = a, *y = b;
    (void)ctx;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void find_produced(struct host_reader *r) {
    for (size_t k = 0; k < r->plane->n_lines; k++) {
        const struct tbp_line *l = &r->plane->lines[k];
        for (size_t i = 0; i < l->ev.n; i++) {
            struct tbp_stat type, id;
            if (l->ev.has[i] & TBP_HAS_LINK &&
                tbp_event_stat(l, i, TBP_STAT_PRODUCER_TYPE, &type) &&
                tbp_event_stat(l, i, TBP_STAT_PRODUCER_ID, &id))
                *tbp_vec_push(&r->produced) =
                    (struct link_id){tbp_stat_iu(&type), tbp_stat_iu(&id)};
        }
    }
    tbp_sort(r->produced.at, r->produced.n, sizeof *r->produced.at, compare_links, NULL);
}

static bool is_produced(const struct host_reader *r, struct link_id link) {
    size_t lo = 0, hi = r->produced.n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = compare_links(&r->produced.at[mid], &link, NULL);
        if (c == 0)
            return true;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

/* An input stage below no other stage, neither in its line nor over a link. Must see every event of
 * the line. */
static bool is_root_stage(struct host_reader *r, const struct tbp_line *l, size_t i) {
    uint64_t begin = l->ev.start_ps[i], end = tbp_event_end(l, i);
    bool is_stage = false, has_type = false, has_id = false;
    struct link_id link = {0, 0};
    if (l->ev.has[i] & (TBP_HAS_LINK | TBP_HAS_STAGE_NAME)) {
        struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
        for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
            if (st.meta->key == TBP_STAT_STAGE_NAME) {
                is_stage = tbp_stat_s(&st).n > 0;
            } else if (st.meta->key == TBP_STAT_CONSUMER_TYPE) {
                link.type = tbp_stat_iu(&st);
                has_type = true;
            } else if (st.meta->key == TBP_STAT_CONSUMER_ID) {
                link.id = tbp_stat_iu(&st);
                has_id = true;
            }
        }
    }
    while (r->stack.n && !(r->stack.at[r->stack.n - 1].begin_ps <= begin &&
                           end <= r->stack.at[r->stack.n - 1].end_ps))
        r->stack.n--;
    bool inherited = has_type && has_id && is_produced(r, link);
    if (r->stack.n)
        inherited |=
            r->stack.at[r->stack.n - 1].is_stage || r->stack.at[r->stack.n - 1].is_inherited;
    *tbp_vec_push(&r->stack) = (struct nesting){begin, end, is_stage, inherited};
    return is_stage && !inherited;
}

static struct tbp_str step_name_at(const struct tbp_line *l, size_t i, int64_t group) {
    struct tbp_str name = TBP_STR_NONE;
    if (l->ev.flags[i] & TBP_EVENT_STEP_NAMED) {
        if (!tbp_host_group_name(l->plane->host, group, &name))
            name = TBP_STR_NONE;
        return name;
    }
    if (!(l->ev.has[i] & TBP_HAS_STEP_NAME))
        return name;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_STEP_NAME)
            name = tbp_stat_s(&st);
    return name;
}

static bool has_correlation(const struct tbp_line *l, size_t i) {
    if (l->ev.has[i] & TBP_HAS_LAUNCH)
        return true;
    if (!(l->ev.has[i] & TBP_HAS_CORRELATION))
        return false;
    int64_t id = -1;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);)
        if (st.meta->key == TBP_STAT_CORRELATION_ID)
            id = tbp_stat_i(&st);
    return id >= 0;
}

static enum tbp_step_part host_part(const struct host_reader *r, const struct tbp_line *l, size_t i,
                                    uint8_t name_class, bool root_stage) {
    if (name_class & NAME_TO_DEVICE)
        return TBP_PART_HOST_TO_DEVICE;
    if (name_class & NAME_TO_HOST)
        return TBP_PART_HOST_TO_HOST;
    if (r->with_device && (name_class & NAME_EXECUTOR || has_correlation(l, i)))
        return TBP_PART_HOST_PREPARE;
    return name_class & NAME_GET_NEXT || root_stage ? TBP_PART_HOST_WAIT_INPUT
                                                    : TBP_PART_HOST_COMPUTE;
}

static uint8_t class_at(const struct host_reader *r, const struct tbp_line *l, size_t i) {
    uint32_t meta = l->ev.meta[i];
    if (l->metas != r->plane->metas)
        return classify_name(l->metas[meta].name);
    if (!r->classes[meta])
        r->classes[meta] = classify_name(l->metas[meta].name);
    return r->classes[meta];
}

static void read_host_event(struct host_reader *r, const struct tbp_line *l, size_t i, int64_t id,
                            bool root_stage) {
    struct tbp_step_events *e = r->e;
    if (id != r->last_id) {
        if (r->with_device && tbp_idmap_get(&e->by_id, (uint64_t)id) == TBP_MAP_NONE)
            return;
        group_of(e, id, &r->last_index);
        r->last_id = id;
    }
    struct tbp_step_group *g = &e->groups.at[r->last_index];
    struct tbp_str name = step_name_at(l, i, id);
    uint8_t c = class_at(r, l, i);
    if (c & NAME_MARKER || name.n)
        keep_longer(&g->host, l->ev.start_ps[i], tbp_event_end(l, i));
    else if (!(c & NAME_WRAPPER))
        *tbp_vec_push(&e->spans) =
            (struct tbp_span){l->ev.start_ps[i], tbp_event_end(l, i), r->last_index,
                              host_part(r, l, i, c, root_stage)};
    if (name.n && (!g->name.n ||
                   g->name_line == e->n_lines)) { /* last of a line; the first line that has one */
        g->name = name;
        g->name_line = e->n_lines;
    }
}

void tbp_step_events_add_host_plane(struct tbp_step_events *e, const struct tbp_plane *plane,
                                    bool with_device) {
    struct host_reader r = {.e = e,
                            .plane = plane,
                            .with_device = with_device,
                            .last_id = -1,
                            .has_stages = tbp_plane_has_stat(plane, TBP_STAT_STAGE_NAME)};
    size_t cap = 0;
    r.classes = tbp_vec_grow_bytes(NULL, &cap, plane->n_metas + 1, 1);
    memset(r.classes, 0, plane->n_metas + 1);
    if (r.has_stages)
        find_produced(&r);
    for (size_t k = 0; k < plane->n_lines; k++) {
        const struct tbp_line *l = &plane->lines[k];
        e->n_lines++;
        r.stack.n = 0;
        for (size_t i = 0; i < l->ev.n; i++) {
            int64_t id;
            bool root_stage = r.has_stages && is_root_stage(&r, l, i);
            if (group_at(l, i, &id) && id >= 0)
                read_host_event(&r, l, i, id, root_stage);
        }
    }
    tbp_vec_free_bytes(r.classes);
    tbp_vec_release(&r.produced);
    tbp_vec_release(&r.stack);
}

void tbp_step_events_collect(struct tbp_step_events *e, const struct tbp_host *h,
                             enum tbp_semantics semantics) {
    *e = (struct tbp_step_events){0};
    bool with_device = false;
    for (size_t k = 0; k < h->n_planes; k++) {
        if (!tbp_is_gpu_plane(h->planes[k].name))
            continue;
        with_device = true;
        read_gpu_plane(e, &h->planes[k], semantics);
    }
    const struct tbp_plane *plane = tbp_host_plane(h, TBP_HOST_PLANE);
    if (plane && (!with_device || semantics == TBP_SEMANTICS_TF))
        tbp_step_events_add_host_plane(e, plane, with_device);
}

void tbp_step_events_release(struct tbp_step_events *e) {
    tbp_vec_release(&e->spans);
    tbp_vec_release(&e->groups);
    tbp_idmap_release(&e->by_id);
}
