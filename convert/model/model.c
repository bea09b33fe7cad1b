/* SPDX-License-Identifier: Apache-2.0
 *
 * Life and accessors of the run model; see model.h.
 */
#include "convert/model/model.h"

#include "convert/model/stats.h"
#include "schemas/xplane_fields.h"

void tbp_host_init(struct tbp_host *h) {
    *h = (struct tbp_host){0};
    tbp_arena_init(&h->arena);
    tbp_arena_init(&h->columns);
    tbp_ledger_init(&h->ledger);
    tbp_ledger_init(&h->lost_before);
}

void tbp_host_release(struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++) {
        tbp_idmap_release(&h->planes[i].meta_by_id.sparse);
        tbp_idmap_release(&h->planes[i].stat_meta_by_id.sparse);
    }
    tbp_arena_release(&h->columns);
    tbp_arena_release(&h->arena);
    tbp_input_release(&h->input);
    *h = (struct tbp_host){0};
}

void tbp_host_release_events(struct tbp_host *h) {
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t l = 0; l < h->planes[p].n_lines; l++)
            h->planes[p].lines[l].ev = (struct tbp_events){0};
    tbp_arena_release(&h->columns);
    tbp_input_drop_pages(&h->input);
}

struct tbp_plane *tbp_host_plane(const struct tbp_host *h, const char *name) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (tbp_str_is(h->planes[i].name, name))
            return &h->planes[i];
    return NULL;
}

uint64_t tbp_host_count_events(const struct tbp_host *h) {
    uint64_t n = 0;
    for (size_t p = 0; p < h->n_planes; p++)
        for (size_t l = 0; l < h->planes[p].n_lines; l++)
            n += h->planes[p].lines[l].ev.n;
    return n;
}

bool tbp_host_came_grouped(const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++) {
        const struct tbp_plane *p = &h->planes[i];
        bool counts = tbp_is_host_plane(p->name) || tbp_is_device_plane(p->name);
        if (counts && !tbp_plane_has_stat(p, TBP_STAT_GROUP_ID))
            return false;
    }
    return true;
}

bool tbp_host_group_name(const struct tbp_host *h, int64_t group, struct tbp_str *name) {
    size_t lo = 0, hi = h->n_groups;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (h->groups[mid].id == group) {
            *name = h->groups[mid].name;
            return true;
        }
        if (h->groups[mid].id < group)
            lo = mid + 1;
        else
            hi = mid;
    }
    return false;
}

void tbp_id_index_init(struct tbp_id_index *x, size_t n, struct tbp_arena *a) {
    *x = (struct tbp_id_index){.n_dense = n ? 4 * n + 64 : 0};
    x->dense = TBP_NEW_N(a, uint32_t, x->n_dense);
}

bool tbp_id_index_put(struct tbp_id_index *x, int64_t id, uint32_t index) {
    bool is_new;
    uint32_t *slot;
    if ((uint64_t)id < x->n_dense) {
        slot = &x->dense[id];
        is_new = *slot == 0;
    } else {
        slot = tbp_idmap_put(&x->sparse, (uint64_t)id, &is_new);
    }
    *slot = index;
    return is_new;
}

int64_t tbp_plane_start_ns(const struct tbp_plane *p) {
    int64_t start = p->n_lines ? p->lines[0].timestamp_ns : 0;
    for (size_t i = 1; i < p->n_lines; i++)
        if (p->lines[i].timestamp_ns < start)
            start = p->lines[i].timestamp_ns;
    return start;
}

uint32_t tbp_has_of_stat(enum tbp_stat_key key) {
    static const uint32_t bits[TBP_STAT_KEYS] = {
        [TBP_STAT_GROUP_ID] = TBP_HAS_GROUP,
        [TBP_STAT_CORRELATION_ID] = TBP_HAS_CORRELATION,
        [TBP_STAT_TF_OP] = TBP_HAS_TF_OP,
        [TBP_STAT_LEVEL_0] = TBP_HAS_LEVEL_0,
        [TBP_STAT_KERNEL_DETAILS] = TBP_HAS_KERNEL,
        [TBP_STAT_HLO_OP] = TBP_HAS_HLO_OP,
        [TBP_STAT_PRODUCER_TYPE] = TBP_HAS_LINK,
        [TBP_STAT_PRODUCER_ID] = TBP_HAS_LINK,
        [TBP_STAT_CONSUMER_TYPE] = TBP_HAS_LINK,
        [TBP_STAT_CONSUMER_ID] = TBP_HAS_LINK,
        [TBP_STAT_PROCESS_PID] = TBP_HAS_LINK,
        [TBP_STAT_IS_ROOT] = TBP_HAS_ROOT,
        [TBP_STAT_IS_ASYNC] = TBP_HAS_ASYNC,
        [TBP_STAT_STAGE_ID] = TBP_HAS_STAGE_ID,
        [TBP_STAT_STAGE_NAME] = TBP_HAS_STAGE_NAME,
        [TBP_STAT_STEP_NAME] = TBP_HAS_STEP_NAME,
        [TBP_STAT_STEP_NUM] = TBP_HAS_STEP_NUM,
        [TBP_STAT_ITER_NUM] = TBP_HAS_ITER_NUM,
        [TBP_STAT_ID] = TBP_HAS_ID,
        [TBP_STAT_IS_EAGER] = TBP_HAS_IS_EAGER,
        [TBP_STAT_FLOW] = TBP_HAS_FLOW,
        [TBP_STAT_CUDA_GRAPH_ID] = TBP_HAS_GRAPH,
        [TBP_STAT_CUDA_GRAPH_EXEC_ID] = TBP_HAS_GRAPH,
        [TBP_STAT_DEVICE_OFFSET_PS] = TBP_HAS_DEVICE_SPAN,
        [TBP_STAT_DEVICE_DURATION_PS] = TBP_HAS_DEVICE_SPAN,
        [TBP_STAT_IS_FUNC] = TBP_HAS_IS_FUNC,
        [TBP_STAT_GRAPH_TYPE] = TBP_HAS_GRAPH_TYPE,
        [TBP_STAT_DEVICE_ID] = TBP_HAS_DEVICE_ID,
        [TBP_STAT_RUN_ID] = TBP_HAS_RUN,
        [TBP_STAT_QUEUE_ID] = TBP_HAS_RUN,
        [TBP_STAT_REQUEST_ID] = TBP_HAS_RUN,
        [TBP_STAT_QUEUE_ADDR] = TBP_HAS_RUN,
    };
    return bits[key];
}

bool tbp_event_group(const struct tbp_line *l, size_t i, int64_t *group) {
    if (!(l->ev.has[i] & TBP_HAS_GROUP))
        return false;
    *group = l->ev.group[i];
    if (l->ev.group[i] == TBP_GROUP_WIDE) {
        struct tbp_stat st;
        *group = tbp_event_stat(l, i, TBP_STAT_GROUP_ID, &st) ? tbp_stat_i(&st) : 0;
    }
    return true;
}

bool tbp_event_is_eager(const struct tbp_line *l, size_t i) {
    if (l->ev.flags[i] & TBP_EVENT_EAGER_SET)
        return l->ev.flags[i] & TBP_EVENT_EAGER;
    struct tbp_stat st;
    return (l->ev.has[i] & TBP_HAS_IS_EAGER) && tbp_event_stat(l, i, TBP_STAT_IS_EAGER, &st) &&
           tbp_stat_b(&st);
}

int64_t tbp_event_occurrences(const struct tbp_line *l, size_t i) {
    if (!(l->ev.has[i] & TBP_HAS_OCCURRENCES))
        return 0;
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    int64_t n = 0;
    struct tbp_wire_field f;
    while (tbp_wire_next(&it.w, &f) > 0)
        if (f.number == TBP_XEVENT_NUM_OCCURRENCES && f.type == TBP_WIRE_VARINT)
            n = (int64_t)f.value;
    return n;
}
