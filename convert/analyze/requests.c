/* SPDX-License-Identifier: Apache-2.0
 *
 * Latency of served requests. A request is the group of an event that a server records once per
 * request; it lasts from the first to the last host event of its group, and on to the end of the
 * batch that it went into. Two passes over /host:CPU, and none where no event of interest is named.
 */
#include "convert/analyze/requests.h"

#include "base/sort.h"
#include "base/vec.h"
#include "convert/analyze/sweep.h"
#include "convert/model/stats.h"

#define PS_PER_US 1e6

struct batch {
    int64_t group;
    uint64_t end_ps;
};
struct model_of_group {
    int64_t group;
    struct tbp_str model;
};
struct request {
    int64_t group;
    enum tbp_request_model model;
    bool has_events;
    uint64_t begin_ps, end_ps;
};
struct picked { /* an event of interest */
    const struct tbp_line *line;
    size_t i;
    int64_t group;
    enum tbp_event_kind kind;
    bool is_user_root;
};

struct request_reader {
    const struct tbp_host *host;
    const struct tbp_plane *plane;
    struct tbp_arena *scratch;
    bool found[TBP_EVENT_KINDS]; /* kinds that have events */
    TBP_VEC(struct picked) picked;
    TBP_VEC(struct batch) batches;
    TBP_VEC(struct model_of_group) models;
    TBP_VEC(struct request) requests;
    TBP_VEC(struct tbp_span) spans; /* device work and transfers; group = index of the request */
    struct tbp_idmap batch_by_group, model_by_group, request_by_group; /* -> index above */
    struct tbp_idmap links_by_parent, links_by_child; /* -> first in a chain through next_… */
    uint32_t *next_of_parent, *next_of_child;         /* per link of host->group_links */
};

static bool group_at(const struct tbp_line *l, size_t i, int64_t *group) {
    return l->ev.has[i] & TBP_HAS_GROUP && tbp_event_group(l, i, group);
}

static uint32_t find(const struct tbp_idmap *m, int64_t group) {
    return tbp_idmap_get(m, (uint64_t)group);
}

/* ---- relations of groups ---- */

/* Chains in file order: links are entered from the last to the first. */
static void index_links(struct request_reader *r) {
    size_t n = r->host->n_group_links;
    r->next_of_parent = TBP_NEW_N(r->scratch, uint32_t, n);
    r->next_of_child = TBP_NEW_N(r->scratch, uint32_t, n);
    for (size_t i = n; i-- > 0;) {
        const struct tbp_group_link *l = &r->host->group_links[i];
        bool is_new;
        uint32_t *slot = tbp_idmap_put(&r->links_by_parent, (uint64_t)l->parent, &is_new);
        r->next_of_parent[i] = is_new ? TBP_MAP_NONE : *slot;
        *slot = (uint32_t)i;
        slot = tbp_idmap_put(&r->links_by_child, (uint64_t)l->child, &is_new);
        r->next_of_child[i] = is_new ? TBP_MAP_NONE : *slot;
        *slot = (uint32_t)i;
    }
}

/* ---- what is a request ---- */

static const enum tbp_event_kind single_kinds[] = {
    TBP_EVENT_BATCHING_SESSION_RUN, TBP_EVENT_TFRT_MODEL_RUN, TBP_EVENT_SERVING_MODEL_RUN};

static bool is_request_kind(const struct request_reader *r, enum tbp_event_kind kind) {
    for (size_t i = 0; i < sizeof single_kinds / sizeof *single_kinds; i++)
        if (r->found[single_kinds[i]])
            return kind == single_kinds[i];
    return kind == TBP_EVENT_SESSION_RUN || kind == TBP_EVENT_RUN_GRAPH;
}

/* A root that the user marked as a request. Batching events have their level from grouping,
 * whatever the file says. */
static bool is_user_root(const struct tbp_line *l, size_t i) {
    struct tbp_stat st;
    enum tbp_event_kind kind = tbp_event_kind_at(l, i);
    if (!(l->ev.has[i] & TBP_HAS_ROOT) || kind == TBP_EVENT_BATCHING_SESSION_RUN ||
        kind == TBP_EVENT_PROCESS_BATCH || kind == TBP_EVENT_ORBAX_PROCESS_BATCH ||
        !tbp_event_stat(l, i, TBP_STAT_IS_ROOT, &st))
        return false;
    int64_t level = tbp_stat_i(&st);
    return level == -1 ||
           (level == 1 && tbp_str_starts(tbp_event_name(l, i), "ModelServerRequest_"));
}

/* Text of the stat model_id, whatever its type; false if there is none. */
static bool model_id(struct request_reader *r, const struct tbp_line *l, size_t i,
                     struct tbp_str *out) {
    struct tbp_stat_iter it = tbp_stat_iter_event(l, i);
    for (struct tbp_stat st; tbp_stat_next(&it, &st);) {
        if (!tbp_str_is(st.meta->name, "model_id"))
            continue;
        if (st.type == TBP_STAT_INT64)
            *out = tbp_str_c(tbp_arena_printf(r->scratch, "%lld", (long long)st.i));
        else if (st.type == TBP_STAT_UINT64)
            *out = tbp_str_c(tbp_arena_printf(r->scratch, "%llu", (unsigned long long)st.u));
        else if (st.type == TBP_STAT_DOUBLE)
            *out = tbp_str_c(tbp_arena_printf(r->scratch, "%.17g", st.d));
        else
            *out = st.type == TBP_STAT_NONE ? TBP_STR_NONE : st.s;
        return true;
    }
    return false;
}

static void note_model(struct request_reader *r, const struct picked *p) {
    struct tbp_str model;
    bool is_new;
    if (!model_id(r, p->line, p->i, &model))
        return;
    uint32_t *slot = tbp_idmap_put(&r->model_by_group, (uint64_t)p->group, &is_new);
    if (is_new) {
        *slot = (uint32_t)r->models.n;
        *tbp_vec_push(&r->models) = (struct model_of_group){p->group, model};
    }
    r->models.at[*slot].model = model; /* the last one counts */
}

static void note_batch(struct request_reader *r, const struct picked *p) {
    bool is_new;
    uint32_t *slot = tbp_idmap_put(&r->batch_by_group, (uint64_t)p->group, &is_new);
    if (is_new) {
        *slot = (uint32_t)r->batches.n;
        *tbp_vec_push(&r->batches) = (struct batch){p->group, 0};
    }
    r->batches.at[*slot].end_ps = tbp_event_end(p->line, p->i);
}

static struct tbp_str model_of(const struct request_reader *r, int64_t group) {
    uint32_t k = find(&r->model_by_group, group);
    return k == TBP_MAP_NONE ? TBP_STR_NONE : r->models.at[k].model;
}

static enum tbp_request_model known_if(struct tbp_str model) {
    return model.n ? TBP_MODEL_KNOWN : TBP_MODEL_NONE;
}

/* The one model of the groups below, if it is one. */
static enum tbp_request_model model_below(const struct request_reader *r, int64_t group) {
    uint32_t k = find(&r->links_by_parent, group);
    if (k == TBP_MAP_NONE)
        return TBP_MODEL_UNKNOWN;
    struct tbp_str first = model_of(r, r->host->group_links[k].child);
    for (; k != TBP_MAP_NONE; k = r->next_of_parent[k])
        if (!tbp_str_eq(first, model_of(r, r->host->group_links[k].child)))
            return TBP_MODEL_NONE;
    return known_if(first);
}

static void add_request(struct request_reader *r, int64_t group, bool is_root) {
    bool is_new;
    if (find(&r->batch_by_group, group) != TBP_MAP_NONE)
        return;
    uint32_t *slot = tbp_idmap_put(&r->request_by_group, (uint64_t)group, &is_new);
    if (!is_new)
        return;
    *slot = (uint32_t)r->requests.n;
    bool own = is_root ? find(&r->model_by_group, group) != TBP_MAP_NONE
                       : !r->found[TBP_EVENT_BATCHING_SESSION_RUN];
    *tbp_vec_push(&r->requests) = (struct request){
        .group = group, .model = own ? known_if(model_of(r, group)) : model_below(r, group)};
}

static bool is_of_interest(enum tbp_event_kind kind) {
    switch (kind) {
    case TBP_EVENT_BATCHING_SESSION_RUN:
    case TBP_EVENT_TFRT_MODEL_RUN:
    case TBP_EVENT_SERVING_MODEL_RUN:
    case TBP_EVENT_SESSION_RUN:
    case TBP_EVENT_RUN_GRAPH:
    case TBP_EVENT_PROCESS_BATCH:
    case TBP_EVENT_ORBAX_PROCESS_BATCH:
    case TBP_EVENT_READ_HBM:
    case TBP_EVENT_WRITE_HBM:
    case TBP_EVENT_TRANSFER_D2H_REQUEST:
    case TBP_EVENT_TRANSFER_H2D_REQUEST:
    case TBP_EVENT_TRANSFER_PRE_H2D_REQUEST:
    case TBP_EVENT_TPU_TO_DEVICE_ISSUE:
    case TBP_EVENT_TPU_TO_DEVICE_DONE:
    case TBP_EVENT_TPU_FROM_DEVICE_ISSUE:
    case TBP_EVENT_TPU_FROM_DEVICE_DONE:
        return true;
    default:
        return false;
    }
}

/* Events of interest that belong to a group; which kinds there are counts without a group, too. */
static void pick_events(struct request_reader *r) {
    for (size_t k = 0; k < r->plane->n_lines; k++) {
        const struct tbp_line *l = &r->plane->lines[k];
        for (size_t i = 0; i < l->ev.n; i++) {
            struct picked p = {.line = l, .i = i, .kind = tbp_event_kind_at(l, i)};
            p.is_user_root = is_user_root(l, i);
            if (!p.is_user_root && !is_of_interest(p.kind))
                continue;
            r->found[p.kind] = true;
            if (group_at(l, i, &p.group))
                *tbp_vec_push(&r->picked) = p;
        }
    }
}

static void note_batches_and_models(struct request_reader *r) {
    static const enum tbp_event_kind batch_kinds[] = {TBP_EVENT_PROCESS_BATCH,
                                                      TBP_EVENT_ORBAX_PROCESS_BATCH};
    static const enum tbp_event_kind model_kinds[] = {
        TBP_EVENT_SESSION_RUN, TBP_EVENT_TFRT_MODEL_RUN, TBP_EVENT_SERVING_MODEL_RUN};
    for (size_t k = 0; k < sizeof batch_kinds / sizeof *batch_kinds; k++)
        for (size_t i = 0; i < r->picked.n; i++)
            if (r->picked.at[i].kind == batch_kinds[k])
                note_batch(r, &r->picked.at[i]);
    for (size_t k = 0; k < sizeof model_kinds / sizeof *model_kinds; k++)
        for (size_t i = 0; i < r->picked.n; i++)
            if (r->picked.at[i].kind == model_kinds[k])
                note_model(r, &r->picked.at[i]);
    for (size_t i = 0; i < r->picked.n; i++)
        if (r->picked.at[i].is_user_root)
            note_model(r, &r->picked.at[i]);
}

static void find_requests(struct request_reader *r) {
    for (size_t i = 0; i < r->picked.n; i++)
        if (is_request_kind(r, r->picked.at[i].kind))
            add_request(r, r->picked.at[i].group, false);
    for (size_t i = 0; i < r->picked.n; i++)
        if (r->picked.at[i].is_user_root)
            add_request(r, r->picked.at[i].group, true);
}

/* ---- how long ---- */

static void extend_to_events(struct request_reader *r) {
    for (size_t k = 0; k < r->plane->n_lines; k++) {
        const struct tbp_line *l = &r->plane->lines[k];
        int64_t group, last = 0;
        uint32_t at = find(&r->request_by_group, last);
        for (size_t i = 0; i < l->ev.n; i++) {
            if (!group_at(l, i, &group))
                continue;
            if (group != last)
                at = find(&r->request_by_group, last = group);
            if (at == TBP_MAP_NONE)
                continue;
            struct request *q = &r->requests.at[at];
            uint64_t begin = l->ev.start_ps[i], end = tbp_event_end(l, i);
            q->begin_ps = !q->has_events || begin < q->begin_ps ? begin : q->begin_ps;
            q->end_ps = end > q->end_ps ? end : q->end_ps;
            q->has_events = true;
        }
    }
}

/* Device work or a transfer counts for the request of its group and for those above it. */
static void credit(struct request_reader *r, int64_t group, enum tbp_step_part part,
                   uint64_t begin_ps, uint64_t end_ps) {
    uint32_t k = find(&r->request_by_group, group);
    if (k != TBP_MAP_NONE)
        *tbp_vec_push(&r->spans) = (struct tbp_span){begin_ps, end_ps, k, part};
    for (uint32_t i = find(&r->links_by_child, group); i != TBP_MAP_NONE; i = r->next_of_child[i]) {
        k = find(&r->request_by_group, r->host->group_links[i].parent);
        if (k != TBP_MAP_NONE)
            *tbp_vec_push(&r->spans) = (struct tbp_span){begin_ps, end_ps, k, part};
    }
}

/* Part of a transfer told by one event; UNKNOWN: none. */
static enum tbp_step_part transfer_part(enum tbp_event_kind kind) {
    switch (kind) {
    case TBP_EVENT_READ_HBM:
    case TBP_EVENT_TRANSFER_D2H_REQUEST:
        return TBP_PART_DEVICE_TO_HOST;
    case TBP_EVENT_WRITE_HBM:
    case TBP_EVENT_TRANSFER_H2D_REQUEST:
    case TBP_EVENT_TRANSFER_PRE_H2D_REQUEST:
        return TBP_PART_HOST_TO_DEVICE;
    default:
        return TBP_PART_UNKNOWN;
    }
}

static void credit_transfers(struct request_reader *r) {
    for (size_t i = 0; i < r->picked.n; i++) {
        const struct picked *p = &r->picked.at[i];
        enum tbp_step_part part = transfer_part(p->kind);
        if (part != TBP_PART_UNKNOWN)
            credit(r, p->group, part, p->line->ev.start_ps[p->i], tbp_event_end(p->line, p->i));
    }
}

static bool consumer_id(const struct picked *p, int64_t *id) {
    struct tbp_stat st;
    if (!(p->line->ev.has[p->i] & TBP_HAS_LINK) ||
        !tbp_event_stat(p->line, p->i, TBP_STAT_CONSUMER_ID, &st))
        return false;
    *id = tbp_stat_i(&st);
    return true;
}

/* Transfers told by two events: issue and done, joined by `_c`. The last issue with an id counts.
 */
static void credit_issued(struct request_reader *r, enum tbp_event_kind issue,
                          enum tbp_event_kind done, enum tbp_step_part part) {
    struct tbp_idmap issued = {0}; /* id -> index in picked */
    int64_t id;
    bool is_new;
    for (size_t i = 0; i < r->picked.n; i++)
        if (r->picked.at[i].kind == issue && consumer_id(&r->picked.at[i], &id))
            *tbp_idmap_put(&issued, (uint64_t)id, &is_new) = (uint32_t)i;
    for (size_t i = 0; i < r->picked.n; i++) {
        const struct picked *p = &r->picked.at[i];
        if (p->kind != done || !consumer_id(p, &id))
            continue;
        uint32_t at = tbp_idmap_get(&issued, (uint64_t)id);
        if (at == TBP_MAP_NONE)
            continue;
        const struct picked *q = &r->picked.at[at];
        uint64_t begin = q->line->ev.start_ps[q->i];
        if (begin < p->line->ev.start_ps[p->i])
            credit(r, q->group, part, begin, tbp_event_end(p->line, p->i));
    }
    tbp_idmap_release(&issued);
}

static void credit_modules(struct request_reader *r) {
    for (size_t p = 0; p < r->host->n_planes; p++) {
        const struct tbp_plane *plane = &r->host->planes[p];
        int64_t ordinal, group;
        if (!tbp_is_tensor_core_plane(plane->name, &ordinal))
            continue;
        for (size_t k = 0; k < plane->n_lines; k++) {
            const struct tbp_line *l = &plane->lines[k];
            for (size_t i = 0; i < l->ev.n && tbp_str_is(l->name, "XLA Modules"); i++)
                if (group_at(l, i, &group))
                    credit(r, group, TBP_PART_COMPUTE_32, l->ev.start_ps[i], tbp_event_end(l, i));
        }
    }
}

/* The end of the batch a request went into: of the one with the smallest group id. */
static void extend_to_batch(const struct request_reader *r, struct request *q) {
    const struct batch *first = NULL;
    for (uint32_t i = find(&r->links_by_parent, q->group); i != TBP_MAP_NONE;
         i = r->next_of_parent[i]) {
        uint32_t k = find(&r->batch_by_group, r->host->group_links[i].child);
        if (k != TBP_MAP_NONE && (!first || r->batches.at[k].group < first->group))
            first = &r->batches.at[k];
    }
    if (first && q->end_ps < first->end_ps)
        q->end_ps = first->end_ps;
}

static void finish(struct request_reader *r, struct tbp_arena *out, struct tbp_request_table *t) {
    struct tbp_sweep sweep;
    tbp_sweep_init(&sweep, r->spans.at, r->spans.n, r->requests.n, NULL);
    t->requests = TBP_NEW_N(out, struct tbp_served_request, r->requests.n);
    for (size_t k = 0; k < r->requests.n; k++) {
        struct request *q = &r->requests.at[k];
        struct tbp_sweep_sums sums;
        extend_to_batch(r, q);
        if (!q->has_events || q->begin_ps == q->end_ps)
            continue;
        tbp_sweep_group(&sweep, k, 0, 0, &sums);
        struct tbp_served_request *s = &t->requests[t->n_requests++];
        s->model = q->model;
        s->total_us = (double)(q->end_ps - q->begin_ps) / PS_PER_US;
        s->device_us =
            (double)(sums.whole_ps[TBP_PART_COMPUTE_32] + sums.whole_ps[TBP_PART_COMPUTE_16]) /
            PS_PER_US;
        s->communication_us = (double)(sums.whole_ps[TBP_PART_HOST_TO_DEVICE] +
                                       sums.whole_ps[TBP_PART_DEVICE_TO_HOST]) /
                              PS_PER_US;
        s->host_us = s->total_us - s->device_us - s->communication_us;
    }
    tbp_sweep_release(&sweep);
}

/* Whether any metadata entry or stat of the plane can make a request. */
static bool may_have_requests(const struct tbp_plane *p) {
    if (tbp_plane_has_stat(p, TBP_STAT_IS_ROOT))
        return true;
    for (size_t i = 0; i < p->n_metas; i++) {
        enum tbp_event_kind k = p->metas[i].kind;
        if (k == TBP_EVENT_SESSION_RUN || k == TBP_EVENT_RUN_GRAPH ||
            k == TBP_EVENT_BATCHING_SESSION_RUN || k == TBP_EVENT_TFRT_MODEL_RUN ||
            k == TBP_EVENT_SERVING_MODEL_RUN)
            return true;
    }
    return false;
}

static void read_requests(struct request_reader *r, struct tbp_arena *out,
                          struct tbp_request_table *t) {
    pick_events(r);
    if (!r->picked.n)
        return;
    note_batches_and_models(r);
    index_links(r);
    find_requests(r);
    if (!r->requests.n)
        return;
    extend_to_events(r);
    credit_transfers(r);
    credit_issued(r, TBP_EVENT_TPU_TO_DEVICE_ISSUE, TBP_EVENT_TPU_TO_DEVICE_DONE,
                  TBP_PART_HOST_TO_DEVICE);
    credit_issued(r, TBP_EVENT_TPU_FROM_DEVICE_ISSUE, TBP_EVENT_TPU_FROM_DEVICE_DONE,
                  TBP_PART_DEVICE_TO_HOST);
    credit_modules(r);
    finish(r, out, t);
}

static void release(struct request_reader *r) {
    tbp_vec_release(&r->picked);
    tbp_vec_release(&r->batches);
    tbp_vec_release(&r->models);
    tbp_vec_release(&r->requests);
    tbp_vec_release(&r->spans);
    tbp_idmap_release(&r->batch_by_group);
    tbp_idmap_release(&r->model_by_group);
    tbp_idmap_release(&r->request_by_group);
    tbp_idmap_release(&r->links_by_parent);
    tbp_idmap_release(&r->links_by_child);
}

static int requests_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                            void **table, struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_arena scratch;
    struct tbp_request_table *t = TBP_NEW(out, struct tbp_request_table);
    struct request_reader r = {
        .host = h, .plane = tbp_host_plane(h, TBP_HOST_PLANE), .scratch = &scratch};
    tbp_arena_init(&scratch);
    if (r.plane && may_have_requests(r.plane))
        read_requests(&r, out, t);
    release(&r);
    tbp_arena_release(&scratch);
    *table = t;
    return TBP_OK;
}

static int requests_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                           struct tbp_error *err) {
    struct tbp_request_table *t = TBP_NEW(out, struct tbp_request_table);
    uint32_t n = tbp_session_n_hosts(s);
    size_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_request_table *one = tbp_requests(s, i, err);
        if (!one)
            return err ? err->code : TBP_E_INTERNAL;
        total += one->n_requests;
    }
    t->requests = TBP_NEW_N(out, struct tbp_served_request, total);
    for (uint32_t i = 0; i < n; i++) {
        const struct tbp_request_table *one = tbp_requests(s, i, err);
        for (size_t k = 0; one && k < one->n_requests; k++)
            t->requests[t->n_requests++] = one->requests[k];
    }
    *table = t;
    return TBP_OK;
}

const struct tbp_analysis tbp_analysis_requests = {
    .name = "requests",
    .help = "latency of the requests that a server answered",
    .host = requests_of_host,
    .all = requests_of_all,
};

const struct tbp_request_table *tbp_requests(struct tbp_session *s, uint32_t host,
                                             struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_requests, host, err);
}

/* ---- rows ---- */

static int compare_latency(const void *a, const void *b, void *ctx) {
    const struct tbp_served_request *x = a, *y = b;
    (void)ctx;
    return (x->total_us > y->total_us) - (x->total_us < y->total_us);
}

static struct tbp_served_request average_of(const struct tbp_served_request *r, size_t n) {
    struct tbp_served_request sum = {TBP_MODEL_NONE, 0, 0, 0, 0};
    for (size_t i = 0; i < n; i++) {
        sum.total_us += r[i].total_us;
        sum.host_us += r[i].host_us;
        sum.device_us += r[i].device_us;
        sum.communication_us += r[i].communication_us;
    }
    sum.total_us /= (double)n;
    sum.host_us /= (double)n;
    sum.device_us /= (double)n;
    sum.communication_us /= (double)n;
    return sum;
}

size_t tbp_latency_rows(const struct tbp_request_table *t, struct tbp_arena *a,
                        struct tbp_latency rows[TBP_LATENCY_ROWS]) {
    static const double percentiles[] = {50.0, 75.0, 90.0, 99.0, 99.9};
    static const char *const labels[] = {"50.0%", "75.0%", "90.0%", "99.0%", "99.9%"};
    bool any_known = false;
    size_t n = 0;
    struct tbp_served_request *r = TBP_NEW_N(a, struct tbp_served_request, t->n_requests);
    for (size_t i = 0; i < t->n_requests; i++)
        any_known |= t->requests[i].model == TBP_MODEL_KNOWN;
    for (size_t i = 0; i < t->n_requests;
         i++) /* where models are told, requests of none are left out */
        if (!any_known || t->requests[i].model != TBP_MODEL_NONE)
            r[n++] = t->requests[i];
    if (!n)
        return 0;
    tbp_sort(r, n, sizeof *r, compare_latency, NULL);
    rows[0] = (struct tbp_latency){"Avg", average_of(r, n)};
    for (size_t k = 0; k < TBP_LATENCY_ROWS - 1; k++)
        rows[k + 1] =
            (struct tbp_latency){labels[k], r[(size_t)(percentiles[k] / 100.0 * (double)n)]};
    return TBP_LATENCY_ROWS;
}
