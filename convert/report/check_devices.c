/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about work of devices: durations that cannot be, work before its launch, launches
 * without a record, graph replays recorded in part, collectives that waited for a late rank.
 * Source: reference users U24, U25, U43, U45; cases under ../shared/cases.
 */
#include "convert/model/line_order.h"
#include "convert/report/collective_names.h"
#include "convert/report/device_work.h"
#include "convert/report/findings.h"
#include "convert/report/table_out.h"

enum {
    PS_PER_US = 1000000,
    OVERRUN_FLOOR_PS =
        100 * PS_PER_US,         /* kernels launched early overlap their neighbours by less */
    EARLY_PS = 1000 * PS_PER_US, /* clocks of host and device agree better than that */
    TIMES_THE_OTHERS = 20,
    WAIT_TIMES_THE_OTHERS = 100,
    FEW = 3,
};

struct device_pass {
    struct tbp_findings *f;
    const struct tbp_host *host;
    struct tbp_launches launches;
    struct tbp_line_order order;
    uint64_t n_works, n_overruns, n_early;
    uint64_t n_launched, n_before, before_ps; /* before their launch; the most of it */
    uint64_t work_ps, overrun_ps, clipped_ps; /* clipped: what of the overruns can be true */
    uint64_t wait_ps, wait_mean_ps;           /* the worst collective, and the others of its name */
    struct tbp_str wait_name;
};

static const char *time_text(struct tbp_arena *a, uint64_t ps) {
    char text[TBP_VALUE_MAX];
    size_t n = tbp_time_text(text, (int64_t)ps);
    return tbp_arena_printf(a, "%.*s", (int)n, text);
}

static bool is_serious_share(uint64_t part, uint64_t whole) {
    enum { PERCENT = 1 };
    return (double)part * 100 > (double)whole * PERCENT;
}

/* An event that goes on although one behind it on the same stream began and ended meanwhile. */
static bool is_overrun(const struct tbp_events *ev, size_t i, size_t next, double mean_others_ps) {
    uint64_t end_ps = ev->start_ps[i] + ev->dur_ps[i];
    uint64_t next_end_ps = ev->start_ps[next] + ev->dur_ps[next];
    return next_end_ps < end_ps && end_ps - ev->start_ps[next] >= OVERRUN_FLOOR_PS &&
           (double)ev->dur_ps[i] >= TIMES_THE_OTHERS * mean_others_ps;
}

static void compare_with_launch(struct device_pass *p, uint64_t start_ps, uint64_t launch_ps) {
    uint64_t before_ps = launch_ps > start_ps ? launch_ps - start_ps : 0;
    p->n_launched++;
    p->n_before += before_ps > 0;
    p->n_early += before_ps > EARLY_PS;
    p->before_ps = before_ps > p->before_ps ? before_ps : p->before_ps;
}

/* What all lines of a stream hold. */
struct stream_sums {
    double sum_ps;
    size_t n;
};

static struct stream_sums *sum_streams(const struct tbp_plane *plane, struct tbp_arena *a) {
    struct stream_sums *of = TBP_NEW_N(a, struct stream_sums, plane->n_lines + 1);
    for (size_t k = 0; k < plane->n_lines; k++) {
        const struct tbp_line *l = &plane->lines[k];
        struct stream_sums *s = &of[tbp_stream_line(l) - plane->lines];
        for (size_t i = 0, n = tbp_work_events(l); i < n; i++, s->n++)
            s->sum_ps += (double)l->ev.dur_ps[i];
    }
    return of;
}

static void check_line(struct device_pass *p, const struct tbp_line *l,
                       const struct stream_sums *of_stream) {
    const struct tbp_events *ev = &l->ev;
    tbp_line_order_make(&p->order, l);
    for (size_t k = 0; k < ev->n; k++) {
        size_t i = tbp_line_order_at(&p->order, k);
        const struct tbp_launch *launch = tbp_launch_of(&p->launches, l, i);
        p->work_ps += ev->dur_ps[i];
        if (launch && launch->has_call)
            compare_with_launch(p, ev->start_ps[i], launch->start_ps);
        if (k + 1 == ev->n)
            break;
        size_t next = tbp_line_order_at(&p->order, k + 1);
        double mean_ps = (of_stream->sum_ps - (double)ev->dur_ps[i]) / (double)(of_stream->n - 1);
        if (!is_overrun(ev, i, next, mean_ps))
            continue;
        p->n_overruns++;
        p->overrun_ps += ev->dur_ps[i];
        p->clipped_ps += ev->start_ps[next] - ev->start_ps[i];
    }
    p->n_works += ev->n;
}

/* Durations of one kernel name. */
struct name_sums {
    uint64_t n, sum_ps, max_ps;
};

static void check_collectives(struct device_pass *p, const struct tbp_plane *plane,
                              struct tbp_arena *a) {
    struct name_sums *of = TBP_NEW_N(a, struct name_sums, plane->n_metas + 1);
    for (size_t k = 0; k < plane->n_lines; k++) {
        const struct tbp_line *l = &plane->lines[k];
        for (size_t i = 0, n = tbp_work_events(l); i < n; i++) {
            struct name_sums *s = &of[l->ev.meta[i]];
            s->n++;
            s->sum_ps += l->ev.dur_ps[i];
            s->max_ps = l->ev.dur_ps[i] > s->max_ps ? l->ev.dur_ps[i] : s->max_ps;
        }
    }
    for (size_t m = 0; m < plane->n_metas; m++) {
        const struct name_sums *s = &of[m];
        struct tbp_str name = plane->metas[m].name;
        uint64_t mean_ps = s->n > 1 ? (s->sum_ps - s->max_ps) / (s->n - 1) : 0;
        if (s->n < FEW || s->max_ps / WAIT_TIMES_THE_OTHERS < mean_ps || s->max_ps <= p->wait_ps ||
            !tbp_is_collective(name))
            continue;
        p->wait_ps = s->max_ps;
        p->wait_mean_ps = mean_ps;
        p->wait_name = name;
    }
}

static void check_plane(struct device_pass *p, const struct tbp_plane *plane) {
    struct tbp_arena a;
    tbp_arena_init(&a);
    const struct stream_sums *of = sum_streams(plane, &a);
    for (size_t i = 0; i < plane->n_lines; i++) {
        const struct tbp_line *l = &plane->lines[i];
        if (tbp_is_work_line(l))
            check_line(p, l, &of[tbp_stream_line(l) - plane->lines]);
    }
    check_collectives(p, plane, &a);
    tbp_arena_release(&a);
}

/* ---- launches ---- */

static void check_launches(struct device_pass *p) {
    uint64_t n_launches = 0, without = 0, n_graphs = 0, graphs_without = 0;
    for (size_t i = 0; i < p->launches.list.n; i++) {
        const struct tbp_launch *l = &p->launches.list.at[i];
        n_launches += l->is_launch;
        without += l->is_launch && l->n_works == 0;
        n_graphs += l->is_graph;
        graphs_without += l->is_graph && l->n_works == 0;
    }
    struct tbp_arena *a = &p->f->arena;
    bool none = n_launches && p->n_works == 0;
    tbp_finding_add(
        p->f, &(struct tbp_finding){
                  .key = none ? "no_device_records" : "launches_without_record",
                  .host = p->host->name,
                  .is_serious = without * 20 > n_launches,
                  .spoils = TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS,
                  .count = without - graphs_without,
                  .of = n_launches - n_graphs,
                  .text = tbp_arena_printf(
                      a, "%llu of %llu kernel launches have no record of what the device did",
                      (unsigned long long)(without - graphs_without),
                      (unsigned long long)(n_launches - n_graphs)),
                  .advice = none ? "device times are unknown: record device activity too, and look "
                                   "for CUPTI errors in the program's log"
                                 : "device times are too small: let the profiler stop after the "
                                   "device is idle, or give it larger buffers"});
    tbp_finding_add(
        p->f, &(struct tbp_finding){
                  .key = "graph_replays_without_record",
                  .host = p->host->name,
                  .is_serious = graphs_without * 20 > n_graphs,
                  .spoils = TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS,
                  .count = graphs_without,
                  .of = n_graphs,
                  .text = tbp_arena_printf(
                      a, "%llu of %llu graph launches have no record of what the device did",
                      (unsigned long long)graphs_without, (unsigned long long)n_graphs),
                  .advice = "device times are too small: record without graphs, or with tracing "
                            "of the nodes of graphs"});
}

/* Replays of one graph have as many works each; fewer means that records are missing. */
struct replay {
    uint64_t graph, correlation, n;
};

static uint64_t replay_key(const struct replay *r) {
    return r->graph * 0x9e3779b97f4a7c15u ^ r->correlation;
}

struct replays {
    struct tbp_idmap by_replay, most; /* replay -> index in list; graph -> most works of one */
    TBP_VEC(struct replay) list;
};

static void add_replay(struct replays *r, const struct tbp_line *l, size_t i) {
    struct tbp_stat graph, id;
    bool is_new;
    if (!(l->ev.has[i] & TBP_HAS_GRAPH) || !(l->ev.has[i] & TBP_HAS_CORRELATION) ||
        !tbp_event_stat(l, i, TBP_STAT_CORRELATION_ID, &id))
        return;
    if (!tbp_event_stat(l, i, TBP_STAT_CUDA_GRAPH_EXEC_ID, &graph) &&
        !tbp_event_stat(l, i, TBP_STAT_CUDA_GRAPH_ID, &graph))
        return;
    struct replay x = {tbp_stat_iu(&graph), tbp_stat_iu(&id), 0};
    uint32_t *at = tbp_idmap_put(&r->by_replay, replay_key(&x), &is_new);
    if (is_new) {
        *at = (uint32_t)r->list.n;
        *tbp_vec_push(&r->list) = x;
    }
    uint64_t works = ++r->list.at[*at].n;
    uint32_t *most = tbp_idmap_put(&r->most, x.graph, &is_new);
    if (is_new || *most < works)
        *most = (uint32_t)works;
}

static void check_replays(struct device_pass *p) {
    struct replays r = {0};
    uint64_t partial = 0;
    for (size_t k = 0; k < p->host->n_planes; k++) {
        const struct tbp_plane *plane = &p->host->planes[k];
        for (size_t j = 0; j < plane->n_lines; j++)
            for (size_t i = 0, n = tbp_work_events(&plane->lines[j]); i < n; i++)
                add_replay(&r, &plane->lines[j], i);
    }
    for (size_t i = 0; i < r.list.n; i++)
        partial += r.list.at[i].n < tbp_idmap_get(&r.most, r.list.at[i].graph);
    tbp_finding_add(
        p->f,
        &(struct tbp_finding){
            .key = "graph_replays_in_part",
            .host = p->host->name,
            .is_serious = partial * 20 > r.list.n,
            .spoils = TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS,
            .count = partial,
            .of = r.list.n,
            .text = tbp_arena_printf(&p->f->arena,
                                     "%llu of %llu graph replays have fewer kernels than other "
                                     "replays of the same graph",
                                     (unsigned long long)partial, (unsigned long long)r.list.n),
            .advice = "device times are too small: give the profiler larger buffers, or record "
                      "fewer steps"});
    tbp_idmap_release(&r.by_replay);
    tbp_idmap_release(&r.most);
    tbp_vec_release(&r.list);
}

/* ---- what was found ---- */

static void add_durations(struct device_pass *p) {
    struct tbp_arena *a = &p->f->arena;
    double share = p->work_ps ? 100.0 * (double)p->overrun_ps / (double)p->work_ps : 0;
    uint64_t others_ps = p->work_ps - p->overrun_ps;
    tbp_finding_add(
        p->f,
        &(struct tbp_finding){
            .key = "impossible_durations",
            .host = p->host->name,
            .is_serious = is_serious_share(p->overrun_ps, p->work_ps),
            .spoils = TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS,
            .count = p->n_overruns,
            .of = p->n_works,
            .text = tbp_arena_printf(
                a,
                "%llu of %llu device events last beyond later ones of the same stream: %.1f %% "
                "of device time; without them it is %s, cut at the next event %s",
                (unsigned long long)p->n_overruns, (unsigned long long)p->n_works, share,
                time_text(a, others_ps), time_text(a, others_ps + p->clipped_ps)),
            .advice = "do not trust sums over the device; look at the ops one by one"});
}

/* Single works far before their launch, or most of them at all: then the clocks are apart. */
static void add_early(struct device_pass *p) {
    struct tbp_arena *a = &p->f->arena;
    bool is_skew = p->n_before * 2 > p->n_launched;
    uint64_t n = is_skew ? p->n_before : p->n_early;
    tbp_finding_add(
        p->f, &(struct tbp_finding){
                  .key = "work_before_launch",
                  .host = p->host->name,
                  .is_serious = is_serious_share(n, p->n_works),
                  .spoils = TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS,
                  .count = n,
                  .of = p->n_works,
                  .text = tbp_arena_printf(
                      a, "%llu of %llu device events begin %sbefore their launch, by up to %s",
                      (unsigned long long)n, (unsigned long long)p->n_works,
                      is_skew ? "" : "more than 1 ms ", time_text(a, p->before_ps)),
                  .advice = "clocks of host and device disagree: idle time and what waits for what "
                            "cannot be told; record in a fresh process"});
}

static void add_wait(struct device_pass *p) {
    struct tbp_arena *a = &p->f->arena;
    struct tbp_str name = p->wait_name;
    tbp_finding_add(
        p->f, &(struct tbp_finding){
                  .key = "collective_waits",
                  .host = p->host->name,
                  .is_serious = is_serious_share(p->wait_ps, p->work_ps),
                  .spoils = TBP_SPOILS_DEVICE | TBP_SPOILS_STEPS,
                  .count = p->wait_ps > 0,
                  .text = tbp_arena_printf(
                      a, "one collective takes %s, the others of its kind %s on average: %.*s",
                      time_text(a, p->wait_ps), time_text(a, p->wait_mean_ps),
                      (int)(name.n < 100 ? name.n : 100), name.p),
                  .advice = "it waited for another rank, that time is no communication: compare "
                            "with the profiles of the other ranks"});
}

void tbp_check_devices(struct tbp_findings *f, const struct tbp_host *h) {
    struct device_pass p = {.f = f, .host = h};
    tbp_launches_add_work(&p.launches, h);
    tbp_launches_add_calls(&p.launches, h);
    for (size_t k = 0; k < h->n_planes; k++) {
        const struct tbp_plane *plane = &h->planes[k];
        if (tbp_is_device_plane(plane->name) && !tbp_is_tpu_plane(plane->name))
            check_plane(&p, plane);
    }
    check_launches(&p);
    check_replays(&p);
    add_durations(&p);
    add_early(&p);
    add_wait(&p);
    tbp_launches_release(&p.launches);
    tbp_line_order_release(&p.order);
}
