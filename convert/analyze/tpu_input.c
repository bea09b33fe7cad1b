/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers per TPU step; see tpu_input.h. The order of additions is the official one.
 */
#include "convert/analyze/tpu_input.h"

#include "base/map.h"

#include <float.h>

#define PS_PER_MS 1e9

/* What a core's time went to, ps. */
struct core_times {
    uint64_t dur, busy, infeed, outfeed, host, scv0_infeed, on_duty;
};

enum kind { ON_DUTY, OFF_DUTY, INFEED, OUTFEED, HOST, IDLE, SCV0_INFEED, SCV0_OUTFEED };

static enum kind kind_of(struct tbp_str category) {
    static const struct {
        const char *name;
        enum kind kind;
    } kinds[] = {
        {"IDLE", IDLE},
        {"infeed", INFEED},
        {"outfeed", OUTFEED},
        {"host send", HOST},
        {"host send-done", HOST},
        {"host recv", HOST},
        {"host recv-done", HOST},
        {"async-done", OFF_DUTY},
        {"megacore fusion", OFF_DUTY},
        {"sparsecorev0 infeed", SCV0_INFEED},
        {"sparsecorev0 outfeed", SCV0_OUTFEED},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (tbp_str_is(category, kinds[i].name))
            return kinds[i].kind;
    return ON_DUTY;
}

static struct core_times times_of(const struct tbp_step_core *c) {
    uint64_t ps[SCV0_OUTFEED + 1] = {0};
    struct core_times t = {.dur = c->dur_ps};
    for (size_t i = 0; i < c->n_categories; i++)
        ps[kind_of(c->categories[i].name)] += c->categories[i].self_ps;
    for (int k = 0; k <= SCV0_OUTFEED; k++)
        t.busy += k != IDLE ? ps[k] : 0;
    t.infeed = ps[INFEED];
    t.outfeed = ps[OUTFEED];
    t.host = ps[HOST];
    uint64_t out = ps[SCV0_OUTFEED], in = ps[SCV0_INFEED];
    t.scv0_infeed = in > out ? in - out : 0;
    t.on_duty = ps[ON_DUTY] + ps[SCV0_OUTFEED] + in - t.scv0_infeed;
    return t;
}

/* Unsigned: ops longer than the step make idle wrap, then the wait exceeds the step. */
static uint64_t compute_ps(const struct core_times *t) {
    uint64_t idle = t->dur - t->busy;
    uint64_t wait = t->infeed + t->outfeed + t->host + idle + t->scv0_infeed;
    return wait <= t->dur ? t->dur - wait : 0;
}

/* ---- all-reduce ---- */

/* The shortest time that any core needed for a collective: what is longer is waiting. */
struct shortest {
    struct tbp_idmap by_id;
    uint64_t *ps;
};

static struct shortest find_shortest(const struct tbp_step *step, struct tbp_arena *a) {
    struct shortest s = {0};
    size_t n = 0;
    for (size_t k = 0; k < step->n_cores; k++)
        n += step->cores[k].n_collectives;
    s.ps = TBP_NEW_N(a, uint64_t, n);
    for (size_t k = 0; k < step->n_cores; k++) {
        const struct tbp_step_core *c = &step->cores[k];
        for (size_t i = 0; i < c->n_collectives; i++) {
            uint64_t ps = c->collectives[i].end_ps - c->collectives[i].begin_ps;
            bool is_new;
            uint32_t *at = tbp_idmap_put(&s.by_id, c->collectives[i].id, &is_new);
            if (is_new)
                *at = (uint32_t)(s.by_id.n - 1);
            if (is_new || ps < s.ps[*at])
                s.ps[*at] = ps;
        }
    }
    return s;
}

/* Longest all-reduce time of a core: compute plus waiting, each rounded to ms as shown. */
static double reduce_ms(const struct tbp_step *step, struct tbp_arena *a) {
    struct shortest s = find_shortest(step, a);
    uint64_t compute_ps_max = 0, sync_ps_max = 0;
    for (size_t k = 0; k < step->n_cores; k++) {
        const struct tbp_step_core *c = &step->cores[k];
        uint64_t compute = 0, all = 0;
        if (c->core >= TBP_SPARSE_CORES_FROM)
            continue;
        for (size_t i = 0; i < c->n_collectives; i++) {
            compute += s.ps[tbp_idmap_get(&s.by_id, c->collectives[i].id)];
            all += c->collectives[i].end_ps - c->collectives[i].begin_ps;
        }
        if (all > compute_ps_max + sync_ps_max) {
            compute_ps_max = compute;
            sync_ps_max = all - compute;
        }
    }
    tbp_idmap_release(&s.by_id);
    return (double)compute_ps_max / PS_PER_MS + (double)sync_ps_max / PS_PER_MS;
}

/* ---- over the cores ---- */

struct totals {
    size_t n;
    uint64_t outfeed, active, transfer, infeed, scv0_infeed, shortest_dur, least_compute;
    uint32_t infeed_core;
    bool has_infeed;
    double percent_sum, percent_min, percent_max;
};

static void add_core(struct totals *o, const struct tbp_step_core *c) {
    struct core_times t = times_of(c);
    uint64_t compute = compute_ps(&t);
    double percent = 100.0 * (double)t.infeed / (double)t.dur;
    bool is_first = o->n++ == 0;
    o->outfeed += t.outfeed;
    o->active += t.on_duty;
    o->transfer = t.host > o->transfer ? t.host : o->transfer;
    o->scv0_infeed = t.scv0_infeed > o->scv0_infeed ? t.scv0_infeed : o->scv0_infeed;
    o->shortest_dur = is_first || t.dur < o->shortest_dur ? t.dur : o->shortest_dur;
    o->least_compute = is_first || compute < o->least_compute ? compute : o->least_compute;
    if (t.infeed > o->infeed) {
        o->infeed = t.infeed;
        o->infeed_core = c->core;
        o->has_infeed = true;
    }
    o->percent_sum += percent;
    o->percent_min = is_first || percent < o->percent_min ? percent : o->percent_min;
    o->percent_max = percent > o->percent_max ? percent : o->percent_max;
}

/* Sparse cores tell no more than busy and idle. */
static void add_sparse_cores(const struct tbp_step *step, struct tbp_tpu_step *out) {
    uint64_t least = 0, busy = 0, dur = 0;
    size_t n = 0;
    for (size_t k = 0; k < step->n_cores; k++) {
        if (step->cores[k].core < TBP_SPARSE_CORES_FROM)
            continue;
        struct core_times t = times_of(&step->cores[k]);
        least = n++ == 0 || t.busy < least ? t.busy : least;
        busy += t.busy;
        dur += t.dur;
    }
    out->has_sparse_cores = n > 0;
    if (n == 0)
        return;
    out->ms[TBP_TPU_SPARSE_COMPUTE] = (double)least / PS_PER_MS;
    out->ms[TBP_TPU_SPARSE_ACTIVE] = (double)busy / (double)n / PS_PER_MS;
    out->ms[TBP_TPU_SPARSE_IDLE] = (double)(dur - busy) / (double)n / PS_PER_MS;
    out->ms[TBP_TPU_SPARSE_STEP] = (double)dur / (double)n / PS_PER_MS;
}

struct tbp_tpu_step tbp_tpu_step_of(const struct tbp_step_table *t, const struct tbp_step *step,
                                    struct tbp_arena *a) {
    struct tbp_tpu_step out = {.number = step->n_cores > 0 ? (int64_t)step->number : -1};
    struct totals o = {.percent_max = DBL_MIN};
    for (size_t k = 0; k < step->n_cores; k++)
        if (step->cores[k].core < TBP_SPARSE_CORES_FROM)
            add_core(&o, &step->cores[k]);
    double *ms = out.ms;
    out.reduce_ms = reduce_ms(step, a);
    add_sparse_cores(step, &out);
    if (o.n > 0) {
        ms[TBP_TPU_OUTFEED] = (double)(o.outfeed / o.n) / PS_PER_MS;
        ms[TBP_TPU_ACTIVE] = (double)o.active / (double)o.n / PS_PER_MS;
        out.infeed_percent_average = o.percent_sum / (double)o.n;
        out.infeed_percent_minimum = o.percent_min;
        out.infeed_percent_maximum = o.percent_max;
    }
    ms[TBP_TPU_ANY_ACTIVE] = ms[TBP_TPU_ACTIVE] > ms[TBP_TPU_SPARSE_ACTIVE]
                                 ? ms[TBP_TPU_ACTIVE]
                                 : ms[TBP_TPU_SPARSE_ACTIVE];
    ms[TBP_TPU_COMPUTE] = (double)o.least_compute / PS_PER_MS;
    ms[TBP_TPU_TRANSFER] = (double)o.transfer / PS_PER_MS;
    ms[TBP_TPU_INFEED] = (double)o.infeed / PS_PER_MS;
    /* the wait of these cores is shown as their compute time */
    ms[TBP_TPU_SCV0_COMPUTE] = (double)o.scv0_infeed / PS_PER_MS;
    ms[TBP_TPU_SCV0_INFEED] = 0;
    out.place = o.has_infeed ? tbp_core_place_find(t, o.infeed_core) : NULL;
    double compute = ms[TBP_TPU_COMPUTE] + ms[TBP_TPU_SCV0_COMPUTE];
    double infeed = ms[TBP_TPU_INFEED] + ms[TBP_TPU_SCV0_INFEED];
    double idle = (double)o.shortest_dur / PS_PER_MS - (compute + infeed + ms[TBP_TPU_OUTFEED]);
    ms[TBP_TPU_IDLE] = o.n > 0 && idle > 0 ? idle : 0;
    out.step_ms = compute + infeed + out.reduce_ms + ms[TBP_TPU_OUTFEED] + ms[TBP_TPU_IDLE];
    return out;
}
