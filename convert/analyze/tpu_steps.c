/* SPDX-License-Identifier: Apache-2.0
 *
 * TPU steps: each core tells its steps by a line of markers and what it did in them by a line of
 * ops; a step counts if all cores (that tell any) took part. Times go by category of op, the rest
 * of a step is idle. Sparse cores have no steps of their own.
 */
#include "convert/analyze/tpu_steps.h"

#include "base/sort.h"
#include "convert/analyze/step_events.h"
#include "convert/analyze/tpu_duty.h"
#include "convert/analyze/tpu_input.h"
#include "convert/analyze/tpu_step_sums.h"

#define INFEED "infeed"

bool tbp_host_has_tpu(const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (tbp_is_tpu_plane(h->planes[i].name))
            return true;
    return false;
}

/* ---- sparse cores ---- */

/* A sparse core has no steps of its own: what it did within a step of the tensor cores counts. */
struct sparse_core {
    uint32_t core;
    const struct tbp_tpu_span *busy;
    size_t n_busy;
};

/* Of all busy time what lies in the span; the spans are in order. */
static uint64_t busy_within(const struct sparse_core *core, struct tbp_tpu_span s) {
    size_t low = 0, high = core->n_busy;
    while (low < high) { /* the first that ends after the begin */
        size_t mid = (low + high) / 2;
        if (core->busy[mid].end_ps <= s.begin_ps)
            low = mid + 1;
        else
            high = mid;
    }
    uint64_t ps = 0;
    for (; low < core->n_busy && core->busy[low].begin_ps < s.end_ps; low++) {
        const struct tbp_tpu_span *b = &core->busy[low];
        uint64_t begin_ps = b->begin_ps > s.begin_ps ? b->begin_ps : s.begin_ps;
        ps += (b->end_ps < s.end_ps ? b->end_ps : s.end_ps) - begin_ps;
    }
    return ps;
}

static struct tbp_step_core close_sparse_core(const struct sparse_core *core,
                                              struct tbp_tpu_span step, struct tbp_arena *out) {
    struct tbp_step_category *c = TBP_NEW_N(out, struct tbp_step_category, 2);
    uint64_t dur_ps = step.end_ps - step.begin_ps, busy_ps = busy_within(core, step);
    c[0] = (struct tbp_step_category){TBP_STR("sparse core busy"), busy_ps};
    c[1] = (struct tbp_step_category){TBP_STR("IDLE"), dur_ps - busy_ps};
    return (struct tbp_step_core){.core = core->core,
                                  .name = TBP_STR_NONE,
                                  .begin_ps = step.begin_ps,
                                  .dur_ps = dur_ps,
                                  .categories = c,
                                  .n_categories = 2};
}

/* ---- steps that all cores have ---- */

struct common {
    struct tbp_tpu_core_steps *cores; /* that have them */
    size_t n_cores;
    int64_t *ids; /* ascending */
    size_t n;
    struct sparse_core *sparse;
    size_t n_sparse;
};

/* Without common steps the next core's are taken, as the official reading does. */
static void intersect(struct common *c, const struct tbp_tpu_core_steps *core) {
    size_t n = 0;
    if (core->n == 0)
        return;
    if (c->n == 0) {
        c->n_cores = 0;
        for (; n < core->n; n++)
            c->ids[n] = core->steps[n].id;
    } else {
        for (size_t i = 0, k = 0; i < c->n && k < core->n;) {
            int64_t id = c->ids[i], other = core->steps[k].id;
            if (id == other)
                c->ids[n++] = id;
            i += id <= other;
            k += other <= id;
        }
    }
    c->n = n;
    c->cores[c->n_cores++] = *core;
}

static void widen_marker(struct tbp_tpu_span *longest, struct tbp_tpu_span s) {
    if (s.end_ps - s.begin_ps > longest->end_ps - longest->begin_ps)
        *longest = s;
}

static void add_category(struct tbp_step_core *core, struct tbp_step_category *categories,
                         struct tbp_str name, uint64_t self_ps) {
    size_t i = 0;
    while (i < core->n_categories && !tbp_str_eq(categories[i].name, name))
        i++;
    if (i == core->n_categories)
        categories[core->n_categories++] = (struct tbp_step_category){.name = name};
    categories[i].self_ps += self_ps;
}

static struct tbp_step_core close_core(const struct tbp_tpu_core_steps *core,
                                       const struct tbp_tpu_core_step *step,
                                       struct tbp_tpu_span s) {
    struct tbp_step_core out = {
        .core = core->core,
        .name = TBP_STR_NONE,
        .begin_ps = s.begin_ps,
        .dur_ps = s.end_ps - s.begin_ps,
        .categories = step->categories,
        .n_categories = step->n_categories,
        .collectives = step->collectives,
        .n_collectives = step->n_collectives,
    };
    uint64_t idle_ps = out.dur_ps > step->op_ps ? out.dur_ps - step->op_ps : 0;
    add_category(&out, step->categories, TBP_STR("IDLE"), idle_ps);
    return out;
}

static int by_core(const void *a, const void *b, void *ctx) {
    const struct tbp_step_core *x = a, *y = b;
    (void)ctx;
    return x->core < y->core ? -1 : x->core > y->core;
}

/* Ascending cores; of two with one id the last counts. */
static size_t order_cores(struct tbp_step_core *cores, size_t n) {
    size_t kept = 0;
    tbp_sort(cores, n, sizeof *cores, by_core, NULL);
    for (size_t i = 0; i < n; i++)
        if (i + 1 == n || cores[i].core != cores[i + 1].core)
            cores[kept++] = cores[i];
    return kept;
}

static void close_step(const struct common *c, int64_t id, size_t *cursors, struct tbp_arena *out,
                       struct tbp_step *step) {
    struct tbp_tpu_span longest = {0, 0};
    step->number = (uint32_t)id;
    for (size_t k = 0; k < c->n_cores; k++) {
        while (c->cores[k].steps[cursors[k]].id != id)
            cursors[k]++;
        widen_marker(&longest, c->cores[k].steps[cursors[k]].marker);
    }
    if (longest.end_ps <= longest.begin_ps) /* stays, without cores */
        return;
    step->cores = TBP_NEW_N(out, struct tbp_step_core, c->n_cores + c->n_sparse);
    for (size_t k = 0; k < c->n_cores; k++)
        step->cores[k] = close_core(&c->cores[k], &c->cores[k].steps[cursors[k]], longest);
    for (size_t k = 0; k < c->n_sparse; k++)
        step->cores[c->n_cores + k] = close_sparse_core(&c->sparse[k], longest, out);
    step->n_cores = order_cores(step->cores, c->n_cores + c->n_sparse);
}

/* ---- places ---- */

/* Of two cores with one id the last counts. */
static struct tbp_core_place *place_for(struct tbp_step_table *t, uint32_t core) {
    for (size_t i = 0; i < t->n_places; i++)
        if (t->places[i].core == core)
            return &t->places[i];
    return &t->places[t->n_places++];
}

static void find_places(const struct tbp_host *h, struct tbp_arena *out, struct tbp_step_table *t) {
    struct tbp_str label = h->n_hostnames > 0 ? h->hostnames[0] : TBP_STR("localhost");
    t->places = TBP_NEW_N(out, struct tbp_core_place, h->n_planes);
    for (size_t i = 0; i < h->n_planes; i++) {
        struct tbp_tpu_core core;
        int64_t ordinal;
        const struct tbp_plane *p = &h->planes[i];
        if (!tbp_is_tpu_plane(p->name) || !tbp_tpu_core_of_plane(p, &core))
            continue;
        *place_for(t, (uint32_t)p->id) = (struct tbp_core_place){
            .core = (uint32_t)p->id,
            .host_name = label,
            .ordinal = core.ordinal,
            .is_sparse = tbp_is_sparse_core_plane(p->name, &ordinal),
        };
    }
}

/* ---- input time without infeed ops ---- */

/* Per step of the host (by its number) the time that its input took. */
struct input_times {
    struct tbp_idmap by_number;
    TBP_VEC(uint64_t) ps;
};

static void collect_input_times(struct input_times *in, const struct tbp_plane *host_plane) {
    struct tbp_step_events e = {0};
    tbp_step_events_add_host_plane(&e, host_plane, false);
    for (size_t i = 0; i < e.groups.n; i++) {
        bool is_new;
        *tbp_vec_push(&in->ps) = 0;
        *tbp_idmap_put(&in->by_number, (uint64_t)e.groups.at[i].id, &is_new) = (uint32_t)i;
    }
    for (size_t i = 0; i < e.spans.n; i++) {
        const struct tbp_span *s = &e.spans.at[i];
        if (s->part == TBP_PART_HOST_WAIT_INPUT || s->part == TBP_PART_HOST_TO_DEVICE)
            in->ps.at[s->group] += s->end_ps - s->start_ps;
    }
    tbp_step_events_release(&e);
}

/* That share of a core's idle time becomes infeed. */
static void credit_core(struct tbp_step_core *core, double ratio, struct tbp_arena *out) {
    struct tbp_step_category *c = TBP_NEW_N(out, struct tbp_step_category, core->n_categories + 1);
    size_t idle = core->n_categories;
    for (size_t i = 0; i < core->n_categories; i++) {
        c[i] = core->categories[i];
        if (tbp_str_is(c[i].name, "IDLE"))
            idle = i;
    }
    if (idle == core->n_categories || c[idle].self_ps == 0)
        return;
    uint64_t infeed_ps = (uint64_t)((double)c[idle].self_ps * ratio);
    core->categories = c;
    add_category(core, c, TBP_STR(INFEED), infeed_ps);
    c[idle].self_ps -= infeed_ps;
}

static void credit_step(const struct tbp_step_table *t, struct tbp_step *step, uint64_t input_ps,
                        struct tbp_arena *out) {
    struct tbp_tpu_step numbers = tbp_tpu_step_of(t, step, out);
    double ms = (double)input_ps / 1e9, idle_ms = numbers.ms[TBP_TPU_IDLE];
    double ratio = idle_ms > -1e-10 && idle_ms < 1e-10 ? 0.0 : ms / idle_ms;
    for (size_t k = 0; k < step->n_cores; k++)
        if (step->cores[k].core < TBP_SPARSE_CORES_FROM)
            credit_core(&step->cores[k], ratio < 1.0 ? ratio : 1.0, out);
}

/* A program without infeed ops gets its input from the host: the host's input time of the step with
 * the same number explains that share of the idle time. */
static void credit_input(const struct tbp_host *h, struct tbp_arena *out,
                         struct tbp_step_table *t) {
    const struct tbp_plane *host_plane = tbp_host_plane(h, TBP_HOST_PLANE);
    struct input_times in = {0};
    if (host_plane == NULL || t->n_steps == 0)
        return;
    collect_input_times(&in, host_plane);
    for (size_t i = 0; i < t->n_steps; i++) {
        uint32_t at = tbp_idmap_get(&in.by_number, t->steps[i].number);
        if (at != TBP_MAP_NONE && in.ps.at[at] != 0)
            credit_step(t, &t->steps[i], in.ps.at[at], out);
    }
    tbp_idmap_release(&in.by_number);
    tbp_vec_release(&in.ps);
}

static bool is_infeed(const struct tbp_tpu_op *op) {
    return op->is_op &&
           (tbp_str_is(op->category, INFEED) || tbp_str_is(op->category, "sparsecorev0 infeed"));
}

/* An infeed op was executed on some tensor core. */
static bool has_infeed(const struct tbp_plane *p, const struct tbp_tpu_op *ops) {
    bool any = false;
    for (size_t i = 0; i < p->n_metas && !any; i++)
        any = is_infeed(&ops[i]);
    for (size_t i = 0; any && i < p->n_lines; i++) {
        const struct tbp_line *l = &p->lines[i];
        if (!tbp_tpu_is_op_line(l->name) || l->metas != p->metas)
            continue;
        for (size_t k = 0; k < l->ev.n; k++)
            if (is_infeed(&ops[l->ev.meta[k]]))
                return true;
    }
    return false;
}

static void add_sparse_core(struct common *c, const struct tbp_plane *p,
                            const struct tbp_tpu_op *ops, struct tbp_arena *out) {
    struct sparse_core core = {.core = (uint32_t)p->id + TBP_SPARSE_CORES_FROM};
    core.busy = tbp_tpu_busy_spans(p, ops, out, &core.n_busy);
    if (core.n_busy > 0)
        c->sparse[c->n_sparse++] = core;
}

static void add_tensor_core(struct common *c, const struct tbp_plane *p,
                            const struct tbp_tpu_op *ops, struct tbp_arena *out) {
    struct tbp_tpu_core_steps core;
    tbp_tpu_core_steps_make(p, ops, out, &core);
    if (c->n == 0 && core.n > 0)
        c->ids = TBP_NEW_N(out, int64_t, core.n);
    intersect(c, &core);
}

void tbp_tpu_steps_make(const struct tbp_host *h, struct tbp_arena *out, struct tbp_step_table *t) {
    struct common c = {.cores = TBP_NEW_N(out, struct tbp_tpu_core_steps, h->n_planes),
                       .sparse = TBP_NEW_N(out, struct sparse_core, h->n_planes)};
    bool gets_infeed = false;
    *t = (struct tbp_step_table){0};
    for (size_t i = 0; i < h->n_planes; i++) {
        const struct tbp_plane *p = &h->planes[i];
        int64_t ordinal;
        if (!tbp_is_tpu_plane(p->name))
            continue;
        const struct tbp_tpu_op *ops = tbp_tpu_ops_of_plane(p, out);
        if (tbp_is_sparse_core_plane(p->name, &ordinal)) {
            add_sparse_core(&c, p, ops, out);
            continue;
        }
        gets_infeed = gets_infeed || has_infeed(p, ops);
        add_tensor_core(&c, p, ops, out);
    }
    size_t *cursors = TBP_NEW_N(out, size_t, c.n_cores);
    t->n_steps = c.n;
    t->steps = TBP_NEW_N(out, struct tbp_step, c.n);
    for (size_t i = 0; i < c.n; i++)
        close_step(&c, c.ids[i], cursors, out, &t->steps[i]);
    find_places(h, out, t);
    if (!gets_infeed)
        credit_input(h, out, t);
}
