/* SPDX-License-Identifier: Apache-2.0
 *
 * From markers and spans to the steps of one host: the step's time from its markers, the pieces of
 * the sweep clipped to it, the rest unknown. Steps that show no work are dropped.
 */
#include "convert/analyze/step_table.h"

#include "base/sort.h"
#include "convert/analyze/run_environment.h"
#include "convert/analyze/step_events.h"
#include "convert/analyze/step_merge.h"
#include "convert/analyze/tpu_steps.h"

static bool has_gpu(const struct tbp_host *h) {
    for (size_t i = 0; i < h->n_planes; i++)
        if (tbp_is_gpu_plane(h->planes[i].name))
            return true;
    return false;
}

static struct tbp_str label_of(const struct tbp_host *h) {
    return h->n_hostnames ? h->hostnames[0] : TBP_STR("localhost");
}

/* The host's marker where it includes the device's or stands alone, else the device's. */
static struct tbp_marker step_time(const struct tbp_step_group *g) {
    if (g->device.begin_ps == 0 && g->device.end_ps == 0)
        return g->host;
    if (g->host.begin_ps <= g->device.begin_ps && g->device.end_ps <= g->host.end_ps)
        return g->host;
    return g->device;
}

/* False if the step shows no work or no time. */
static bool close_step(const struct tbp_step_group *g, struct tbp_marker time,
                       const struct tbp_sweep_sums *sums, bool has_device,
                       struct tbp_step_core *out) {
    const uint32_t device = 1u << TBP_PART_COMPUTE_16 | 1u << TBP_PART_COMPUTE_32;
    const uint32_t wanted = has_device ? device : 1u << TBP_PART_HOST_COMPUTE;
    uint64_t dur = time.end_ps - time.begin_ps, total = 0;
    if (dur == 0 || !(sums->seen & wanted))
        return false;
    *out = (struct tbp_step_core){
        .core = TBP_STEP_CORE, .name = g->name, .begin_ps = time.begin_ps, .dur_ps = dur};
    for (int p = 0; p < TBP_STEP_PARTS; p++) {
        out->part_ps[p] = sums->clipped_ps[p];
        total += sums->clipped_ps[p];
    }
    if (total < dur)
        out->part_ps[TBP_PART_UNKNOWN] += dur - total;
    return true;
}

/* Groups by id; ids are unique. */
static uint32_t *order_groups(const struct tbp_step_events *e) {
    size_t cap = 0, n = e->groups.n;
    uint32_t *order = tbp_vec_grow_bytes(NULL, &cap, n + 1, sizeof *order);
    cap = 0;
    uint64_t *ids = tbp_vec_grow_bytes(NULL, &cap, n + 1, sizeof *ids);
    for (size_t i = 0; i < n; i++) {
        order[i] = (uint32_t)i;
        ids[i] = (uint64_t)e->groups.at[i].id;
    }
    tbp_sort_index_u64(order, n, ids, NULL);
    tbp_vec_free_bytes(ids);
    return order;
}

struct closed_step {
    struct tbp_step_core core;
    uint32_t number;
};
struct closed_steps {
    TBP_VEC(struct closed_step) steps;
};

static void close_steps(struct tbp_step_events *e, bool has_device, struct tbp_pool *pool,
                        struct tbp_step_table *t, struct closed_steps *closed) {
    struct tbp_sweep sweep;
    uint32_t *order = order_groups(e);
    tbp_sweep_init(&sweep, e->spans.at, e->spans.n, e->groups.n, pool);
    tbp_vec_release(&e->spans);
    for (size_t i = 0; i < e->groups.n; i++) {
        const struct tbp_step_group *g = &e->groups.at[order[i]];
        struct tbp_marker time = step_time(g);
        struct tbp_sweep_sums sums;
        struct closed_step step = {.number = (uint32_t)g->id};
        tbp_sweep_group(&sweep, order[i], time.begin_ps, time.end_ps, &sums);
        t->compute_16_ps += sums.whole_ps[TBP_PART_COMPUTE_16];
        t->compute_32_ps += sums.whole_ps[TBP_PART_COMPUTE_32];
        if (close_step(g, time, &sums, has_device, &step.core))
            *tbp_vec_push(&closed->steps) = step;
    }
    tbp_sweep_release(&sweep);
    tbp_vec_free_bytes(order);
}

void tbp_step_table_make(const struct tbp_host *h, enum tbp_semantics semantics,
                         struct tbp_pool *pool, struct tbp_arena *out, struct tbp_step_table *t) {
    *t = (struct tbp_step_table){0};
    if (tbp_host_has_tpu(h)) {
        tbp_tpu_steps_make(h, out, t);
        return;
    }
    struct tbp_step_events e;
    struct closed_steps closed = {0};
    tbp_step_events_collect(&e, h, semantics);
    close_steps(&e, has_gpu(h), pool, t, &closed);
    tbp_step_events_release(&e);
    t->n_steps = closed.steps.n;
    t->steps = TBP_NEW_N(out, struct tbp_step, t->n_steps);
    struct tbp_step_core *cores = TBP_NEW_N(out, struct tbp_step_core, t->n_steps);
    for (size_t i = 0; i < t->n_steps; i++) {
        cores[i] = closed.steps.at[i].core;
        t->steps[i] = (struct tbp_step){
            .number = closed.steps.at[i].number, .cores = &cores[i], .n_cores = 1};
    }
    tbp_vec_release(&closed.steps);
    t->places = TBP_NEW(out, struct tbp_core_place);
    t->places[0] = (struct tbp_core_place){.core = TBP_STEP_CORE, .host_name = label_of(h)};
    t->n_places = 1;
}

bool tbp_host_has_steps(const struct tbp_host *h, enum tbp_semantics semantics) {
    struct tbp_arena scratch;
    struct tbp_step_table t;
    tbp_arena_init(&scratch);
    tbp_step_table_make(h, semantics, NULL, &scratch, &t);
    bool any = t.n_steps > 0;
    tbp_arena_release(&scratch);
    return any;
}

const struct tbp_step_core *tbp_step_core_find(const struct tbp_step *step, uint32_t core) {
    for (size_t i = 0; i < step->n_cores; i++)
        if (step->cores[i].core == core)
            return &step->cores[i];
    return NULL;
}

const struct tbp_core_place *tbp_core_place_find(const struct tbp_step_table *t, uint32_t core) {
    for (size_t i = 0; i < t->n_places; i++)
        if (t->places[i].core == core)
            return &t->places[i];
    return NULL;
}

/* ---- analyses ---- */

static int steps_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out, void **table,
                         struct tbp_error *err) {
    const struct tbp_host *h = tbp_session_host(s, host, err);
    if (!h)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_step_table *t = TBP_NEW(out, struct tbp_step_table);
    tbp_step_table_make(h, tbp_session_semantics(s), tbp_session_pool(s), out, t);
    *table = t;
    return TBP_OK;
}

static int trimmed_steps_of_host(struct tbp_session *s, uint32_t host, struct tbp_arena *out,
                                 void **table, struct tbp_error *err) {
    const struct tbp_step_table *all = tbp_steps(s, host, err);
    const struct tbp_run_environment *env = all ? tbp_run_environment(s, host, err) : NULL;
    if (!env)
        return err ? err->code : TBP_E_INTERNAL;
    struct tbp_step_table *t = TBP_NEW(out, struct tbp_step_table);
    *t = *all;
    if (env->hardware != TBP_HARDWARE_TPU && t->n_steps > TBP_TRIM_ABOVE) {
        t->steps++;
        t->n_steps -= 2;
    }
    *table = t;
    return TBP_OK;
}

static int steps_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                        struct tbp_error *err) {
    return tbp_steps_merge(s, tbp_steps, out, table, err);
}

static int trimmed_steps_of_all(struct tbp_session *s, struct tbp_arena *out, void **table,
                                struct tbp_error *err) {
    return tbp_steps_merge(s, tbp_trimmed_steps, out, table, err);
}

const struct tbp_analysis tbp_analysis_steps = {
    .name = "steps",
    .help = "steps with the parts of their time, per host and of all hosts",
    .host = steps_of_host,
    .all = steps_of_all,
};

const struct tbp_analysis tbp_analysis_trimmed_steps = {
    .name = "trimmed_steps",
    .help = "steps without the incomplete ones at both ends",
    .host = trimmed_steps_of_host,
    .all = trimmed_steps_of_all,
};

const struct tbp_step_table *tbp_steps(struct tbp_session *s, uint32_t host,
                                       struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_steps, host, err);
}

const struct tbp_step_table *tbp_trimmed_steps(struct tbp_session *s, uint32_t host,
                                               struct tbp_error *err) {
    return tbp_session_table(s, &tbp_analysis_trimmed_steps, host, err);
}
